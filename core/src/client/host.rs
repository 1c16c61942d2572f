//! The host of a client: the handlers that it registered, and those that run.

use super::{
    error::ClientError, events::ClientEvents, handlers::ClientHandlers, host_tasks::table::HostTasks,
    observers::Observers, options::ClientOptions, terminal,
};
use crate::{
    protocol::{
        RawJson, RequestId,
        model::{ClientCapabilities, Root},
    },
    runtime::{Promise, Runtime},
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
    /// Those for what the program has no handler for.
    defaults: ClientHandlers,
    handlers: Mutex<ClientHandlers>,
    roots: Mutex<Option<Vec<Root>>>,
    running: Mutex<HashMap<Run, Arc<Promise<()>>>>,
    runs: AtomicU64,
    /// The requests of the server that have become tasks.
    pub(super) tasks: HostTasks,
    takes_tasks: bool,
    pub(super) observers: Observers,
}

/// Names handlers that run together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Run {
    /// For a request of the server.
    Request(RequestId),
    /// For a round of a call.
    Round(u64),
}

impl Host {
    pub(super) fn new(options: &ClientOptions, runtime: &dyn Runtime) -> Self {
        let ClientOptions { capabilities, handlers, roots, .. } = options;
        let terminal = if options.terminal_forms { runtime.terminal() } else { None };
        let defaults = terminal.map(terminal::handlers).unwrap_or_default();
        Self {
            capabilities: capabilities.clone(),
            handlers: Mutex::new(handlers.clone().or(&defaults)),
            defaults,
            roots: Mutex::new(roots.clone()),
            running: Mutex::default(),
            runs: AtomicU64::new(0),
            tasks: HostTasks::default(),
            takes_tasks: options.max_host_tasks > 0,
            observers: Observers::default(),
        }
    }

    pub(super) fn handlers(&self) -> ClientHandlers {
        self.handlers.lock().clone()
    }

    pub(super) fn set_handlers(&self, handlers: ClientHandlers) {
        *self.handlers.lock() = handlers.or(&self.defaults);
    }

    /// The roots, if there are any to list.
    pub(super) fn roots(&self) -> Option<Vec<Root>> {
        self.roots.lock().clone()
    }

    pub(super) fn set_roots(&self, roots: Vec<Root>) {
        *self.roots.lock() = Some(roots);
    }

    /// The capabilities that the handlers and roots bring, and those that were given.
    pub(super) fn capabilities(&self) -> RawJson {
        as_raw(&self.needed(&self.handlers(), self.roots.lock().is_some()))
    }

    /// The capabilities that these handlers and roots bring, and those that were given.
    pub(super) fn needed(&self, handlers: &ClientHandlers, has_roots: bool) -> Value {
        handlers.clone().or(&self.defaults).capabilities(&self.capabilities, has_roots, self.takes_tasks)
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

    /// Stops the handlers for requests of a connection that was lost: the next one may use their
    /// ids.
    pub(super) fn stop_requests(&self) {
        self.tasks.stop_all();
        let stopped: Vec<_> = {
            let mut running = self.running.lock();
            let requests: Vec<_> = running.keys().filter(|run| matches!(run, Run::Request(_))).cloned().collect();
            requests.iter().filter_map(|run| running.remove(run)).collect()
        };
        for stop in stopped {
            stop.keep(());
        }
    }

    /// Stops all handlers: the connection is over.
    pub(super) fn stop_all(&self) {
        self.tasks.stop_all();
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
        self.host.observers.report(|events| events.notification(method, params));
    }

    fn reconnected(&self) {
        self.events.reconnected();
        self.host.observers.report(ClientEvents::reconnected);
    }

    fn asking(&self, begins: bool) {
        self.events.asking(begins);
        self.host.observers.report(|events| events.asking(begins));
    }

    fn server_name(&self) -> Option<String> {
        self.events.server_name()
    }

    fn closed(&self, error: Option<&ClientError>) {
        self.events.closed(error);
        self.host.observers.report(|events| events.closed(error));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop_all();
    }
}

pub(super) fn as_raw(value: &impl serde::Serialize) -> RawJson {
    RawJson::from_value(value).unwrap_or_else(|_| RawJson::empty_object())
}
