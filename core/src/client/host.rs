//! Requests of servers to the host: each goes to its handler, and its answer is checked before it is sent.

use super::{
    client::Client,
    error::ClientError,
    events::ClientEvents,
    handlers::{ClientHandlers, ServerRequest},
    inner::Inner,
    race::{guarded, unless, until},
};
use crate::{
    engine::{IncomingRequest, later},
    protocol::{
        Era, RawJson, RequestId, RpcError,
        input::complete_answer,
        method,
        model::{ClientCapabilities, Implementation, ListRootsResult, Root},
    },
    runtime::{Promise, Task},
    sync::Mutex,
};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The handlers of a client, and those that run.
pub(super) struct Host {
    capabilities: ClientCapabilities,
    handlers: Mutex<ClientHandlers>,
    running: Mutex<HashMap<Run, Arc<Promise<()>>>>,
    runs: AtomicU64,
}

/// Names handlers that run together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Run {
    /// For a request of the server.
    Request(RequestId),
    /// For a round of a call.
    Round(u64),
}

/// Why a request of a server has no answer.
#[derive(Debug, Clone)]
pub(super) enum Unanswered {
    /// The handler failed, or there is none.
    Failed(RpcError),
    /// The handler's answer cannot be sent: why.
    Invalid(String),
    /// The handler took too long.
    TimedOut,
}

impl Host {
    pub(super) fn new(capabilities: ClientCapabilities, handlers: ClientHandlers) -> Self {
        let (handlers, running) = (Mutex::new(handlers), Mutex::default());
        Self { capabilities, handlers, running, runs: AtomicU64::new(0) }
    }

    pub(super) fn handlers(&self) -> ClientHandlers {
        self.handlers.lock().clone()
    }

    /// The capabilities that the handlers bring, and those that were given.
    pub(super) fn capabilities(&self) -> RawJson {
        as_raw(&self.handlers.lock().capabilities(&self.capabilities))
    }

    /// Enters handlers that run; they stop when the promise is kept.
    pub(super) fn begin(&self, run: Run) -> Arc<Promise<()>> {
        let stop = Arc::new(Promise::default());
        self.running.lock().insert(run, Arc::clone(&stop));
        stop
    }

    pub(super) fn next_round(&self) -> Run {
        Run::Round(self.runs.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn done(&self, run: &Run) {
        self.running.lock().remove(run);
    }

    /// Stops handlers whose answer is no longer wanted.
    pub(super) fn stop(&self, run: &Run) {
        let stop = self.running.lock().remove(run);
        if let Some(stop) = stop {
            stop.keep(());
        }
    }

    /// Stops all handlers: the connection is over.
    pub(super) fn stop_all(&self) {
        let all = std::mem::take(&mut *self.running.lock());
        for stop in all.into_values() {
            stop.keep(());
        }
    }
}

/// The events of a client: to its handlers, and to the program around it.
pub(super) struct HandledEvents {
    pub(super) host: Arc<Host>,
    pub(super) events: Arc<dyn ClientEvents>,
}

impl ClientEvents for HandledEvents {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        self.host.handlers().notify(method, params);
        self.events.notification(method, params);
    }

    fn closed(&self, error: Option<&ClientError>) {
        self.events.closed(error);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop_all();
    }
}

impl Inner {
    /// Answers a request of a server of the legacy era. The clocks of our requests stand still meanwhile: the message
    /// does not name the one that it belongs to.
    pub(super) fn asked(self: &Arc<Self>, request: IncomingRequest) {
        let IncomingRequest { id, method, params } = request;
        let run = Run::Request(id.clone());
        let stop = self.host.begin(run.clone());
        let paused = self.conversation.lock().pause_all(self.runtime.now());
        let (client, answer) = (Arc::downgrade(self), self.host_answer(method, params));
        self.runtime.spawn(Box::pin(async move {
            let outcome = unless(stop.kept(), answer).await;
            let Some(client) = client.upgrade() else { return };
            client.host.done(&run);
            let message = {
                let mut conversation = client.conversation.lock();
                let now = client.runtime.now();
                for id in &paused {
                    conversation.resume(now, id);
                }
                outcome.and_then(|outcome| conversation.answer(&id, outcome.map_err(Unanswered::into_rpc)))
            };
            client.arm_timer();
            if let Some(message) = message {
                client.send(message);
            }
        }));
    }

    /// The checked answer of the host to a request. It comes within the time that the options give to handlers.
    pub(super) fn host_answer(&self, method: &str, params: RawJson) -> Task<Result<RawJson, Unanswered>> {
        let handlers = self.host.handlers();
        let given: Value = params.parse().unwrap_or_default();
        if method == method::ROOTS_LIST {
            let roots = handlers.listed_roots().map(|roots| roots.iter().cloned().collect::<ListRootsResult>());
            let answer = roots.ok_or_else(|| Unanswered::Failed(RpcError::internal()));
            return Box::pin(std::future::ready(answer.map(|roots| as_raw(&roots))));
        }
        let Some(handler) = handlers.handler_of(method, &given) else {
            tracing::error!(target: "trunkline", "the client declares that it answers {method}, and has no handler for it");
            return Box::pin(std::future::ready(Err(Unanswered::Failed(RpcError::internal()))));
        };
        let server = self.server.get().and_then(|server| server.info.as_ref()?.parse::<Implementation>().ok());
        let (method, runtime) = (method.to_owned(), Arc::clone(&self.runtime));
        let deadline = later(runtime.now(), self.options.input_timeout);
        Box::pin(async move {
            let answer = guarded(async move { handler(ServerRequest { params, server }).await });
            let answer = match until(&*runtime, deadline, answer).await {
                Some(Some(answer)) => answer.map_err(Unanswered::Failed)?,
                Some(None) => return Err(Unanswered::Invalid(format!("the handler of {method} panicked"))),
                None => return Err(Unanswered::TimedOut),
            };
            let answer: Value = answer.parse().map_err(|error| Unanswered::Invalid(error.to_string()))?;
            let complete = complete_answer(&method, &given, answer);
            complete.map(|answer| as_raw(&answer)).map_err(|error| Unanswered::Invalid(format!("{method}: {error}")))
        })
    }
}

impl Unanswered {
    /// The error for a server of the legacy era. A fault on this side is for the log, not for the server.
    fn into_rpc(self) -> RpcError {
        match self {
            Self::Failed(error) => error,
            Self::Invalid(problem) => {
                tracing::error!(target: "trunkline", "the answer of a handler was not sent: {problem}");
                RpcError::internal()
            }
            Self::TimedOut => RpcError::new(RpcError::internal().code, "The host did not answer in time"),
        }
    }
}

impl Client {
    /// The handlers as they are now.
    pub fn handlers(&self) -> ClientHandlers {
        self.inner.host.handlers()
    }

    /// Takes other handlers. Servers of the modern era see the capabilities that follow from them with the next request.
    ///
    /// # Errors
    /// In the legacy era, if they need a capability that was not declared when the connection was opened.
    pub fn set_handlers(&self, handlers: ClientHandlers) -> Result<(), ClientError> {
        let host = &self.inner.host;
        let needed = handlers.capabilities(&host.capabilities);
        let mut conversation = self.inner.conversation.lock();
        if conversation.revision().is_some_and(|revision| revision.era() == Era::Modern) {
            conversation.declare(as_raw(&needed));
        } else if let Some(missing) = missing(&needed, &self.inner.capabilities.parse().unwrap_or_default()) {
            let text = format!(
                "The capability {missing} was not declared when the connection was opened, and this server's revision takes \
                 no others: register the handler before connecting"
            );
            return Err(ClientError::Invalid(text));
        }
        *host.handlers.lock() = handlers;
        Ok(())
    }

    /// Changes the roots. Servers of the legacy era are notified (ROOT-03); others see the new ones when they ask.
    ///
    /// # Errors
    /// As for [`ClientHandlers::roots`] and [`Client::set_handlers`].
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), ClientError> {
        self.set_handlers(self.handlers().roots(roots)?)?;
        if self.revision().era() == Era::Legacy {
            self.notify(method::ROOTS_LIST_CHANGED, None)?;
        }
        Ok(())
    }
}

/// A member of the first object that the second lacks, as a path.
fn missing(needed: &Value, declared: &Value) -> Option<String> {
    needed.as_object()?.iter().find_map(|(name, value)| match declared.get(name) {
        None => Some(name.clone()),
        Some(there) => missing(value, there).map(|rest| format!("{name}.{rest}")),
    })
}

fn as_raw(value: &impl serde::Serialize) -> RawJson {
    RawJson::from_value(value).unwrap_or_else(|_| RawJson::empty_object())
}
