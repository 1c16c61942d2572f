//! The host functions of a connection's authorization and transport.

pub(crate) mod authorization;
pub(crate) mod channel;
pub(crate) mod function;
pub(crate) mod server_requests;
pub(crate) mod store;

use crate::{error::BridgeError, message::Handlers};
use std::collections::BTreeSet;

/// The names of these functions among the handlers.
pub(crate) fn names(handlers: &Handlers) -> BTreeSet<String> {
    let is_function = |name: &&String| authorization::is_function(name) || channel::is_function(name);
    handlers.keys().filter(is_function).cloned().collect()
}

/// Refuses functions that the connection was not opened with, because they would never be called.
pub(crate) fn check_opened(opened: &BTreeSet<String>, handlers: &Handlers) -> Result<(), BridgeError> {
    match names(handlers).difference(opened).next() {
        Some(name) => Err(BridgeError::invalid(format!(
            "handlers: {name} was set too late: the authorization and the transport of an open connection cannot change; set it before connecting"
        ))),
        None => Ok(()),
    }
}
