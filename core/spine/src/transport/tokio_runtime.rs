//! Spawns tasks and sleeps on tokio.

#[cfg(feature = "terminal")]
use super::terminal;
use super::{observer, store};
use crate::{
    runtime::{BoxedTask, Runtime, Terminal},
    store::{Store, StoreError},
    wire_log::WireLog,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::runtime::Handle;

/// Runs the library's tasks on a tokio runtime.
#[derive(Debug, Clone)]
pub struct TokioRuntime {
    handle: Handle,
}

impl TokioRuntime {
    /// The current runtime.
    ///
    /// # Panics
    /// If called outside of a tokio runtime.
    pub fn current() -> Arc<dyn Runtime> {
        Self::from_handle(Handle::current())
    }

    /// The runtime of a handle.
    pub fn from_handle(handle: Handle) -> Arc<dyn Runtime> {
        Arc::new(Self { handle })
    }
}

impl Runtime for TokioRuntime {
    fn spawn(&self, task: BoxedTask) {
        self.handle.spawn(task);
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        drop(self.handle.spawn_blocking(work));
    }

    fn now(&self) -> Instant {
        // The clock of the sleeps below, which tests may pause.
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, at: Instant) -> BoxedTask {
        let _context = self.handle.enter();
        Box::pin(tokio::time::sleep_until(at.into()))
    }

    fn wire_log(&self) -> Option<&dyn WireLog> {
        observer::of_process()
    }

    fn open_store(&self, url: &str, deadline: Duration) -> Result<Arc<dyn Store>, StoreError> {
        store::unguarded(url, &Self::from_handle(self.handle.clone()), deadline)
    }

    #[cfg(feature = "terminal")]
    fn terminal(&self) -> Option<Arc<dyn Terminal>> {
        terminal::of_process()
    }
}
