//! The answer to a call: a result of any shape, input that is required first, or a failure.

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use trunkline_bridge::Shape;

use crate::call::trunkline_call;
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{guard, handle, quietly, text};
use crate::json::raw;
use crate::text::{Text, trunkline_str};

/// How the JSON given to `trunkline_call_return_json` becomes a result of a tool, a resource or a prompt. Completions and the
/// lists of providers are `TRUNKLINE_SHAPE_VALUE`, what middleware answers is `TRUNKLINE_SHAPE_RESULT`.
#[repr(C)]
#[allow(dead_code, reason = "for C; Rust takes the numbers, which may be anything")]
pub enum trunkline_shape {
    /// Not JSON but plain text. The same as `trunkline_call_return_text`.
    TRUNKLINE_SHAPE_TEXT = 0,
    /// One part or an array of them: content blocks of a tool; ResourceContents with `text` or `blob` (`uri` and `mimeType` are
    /// filled in); PromptMessages, or content blocks and texts as messages of the user.
    TRUNKLINE_SHAPE_CONTENT = 1,
    /// An object: its JSON as text and, where a tool's output schema is known, as structured content.
    TRUNKLINE_SHAPE_OBJECT = 2,
    /// Any value: its JSON as text and, where a tool's output schema is known, `{"result": value}` as structured content.
    TRUNKLINE_SHAPE_VALUE = 3,
    /// A full result, as it is.
    TRUNKLINE_SHAPE_RESULT = 4,
    /// Input of the client first. The same as `trunkline_call_require_input`.
    TRUNKLINE_SHAPE_INPUT = 5,
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

impl trunkline_call {
    fn complete(&self, shape: Shape, body: &[u8]) -> Result<(), Failure> {
        self.settle(self.hub.port.complete(self.ticket, shape, Bytes::copy_from_slice(body))?)
    }

    fn fail(&self, failing: &Failing<'_>) -> Result<(), Failure> {
        let json = serde_json::to_vec(failing).map_err(|reason| Failure::internal(reason.to_string()))?;
        self.settle(self.hub.port.fail(self.ticket, &json)?)
    }

    pub(crate) fn fail_internal(&self, message: &str) -> Result<(), Failure> {
        self.fail(&Failing::new("internal", message))
    }

    /// Answers with what something else failed with.
    fn fail_with(&self, error: &trunkline_error) -> Result<(), Failure> {
        match error.result() {
            // What the bridge calls a protocol error when it comes, it takes as one.
            trunkline_result::TRUNKLINE_PROTOCOL => {
                self.settle(self.hub.port.fail(self.ticket, error.json().as_bytes())?)
            }
            _ => self.fail_internal(&error.message()),
        }
    }

    /// Answers with the outcome of what the call asked for.
    pub(crate) fn pass_on(&self, result: &Text, error: Option<&trunkline_error>) {
        let answered = match error {
            None => self.complete(Shape::Result, result.as_bytes()),
            Some(error) => self.fail_with(error),
        };
        if let Err(failure) = answered
            && failure.result == trunkline_result::TRUNKLINE_INVALID
        {
            let _ = self.fail_internal(failure.message());
        }
    }
}

/// Answers with a text: one text block of a tool, the text of a resource, or one message of the user.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_return_text(
    call: *mut trunkline_call,
    text: trunkline_str,
) -> trunkline_result {
    quietly(|| handle!(call).complete(Shape::Text, text!(text).as_bytes()))
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
    quietly(|| handle!(call).fail_internal(text!(message)))
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

/// Answers with the failure that something else ended in, as `trunkline_answer_callback` gets it: a JSON-RPC error as it came,
/// anything else as `trunkline_call_fail` does. Does no harm after `TRUNKLINE_SUSPENDED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_with(
    call: *mut trunkline_call,
    failure: *const trunkline_error,
) -> trunkline_result {
    quietly(|| handle!(call).fail_with(handle!(failure)))
}
