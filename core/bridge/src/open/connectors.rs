//! Creates connectors, from host messages and from configuration entries.

use crate::{
    BridgeError, PortState,
    message::{Configured, Memory},
    open::{ports, read::Connecting},
};
use std::sync::Arc;
use trunkline::{
    bridge_support::{MemoryConnector, ReadHandoff},
    client::{ClientOptions, Connector, ServerEntry},
    transport::{HttpConnector, Target},
};

/// Creates a connector for one server.
pub(crate) fn connector(
    state: &Arc<PortState>,
    transport: Connecting,
    options: &ClientOptions,
    handoff: Option<Arc<ReadHandoff>>,
) -> Result<Arc<dyn Connector>, BridgeError> {
    match transport {
        Connecting::Config(Configured { server, .. }) => {
            let entry = ServerEntry::from_value_with(&server, &options.variables)
                .map_err(|error| BridgeError::invalid(error.to_string()))?;
            of_entry(state, entry, options, handoff)
        }
        Connecting::Channel => Err(BridgeError::invalid("open: a channel cannot be a server of a group")),
        Connecting::Group(_) => Err(BridgeError::invalid("open: a group cannot be a server of another group")),
        Connecting::Memory(Memory { server, port }) => {
            Ok(Arc::new(MemoryConnector::new(ports::server_of(state, server, port)?, state.runtime()?)))
        }
        #[cfg(feature = "child-process")]
        Connecting::Child(command) => {
            if command.command.is_empty() {
                return Err(BridgeError::invalid("open: transport.command is empty"));
            }
            Ok(Arc::new(trunkline::bridge_support::ChildConnector::new(command, options.limits(), handoff)))
        }
        Connecting::Http(_) if !cfg!(feature = "http-client") => Err(BridgeError::without("http-client")),
        Connecting::Http(endpoint) => {
            let connector = HttpConnector::new(&endpoint, options.limits());
            let connector = connector.map_err(BridgeError::invalid)?;
            Ok(Arc::new(connector.with_info(&options.info).with_auth(options.auth.clone())))
        }
    }
}

/// Creates a connector for a configuration entry.
pub(crate) fn of_entry(
    state: &Arc<PortState>,
    entry: ServerEntry,
    options: &ClientOptions,
    handoff: Option<Arc<ReadHandoff>>,
) -> Result<Arc<dyn Connector>, BridgeError> {
    if !cfg!(feature = "auth") && matches!(entry, ServerEntry::Url { auth: Some(_), .. }) {
        return Err(BridgeError::without("auth"));
    }
    match Target::of_entry(entry.clone(), &options.server_defaults)? {
        #[cfg(feature = "child-process")]
        Target::Child(command) => connector(state, Connecting::Child(command), options, handoff),
        // With the credentials of the entry.
        _ if cfg!(all(feature = "auth", feature = "http-client")) => {
            Ok(Target::Entry(entry).connector(options, &state.runtime()?)?)
        }
        Target::Http(endpoint) => connector(state, Connecting::Http(endpoint), options, handoff),
        _ => Err(BridgeError::without("http-client")),
    }
}
