//! The requests that wait for the first opening of a connection (the option `lazy`).

use crate::{client::ClientError, runtime::Promise, telemetry::OpenOperation};
use std::sync::Arc;

/// The first opening, until it succeeds.
#[derive(Default)]
pub(in crate::client) struct FirstOpening {
    /// The span that the host of a binding has started for it.
    pub(in crate::client) span: Option<Arc<dyn OpenOperation>>,
    /// The requests that wait for the attempt in progress.
    pub(in crate::client) waiting: Vec<Arc<Promise<Result<(), ClientError>>>>,
}
