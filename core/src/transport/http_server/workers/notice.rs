//! Messages that the processes of one server exchange.

use crate::server::{Announcement, SessionChange};
use serde::{Deserialize, Serialize};

/// An entry of the log that every process reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Notice {
    /// The number of the process that wrote it.
    pub(super) from: u64,
    /// The content.
    pub(super) tells: Tells,
}

/// The content of a notice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Tells {
    /// A process begins to read.
    Joined,
    /// A change of the server.
    Announced(Announcement),
    /// A message for the client of a session, on its stream of messages without a request.
    ToClient {
        /// The id of the session.
        session: String,
        /// The JSON-RPC message.
        message: String,
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
    fn notices_come_back_from_their_text() {
        let session = || "s".to_owned();
        for (tells, text) in [
            (Tells::Joined, r#""joined""#),
            (
                Tells::ToClient { session: session(), message: "{}".into() },
                r#"{"toClient":{"session":"s","message":"{}"}}"#,
            ),
            (
                Tells::SessionChanged { session: session(), changes: vec![SessionChange::Subscribed("a://b".into())] },
                r#"{"sessionChanged":{"session":"s","changes":[{"subscribed":"a://b"}]}}"#,
            ),
            (Tells::SessionEnded { session: session() }, r#"{"sessionEnded":{"session":"s"}}"#),
        ] {
            let notice = Notice { from: 7, tells };
            let written = serde_json::to_string(&notice).unwrap();
            assert_eq!(written, format!(r#"{{"from":7,"tells":{text}}}"#));
            assert_eq!(serde_json::from_str::<Notice>(&written).unwrap(), notice);
        }
    }
}
