//! Event bodies: typed for hosts written in Rust, JSON for all others.

use crate::BridgeError;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The body of an event.
#[derive(Debug, Clone)]
pub enum Body {
    /// JSON, except that the reason of a `Cancel` is plain text, and an `HttpChunk` is raw bytes.
    Bytes(Bytes),
    /// The error of a `Reply`, `Closed` or `HttpEnd`.
    Error(BridgeError),
    /// The records of a `Log`, oldest first.
    Log(Vec<LogRecord>),
    /// The head of an `HttpHead`.
    Head(ResponseHead),
}

/// A log record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogRecord {
    /// Its severity: `error`, `warn`, `info` or `debug`.
    pub level: &'static str,
    /// The part of the library that logged it, such as `trunkline::client::http`.
    pub target: String,
    /// The text, with the fields.
    pub message: String,
    /// The text without the fields.
    pub event: String,
    /// The fields, such as the `tool` and the `error`.
    pub fields: Map<String, Value>,
}

/// The head of an HTTP response.
#[derive(Debug, Clone)]
pub struct ResponseHead {
    /// The status.
    pub status: StatusCode,
    /// The headers, in order.
    pub headers: HeaderMap,
    /// True if no chunk follows.
    pub empty: bool,
}

impl Body {
    /// The body in the form passed to other languages.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Error(error) => error.to_json().into(),
            Self::Log(records) => serde_json::to_vec(&records).unwrap_or_else(|_| b"[]".to_vec()).into(),
            Self::Head(head) => head.to_json().into(),
        }
    }

    /// The outcome in the body of a `Reply`, `Closed` or `HttpEnd`.
    ///
    /// # Errors
    /// The error, if the body is one.
    pub fn into_outcome(self) -> Result<Bytes, BridgeError> {
        match self {
            Self::Error(error) => Err(error),
            other => Ok(other.into_bytes()),
        }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::Bytes(Bytes::new())
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Result<Bytes, BridgeError>> for Body {
    fn from(outcome: Result<Bytes, BridgeError>) -> Self {
        outcome.map_or_else(Self::Error, Self::Bytes)
    }
}

/// The body of an end: an empty object or the error.
impl From<Option<BridgeError>> for Body {
    fn from(error: Option<BridgeError>) -> Self {
        error.map_or(Self::Bytes(Bytes::from_static(b"{}")), Self::Error)
    }
}

impl LogRecord {
    pub(crate) fn new(level: &'static str, target: &str, message: String) -> Self {
        Self { level, target: target.to_owned(), event: message.clone(), message, fields: Map::new() }
    }
}

impl ResponseHead {
    /// In JSON, a header value has one character per byte.
    fn to_json(&self) -> String {
        let text = |value: &HeaderValue| -> String { value.as_bytes().iter().copied().map(char::from).collect() };
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
        json!({"status": self.status.as_u16(), "headers": headers, "empty": self.empty}).to_string()
    }
}
