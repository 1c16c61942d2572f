//! Result codes and the error object.

use std::ffi::CString;

use serde::Deserialize;
use serde_json::Value;
use trunkline_bridge::BridgeError;

use crate::edge::text::Text;

use crate::generated::errors::NAMES;
pub use crate::generated::errors::trunkline_result;
use trunkline_result::*;

/// Why a function failed. Owned by whoever received it; freed with `trunkline_error_free`.
pub struct trunkline_error {
    pub(crate) result: trunkline_result,
    pub(crate) message: CString,
    pub(crate) code: i64,
    pub(crate) json: Text,
}

/// A failure on its way to the caller.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) result: trunkline_result,
    body: ErrorBody,
}

/// The error object of the bridge's contract.
#[derive(Debug, Clone, Deserialize, serde::Serialize)]
struct ErrorBody {
    kind: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl Failure {
    fn new(result: trunkline_result, kind: &str, message: impl Into<String>) -> Self {
        let body = ErrorBody { kind: kind.to_owned(), message: message.into(), code: None, data: None };
        Self { result, body }
    }

    pub(crate) fn null(argument: &str) -> Self {
        Self::new(TRUNKLINE_NULL, "invalidArgument", format!("the argument `{argument}` must not be NULL"))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(TRUNKLINE_INVALID_ARGUMENT, "invalidArgument", message)
    }

    pub(crate) fn not_json(argument: &str, reason: &serde_json::Error) -> Self {
        Self::invalid(format!("the argument `{argument}` is not JSON: {reason}"))
    }

    pub(crate) fn blocking() -> Self {
        let message = "this would wait for callbacks of the port whose callback is running on this thread; \
                       start it without waiting, or wait on another thread";
        Self::new(TRUNKLINE_BLOCKING, "blocking", message)
    }

    pub(crate) fn forked() -> Self {
        let message = "the object belongs to the process that was forked: make a new server or client in the child";
        Self::new(TRUNKLINE_FORKED, "forked", message)
    }

    pub(crate) fn closed(message: &str) -> Self {
        Self::new(TRUNKLINE_CLOSED, "closed", message)
    }

    pub(crate) fn timeout(message: &str) -> Self {
        Self::new(TRUNKLINE_TIMEOUT, "timeout", message)
    }

    pub(crate) fn done() -> Self {
        Self::new(TRUNKLINE_DONE, "closed", "the call was already answered, was cancelled, or its connection is gone")
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(TRUNKLINE_NOT_FOUND, "invalidArgument", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(TRUNKLINE_INTERNAL, "internal", message)
    }

    pub(crate) fn panicked(message: &str) -> Self {
        Self::new(TRUNKLINE_PANIC, "internal", format!("libtrunkline panicked: {message}"))
    }

    pub(crate) fn message(&self) -> &str {
        &self.body.message
    }

    /// The same failure of something inside an argument.
    pub(crate) fn in_the(mut self, argument: &str) -> Self {
        self.body.message = format!("in the {argument}: {}", self.body.message);
        self
    }

    /// Whether this is an outcome of a request of a call, and not a wrong use of the function that made it.
    pub(crate) fn is_outcome_of_request(&self) -> bool {
        matches!(self.result, TRUNKLINE_PROTOCOL | TRUNKLINE_SUSPENDED)
    }

    /// Reads an error object of the bridge.
    pub(crate) fn from_json(json: &[u8]) -> Self {
        match serde_json::from_slice::<ErrorBody>(json) {
            Ok(body) => {
                let known = NAMES.iter().find(|(_, name)| name.to_bytes() == body.kind.as_bytes());
                Self { result: known.map_or(TRUNKLINE_INTERNAL, |(result, _)| *result), body }
            }
            Err(reason) => Self::internal(format!("unreadable error object: {reason}")),
        }
    }

    pub(crate) fn into_error(self) -> trunkline_error {
        let json = serde_json::to_vec(&self.body).unwrap_or_default();
        let message = CString::new(self.body.message.replace('\0', "\u{fffd}")).unwrap_or_default();
        trunkline_error { result: self.result, message, code: self.body.code.unwrap_or(0), json: Text::new(json) }
    }

    pub(crate) fn into_raw(self) -> *mut trunkline_error {
        Box::into_raw(Box::new(self.into_error()))
    }
}

impl From<BridgeError> for Failure {
    fn from(error: BridgeError) -> Self {
        Self::from_json(&error.to_json())
    }
}

impl trunkline_error {
    pub(crate) fn message(&self) -> String {
        self.message.to_string_lossy().into_owned()
    }
}
