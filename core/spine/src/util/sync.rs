//! Locks that work in a forked child.
//!
//! These are the standard library's, which keep all state in the lock. Other locks use a global
//! table of waiting threads, which would list threads that don't exist in a forked child. Poisoning
//! is ignored: panics are contained where they happen, and the data stays usable.

use std::{
    sync::{MutexGuard, PoisonError, TryLockError},
    thread,
    time::{Duration, Instant},
};

/// A lock.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates one.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Acquires the lock, blocking until it is available.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries to acquire the lock until `deadline`, because in a forked child, the thread that holds
    /// it may not exist.
    pub fn lock_until(&self, deadline: Instant) -> Option<MutexGuard<'_, T>> {
        loop {
            match self.0.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(POLL_INTERVAL),
            }
        }
    }
}

/// How often a locked mutex is tried again.
const POLL_INTERVAL: Duration = Duration::from_micros(100);

/// A condition variable.
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

impl Condvar {
    /// Creates one.
    pub const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    /// Waits while `unchanged` says so.
    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        unchanged: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_while(guard, unchanged).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while `unchanged` says so, at most until `deadline`.
    pub fn wait_while_until<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        deadline: Instant,
        mut unchanged: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !unchanged(&mut guard) {
                return guard;
            }
            guard = self.0.wait_timeout(guard, left.min(MAX_WAIT)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Wakes one waiting thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Systems differ in the longest wait that they support.
const MAX_WAIT: Duration = Duration::from_secs(3600);
