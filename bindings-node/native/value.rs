//! Values and errors passed to JavaScript.

use bytes::Bytes;
use napi::bindgen_prelude::{Buffer, Either, ToNapiValue};
use napi::{Status, sys};
use trunkline_bridge::{BridgeError, ErrorKind, Event, EventKind};

pub(crate) type Result<T> = napi::Result<T, ErrorCode>;

/// The kind of an error, which JavaScript sees as `code`.
pub struct ErrorCode(&'static str);

impl AsRef<str> for ErrorCode {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// Errors of napi itself are invalid arguments, except contained panics and internal failures.
impl From<Status> for ErrorCode {
    fn from(status: Status) -> Self {
        let kind = match status {
            Status::Ok | Status::GenericFailure | Status::PendingException | Status::Unknown => ErrorKind::Internal,
            _ => ErrorKind::InvalidArgument,
        };
        Self(kind.as_str())
    }
}

pub(crate) fn thrown(error: BridgeError) -> napi::Error<ErrorCode> {
    napi::Error::new(ErrorCode(error.kind.as_str()), error.to_json())
}

pub(crate) fn invalid(message: String) -> napi::Error<ErrorCode> {
    thrown(BridgeError { kind: ErrorKind::InvalidArgument, message, code: None, data: None })
}

pub(crate) fn internal(message: String) -> napi::Error<ErrorCode> {
    thrown(BridgeError { kind: ErrorKind::Internal, message, code: None, data: None })
}

/// Handles and tickets are below 2^53, so a double holds them exactly.
pub(crate) fn number(id: u64) -> f64 {
    id as f64
}

/// An event as `drain` returns it: kind, ticket, handle, ok, name, body and cause.
pub(crate) type EventFields = (u8, f64, f64, bool, String, Either<Body, Buffer>, f64);

pub(crate) fn fields(event: Event) -> EventFields {
    let ok = event.ok();
    // All servers of a thread share its port.
    let cause = if event.cause_port == 0 { event.cause } else { 0 };
    let body = match (event.kind, event.body.into_bytes()) {
        (EventKind::HttpChunk, bytes) => Either::B(Buffer::from(&bytes[..])),
        (_, bytes) => Either::A(Body(bytes)),
    };
    (event.kind as u8, number(event.ticket), number(event.handle), ok, event.name, body, number(cause))
}

/// A body of text, still in the memory of the core.
pub struct Body(Bytes);

impl ToNapiValue for Body {
    unsafe fn to_napi_value(env: sys::napi_env, Self(bytes): Self) -> napi::Result<sys::napi_value> {
        // SAFETY: `env` is valid, as the caller of this function guarantees.
        unsafe { <&str>::to_napi_value(env, &String::from_utf8_lossy(&bytes)) }
    }
}
