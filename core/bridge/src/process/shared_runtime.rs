//! The runtime of the process. The first port that opens something starts it; it stops when the
//! last such port is closed.

use crate::{BridgeError, ErrorKind};
use std::{
    sync::{Arc, Weak},
    thread,
    time::Duration,
};
use tokio::{runtime::Handle, sync::oneshot};
use trunkline::{bridge_support::Mutex, runtime::Runtime, transport::TokioRuntime};

/// A reference to the runtime. Dropping the last one stops it.
pub(crate) struct ProcessRuntime {
    pid: u32,
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
}

static CURRENT: Mutex<Weak<ProcessRuntime>> = Mutex::new(Weak::new());

/// How long tasks get to finish.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

impl ProcessRuntime {
    /// Returns the runtime of this process, starting it if necessary. A forked child gets its own.
    pub(crate) fn acquire() -> Result<Arc<Self>, BridgeError> {
        let pid = std::process::id();
        let mut current = CURRENT.lock();
        if let Some(runtime) = current.upgrade().filter(|runtime| runtime.pid == pid) {
            return Ok(runtime);
        }
        let started = Arc::new(Self::start(pid)?);
        *current = Arc::downgrade(&started);
        Ok(started)
    }

    fn start(pid: u32) -> Result<Self, BridgeError> {
        let failed =
            |error: std::io::Error| BridgeError::new(ErrorKind::Busy, format!("Could not create the runtime: {error}"));
        // A single thread: the work per message takes microseconds, and each hop between threads
        // would double that.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new()
            .name("trunkline".into())
            .spawn(move || {
                // An error means that the sender was dropped, which also means stop.
                let _ = runtime.block_on(stopped);
                runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
            })
            .map_err(failed)?;
        Ok(Self { pid, handle, stop: Some(stop) })
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn runtime(&self) -> Arc<dyn Runtime> {
        TokioRuntime::from_handle(self.handle.clone())
    }
}

impl Drop for ProcessRuntime {
    fn drop(&mut self) {
        // In a forked child, leave the parent's runtime alone: its thread does not exist here.
        // Otherwise, dropping the sender stops that thread.
        if self.pid != std::process::id() {
            std::mem::forget((self.stop.take(), self.handle.clone()));
        }
    }
}
