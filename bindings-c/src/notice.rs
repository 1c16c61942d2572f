//! What a call says and keeps while it runs.

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::call::trunkline_call;
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{guard, handle, out, quietly, text};
use crate::json::raw;
use crate::text::{trunkline_str, trunkline_text};

#[derive(Serialize)]
struct Progress<'a> {
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
}

#[derive(Serialize)]
struct Log<'a> {
    level: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    logger: &'a str,
    data: &'a RawValue,
}

#[derive(Serialize)]
struct Kept<'a> {
    name: &'a str,
    value: &'a RawValue,
}

/// A notice by its name, as the bridge takes it.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Notice<'a> {
    Log(Log<'a>),
    Once(Kept<'a>),
}

impl trunkline_call {
    fn notify(&self, notice: &impl Serialize) -> Result<(), Failure> {
        let json = serde_json::to_vec(notice).map_err(|reason| Failure::invalid(reason.to_string()))?;
        Ok(self.hub.port.notify(self.ticket, &json)?)
    }
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
        call.notify(&Progress { progress, total, message })
    })
}

/// Sends a log message to the client of the call, if it wants messages of that level: "debug", "info", "notice", "warning",
/// "error", "critical", "alert" or "emergency". Never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_log(
    call: *mut trunkline_call,
    level: trunkline_str,
    message: trunkline_str,
) -> trunkline_result {
    quietly(|| {
        let (call, level, message) = (handle!(call), text!(level), text!(message));
        call.notify(&json!({"log": {"level": level, "data": message}}))
    })
}

/// The same with any JSON instead of a text, and with the name of a logger (may be empty).
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
        call.notify(&Notice::Log(Log { level, logger, data: required("data", text!(data))? }))
    })
}

/// Keeps a value (JSON) for the runs of this handler that follow within the same request: what has an effect before the client
/// is asked for input is done once, and its outcome kept under a name. The runs that follow find it with `trunkline_call_once`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_set_once(
    call: *mut trunkline_call,
    name: trunkline_str,
    value: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (call, name) = (handle!(call), text!(name));
        call.notify(&Notice::Once(Kept { name, value: required("value", text!(value))? }))
    })
}

/// What this run or one before has kept under that name with `trunkline_call_set_once`. `value` is JSON and yours:
/// `trunkline_text_free`. `TRUNKLINE_NOT_FOUND` if it is nothing: it has to be done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_once(
    call: *const trunkline_call,
    name: trunkline_str,
    value: *mut *mut trunkline_text,
) -> trunkline_result {
    quietly(|| {
        let (call, name, value) = (handle!(call), text!(name), out!(value));
        let pointer = format!("/once/{}", name.replace('~', "~0").replace('/', "~1"));
        value.put(call.fact(&pointer)?.give());
        Ok(())
    })
}

/// Closes the HTTP response of the call early, where the client can come back for the answer; otherwise it does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_close_stream(call: *mut trunkline_call) -> trunkline_result {
    quietly(|| handle!(call).notify(&json!({"closeStream": true})))
}

/// Makes a task of the call from here on, where it may be one: see `trunkline_tool_options_set_defer_task`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_start_task(call: *mut trunkline_call) -> trunkline_result {
    quietly(|| handle!(call).notify(&json!({"startTask": true})))
}

/// Says what the task of a call does now. Nothing happens if it is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_set_task_message(
    call: *mut trunkline_call,
    message: trunkline_str,
) -> trunkline_result {
    quietly(|| handle!(call).notify(&json!({"taskMessage": text!(message)})))
}

fn required<'a>(argument: &str, json: &'a str) -> Result<&'a RawValue, Failure> {
    raw(argument, json)?.ok_or_else(|| Failure::invalid(format!("the argument `{argument}` must be JSON; it is empty")))
}
