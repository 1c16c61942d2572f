//! Stores the streams of calls in logs, so that a client can resume them with any process.

use super::{
    outbox::{OutboxEntry, Watcher},
    process::{BATCH, PAUSE, Workers},
    sessions::SharedSession,
    store_keys,
    worker_notification::NotificationContent,
};
use crate::{
    engine::later,
    http::replay::EventId,
    protocol::{RequestId, RpcError, envelope},
    runtime::BoxedTask,
    server::OutgoingMessage,
    store::{LogEntry, Store, StoreError},
    sync::Mutex,
    transport::http_server::{history::EventLog, response_stream::Stream},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::oneshot;

/// Maximum time for the log of a stream to appear after its client has learnt of it.
const SOON: Duration = Duration::from_secs(2);
/// Time of silence after which the process of a call is checked.
const LOOK: Duration = Duration::from_secs(2);
/// How long the events of a call are kept after the last one.
const KEEP: Duration = Duration::from_secs(3600);

/// An entry of the log of a stream.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StreamEntry {
    /// Start of the stream of these requests.
    Opened(Vec<RequestId>),
    /// An event with its number, counted from 1.
    Event {
        number: u64,
        message: String,
        /// Whether it answers the requests.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answers: bool,
    },
    /// End of the stream.
    Finished,
}

/// The logs of the streams that this process serves for one session.
pub(in crate::transport::http_server) struct StreamLog {
    workers: Weak<Workers>,
    session: Arc<str>,
}

impl StreamLog {
    fn append(&self, stream: u64, entry: &StreamEntry, watcher: Watcher) {
        let Some(workers) = self.workers.upgrade() else { return };
        let text = serde_json::to_string(entry).unwrap_or_default();
        workers.append_soon(OutboxEntry {
            of: Some(Arc::clone(&self.session)),
            log: store_keys::stream(&self.session, stream),
            text,
            // The start and the end are entries, too.
            max_entries: workers.max_events.saturating_add(2),
            keep_for: KEEP,
            wake: None,
            watcher,
        });
    }
}

impl EventLog for StreamLog {
    fn next_stream(&self) -> u64 {
        self.workers.upgrade().map_or(0, |workers| workers.next_stream())
    }

    fn opened(&self, stream: u64, requests: &[RequestId]) -> BoxedTask<()> {
        let (watcher, kept) = oneshot::channel();
        self.append(stream, &StreamEntry::Opened(requests.to_vec()), Mutex::new(Some(watcher)));
        Box::pin(async move { drop(tokio::time::timeout(SOON, kept).await) })
    }

    fn kept(&self, id: EventId, outgoing: &OutgoingMessage) {
        let Some(message) = outgoing.message() else { return };
        let message = String::from_utf8_lossy(message).into_owned();
        let answers = matches!(outgoing, OutgoingMessage::Response { .. });
        self.append(id.stream(), &StreamEntry::Event { number: id.event(), message, answers }, Watcher::default());
    }

    fn finished(&self, stream: u64) {
        self.append(stream, &StreamEntry::Finished, Watcher::default());
    }
}

/// A stream served by another process, now or earlier, with its entries so far.
pub(in crate::transport::http_server) struct RememberedStream {
    shared: Arc<SharedSession>,
    number: u64,
    /// The number of the last event that the client has received.
    last: u64,
    requests: Vec<RequestId>,
    is_answered: bool,
    entries: Vec<LogEntry>,
}

impl Workers {
    /// The logs of the streams that this process serves for a session.
    pub(in crate::transport::http_server) fn stream_log(self: &Arc<Self>, session: &str) -> StreamLog {
        StreamLog { workers: Arc::downgrade(self), session: session.into() }
    }

    /// The process that serves a stream.
    fn server_of(stream: u64) -> u64 {
        stream >> 32
    }
}

impl SharedSession {
    /// The stream of an event, to be resumed after it (HTTP-38). Returns `None` if this session has
    /// no such event, or if later events are no longer stored.
    ///
    /// # Errors
    /// If the store fails.
    pub(in crate::transport::http_server) async fn remembered(
        self: &Arc<Self>,
        last: EventId,
    ) -> Result<Option<RememberedStream>, StoreError> {
        let server = Workers::server_of(last.stream());
        if server == 0 {
            return Ok(None);
        }
        let log = store_keys::stream(&self.id, last.stream());
        let entries = self.workers.store.read(&log, 0, BATCH, SOON).await?;
        let first = entries.first().and_then(read_entry);
        let requests = match first {
            Some(StreamEntry::Opened(requests)) => requests,
            // The oldest were evicted.
            Some(StreamEntry::Event { number, .. }) if number <= last.event() + 1 => Vec::new(),
            _ => return Ok(None),
        };
        // The process that served the stream so far does not notice that its client has left.
        let (session, stream) = (self.id.to_string(), last.stream());
        self.workers.send_to(server, NotificationContent::CallStreamTaken { session, stream }).await?;
        let (shared, number, last) = (Arc::clone(self), last.stream(), last.event());
        Ok(Some(RememberedStream { shared, number, last, requests, is_answered: false, entries }))
    }
}

impl RememberedStream {
    /// Feeds a reader of `stream` until the stream ends.
    pub(in crate::transport::http_server) fn follow(self, stream: &Arc<Stream>, reader: u64) {
        let runtime = Arc::clone(&self.shared.workers.runtime);
        runtime.spawn(Box::pin(self.run(Arc::clone(stream), reader)));
    }

    async fn run(mut self, stream: Arc<Stream>, reader: u64) {
        let workers = Arc::clone(&self.shared.workers);
        let log = store_keys::stream(&self.shared.id, self.number);
        let (mut entries, mut after) = (std::mem::take(&mut self.entries), 0);
        loop {
            if self.feed(&entries, &stream, reader) {
                return stream.finish();
            }
            after = entries.last().map_or(after, |entry| entry.position);
            if !stream.is_read_by(reader) {
                return;
            }
            self.shared.renew();
            if stream.ahead() >= BATCH {
                entries.clear();
                workers.runtime.sleep_until(later(workers.runtime.now(), PAUSE)).await;
                continue;
            }
            let Some(next) = self.next_entries(&workers, &log, after).await else {
                self.interrupt(&stream, reader);
                return stream.finish();
            };
            entries = next;
        }
    }

    /// The entries after a position, if any arrive soon. Returns `None` if there will be none
    /// because the process of the call is dead.
    async fn next_entries(&self, workers: &Workers, log: &str, after: u64) -> Option<Vec<LogEntry>> {
        match workers.store.read(log, after, BATCH, LOOK).await {
            Ok(entries) if entries.is_empty() && !workers.lives(Workers::server_of(self.number)).await => {
                // Its last entries may have just arrived.
                match workers.store.read(log, after, BATCH, Duration::ZERO).await {
                    Ok(last) if last.is_empty() => None,
                    last => Some(last.unwrap_or_default()),
                }
            }
            Ok(entries) => Some(entries),
            Err(_) => {
                workers.runtime.sleep_until(later(workers.runtime.now(), PAUSE)).await;
                Some(Vec::new())
            }
        }
    }

    /// Feeds the events of entries. Returns `true` at the end of the stream.
    fn feed(&mut self, entries: &[LogEntry], stream: &Stream, reader: u64) -> bool {
        let (mut events, mut is_finished) = (Vec::new(), false);
        for entry in entries.iter().filter_map(read_entry) {
            match entry {
                StreamEntry::Opened(_) => {}
                StreamEntry::Event { number, message, answers } => {
                    self.is_answered |= answers;
                    // An entry may be duplicated if the store did not confirm it in time.
                    if number > self.last {
                        self.last = number;
                        events.push((Some(EventId::new(self.number, number)), Bytes::from(message)));
                    }
                }
                StreamEntry::Finished => is_finished = true,
            }
        }
        stream.feed(reader, events);
        is_finished
    }

    /// Answers the requests whose process is dead with an error.
    fn interrupt(&mut self, stream: &Stream, reader: u64) {
        if self.is_answered {
            return;
        }
        let mut events = Vec::new();
        for id in &self.requests {
            self.last += 1;
            let message = envelope::encode_error(Some(id), &RpcError::interrupted());
            events.push((Some(EventId::new(self.number, self.last)), message));
        }
        stream.feed(reader, events);
    }
}

fn read_entry(entry: &LogEntry) -> Option<StreamEntry> {
    let read = serde_json::from_str(&entry.text);
    read.inspect_err(
        |problem| tracing::error!(target: "trunkline::server::session", error = %problem, "could not read an event"),
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_from_their_text() {
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
