//! Resumes the streams of calls that other processes serve or have served.

use super::{
    process::{BATCH_SIZE, RETRY_DELAY, Workers},
    session_logs::{LOG_TIMEOUT, StreamEntry, server_of},
    session_records::SharedSession,
    store_keys,
    worker_notification::NotificationContent,
};
use crate::{
    engine::later,
    http::replay::EventId,
    protocol::{RequestId, RpcError, envelope},
    store::{LogEntry, Store, StoreError, StoreErrorKind},
    transport::http_server::response_stream::Stream,
};
use bytes::Bytes;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// Time of silence after which the process of a call is checked.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(2);

/// A stream served by another process, now or earlier, with its entries so far.
pub(crate) struct RememberedStream {
    shared: Arc<SharedSession>,
    /// The last event that the client has received.
    last: EventId,
    requests: Vec<RequestId>,
    is_answered: bool,
    entries: Vec<LogEntry>,
}

impl SharedSession {
    /// The stream of an event, to be resumed after it (HTTP-38). Returns `None` if this session has
    /// no such event, or if later events are no longer stored.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn remembered(self: &Arc<Self>, last: EventId) -> Result<Option<RememberedStream>, StoreError> {
        let server = server_of(last.stream);
        if server == 0 {
            return Ok(None);
        }
        let log = store_keys::stream(&self.id, last.stream);
        let entries = self.entries_of(&log).await?;
        let first = entries.first().and_then(StreamEntry::read);
        let requests = match first {
            Some(StreamEntry::Opened(requests)) => requests,
            // The oldest were evicted.
            Some(StreamEntry::Event { number, .. }) if number <= last.event.saturating_add(1) => Vec::new(),
            _ => return Ok(None),
        };
        // The process that served the stream so far does not notice that its client has left.
        let taken = NotificationContent::CallStreamTaken { session: self.id.to_string(), stream: last.stream };
        self.workers.publish_and_wait(&store_keys::messages(server), taken).await?;
        Ok(Some(RememberedStream { shared: Arc::clone(self), last, requests, is_answered: false, entries }))
    }

    /// The first entries of the log of a stream, which may be about to appear.
    async fn entries_of(&self, log: &str) -> Result<Vec<LogEntry>, StoreError> {
        let Workers { store, of_streams, .. } = &*self.workers;
        let entries = store.read(log, 0, BATCH_SIZE, Duration::ZERO).await?;
        if !entries.is_empty() {
            return Ok(entries);
        }
        let Ok(_permit) = of_streams.try_acquire() else {
            let problem = "too many streams are waited for";
            return Err(StoreError::new(StoreErrorKind::Unavailable, store.name(), problem));
        };
        store.read(log, 0, BATCH_SIZE, LOG_TIMEOUT).await
    }
}

impl RememberedStream {
    /// Feeds a reader of `stream` until the stream ends.
    pub(crate) fn follow(self, stream: &Arc<Stream>, reader: u64) {
        let runtime = Arc::clone(&self.shared.workers.runtime);
        runtime.spawn(Box::pin(self.run(Arc::clone(stream), reader)));
    }

    async fn run(mut self, stream: Arc<Stream>, reader: u64) {
        let workers = Arc::clone(&self.shared.workers);
        let log = store_keys::stream(&self.shared.id, self.last.stream);
        let (mut entries, mut after) = (std::mem::take(&mut self.entries), 0);
        loop {
            if self.feed(&entries, &stream, reader) {
                return stream.finish();
            }
            after = entries.last().map_or(after, |entry| entry.position);
            if !stream.is_read_by(reader) {
                return;
            }
            // The call may take long, and its client can resume the stream at another process.
            if workers.closing.load(Ordering::Relaxed) {
                return stream.finish();
            }
            self.shared.renew();
            if stream.ahead() >= BATCH_SIZE {
                entries.clear();
                workers.runtime.sleep_until(later(workers.runtime.now(), RETRY_DELAY)).await;
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
        match workers.store.read(log, after, BATCH_SIZE, SILENCE_TIMEOUT).await {
            Ok(entries) if entries.is_empty() && !workers.lives(server_of(self.last.stream)).await => {
                // Its last entries may have just arrived.
                match workers.store.read(log, after, BATCH_SIZE, Duration::ZERO).await {
                    Ok(last) if last.is_empty() => None,
                    last => Some(last.unwrap_or_default()),
                }
            }
            Ok(entries) => Some(entries),
            Err(_) => {
                workers.runtime.sleep_until(later(workers.runtime.now(), RETRY_DELAY)).await;
                Some(Vec::new())
            }
        }
    }

    /// Feeds the events of entries. Returns `true` at the end of the stream.
    fn feed(&mut self, entries: &[LogEntry], stream: &Stream, reader: u64) -> bool {
        let (mut events, mut is_finished) = (Vec::new(), false);
        for entry in entries.iter().filter_map(StreamEntry::read) {
            match entry {
                StreamEntry::Opened(_) => {}
                StreamEntry::Event { number, message, answers } => {
                    self.is_answered |= answers;
                    // An entry may be duplicated if the store did not confirm it in time.
                    if number > self.last.event {
                        self.last.event = number;
                        events.push((Some(self.last), Bytes::from(message)));
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
        let events = self.requests.iter().map(|id| {
            self.last.event = self.last.event.saturating_add(1);
            (Some(self.last), envelope::encode_error(Some(id), &RpcError::interrupted()))
        });
        stream.feed(reader, events.collect());
    }
}
