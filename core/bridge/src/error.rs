//! Errors as they cross the waist.

use serde::Serialize;
use serde_json::Value;
use trunkline::{
    client::{self, ClientError},
    protocol::RpcError,
    server::AskError,
};

/// The stable code of an error, the same in every language (`docs/bridge.md`): the kinds of the core's clients, and those
/// that only bindings know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The peer answered with a JSON-RPC error.
    Protocol,
    /// No answer in time.
    Timeout,
    /// Cancelled by the caller.
    Cancelled,
    /// The connection, listener or port is closed.
    Closed,
    /// The connection could not be made, broke, or brought nonsense.
    Transport,
    /// No revision in common.
    Version,
    /// An argument of the API is wrong.
    Invalid,
    /// A limit was reached.
    Busy,
    /// The call would wait on the thread that must drain.
    Blocking,
    /// The port belongs to the parent process.
    Forked,
    /// A handler waits for input of its client and will run again; no failure.
    Suspended,
    /// A bug in the core, contained.
    Internal,
}

impl ErrorKind {
    /// The code as it crosses to other languages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Protocol => "protocol",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Closed => "closed",
            Self::Transport => "transport",
            Self::Version => "version",
            Self::Invalid => "invalid",
            Self::Busy => "busy",
            Self::Blocking => "blocking",
            Self::Forked => "forked",
            Self::Suspended => "suspended",
            Self::Internal => "internal",
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
            client::ErrorKind::Invalid => Self::Invalid,
            client::ErrorKind::Busy => Self::Busy,
            client::ErrorKind::Internal => Self::Internal,
        }
    }
}

/// Why a function of the port, a request or an open failed: the error object of `docs/bridge.md`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct BridgeError {
    /// The stable code.
    pub kind: ErrorKind,
    /// What was wrong, where, and what to do.
    pub message: String,
    /// The JSON-RPC code, for [`ErrorKind::Protocol`].
    pub code: Option<i64>,
    /// The JSON-RPC data, for [`ErrorKind::Protocol`].
    pub data: Option<Value>,
}

impl BridgeError {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None, data: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
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
            None => Self::new(kind, error.to_string()),
        }
    }
}

impl From<AskError> for BridgeError {
    fn from(error: AskError) -> Self {
        let kind = match &error {
            // That the client cannot be asked here, or answers nonsense, is as good as its refusal.
            AskError::Refused(_) | AskError::Invalid(_) | AskError::NoWayBack => return error.into_rpc().into(),
            AskError::Suspended => ErrorKind::Suspended,
            AskError::Cancelled => ErrorKind::Cancelled,
            AskError::Timeout => ErrorKind::Timeout,
            AskError::Closed => ErrorKind::Closed,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<RpcError> for BridgeError {
    fn from(RpcError { code, message, data }: RpcError) -> Self {
        Self { kind: ErrorKind::Protocol, message, code: Some(code), data }
    }
}
