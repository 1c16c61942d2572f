//! Listeners and connections, from `open` to their end.

pub(crate) mod connections;
pub(crate) mod connectors;
pub(crate) mod endpoint_auth;
pub(crate) mod groups;
pub(crate) mod host_reads;
pub(crate) mod listeners;
pub(crate) mod ports;
pub(crate) mod process_exit;
pub(crate) mod read;
pub(crate) mod shutdown;
pub(crate) mod state;

use crate::{BridgeError, PortState, message::OpenMessage};
use read::Opened;
use std::sync::Arc;

pub(crate) fn open(state: &Arc<PortState>, mut given: OpenMessage) -> Result<u64, BridgeError> {
    match read::opened(&mut given)? {
        Opened::Listener(server) => listeners::open(state, server, given),
        Opened::Connection(options) => connections::open(state, *options, given),
    }
}

/// Validates an open without performing it.
pub(crate) fn check(state: &Arc<PortState>, mut given: OpenMessage) -> Result<(), BridgeError> {
    match read::opened(&mut given)? {
        Opened::Listener(_) => read::endpoint(state, given.transport).map(drop),
        Opened::Connection(_) => read::connecting(given.transport).map(drop),
    }
}
