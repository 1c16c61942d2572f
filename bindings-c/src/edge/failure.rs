//! Result codes and the error object.

use std::ffi::{CStr, CString};

use serde::Deserialize;
use serde_json::Value;
use trunkline_bridge::BridgeError;

use crate::edge::text::Text;

/// The outcome of a function. `TRUNKLINE_OK` is 0, everything else is a failure. Numbers are never
/// reused.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum trunkline_result {
    /// It worked.
    TRUNKLINE_OK = 0,
    /// The peer answered with a JSON-RPC error; see `trunkline_error_code`.
    TRUNKLINE_PROTOCOL = 1,
    /// No answer in time; the peer was told to cancel.
    TRUNKLINE_TIMEOUT = 2,
    /// Cancelled by the caller.
    TRUNKLINE_CANCELLED = 3,
    /// The connection, listener or port is closed, or was closed while waiting.
    TRUNKLINE_CLOSED = 4,
    /// The connection could not be made or broke.
    TRUNKLINE_TRANSPORT = 5,
    /// The peer speaks no protocol revision that was asked for.
    TRUNKLINE_VERSION_MISMATCH = 6,
    /// An argument is wrong; the message says which one and why.
    TRUNKLINE_INVALID = 7,
    /// A limit was reached: calls in flight, calls waiting, bytes.
    TRUNKLINE_BUSY = 8,
    /// The call would wait for callbacks of the port whose callback is running on this very thread.
    TRUNKLINE_BLOCKING = 9,
    /// The object belongs to the parent process; make a new one after `fork`.
    TRUNKLINE_FORKED = 10,
    /// A bug in the library, contained.
    TRUNKLINE_INTERNAL = 11,
    /// No failure: the handler of a call asked its client for input and runs again with the answer; see
    /// `trunkline_answer_callback`.
    TRUNKLINE_SUSPENDED = 12,
    /// A pointer that must not be NULL is NULL.
    TRUNKLINE_NULL = 100,
    /// The library panicked; the panic was contained and the process lives.
    TRUNKLINE_PANIC = 101,
    /// The call was already answered, was cancelled, or its connection is gone.
    TRUNKLINE_DONE = 102,
    /// There is nothing at that place, or it is of another type.
    TRUNKLINE_NOT_FOUND = 103,
}

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

/// Every result with its name; those of the bridge have the names of its kinds.
pub(crate) const NAMES: [(trunkline_result, &CStr); 17] = [
    (TRUNKLINE_OK, c"ok"),
    (TRUNKLINE_PROTOCOL, c"protocol"),
    (TRUNKLINE_TIMEOUT, c"timeout"),
    (TRUNKLINE_CANCELLED, c"cancelled"),
    (TRUNKLINE_CLOSED, c"closed"),
    (TRUNKLINE_TRANSPORT, c"transport"),
    (TRUNKLINE_VERSION_MISMATCH, c"version"),
    (TRUNKLINE_INVALID, c"invalidArgument"),
    (TRUNKLINE_BUSY, c"busy"),
    (TRUNKLINE_BLOCKING, c"blocking"),
    (TRUNKLINE_FORKED, c"forked"),
    (TRUNKLINE_INTERNAL, c"internal"),
    (TRUNKLINE_SUSPENDED, c"suspended"),
    (TRUNKLINE_NULL, c"null"),
    (TRUNKLINE_PANIC, c"panic"),
    (TRUNKLINE_DONE, c"done"),
    (TRUNKLINE_NOT_FOUND, c"not_found"),
];

impl Failure {
    fn new(result: trunkline_result, kind: &str, message: impl Into<String>) -> Self {
        let body = ErrorBody { kind: kind.to_owned(), message: message.into(), code: None, data: None };
        Self { result, body }
    }

    pub(crate) fn null(argument: &str) -> Self {
        Self::new(TRUNKLINE_NULL, "invalidArgument", format!("the argument `{argument}` must not be NULL"))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(TRUNKLINE_INVALID, "invalidArgument", message)
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
