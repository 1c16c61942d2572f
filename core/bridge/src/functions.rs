//! The functions of the host that belong to the authorization and the transport of a connection.

use super::{channel, client_auth, error::BridgeError, message::Handlers};
use std::collections::BTreeSet;

/// The names of the functions among handlers.
pub(super) fn names(handlers: &Handlers) -> BTreeSet<String> {
    let is_function = |name: &&String| client_auth::is_function(name) || channel::is_function(name);
    handlers.keys().filter(is_function).cloned().collect()
}

/// Refuses functions that a connection was not opened with: they would never be called.
pub(super) fn check_opened(opened: &BTreeSet<String>, handlers: &Handlers) -> Result<(), BridgeError> {
    match names(handlers).difference(opened).next() {
        Some(name) => Err(BridgeError::invalid(format!(
            "handlers: {name} came too late: the authorization and the transport of a connection are what they were when it was opened, so give it before connecting"
        ))),
        None => Ok(()),
    }
}
