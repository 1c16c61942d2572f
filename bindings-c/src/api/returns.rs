//! Answers of calls.

use trunkline_bridge::Shape;
use trunkline_bridge::message::{Fail, FailKind};

use crate::calls::{failing, trunkline_call};
use crate::edge::prelude::*;
use crate::json::parsed_or_none;

/// Answers with a text: one text block of a tool, the text of a resource, or one message of the user.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_return_text(
    call: *mut trunkline_call,
    text: trunkline_str,
) -> trunkline_result {
    guard_result(|| handle!(call).complete(Shape::Text, text!(text).as_bytes()))
}

/// Answers with JSON that becomes a result as `shape` (one of `trunkline_shape`) says.
/// `TRUNKLINE_INVALID_ARGUMENT` if `json` is not what the shape says: the call is still open then.
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
        call.complete(
            shape.ok_or_else(|| Failure::invalid("the argument `shape` is not a trunkline_shape"))?,
            json.as_bytes(),
        )
    })
}

/// Answers with a full result as JSON, such as a CallToolResult. The same as `trunkline_call_return_json` with
/// `TRUNKLINE_SHAPE_RESULT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_return_result(
    call: *mut trunkline_call,
    json: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(call).complete(Shape::Result, text!(json).as_bytes()))
}

/// Answers that input of the client is needed first: `{"inputRequests": {key: {"method", "params"}}, "state": any}`. When the
/// answers are there, the handler is called again, as a new call; `trunkline_call_fact` has "/inputResponses" (the answers of
/// this round, by key) and "/state". The state travels sealed. For tools, prompts and resources.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_require_input(
    call: *mut trunkline_call,
    json: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(call).complete(Shape::Input, text!(json).as_bytes()))
}

/// Answers that a tool failed, with a message for the model: a result with `isError` and that
/// text. Where results cannot tell failures (everything but tools), a JSON-RPC error with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_tool(
    call: *mut trunkline_call,
    message: trunkline_str,
) -> trunkline_result {
    guard_result(|| handle!(call).fail(failing(FailKind::Tool, text!(message))))
}

/// Answers that an argument is wrong although it fits the schema, as if the schema had refused it. `path` is the JSON
/// pointer of the argument, such as "/city"; empty for all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_invalid(
    call: *mut trunkline_call,
    path: trunkline_str,
    message: trunkline_str,
) -> trunkline_result {
    guard_result(|| {
        let (call, path) = (handle!(call), text!(path));
        let path = (!path.is_empty()).then(|| path.to_owned());
        call.fail(Fail { path, ..failing(FailKind::Invalid, text!(message)) })
    })
}

/// Answers that something broke. The client sees a generic text, the log gets `message`; the
/// server's debug option shows it to both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail(call: *mut trunkline_call, message: trunkline_str) -> trunkline_result {
    guard_result(|| handle!(call).fail_internal(text!(message)))
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
        let (call, message, data) = (handle!(call), text!(message), parsed_or_none("data", text!(data))?);
        call.fail(Fail { code: Some(code), data, ..failing(FailKind::Protocol, message) })
    })
}

/// Answers with the failure that something else ended in, as `trunkline_answer_callback` gets it: a JSON-RPC error as it came,
/// anything else as `trunkline_call_fail` does. Does no harm after `TRUNKLINE_SUSPENDED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_with(
    call: *mut trunkline_call,
    failure: *const trunkline_error,
) -> trunkline_result {
    guard_result(|| handle!(call).fail_with(&handle!(failure).error))
}
