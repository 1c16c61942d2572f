//! Messages exchanged by the processes of one server.

use crate::{
    server::{Announcement, SessionChange},
    store::LogEntry,
};
use serde::{Deserialize, Serialize};

/// An entry of a shared log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkerNotification {
    /// The number of the process that wrote it.
    pub(super) from: u64,
    #[serde(rename = "tells")]
    pub(super) content: NotificationContent,
}

impl WorkerNotification {
    /// Parses an entry. Returns `None` and logs the reason if that fails.
    pub(super) fn read(entry: &LogEntry) -> Option<Self> {
        let read = serde_json::from_str(&entry.text);
        read.inspect_err(
            |problem| tracing::error!(target: "trunkline::server::session", error = %problem, "could not read a notification from another process"),
        )
        .ok()
    }

    /// The same for streams, which must also advance past an unreadable entry.
    pub(super) fn read_or_empty(entry: &LogEntry) -> Self {
        Self::read(entry).unwrap_or(Self { from: 0, content: NotificationContent::Joined })
    }
}

/// The content of a notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum NotificationContent {
    /// A process has started reading.
    Joined,
    /// A change of the server.
    Announced(Announcement),
    /// The log of a session has a new event unrelated to a request.
    EventKept {
        /// The session id.
        session: String,
    },
    /// A client's message, for the process that serves the request it concerns.
    FromClient {
        /// The session id.
        session: String,
        /// The JSON-RPC message.
        message: String,
    },
    /// Changes of the state of a session.
    SessionChanged {
        /// The session id.
        session: String,
        /// In order.
        changes: Vec<SessionChange>,
    },
    /// A client has ended its session.
    SessionEnded {
        /// The session id.
        session: String,
    },
    /// Another process now serves the stream of a call.
    CallStreamTaken {
        /// The session id.
        session: String,
        /// The number of the stream.
        stream: u64,
    },
    /// The process now serves the stream of a session's messages unrelated to a request.
    StreamTaken {
        /// The session id.
        session: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_round_trip_through_their_string() {
        let session = || "s".to_owned();
        for (content, text) in [
            (NotificationContent::Joined, r#""joined""#),
            (NotificationContent::EventKept { session: session() }, r#"{"eventKept":{"session":"s"}}"#),
            (
                NotificationContent::SessionChanged {
                    session: session(),
                    changes: vec![SessionChange::Subscribed("a://b".into())],
                },
                r#"{"sessionChanged":{"session":"s","changes":[{"subscribed":"a://b"}]}}"#,
            ),
            (NotificationContent::SessionEnded { session: session() }, r#"{"sessionEnded":{"session":"s"}}"#),
        ] {
            let notification = WorkerNotification { from: 7, content };
            let encoded = serde_json::to_string(&notification).unwrap();
            assert_eq!(encoded, format!(r#"{{"from":7,"tells":{text}}}"#));
            assert_eq!(serde_json::from_str::<WorkerNotification>(&encoded).unwrap(), notification);
        }
    }
}
