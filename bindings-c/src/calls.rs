//! Calls of registered features: their lifetime, facts, response and cancellation;
//! `generated/returns.rs` has the responses by shape and the failures by kind, and
//! `generated/values.rs` the arguments that are numbers or booleans.

use std::cell::{Cell, RefCell};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, Weak};

use bytes::Bytes;
use trunkline::bridge_support::OnDrop;
use trunkline_bridge::message::{Fail, FailKind};
use trunkline_bridge::{BridgeError, ErrorKind, Event, EventKind, Shape};

use crate::edge::prelude::*;
use crate::json;
use crate::port::{self, EventReceiver, Port, failing};
use crate::scope::CallScope;

/// Handles the calls of a feature or hook of a server. `trunkline_call_arguments` and similar
/// functions return the arguments. `call` is borrowed until the callback returns; keep it with
/// `trunkline_call_retain` to complete it later. Must not throw or `longjmp`.
pub type trunkline_call_callback = Option<unsafe extern "C" fn(call: *mut trunkline_call, user_data: *mut c_void)>;

/// Runs when a call is cancelled. `reason` may be empty; it is borrowed until the callback returns.
pub type trunkline_cancel_callback = Option<unsafe extern "C" fn(reason: *const trunkline_str, user_data: *mut c_void)>;

/// A feature or hook of a server. Shared by the port's table and each running call, so that
/// `user_data` outlives calls that are completed later.
pub(crate) struct Registered {
    pub(crate) server: u64,
    /// `None`: the core handles everything itself.
    pub(crate) callback: Option<Callback<trunkline_call_callback>>,
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
    /// The scope of its request; unless something in the host caused it, created on demand.
    scope: OnceLock<Arc<CallScope>>,
    answered: AtomicBool,
    on_cancel: Mutex<OnCancel>,
    /// Keeps `user_data` alive until the call is released.
    pub(crate) registered: Arc<Registered>,
}

#[derive(Default)]
struct OnCancel {
    callback: Option<Callback<trunkline_cancel_callback>>,
    /// Set once the call is cancelled, because callbacks may be registered later.
    reason: Option<Bytes>,
}

thread_local! {
    /// The callback whose calls this thread takes instead of running it.
    static TAKEN_CALLBACK: Cell<trunkline_call_callback> = const { Cell::new(None) };
    static TAKEN_CALL: RefCell<Option<Arc<trunkline_call>>> = const { RefCell::new(None) };
}

/// Runs a dispatch, which ends with the first call that it takes instead of running this callback.
pub(crate) fn taking_calls<T>(
    callback: trunkline_call_callback,
    dispatch: impl FnOnce() -> T,
) -> (T, Option<Arc<trunkline_call>>) {
    TAKEN_CALLBACK.set(callback);
    let _end = OnDrop::new(|| TAKEN_CALLBACK.set(None));
    let dispatched = dispatch();
    (dispatched, TAKEN_CALL.take())
}

/// Returns whether this thread has taken a call.
pub(crate) fn has_taken_call() -> bool {
    TAKEN_CALL.with_borrow(Option::is_some)
}

/// Takes a call, if this thread takes those of its callback, and has none, and nothing else is
/// pending.
fn is_taken(call: &Arc<trunkline_call>, function: unsafe extern "C" fn(*mut trunkline_call, *mut c_void)) -> bool {
    let is_wanted = TAKEN_CALLBACK.get().is_some_and(|wanted| wanted as usize == function as usize)
        && !has_taken_call()
        && call.port.telemetry.get().is_none()
        && !call.port.is_pending();
    if is_wanted {
        TAKEN_CALL.set(Some(call.clone()));
    }
    is_wanted
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
        let (ticket, scope) = (event.ticket, port::call_scope(port, &event));
        let call = Arc::new(trunkline_call {
            port: port.clone(),
            ticket,
            arguments: Text::copy(event.body.into_bytes()),
            lent: Mutex::default(),
            lent_vars: Mutex::default(),
            scope: scope.map_or_else(OnceLock::new, |scope| OnceLock::from(scope.of_call())),
            answered: AtomicBool::new(false),
            on_cancel: Mutex::default(),
            registered: self.clone(),
        });
        let _ = port.attach(ticket, Arc::new(CancellationReceiver(Arc::downgrade(&call))));
        if let Some(Callback { function, data }) = &self.callback
            && !is_taken(&call, *function)
        {
            // SAFETY: the host's function with the host's data; the call lives until it returns.
            port.serve_in_span(ticket, || unsafe { function(Arc::as_ptr(&call).cast_mut(), data.pointer()) });
        }
        true
    }
}

/// Receives the cancellation of a call.
struct CancellationReceiver(Weak<trunkline_call>);

impl EventReceiver for CancellationReceiver {
    fn receive(self: Arc<Self>, _: &Arc<Port>, event: Event) -> bool {
        let call = self.0.upgrade().filter(|_| event.kind == EventKind::Cancel);
        call.inspect(|call| call.cancelled(event.body.into_bytes())).is_some()
    }
}

impl trunkline_call {
    pub(crate) fn scope(&self) -> &Arc<CallScope> {
        self.scope.get_or_init(Arc::default)
    }

    /// The value at a JSON pointer in the call's arguments.
    pub(crate) fn argument<T: serde::de::DeserializeOwned>(&self, pointer: &str) -> Result<T, Failure> {
        json::typed(self.arguments.as_str()?, pointer, "of the requested type")
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
        Ok(Text::copy(json::find(&self.port.core.describe(self.ticket)?, pointer)?))
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
        if *kind != ErrorKind::Protocol {
            return self.fail_internal(message);
        }
        self.fail(Fail { code: *code, data: data.clone(), ..failing(FailKind::Protocol, message) })
    }

    /// Records that the call is completed; `was_open` is what the core reported.
    fn settle(&self, was_open: bool) -> Result<(), Failure> {
        self.answered.store(true, Ordering::Release);
        let message = "the call was already answered or cancelled, or its connection was closed";
        let done = || Failure::new(trunkline_result::TRUNKLINE_DONE, ErrorKind::Closed, message);
        was_open.then_some(()).ok_or_else(done)
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

/// The arguments, as passed to the callback. Borrowed: valid as long as the call. Empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_arguments(call: *const trunkline_call) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(call).arguments.lend()))
}

/// The string at a JSON pointer in the arguments, such as "/city", without quotes and escapes.
/// Borrowed: valid as long as the call. Returns `otherwise` if there is no string there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_text(
    call: *const trunkline_call,
    pointer: trunkline_str,
    otherwise: trunkline_str,
) -> trunkline_str {
    value_or(otherwise, || {
        let call = handle!(call);
        let text = Text::new(call.argument::<String>(text!(pointer))?);
        // The string stays in place when the list reallocates.
        let lent = text.lend();
        call.lent.lock().push(text);
        Ok(lent)
    })
}

/// Information about the call as JSON: `method`, `name`, `revision`, `requestId`, `sessionId`,
/// `headers` (of the HTTP request, with lowercase names), `url`, `remoteAddress`, `clientInfo`,
/// `clientCapabilities`, `meta`, `progress` (`true` if the caller asked for it), `auth` (the
/// caller, an object with at least `principal`), `inputResponses` and `state` (of the previous
/// round: `trunkline_call_require_input`), `once` (`trunkline_call_set_once`). The caller owns
/// `description`; free it with `trunkline_text_free`. Fails with `TRUNKLINE_INVALID_ARGUMENT` once
/// the call is completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_info(
    call: *const trunkline_call,
    description: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let call = handle!(call);
        out!(description).finish(Text::new(call.port.core.describe(call.ticket)?).give())
    })
}

/// The member of this description at a JSON pointer: "/auth/principal", "/headers/x-tenant",
/// "/state", "/inputResponses/user_name/content/name". `value` is JSON and owned by the caller;
/// free it with `trunkline_text_free`. `TRUNKLINE_NOT_FOUND` if there is nothing there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fact(
    call: *const trunkline_call,
    pointer: trunkline_str,
    value: *mut *mut trunkline_text,
) -> trunkline_result {
    guard_result(|| out!(value).finish(handle!(call).info_at(text!(pointer))?.give()))
}

/// The data of what caused the call: the `user_data` of `trunkline_http_request`, such as the
/// connection of a web server, or that of an in-memory client
/// (`trunkline_request_options_set_user_data`). Borrowed: if the data has a destructor, valid as
/// long as the call; otherwise valid until the exchange or the request has ended, and NULL after
/// that, because calls of tasks continue after the response. NULL for other calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_exchange_data(call: *const trunkline_call) -> *mut c_void {
    value_or(null_mut(), || {
        let scope = handle!(call).scope.get();
        Ok(scope.and_then(|scope| scope.origin.lock().as_ref().map(|data| data.pointer())).unwrap_or(null_mut()))
    })
}

/// Stores a value under a name for the handlers of the same request: middleware stores what the
/// handlers behind it need, such as the user. `destructor` is called once the value is replaced or
/// the request has ended, and no call uses it, even if the function fails. A NULL value removes the
/// existing one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_set_var(
    call: *mut trunkline_call,
    name: trunkline_str,
    value: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let value = (!value.is_null()).then(|| UserData::new(value, destructor));
    guard_result(|| {
        let (scope, name) = (handle!(call).scope(), text!(name));
        let before = match value {
            Some(value) => scope.vars.lock().insert(name.to_owned(), Arc::new(value)),
            None => scope.vars.lock().remove(name),
        };
        // Without a lock held.
        drop(before);
        Ok(())
    })
}

/// The value stored under that name with `trunkline_call_set_var` for this request, by this handler
/// or by middleware around it. Borrowed: valid as long as the call, even if it is replaced
/// meanwhile. NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_var(call: *const trunkline_call, name: trunkline_str) -> *mut c_void {
    value_or(null_mut(), || {
        let (call, name) = (handle!(call), text!(name));
        let Some(value) = call.scope.get().and_then(|scope| scope.vars.lock().get(name).cloned()) else {
            return Ok(null_mut());
        };
        let pointer = value.pointer();
        let mut lent = call.lent_vars.lock();
        if !lent.iter().any(|known| Arc::ptr_eq(known, &value)) {
            lent.push(value);
        }
        Ok(pointer)
    })
}

/// Returns `true` if the result is no longer needed: the client cancelled the call, its connection
/// has ended, or it is already completed. For tools that work in small steps. `false` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_cancelled(call: *const trunkline_call) -> bool {
    value_or(false, || {
        let call = handle!(call);
        Ok(call.port.core.cancelled(call.ticket)?)
    })
}

/// Runs `callback` once when the call is cancelled or its result is no longer needed, even if that
/// has already happened. Like all callbacks, it runs inside `trunkline_dispatch` or another
/// blocking function of the port, and not after the call was released. A second callback replaces
/// the first. `destructor` is called exactly once, whether or not the callback ran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_on_cancel(
    call: *mut trunkline_call,
    callback: trunkline_cancel_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let callback = Callback::new(callback, user_data, destructor);
    guard_result(|| {
        let (call, callback) = (kept!(call), required(callback, "callback")?);
        let (replaced, reason) = {
            let mut on_cancel = call.on_cancel.lock();
            (on_cancel.callback.replace(callback), on_cancel.reason.clone())
        };
        drop(replaced);
        let Some(reason) = reason else { return Ok(()) };
        let waiting = Arc::downgrade(&call);
        call.port.add_job(0, move || _ = waiting.upgrade().inspect(|call| call.cancelled(reason)))
    })
}

/// Keeps the call after its callback returns, to complete it later from any thread. Release it with
/// `trunkline_call_free`. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_retain(call: *mut trunkline_call) -> *mut trunkline_call {
    value_or(null_mut(), || Ok(Arc::into_raw(kept!(call)).cast_mut()))
}

/// Releases a call kept with `trunkline_call_retain`. If it is not completed, it fails now. NULL is
/// allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_free(call: *mut trunkline_call) {
    value_or((), || {
        if !call.is_null() {
            // SAFETY: the conventions of the header: pairs with one `trunkline_call_retain`.
            drop(unsafe { Arc::from_raw(call) });
        }
        Ok(())
    });
}

/// A `trunkline_shape` as C may pass it: any number.
pub type trunkline_shape_number = u32;

/// Completes a call with JSON that becomes a result according to `shape`.
/// `TRUNKLINE_INVALID_ARGUMENT` if `json` does not match the shape; the call is still open then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_return_json(
    call: *mut trunkline_call,
    shape: trunkline_shape_number,
    json: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let shape = u8::try_from(shape).ok().and_then(Shape::from_number);
        let shape = shape.ok_or_else(|| Failure::invalid("the argument `shape` is not a trunkline_shape"))?;
        handle!(call).complete(shape, text!(json).as_bytes())
    })
}

/// Fails a call with the failure of another operation, as received by `trunkline_answer_callback`:
/// a JSON-RPC error is passed on unchanged, anything else like `trunkline_call_fail`. Has no effect
/// after `TRUNKLINE_SUSPENDED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_with(
    call: *mut trunkline_call,
    failure: *const trunkline_error,
) -> trunkline_result {
    guard_result(|| handle!(call).fail_with(&handle!(failure).error))
}
