//! Errors as they cross the waist.

use serde::Serialize;
use serde_json::Value;
use trunkline::{
    client::{self, ClientError},
    protocol::{
        RpcError,
        describe::{Described, FieldDescription, Type},
        model::ConnectionFailure,
    },
    server::ClientRequestError,
};

macro_rules! error_kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $wire:literal, $class:literal, $code:literal;)*) => {
        /// The stable code of an error, the same in every language. The numbers are those of C and
        /// are never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum ErrorKind {
            $($(#[doc = $doc])* $kind = $code,)*
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: [Self; [$($code),*].len()] = [$(Self::$kind),*];

            /// The code as it crosses to other languages.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $wire,)*
                }
            }

            /// The kind of that code.
            pub fn parse(code: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|kind| kind.as_str() == code)
            }

            /// The name of the class that stands for it in languages that have exceptions.
            pub fn class(self) -> &'static str {
                match self {
                    $(Self::$kind => $class,)*
                }
            }

            /// The documentation, a line each.
            pub fn doc(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &[$($doc),*],)*
                }
            }
        }
    };
}

error_kinds! {
    /// The peer answered with a JSON-RPC error. Raised by a handler, it is the error that the
    /// caller gets.
    Protocol = "protocol", "ProtocolError", 1;
    /// No answer came in time; the peer was told to cancel.
    Timeout = "timeout", "TimeoutError", 2;
    /// The caller cancelled the request.
    Cancelled = "cancelled", "CancelledError", 3;
    /// The connection, the listener or the port is closed, or was closed while the caller waited.
    Closed = "closed", "ClosedError", 4;
    /// The connection could not be made or broke, or the peer's answer is not a result of the
    /// method. `data` has the facts.
    Transport = "transport", "TransportError", 5;
    /// The two sides have no revision of the protocol in common.
    Version = "version", "VersionError", 6;
    /// An argument of this library's own functions is invalid; the message says which one and why.
    InvalidArgument = "invalidArgument", "InvalidArgumentError", 7;
    /// A limit was reached: requests in flight, calls waiting, or bytes.
    Busy = "busy", "BusyError", 8;
    /// The call would wait on the very thread that has to do the work.
    Blocking = "blocking", "BlockingError", 9;
    /// The object belongs to the parent process; make a new one after the fork.
    Forked = "forked", "ForkedError", 10;
    /// A bug in the library, contained.
    Internal = "internal", "InternalError", 11;
    /// The handler of a call asked its client for input and runs again with the answer. Not a
    /// failure.
    Suspended = "suspended", "Suspended", 12;
}

impl ErrorKind {
    /// The members of `data` that the library itself puts there.
    pub(crate) fn facts(self) -> &'static [FieldDescription] {
        match (self, &ConnectionFailure::TYPE) {
            (Self::Transport, Type::Model(object)) => object.fields,
            _ => &[],
        }
    }
}

impl From<client::ErrorKind> for ErrorKind {
    fn from(kind: client::ErrorKind) -> Self {
        match kind {
            client::ErrorKind::Protocol => Self::Protocol,
            client::ErrorKind::Timeout => Self::Timeout,
            client::ErrorKind::Cancelled => Self::Cancelled,
            client::ErrorKind::Closed => Self::Closed,
            client::ErrorKind::Transport => Self::Transport,
            client::ErrorKind::Version => Self::Version,
            client::ErrorKind::InvalidArgument => Self::InvalidArgument,
            client::ErrorKind::Busy => Self::Busy,
            client::ErrorKind::Suspended => Self::Suspended,
            _ => Self::Internal,
        }
    }
}

/// Why a function of the port, a request or an open failed: the error object of `docs/bridge.md`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct BridgeError {
    /// The stable code.
    pub kind: ErrorKind,
    /// The message: the fault, its place, and a remedy.
    pub message: String,
    /// The JSON-RPC code, for [`ErrorKind::Protocol`].
    pub code: Option<i64>,
    /// The JSON-RPC data, for [`ErrorKind::Protocol`]; a [`ConnectionFailure`], for
    /// [`ErrorKind::Transport`].
    pub data: Option<Value>,
}

impl BridgeError {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None, data: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    pub(super) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "The port is closed")
    }

    pub(super) fn stale(what: &str, handle: u64) -> Self {
        Self::invalid(format!("{handle} is not the handle of {what}, or no longer"))
    }

    /// The error object as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Wire<'a> {
            kind: &'static str,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            code: Option<i64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<&'a Value>,
        }
        let wire = Wire { kind: self.kind.as_str(), message: &self.message, code: self.code, data: self.data.as_ref() };
        serde_json::to_vec(&wire).unwrap_or_else(|_| br#"{"kind":"internal","message":""}"#.to_vec())
    }
}

impl From<ClientError> for BridgeError {
    fn from(error: ClientError) -> Self {
        let kind = error.kind().into();
        match error.rpc() {
            Some(RpcError { code, message, data }) => {
                Self { kind, message: message.clone(), code: Some(*code), data: data.clone() }
            }
            None => {
                let data = error.connection().and_then(|failure| serde_json::to_value(failure).ok());
                Self { kind, message: error.to_string(), code: None, data }
            }
        }
    }
}

impl From<ClientRequestError> for BridgeError {
    fn from(error: ClientRequestError) -> Self {
        let kind = match &error {
            // That the client cannot be asked here, or answers nonsense, is as good as its refusal.
            ClientRequestError::Refused(_) | ClientRequestError::Invalid(_) | ClientRequestError::NotReachable => {
                return error.into_rpc().into();
            }
            ClientRequestError::Suspended => ErrorKind::Suspended,
            ClientRequestError::Cancelled => ErrorKind::Cancelled,
            ClientRequestError::Timeout => ErrorKind::Timeout,
            ClientRequestError::Closed => ErrorKind::Closed,
            _ => ErrorKind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<RpcError> for BridgeError {
    fn from(RpcError { code, message, data }: RpcError) -> Self {
        Self { kind: ErrorKind::Protocol, message, code: Some(code), data }
    }
}
