//! The context of a handler: progress, logs and stored values of its call, and requests to the
//! client.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use trunkline::protocol::model::LoggingLevel;
use trunkline_bridge::Shape;
use trunkline_bridge::message::{LogMessage, NEXT, Notification, NotifyCall, Once};

use crate::calls::trunkline_call;
use crate::edge::prelude::*;
use crate::json::{parsed, raw};
use crate::requests::{OnComplete, PreparedRequest, lend_outcome, trunkline_request_options};

/// Receives the outcome of a request that a call sent: `TRUNKLINE_OK` and the result as JSON, or
/// the failure with its error. All arguments are borrowed until the callback returns: complete the
/// call, send another request, or keep the call with `trunkline_call_retain`.
///
/// `TRUNKLINE_SUSPENDED` is not a failure: the client is being asked, and the handler runs again
/// from the start, as a new call that gets the response. Release what you hold and return; a
/// response to this call is ignored.
pub type trunkline_answer_callback = Option<
    unsafe extern "C" fn(
        call: *mut trunkline_call,
        result: trunkline_result,
        json: *const trunkline_str,
        error: *const trunkline_error,
        user_data: *mut c_void,
    ),
>;

impl trunkline_call {
    pub(crate) fn notify(&self, notification: NotifyCall) -> Result<(), Failure> {
        Ok(self.port.core.notify_message(self.ticket, Notification::Call(notification))?)
    }

    fn log(&self, level: &str, logger: &str, data: Value) -> Result<(), Failure> {
        let level = LoggingLevel::deserialize(Value::from(level));
        let level = level.map_err(|reason| Failure::invalid(format!("the argument `level`: {reason}")))?;
        let logger = (!logger.is_empty()).then(|| logger.to_owned());
        self.notify(NotifyCall { log: Some(LogMessage { level, logger, data }), ..NotifyCall::default() })
    }

    pub(crate) fn request_input(
        self: &Arc<Self>,
        method: &str,
        params: &str,
        key: &str,
        callback: Option<Callback<trunkline_answer_callback>>,
    ) -> Result<(), Failure> {
        let callback = required(callback, "callback")?;
        let mut request = PreparedRequest::new(method, raw("params", params)?, None);
        request.message.key = (!key.is_empty()).then(|| key.to_owned());
        request.start_for_call(self, self.answer_with(Some(callback)), |_| ())
    }

    /// The completion of a request whose outcome is passed to a callback. The call lives at least
    /// until the callback has run.
    fn answer_with(self: &Arc<Self>, callback: Option<Callback<trunkline_answer_callback>>) -> OnComplete {
        let call = self.clone();
        Box::new(move |outcome| {
            let Some(Callback { function, data }) = callback else { return };
            // SAFETY: the host's function with the host's data; all arguments live until it
            // returns.
            lend_outcome(outcome, |result, json, error| unsafe {
                function(Arc::as_ptr(&call).cast_mut(), result, json, error, data.pointer());
            });
        })
    }

    /// The completion of a request whose outcome completes the call itself.
    fn pass_on(self: &Arc<Self>) -> OnComplete {
        let call = self.clone();
        Box::new(move |outcome: Result<Bytes, Failure>| {
            let answered = match outcome {
                Ok(result) => call.complete(Shape::Result, &result),
                Err(failure) => call.fail_with(&failure.error),
            };
            let invalid = answered.err().filter(|error| error.result == trunkline_result::TRUNKLINE_INVALID_ARGUMENT);
            invalid.inspect(|failure| _ = call.fail_internal(&failure.error.message));
        })
    }
}

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
        let (total, message) = ((total > 0.0).then_some(total), text!(message));
        let message = (!message.is_empty()).then(|| message.to_owned());
        handle!(call).notify(NotifyCall { progress: Some(progress), total, message, ..NotifyCall::default() })
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
    guard_result(|| handle!(call).log(text!(level), "", text!(message).into()))
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
    guard(error, || handle!(call).log(text!(level), text!(logger), parsed("data", text!(data))?))
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
        let once = Once { name: text!(name).to_owned(), value: parsed("value", text!(value))? };
        handle!(call).notify(NotifyCall { once: Some(once), ..NotifyCall::default() })
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
        let pointer = format!("/once/{}", text!(name).replace('~', "~0").replace('/', "~1"));
        out!(value).finish(handle!(call).info_at(&pointer)?.give())
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
/// If the client does not support the request, it fails with `TRUNKLINE_PROTOCOL`, which is passed
/// to `callback` as well. The function itself fails if an argument is invalid, or with
/// `TRUNKLINE_CLOSED` if the result of the call is no longer needed. `ticket` may be NULL;
/// otherwise it receives the number for `trunkline_call_cancel_request`. `destructor` is called
/// exactly once, even if the function fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_start_request(
    call: *mut trunkline_call,
    method: trunkline_str,
    params: trunkline_str,
    options: *const trunkline_request_options,
    callback: trunkline_answer_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    ticket: *mut u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let callback = Callback::new(callback, user_data, destructor);
    guard(error, || {
        let (call, method, params) = (kept!(call), text!(method), raw("params", text!(params))?);
        let request = PreparedRequest::new(method, params, settled!(options));
        request.start_for_call(&call, call.answer_with(callback), out_or_null!(ticket))
    })
}

/// Cancels a request to the client of the call: its callback gets `TRUNKLINE_CANCELLED`. `reason`
/// may be empty. A ticket that has already completed is not an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_cancel_request(
    call: *mut trunkline_call,
    ticket: u64,
    reason: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let call = handle!(call);
        call.port.cancel(ticket, call.registered.server, text!(reason))
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
    let callback = Callback::new(callback, user_data, destructor);
    guard(error, || {
        let (call, params) = (kept!(call), raw("params", text!(params))?);
        let completion = if callback.is_some() { call.answer_with(callback) } else { call.pass_on() };
        PreparedRequest::new(NEXT, params, None).start_for_call(&call, completion, |_| ())
    })
}
