//! When a bridge in the background ends by itself: its socket is gone, or nobody uses it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use trunkline::telemetry::{OpenOperation, OperationEnd, OperationStart, Telemetry};

const POLL: Duration = Duration::from_millis(250);

/// When requests were served.
pub(super) struct Use {
    open: AtomicUsize,
    last: Mutex<Instant>,
}

impl Use {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { open: AtomicUsize::new(0), last: Mutex::new(Instant::now()) })
    }

    fn note(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long no request was open.
    fn idle(&self) -> Duration {
        match self.open.load(Ordering::SeqCst) {
            0 => self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed(),
            _ => Duration::ZERO,
        }
    }
}

/// Gets the requests of a bridge.
pub(super) struct Observed(pub(super) Arc<Use>);

impl Telemetry for Observed {
    fn begin(&self, _: OperationStart) -> Option<Arc<dyn OpenOperation>> {
        self.0.note();
        self.0.open.fetch_add(1, Ordering::SeqCst);
        Some(Arc::new(OpenRequest(Arc::clone(&self.0))))
    }
}

/// A request being served.
struct OpenRequest(Arc<Use>);

impl OpenOperation for OpenRequest {
    fn end(&self, _: OperationEnd) {}
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.note();
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits for the end of a bridge: after this time without a request, or without its socket.
pub(super) async fn wait(used: Arc<Use>, idle: Duration, socket: Option<PathBuf>) {
    let file = socket.as_deref().and_then(identity);
    loop {
        tokio::time::sleep(POLL.min(idle)).await;
        if used.idle() >= idle || socket.as_deref().is_some_and(|path| identity(path) != file) {
            return;
        }
    }
}

/// Device and inode of a file: another bridge may have the same path.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<()> {
    path.exists().then_some(())
}
