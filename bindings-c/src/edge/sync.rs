//! Locks that a forked child can use.
//!
//! The standard library's, whose state is in the lock itself; a global table of waiting threads, as other locks have, would
//! name threads in a forked child that do not exist there. Panics are contained at the edge, and what was locked stays usable.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    /// Waits for a notification, at most `timeout`; may also return without one.
    pub(crate) fn wait_for<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, timeout).unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
