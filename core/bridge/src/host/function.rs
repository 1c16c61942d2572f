//! Functions of the host that the core calls by name: those of a connection's handlers,
//! authorization and transport, and those of a server's store and lifespan.

use crate::{
    BridgeError, Event, Lane, PortState, Shape,
    calls::{HostAnswer, PendingCall, QueuedCall, outcomes},
    message::{Fail, FailKind, Handlers},
    state::entries::FunctionCall,
};
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::{Arc, OnceLock, Weak};
use tokio::sync::{Mutex, oneshot};
use trunkline::{
    bridge_support::OnDrop,
    protocol::{RawJson, RpcError, describe::Type},
    runtime::BoxedTask,
};

/// Declares a function of the host, or a request that a group answers itself.
pub(crate) struct FunctionRow {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static [&'static str],
    /// The body of its calls; `None` is an empty object.
    pub(crate) params: Option<Type>,
    /// Its result; `None` is any object.
    pub(crate) result: Option<Type>,
}

/// Declares functions: a constant for each name, and `FUNCTIONS` for the surface.
macro_rules! functions {
    ($($(#[doc = $doc:literal])+ $function:ident = $name:literal($($params:ty)?) $(-> $result:ty)?;)+) => {
        $(const $function: &str = $name;)+

        /// The functions, for the declaration of the surface.
        pub(crate) static FUNCTIONS: &[$crate::host::function::FunctionRow] = &[$(
            $crate::host::function::FunctionRow {
                name: $name,
                doc: &[$($doc),+],
                params: $crate::host::function::functions!(@type $($params)?),
                result: $crate::host::function::functions!(@type $($result)?),
            },
        )+];
    };
    (@type) => { None };
    (@type $ty:ty) => { Some(<$ty as trunkline::protocol::describe::Described>::TYPE) };
}

pub(crate) use functions;

/// Returns whether one of the functions has that name.
pub(crate) fn has(functions: &[FunctionRow], name: &str) -> bool {
    functions.iter().any(|function| function.name == name)
}

/// The host, as a connection or a server calls it.
#[derive(Clone)]
pub(crate) struct Host {
    state: Weak<PortState>,
    /// The handle of the connection, the server or the lifespan. Set as soon as it has one.
    handle: Arc<OnceLock<u64>>,
    /// Failures are reported in full, because no peer sees them.
    is_private: bool,
    /// Held by a custom transport from before it connects until it has closed.
    pub(crate) in_use: Arc<Mutex<()>>,
}

impl Host {
    pub(crate) fn new(state: &Arc<PortState>) -> Self {
        Self { state: Arc::downgrade(state), handle: Arc::default(), is_private: false, in_use: Arc::default() }
    }

    /// The host for the connection with that handle.
    pub(crate) fn of(state: &Arc<PortState>, handle: u64) -> Self {
        let host = Self::new(state);
        host.set_handle(handle);
        host
    }

    /// The same host, for functions whose failures no peer sees, so they are reported in full.
    pub(crate) fn as_private(&self) -> Self {
        Self { is_private: true, ..self.clone() }
    }

    /// Sets the handle, once.
    pub(crate) fn set_handle(&self, handle: u64) {
        let _ = self.handle.set(handle);
    }

    /// Calls a function for the operation with this telemetry number; 0 if there is none.
    pub(crate) fn call(
        &self,
        operation: u64,
        name: &'static str,
        lane: Lane,
        params: RawJson,
    ) -> BoxedTask<Result<RawJson, RpcError>> {
        let host = self.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let handle = host.handle.get().copied().unwrap_or_default();
            let event = Event { handle, name: name.to_owned(), body: params.into_bytes().into(), ..Event::default() };
            let call = FunctionCall { answer, operation, is_private: host.is_private };
            let queued = host.state.upgrade().and_then(|state| QueuedCall::push(&state, lane, call, event));
            let queued = queued.ok_or_else(RpcError::internal)?;
            // If nothing waits for the answer anymore, the host is notified.
            let _unanswered = OnDrop::new(move || {
                queued.call_off::<FunctionCall>(Bytes::from_static(b"the response is no longer needed"));
            });
            match answered.await {
                Ok(answer) => answer.map_err(|failure| rpc_error(failure, host.is_private)),
                Err(_) => Err(RpcError::internal()),
            }
        })
    }
}

impl PendingCall for FunctionCall {
    type Answer = Result<RawJson, Fail>;

    fn read(given: HostAnswer) -> Result<Self::Answer, BridgeError> {
        match given {
            HostAnswer::Result(Shape::Result, body) => outcomes::object(body).map(Ok),
            HostAnswer::Result(..) => {
                Err(BridgeError::invalid("complete: a request of a server is answered with the shape result"))
            }
            HostAnswer::Failure(failure) => Ok(Err(failure)),
        }
    }

    fn check(&self, answer: &Self::Answer) -> Result<(), BridgeError> {
        match answer {
            Err(failure) if failure.kind == FailKind::Protocol && failure.code.is_none() && !self.is_private => {
                Err(BridgeError::invalid("fail: a protocol failure needs a code"))
            }
            _ => Ok(()),
        }
    }

    fn answer(self, answer: Self::Answer) -> bool {
        self.answer.send(answer).is_ok()
    }
}

fn rpc_error(failure: Fail, is_private: bool) -> RpcError {
    match failure.kind {
        FailKind::Internal if !is_private => {
            if !failure.logged {
                tracing::error!(target: "trunkline::client::handlers", error = failure.message, "a handler of the client failed");
            }
            RpcError::internal()
        }
        FailKind::Tool | FailKind::Internal => RpcError::new(RpcError::internal().code, failure.message),
        FailKind::Invalid => RpcError::invalid_params(failure.located_message()),
        FailKind::Protocol => failure.into_protocol_error(),
    }
}

/// Why a function has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FunctionError {
    #[error("{name} failed: {}", .error.message)]
    Failed { name: &'static str, error: RpcError },
    #[error("Invalid return value of {name}: {problem}")]
    Unreadable { name: &'static str, problem: String },
}

/// The functions that the host has given, by name. No peer sees their failures.
#[derive(Clone)]
pub(crate) struct HostFunctions {
    pub(crate) host: Host,
    given: Arc<Handlers>,
}

impl HostFunctions {
    pub(crate) fn new(host: &Host, given: &Handlers) -> Self {
        Self { host: host.as_private(), given: Arc::new(given.clone()) }
    }

    /// Fails with the name of a function of the table that is missing.
    pub(crate) fn all(host: &Host, given: &Handlers, table: &[FunctionRow]) -> Result<Self, &'static str> {
        let missing = table.iter().find(|function| !given.contains_key(function.name));
        missing.map_or_else(|| Ok(Self::new(host, given)), |function| Err(function.name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Calls a function, which must be given.
    pub(crate) fn call<T: DeserializeOwned + 'static>(
        &self,
        name: &'static str,
        params: &impl Serialize,
    ) -> BoxedTask<Result<T, FunctionError>> {
        // Serializing an object of strings and numbers never fails.
        let params = RawJson::from_value(params).unwrap_or_else(|_| RawJson::empty_object());
        let answer = self.host.call(0, name, self.given[name], params);
        Box::pin(async move {
            let answer = answer.await.map_err(|error| FunctionError::Failed { name, error })?;
            answer.read().map_err(|problem| FunctionError::Unreadable { name, problem })
        })
    }
}
