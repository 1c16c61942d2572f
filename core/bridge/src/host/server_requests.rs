//! Server requests that the host answers.

use crate::{
    error::BridgeError,
    events::Lane,
    host::{authorization, channel, function::HostFunction},
    message::Handlers,
    state::PortState,
};
use std::sync::Arc;
use trunkline::{
    client::{ClientHandlers, ServerRequest},
    protocol::{
        RawJson,
        operation::{HOST, HostOperation},
    },
};

/// The operations that the host answers, with their lanes.
pub(crate) fn operations(given: &Handlers) -> Result<Vec<(&'static str, Lane)>, BridgeError> {
    let requests = given.iter().filter(|(name, _)| !authorization::is_function(name) && !channel::is_function(name));
    let operation = |(name, lane): (&String, &Lane)| match HostOperation::named(name) {
        Some(host) => Ok((host.operation.name, *lane)),
        None => {
            let known: Vec<_> = HOST.iter().map(|host| host.operation.name).collect();
            Err(BridgeError::invalid(format!("handlers: {name:?} is unknown; use one of {}", known.join(", "))))
        }
    };
    requests.map(operation).collect()
}

/// The handlers of a connection, which pass its server requests to the host.
pub(crate) fn handlers(
    state: &Arc<PortState>,
    connection: u64,
    operations: Vec<(&'static str, Lane)>,
) -> ClientHandlers {
    let host = HostFunction::new(state);
    host.set_connection(connection);
    operations.into_iter().fold(ClientHandlers::default(), |handlers, (operation, lane)| {
        let host = host.clone();
        let answer = move |request: ServerRequest<RawJson>| {
            let observed = request.operation.as_ref().map_or(0, |operation| operation.number());
            host.call_within(observed, operation, lane, request.into_named_params())
        };
        handlers.answer(operation, Arc::new(answer))
    })
}
