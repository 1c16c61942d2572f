//! Custom transports: four host functions carry the messages of a connection.

use crate::{
    BridgeError,
    host::function::{Host, HostFunctions, functions, has},
    message::Handlers,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;
use trunkline::{
    bridge_support::described,
    client::{Connector, LinkFailure},
    transport::{Channel, ChannelConnector},
};

functions! {
    /// Connects to the server. Called again after the connection was lost, or if a server closed it
    /// because the client asked for its revision.
    CONNECT = "transport_connect"();
    /// Sends a message to the server. The next message waits until this one is sent.
    SEND = "transport_send"(MessageToServer);
    /// Waits for the next message from the server. Return nothing if the server has closed the
    /// connection.
    RECEIVE = "transport_receive"() -> MessageOfServer;
    /// Closes the connection. A pending receive call is cancelled first.
    CLOSE = "transport_close"();
}

described! {
    /// A message to the server.
    #[derive(Serialize)]
    pub struct MessageToServer {
        /// The message: JSON without line breaks.
        required message: String = "message",
    }

    /// A message from the server, or the end of the connection.
    #[derive(Deserialize)]
    pub struct MessageOfServer {
        /// The message: JSON.
        optional message: Option<String> = "message",
    }
}

/// Rejects the functions if another transport is used.
pub(crate) fn check_unused(handlers: &Handlers) -> Result<(), BridgeError> {
    match handlers.keys().find(|name| has(FUNCTIONS, name)) {
        Some(name) => Err(BridgeError::invalid(format!("open: handlers: {name} is for the transport type channel"))),
        None => Ok(()),
    }
}

/// A transport that uses the host's functions.
pub(crate) fn connector(handlers: &Handlers, host: &Host) -> Result<Arc<dyn Connector>, BridgeError> {
    let functions = HostFunctions::all(host, handlers, FUNCTIONS)
        .map_err(|name| BridgeError::invalid(format!("open: handlers: the transport type channel needs {name}")))?;
    let in_use = Arc::clone(&host.in_use);
    let open = move || {
        let (functions, in_use) = (functions.clone(), Arc::clone(&in_use));
        async move {
            // The functions serve one connection at a time, so the previous one must have ended.
            let channel = HostChannel { functions, _in_use: in_use.lock_owned().await };
            let connected = channel.functions.call::<IgnoredAny>(CONNECT, &json!({})).await;
            connected.map(|_| channel).map_err(|error| LinkFailure::Unreachable(error.to_string()))
        }
    };
    Ok(Arc::new(ChannelConnector::new(open).exclusive()))
}

/// A connection that uses the host's functions.
struct HostChannel {
    functions: HostFunctions,
    _in_use: OwnedMutexGuard<()>,
}

impl Channel for HostChannel {
    async fn send(&self, message: Bytes) -> Result<(), LinkFailure> {
        let message = String::from_utf8(message.into()).map_err(broken)?;
        let sent = self.functions.call::<IgnoredAny>(SEND, &MessageToServer { message }).await;
        sent.map(drop).map_err(broken)
    }

    async fn receive(&self) -> Result<Option<Bytes>, LinkFailure> {
        let received = self.functions.call::<MessageOfServer>(RECEIVE, &json!({})).await;
        Ok(received.map_err(broken)?.message.map(Bytes::from))
    }

    async fn close(&self) {
        if let Err(error) = self.functions.call::<IgnoredAny>(CLOSE, &json!({})).await {
            tracing::warn!(target: "trunkline::bridge", %error, "could not close a custom transport");
        }
    }
}

fn broken(error: impl ToString) -> LinkFailure {
    LinkFailure::Broken(error.to_string())
}
