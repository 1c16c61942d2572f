//! Errors at the waist.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io;
use trunkline::{
    client::{self, ClientError},
    protocol::{
        RpcError,
        describe::{Described, FieldDescription, Type},
        model::{AuthorizationDemand, ConnectionFailure, FailureReason, RequiredInput},
    },
    server::{ClientRequestError, RegisterError},
};

macro_rules! error_kinds {
    (@all $($(#[doc = $doc:literal])* $kind:ident = $code:literal, $class:literal, $number:literal, $remedy:literal;)*) => {
        /// The kind of an error, the same in every language. The numbers are those of C and are
        /// never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[repr(u8)]
        pub enum ErrorKind {
            $($(#[doc = $doc])* #[serde(rename = $code)] $kind = $number,)*
        }

        impl ErrorKind {
            /// The stable code.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $code,)*
                }
            }
        }

        /// The kinds, for the interface description.
        pub(crate) static DESCRIPTIONS: &[ErrorDescription] = &[$(ErrorDescription {
            kind: ErrorKind::$kind,
            name: stringify!($kind),
            class: $class,
            remedy: $remedy,
            doc: &[$($doc),*],
        }),*];
    };
    // The kinds of client errors.
    ($($client:tt)*) => {
        error_kinds! {
            @all
            $($client)*
            /// The call would block the thread that has to do the work.
            Blocking = "blocking", "BlockingError", 9,
                "Use the asynchronous function, or call from another thread.";
            /// The object belongs to the parent process; create a new one after the fork.
            Forked = "forked", "ForkedError", 10,
                "Create servers and clients after the fork.";
            /// A bug in the library, which was contained.
            Internal = "internal", "InternalError", 11,
                "Report the bug, with the message.";
            /// The handler asked its client for input, and runs again with the response. Not a
            /// failure.
            Suspended = "suspended", "Suspended", 12,
                "None: return from the handler.";
        }
    };
}

trunkline::bridge_support::client_error_kinds!(error_kinds);

/// Describes a kind of error.
pub(crate) struct ErrorDescription {
    pub(crate) kind: ErrorKind,
    pub(crate) name: &'static str,
    /// The name of the exception class.
    pub(crate) class: &'static str,
    /// Advice for the program that gets the error.
    pub(crate) remedy: &'static str,
    /// The documentation, one entry per line.
    pub(crate) doc: &'static [&'static str],
}

impl From<client::ErrorKind> for ErrorKind {
    fn from(kind: client::ErrorKind) -> Self {
        let known = DESCRIPTIONS.iter().map(|row| row.kind).find(|known| known.as_str() == kind.as_str());
        known.unwrap_or(Self::Internal)
    }
}

impl ErrorKind {
    /// The members of `data` that the library itself puts there.
    pub(crate) fn facts(self) -> &'static [FieldDescription] {
        let facts = match self {
            Self::Transport => &ConnectionFailure::TYPE,
            Self::InputRequired => &RequiredInput::TYPE,
            Self::AuthorizationRequired => &AuthorizationDemand::TYPE,
            _ => return &[],
        };
        match facts {
            Type::Model(object) => object.fields,
            _ => &[],
        }
    }
}

/// Why a function of the port, a request or an open failed: the error object of `docs/bridge.md`.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct BridgeError {
    /// The stable code.
    pub kind: ErrorKind,
    /// The message: the fault, its location, and a remedy.
    pub message: String,
    /// The JSON-RPC code, for [`ErrorKind::Protocol`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// The JSON-RPC data, for [`ErrorKind::Protocol`]; a [`ConnectionFailure`], for
    /// [`ErrorKind::Transport`]; a [`RequiredInput`], for [`ErrorKind::InputRequired`]; an
    /// [`AuthorizationDemand`], for [`ErrorKind::AuthorizationRequired`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl BridgeError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None, data: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// The error of a listener that could not be opened.
    #[cfg_attr(not(feature = "http-server"), allow(dead_code, reason = "Only a listener over HTTP opens something."))]
    pub(crate) fn not_listening(error: &io::Error) -> Self {
        use FailureReason::{AddressInUse, AddressUnavailable};
        let (reason, code) = match error.kind() {
            io::ErrorKind::AddrInUse => (Some(AddressInUse), Some("EADDRINUSE")),
            io::ErrorKind::AddrNotAvailable => (Some(AddressUnavailable), Some("EADDRNOTAVAIL")),
            io::ErrorKind::PermissionDenied => (Some(AddressUnavailable), Some("EACCES")),
            io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists | io::ErrorKind::InvalidInput => {
                (Some(AddressUnavailable), None)
            }
            _ => (None, None),
        };
        let facts = ConnectionFailure { reason, code: code.map(str::to_owned), ..ConnectionFailure::default() };
        Self { data: serde_json::to_value(facts).ok(), ..Self::new(ErrorKind::Transport, error.to_string()) }
    }

    /// The error of a build without a cargo feature.
    pub(crate) fn without(feature: &str) -> Self {
        Self::invalid(format!("This library is built without the cargo feature `{feature}`"))
    }

    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "The port is closed")
    }

    pub(crate) fn stale(what: &str, handle: u64) -> Self {
        Self::invalid(format!("{handle} is not a valid handle of {what}"))
    }

    /// The error object as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| r#"{"kind":"internal","message":""}"#.to_owned())
    }
}

impl From<ClientError> for BridgeError {
    fn from(error: ClientError) -> Self {
        let kind = error.kind().into();
        match error.rpc() {
            Some(RpcError { code, message, data }) if kind == ErrorKind::Protocol => {
                Self { kind, message: message.clone(), code: Some(*code), data: data.clone() }
            }
            Some(RpcError { message, .. }) => Self::new(kind, message),
            None => {
                let data = match (&error, error.authorization()) {
                    (ClientError::InputRequired(required), _) => Some(required_input(required)),
                    (_, Some(demand)) => serde_json::to_value(demand).ok(),
                    _ => error.connection().and_then(|failure| serde_json::to_value(failure).ok()),
                };
                Self { kind, message: error.to_string(), code: None, data }
            }
        }
    }
}

/// The `data` of [`ErrorKind::InputRequired`]: a [`RequiredInput`].
fn required_input(required: &client::InputRequired) -> Value {
    let request = |(key, request): (&str, &client::InputRequest)| {
        let params: Value = request.params.parse().unwrap_or_default();
        (key.to_owned(), json!({"method": request.method, "params": params}))
    };
    let mut data = json!({"inputRequests": required.requests().map(request).collect::<Map<_, _>>()});
    if let Some(state) = required.request_state() {
        data["requestState"] = state.into();
    }
    data
}

impl From<ClientRequestError> for BridgeError {
    fn from(error: ClientRequestError) -> Self {
        let kind = match &error {
            // Treat a client that cannot be asked, or sends an invalid response, like one that
            // refuses.
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

impl From<RegisterError> for BridgeError {
    fn from(error: RegisterError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<RpcError> for BridgeError {
    fn from(RpcError { code, message, data }: RpcError) -> Self {
        Self { kind: ErrorKind::Protocol, message, code: Some(code), data }
    }
}
