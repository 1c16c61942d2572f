//! Errors of handlers for methods whose results cannot carry errors.

use super::writer::ResultWriter;
use crate::{
    protocol::{RawJson, RpcError, error::code, too_deep},
    server::handlers::Outcome,
};
use std::fmt;

/// The JSON-RPC error of a failed outcome, for every method but `tools/call`, whose results can
/// carry errors. A successful outcome here has a shape that the method does not support.
pub(in crate::server) fn error_of(results: &ResultWriter, what: &str, outcome: Outcome) -> RpcError {
    let detail = match outcome {
        Outcome::Protocol(error) => return error,
        Outcome::ToolError(message) => return RpcError::new(code::INTERNAL_ERROR, message),
        Outcome::InvalidArguments(problem) => return RpcError::invalid_params(problem),
        Outcome::Internal(detail) => detail,
        Outcome::Failed(error) => error.detail(),
        Outcome::Reported(detail) => return internal(results, &detail),
        Outcome::NotFound => "it reported that the feature does not exist".to_owned(),
        _ => "it returned an unsupported value".to_owned(),
    };
    tracing::error!(target: "trunkline::server::handlers", feature = what, error = detail, "a handler failed");
    internal(results, &detail)
}

fn internal(results: &ResultWriter, detail: &str) -> RpcError {
    if results.debug {
        RpcError::new(code::INTERNAL_ERROR, format!("Internal error: {detail}"))
    } else {
        RpcError::internal()
    }
}

/// The error of a handler whose result cannot be parsed: invalid JSON, or nested too deeply.
pub(super) fn unreadable(error: impl fmt::Display) -> Outcome {
    let error = error.to_string();
    Outcome::Internal(format!("its return value cannot be read: {}", too_deep(&error).unwrap_or(&error)))
}

pub(super) fn lossy(raw: &RawJson) -> String {
    String::from_utf8_lossy(raw.as_bytes()).into_owned()
}
