//! The threads that wait on a port, and how they are woken.
//!
//! One of them, the leader, sleeps on a descriptor that only the leader resets; the others sleep on
//! a condition variable. A signal handler can only write to a descriptor, so without the leader
//! nothing could wake the threads. The host's event loop watches another descriptor, because a
//! dispatch on a third thread must not take the byte that a sleeper needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trunkline::bridge_support::{Condvar, Mutex, OnDrop};

use crate::edge::alarm::Alarm;
use crate::edge::failure::Failure;

pub(crate) struct WaitingThreads {
    threads: Mutex<Threads>,
    changed: Condvar,
    /// Wakes the thread that stands by.
    unattended: Condvar,
    /// The threads that dispatch.
    dispatchers: AtomicUsize,
    /// How often a thread has begun to.
    dispatches: AtomicUsize,
    /// Signaled by everything that may concern a sleeper. Reset by the leader, which checks again
    /// afterwards.
    leader: Alarm,
    /// The alarm for the host's event loop. Nothing is written to it until the host asks for its
    /// descriptor.
    host: Alarm,
    is_watched: AtomicBool,
}

#[derive(Default)]
struct Threads {
    /// Incremented by each change that threads must check.
    changes: u64,
    followers: usize,
    has_leader: bool,
    /// True while a thread stands by that has not been woken.
    stands_by: bool,
}

impl WaitingThreads {
    pub(crate) fn new() -> Result<Self, Failure> {
        let (leader, host, is_watched) = (Alarm::new()?, Alarm::new()?, AtomicBool::new(false));
        let (threads, changed, unattended, dispatchers, dispatches) = Default::default();
        Ok(Self { threads, changed, unattended, dispatchers, dispatches, leader, host, is_watched })
    }

    /// The state to pass to `sleep`. Read it before checking for what the sleep would wait for.
    pub(crate) fn changes(&self) -> u64 {
        self.threads.lock().changes
    }

    /// Makes every waiting thread check again.
    pub(crate) fn wake(&self) {
        let mut threads = self.threads.lock();
        self.change(&mut threads);
        if threads.has_leader {
            self.leader.set();
        }
        self.notify_stand_by(&mut threads);
    }

    /// Makes every waiting thread and the host's event loop check again.
    pub(crate) fn wake_all(&self) {
        self.set_host();
        self.wake();
    }

    /// The same from a signal handler: the current or next leader passes it on.
    pub(crate) fn wake_in_signal_handler(&self) {
        self.set_host();
        self.leader.set();
    }

    /// Makes the host's event loop dispatch.
    pub(crate) fn set_host(&self) {
        if self.is_watched.load(Ordering::SeqCst) {
            self.host.set();
        }
    }

    pub(crate) fn clear_host(&self) {
        if self.is_watched.load(Ordering::SeqCst) {
            self.host.clear();
        }
    }

    /// The descriptor for the host's event loop, which is set if there is something to do.
    pub(crate) fn watched_by_host(&self, is_due: impl FnOnce() -> bool) -> isize {
        if !self.is_watched.swap(true, Ordering::SeqCst) && is_due() {
            self.host.set();
        }
        self.host.descriptor.raw()
    }

    /// Sleeps until something changes, unless it changed after `seen` was read. May also return
    /// without a change.
    pub(crate) fn sleep(&self, seen: u64, timeout: Duration) {
        let mut threads = self.threads.lock();
        if threads.changes != seen {
            return;
        }
        if threads.has_leader {
            threads.followers += 1;
            let unchanged = |threads: &mut Threads| threads.changes == seen;
            threads = self.changed.wait_while_until(threads, Instant::now() + timeout, unchanged);
            threads.followers -= 1;
            return;
        }
        threads.has_leader = true;
        drop(threads);
        self.leader.descriptor.wait(timeout);
        self.leader.clear();
        let mut threads = self.threads.lock();
        threads.has_leader = false;
        // A follower becomes the leader, and a signal handler's wake-up reaches all threads.
        self.change(&mut threads);
    }

    /// Counts the calling thread as one that dispatches, until the guard is dropped.
    pub(crate) fn dispatching(&self) -> OnDrop<impl FnOnce()> {
        self.dispatches.fetch_add(1, Ordering::SeqCst);
        self.dispatchers.fetch_add(1, Ordering::SeqCst);
        OnDrop::new(move || _ = self.dispatchers.fetch_sub(1, Ordering::SeqCst))
    }

    /// Waits until something has been due for `grace`, but no thread has begun to dispatch. May
    /// also return without that, after `timeout` at the latest.
    pub(crate) fn stand_by(&self, grace: Duration, timeout: Duration, is_due: impl Fn() -> bool) {
        let deadline = Instant::now() + timeout;
        while Instant::now() < deadline {
            // Before it looks: what changes afterwards wakes it.
            self.threads.lock().stands_by = true;
            let dispatches = self.dispatches.load(Ordering::SeqCst);
            let is_left = || self.dispatchers.load(Ordering::SeqCst) == 0 && is_due();
            if is_left() {
                // The thread that dispatches may only be between two dispatches.
                std::thread::sleep(grace);
                if self.dispatches.load(Ordering::SeqCst) == dispatches && is_left() {
                    break;
                }
            } else {
                let threads = self.threads.lock();
                drop(self.unattended.wait_while_until(threads, deadline, |threads| threads.stands_by));
            }
        }
        self.threads.lock().stands_by = false;
    }

    /// Wakes the thread that stands by, unless another one dispatches. Others that wait run
    /// callbacks, too, but do not tell the host what else is due.
    pub(crate) fn wake_stand_by(&self) {
        self.notify_stand_by(&mut self.threads.lock());
    }

    fn notify_stand_by(&self, threads: &mut Threads) {
        if self.dispatchers.load(Ordering::SeqCst) == 0 && std::mem::take(&mut threads.stands_by) {
            self.unattended.notify_one();
        }
    }

    fn change(&self, threads: &mut Threads) {
        threads.changes += 1;
        if threads.followers > 0 {
            self.changed.notify_all();
        }
    }
}

/// A request to stop a running server.
pub(crate) struct Stop {
    pub(crate) is_wanted: AtomicBool,
    waiting: Arc<WaitingThreads>,
}

impl Stop {
    pub(crate) fn new(waiting: Arc<WaitingThreads>) -> Self {
        Self { is_wanted: AtomicBool::new(false), waiting }
    }

    /// Safe inside a signal handler on Unix: an atomic operation and one `write`.
    pub(crate) fn request(&self) {
        self.is_wanted.store(true, Ordering::SeqCst);
        self.waiting.wake_in_signal_handler();
    }
}
