//! The state of a port: its tables, its queue, and its reference to the runtime.

pub(crate) mod entries;
pub(crate) mod table;
pub(crate) mod tables;

use crate::{
    Bell, BridgeError, ErrorKind,
    events::queue::EventQueue,
    open::host_reads::Handoffs,
    process::{log_scope::Scoped, shared_runtime::ProcessRuntime},
    state::tables::{HandleKind, Tables, full},
    telemetry::HostTelemetry,
};
use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::task::JoinHandle;
use trunkline::{
    bridge_support::{Closing, Mutex},
    client::Client,
    runtime::Runtime,
    server::{CallInfo, Server},
};

/// The state of a port.
pub(crate) struct PortState {
    pub(crate) number: u64,
    // The first field, so that it is dropped before the tables and nothing is queued while they
    // are.
    pub(crate) queue: Arc<EventQueue>,
    pub(crate) tables: Mutex<Tables>,
    pub(crate) handoffs: Handoffs,
    pub(crate) telemetry: Arc<HostTelemetry>,
    process: Mutex<Option<Arc<ProcessRuntime>>>,
    pub(crate) ending: Closing,
}

impl PortState {
    pub(crate) fn new(bell: Box<dyn Bell>, bell_for_threads: Option<Box<dyn Bell>>) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let queue = Arc::new(EventQueue::new(bell, bell_for_threads));
        Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            telemetry: HostTelemetry::new(&queue),
            queue,
            tables: Mutex::default(),
            handoffs: Handoffs::default(),
            process: Mutex::new(None),
            ending: Closing::default(),
        })
    }

    /// Fails in a process forked from that of the port.
    pub(crate) fn check(&self) -> Result<(), BridgeError> {
        if self.queue.is_of_this_process() {
            return Ok(());
        }
        let text = "This port was created before fork(): create a new server or client in the child process";
        Err(BridgeError::new(ErrorKind::Forked, text))
    }

    /// Inserts something that closing the port has to end as well. Either closing sees it, or it is
    /// refused here.
    pub(crate) fn insert_opening(
        &self,
        wait: bool,
        insert: impl FnOnce(&mut Tables) -> Option<u64>,
    ) -> Result<u64, BridgeError> {
        let mut tables = self.tables.lock();
        if self.queue.is_closing() {
            return Err(BridgeError::closed());
        }
        let handle = insert(&mut tables).ok_or_else(full)?;
        tables.keep_reply(handle, wait);
        Ok(handle)
    }

    /// The runtime. Never starts one while the port is closing.
    pub(crate) fn process(&self) -> Result<Arc<ProcessRuntime>, BridgeError> {
        let mut process = self.process.lock();
        if self.queue.is_closing() {
            return Err(BridgeError::closed());
        }
        let running = process.take().map_or_else(ProcessRuntime::acquire, Ok)?;
        *process = Some(Arc::clone(&running));
        Ok(running)
    }

    /// The runtime, if the port uses it.
    pub(crate) fn started_process(&self) -> Option<Arc<ProcessRuntime>> {
        self.process.lock().clone()
    }

    /// Releases the runtime.
    pub(crate) fn release_process(&self) {
        let process = self.process.lock().take();
        drop(process);
    }

    pub(crate) fn runtime(&self) -> Result<Arc<dyn Runtime>, BridgeError> {
        Ok(Arc::new(Scoped::new(&self.queue, self.process()?.runtime())))
    }

    /// Runs a task of this port.
    pub(crate) fn spawn<F>(&self, process: &ProcessRuntime, task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        process.handle().spawn(Scoped::new(&self.queue, Box::pin(task)))
    }

    pub(crate) fn server(&self, handle: u64) -> Result<Server, BridgeError> {
        let server = self.tables.lock().servers.get(handle).cloned();
        server.ok_or_else(|| tables::ended(&[HandleKind::Server], "a server", handle))
    }

    /// The client of an open connection.
    pub(crate) fn client(&self, connection: u64) -> Option<Client> {
        let tables = self.tables.lock();
        Some(tables.connections.get(connection)?.get()?.client.clone())
    }

    /// The handler's side of a call that is not completed.
    pub(crate) fn call_info(&self, ticket: u64) -> Option<CallInfo> {
        let tables = self.tables.lock();
        Some(tables.calls.get(ticket)?.call.info().clone())
    }
}
