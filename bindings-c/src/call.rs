//! One call of a tool: its arguments, its answer, its cancellation.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use trunkline::bridge::{Event, Shape};

use crate::callback::{
    CancelCallback, ReplyCallback, UserData, trunkline_cancel_callback, trunkline_destructor, trunkline_reply_callback,
};
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{contain, guard, handle, optional, out, quietly, text, value_or};
use crate::hub::Hub;
use crate::json::raw;
use crate::request::{self, UNSET, trunkline_request_options};
use crate::sync::Mutex;
use crate::text::{Text, trunkline_str, trunkline_text};
use crate::tool::Tool;

/// A call that waits for its answer. Answered exactly once: one of the `trunkline_call_return_*`
/// and `trunkline_call_fail*` functions succeeds, later ones give `TRUNKLINE_DONE`. A call that is
/// let go of without an answer fails. Its functions may be used on any thread.
pub struct trunkline_call {
    hub: Arc<Hub>,
    ticket: u64,
    arguments: Text,
    answered: AtomicBool,
    on_cancel: Mutex<OnCancel>,
    /// Keeps the tool's `user_data` alive until the call is let go of.
    _tool: Arc<Tool>,
}

#[derive(Default)]
struct OnCancel {
    callback: Option<Arc<CancelCallback>>,
    /// The event came before there was a callback.
    missed: Option<Bytes>,
}

/// How the JSON given to `trunkline_call_return_json` becomes a result.
#[repr(C)]
#[allow(dead_code, reason = "for C; Rust takes the numbers, which may be anything")]
pub enum trunkline_shape {
    /// Not JSON but plain text: one text block. The same as `trunkline_call_return_text`.
    TRUNKLINE_SHAPE_TEXT = 0,
    /// One content block or an array of content blocks: the content, as it is.
    TRUNKLINE_SHAPE_CONTENT = 1,
    /// An object: its JSON as a text block and, where an output schema is known, as structured
    /// content.
    TRUNKLINE_SHAPE_OBJECT = 2,
    /// Any value: its JSON as a text block and, where an output schema is known, `{"result":
    /// value}` as structured content.
    TRUNKLINE_SHAPE_VALUE = 3,
    /// A full CallToolResult, as it is.
    TRUNKLINE_SHAPE_RESULT = 4,
}

#[derive(Serialize)]
struct Failing<'a> {
    kind: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'a str,
}

impl<'a> Failing<'a> {
    fn new(kind: &'a str, message: &'a str) -> Self {
        Self { kind, message, code: None, data: None, path: "" }
    }
}

#[derive(Serialize)]
struct Progress<'a> {
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl trunkline_call {
    pub(crate) fn start(hub: &Arc<Hub>, tool: &Arc<Tool>, event: Event) -> Arc<Self> {
        let call = Arc::new(Self {
            hub: hub.clone(),
            ticket: event.ticket,
            arguments: Text::copy(&event.body),
            answered: AtomicBool::new(false),
            on_cancel: Mutex::default(),
            _tool: tool.clone(),
        });
        if let Ok(mut state) = hub.state() {
            state.calls.insert(event.ticket, Arc::downgrade(&call));
        }
        call
    }

    pub(crate) fn as_raw(self: &Arc<Self>) -> *mut Self {
        Arc::as_ptr(self).cast_mut()
    }

    pub(crate) fn arguments(&self) -> trunkline_str {
        self.arguments.lend()
    }

    pub(crate) fn run_cancel_callback(&self, reason: Bytes) {
        let callback = {
            let mut on_cancel = self.on_cancel.lock();
            if on_cancel.callback.is_none() {
                on_cancel.missed = Some(reason.clone());
            }
            on_cancel.callback.clone()
        };
        if let Some(callback) = callback {
            callback.run(Text::copy(&reason).lend());
        }
    }

    fn complete(&self, shape: Shape, body: &str) -> Result<(), Failure> {
        self.settle(self.hub.port.complete(self.ticket, shape, Bytes::copy_from_slice(body.as_bytes()))?)
    }

    fn fail(&self, failing: &Failing<'_>) -> Result<(), Failure> {
        let json = serde_json::to_vec(failing).map_err(|reason| Failure::internal(reason.to_string()))?;
        self.settle(self.hub.port.fail(self.ticket, &json)?)
    }

    fn settle(&self, was_open: bool) -> Result<(), Failure> {
        self.answered.store(true, Ordering::Release);
        if was_open { Ok(()) } else { Err(Failure::done()) }
    }
}

impl Drop for trunkline_call {
    fn drop(&mut self) {
        if let Ok(mut state) = self.hub.state() {
            state.calls.remove(&self.ticket);
        }
        if !self.answered.load(Ordering::Acquire) {
            let _ = self.fail(&Failing::new("internal", "the tool let go of its call without answering it"));
        }
    }
}

/// The arguments again, a JSON object. Borrowed: valid as long as the call. Empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_arguments(call: *const trunkline_call) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(call).arguments()))
}

/// Facts about the call as JSON: `name`, `revision`, `clientInfo`, `clientCapabilities`, `meta`,
/// `progress`. `info` is yours: `trunkline_text_free`. Fails with `TRUNKLINE_INVALID`
/// once the call is answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_info(
    call: *const trunkline_call,
    info: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (call, info) = (handle!(call), out!(info));
        info.put(Text::new(call.hub.port.describe(call.ticket)?).give());
        Ok(())
    })
}

/// Answers with one text block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_return_text(
    call: *mut trunkline_call,
    text: trunkline_str,
) -> trunkline_result {
    quietly(|| handle!(call).complete(Shape::Text, text!(text)))
}

/// Answers with JSON that becomes a result as `shape` (one of `trunkline_shape`) says.
/// `TRUNKLINE_INVALID` if `json` is not what the shape says: the call is still open then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_return_json(
    call: *mut trunkline_call,
    shape: u32,
    json: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (call, json) = (handle!(call), text!(json));
        let shape = u8::try_from(shape).ok().and_then(Shape::from_number);
        call.complete(shape.ok_or_else(|| Failure::invalid("the argument `shape` is not a trunkline_shape"))?, json)
    })
}

/// Answers with a full CallToolResult as JSON. The same as `trunkline_call_return_json` with
/// `TRUNKLINE_SHAPE_RESULT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_return_result(
    call: *mut trunkline_call,
    json: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(call).complete(Shape::Result, text!(json)))
}

/// Answers that the tool failed, with a message for the model: a result with `isError` and that
/// text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_tool(
    call: *mut trunkline_call,
    message: trunkline_str,
) -> trunkline_result {
    quietly(|| handle!(call).fail(&Failing::new("tool", text!(message))))
}

/// Answers that an argument is wrong although it fits the schema, as if the schema had refused it. `path` is the JSON
/// pointer of the argument, such as "/city"; empty for all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_invalid(
    call: *mut trunkline_call,
    path: trunkline_str,
    message: trunkline_str,
) -> trunkline_result {
    quietly(|| handle!(call).fail(&Failing { path: text!(path), ..Failing::new("invalid", text!(message)) }))
}

/// Answers that something broke. The client sees a generic text, the log gets `message`; the
/// server's debug option shows it to both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail(call: *mut trunkline_call, message: trunkline_str) -> trunkline_result {
    quietly(|| handle!(call).fail(&Failing::new("internal", text!(message))))
}

/// Answers with a JSON-RPC error. `data` is JSON, or empty for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_protocol(
    call: *mut trunkline_call,
    code: i64,
    message: trunkline_str,
    data: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (call, message, data) = (handle!(call), text!(message), raw("data", text!(data))?);
        call.fail(&Failing { code: Some(code), data, ..Failing::new("protocol", message) })
    })
}

/// Tells the caller how far the call is. `progress` must rise, otherwise it is dropped; `total` of
/// 0 or less means unknown; `message` may be empty. Nothing is sent if the caller did not ask.
/// Never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_progress(
    call: *mut trunkline_call,
    progress: f64,
    total: f64,
    message: trunkline_str,
) -> trunkline_result {
    quietly(|| {
        let (call, message) = (handle!(call), text!(message));
        let total = (total > 0.0).then_some(total);
        let json = serde_json::to_vec(&Progress { progress, total, message: (!message.is_empty()).then_some(message) });
        Ok(call.hub.port.notify(call.ticket, &json.map_err(|reason| Failure::invalid(reason.to_string()))?)?)
    })
}

/// Whether the call is no longer wanted: the client cancelled it, its connection is gone, or it is answered already. For
/// tools that work in small steps. `false` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_cancelled(call: *const trunkline_call) -> bool {
    value_or(false, || {
        let call = handle!(call);
        Ok(call.hub.port.cancelled(call.ticket)?)
    })
}

/// Runs `callback` once when the call is no longer wanted: on the thread that dispatches the port,
/// or at once, before this function returns, if that already happened. A second callback replaces
/// the first. `destructor` fires exactly once, whether or not the callback ran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_on_cancel(
    call: *mut trunkline_call,
    callback: trunkline_cancel_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    quietly(|| {
        let call = handle!(call);
        let callback = CancelCallback::new(callback, user_data).ok_or_else(|| Failure::null("callback"))?;
        let callback = Arc::new(callback);
        let (missed, replaced) = {
            let mut on_cancel = call.on_cancel.lock();
            (on_cancel.missed.take(), on_cancel.callback.replace(callback.clone()))
        };
        drop(replaced);
        if let Some(reason) = missed {
            call.hub.enter(|| callback.run(Text::copy(&reason).lend()));
        }
        Ok(())
    })
}

/// Makes a request to the client of the call, such as `TRUNKLINE_METHOD_PING`, without waiting: `callback` gets the
/// result inside `trunkline_dispatch` or another blocking function of the port. `params` is JSON, or empty for none;
/// `options` may be NULL. Only the revisions up to 2025-11-25 know such requests: `TRUNKLINE_PROTOCOL` with the code -32601
/// on others. `TRUNKLINE_CLOSED` if the call is answered already, or no longer wanted. To
/// answer the call in `callback`, keep it with `trunkline_call_retain`. `destructor` fires exactly once, also if this
/// function fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_start_request(
    call: *mut trunkline_call,
    method: trunkline_str,
    params: trunkline_str,
    options: *const trunkline_request_options,
    callback: trunkline_reply_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let completion = ReplyCallback::new(callback, user_data);
        let (call, method) = (handle!(call), text!(method));
        let (params, options) = (raw("params", text!(params))?, optional!(options).unwrap_or(&UNSET));
        request::start(&call.hub, call.ticket, method, params, options, completion)?;
        Ok(())
    })
}

/// Keeps the call beyond its callback, to answer it later from any thread. Give it back with
/// `trunkline_call_free`. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_retain(call: *mut trunkline_call) -> *mut trunkline_call {
    contain(std::ptr::null_mut(), || {
        if !call.is_null() {
            // SAFETY: the conventions of the header: a call that is alive; each one is inside an
            // `Arc`, made by `start`.
            unsafe { Arc::increment_strong_count(call) };
        }
        call
    })
}

/// Lets go of a call that was kept with `trunkline_call_retain`. If it was not answered, it fails
/// now. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_free(call: *mut trunkline_call) {
    contain((), || {
        if !call.is_null() {
            // SAFETY: the conventions of the header: pairs with one `trunkline_call_retain`.
            drop(unsafe { Arc::from_raw(call) });
        }
    });
}
