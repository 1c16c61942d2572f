//! The client on whose behalf a call is made, for example the caller of a proxy.

use crate::{client::server_requests::client_handlers::PassingHandler, engine::OnBehalf};
use std::sync::Arc;

/// The client on whose behalf a call is made.
pub(crate) struct OtherClient {
    /// The client as the server sees it.
    pub(crate) seen: Arc<OnBehalf>,
    /// Passes the task's requests for input to it.
    pub(crate) ask: PassingHandler,
}
