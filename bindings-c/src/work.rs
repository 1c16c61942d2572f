//! What a port knows, and what becomes of each event.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use serde::Deserialize;
use trunkline_bridge::{Event, EventKind};

use crate::call::trunkline_call;
use crate::callback::{
    AnswerCallback, HttpReceiver, LogCallback, NotificationCallback, ProgressCallback, ReplyCallback,
};
use crate::due::Due;
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::hub::Hub;
use crate::registered::Registered;
use crate::sync::Mutex;
use crate::text::Text;

/// The tables of a port: from the core's handles and tickets to what the host gave.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) registered: HashMap<u64, Arc<Registered>>,
    /// Calls that the host has not let go of.
    pub(crate) calls: HashMap<u64, Weak<trunkline_call>>,
    pub(crate) waiters: HashMap<u64, Waiter>,
    /// Listeners and connections.
    pub(crate) sessions: HashMap<u64, Arc<Session>>,
    /// Requests of a web server that are being answered.
    pub(crate) exchanges: HashMap<u64, Arc<HttpReceiver>>,
    pub(crate) log: Option<Arc<LogCallback>>,
    pub(crate) due: Due,
    /// A thread runs callbacks; no other one may meanwhile.
    pub(crate) running: bool,
    /// A thread that waits has progress to tell and must look when `running` ends.
    pub(crate) progress_waits: bool,
    pub(crate) stopped: bool,
    /// How many listeners and connections have ended: what a dispatch returns for without a callback.
    pub(crate) endings: u64,
}

/// A listener or connection.
pub(crate) struct Session {
    pub(crate) notification: Option<Arc<NotificationCallback>>,
    end: OnceLock<Result<(), Failure>>,
}

impl Session {
    pub(crate) fn new(notification: Option<Arc<NotificationCallback>>) -> Arc<Self> {
        Arc::new(Self { notification, end: OnceLock::new() })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.end.get().is_some()
    }

    /// Success while it is open.
    pub(crate) fn how_it_ended(&self) -> Result<(), Failure> {
        self.end.get().cloned().unwrap_or(Ok(()))
    }
}

/// Who gets the `Reply` of a ticket.
pub(crate) enum Waiter {
    /// A thread inside a blocking call; of progress the latest.
    Thread { progress: Option<Event>, reply: Option<Event> },
    /// A callback.
    Callback(Arc<StartedRequest>),
    /// Nobody; only a failure matters, and it ends the connection of that handle.
    Connecting,
}

impl Waiter {
    pub(crate) fn thread() -> Self {
        Self::Thread { progress: None, reply: None }
    }
}

pub(crate) struct StartedRequest {
    /// The connection, or the call whose client is asked.
    pub(crate) target: u64,
    pub(crate) completion: Completion,
    pub(crate) progress: Option<Arc<ProgressCallback>>,
    /// The latest progress, until its callback runs.
    latest: Mutex<Option<Event>>,
}

/// What becomes of the outcome of a started request.
pub(crate) enum Completion {
    /// Nobody wants to know.
    Ignored,
    Reply(ReplyCallback),
    /// The call that asked lives at least until its callback has run.
    Answer(Arc<trunkline_call>, AnswerCallback),
    /// The outcome is the call's own.
    PassOn(Arc<trunkline_call>),
}

/// A callback that has to run.
pub(crate) enum Work {
    Call {
        registered: Arc<Registered>,
        event: Event,
    },
    Orphan {
        ticket: u64,
    },
    Cancelled {
        ticket: u64,
        reason: Bytes,
    },
    Notification {
        callback: Arc<NotificationCallback>,
        event: Event,
    },
    /// Whatever is the latest when it runs.
    Progress {
        request: Arc<StartedRequest>,
    },
    Completion {
        request: Arc<StartedRequest>,
        outcome: Result<Bytes, Failure>,
    },
    Http {
        receiver: Arc<HttpReceiver>,
        event: Event,
    },
    /// The records that are due then.
    Log,
}

impl State {
    /// Puts an event where it belongs; `true` if a waiting thread must look. What it puts into `dropped` must be dropped when the
    /// tables are unlocked.
    pub(crate) fn sort(&mut self, event: Event, dropped: &mut Vec<Work>) -> bool {
        match event.kind {
            EventKind::Call => {
                let ticket = event.ticket;
                self.due.push(match self.registered.get(&event.handle).cloned() {
                    Some(registered) => Work::Call { registered, event },
                    None => Work::Orphan { ticket },
                });
                false
            }
            EventKind::Cancel => {
                let begun = self.calls.contains_key(&event.ticket);
                match if begun { None } else { self.due.extract_call(event.ticket) } {
                    // It will not begin, and the core does not count it any more: it must not stay here.
                    Some(call) => dropped.push(call),
                    None => self.due.push(Work::Cancelled { ticket: event.ticket, reason: event.body }),
                }
                false
            }
            EventKind::Reply => self.sort_reply(event),
            EventKind::Notification => self.sort_notification(event),
            EventKind::SessionClosed => {
                if let Some(session) = self.sessions.remove(&event.handle) {
                    self.end(&session, outcome(&event).map(|_| ()));
                }
                true
            }
            EventKind::Log => {
                self.due.push_log(&event.body);
                false
            }
            EventKind::Stopped => {
                self.stopped = true;
                true
            }
            EventKind::HttpHead | EventKind::HttpChunk => {
                if let Some(receiver) = self.exchanges.get(&event.ticket).cloned() {
                    self.due.push(Work::Http { receiver, event });
                }
                false
            }
            EventKind::HttpEnd => {
                if let Some(receiver) = self.exchanges.remove(&event.ticket) {
                    self.due.push(Work::Http { receiver, event });
                }
                false
            }
            // `Watch` is for hosts that ask to read pipes themselves, and what was taken away here was forgotten at once.
            EventKind::Watch | EventKind::Freed => false,
        }
    }

    fn sort_reply(&mut self, event: Event) -> bool {
        match self.waiters.get_mut(&event.ticket) {
            Some(Waiter::Thread { reply, .. }) => {
                *reply = Some(event);
                return true;
            }
            Some(Waiter::Callback(_)) => {
                if let Some(Waiter::Callback(request)) = self.waiters.remove(&event.ticket) {
                    self.due.push(Work::Completion { request, outcome: outcome(&event) });
                }
            }
            Some(Waiter::Connecting) => {
                self.waiters.remove(&event.ticket);
                if let Err(failure) = outcome(&event)
                    && let Some(session) = self.sessions.remove(&event.ticket)
                {
                    self.end(&session, Err(failure));
                }
                return true;
            }
            None => {}
        }
        false
    }

    fn end(&mut self, session: &Session, how: Result<(), Failure>) {
        let _ = session.end.set(how);
        self.endings += 1;
    }

    fn sort_notification(&mut self, event: Event) -> bool {
        match self.waiters.get_mut(&event.ticket) {
            Some(Waiter::Thread { progress, .. }) => {
                *progress = Some(event);
                return true;
            }
            Some(Waiter::Callback(request)) => {
                if request.latest.lock().replace(event).is_none() {
                    let request = request.clone();
                    self.due.push(Work::Progress { request });
                }
            }
            _ => {
                let session = self.sessions.get(&event.handle);
                if let Some(callback) = session.and_then(|session| session.notification.clone()) {
                    self.due.push_notification(callback, event);
                }
            }
        }
        false
    }

    /// What came in for a thread that waits, progress and outcome. While another thread runs callbacks, progress stays, unless
    /// the outcome is there: that does not wait for anybody's callbacks.
    pub(crate) fn collect(&mut self, ticket: u64) -> (Option<Event>, Option<Event>) {
        match self.waiters.get_mut(&ticket) {
            Some(Waiter::Thread { progress, reply }) if self.running => {
                self.progress_waits |= progress.is_some();
                (None, reply.take())
            }
            Some(Waiter::Thread { progress, reply }) => (progress.take(), reply.take()),
            _ => (None, None),
        }
    }

    /// Forgets a server: what is registered on it, its calls that did not begin, and what its calls asked for; returns what must be
    /// dropped when the tables are unlocked.
    pub(crate) fn forget_server(&mut self, server: u64) -> impl Sized + use<> {
        let asked = |request: &StartedRequest| request.call().is_some_and(|call| call.is_of(server));
        let registered: Vec<_> = self.registered.extract_if(|_, registered| registered.server == server).collect();
        let waits = |waiter: &Waiter| matches!(waiter, Waiter::Callback(request) if asked(request));
        let waiters: Vec<_> = self.waiters.extract_if(|_, waiter| waits(waiter)).collect();
        let gone = self.due.extract(|work| match work {
            Work::Call { registered, .. } => registered.server == server,
            Work::Completion { request, .. } | Work::Progress { request } => asked(request),
            _ => false,
        });
        (registered, waiters, gone)
    }

    /// Forgets everything that waits on a connection; returns what must be dropped when the tables
    /// are unlocked.
    pub(crate) fn forget_session(&mut self, handle: u64) -> impl Sized + use<> {
        let session = self.sessions.remove(&handle);
        if let Some(session) = &session {
            // Whoever waits for its end waits no more.
            self.end(session, Err(Failure::closed("the client was freed")));
        }
        let belongs = |waiter: &Waiter| matches!(waiter, Waiter::Callback(request) if request.target == handle);
        let waiters: Vec<_> = self.waiters.extract_if(|_, waiter| belongs(waiter)).collect();
        let gone = self.due.extract(|work| match work {
            Work::Completion { request, .. } | Work::Progress { request } => request.target == handle,
            Work::Notification { event, .. } => event.handle == handle,
            _ => false,
        });
        (session, waiters, gone)
    }
}

/// The outcome that a `Reply` or `SessionClosed` carries.
pub(crate) fn outcome(event: &Event) -> Result<Bytes, Failure> {
    if event.ok { Ok(event.body.clone()) } else { Err(Failure::from_json(&event.body)) }
}

impl Work {
    /// Runs the callback, on the thread that dispatches.
    pub(crate) fn run(self, hub: &Arc<Hub>) {
        match self {
            // Cancelled before it began.
            Work::Call { event, .. } if hub.port.cancelled(event.ticket).unwrap_or(true) => {}
            Work::Call { registered, event } => {
                let call = trunkline_call::start(hub, &registered, event);
                if let Some(callback) = &registered.callback {
                    callback.run(call.as_raw(), call.arguments());
                }
            }
            Work::Orphan { ticket } => {
                let _ = hub.port.fail(
                    ticket,
                    br#"{"kind":"internal","message":"what was called was removed before the call ran"}"#,
                );
            }
            Work::Cancelled { ticket, reason } => {
                let call = hub.state().ok().and_then(|state| state.calls.get(&ticket).and_then(Weak::upgrade));
                if let Some(call) = call {
                    call.run_cancel_callback(reason);
                }
            }
            Work::Notification { callback, event } => {
                let (method, params) = (Text::new(event.name.into_bytes()), Text::copy(&event.body));
                callback.run(method.lend(), params.lend());
            }
            Work::Progress { request } => {
                let latest = request.latest.lock().take();
                if let (Some(callback), Some(event)) = (&request.progress, latest) {
                    report_progress(callback, &event);
                }
            }
            Work::Completion { request, outcome } => request.complete(outcome),
            Work::Http { receiver, event } => crate::http::tell(&receiver, &event),
            Work::Log => {
                if let Ok(mut state) = hub.state() {
                    let (log, callback) = (state.due.take_log(), state.log.clone());
                    drop(state);
                    log.tell(callback.as_deref());
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Progress {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

pub(crate) fn report_progress(callback: &ProgressCallback, event: &Event) {
    if let Ok(Progress { progress, total, message }) = serde_json::from_slice(&event.body) {
        let message = Text::new(message.unwrap_or_default().into_bytes());
        callback.run(progress, total.unwrap_or(0.0), message.lend());
    }
}

impl StartedRequest {
    pub(crate) fn new(target: u64, completion: Completion, progress: Option<Arc<ProgressCallback>>) -> Arc<Self> {
        Arc::new(Self { target, completion, progress, latest: Mutex::default() })
    }

    fn complete(&self, outcome: Result<Bytes, Failure>) {
        let (body, error) = match outcome {
            Ok(body) => (Text::copy(&body), None),
            Err(failure) => (Text::copy(b""), Some(failure.into_error())),
        };
        let result = error.as_ref().map_or(trunkline_result::TRUNKLINE_OK, trunkline_error::result);
        match &self.completion {
            Completion::Ignored => {}
            Completion::Reply(callback) => callback.run(result, body.lend(), error.as_ref()),
            Completion::Answer(call, callback) => callback.run(call.as_raw(), result, body.lend(), error.as_ref()),
            Completion::PassOn(call) => call.pass_on(&body, error.as_ref()),
        }
    }

    /// The call that waits for the outcome.
    fn call(&self) -> Option<&Arc<trunkline_call>> {
        match &self.completion {
            Completion::Answer(call, _) | Completion::PassOn(call) => Some(call),
            Completion::Ignored | Completion::Reply(_) => None,
        }
    }
}
