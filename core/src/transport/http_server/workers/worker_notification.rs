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
    pub(super) tells: Tells,
}

impl WorkerNotification {
    /// Reads an entry. `None`: it cannot be read, and the log says why.
    pub(super) fn read(entry: &LogEntry) -> Option<Self> {
        let read = serde_json::from_str(&entry.text);
        read.inspect_err(
            |problem| tracing::error!(target: "trunkline::server::session", error = %problem, "a notification of another process cannot be read"),
        )
        .ok()
    }

    /// The same, for streams: they must pass by an entry that cannot be read, too.
    pub(super) fn read_or_empty(entry: &LogEntry) -> Self {
        Self::read(entry).unwrap_or(Self { from: 0, tells: Tells::Joined })
    }
}

/// The content of a notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Tells {
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
        for (tells, text) in [
            (Tells::Joined, r#""joined""#),
            (Tells::EventKept { session: session() }, r#"{"eventKept":{"session":"s"}}"#),
            (
                Tells::SessionChanged { session: session(), changes: vec![SessionChange::Subscribed("a://b".into())] },
                r#"{"sessionChanged":{"session":"s","changes":[{"subscribed":"a://b"}]}}"#,
            ),
            (Tells::SessionEnded { session: session() }, r#"{"sessionEnded":{"session":"s"}}"#),
        ] {
            let notification = WorkerNotification { from: 7, tells };
            let written = serde_json::to_string(&notification).unwrap();
            assert_eq!(written, format!(r#"{{"from":7,"tells":{text}}}"#));
            assert_eq!(serde_json::from_str::<WorkerNotification>(&written).unwrap(), notification);
        }
    }
}
