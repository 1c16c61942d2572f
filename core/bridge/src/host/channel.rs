//! Custom transports: four host functions carry the messages of a connection.

use crate::{
    error::BridgeError,
    events::Lane,
    host::function::{HostFunction, HostFunctionRow},
    message::Handlers,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};
use trunkline::{
    bridge_support::described,
    client::{Connector, LinkFailure},
    protocol::{RawJson, describe::Described},
    transport::{Channel, ChannelConnector},
};

const CONNECT: &str = "transport_connect";
const SEND: &str = "transport_send";
const RECEIVE: &str = "transport_receive";
const CLOSE: &str = "transport_close";

/// The functions, for the declaration of the surface.
pub(crate) static FUNCTIONS: &[HostFunctionRow] = &[
    HostFunctionRow {
        name: CONNECT,
        doc: &[
            " Connects to the server. Called again after the connection was lost, or if a server closed it because the",
            " client asked for its revision.",
        ],
        params: None,
        result: None,
    },
    HostFunctionRow {
        name: SEND,
        doc: &[" Sends a message to the server. The next message waits until this one is sent."],
        params: Some(MessageToServer::TYPE),
        result: None,
    },
    HostFunctionRow {
        name: RECEIVE,
        doc: &[" Waits for the next message from the server. Return nothing if the server has closed the connection."],
        params: None,
        result: Some(MessageOfServer::TYPE),
    },
    HostFunctionRow {
        name: CLOSE,
        doc: &[" Closes the connection. A pending receive call is cancelled first."],
        params: None,
        result: None,
    },
];

described! {
    /// A message to the server.
    #[derive(Serialize)]
    pub struct MessageToServer {
        /// The message: JSON without line breaks.
        required message: String = "message",
    }
}

described! {
    /// A message from the server, or the end of the connection.
    #[derive(Deserialize)]
    pub struct MessageOfServer {
        /// The message: JSON.
        #[serde(default)]
        optional message: Option<String> = "message",
    }
}

/// Returns whether a handler of that name belongs to a custom transport.
pub(crate) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name == name)
}

/// Rejects the functions if another transport is used.
pub(crate) fn check_unused(handlers: &Handlers) -> Result<(), BridgeError> {
    match handlers.keys().find(|name| is_function(name)) {
        Some(name) => Err(BridgeError::invalid(format!("open: handlers: {name} is for the transport type channel"))),
        None => Ok(()),
    }
}

/// A transport that uses the host's functions.
pub(crate) fn connector(handlers: &Handlers, host: &HostFunction) -> Result<Arc<dyn Connector>, BridgeError> {
    let lane = |name: &str| {
        let missing = || BridgeError::invalid(format!("open: handlers: the transport type channel needs {name}"));
        handlers.get(name).copied().ok_or_else(missing)
    };
    let lanes =
        ChannelLanes { connect: lane(CONNECT)?, send: lane(SEND)?, receive: lane(RECEIVE)?, close: lane(CLOSE)? };
    let (host, alone) = (host.clone(), Arc::<Mutex<()>>::default());
    let open = move || {
        let (host, alone) = (host.clone(), Arc::clone(&alone));
        async move {
            // The functions serve one connection at a time, so the previous one must have ended.
            let alone = alone.lock_owned().await;
            let channel = HostChannel { host, lanes, _alone: alone };
            let connected = channel.call(CONNECT, lanes.connect, RawJson::empty_object()).await;
            connected.map(|_| channel).map_err(LinkFailure::Unreachable)
        }
    };
    Ok(Arc::new(ChannelConnector::new(open)))
}

/// The lane for the calls of each function.
#[derive(Clone, Copy)]
struct ChannelLanes {
    connect: Lane,
    send: Lane,
    receive: Lane,
    close: Lane,
}

/// A connection that uses the host's functions.
struct HostChannel {
    host: HostFunction,
    lanes: ChannelLanes,
    _alone: OwnedMutexGuard<()>,
}

impl HostChannel {
    async fn call(&self, name: &'static str, lane: Lane, params: RawJson) -> Result<RawJson, String> {
        self.host.call(name, lane, params).await.map_err(|error| format!("{name} failed: {}", error.message))
    }
}

impl Channel for HostChannel {
    async fn send(&self, message: Bytes) -> Result<(), LinkFailure> {
        let message = String::from_utf8(message.into()).map_err(|error| LinkFailure::Broken(error.to_string()))?;
        let params = RawJson::from_value(&MessageToServer { message });
        let params = params.map_err(|error| LinkFailure::Broken(error.to_string()))?;
        self.call(SEND, self.lanes.send, params).await.map(drop).map_err(LinkFailure::Broken)
    }

    async fn receive(&self) -> Result<Option<Bytes>, LinkFailure> {
        let answer = self.call(RECEIVE, self.lanes.receive, RawJson::empty_object()).await;
        let received: Result<MessageOfServer, _> = answer.map_err(LinkFailure::Broken)?.read();
        let unreadable = |problem| LinkFailure::Broken(format!("Invalid return value of {RECEIVE}: {problem}"));
        Ok(received.map_err(unreadable)?.message.map(Bytes::from))
    }

    async fn close(&self) {
        if let Err(problem) = self.call(CLOSE, self.lanes.close, RawJson::empty_object()).await {
            tracing::warn!(target: "trunkline::bridge", error = %problem, "could not close a custom transport");
        }
    }
}
