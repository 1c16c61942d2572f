//! The logs of a session. The streams of calls are stored in them, so that a client can resume them
//! with any process.

use super::{
    outbox::{OutboxEntry, Watcher},
    process::Workers,
    store_keys,
};
use crate::{
    http::replay::EventId, protocol::RequestId, runtime::BoxedTask, server::OutgoingMessage, store::LogEntry,
    sync::Mutex,
};
use serde::{Deserialize, Serialize, Serializer};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::oneshot;

/// Maximum time for the log of a stream to appear after its client has learned of it.
pub(super) const LOG_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the events of a call are kept after the last one, and after its end.
const EVENT_RETENTION: Duration = Duration::from_secs(3600);
const FINISHED_RETENTION: Duration = Duration::from_secs(300);

/// An entry of the log of a stream.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StreamEntry {
    /// Start of the stream of these requests.
    Opened(#[serde(serialize_with = "as_written")] Vec<RequestId>),
    /// An event with its number, counted from 1.
    Event {
        number: u64,
        message: String,
        /// True if the event answers the requests.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answers: bool,
    },
    /// End of the stream.
    Finished,
}

fn as_written<S: Serializer>(ids: &[RequestId], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ids.iter().map(RequestId::to_raw))
}

impl StreamEntry {
    /// Parses an entry. Returns `None` and logs the reason if that fails.
    pub(super) fn read(entry: &LogEntry) -> Option<Self> {
        let read = serde_json::from_str(&entry.text);
        read.inspect_err(
            |problem| tracing::error!(target: "trunkline::server::session", error = %problem, "could not read an event"),
        )
        .ok()
    }
}

/// The process that serves a stream.
pub(super) fn server_of(stream: u64) -> u64 {
    stream >> 32
}

/// The logs that this process writes for one session. Never blocks.
///
/// Streams without a record cannot be resumed after a crash, so clients learn of a stream only when
/// its record is stored.
pub(crate) struct SessionLogs {
    pub(super) workers: Weak<Workers>,
    pub(super) session: Arc<str>,
}

impl SessionLogs {
    /// `kept` is the number of events of the stream in the memory of this process. If it is 0,
    /// earlier entries are no longer needed.
    fn append(&self, stream: u64, entry: &StreamEntry, kept: usize, watcher: Watcher) {
        let Some(workers) = self.workers.upgrade() else { return };
        let text = serde_json::to_string(entry).unwrap_or_default();
        let (max_events, max_bytes) = workers.max_replay;
        // As many as fit if all are as large as this one, or more if the others are smaller. The
        // start and the end are entries, too.
        let max_entries = max_events.min(max_bytes / text.len().max(1)).max(kept).saturating_add(2);
        workers.outbox.push(OutboxEntry {
            of: Some(Arc::clone(&self.session)),
            log: store_keys::stream(&self.session, stream),
            text,
            max_entries: Some(if kept > 0 { max_entries } else { 1 }),
            keep_for: if *entry == StreamEntry::Finished { FINISHED_RETENTION } else { EVENT_RETENTION },
            wake: None,
            watcher,
        });
    }

    /// A stream number that is unique within the session, across all processes.
    pub(crate) fn next_stream(&self) -> u64 {
        self.workers.upgrade().map_or(0, |workers| workers.next_stream())
    }

    /// Registers a stream of requests. Completes when other processes can find it, or the outcome
    /// is unknown.
    pub(crate) fn opened(&self, stream: u64, requests: &[RequestId]) -> BoxedTask<()> {
        let (watcher, kept) = oneshot::channel();
        self.append(stream, &StreamEntry::Opened(requests.to_vec()), 0, Mutex::new(Some(watcher)));
        Box::pin(async move { drop(tokio::time::timeout(LOG_TIMEOUT, kept).await) })
    }

    /// Stores an event. `kept` is the number of those of its stream in memory, with this one.
    pub(crate) fn kept(&self, id: EventId, outgoing: &OutgoingMessage, kept: usize) {
        let Some(message) = outgoing.message() else { return };
        let message = String::from_utf8_lossy(message).into_owned();
        let answers = matches!(outgoing, OutgoingMessage::Response { .. });
        let event = StreamEntry::Event { number: id.event, message, answers };
        self.append(id.stream, &event, kept, Watcher::default());
    }

    /// Marks a stream as finished. Its events are dropped if none is left in this process, so that
    /// a session has no more in the store than in memory.
    pub(crate) fn finished(&self, stream: u64, kept: usize) {
        self.append(stream, &StreamEntry::Finished, kept, Watcher::default());
    }
}

impl Workers {
    /// The logs of a session: of its messages unrelated to a request, and of the streams of calls
    /// that this process serves.
    pub(crate) fn logs_of(self: &Arc<Self>, session: &str) -> SessionLogs {
        SessionLogs { workers: Arc::downgrade(self), session: session.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_round_trip_through_their_string() {
        for (entry, text) in [
            (StreamEntry::Opened(vec![RequestId::Integer(1), RequestId::from("a")]), r#"{"opened":[1,"a"]}"#),
            (
                StreamEntry::Event { number: 1, message: "{}".into(), answers: false },
                r#"{"event":{"number":1,"message":"{}"}}"#,
            ),
            (
                StreamEntry::Event { number: 2, message: "{}".into(), answers: true },
                r#"{"event":{"number":2,"message":"{}","answers":true}}"#,
            ),
            (StreamEntry::Finished, r#""finished""#),
        ] {
            assert_eq!(serde_json::to_string(&entry).unwrap(), text);
            assert_eq!(serde_json::from_str::<StreamEntry>(text).unwrap(), entry);
        }
    }
}
