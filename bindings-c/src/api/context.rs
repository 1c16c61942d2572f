//! The context of a handler: reports, values that are kept, and requests to the client.

use std::ffi::c_void;

use trunkline_bridge::message::{NEXT, NotifyCall, Once};

use crate::calls::trunkline_call;
use crate::context::{AnswerCallback, trunkline_answer_callback};
use crate::edge::prelude::*;
use crate::json::{parsed, raw};
use crate::requests::trunkline_request_options;

/// Reports the progress of the call to its caller. `progress` must rise, otherwise it is dropped;
/// `total` of 0 or less means unknown; `message` may be empty. Nothing is sent if the caller did
/// not ask. Never waits.
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
/// "info", "notice", "warning", "error", "critical", "alert" or "emergency". Never waits.
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
/// Otherwise as `trunkline_call_log`.
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

/// Keeps a value (JSON) for the runs of this handler that follow within the same request: what has
/// an effect before the client is asked for input is done once, and its outcome kept under a name.
/// The runs that follow find it with `trunkline_call_once`.
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

/// The value that this run or one before has kept under that name with `trunkline_call_set_once`.
/// `value` is JSON and yours: `trunkline_text_free`. `TRUNKLINE_NOT_FOUND` if it is nothing: it has
/// to be done.
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

/// Makes any request to the client of the call. The outcome comes to `callback`, inside
/// `trunkline_dispatch` or another blocking function of the port; the call lives until then. Input
/// of the user, samples and roots have functions of their own, and work on every revision; other
/// requests, such as `TRUNKLINE_METHOD_PING`, exist up to 2025-11-25 only: `TRUNKLINE_PROTOCOL`
/// with the code -32601 afterwards. `params` is JSON, or empty for none; `options` and `callback`
/// may be NULL.
///
/// Up to 2025-11-25 the client is asked while the call waits. On 2026-07-28 the callback gets the
/// answer if the client has given it, otherwise `TRUNKLINE_SUSPENDED`: the handler runs again with
/// it. Effects before the request are kept with `trunkline_call_set_once`.
///
/// A client that cannot be asked gives `TRUNKLINE_PROTOCOL`, also to `callback`. The function
/// itself fails if an argument is wrong, or with `TRUNKLINE_CLOSED` if the call is not wanted any
/// more. `destructor` fires exactly once, also then.
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
/// as it came. The outcome comes to `callback`, which answers the call, most often with
/// `trunkline_call_return_result` or `trunkline_call_fail_with`; a NULL callback answers it with
/// the outcome as it is.
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
