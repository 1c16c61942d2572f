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
    /// A failure that only C has, with the kind that its JSON names.
    pub(crate) fn new(result: trunkline_result, kind: ErrorKind, message: impl ToString) -> Self {
        Self { result, error: BridgeError { kind, message: message.to_string(), code: None, data: None } }
    }

    /// A failure of a kind that the core has, too.
    pub(crate) fn of(kind: ErrorKind, message: impl ToString) -> Self {
        BridgeError { kind, message: message.to_string(), code: None, data: None }.into()
    }

    pub(crate) fn null(argument: &str) -> Self {
        let message = format!("the argument `{argument}` must not be NULL");
        Self::new(TRUNKLINE_NULL, ErrorKind::InvalidArgument, message)
    }

    pub(crate) fn invalid(message: impl ToString) -> Self {
        Self::of(ErrorKind::InvalidArgument, message)
    }

    pub(crate) fn not_json(argument: &str, reason: &serde_json::Error) -> Self {
        Self::invalid(format!("the argument `{argument}` is not JSON: {reason}"))
    }

    pub(crate) fn not_found(message: impl ToString) -> Self {
        Self::new(TRUNKLINE_NOT_FOUND, ErrorKind::InvalidArgument, message)
    }

    pub(crate) fn internal(message: impl ToString) -> Self {
        Self::of(ErrorKind::Internal, message)
    }

    pub(crate) fn into_error(self) -> trunkline_error {
        let Self { result, error } = self;
        // As in Rust and Python, only protocol errors have a code.
        let code = error.code.map(|code| format!(" ({code})")).unwrap_or_default();
        let message = CString::new(error.message.replace('\0', "\u{fffd}") + &code).unwrap_or_default();
        trunkline_error { result, message, json: Text::new(error.to_json()), error }
    }
}

impl From<BridgeError> for Failure {
    fn from(error: BridgeError) -> Self {
        let known = NAMES.iter().map(|(result, _)| *result).find(|result| *result as u32 == error.kind as u32);
        Self { result: known.unwrap_or(TRUNKLINE_INTERNAL), error }
    }
}
