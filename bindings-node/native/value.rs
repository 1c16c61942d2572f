//! Values and errors passed to JavaScript.

use std::borrow::Cow;

use bytes::Bytes;
use napi::bindgen_prelude::{Buffer, ToNapiValue};
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
    napi::Error::new(ErrorCode(error.kind.as_str()), text(error.to_json()))
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

pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// One element of the flat array that `drain` returns.
pub enum EventField {
    /// A kind, ticket or handle.
    Number(f64),
    /// The `ok` of an event.
    Flag(bool),
    /// A name.
    Name(String),
    /// A body, still in the memory of the core.
    Body(Bytes),
    /// A body of bytes.
    Chunk(Bytes),
}

pub(crate) fn fields(events: Vec<Event>) -> Vec<EventField> {
    let mut fields = Vec::with_capacity(events.len() * 7);
    for event in events {
        let ok = event.ok();
        fields.extend([
            EventField::Number(f64::from(event.kind as u8)),
            EventField::Number(number(event.ticket)),
            EventField::Number(number(event.handle)),
            EventField::Flag(ok),
            EventField::Name(event.name),
            match event.kind {
                EventKind::HttpChunk => EventField::Chunk(event.body.into_bytes()),
                _ => EventField::Body(event.body.into_bytes()),
            },
            // All servers of a thread share its port.
            EventField::Number(number(if event.cause_port == 0 { event.cause } else { 0 })),
        ]);
    }
    fields
}

impl ToNapiValue for EventField {
    unsafe fn to_napi_value(env: sys::napi_env, field: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: `env` is valid, as the caller of this function guarantees.
        unsafe {
            match field {
                Self::Number(value) => f64::to_napi_value(env, value),
                Self::Flag(value) => bool::to_napi_value(env, value),
                Self::Name(value) => String::to_napi_value(env, value),
                Self::Chunk(value) => Buffer::to_napi_value(env, Buffer::from(&value[..])),
                Self::Body(value) => match String::from_utf8_lossy(&value) {
                    Cow::Borrowed(value) => <&str>::to_napi_value(env, value),
                    Cow::Owned(value) => String::to_napi_value(env, value),
                },
            }
        }
    }
}
