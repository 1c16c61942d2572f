//! Creates connectors, from host messages and from configuration entries.

use crate::{BridgeError, PortState};
use std::sync::Arc;
use trunkline::{
    bridge_support::ReadHandoff,
    client::{ClientOptions, Connector, ServerEntry},
    transport::{HttpConnector, Target},
};

/// Creates a connector for a child process or an endpoint. [`Target::connector`] links every
/// transport, also those that are not among the features of this build.
#[cfg_attr(
    not(feature = "child-process"),
    allow(unused_variables, reason = "Only the pipe of a child process can be handed over.")
)]
pub(crate) fn of_target(
    target: Target,
    options: &ClientOptions,
    handoff: Option<Arc<ReadHandoff>>,
) -> Result<Arc<dyn Connector>, BridgeError> {
    match target {
        #[cfg(feature = "child-process")]
        Target::Child(command) if command.command.is_empty() => {
            Err(BridgeError::invalid("open: transport.command is empty"))
        }
        #[cfg(feature = "child-process")]
        Target::Child(command) => {
            Ok(Arc::new(trunkline::bridge_support::ChildConnector::new(command, options.limits(), handoff)))
        }
        Target::Http(endpoint) if cfg!(feature = "http-client") => {
            let connector = HttpConnector::new(&endpoint, options.limits()).map_err(BridgeError::invalid)?;
            Ok(Arc::new(connector.with_info(&options.info).with_auth(options.auth.clone())))
        }
        _ => Err(BridgeError::without("http-client")),
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
        // With the credentials of the entry.
        Target::Http(_) if cfg!(all(feature = "auth", feature = "http-client")) => {
            Ok(Target::Entry(entry).connector(options, &state.runtime()?)?)
        }
        target => of_target(target, options, handoff),
    }
}
