//! The context of a handler: notifications, stored values, and requests to the client.

use std::ffi::c_void;

use trunkline_bridge::message::{NEXT, NotifyCall, Once};

use crate::calls::trunkline_call;
use crate::context::{AnswerCallback, trunkline_answer_callback};
use crate::edge::prelude::*;
use crate::json::{parsed, raw};
use crate::requests::trunkline_request_options;

/// Reports the progress of the call to its caller. `progress` must increase, otherwise it is
/// dropped; `total` of 0 or less means unknown; `message` may be empty. Nothing is sent if the
/// caller did not ask for it. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_progress(
    call: *mut trunkline_call,
    progress: f64,
    total: f64,
    message: trunkline_str,
) -> trunkline_result {
    guard_result(|| {
        let (call, message) = (handle!(call), text!(message));
        let total = (total > 0.0).then_some(total);
        let message = (!message.is_empty()).then(|| message.to_owned());
        call.notify(NotifyCall { progress: Some(progress), total, message, ..NotifyCall::default() })
    })
}

/// Sends a log message to the client of the call, if it wants messages of that level: "debug",
/// "info", "notice", "warning", "error", "critical", "alert" or "emergency". Never blocks.
///
/// @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_log(
    call: *mut trunkline_call,
    level: trunkline_str,
    message: trunkline_str,
) -> trunkline_result {
    guard_result(|| {
        let (call, level, message) = (handle!(call), text!(level), text!(message));
        call.log(level, "", message.into())
    })
}

/// Sends a log message with any JSON as data and the name of a logger, which may be empty.
/// Otherwise like `trunkline_call_log`.
///
/// @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_log_json(
    call: *mut trunkline_call,
    level: trunkline_str,
    logger: trunkline_str,
    data: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (call, level, logger) = (handle!(call), text!(level), text!(logger));
        call.log(level, logger, parsed("data", text!(data))?)
    })
}

/// Stores a value (JSON) for later runs of this handler within the same request: perform a side
/// effect once before asking the client for input, and store its outcome under a name. Later runs
/// find it with `trunkline_call_once`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_set_once(
    call: *mut trunkline_call,
    name: trunkline_str,
    value: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (call, name) = (handle!(call), text!(name));
        let once = Once { name: name.to_owned(), value: parsed("value", text!(value))? };
        call.notify(NotifyCall { once: Some(once), ..NotifyCall::default() })
    })
}

/// The value that this run or an earlier one stored under that name with `trunkline_call_set_once`.
/// `value` is JSON and owned by the caller; free it with `trunkline_text_free`.
/// `TRUNKLINE_NOT_FOUND` if there is none: the work has not been done yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_once(
    call: *const trunkline_call,
    name: trunkline_str,
    value: *mut *mut trunkline_text,
) -> trunkline_result {
    guard_result(|| {
        let (call, name, value) = (handle!(call), text!(name), out!(value));
        let pointer = format!("/once/{}", name.replace('~', "~0").replace('/', "~1"));
        value.finish(call.info_at(&pointer)?.give())
    })
}

/// Sends any request to the client of the call. The outcome is passed to `callback`, inside
/// `trunkline_dispatch` or another blocking function of the port; the call is kept alive until
/// then. User input, sampling and roots have their own functions, which work on every revision;
/// other requests, such as `TRUNKLINE_METHOD_PING`, exist only up to 2025-11-25, and fail with
/// `TRUNKLINE_PROTOCOL` and the code -32601 after that. `params` is JSON, or empty for none;
/// `options` and `callback` may be NULL.
///
/// Up to 2025-11-25 the client is asked while the call waits. On 2026-07-28 the callback gets the
/// answer if the client has sent it, otherwise `TRUNKLINE_SUSPENDED`: the handler runs again with
/// the answer. Store the outcome of earlier side effects with `trunkline_call_set_once`.
///
/// If the client does not support the request, it fails with `TRUNKLINE_PROTOCOL`, also passed to
/// `callback`. The function itself fails if an argument is invalid, or with `TRUNKLINE_CLOSED` if
/// the result of the call is no longer needed. `destructor` is called exactly once, in these cases,
/// too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_start_request(
    call: *mut trunkline_call,
    method: trunkline_str,
    params: trunkline_str,
    options: *const trunkline_request_options,
    callback: trunkline_answer_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let callback = AnswerCallback::new(callback, user_data);
        let (call, method, params) = (kept!(call), text!(method), raw("params", text!(params))?);
        call.request(method, params, settled!(options), call.answer_with(callback))
    })
}

/// In middleware: runs the rest of the request, with other params (JSON) or, if `params` is empty,
/// with the original ones. The outcome is passed to `callback`, which completes the call, usually
/// with `trunkline_call_return_result` or `trunkline_call_fail_with`; a NULL callback completes it
/// with the outcome unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_next(
    call: *mut trunkline_call,
    params: trunkline_str,
    callback: trunkline_answer_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let callback = AnswerCallback::new(callback, user_data);
        let (call, params) = (kept!(call), raw("params", text!(params))?);
        let completion = if callback.is_some() { call.answer_with(callback) } else { call.pass_on() };
        call.request(NEXT, params, None, completion)
    })
}
