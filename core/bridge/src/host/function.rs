//! Host functions that the core calls on behalf of a connection.

use crate::{
    calls::call_off,
    error::BridgeError,
    events::{Event, EventKind, Lane, Shape},
    message::{Fail, FailKind},
    state::{
        PortState,
        entries::{HostAnswer, PendingServerRequest},
    },
};
use bytes::Bytes;
use std::sync::{Arc, OnceLock, Weak};
use tokio::sync::oneshot;
use trunkline::{
    protocol::{RawJson, RpcError, describe::Type},
    runtime::BoxedTask,
};

/// Declares a host function of a connection.
pub(crate) struct HostFunctionRow {
    /// Its name among the connection's handlers.
    pub(crate) name: &'static str,
    pub(crate) doc: &'static [&'static str],
    /// The body of its calls; `None` is an empty object.
    pub(crate) params: Option<Type>,
    /// Its result; `None` is any object.
    pub(crate) result: Option<Type>,
}

/// Calls host functions of a connection.
#[derive(Clone)]
pub(crate) struct HostFunction {
    state: Weak<PortState>,
    /// Set as soon as the connection starts opening.
    connection: Arc<OnceLock<u64>>,
    /// Failures are reported in full, because no peer sees them.
    is_private: bool,
}

impl HostFunction {
    pub(crate) fn new(state: &Arc<PortState>) -> Self {
        Self { state: Arc::downgrade(state), connection: Arc::default(), is_private: false }
    }

    /// Calls functions whose failures no peer sees, so they are reported in full.
    pub(crate) fn private(state: &Arc<PortState>) -> Self {
        Self { is_private: true, ..Self::new(state) }
    }

    /// The same host, for functions whose failures no peer sees.
    pub(crate) fn as_private(&self) -> Self {
        Self { is_private: true, ..self.clone() }
    }

    /// Sets the connection, once.
    pub(crate) fn set_connection(&self, connection: u64) {
        let _ = self.connection.set(connection);
    }

    /// Calls a function by its name.
    pub(crate) fn call(&self, operation: &'static str, lane: Lane, params: RawJson) -> BoxedTask<HostAnswer> {
        self.call_within(0, operation, lane, params)
    }

    /// Calls a function for a request with this telemetry number.
    pub(crate) fn call_within(
        &self,
        observed: u64,
        operation: &'static str,
        lane: Lane,
        params: RawJson,
    ) -> BoxedTask<HostAnswer> {
        let state = Weak::clone(&self.state);
        let (connection, is_private) = (self.connection.get().copied().unwrap_or_default(), self.is_private);
        let request = RequestForHost { connection, observed, operation, lane, params, is_private };
        Box::pin(async move { request.answer(state).await })
    }
}

/// A request to the host.
struct RequestForHost {
    connection: u64,
    /// Its telemetry number, or 0 without telemetry.
    observed: u64,
    operation: &'static str,
    lane: Lane,
    params: RawJson,
    is_private: bool,
}

impl RequestForHost {
    async fn answer(self, state: Weak<PortState>) -> HostAnswer {
        let (answer, answered) = oneshot::channel();
        let waiting = self.send(state, answer).ok_or_else(RpcError::internal)?;
        let answer = answered.await.unwrap_or_else(|_| Err(RpcError::internal()));
        drop(waiting);
        answer
    }

    fn send(self, state: Weak<PortState>, answer: oneshot::Sender<HostAnswer>) -> Option<WaitingCall> {
        let there = state.upgrade()?;
        let pending = PendingServerRequest { answer, operation: self.observed, is_private: self.is_private };
        let ticket = there.tables.lock().server_requests.insert(pending)?;
        let (kind, name, body) = (EventKind::Call, self.operation.to_owned(), self.params.into_bytes().into());
        there.queue.push(self.lane, Event { kind, ticket, handle: self.connection, name, body, ..Event::default() });
        Some(WaitingCall { state, ticket, connection: self.connection, lane: self.lane })
    }
}

/// A request that the host is handling. If it ends without a response, the host is notified.
struct WaitingCall {
    state: Weak<PortState>,
    ticket: u64,
    connection: u64,
    lane: Lane,
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        let Some(state) = self.state.upgrade() else { return };
        let unanswered = state.tables.lock().server_requests.remove(self.ticket);
        if unanswered.is_some() {
            let reason = Bytes::from_static(b"the response is no longer needed");
            call_off(&state, self.lane, self.ticket, self.connection, reason);
        }
    }
}

/// Completes a request. Returns `false` if it was already completed.
pub(crate) fn complete(state: &PortState, ticket: u64, shape: Shape, body: Bytes) -> Result<bool, BridgeError> {
    if shape != Shape::Result {
        let text = "complete: a request of a server is answered with the shape result";
        return unless_done(state, ticket, BridgeError::invalid(text));
    }
    match RawJson::from_text(body) {
        Ok(result) if result.as_bytes().trim_ascii_start().starts_with(b"{") => Ok(finish(state, ticket, Ok(result))),
        Ok(_) => unless_done(state, ticket, BridgeError::invalid("complete: this shape needs a JSON object")),
        Err(error) => unless_done(state, ticket, BridgeError::invalid(format!("complete: not JSON: {error}"))),
    }
}

/// Fails a request. Returns `false` if it was already completed.
pub(crate) fn fail(state: &PortState, ticket: u64, given: Fail) -> Result<bool, BridgeError> {
    let error = match (given.kind, given.code) {
        (FailKind::Tool, _) => RpcError::new(RpcError::internal().code, given.message),
        (FailKind::Invalid, _) => RpcError::invalid_params(match given.path.as_deref() {
            None | Some("") => given.message,
            Some(path) => format!("{path}: {}", given.message),
        }),
        (FailKind::Internal, _) if is_private(state, ticket) => RpcError::new(RpcError::internal().code, given.message),
        (FailKind::Internal, _) => {
            if !given.logged {
                tracing::error!(target: "trunkline::client::handlers", error = given.message, "a handler of the client failed");
            }
            RpcError::internal()
        }
        (FailKind::Protocol, Some(code)) => RpcError { code, message: given.message, data: given.data },
        (FailKind::Protocol, None) if is_private(state, ticket) => {
            RpcError { message: given.message, data: given.data, ..RpcError::internal() }
        }
        (FailKind::Protocol, None) => {
            return unless_done(state, ticket, BridgeError::invalid("fail: a protocol failure needs a code"));
        }
    };
    Ok(finish(state, ticket, Err(error)))
}

fn is_private(state: &PortState, ticket: u64) -> bool {
    state.tables.lock().server_requests.get(ticket).is_some_and(|request| request.is_private)
}

/// Returns the error for an invalid response, unless the request is already completed. The request
/// can then still be completed.
fn unless_done(state: &PortState, ticket: u64, error: BridgeError) -> Result<bool, BridgeError> {
    let waits = state.tables.lock().server_requests.get(ticket).is_some();
    if waits { Err(error) } else { Ok(false) }
}

fn finish(state: &PortState, ticket: u64, answer: HostAnswer) -> bool {
    // The lock is released before the request is completed.
    let request = state.tables.lock().server_requests.remove(ticket);
    request.is_some_and(|request| request.answer.send(answer).is_ok())
}
