//! Connection failures.

use crate::protocol::model::{AuthorizationDemand, ConnectionFailure, FailureReason};
use std::fmt;

/// Why a transport failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkFailure {
    /// An HTTP status whose body is not a JSON-RPC message.
    #[error("{text}")]
    Status {
        /// The status.
        status: u16,
        /// The message: the status, the start of the body, and what to do.
        text: String,
        /// The values of `WWW-Authenticate`.
        challenges: Vec<String>,
    },
    /// A redirect that was not followed.
    #[error("{text}")]
    Redirected {
        /// The HTTP status.
        status: u16,
        /// The message: from where, where to, and why not.
        text: String,
    },
    /// The child process could not be started.
    #[error("{0}")]
    NotStarted(String),
    /// The child process ended, or closed its end of a pipe.
    #[error("{0}")]
    Exited(ProcessExit),
    /// Nothing listens at the address.
    #[error("{0}")]
    Refused(String),
    /// TLS failed.
    #[error("{0}")]
    Tls(String),
    /// No connection could be established, for another reason.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke, or a message could not be parsed.
    #[error("{0}")]
    Broken(String),
    /// The response is not valid.
    #[error("{0}")]
    InvalidResponse(String),
    /// The server demands authorization.
    #[error("{text}")]
    Unauthorized {
        /// The text.
        text: String,
        /// The server's demand.
        demand: Box<AuthorizationDemand>,
    },
    /// The server no longer knows the session.
    #[error("{0}")]
    SessionLost(String),
    /// Too much data is queued for sending.
    #[error("Busy: {0}")]
    Congested(String),
    /// Closed by this side.
    #[error("The connection is closed")]
    Closed,
    /// The client's runtime has ended, and the connection with it.
    #[error(
        "The connection is closed: the runtime that the client was opened on has shut down; connect again on another one"
    )]
    RuntimeEnded,
}

/// How a child process, or a pipe to it, ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessExit {
    /// The message: how it ended, and its last lines of standard error.
    pub text: String,
    /// True if only a pipe was closed and the process is still running.
    pub still_running: bool,
    /// Its exit status, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Its last lines of standard error.
    pub stderr: Vec<String>,
}

impl ProcessExit {
    /// The exit of a process without details.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl LinkFailure {
    /// The facts of the failure, as data.
    pub fn info(&self) -> ConnectionFailure {
        let mut info = ConnectionFailure { reason: self.reason(), ..ConnectionFailure::default() };
        match self {
            Self::Refused(_) => info.code = Some("ECONNREFUSED".to_owned()),
            Self::Status { status, challenges, .. } => {
                info.http_status = Some(*status);
                info.challenges = Some(challenges.clone()).filter(|challenges| !challenges.is_empty());
            }
            Self::Redirected { status, .. } => info.http_status = Some(*status),
            Self::Exited(end) => {
                info.exit_code = end.exit_code.map(i64::from);
                info.signal = end.signal.map(i64::from);
                info.stderr = Some(end.stderr.clone());
            }
            _ => {}
        }
        info
    }

    /// `None` if it is not the connection that failed.
    fn reason(&self) -> Option<FailureReason> {
        Some(match self {
            Self::Status { status: 200..300, .. } | Self::InvalidResponse(_) => FailureReason::InvalidResponse,
            Self::Status { .. } | Self::Redirected { .. } => FailureReason::Status,
            Self::NotStarted(_) => FailureReason::NotStarted,
            Self::Exited(end) if !end.still_running => FailureReason::Exited,
            Self::Refused(_) => FailureReason::Refused,
            Self::Tls(_) => FailureReason::Tls,
            Self::Unreachable(_) => FailureReason::Unreachable,
            Self::Unauthorized { .. } => return None,
            Self::SessionLost(_) => FailureReason::SessionLost,
            Self::Exited(_) | Self::Broken(_) | Self::Congested(_) | Self::Closed | Self::RuntimeEnded => {
                FailureReason::Broken
            }
        })
    }
}
