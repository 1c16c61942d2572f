//! The port on whose behalf the current thread runs, used to route log records.

use crate::events::queue::EventQueue;
use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::{Duration, Instant},
};
use trunkline::{
    bridge_support::OnDrop,
    runtime::{BoxedTask, Runtime, Terminal},
    store::{Store, StoreError},
    wire_log::WireLog,
};

thread_local! {
    static CURRENT_QUEUE: RefCell<Weak<EventQueue>> = const { RefCell::new(Weak::new()) };
}

/// The queue of the port on whose behalf the current thread runs, if it is known.
pub(crate) fn current_queue() -> Option<Arc<EventQueue>> {
    // Thread-local storage is unavailable during thread exit.
    CURRENT_QUEUE.try_with(|queue| queue.borrow().upgrade()).ok().flatten()
}

/// Code that runs on behalf of a port.
pub(crate) struct Scoped<T> {
    pub(crate) queue: Weak<EventQueue>,
    pub(crate) inner: T,
}

impl<T> Scoped<T> {
    pub(crate) fn new(queue: &Arc<EventQueue>, inner: T) -> Self {
        Self { queue: Arc::downgrade(queue), inner }
    }
}

/// Until the returned guard is dropped, this thread runs on behalf of the port of a queue.
pub(crate) fn on_behalf_of(queue: Weak<EventQueue>) -> OnDrop<impl FnOnce()> {
    let before = CURRENT_QUEUE.try_with(|current| current.replace(queue)).unwrap_or_default();
    OnDrop::new(move || _ = CURRENT_QUEUE.try_with(|current| current.replace(before)))
}

impl<T: Future + Unpin> Future for Scoped<T> {
    type Output = T::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T::Output> {
        let _scope = on_behalf_of(Weak::clone(&self.queue));
        Pin::new(&mut self.inner).poll(context)
    }
}

impl Runtime for Scoped<Arc<dyn Runtime>> {
    fn spawn(&self, task: BoxedTask) {
        self.inner.spawn(Box::pin(Scoped { queue: Weak::clone(&self.queue), inner: task }));
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        let queue = Weak::clone(&self.queue);
        self.inner.run_blocking(Box::new(move || {
            let _scope = on_behalf_of(queue);
            work();
        }));
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn unix_time(&self) -> Duration {
        self.inner.unix_time()
    }

    fn sleep_until(&self, at: Instant) -> BoxedTask {
        self.inner.sleep_until(at)
    }

    fn wire_log(&self) -> Option<&dyn WireLog> {
        self.inner.wire_log()
    }

    fn open_store(&self, url: &str, deadline: Duration) -> Result<Arc<dyn Store>, StoreError> {
        self.inner.open_store(url, deadline)
    }

    fn within(&self, work: &mut dyn FnMut()) {
        let _scope = on_behalf_of(Weak::clone(&self.queue));
        work();
    }

    fn terminal(&self) -> Option<Arc<dyn Terminal>> {
        self.inner.terminal()
    }
}
