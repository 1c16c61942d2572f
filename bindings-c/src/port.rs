//! The port: the core's event queue, the threads that wait on it, and the only place where
//! callbacks run.
//!
//! Any thread inside a blocking function may take the turn. It then takes one event after another
//! from the core and runs the matching callbacks. While one thread has the turn, events stay in the
//! core, within its bounds; the other threads still get the replies that they wait for. So
//! callbacks of a port never run concurrently, and no thread waits for another one's callbacks.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use trunkline::bridge_support::Mutex;
use trunkline_bridge::message::{Fail, FailKind, Notification, NotifyPort};
use trunkline_bridge::{self as bridge, Bell, Body, BridgeError, Event, EventKind, Fetched};

use crate::edge::alarm::Alarm;
use crate::edge::failure::Failure;
use crate::edge::sigpipe;
use crate::edge::user_data::UserData;
use crate::log::{self, LogCallback};
use crate::scope::{CallScope, Causes};
use crate::telemetry::PortTelemetry;
use crate::waiting::{WaitingThreads, WakesThreads};

/// Maximum time to sleep before checking again.
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);

/// The number under which the port's log and telemetry receivers are registered.
const LOG: u64 = 0;

/// The ports by number. A call may be caused on another port: that of a server that mounts this
/// one's server.
static PORTS: Mutex<Vec<(u64, Weak<Port>)>> = Mutex::new(Vec::new());

/// Registers a port, so that calls on other ports find it while it lives.
fn enter(port: &Arc<Port>) {
    let mut ports = PORTS.lock();
    ports.retain(|(_, port)| port.strong_count() > 0);
    ports.push((port.core.number(), Arc::downgrade(port)));
}

/// The context of a call, if something in the host caused it.
pub(crate) fn call_scope(port: &Port, call: &Event) -> Option<Arc<CallScope>> {
    if call.cause == 0 {
        return None;
    }
    if call.cause_port == 0 {
        return port.call_scope(call.cause);
    }
    let known = PORTS.lock().iter().find(|(number, _)| *number == call.cause_port).and_then(|(_, port)| port.upgrade());
    known?.call_scope(call.cause)
}

/// An event queue and the threads that wait on it. Each server and each client has its own port
/// unless its options name one to share. Share a port to run several servers and clients in one
/// event loop.
///
/// Callbacks only run on a thread that is inside `trunkline_dispatch` or another blocking function
/// of a server or client of the port. Two callbacks of one port never run concurrently.
pub struct trunkline_port {
    pub(crate) port: Arc<Port>,
}

/// Receives events, for a registration, an open listener or connection, a request, an exchange or a
/// call.
pub(crate) trait EventReceiver: Send + Sync {
    /// The handle whose end removes this receiver; 0 if there is none.
    fn owner(&self) -> u64 {
        0
    }

    /// The context of the calls that it causes, if the core reports it as `Freed`.
    fn scope(&self) -> Option<Arc<CallScope>> {
        None
    }

    /// Handles an event on the thread that has the turn. Returns whether a callback ran.
    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool;
}

struct LogReceiver(Option<LogCallback>);

impl EventReceiver for LogReceiver {
    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool {
        match event.body {
            Body::Log(records) => log::report(records, self.0.as_ref()),
            body if event.kind == EventKind::Telemetry => {
                if let Some(telemetry) = port.telemetry() {
                    telemetry.receive(&body.into_bytes());
                }
            }
            _ => return false,
        }
        true
    }
}

pub(crate) struct Port {
    pub(crate) core: bridge::Port,
    telemetry: OnceLock<PortTelemetry>,
    /// In a forked child, the locks may be held by threads that don't exist there.
    pid: u32,
    /// The descriptor that the host's event loop watches.
    alarm: Arc<HostAlarm>,
    waiting: Arc<WaitingThreads>,
    state: Mutex<DispatchState>,
    /// True if a thread has the turn.
    running: AtomicBool,
    /// True if a thread has progress to report but could not get the turn.
    progress_waits: AtomicBool,
    /// The number of listeners and connections that have ended. A dispatch also returns when one
    /// ends, without a callback.
    ends: AtomicUsize,
    dispatch_must_return: AtomicBool,
}

#[derive(Default)]
struct DispatchState {
    /// By the core's handles and tickets.
    receivers: HashMap<u64, Arc<dyn EventReceiver>>,
    causes: Causes,
    jobs: VecDeque<Job>,
}

/// A callback to run that is not caused by an event of the core.
struct Job {
    owner: u64,
    run: Box<dyn FnOnce() + Send>,
}

/// Receives the progress of a request (the params of its notification), like a callback.
pub(crate) type Report = dyn Fn(&[u8]);

/// The right to run callbacks, which one thread has at a time.
struct CallbackTurn<'a>(&'a Port);

impl Drop for CallbackTurn<'_> {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::SeqCst);
        let progress_waits = self.0.progress_waits.swap(false, Ordering::SeqCst);
        let is_pending = self.0.is_pending();
        if is_pending {
            self.0.alarm.set();
        }
        if is_pending || progress_waits {
            self.0.waiting.wake();
        }
    }
}

/// The state of a waiting thread when it checks its condition.
pub(crate) struct WaitCheck {
    /// The number of callbacks that this thread has run since it began to wait.
    pub(crate) ran: usize,
    /// True if the thread sleeps next, because there is nothing left that it may run.
    pub(crate) is_last: bool,
    has_turn: bool,
}

/// The alarm for the host's event loop. Nothing is written to it until the host asks for its
/// descriptor.
struct HostAlarm {
    alarm: Alarm,
    is_watched: AtomicBool,
}

impl HostAlarm {
    fn new() -> Result<Self, Failure> {
        Ok(Self { alarm: Alarm::new()?, is_watched: AtomicBool::new(false) })
    }

    fn set(&self) {
        if self.is_watched.load(Ordering::SeqCst) {
            self.alarm.set();
        }
    }

    fn clear(&self) {
        if self.is_watched.load(Ordering::SeqCst) {
            self.alarm.clear();
        }
    }
}

struct QueueBell {
    alarm: Arc<HostAlarm>,
    waiting: Arc<WaitingThreads>,
}

impl Bell for QueueBell {
    fn ring(&self) {
        self.alarm.set();
        self.waiting.wake();
    }
}

/// `None`, meaning no deadline, if it exceeds the clock's range.
pub(crate) fn deadline_after(milliseconds: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(milliseconds))
}

impl Port {
    pub(crate) fn new() -> Result<Arc<Self>, Failure> {
        sigpipe::ignore();
        let (alarm, waiting) = (Arc::new(HostAlarm::new()?), Arc::new(WaitingThreads::new()?));
        let bell = QueueBell { alarm: alarm.clone(), waiting: waiting.clone() };
        let port = Self {
            core: bridge::Port::with_threads(bell, WakesThreads(waiting.clone()))
                .with_option_names(bridge::OptionNames::C),
            telemetry: OnceLock::new(),
            pid: std::process::id(),
            alarm,
            waiting,
            state: Mutex::default(),
            running: AtomicBool::new(false),
            progress_waits: AtomicBool::new(false),
            ends: AtomicUsize::new(0),
            dispatch_must_return: AtomicBool::new(false),
        };
        port.state.lock().receivers.insert(LOG, Arc::new(LogReceiver(None)));
        let port = Arc::new(port);
        enter(&port);
        Ok(port)
    }

    pub(crate) fn descriptor(&self) -> isize {
        // Changes before this were not signalled; later ones are.
        if !self.alarm.is_watched.swap(true, Ordering::SeqCst)
            && (self.is_pending() || self.dispatch_must_return.load(Ordering::SeqCst))
        {
            self.alarm.set();
        }
        self.alarm.alarm.raw()
    }

    pub(crate) fn check_process(&self) -> Result<(), Failure> {
        if self.pid == std::process::id() { Ok(()) } else { Err(Failure::forked()) }
    }

    /// Creates something in the core whose events go to `receiver`. `made` gets its number; none of
    /// its events is handled until `made` has returned.
    pub(crate) fn make(
        &self,
        receiver: Arc<dyn EventReceiver>,
        make: impl FnOnce(&bridge::Port) -> Result<u64, BridgeError>,
        made: impl FnOnce(u64),
    ) -> Result<u64, Failure> {
        self.check_process()?;
        let mut state = self.state.lock();
        let number = make(&self.core)?;
        if let Some(scope) = receiver.scope() {
            state.causes.insert(number, receiver.owner(), scope);
        }
        state.receivers.insert(number, receiver);
        made(number);
        Ok(number)
    }

    /// Sets the receiver of a number's events. Returns the previous one, to be dropped without a
    /// lock held.
    pub(crate) fn attach(
        &self,
        number: u64,
        receiver: Arc<dyn EventReceiver>,
    ) -> Result<Option<Arc<dyn EventReceiver>>, Failure> {
        self.check_process()?;
        Ok(self.state.lock().receivers.insert(number, receiver))
    }

    /// Sends log records to a callback, or to stderr without one.
    pub(crate) fn attach_log(&self, callback: Option<LogCallback>) -> Result<(), Failure> {
        self.attach(LOG, Arc::new(LogReceiver(callback))).map(drop)
    }

    pub(crate) fn telemetry(&self) -> Option<&PortTelemetry> {
        self.telemetry.get()
    }

    pub(crate) fn attach_telemetry(&self, telemetry: PortTelemetry) -> Result<(), Failure> {
        self.check_process()?;
        self.telemetry.set(telemetry).map_err(|_| Failure::invalid("the telemetry of the port is already set"))?;
        let note = NotifyPort { telemetry: true, ..NotifyPort::default() };
        Ok(self.core.notify_message(0, Notification::Port(note))?)
    }

    /// Returns whether a number has a receiver of that owner.
    pub(crate) fn has_receiver(&self, number: u64, owner: u64) -> Result<bool, Failure> {
        self.check_process()?;
        Ok(self.state.lock().receivers.get(&number).is_some_and(|receiver| receiver.owner() == owner))
    }

    /// The context of the calls that an exchange or request of this port causes.
    pub(crate) fn call_scope(&self, cause: u64) -> Option<Arc<CallScope>> {
        self.state.lock().causes.get(cause)
    }

    /// Removes the receiver of a number. Does nothing in a forked child.
    pub(crate) fn detach(&self, number: u64) {
        if self.check_process().is_ok() {
            // A separate statement: the host's destructors must run without a lock held.
            let receiver = self.state.lock().receivers.remove(&number);
            drop(receiver);
        }
    }

    /// Removes everything that belongs to an owner: receivers, and jobs that have not run.
    pub(crate) fn detach_all_of(&self, owner: u64) {
        if self.check_process().is_ok() {
            let mut state = self.state.lock();
            let scope = state.causes.remove_all_of(owner);
            let receivers: Vec<_> = state.receivers.extract_if(|_, receiver| receiver.owner() == owner).collect();
            let (removed, kept): (VecDeque<_>, _) =
                std::mem::take(&mut state.jobs).into_iter().partition(|job| job.owner == owner);
            state.jobs = kept;
            // The host's destructors must run without a lock held.
            drop(state);
            drop((receivers, removed, scope));
        }
    }

    /// Queues a callback that is not caused by an event of the core.
    pub(crate) fn add_job(&self, owner: u64, run: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
        self.check_process()?;
        self.state.lock().jobs.push_back(Job { owner, run: Box::new(run) });
        self.alarm.set();
        self.waiting.wake();
        Ok(())
    }

    /// Makes all waiting threads check their conditions. Safe inside a signal handler.
    pub(crate) fn wake(&self) {
        self.alarm.set();
        self.waiting.wake_in_signal_handler();
    }

    /// Ends the waiting dispatch, or the next one. Safe inside a signal handler.
    pub(crate) fn end_dispatch(&self) {
        self.dispatch_must_return.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Records that a listener or connection has ended, so that the threads waiting for it check.
    pub(crate) fn note_end(&self) {
        self.ends.fetch_add(1, Ordering::SeqCst);
        self.waiting.wake();
    }

    /// Runs callbacks until at least one ran, a destructor ran, a listener or connection ended,
    /// `end_dispatch` was called, or the deadline passed. Returns how many ran.
    pub(crate) fn dispatch(self: &Arc<Self>, deadline: Option<Instant>) -> Result<usize, Failure> {
        self.check_may_wait()?;
        let (ends, most) = (self.ends.load(Ordering::SeqCst), self.pending().max(1));
        let freed = UserData::destructors_run();
        let ran = self.run_until(deadline, |look| {
            let mut is_over = look.ran >= most;
            if look.is_last {
                let must_return = self.dispatch_must_return.swap(false, Ordering::SeqCst);
                is_over |= look.ran > 0 || must_return || self.ends.load(Ordering::SeqCst) != ends;
                // The host may have been waiting for that.
                is_over |= UserData::destructors_run() != freed;
            }
            is_over.then_some(look.ran)
        });
        // Only dispatching resets the descriptor; the end of another thread's turn signals it
        // again.
        self.alarm.clear();
        let is_due = self.is_pending() && !self.running.load(Ordering::SeqCst);
        if is_due || self.dispatch_must_return.load(Ordering::SeqCst) {
            self.alarm.set();
        }
        Ok(ran?.unwrap_or(0))
    }

    /// Runs callbacks until the reply to a ticket that was sent with `wait` arrives, which it does
    /// because the core enforces a timeout. `report` receives progress, and runs like a callback.
    pub(crate) fn wait_for(self: &Arc<Self>, ticket: u64, report: Option<&Report>) -> Result<Bytes, Failure> {
        let reply = self.run_until(None, |look| self.look_for(ticket, report, look.has_turn).transpose())?;
        reply.ok_or_else(|| Failure::internal("the wait for a reply ended early"))?
    }

    /// Runs host code like a callback, once no other thread runs one. `None` if the deadline passes
    /// first.
    pub(crate) fn run_as_callback<T>(
        self: &Arc<Self>,
        deadline: Option<Instant>,
        callback: impl FnOnce() -> T,
    ) -> Result<Option<T>, Failure> {
        let mut callback = Some(callback);
        self.run_until(deadline, |look| {
            let callback = if look.has_turn { callback.take() } else { None };
            callback.map(|callback| self.enter(callback))
        })
    }

    fn look_for(&self, ticket: u64, report: Option<&Report>, has_turn: bool) -> Result<Option<Bytes>, Failure> {
        let turn = if report.is_some() && !has_turn { self.take_turn_for_progress() } else { None };
        let may_report = report.is_some() && (has_turn || turn.is_some());
        loop {
            match (self.core.fetch(ticket, may_report)?, report) {
                (Fetched::Progress(body), Some(report)) => self.enter(|| report(&body)),
                (Fetched::Progress(_), None) => {}
                (Fetched::Reply(reply), _) => return Ok(Some(reply?)),
                (Fetched::Nothing, _) => return Ok(None),
            }
        }
    }

    /// Fails if this thread is inside a callback of this port and therefore must not wait. Check
    /// this before sending anything.
    pub(crate) fn check_may_wait(&self) -> Result<(), Failure> {
        self.check_process()?;
        let inside = INSIDE.with_borrow(|inside| inside.contains(&std::ptr::from_ref(self)));
        if inside { Err(Failure::blocking()) } else { Ok(()) }
    }

    /// Runs callbacks, one event after another, until `done` returns a value or the deadline
    /// passes.
    pub(crate) fn run_until<T>(
        self: &Arc<Self>,
        deadline: Option<Instant>,
        mut done: impl FnMut(&WaitCheck) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        self.check_may_wait()?;
        let mut ran = 0;
        loop {
            let seen = self.waiting.changes();
            let turn = self.take_turn();
            let mut look = WaitCheck { ran, is_last: false, has_turn: turn.is_some() };
            loop {
                if let Some(answer) = done(&look) {
                    return Ok(Some(answer));
                }
                if look.is_last {
                    break;
                }
                match if look.has_turn { self.run_next()? } else { None } {
                    Some(counts) => look.ran += usize::from(counts),
                    None => look.is_last = true,
                }
            }
            ran = look.ran;
            drop(turn);
            let left = deadline.map_or(LONGEST_SLEEP, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            self.waiting.sleep(seen, left.min(LONGEST_SLEEP));
        }
    }

    /// Runs the next job or event. Returns whether it counts as a callback; `None` if there is
    /// nothing to run.
    fn run_next(self: &Arc<Self>) -> Result<Option<bool>, Failure> {
        let job = self.state.lock().jobs.pop_front();
        if let Some(job) = job {
            self.enter(job.run);
            return Ok(Some(true));
        }
        let Some(event) = self.core.take()? else { return Ok(None) };
        Ok(Some(self.handle(event)))
    }

    /// Passes an event to its receiver.
    fn handle(self: &Arc<Self>, event: Event) -> bool {
        let number = match event.kind {
            EventKind::Call => event.handle,
            _ if event.ticket != 0 => event.ticket,
            _ => event.handle,
        };
        // The reply to an open has the handle as its ticket; if it succeeded, other events follow.
        let (is_open, ticket) = (event.ticket == event.handle && event.ok(), event.ticket);
        let (receiver, freed) = {
            let mut state = self.state.lock();
            let freed = if event.kind == EventKind::Freed { state.causes.remove(number) } else { None };
            let is_last = match event.kind {
                EventKind::Reply => !is_open,
                EventKind::Closed | EventKind::HttpEnd => true,
                // For an exchange or request, the response may still arrive.
                EventKind::Freed => freed.is_none(),
                _ => false,
            };
            let receivers = &mut state.receivers;
            (if is_last { receivers.remove(&number) } else { receivers.get(&number).cloned() }, freed)
        };
        drop(freed);
        match receiver {
            Some(receiver) => self.enter(|| receiver.receive(self, event)),
            None => {
                if event.kind == EventKind::Call {
                    let message = "the handler was removed before the call ran".to_owned();
                    let removed = Fail { kind: FailKind::Internal, message, ..Fail::default() };
                    let _ = self.core.fail_message(ticket, removed);
                }
                false
            }
        }
    }

    fn take_turn(&self) -> Option<CallbackTurn<'_>> {
        (!self.running.swap(true, Ordering::SeqCst)).then(|| CallbackTurn(self))
    }

    /// Takes the turn, or tells its owner that this thread checks again when the turn ends.
    fn take_turn_for_progress(&self) -> Option<CallbackTurn<'_>> {
        self.take_turn().or_else(|| {
            self.progress_waits.store(true, Ordering::SeqCst);
            self.take_turn()
        })
    }

    fn pending(&self) -> usize {
        self.state.lock().jobs.len() + self.core.pending()
    }

    fn is_pending(&self) -> bool {
        self.pending() > 0
    }
}

thread_local! {
    /// The ports whose callbacks are running on this thread.
    static INSIDE: RefCell<Vec<*const Port>> = const { RefCell::new(Vec::new()) };
}

impl Port {
    /// Runs host code. While it runs, blocking calls of this port on this thread fail.
    fn enter<T>(&self, callback: impl FnOnce() -> T) -> T {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                INSIDE.with_borrow_mut(Vec::pop);
            }
        }
        INSIDE.with_borrow_mut(|inside| inside.push(self));
        let _leave = Leave;
        callback()
    }
}
