//! Another client, for which a call is made: that of a caller of a proxy.

use crate::{client::server_requests::client_handlers::PassingHandler, engine::OnBehalf};
use std::sync::Arc;

/// Another client, for which a call is made.
pub(crate) struct OtherClient {
    /// The client as the server sees it.
    pub(crate) seen: Arc<OnBehalf>,
    /// Gives it the requests for input of the task.
    pub(crate) ask: PassingHandler,
}
