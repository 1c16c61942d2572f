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
use std::sync::{OnceLock, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use trunkline::bridge_support::{OnDrop, open_closed_streams};
use trunkline_bridge::message::{Fail, FailKind, HostSpan, Notification, NotifyPort, Request};
use trunkline_bridge::{self as bridge, Body, BridgeError, ErrorKind, Event, EventKind, Fetched, OptionNames};

use crate::edge::prelude::*;
use crate::edge::signal_actions;
use crate::log::{LogReceiver, trunkline_log_callback, trunkline_log_record_callback};
use crate::scope::CallScope;
use crate::telemetry::{
    PortTelemetry, Span, number_of, trunkline_span_begin_callback, trunkline_span_end_callback,
    trunkline_span_scope_callback,
};
use crate::waiting::WaitingThreads;

/// A waiting thread checks its condition at least this often.
const MAX_SLEEP: Duration = Duration::from_secs(3600);

/// How long what is pending waits for the thread that usually dispatches it.
const GRACE: Duration = Duration::from_micros(50);

/// The number under which the port's log and telemetry receivers are registered.
const LOG_RECEIVER: u64 = 0;

/// The ports by number. A call may be caused on another port: that of a server that mounts this
/// one's server.
static PORTS: Mutex<Vec<(u64, Weak<Port>)>> = Mutex::new(Vec::new());

/// The context of a call, if something in the host caused it.
pub(crate) fn call_scope(port: &Port, call: &Event) -> Option<Arc<CallScope>> {
    if call.cause == 0 {
        return None;
    }
    let find =
        || PORTS.lock().iter().find(|(number, _)| *number == call.cause_port).and_then(|(_, port)| port.upgrade());
    let other = if call.cause_port == 0 { None } else { Some(find()?) };
    let port = other.as_deref().unwrap_or(port);
    port.state.lock().causes.get(&call.cause).map(|(_, scope)| scope.clone())
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

impl EventReceiver for LogReceiver {
    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool {
        match event.body {
            Body::Log(records) => self.report(records),
            body if event.kind == EventKind::Telemetry => {
                if let Some(telemetry) = port.telemetry.get() {
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
    pub(crate) telemetry: OnceLock<PortTelemetry>,
    /// In a forked child, the locks may be held by threads that don't exist there.
    pid: u32,
    pub(crate) waiting: Arc<WaitingThreads>,
    state: Mutex<DispatchState>,
    /// True if a thread has the turn.
    running: AtomicBool,
    /// True if a thread needs the turn but could not get it.
    turn_is_wanted: AtomicBool,
    /// How often a listener or connection has ended, or one was opened in the background. A
    /// dispatch also returns then, without a callback.
    changes: AtomicUsize,
    /// The value of `changes` at the end of the last dispatch. Another thread may handle an end
    /// between two dispatches.
    reported_changes: AtomicUsize,
    dispatch_must_return: AtomicBool,
}

#[derive(Default)]
struct DispatchState {
    /// By the core's handles and tickets.
    receivers: HashMap<u64, Arc<dyn EventReceiver>>,
    /// Call contexts by the ticket of their exchange or request, each with its owner.
    causes: HashMap<u64, (u64, Arc<CallScope>)>,
    /// Callbacks to run that are not caused by an event of the core, each with its owner.
    jobs: VecDeque<(u64, Box<dyn FnOnce() + Send>)>,
}

thread_local! {
    /// The ports whose callbacks are running on this thread.
    static INSIDE: RefCell<Vec<*const Port>> = const { RefCell::new(Vec::new()) };
}

/// Receives the progress of a request (the params of its notification), like a callback.
pub(crate) type Report = dyn Fn(&[u8]);

/// The right to run callbacks, which one thread has at a time.
struct CallbackTurn<'a>(&'a Port);

impl Drop for CallbackTurn<'_> {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::SeqCst);
        let is_wanted = self.0.turn_is_wanted.swap(false, Ordering::SeqCst);
        let is_pending = self.0.is_pending();
        if is_pending {
            self.0.waiting.wake_all();
        } else if is_wanted {
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

/// `None`, meaning no deadline, if it exceeds the clock's range.
pub(crate) fn deadline_after(milliseconds: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(milliseconds))
}

impl Port {
    pub(crate) fn new(names: OptionNames) -> Result<Arc<Self>, Failure> {
        signal_actions::ignore_sigpipe();
        // Before the descriptor of the waiting threads.
        open_closed_streams();
        let waiting = Arc::new(WaitingThreads::new()?);
        let bell = |wake: fn(&WaitingThreads)| {
            let waiting = waiting.clone();
            move || wake(&waiting)
        };
        let port = Arc::new(Self {
            core: bridge::Port::with_threads(bell(WaitingThreads::wake_all), bell(WaitingThreads::wake))
                .with_option_names(names),
            telemetry: OnceLock::new(),
            pid: std::process::id(),
            waiting,
            state: Mutex::default(),
            running: AtomicBool::new(false),
            turn_is_wanted: AtomicBool::new(false),
            changes: AtomicUsize::new(0),
            reported_changes: AtomicUsize::new(0),
            dispatch_must_return: AtomicBool::new(false),
        });
        port.state.lock().receivers.insert(LOG_RECEIVER, Arc::new(LogReceiver::Stderr));
        let mut ports = PORTS.lock();
        ports.retain(|(_, port)| port.strong_count() > 0);
        ports.push((port.core.number(), Arc::downgrade(&port)));
        Ok(port)
    }

    pub(crate) fn check_process(&self) -> Result<(), Failure> {
        let message = "the object was created before fork(): create a new server or client in the child process";
        (self.pid == std::process::id()).then_some(()).ok_or_else(|| Failure::of(ErrorKind::Forked, message))
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
            state.causes.insert(number, (receiver.owner(), scope));
        }
        state.receivers.insert(number, receiver);
        made(number);
        Ok(number)
    }

    /// Sets the receiver of a number's events, and releases the previous one.
    pub(crate) fn attach(&self, number: u64, receiver: Arc<dyn EventReceiver>) -> Result<(), Failure> {
        self.check_process()?;
        // A separate statement: the host's destructors must run without a lock held.
        let before = self.state.lock().receivers.insert(number, receiver);
        drop(before);
        Ok(())
    }

    /// Returns whether a number has a receiver of that owner.
    pub(crate) fn has_receiver(&self, number: u64, owner: u64) -> Result<bool, Failure> {
        self.check_process()?;
        Ok(self.state.lock().receivers.get(&number).is_some_and(|receiver| receiver.owner() == owner))
    }

    /// Cancels a request of that owner, if it has not completed.
    pub(crate) fn cancel(&self, ticket: u64, owner: u64, reason: &str) -> Result<(), Failure> {
        if self.has_receiver(ticket, owner)? {
            self.core.cancel(ticket, reason)?;
        }
        Ok(())
    }

    /// Removes the receiver of a number. Does nothing in a forked child.
    pub(crate) fn detach(&self, number: u64) {
        if self.check_process().is_ok() {
            self.replace(number, None);
        }
    }

    /// Replaces the receiver of a number, if it still has one.
    pub(crate) fn replace(&self, number: u64, receiver: Option<Arc<dyn EventReceiver>>) {
        let mut state = self.state.lock();
        let before = match receiver {
            Some(receiver) => state.receivers.get_mut(&number).map(|current| std::mem::replace(current, receiver)),
            None => state.receivers.remove(&number),
        };
        // The host's destructors must run without a lock held.
        drop((state, before));
    }

    /// Removes everything that belongs to an owner: receivers, and jobs that have not run.
    pub(crate) fn detach_all_of(&self, owner: u64) {
        if self.check_process().is_ok() {
            let mut state = self.state.lock();
            let scopes: Vec<_> = state.causes.extract_if(|_, (of, _)| *of == owner).collect();
            let receivers: Vec<_> = state.receivers.extract_if(|_, receiver| receiver.owner() == owner).collect();
            let (removed, kept): (VecDeque<_>, _) =
                std::mem::take(&mut state.jobs).into_iter().partition(|(of, _)| *of == owner);
            state.jobs = kept;
            // The host's destructors must run without a lock held.
            drop((state, receivers, removed, scopes));
        }
    }

    /// Queues a callback that is not caused by an event of the core.
    pub(crate) fn add_job(&self, owner: u64, run: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
        self.check_process()?;
        self.state.lock().jobs.push_back((owner, Box::new(run)));
        self.waiting.wake_all();
        Ok(())
    }

    /// Records that a listener or connection has ended, or was opened in the background, so that
    /// the threads waiting for it check, and that the next dispatch reports it.
    pub(crate) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.waiting.wake_all();
    }

    fn has_unreported_change(&self) -> bool {
        self.changes.load(Ordering::SeqCst) != self.reported_changes.load(Ordering::SeqCst)
    }

    /// Returns whether a dispatch returns although nothing is pending.
    fn must_dispatch_return(&self) -> bool {
        self.dispatch_must_return.load(Ordering::SeqCst) || self.has_unreported_change()
    }

    /// Runs callbacks until at least one ran, a destructor ran, a listener or connection ended,
    /// `end_dispatch` was called, or the deadline passed; also as soon as `is_enough`. Returns how
    /// many ran.
    pub(crate) fn dispatch(
        self: &Arc<Self>,
        deadline: Option<Instant>,
        is_enough: impl Fn() -> bool,
    ) -> Result<usize, Failure> {
        self.check_may_wait()?;
        let (changes, most) = (self.changes.load(Ordering::SeqCst), self.pending().max(1));
        let dispatching = self.waiting.dispatching();
        let freed = UserData::destructors_run();
        let ran = self.run_until(deadline, |look| {
            let mut is_over = look.ran >= most || is_enough();
            if look.is_last {
                let must_return = self.dispatch_must_return.swap(false, Ordering::SeqCst);
                is_over |= look.ran > 0 || must_return || self.changes.load(Ordering::SeqCst) != changes;
                is_over |= self.has_unreported_change();
                // The host may have been waiting for that.
                is_over |= UserData::destructors_run() != freed;
            }
            is_over.then_some(look.ran)
        });
        self.reported_changes.store(self.changes.load(Ordering::SeqCst), Ordering::SeqCst);
        drop(dispatching);
        // Only dispatching resets the descriptor; the end of another thread's turn signals it
        // again.
        self.waiting.clear_host();
        let is_due = self.is_pending() && !self.running.load(Ordering::SeqCst);
        if is_due || self.must_dispatch_return() {
            self.waiting.set_host();
            self.waiting.wake_stand_by();
        }
        Ok(ran?.unwrap_or(0))
    }

    /// Ends the dispatch or the stand-by that waits, or the next one.
    pub(crate) fn end_dispatch(&self) {
        self.dispatch_must_return.store(true, Ordering::SeqCst);
        self.waiting.wake_all();
    }

    /// Waits until there has been something to dispatch for [`GRACE`], but no thread has begun to.
    pub(crate) fn stand_by(&self) -> Result<(), Failure> {
        self.check_may_wait()?;
        self.waiting.stand_by(GRACE, MAX_SLEEP, || self.is_pending() || self.must_dispatch_return());
        Ok(())
    }

    /// Runs callbacks until the reply to a ticket that was sent with `wait` arrives, which it does
    /// because the core enforces a timeout. `report` receives progress, and runs like a callback.
    pub(crate) fn wait_for(self: &Arc<Self>, ticket: u64, report: Option<&Report>) -> Result<Bytes, Failure> {
        let reply = self.run_until(None, |look| {
            let turn = if report.is_some() && !look.has_turn { self.take_turn_or_want_it() } else { None };
            let may_report = report.is_some() && (look.has_turn || turn.is_some());
            loop {
                match (self.core.fetch(ticket, may_report), report) {
                    (Ok(Fetched::Progress(body)), Some(report)) => self.enter(|| report(&body)),
                    (Ok(Fetched::Progress(_) | Fetched::Nothing), _) => return None,
                    (Ok(Fetched::Reply(reply)), _) => return Some(reply),
                    (Err(error), _) => return Some(Err(error)),
                }
            }
        })?;
        Ok(reply.ok_or_else(|| Failure::internal("the wait for a reply ended early"))??)
    }

    /// Fails if this thread is inside a callback of this port and therefore must not wait. Check
    /// this before sending anything.
    pub(crate) fn check_may_wait(&self) -> Result<(), Failure> {
        self.check_process()?;
        let inside = INSIDE.with_borrow(|inside| inside.contains(&std::ptr::from_ref(self)));
        let message = "this would deadlock: it waits for callbacks of a port whose callback is running on this thread; use the asynchronous function, or wait on another thread";
        (!inside).then_some(()).ok_or_else(|| Failure::of(ErrorKind::Blocking, message))
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
            let left = deadline.map_or(MAX_SLEEP, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            self.waiting.sleep(seen, left.min(MAX_SLEEP));
        }
    }

    /// Runs the next job or event. Returns whether it counts as a callback; `None` if there is
    /// nothing to run.
    fn run_next(self: &Arc<Self>) -> Result<Option<bool>, Failure> {
        let job = self.state.lock().jobs.pop_front();
        if let Some((_, run)) = job {
            self.enter(run);
            return Ok(Some(true));
        }
        let Some(event) = self.core.take()? else { return Ok(None) };
        Ok(Some(self.handle(event)))
    }

    /// Passes an event to its receiver.
    fn handle(self: &Arc<Self>, event: Event) -> bool {
        let number = if event.kind == EventKind::Call || event.ticket == 0 { event.handle } else { event.ticket };
        // The reply to an open has the handle as its ticket; if it succeeded, other events follow.
        let is_open = event.ticket == event.handle && event.ok();
        let (receiver, freed) = {
            let mut state = self.state.lock();
            let freed = if event.kind == EventKind::Freed { state.causes.remove(&number) } else { None };
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
        // Like a callback: a destructor must not wait for this thread's turn.
        self.enter(|| drop(freed));
        let Some(receiver) = receiver else {
            if event.kind == EventKind::Call {
                self.fail_removed(event.ticket);
            }
            return false;
        };
        self.enter(|| receiver.receive(self, event))
    }

    /// Fails a call that has no handler anymore.
    pub(crate) fn fail_removed(&self, ticket: u64) {
        let removed = failing(FailKind::Internal, "the handler was removed before the call ran");
        let _ = self.core.fail_message(ticket, removed);
    }

    fn take_turn(&self) -> Option<CallbackTurn<'_>> {
        (!self.running.swap(true, Ordering::SeqCst)).then(|| CallbackTurn(self))
    }

    /// Takes the turn, or tells its owner that this thread checks again when the turn ends.
    fn take_turn_or_want_it(&self) -> Option<CallbackTurn<'_>> {
        self.take_turn().or_else(|| {
            self.turn_is_wanted.store(true, Ordering::SeqCst);
            self.take_turn()
        })
    }

    fn pending(&self) -> usize {
        self.state.lock().jobs.len() + self.core.pending()
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.pending() > 0
    }

    /// Runs host code. While it runs, blocking calls of this port on this thread fail.
    fn enter<T>(&self, callback: impl FnOnce() -> T) -> T {
        INSIDE.with_borrow_mut(|inside| inside.push(self));
        let _leave = OnDrop::new(|| _ = INSIDE.with_borrow_mut(Vec::pop));
        callback()
    }
}

/// The spans of its telemetry. There are none until the program has set the callbacks.
impl Port {
    /// Runs a callback that serves a call, within its request's span.
    pub(crate) fn serve_in_span(&self, ticket: u64, serve: impl FnOnce()) {
        let telemetry = self.telemetry.get();
        let known = telemetry.and_then(|telemetry| Some((telemetry, telemetry.served(&self.core, ticket)?)));
        let Some((PortTelemetry { scope: Some(scope), data, .. }, span)) = known else { return serve() };
        // SAFETY: the host's function with the host's data.
        unsafe { scope(span.0, true, data.pointer()) }
        serve();
        // SAFETY: as above.
        unsafe { scope(span.0, false, data.pointer()) }
    }

    /// Begins the span of a request, and adds its trace context to the request.
    pub(crate) fn begin_span(&self, target: u64, request: Request) -> (Request, Option<Span>) {
        let Some(telemetry) = self.telemetry.get() else { return (request, None) };
        let Ok(Some(record)) = self.core.telemetry_message(target, Some(&request)) else { return (request, None) };
        let (span, trace) = telemetry.begin_sent(&record);
        (request.with_trace(trace), Some(span))
    }

    /// Ends the span of a request. The ticket is `None` if it could not be sent.
    pub(crate) fn end_span(&self, ticket: Option<u64>, span: Option<Span>) {
        let Some((telemetry, span)) = self.telemetry.get().zip(span) else { return };
        let record = ticket.and_then(|ticket| self.core.telemetry(ticket, &[]).ok().flatten());
        telemetry.end(Some(span), record.as_deref().unwrap_or("{}"));
    }

    /// Begins the span of an opening connection, or of a notification (`target` is its connection).
    pub(crate) fn begin_numbered(&self, target: u64, message: impl FnOnce() -> Request) -> Option<HostSpan> {
        let telemetry = self.telemetry.get()?;
        let record = self.core.telemetry_message(target, Some(&message())).ok()??;
        let (number, (span, trace)) = (number_of(&record), telemetry.begin_sent(&record));
        telemetry.spans.lock().insert(number, span);
        Some(HostSpan { number, trace })
    }
}

/// The failure of a call.
pub(crate) fn failing(kind: FailKind, message: &str) -> Fail {
    Fail { kind, message: message.to_owned(), ..Fail::default() }
}

/// Creates a port to share. The caller owns `port`; free it with `trunkline_port_free`. It starts
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_new(
    port: *mut *mut trunkline_port,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || out!(port).finish(give(trunkline_port { port: Port::new(OptionNames::C)? })))
}

/// Like `trunkline_port_new`, for the package in Go: its errors name options as that does, such as
/// `SessionIdle`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_new_for_go(
    port: *mut *mut trunkline_port,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || out!(port).finish(give(trunkline_port { port: Port::new(OptionNames::Go)? })))
}

/// Runs pending callbacks; if there are none, waits up to `timeout_ms` for the first one (0: does
/// not wait; `TRUNKLINE_NO_TIMEOUT`: waits indefinitely). Also returns when a listener or
/// connection ends, and when a destructor has run. `count` may be NULL; otherwise it receives the
/// number of callbacks that ran. `TRUNKLINE_BLOCKING` inside a callback of the same port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_dispatch(
    port: *mut trunkline_port,
    timeout_ms: u64,
    count: *mut usize,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        // A callback may free the port, and the server or client it belongs to.
        let port = handle!(port).port.clone();
        out_or_null!(count)(port.dispatch(deadline_after(timeout_ms), || false)?);
        Ok(())
    })
}

/// Ends the waiting `trunkline_dispatch`, or the next one. May be called on any thread, and on Unix
/// inside a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_wake(port: *mut trunkline_port) -> trunkline_result {
    guard_result(|| {
        let port = &handle!(port).port;
        port.dispatch_must_return.store(true, Ordering::SeqCst);
        port.waiting.wake_in_signal_handler();
        Ok(())
    })
}

/// An object for event loops to wait on: on Unix a file descriptor that is readable, on Windows an
/// event handle that is signaled, when `trunkline_dispatch` has something to do. Owned by the port:
/// do not read, reset or close it. -1 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_descriptor(port: *const trunkline_port) -> isize {
    value_or(-1, || {
        let port = &handle!(port).port;
        // Changes before this were not signaled; later ones are.
        let is_due = || port.is_pending() || port.must_dispatch_return();
        Ok(port.waiting.watched_by_host(is_due))
    })
}

/// Sends log records to `callback` instead of writing errors and warnings to stderr. A NULL
/// callback restores the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_on_log(
    port: *mut trunkline_port,
    callback: trunkline_log_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let receiver = Callback::new(callback, user_data, destructor).map_or(LogReceiver::Stderr, LogReceiver::Texts);
    guard_result(|| handle!(port).port.attach(LOG_RECEIVER, Arc::new(receiver)))
}

/// Sends log records to `callback` with their fields, for loggers that have some. Otherwise like
/// `trunkline_port_on_log`, whose callback it replaces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_on_log_record(
    port: *mut trunkline_port,
    callback: trunkline_log_record_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let receiver = Callback::new(callback, user_data, destructor).map_or(LogReceiver::Stderr, LogReceiver::Records);
    guard_result(|| handle!(port).port.attach(LOG_RECEIVER, Arc::new(receiver)))
}

/// Writes an error to the library's log, such as one from a callback that does not complete a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_log_error(message: trunkline_str) -> trunkline_result {
    guard_result(|| {
        trunkline_bridge::log_error(lossy!(message));
        Ok(())
    })
}

/// Releases a port created with `trunkline_port_new`. It stays alive while a server or client uses
/// it. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_free(port: *mut trunkline_port) {
    free!(port)
}

/// Reports the requests and sessions of all servers and clients of the port, for spans and metrics
/// that follow the OpenTelemetry semantic conventions for MCP. Set it once, before clients connect:
/// servers of the port report from then on, and clients that connect later. The option `telemetry`
/// excludes a server or a client. `begin` and `end` are required, `scope` may be NULL. They run on
/// the thread that sends the request, dispatches the port, or drops the last handle; spans of
/// outgoing requests may begin on several threads at once. `TRUNKLINE_INVALID_ARGUMENT` if it was
/// already set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_on_telemetry(
    port: *mut trunkline_port,
    begin: trunkline_span_begin_callback,
    scope: trunkline_span_scope_callback,
    end: trunkline_span_end_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let data = UserData::new(user_data, destructor);
    guard_result(|| {
        let (begin, end) = (required(begin, "begin")?, required(end, "end")?);
        let (port, spans) = (&handle!(port).port, Mutex::default());
        port.check_process()?;
        let is_new = port.telemetry.set(PortTelemetry { begin, scope, end, data, spans });
        is_new.map_err(|_| Failure::invalid("the telemetry of the port is already set"))?;
        let note = NotifyPort { telemetry: true, ..NotifyPort::default() };
        Ok(port.core.notify_message(0, Notification::Port(note))?)
    })
}

/// The load of the port's reporting servers (`trunkline_port_on_telemetry`): sessions, running and
/// queued calls, and failures of the store. For the callbacks of observable instruments, which run
/// when the program collects metrics. `json` is an object whose member `measurements` is an array
/// of `name`, `description`, `unit`, `monotonic` (`true` for a counter, `false` for an up-down
/// counter) and `value`, an integer. The caller owns it; free it with `trunkline_text_free`.
/// `TRUNKLINE_NOT_FOUND` if no server reports.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_measurements(
    port: *mut trunkline_port,
    json: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (measured, json) = (handle!(port).port.core.measurements()?, out!(json));
        let measured = measured.ok_or_else(|| Failure::not_found("no server of the port reports measurements"))?;
        json.finish(Text::new(measured).give())
    })
}
