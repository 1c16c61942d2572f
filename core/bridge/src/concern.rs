//! Which port a thread works for just now: its log records go there.

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
    static CONCERNED: RefCell<Weak<PortInner>> = const { RefCell::new(Weak::new()) };
}

/// The port that this thread works for, if that is known.
pub(super) fn concerned() -> Option<Arc<PortInner>> {
    // A thread that is ending works for nobody.
    CONCERNED.try_with(|port| port.borrow().upgrade()).ok().flatten()
}

/// Something that works for a port.
pub(super) struct Concerned<T> {
    pub(super) port: Weak<PortInner>,
    pub(super) inner: T,
}

impl<T> Concerned<T> {
    pub(super) fn new(port: &Arc<PortInner>, inner: T) -> Self {
        Self { port: Arc::downgrade(port), inner }
    }
}

/// While this lives, its thread works for a port.
pub(super) struct Concern {
    before: Weak<PortInner>,
}

impl Concern {
    pub(super) fn begin(port: &Weak<PortInner>) -> Self {
        Self { before: CONCERNED.try_with(|concerned| concerned.replace(Weak::clone(port))).unwrap_or_default() }
    }
}

impl Drop for Concern {
    fn drop(&mut self) {
        let before = std::mem::take(&mut self.before);
        let _ = CONCERNED.try_with(|concerned| concerned.replace(before));
    }
}

impl<T: Future + Unpin> Future for Concerned<T> {
    type Output = T::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T::Output> {
        let _concern = Concern::begin(&self.port);
        Pin::new(&mut self.inner).poll(context)
    }
}

impl Runtime for Concerned<Arc<dyn Runtime>> {
    fn spawn(&self, task: Task) {
        self.inner.spawn(Box::pin(Concerned { port: Weak::clone(&self.port), inner: task }));
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

impl Connector for Concerned<Arc<dyn Connector>> {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> Task<Result<Arc<dyn Link>, LinkFailure>> {
        self.inner.connect(Arc::new(Concerned { port: Weak::clone(&self.port), inner: inbox }))
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

impl Inbox for Concerned<Arc<dyn Inbox>> {
    fn message(&self, frame: Bytes) {
        let _concern = Concern::begin(&self.port);
        self.inner.message(frame);
    }

    fn awaits(&self, id: &RequestId) -> bool {
        self.inner.awaits(id)
    }

    fn failed(&self, id: &RequestId, failure: LinkFailure) {
        let _concern = Concern::begin(&self.port);
        self.inner.failed(id, failure);
    }

    fn closed(&self, failure: LinkFailure) {
        let _concern = Concern::begin(&self.port);
        self.inner.closed(failure);
    }
}
