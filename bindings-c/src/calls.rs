//! Calls of registered features: their lifetime, response and cancellation.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use trunkline::bridge_support::Mutex;
use trunkline_bridge::message::{Fail, FailKind};
use trunkline_bridge::{BridgeError, ErrorKind, Event, EventKind, Shape};

use crate::edge::failure::Failure;
use crate::edge::text::{Text, trunkline_str};
use crate::edge::user_data::{Callback, UserData};
use crate::json;
use crate::port::{self, EventReceiver, Port};
use crate::scope::CallScope;

/// Handles the calls of a feature or hook of a server. `trunkline_call_arguments` and similar
/// functions return the arguments. `call` is borrowed until the callback returns; keep it with
/// `trunkline_call_retain` to complete it later. Must not throw or `longjmp`.
pub type trunkline_call_callback = Option<unsafe extern "C" fn(call: *mut trunkline_call, user_data: *mut c_void)>;

/// Runs when a call is cancelled. `reason` may be empty; it is borrowed until the callback returns.
pub type trunkline_cancel_callback = Option<unsafe extern "C" fn(reason: *const trunkline_str, user_data: *mut c_void)>;

pub(crate) type CallCallback = Callback<unsafe extern "C" fn(*mut trunkline_call, *mut c_void)>;
pub(crate) type CancelCallback = Callback<unsafe extern "C" fn(*const trunkline_str, *mut c_void)>;

/// A feature or hook of a server. Shared by the port's table and each running call, so that
/// `user_data` outlives calls that are completed later.
pub(crate) struct Registered {
    pub(crate) server: u64,
    /// `None`: the core handles everything itself.
    pub(crate) callback: Option<CallCallback>,
}

/// A call that is waiting for its response. It is completed exactly once: the first call of a
/// `trunkline_call_return_*`, `trunkline_call_require_input` or `trunkline_call_fail*` function
/// that succeeds completes it, and later ones return `TRUNKLINE_DONE`. A call that is released
/// without a response and without a pending request fails. Its functions may be used on any thread.
pub struct trunkline_call {
    pub(crate) port: Arc<Port>,
    pub(crate) ticket: u64,
    pub(crate) arguments: Text,
    /// Strings lent for as long as the call lives.
    lent: Mutex<Vec<Text>>,
    /// Values lent for as long as the call lives.
    lent_vars: Mutex<Vec<Arc<UserData>>>,
    /// Those of its exchange or middleware; for other calls, created on demand.
    scope: OnceLock<Arc<CallScope>>,
    answered: AtomicBool,
    on_cancel: Mutex<OnCancel>,
    /// Keeps `user_data` alive until the call is released.
    registered: Arc<Registered>,
}

#[derive(Default)]
struct OnCancel {
    callback: Option<CancelCallback>,
    /// Set once the call is cancelled, because callbacks may be registered later.
    reason: Option<Bytes>,
}

impl EventReceiver for Registered {
    fn owner(&self) -> u64 {
        self.server
    }

    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool {
        let is_cancelled = || port.core.cancelled(event.ticket).unwrap_or(true);
        if event.kind != EventKind::Call || is_cancelled() {
            return false;
        }
        let call = trunkline_call::begin(port, self.clone(), event);
        if let Some(Callback { function, data }) = &self.callback {
            // SAFETY: the host's function with the host's data; the call lives until it returns.
            let serve = || unsafe { function(call.as_raw(), data.pointer()) };
            match port.telemetry() {
                None => serve(),
                Some(telemetry) => telemetry.around(&port.core, call.ticket, serve),
            }
        }
        true
    }
}

/// Receives the cancellation of a call.
struct CancellationReceiver(Weak<trunkline_call>);

impl EventReceiver for CancellationReceiver {
    fn receive(self: Arc<Self>, _: &Arc<Port>, event: Event) -> bool {
        let call = self.0.upgrade().filter(|_| event.kind == EventKind::Cancel);
        if let Some(call) = &call {
            call.cancelled(event.body.into_bytes());
        }
        call.is_some()
    }
}

impl trunkline_call {
    fn begin(port: &Arc<Port>, registered: Arc<Registered>, event: Event) -> Arc<Self> {
        let ticket = event.ticket;
        let scope = port::call_scope(port, &event);
        let call = Arc::new(Self {
            port: port.clone(),
            ticket,
            arguments: Text::copy(&event.body.into_bytes()),
            lent: Mutex::default(),
            lent_vars: Mutex::default(),
            scope: scope.map_or_else(OnceLock::new, OnceLock::from),
            answered: AtomicBool::new(false),
            on_cancel: Mutex::default(),
            registered,
        });
        let _ = port.attach(ticket, Arc::new(CancellationReceiver(Arc::downgrade(&call))));
        call
    }

    pub(crate) fn as_raw(self: &Arc<Self>) -> *mut Self {
        Arc::as_ptr(self).cast_mut()
    }

    /// Lends a string for as long as the call lives.
    pub(crate) fn lend(&self, text: Text) -> trunkline_str {
        // The string stays in place when the list reallocates.
        let lent = text.lend();
        self.lent.lock().push(text);
        lent
    }

    /// Lends a value of its request for as long as the call lives.
    pub(crate) fn var(&self, name: &str) -> Option<*mut c_void> {
        let value = self.scope.get()?.var(name)?;
        let pointer = value.pointer();
        let mut lent = self.lent_vars.lock();
        if !lent.iter().any(|known| Arc::ptr_eq(known, &value)) {
            lent.push(value);
        }
        Some(pointer)
    }

    pub(crate) fn scope(&self) -> &Arc<CallScope> {
        self.scope.get_or_init(Arc::default)
    }

    /// The data of the exchange or in-memory request that caused the call.
    pub(crate) fn exchange_data(&self) -> Option<*mut c_void> {
        self.scope.get()?.origin()
    }

    /// The value at a JSON pointer in the call's arguments.
    pub(crate) fn argument<T: serde::de::DeserializeOwned>(&self, pointer: &str) -> Result<T, Failure> {
        json::typed(self.arguments.as_str()?, pointer, "of the requested type")
    }

    /// The server that was called.
    pub(crate) fn server(&self) -> u64 {
        self.registered.server
    }

    /// Stores the cancellation callback, and runs it if the call is already cancelled.
    pub(crate) fn on_cancel(self: &Arc<Self>, callback: CancelCallback) -> Result<(), Failure> {
        let (replaced, reason) = {
            let mut on_cancel = self.on_cancel.lock();
            (on_cancel.callback.replace(callback), on_cancel.reason.clone())
        };
        drop(replaced);
        let Some(reason) = reason else { return Ok(()) };
        let call = Arc::downgrade(self);
        self.port.add_job(0, move || {
            if let Some(call) = call.upgrade() {
                call.cancelled(reason);
            }
        })
    }

    fn cancelled(&self, reason: Bytes) {
        let callback = {
            let mut on_cancel = self.on_cancel.lock();
            on_cancel.reason = Some(reason.clone());
            on_cancel.callback.take()
        };
        if let Some(Callback { function, data }) = callback {
            let reason = Text::copy(&reason);
            // SAFETY: the host's function with the host's data; the argument lives until it
            // returns.
            unsafe { function(&reason.lend(), data.pointer()) }
        }
    }

    /// A member of the call's description, by JSON pointer.
    pub(crate) fn info_at(&self, pointer: &str) -> Result<Text, Failure> {
        let info = self.port.core.describe(self.ticket)?;
        let info = str::from_utf8(&info).map_err(|reason| Failure::internal(reason.to_string()))?;
        Ok(Text::copy(json::find(info, pointer)?.as_bytes()))
    }

    pub(crate) fn complete(&self, shape: Shape, body: &[u8]) -> Result<(), Failure> {
        self.settle(self.port.core.complete(self.ticket, shape, Bytes::copy_from_slice(body))?)
    }

    pub(crate) fn fail(&self, fail: Fail) -> Result<(), Failure> {
        self.settle(self.port.core.fail_message(self.ticket, fail)?)
    }

    pub(crate) fn fail_internal(&self, message: &str) -> Result<(), Failure> {
        self.fail(failing(FailKind::Internal, message))
    }

    /// Fails with another operation's failure: a JSON-RPC error is passed on unchanged, anything
    /// else becomes an internal error.
    pub(crate) fn fail_with(&self, error: &BridgeError) -> Result<(), Failure> {
        let BridgeError { kind, message, code, data } = error;
        match kind {
            ErrorKind::Protocol => {
                self.fail(Fail { code: *code, data: data.clone(), ..failing(FailKind::Protocol, message) })
            }
            _ => self.fail_internal(message),
        }
    }

    /// Records that the call is completed; `was_open` is what the core reported.
    fn settle(&self, was_open: bool) -> Result<(), Failure> {
        self.answered.store(true, Ordering::Release);
        if was_open { Ok(()) } else { Err(Failure::done()) }
    }
}

impl Drop for trunkline_call {
    fn drop(&mut self) {
        self.port.detach(self.ticket);
        if !self.answered.load(Ordering::Acquire) {
            // The core ignores this if the call has requested input from its client.
            let _ = self.fail_internal("the handler dropped its call without a response");
        }
    }
}

pub(crate) fn failing(kind: FailKind, message: &str) -> Fail {
    Fail { kind, message: message.to_owned(), ..Fail::default() }
}
