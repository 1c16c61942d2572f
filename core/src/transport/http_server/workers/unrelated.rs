//! The stream of a session's messages without a request, read from the log of all processes.

use super::{
    keys,
    notice::Tells,
    process::{BATCH, PAUSE, Workers},
    sessions::SharedSession,
};
use crate::{
    engine::later,
    http::replay::EventId,
    race,
    server::{Announcement, Connection, Outbound, OutgoingMessage},
    store::{Store, StoreError},
    transport::http_server::stream::Stream,
};
use bytes::Bytes;
use std::{
    collections::HashSet,
    sync::{Arc, Weak},
    time::Duration,
};

/// Time after which a stream looks whether it is still read, and keeps the place of its client.
const LOOK: Duration = Duration::from_secs(1);
/// Events that wait to be read; the log keeps the others.
const MAX_AHEAD: usize = BATCH;
/// The number of this stream in its session.
const UNRELATED: u64 = 0;

/// The id of the event at a place of the log.
pub(in crate::transport::http_server) fn event(position: u64) -> EventId {
    EventId::new(UNRELATED, position)
}

/// The way of messages without a request to the client of a shared session: by the log, to the
/// process that has the stream.
struct UnrelatedMessages {
    workers: Weak<Workers>,
    session: Arc<str>,
}

impl Outbound for UnrelatedMessages {
    fn send(&self, outgoing: OutgoingMessage) {
        if let (Some(workers), Some(message)) = (self.workers.upgrade(), outgoing.message()) {
            let message = String::from_utf8_lossy(message).into_owned();
            workers.tell(Tells::ToClient { session: self.session.to_string(), message });
        }
    }
}

impl Workers {
    /// Where the messages of a session go that belong to no request.
    pub(in crate::transport::http_server) fn to_client(self: &Arc<Self>, session: &str) -> Arc<dyn Outbound> {
        Arc::new(UnrelatedMessages { workers: Arc::downgrade(self), session: session.into() })
    }
}

impl SharedSession {
    /// Reads the stream of the session from the log, from a place on, until its reader goes.
    pub(in crate::transport::http_server) fn follow(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        connection: &Arc<Connection>,
        after: u64,
        reader: u64,
    ) {
        Feed::begin(Arc::clone(self), stream, connection, after, reader);
    }

    /// The place from which a client reads that names none: it has read what is before.
    pub(in crate::transport::http_server) async fn place(&self) -> Result<u64, StoreError> {
        let kept = self.workers.store.get(&keys::read_up_to(&self.id)).await?;
        Ok(kept.and_then(|place| place.parse().ok()).unwrap_or(self.opened).max(self.opened))
    }

    /// The place of an event of this stream. `None`: what followed it is not kept any more, or it
    /// is of another stream.
    pub(in crate::transport::http_server) async fn place_of(&self, last: EventId) -> Result<Option<u64>, StoreError> {
        let place = last.event();
        if last.stream() != UNRELATED || place < self.opened || place >= 1 << 53 {
            return Ok(None);
        }
        if place > *self.workers.position.borrow() {
            // Not read here yet: it is new, or made up.
            let found = self.workers.store.read(keys::NOTICES, place.saturating_sub(1), 1, Duration::ZERO).await?;
            return Ok(found.first().filter(|entry| entry.position == place).map(|_| place));
        }
        if self.workers.latest.lock().after <= place {
            return Ok(Some(place));
        }
        let oldest = self.workers.store.read(keys::NOTICES, 0, 1, Duration::ZERO).await?;
        Ok(oldest.first().is_some_and(|oldest| oldest.position <= place).then_some(place))
    }

    /// Lets the streams of this session at other processes end: its client has come here.
    pub(in crate::transport::http_server) fn take_stream(&self) {
        self.workers.tell(Tells::StreamTaken { session: self.id.to_string() });
    }
}

/// Feeds the stream of a session until its reader goes.
struct Feed {
    shared: Arc<SharedSession>,
    stream: Arc<Stream>,
    connection: Arc<Connection>,
    reader: u64,
}

impl Feed {
    fn begin(shared: Arc<SharedSession>, stream: &Arc<Stream>, connection: &Arc<Connection>, after: u64, reader: u64) {
        let (stream, connection) = (Arc::clone(stream), Arc::clone(connection));
        let runtime = Arc::clone(&shared.workers.runtime);
        let feed = Self { shared, stream, connection, reader };
        runtime.spawn(Box::pin(feed.run(after)));
    }

    async fn run(self, mut after: u64) {
        let workers = Arc::clone(&self.shared.workers);
        let mut position = workers.position.subscribe();
        let mut kept = after;
        loop {
            position.borrow_and_update();
            // LIFE-05: a session is sent nothing before it is initialized.
            let has_room = self.stream.ahead() < MAX_AHEAD && self.connection.is_initialized();
            let fed = if has_room { self.feed(&workers, after).await } else { Ok(after) };
            let is_more = matches!(fed, Ok(now) if now > after);
            after = fed.unwrap_or(after);
            let is_read = self.stream.is_read_by(self.reader);
            if !is_read || !is_more {
                kept = self.keep_place(&workers, kept).await;
            }
            if !is_read || self.connection.is_closed() {
                return;
            }
            self.shared.renew();
            if !is_more {
                let pause = if has_room { LOOK } else { PAUSE };
                let at = later(workers.runtime.now(), pause);
                race::until(&*workers.runtime, at, position.changed()).await;
            }
        }
    }

    /// Feeds what follows a place: the place from which there is more.
    async fn feed(&self, workers: &Workers, after: u64) -> Result<u64, StoreError> {
        let notices = workers.notices_after(after).await?;
        let mut messages: Vec<(EventId, Bytes)> = Vec::new();
        let mut told = HashSet::new();
        for (position, notice) in &notices {
            let found = match &notice.tells {
                Tells::Announced(Announcement::Changed(changes)) => {
                    // That something changed is as true when it is said once.
                    self.connection
                        .notifications_of(changes)
                        .into_iter()
                        .filter(|new| told.insert(new.clone()))
                        .collect()
                }
                Tells::ToClient { session, message } if **session == *self.shared.id => {
                    vec![Bytes::copy_from_slice(message.as_bytes())]
                }
                _ => Vec::new(),
            };
            messages.extend(found.into_iter().map(|message| (event(*position), message)));
        }
        self.stream.feed(self.reader, messages);
        Ok(notices.last().map_or(after, |(position, _)| *position))
    }

    /// Keeps the place up to which the client has read, for streams that do not name it.
    async fn keep_place(&self, workers: &Workers, kept: u64) -> u64 {
        let read = self.stream.read_up_to();
        if read <= kept {
            return kept;
        }
        let key = keys::read_up_to(&self.shared.id);
        match workers.store.put(&key, &read.to_string(), workers.idle).await {
            Ok(()) => read,
            Err(_) => kept,
        }
    }
}
