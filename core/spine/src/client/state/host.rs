//! The host of a client: its registered handlers and the running ones.

use super::host_task_table::HostTasks;
use crate::{
    client::{ClientError, ClientEvents, ClientHandlers, ClientOptions, events::contained, terminal},
    protocol::{
        RawJson, RequestId,
        model::{ClientCapabilities, Root},
    },
    runtime::{Promise, Runtime},
    sync::Mutex,
};
use serde_json::Value;
use std::sync::Arc;

/// The handlers of a client, registered and running.
pub(in crate::client) struct Host {
    capabilities: ClientCapabilities,
    /// Handlers for requests that the program does not handle.
    defaults: ClientHandlers,
    handlers: Mutex<ClientHandlers>,
    pub(in crate::client) roots: Mutex<Option<Vec<Root>>>,
    running: Mutex<Vec<RunningHandlers>>,
    /// The server's requests that have become tasks.
    pub(in crate::client) tasks: HostTasks,
    /// Additional observers of the client's events.
    pub(in crate::client) observers: Mutex<Vec<Arc<dyn ClientEvents>>>,
}

/// Handlers that run together, for a request of the server or for one round of a call, and what
/// stops them.
type RunningHandlers = (Option<RequestId>, Arc<Promise<()>>);

impl Host {
    #[expect(deprecated, reason = "older revisions have it")]
    pub(in crate::client) fn new(options: &ClientOptions, runtime: &dyn Runtime) -> Self {
        let ClientOptions { capabilities, handlers, roots, .. } = options;
        let terminal = if options.terminal_forms { runtime.terminal() } else { None };
        let defaults = terminal.map(terminal::handlers).unwrap_or_default();
        Self {
            capabilities: capabilities.clone(),
            handlers: Mutex::new(handlers.clone().or(&defaults)),
            defaults,
            roots: Mutex::new(roots.clone()),
            running: Mutex::default(),
            tasks: HostTasks::new(options),
            observers: Mutex::default(),
        }
    }

    pub(in crate::client) fn handlers(&self) -> ClientHandlers {
        self.handlers.lock().clone()
    }

    pub(in crate::client) fn set_handlers(&self, handlers: ClientHandlers) {
        *self.handlers.lock() = handlers.or(&self.defaults);
    }

    /// The configured capabilities plus those of the handlers and roots.
    pub(in crate::client) fn capabilities(&self) -> RawJson {
        RawJson::object(&self.needed(&self.handlers(), self.roots.lock().is_some()))
    }

    /// The configured capabilities plus those of these handlers and roots.
    pub(in crate::client) fn needed(&self, handlers: &ClientHandlers, has_roots: bool) -> Value {
        handlers.clone().or(&self.defaults).capabilities(&self.capabilities, has_roots, self.tasks.are_enabled())
    }

    /// Reports to all observers, without holding the lock.
    fn report(&self, report: impl Fn(&dyn ClientEvents)) {
        let all = self.observers.lock().clone();
        all.iter().for_each(|events| report(&**events));
    }

    /// Registers running handlers; they stop when the promise is completed. Those for an earlier
    /// request with the same id are stopped now, because it belonged to another session.
    pub(in crate::client) fn begin(&self, request: Option<RequestId>) -> Arc<Promise<()>> {
        if let Some(request) = &request {
            self.stop(request);
        }
        let stop = Arc::new(Promise::default());
        self.running.lock().push((request, Arc::clone(&stop)));
        stop
    }

    /// Removes handlers that have ended. Returns `false` if they were stopped: another session may
    /// have reused the id.
    pub(in crate::client) fn done(&self, stop: &Arc<Promise<()>>) -> bool {
        self.running.lock().extract_if(.., |(_, other)| Arc::ptr_eq(other, stop)).next().is_some()
    }

    /// Stops the handlers for a request whose result is no longer needed.
    pub(in crate::client) fn stop(&self, request: &RequestId) {
        self.stop_if(|other| other == Some(request));
    }

    /// Stops the handlers for requests of a lost connection, because the next connection may reuse
    /// their ids.
    pub(in crate::client) fn stop_requests(&self) {
        self.tasks.stop_all();
        self.stop_if(|request| request.is_some());
    }

    /// Stops all handlers when the connection has ended.
    pub(in crate::client) fn stop_all(&self) {
        self.tasks.stop_all();
        self.stop_if(|_| true);
    }

    fn stop_if(&self, is_over: impl Fn(Option<&RequestId>) -> bool) {
        let stopped: Vec<_> = self.running.lock().extract_if(.., |(request, _)| is_over(request.as_ref())).collect();
        stopped.iter().for_each(|(_, stop)| stop.keep(()));
    }
}

/// Passes the events of a client to its handlers and to the program.
pub(in crate::client) struct HandledEvents {
    pub(in crate::client) host: Arc<Host>,
    pub(in crate::client) events: Arc<dyn ClientEvents>,
}

impl ClientEvents for HandledEvents {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        contained("notification handler", || self.host.handlers().notify(method, params));
        contained("ClientEvents::notification", || self.events.notification(method, params));
        self.host.report(|events| events.notification(method, params));
    }

    fn reconnected(&self) {
        contained("ClientEvents::reconnected", || self.events.reconnected());
        self.host.report(ClientEvents::reconnected);
    }

    fn awaiting_user(&self, begins: bool) {
        contained("ClientEvents::awaiting_user", || self.events.awaiting_user(begins));
        self.host.report(|events| events.awaiting_user(begins));
    }

    fn server_name(&self) -> Option<String> {
        self.events.server_name()
    }

    fn closed(&self, error: Option<&ClientError>) {
        contained("ClientEvents::closed", || self.events.closed(error));
        self.host.report(|events| events.closed(error));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop_all();
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::transport::TokioRuntime;

    #[tokio::test]
    async fn handlers_for_an_id_that_is_used_again_have_no_say() {
        let host = Host::new(&ClientOptions::default(), &*TokioRuntime::current());
        let round = host.begin(None);
        let (earlier, later) = (host.begin(Some(RequestId::Integer(1))), host.begin(Some(RequestId::Integer(1))));
        assert!(!host.done(&earlier), "its answer would be that to the later request");
        assert!(host.done(&later) && host.done(&round));
    }
}
