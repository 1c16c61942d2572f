//! Ctrl-C.

use crate::{exit::Exit, failure::Failure};
use std::future::Future;

/// Runs a command until Ctrl-C. Dropping it closes its connection, and ends a server that it
/// started.
pub(crate) async fn or_until_interrupted(
    command: impl Future<Output = Result<Exit, Failure>>,
) -> Result<Exit, Failure> {
    tokio::select! {
        ended = command => ended,
        _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
    }
}
