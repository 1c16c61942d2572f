//! The port on whose behalf the current thread runs, used to route log records.

use super::port::PortInner;
use bytes::Bytes;
use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Instant,
};
use trunkline::{
    client::{Connector, Inbox, Link, LinkFailure},
    protocol::RequestId,
    runtime::{Runtime, Task},
    wire_log::{Transport, WireLog},
};

thread_local! {
    static CURRENT_PORT: RefCell<Weak<PortInner>> = const { RefCell::new(Weak::new()) };
}

/// The port on whose behalf the current thread runs, if it is known.
pub(super) fn current_port() -> Option<Arc<PortInner>> {
    // Thread-local storage is gone during thread exit.
    CURRENT_PORT.try_with(|port| port.borrow().upgrade()).ok().flatten()
}

/// Code that runs on behalf of a port.
pub(super) struct Scoped<T> {
    pub(super) port: Weak<PortInner>,
    pub(super) inner: T,
}

impl<T> Scoped<T> {
    pub(super) fn new(port: &Arc<PortInner>, inner: T) -> Self {
        Self { port: Arc::downgrade(port), inner }
    }
}

/// A guard: until it is dropped, its thread runs on behalf of a port.
pub(super) struct LogScope {
    before: Weak<PortInner>,
}

impl LogScope {
    pub(super) fn begin(port: &Weak<PortInner>) -> Self {
        Self { before: CURRENT_PORT.try_with(|current| current.replace(Weak::clone(port))).unwrap_or_default() }
    }
}

impl Drop for LogScope {
    fn drop(&mut self) {
        let before = std::mem::take(&mut self.before);
        let _ = CURRENT_PORT.try_with(|current| current.replace(before));
    }
}

impl<T: Future + Unpin> Future for Scoped<T> {
    type Output = T::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T::Output> {
        let _scope = LogScope::begin(&self.port);
        Pin::new(&mut self.inner).poll(context)
    }
}

impl Runtime for Scoped<Arc<dyn Runtime>> {
    fn spawn(&self, task: Task) {
        self.inner.spawn(Box::pin(Scoped { port: Weak::clone(&self.port), inner: task }));
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn sleep_until(&self, at: Instant) -> Task {
        self.inner.sleep_until(at)
    }

    fn wire_log(&self) -> Option<&dyn WireLog> {
        self.inner.wire_log()
    }
}

impl Connector for Scoped<Arc<dyn Connector>> {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> Task<Result<Arc<dyn Link>, LinkFailure>> {
        self.inner.connect(Arc::new(Scoped { port: Weak::clone(&self.port), inner: inbox }))
    }

    fn is_pipe(&self) -> bool {
        self.inner.is_pipe()
    }

    fn identity(&self) -> Option<u64> {
        self.inner.identity()
    }

    fn transport(&self) -> Transport {
        self.inner.transport()
    }
}

impl Inbox for Scoped<Arc<dyn Inbox>> {
    fn message(&self, frame: Bytes) {
        let _scope = LogScope::begin(&self.port);
        self.inner.message(frame);
    }

    fn awaits(&self, id: &RequestId) -> bool {
        self.inner.awaits(id)
    }

    fn failed(&self, id: &RequestId, failure: LinkFailure) {
        let _scope = LogScope::begin(&self.port);
        self.inner.failed(id, failure);
    }

    fn closed(&self, failure: LinkFailure) {
        let _scope = LogScope::begin(&self.port);
        self.inner.closed(failure);
    }
}
