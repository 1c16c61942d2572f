//! Outcomes of calls: results by shape, and failures by kind.

use crate::{
    config,
    error::BridgeError,
    events::Shape,
    message::{self, Fail, FailKind},
};
use bytes::Bytes;
use trunkline::{
    protocol::{RawJson, RpcError, error::code},
    server::{InputRequest, InputRequired, Outcome},
};

/// A result.
pub(crate) fn of(shape: Shape, body: Bytes) -> Result<Outcome, BridgeError> {
    if shape == Shape::Text {
        let text =
            String::from_utf8(body.into()).map_err(|_| BridgeError::invalid("complete: the text is not UTF-8"))?;
        return Ok(Outcome::Text(text));
    }
    let raw = RawJson::from_text(body).map_err(|error| BridgeError::invalid(format!("complete: not JSON: {error}")))?;
    let first = raw.as_bytes().trim_ascii_start().first().copied();
    match (shape, first) {
        (Shape::Content, Some(b'{' | b'[')) => Ok(Outcome::Content(raw)),
        (Shape::Object, Some(b'{')) => Ok(Outcome::Object(raw)),
        (Shape::Result, Some(b'{')) => Ok(Outcome::Result(raw)),
        (Shape::Value, _) => Ok(Outcome::Value(raw)),
        (Shape::Input, Some(b'{')) => input_required(&raw),
        (Shape::Content, _) => Err(BridgeError::invalid("complete: content must be a block or an array of blocks")),
        _ => Err(BridgeError::invalid("complete: this shape needs a JSON object")),
    }
}

fn input_required(raw: &RawJson) -> Result<Outcome, BridgeError> {
    let given: message::InputRequired = config::read("complete", raw.as_bytes())?;
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

/// A failure.
pub(crate) fn failure(given: Fail) -> Result<Outcome, BridgeError> {
    Ok(match given.kind {
        FailKind::Tool => Outcome::ToolError(given.message),
        FailKind::Invalid => Outcome::InvalidArguments(match given.path.as_deref() {
            None | Some("") => given.message,
            Some(path) => format!("{path}: {}", given.message),
        }),
        FailKind::Internal if given.logged => Outcome::Reported(given.message),
        FailKind::Internal => Outcome::Internal(given.message),
        FailKind::Protocol => Outcome::Protocol(RpcError {
            code: given.code.unwrap_or(code::INTERNAL_ERROR),
            message: given.message,
            data: given.data,
        }),
    })
}
