//! Outcomes of handlers: results by shape, and failures by kind.

use crate::{
    BridgeError, Shape,
    calls::HostAnswer,
    host_json,
    message::{self, Fail, FailKind},
};
use bytes::Bytes;
use trunkline::{
    protocol::RawJson,
    server::{InputRequest, InputRequired, Outcome},
};

/// Reads the host's answer to a call of a handler.
pub(crate) fn read(given: HostAnswer) -> Result<Outcome, BridgeError> {
    match given {
        HostAnswer::Result(Shape::Text, body) => match String::from_utf8(body.into()) {
            Ok(text) => Ok(Outcome::Text(text)),
            Err(_) => Err(BridgeError::invalid("complete: the text is not UTF-8")),
        },
        HostAnswer::Result(shape, body) => result(shape, body),
        HostAnswer::Failure(given) => Ok(failure(given)),
    }
}

fn result(shape: Shape, body: Bytes) -> Result<Outcome, BridgeError> {
    let raw = json(body)?;
    match (shape, first_byte(&raw)) {
        (Shape::Content, Some(b'{' | b'[')) => Ok(Outcome::Content(raw)),
        (Shape::Object, Some(b'{')) => Ok(Outcome::Object(raw)),
        (Shape::Result, Some(b'{')) => Ok(Outcome::Result(raw)),
        (Shape::Value, _) => Ok(Outcome::Value(raw)),
        (Shape::Input, Some(b'{')) => input_required(&raw),
        (Shape::Content, _) => Err(BridgeError::invalid("complete: content must be a block or an array of blocks")),
        _ => Err(needs_object()),
    }
}

/// Reads a body of the shape `result`.
pub(crate) fn object(body: Bytes) -> Result<RawJson, BridgeError> {
    json(body).and_then(|raw| if first_byte(&raw) == Some(b'{') { Ok(raw) } else { Err(needs_object()) })
}

fn json(body: Bytes) -> Result<RawJson, BridgeError> {
    RawJson::from_text(body).map_err(|error| BridgeError::invalid(format!("complete: not JSON: {error}")))
}

fn first_byte(raw: &RawJson) -> Option<u8> {
    raw.as_bytes().trim_ascii_start().first().copied()
}

fn needs_object() -> BridgeError {
    BridgeError::invalid("complete: this shape needs a JSON object")
}

fn input_required(raw: &RawJson) -> Result<Outcome, BridgeError> {
    let given: message::InputRequired = host_json::read("complete", raw.as_bytes())?;
    let mut required = InputRequired::new();
    for (key, message::InputRequest { method, params }) in given.input_requests {
        let request = InputRequest::new(&method, params)
            .map_err(|error| BridgeError::invalid(format!("complete: {key}: {error}")))?;
        required = required.ask(key, request);
    }
    if let Some(state) = given.state {
        required = required.with_state(state);
    }
    Ok(Outcome::InputRequired(required))
}

fn failure(given: Fail) -> Outcome {
    match given.kind {
        FailKind::Tool => Outcome::ToolError(given.message),
        FailKind::Invalid => Outcome::InvalidArguments(given.located_message()),
        FailKind::Internal if given.logged => Outcome::Reported(given.message),
        FailKind::Internal => Outcome::Internal(given.message),
        FailKind::Protocol => Outcome::Protocol(given.into_protocol_error()),
    }
}
