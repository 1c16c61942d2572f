//! The ways to servers: from what the host gives, and from the entries of a configuration.

use super::{
    error::BridgeError,
    message::{Child, Configured, Connecting, Endpoint, Memory},
    state::PortState,
};
use std::sync::Arc;
use trunkline::{
    bridge_support::{ChildConnector, MemoryConnector, ReadHandoff},
    client::{ClientOptions, Connector, ServerEntry},
    transport::{ChildCommand, HttpConnector, HttpEndpoint, Target},
};

/// The way to one server.
pub(super) fn connector(
    state: &Arc<PortState>,
    transport: Connecting,
    options: &ClientOptions,
    handoff: Option<Arc<ReadHandoff>>,
) -> Result<Arc<dyn Connector>, BridgeError> {
    match transport {
        Connecting::Config(Configured { server }) => {
            let entry = ServerEntry::from_value(&server).map_err(|error| BridgeError::invalid(error.to_string()))?;
            of_entry(state, entry, options, handoff)
        }
        Connecting::Channel => Err(BridgeError::invalid("open: a channel is not a server of a group")),
        Connecting::Group(_) => Err(BridgeError::invalid("open: a group is not a server of another group")),
        Connecting::Memory(Memory { server }) => {
            Ok(Arc::new(MemoryConnector::new(state.server(server)?, state.runtime()?)))
        }
        Connecting::Child(Child { command, env, inherit_env, cwd }) => {
            if command.is_empty() {
                return Err(BridgeError::invalid("open: transport.command is empty"));
            }
            let command = ChildCommand::new(command)
                .with_env(env.into_iter().collect::<Vec<_>>())
                .with_inherit_env(inherit_env.unwrap_or(false))
                .with_cwd(cwd.map(Into::into));
            Ok(Arc::new(ChildConnector::new(command, options.limits(), handoff)))
        }
        Connecting::Http(Endpoint { url, headers, ca, client_certificate, client_key, proxy }) => {
            let mut endpoint = HttpEndpoint::new(url);
            endpoint.headers = headers;
            (endpoint.ca, endpoint.proxy) = (ca, proxy);
            (endpoint.client_certificate, endpoint.client_key) = (client_certificate, client_key);
            let connector = HttpConnector::new(&endpoint, options.limits());
            Ok(Arc::new(connector.map_err(BridgeError::invalid)?.with_auth(options.auth.clone())))
        }
    }
}

/// The way to a server of a configuration.
pub(super) fn of_entry(
    state: &Arc<PortState>,
    entry: ServerEntry,
    options: &ClientOptions,
    handoff: Option<Arc<ReadHandoff>>,
) -> Result<Arc<dyn Connector>, BridgeError> {
    match entry {
        ServerEntry::Command { command, env, cwd, inherit_env } => {
            let child = Child { command, env, inherit_env, cwd };
            connector(state, Connecting::Child(child), options, handoff)
        }
        entry => Ok(Target::from(entry).connector(options, &state.runtime()?)?),
    }
}
