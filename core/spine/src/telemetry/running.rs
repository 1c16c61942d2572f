//! An operation from its start to its end.

use super::{OpenOperation, OperationEnd, OperationStart, Telemetry};
use crate::{protocol::TraceContext, runtime::Runtime};
use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Instant,
};

/// An operation in progress. Only its first end counts; if it is dropped without one, it was
/// cancelled.
#[doc(hidden)]
pub struct RunningOperation {
    open: Arc<dyn OpenOperation>,
    runtime: Arc<dyn Runtime>,
    began: Instant,
    ended: AtomicBool,
}

impl RunningOperation {
    /// Starts an operation, if it is observed.
    pub(crate) fn begin(
        telemetry: &dyn Telemetry,
        runtime: &Arc<dyn Runtime>,
        operation: OperationStart,
    ) -> Option<Self> {
        let began = runtime.now();
        let open = telemetry.begin(operation)?;
        Some(Self { open, runtime: Arc::clone(runtime), began, ended: AtomicBool::new(false) })
    }

    /// An operation whose span the program has started.
    pub(crate) fn of(open: Arc<dyn OpenOperation>, runtime: &Arc<dyn Runtime>) -> Self {
        let (runtime, began) = (Arc::clone(runtime), runtime.now());
        Self { open, runtime, began, ended: AtomicBool::new(false) }
    }

    /// Runs a part of the operation.
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        let (mut work, mut result) = (Some(work), None);
        self.open.run(&mut || result = work.take().map(|work| work()));
        result
    }

    /// Polls a future within the operation.
    pub(crate) async fn around<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| self.run(|| future.as_mut().poll(context)).unwrap_or(Poll::Pending)).await
    }

    pub(crate) fn end(&self, end: OperationEnd) {
        if !self.ended.swap(true, Ordering::AcqRel) {
            self.open.end(end.with_duration(self.runtime.now().saturating_duration_since(self.began)));
        }
    }

    /// The trace context for its messages.
    pub(crate) fn context(&self) -> TraceContext {
        self.open.context()
    }

    /// Its number in a binding.
    pub fn number(&self) -> u64 {
        self.open.number()
    }
}

impl fmt::Debug for RunningOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunningOperation")
    }
}

impl Drop for RunningOperation {
    fn drop(&mut self) {
        self.end(OperationEnd::cancelled());
    }
}
