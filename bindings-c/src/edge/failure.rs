//! Result codes and the error object.

use std::ffi::CString;

use trunkline_bridge::{BridgeError, ErrorKind};

use crate::edge::text::Text;

use crate::generated::errors::NAMES;
pub use crate::generated::errors::trunkline_result;
use trunkline_result::*;

/// The failure of a function. The receiver owns it; free it with `trunkline_error_free`.
pub struct trunkline_error {
    pub(crate) result: trunkline_result,
    pub(crate) message: CString,
    pub(crate) json: Text,
    pub(crate) error: BridgeError,
}

/// A failure on its way to the caller.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) result: trunkline_result,
    pub(crate) error: BridgeError,
}

impl Failure {
    fn new(result: trunkline_result, kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { result, error: BridgeError { kind, message: message.into(), code: None, data: None } }
    }

    pub(crate) fn null(argument: &str) -> Self {
        Self::new(TRUNKLINE_NULL, ErrorKind::InvalidArgument, format!("the argument `{argument}` must not be NULL"))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(TRUNKLINE_INVALID_ARGUMENT, ErrorKind::InvalidArgument, message)
    }

    pub(crate) fn not_json(argument: &str, reason: &serde_json::Error) -> Self {
        Self::invalid(format!("the argument `{argument}` is not JSON: {reason}"))
    }

    pub(crate) fn blocking() -> Self {
        let message = "this would deadlock: it waits for callbacks of a port whose callback is running on this thread; use the asynchronous function, or wait on another thread";
        Self::new(TRUNKLINE_BLOCKING, ErrorKind::Blocking, message)
    }

    pub(crate) fn forked() -> Self {
        let message = "the object was created before fork(): create a new server or client in the child process";
        Self::new(TRUNKLINE_FORKED, ErrorKind::Forked, message)
    }

    pub(crate) fn closed(message: &str) -> Self {
        Self::new(TRUNKLINE_CLOSED, ErrorKind::Closed, message)
    }

    pub(crate) fn transport(message: &str) -> Self {
        Self::new(TRUNKLINE_TRANSPORT, ErrorKind::Transport, message)
    }

    pub(crate) fn timeout(message: &str) -> Self {
        Self::new(TRUNKLINE_TIMEOUT, ErrorKind::Timeout, message)
    }

    pub(crate) fn done() -> Self {
        let message = "the call was already answered or cancelled, or its connection was closed";
        Self::new(TRUNKLINE_DONE, ErrorKind::Closed, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(TRUNKLINE_NOT_FOUND, ErrorKind::InvalidArgument, message)
    }

    pub(crate) fn tool_failed(message: impl Into<String>) -> Self {
        Self::new(trunkline_result::TRUNKLINE_TOOL_FAILED, ErrorKind::Protocol, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(TRUNKLINE_INTERNAL, ErrorKind::Internal, message)
    }

    pub(crate) fn panicked(message: &str) -> Self {
        Self::new(TRUNKLINE_PANIC, ErrorKind::Internal, format!("libtrunkline panicked: {message}"))
    }

    pub(crate) fn message(&self) -> &str {
        &self.error.message
    }

    /// The same failure, for a part of an argument.
    pub(crate) fn in_the(mut self, argument: &str) -> Self {
        self.error.message = format!("in the {argument}: {}", self.error.message);
        self
    }

    /// Returns whether this is the outcome of a call's request, rather than a misuse of the
    /// function that sent it.
    pub(crate) fn is_outcome_of_request(&self) -> bool {
        matches!(self.result, TRUNKLINE_PROTOCOL | TRUNKLINE_SUSPENDED)
    }

    pub(crate) fn into_error(self) -> trunkline_error {
        let Self { result, error } = self;
        // As in Rust and Python, only protocol errors have a code.
        let code = error.code.map(|code| format!(" ({code})")).unwrap_or_default();
        let message = CString::new(error.message.replace('\0', "\u{fffd}") + &code).unwrap_or_default();
        trunkline_error { result, message, json: Text::new(error.to_json()), error }
    }

    pub(crate) fn into_raw(self) -> *mut trunkline_error {
        Box::into_raw(Box::new(self.into_error()))
    }
}

impl From<BridgeError> for Failure {
    fn from(error: BridgeError) -> Self {
        let known = NAMES.iter().map(|(result, _)| *result).find(|result| *result as u32 == error.kind as u32);
        Self { result: known.unwrap_or(TRUNKLINE_INTERNAL), error }
    }
}
