//! Server requests that the host answers.

use crate::{
    BridgeError, Lane,
    host::{function::Host, is_fixed},
    message::Handlers,
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
    let operation = |(name, lane): (&String, &Lane)| match HostOperation::named(name) {
        Some(host) => Ok((host.operation.name, *lane)),
        None => {
            let known: Vec<_> = HOST.iter().map(|host| host.operation.name).collect();
            Err(BridgeError::invalid(format!("handlers: {name:?} is unknown; use one of {}", known.join(", "))))
        }
    };
    given.iter().filter(|(name, _)| !is_fixed(name)).map(operation).collect()
}

/// The handlers of a connection, which pass its server requests to the host.
pub(crate) fn handlers(host: &Host, operations: Vec<(&'static str, Lane)>) -> ClientHandlers {
    operations.into_iter().fold(ClientHandlers::default(), |handlers, (name, lane)| {
        let host = host.clone();
        let answer = move |request: ServerRequest<RawJson>| {
            let operation = request.operation.as_ref().map_or(0, |operation| operation.number());
            host.call(operation, name, lane, request.into_named_params())
        };
        handlers.answer(name, Arc::new(answer))
    })
}
