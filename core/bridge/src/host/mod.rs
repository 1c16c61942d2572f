//! Functions of the host: handlers for server requests, and implementations of the authorization,
//! the transport, the store and the lifespan.

pub(crate) mod client_authorization;
pub(crate) mod custom_store;
pub(crate) mod custom_transport;
pub(crate) mod function;
pub(crate) mod lifespan;
pub(crate) mod server_requests;

use crate::{BridgeError, message::Handlers};
use function::has;
use std::collections::BTreeSet;

/// Returns whether a handler belongs to the authorization or the transport of a connection.
fn is_fixed(name: &str) -> bool {
    has(client_authorization::FUNCTIONS, name) || has(custom_transport::FUNCTIONS, name)
}

/// The names of the functions for the authorization and the transport.
pub(crate) fn fixed_names(handlers: &Handlers) -> BTreeSet<String> {
    handlers.keys().filter(|name| is_fixed(name)).cloned().collect()
}

/// Refuses functions that the connection was not opened with, because they would never be called.
pub(crate) fn check_opened(opened: &BTreeSet<String>, handlers: &Handlers) -> Result<(), BridgeError> {
    match fixed_names(handlers).difference(opened).next() {
        Some(name) => Err(BridgeError::invalid(format!(
            "handlers: {name} was set too late: the authorization and the transport of an open connection cannot change; set it before connecting"
        ))),
        None => Ok(()),
    }
}
