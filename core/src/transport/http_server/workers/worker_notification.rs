//! Messages that the processes of one server exchange.

use crate::{
    server::{Announcement, SessionChange},
    store::LogEntry,
};
use serde::{Deserialize, Serialize};

/// An entry of a log that processes read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkerNotification {
    /// The number of the process that wrote it.
    pub(super) from: u64,
    /// The content.
    #[serde(rename = "tells")]
    pub(super) content: NotificationContent,
}

impl WorkerNotification {
    /// Reads an entry. `None`: it cannot be read, and the log says why.
    pub(super) fn read(entry: &LogEntry) -> Option<Self> {
        let read = serde_json::from_str(&entry.text);
        read.inspect_err(
            |problem| tracing::error!(target: "trunkline::server::session", error = %problem, "could not read a notification from another process"),
        )
        .ok()
    }

    /// The same, for streams: they must pass by an entry that cannot be read, too.
    pub(super) fn read_or_empty(entry: &LogEntry) -> Self {
        Self::read(entry).unwrap_or(Self { from: 0, content: NotificationContent::Joined })
    }
}

/// The content of a notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum NotificationContent {
    /// A process begins to read.
    Joined,
    /// A change of the server.
    Announced(Announcement),
    /// The log of a session has a new event, for its stream of messages without a request.
    EventKept {
        /// The id of the session.
        session: String,
    },
    /// A message of a client, for whichever process serves the request that it is about.
    FromClient {
        /// The id of the session.
        session: String,
        /// The JSON-RPC message.
        message: String,
    },
    /// Changes of the state of a session.
    SessionChanged {
        /// The id of the session.
        session: String,
        /// In their order.
        changes: Vec<SessionChange>,
    },
    /// A session was ended by its client.
    SessionEnded {
        /// The id of the session.
        session: String,
    },
    /// Another process has the stream of a call now.
    CallStreamTaken {
        /// The id of the session.
        session: String,
        /// The number of the stream.
        stream: u64,
    },
    /// The process has the stream of a session's messages without a request now.
    StreamTaken {
        /// The id of the session.
        session: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_come_back_from_their_text() {
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
