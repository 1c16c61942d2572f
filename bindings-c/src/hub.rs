//! A port of the bridge with the threads that wait on it.
//!
//! Any thread that waits may take events from the bridge and sort them (`pump`); outcomes of
//! blocking calls go straight to their waiters, everything that needs a callback becomes due work.
//! Due work is run by one thread at a time, so callbacks of a port never run at the same time.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use trunkline_bridge::{Bell, Event, Lane, Port};

use crate::alarm::Alarm;
use crate::callback::ProgressCallback;
use crate::error::Failure;
use crate::sleepers::Sleepers;
use crate::sync::Mutex;
use crate::work::{Session, State, Waiter, Work, outcome, report_progress};

/// How many events cross at a time.
const BATCH: usize = 256;

/// No wait is longer than this without looking again, whatever the caller's deadline is.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What the core may need beyond a deadline that it was given to report the end.
const GRACE_MS: u64 = 10_000;

/// `None`, no deadline, if it lies beyond the clock.
pub(crate) fn deadline_after(milliseconds: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(milliseconds))
}

pub(crate) struct Hub {
    pub(crate) port: Port,
    /// In a forked child the locks may be held by threads that are not there.
    pid: u32,
    alarm: Arc<Alarm>,
    state: Mutex<State>,
    sleepers: Sleepers,
    wakes: AtomicU64,
    wakes_seen: AtomicU64,
    dispatch_must_return: AtomicBool,
}

/// The right to run callbacks, which one thread has at a time.
struct Turn<'a>(&'a Hub);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.running = false;
        let is_due = !state.due.is_empty();
        let waited_for = std::mem::take(&mut state.progress_waits) || is_due;
        drop(state);
        if waited_for {
            self.0.sleepers.nudge(&self.0.alarm);
        }
        if is_due {
            self.0.alarm.set();
        }
    }
}

struct HubBell(Arc<Alarm>);

impl Bell for HubBell {
    fn ring(&self) {
        self.0.set();
    }
}

impl Hub {
    pub(crate) fn new() -> Result<Arc<Self>, Failure> {
        crate::sigpipe::ignore();
        let alarm = Arc::new(Alarm::new()?);
        Ok(Arc::new(Self {
            port: Port::new(HubBell(alarm.clone())),
            pid: std::process::id(),
            alarm,
            state: Mutex::default(),
            sleepers: Sleepers::default(),
            wakes: AtomicU64::new(0),
            wakes_seen: AtomicU64::new(0),
            dispatch_must_return: AtomicBool::new(false),
        }))
    }

    pub(crate) fn descriptor(&self) -> isize {
        self.alarm.raw()
    }

    /// The tables of the port. Hold it while making something that the core may answer at once, so
    /// that the answer finds its entry. Refused in a forked child.
    pub(crate) fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        self.check_process()?;
        Ok(self.state.lock())
    }

    /// Makes all waiting threads look at their conditions. Safe inside a signal handler.
    pub(crate) fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        self.alarm.set();
    }

    /// Ends the dispatch that is waiting, or the next one. Safe inside a signal handler.
    pub(crate) fn end_dispatch(&self) {
        self.dispatch_must_return.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Runs callbacks until some ran, a listener or connection ended, `end_dispatch` or the deadline;
    /// says how many ran.
    pub(crate) fn dispatch(self: &Arc<Self>, deadline: Option<Instant>) -> Result<usize, Failure> {
        let endings = self.state()?.endings;
        let ran = self.run_until(deadline, |ran| {
            let must_return = self.dispatch_must_return.swap(false, Ordering::SeqCst);
            let is_due = ran > 0 || must_return || self.state.lock().endings != endings;
            is_due.then_some(ran)
        })?;
        Ok(ran.unwrap_or(0))
    }

    /// Opens a listener or connection for a thread that then waits with `wait_for`, or with
    /// `waiter` for whoever else. `opened` gets the handle before any callback runs that may need it.
    pub(crate) fn open(
        &self,
        json: &[u8],
        session: &Arc<Session>,
        waiter: Waiter,
        opened: impl FnOnce(u64),
    ) -> Result<u64, Failure> {
        if matches!(waiter, Waiter::Thread { .. }) {
            self.check_may_wait()?;
        }
        let mut state = self.state()?;
        let handle = self.port.open(json)?;
        state.sessions.insert(handle, session.clone());
        state.waiters.insert(handle, waiter);
        opened(handle);
        Ok(handle)
    }

    /// Sends a request to the server of a connection or the client of a call; its outcome goes to `waiter`. `sent` gets its
    /// ticket before any callback runs that may need it.
    pub(crate) fn request(
        &self,
        target: u64,
        json: &[u8],
        waiter: Waiter,
        sent: impl FnOnce(u64),
    ) -> Result<u64, Failure> {
        if matches!(waiter, Waiter::Thread { .. }) {
            self.check_may_wait()?;
        }
        let mut state = self.state()?;
        let ticket = self.port.request(target, json)?;
        state.waiters.insert(ticket, waiter);
        sent(ticket);
        Ok(ticket)
    }

    /// Has a callback run that is due for another reason than an event.
    pub(crate) fn add_due(&self, work: Work) -> Result<(), Failure> {
        self.state()?.due.push(work);
        self.sleepers.nudge(&self.alarm);
        self.alarm.set();
        Ok(())
    }

    /// Closes listeners or connections, all of them at once, and runs callbacks until the core has reported their ends. The
    /// first failure does not keep the others open.
    pub(crate) fn close<'a>(
        self: &Arc<Self>,
        sessions: impl IntoIterator<Item = (u64, &'a Arc<Session>)>,
        deadline_ms: u64,
    ) -> Result<(), Failure> {
        let mut open: Vec<_> = sessions.into_iter().filter(|(_, session)| !session.is_closed()).collect();
        if open.is_empty() {
            return Ok(());
        }
        self.check_may_wait()?;
        let mut outcome = Ok(());
        open.retain(|(handle, _)| match self.port.close(*handle, deadline_ms) {
            Ok(()) => true,
            Err(reason) => {
                outcome = std::mem::replace(&mut outcome, Ok(())).and(Err(reason.into()));
                false
            }
        });
        let deadline = deadline_after(deadline_ms.saturating_add(GRACE_MS));
        let closed = self.run_until(deadline, |_| open.iter().all(|(_, session)| session.is_closed()).then_some(()))?;
        outcome.and(closed.ok_or_else(|| Failure::timeout("what was closed did not end in time")))
    }

    /// Closes a listener or connection without waiting.
    pub(crate) fn close_now(&self, handle: u64, session: &Session) {
        if !session.is_closed() {
            let _ = self.port.close(handle, 0);
        }
    }

    /// Runs callbacks until the outcome of a ticket is there. The core sees to it that it comes:
    /// every request has a timeout.
    pub(crate) fn wait_for(
        self: &Arc<Self>,
        ticket: u64,
        progress: Option<&Arc<ProgressCallback>>,
    ) -> Result<Bytes, Failure> {
        let reply = self.run_until(None, |_| self.look_for(ticket, progress));
        self.state()?.waiters.remove(&ticket);
        outcome(&reply?.ok_or_else(|| Failure::internal("the wait for an answer ended without one"))?)
    }

    /// The outcome of a ticket, if it is there; tells of progress before.
    fn look_for(&self, ticket: u64, progress: Option<&Arc<ProgressCallback>>) -> Option<Event> {
        let mut state = self.state.lock();
        let (latest, reply) = state.collect(ticket);
        if let (Some(progress), Some(event)) = (progress, latest) {
            let _turn = self.take_turn(state);
            self.enter(|| report_progress(progress, &event));
        }
        reply
    }

    pub(crate) fn check_process(&self) -> Result<(), Failure> {
        if self.pid == std::process::id() { Ok(()) } else { Err(Failure::forked()) }
    }

    /// Refuses to wait on a thread that is inside a callback of this port. To be asked before anything is sent.
    fn check_may_wait(&self) -> Result<(), Failure> {
        self.check_process()?;
        let inside = INSIDE.with_borrow(|inside| inside.contains(&std::ptr::from_ref(self)));
        if inside { Err(Failure::blocking()) } else { Ok(()) }
    }

    /// Runs callbacks until `done` has an answer (it is told how many ran) or the deadline passes.
    pub(crate) fn run_until<T>(
        self: &Arc<Self>,
        deadline: Option<Instant>,
        mut done: impl FnMut(usize) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        self.check_may_wait()?;
        let mut total = 0;
        loop {
            let generation = self.sleepers.generation();
            self.alarm.clear();
            self.pump()?;
            let ran = self.run_due();
            total += ran;
            if let Some(answer) = done(total) {
                return Ok(Some(answer));
            }
            if self.state.lock().stopped {
                return Err(Failure::closed("the port is closed"));
            }
            let left = deadline.map_or(LONGEST_WAIT, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            if ran == 0 {
                self.sleepers.wait(&self.alarm, generation, left.min(LONGEST_WAIT));
            }
        }
    }

    /// Takes what the core queued and sorts it.
    fn pump(&self) -> Result<(), Failure> {
        let wakes = self.wakes.load(Ordering::SeqCst);
        let mut news = self.wakes_seen.swap(wakes, Ordering::SeqCst) != wakes;
        let mut dropped = Vec::new();
        loop {
            let mut state = self.state.lock();
            let events = self.port.drain(Lane::Queue, BATCH, 0)?;
            let drained = events.len();
            for event in events {
                news |= state.sort(event, &mut dropped);
            }
            drop(state);
            dropped.clear();
            if drained < BATCH {
                break;
            }
        }
        if news {
            self.sleepers.nudge(&self.alarm);
        }
        Ok(())
    }

    /// Runs the work that is due now, unless another thread runs callbacks; says how much.
    fn run_due(self: &Arc<Self>) -> usize {
        let state = self.state.lock();
        let due = state.due.len();
        if state.running || due == 0 {
            return 0;
        }
        let _turn = self.take_turn(state);
        let mut ran = 0;
        while ran < due {
            let Some(work) = self.state.lock().due.pop() else { break };
            self.enter(|| work.run(self));
            ran += 1;
        }
        ran
    }

    /// Begins to run callbacks, which nobody does in this state.
    fn take_turn(&self, mut state: MutexGuard<'_, State>) -> Turn<'_> {
        state.running = true;
        Turn(self)
    }
}

thread_local! {
    /// The ports whose callbacks are running on this thread.
    static INSIDE: RefCell<Vec<*const Hub>> = const { RefCell::new(Vec::new()) };
}

impl Hub {
    /// Runs host code; meanwhile blocking calls of this port on this thread are refused.
    pub(crate) fn enter(&self, callback: impl FnOnce()) {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                INSIDE.with_borrow_mut(Vec::pop);
            }
        }
        INSIDE.with_borrow_mut(|inside| inside.push(self));
        let _leave = Leave;
        callback();
    }
}
