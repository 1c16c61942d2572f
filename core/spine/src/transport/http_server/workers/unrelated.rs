//! The stream of a session's messages that are unrelated to a request, read from the shared log and
//! from that of the session.

use super::{
    outbox::{OutboxEntry, Watcher},
    process::{BATCH_SIZE, RETRY_DELAY, Workers},
    session_logs::SessionLogs,
    session_records::SharedSession,
    store_keys,
    worker_notification::{NotificationContent, WorkerNotification},
};
use crate::{
    http::replay::EventId,
    race,
    server::{Announcement, Connection, Outbound, OutgoingMessage},
    store::{LogEntry, Store, StoreError},
    transport::http_server::response_stream::Stream,
};
use bytes::Bytes;
use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// How often a stream checks whether it is still being read, and saves its client's position.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How often a stream looks for events that were not announced to it.
const POLL_INTERVAL: Duration = Duration::from_secs(15);
/// Maximum number of events buffered for the reader; the others stay in the logs.
const MAX_AHEAD: usize = BATCH_SIZE;
/// A session's events are kept for at least this long after the last one.
const MIN_RETENTION: Duration = Duration::from_secs(3600);

/// Sends messages unrelated to a request to the client of a shared session, through its log to the
/// process that has the stream.
impl Outbound for SessionLogs {
    fn send(&self, outgoing: OutgoingMessage) {
        let (Some(workers), Some(message)) = (self.workers.upgrade(), outgoing.message()) else { return };
        let announced = NotificationContent::EventKept { session: self.session.to_string() };
        workers.outbox.push(OutboxEntry {
            of: Some(Arc::clone(&self.session)),
            log: store_keys::events(&self.session),
            text: String::from_utf8_lossy(message).into_owned(),
            max_entries: Some(workers.max_replay.0),
            keep_for: workers.idle.max(MIN_RETENTION),
            wake: Some((store_keys::MESSAGES, workers.encoded(announced))),
            watcher: Watcher::default(),
        });
    }
}

impl Workers {
    /// At most [`BATCH_SIZE`] notifications after a position, or `None` if some were evicted.
    async fn notifications_after(&self, after: u64) -> Result<Option<Vec<(u64, Arc<WorkerNotification>)>>, StoreError> {
        if let Some(latest) = self.recent.after(after, BATCH_SIZE) {
            return Ok(Some(latest));
        }
        let entries =
            self.store.read(store_keys::NOTIFICATIONS, after.saturating_sub(1), BATCH_SIZE + 1, Duration::ZERO).await?;
        let mut entries = entries.into_iter();
        if entries.next().is_none_or(|first| first.position != after) {
            return Ok(None);
        }
        let mut notifications = Vec::new();
        for entry in entries {
            let Some(entry) = self.store.message(entry).await? else { return Ok(None) };
            notifications.push((entry.position, Arc::new(WorkerNotification::read_or_empty(&entry))));
        }
        Ok(Some(notifications))
    }
}

impl SharedSession {
    /// Feeds the session's stream from the logs, from a position on, until its reader disconnects.
    pub(crate) fn follow(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        connection: &Arc<Connection>,
        cursor: StreamPosition,
        reader: u64,
    ) {
        let subscriber = Arc::clone(connection);
        let wake = self.workers.recent.enter(&self.id, Box::new(move |changes| subscriber.is_subscribed_to(changes)));
        let searched = self.workers.runtime.now();
        let (shared, stream, connection) = (Arc::clone(self), Arc::clone(stream), Arc::clone(connection));
        let feed = Feed { shared, stream, connection, reader, wake, has_events: true, searched, cursor, kept: cursor };
        self.workers.runtime.spawn(Box::pin(feed.run()));
    }

    /// The position for a client that does not give one: where it stopped reading.
    pub(crate) async fn start(&self) -> Result<StreamPosition, StoreError> {
        let read = self.read_up_to().await?.filter(|read| read.notification >= self.opened);
        Ok(read.unwrap_or(StreamPosition { notification: self.opened, own: 0 }))
    }

    /// The position up to which the client is known to have read.
    async fn read_up_to(&self) -> Result<Option<StreamPosition>, StoreError> {
        let kept = self.workers.store.get(&store_keys::read_up_to(&self.id)).await?;
        Ok(kept.and_then(|id| EventId::parse(&id)).and_then(StreamPosition::of))
    }

    /// Returns whether the stream can be resumed at a client's position: later events are either
    /// stored or can be replaced.
    pub(crate) async fn can_resume_from(&self, cursor: StreamPosition) -> Result<bool, StoreError> {
        let Workers { store, recent, max_replay: (max_events, _), .. } = &*self.workers;
        if cursor.notification < self.opened {
            return Ok(false);
        }
        if cursor.notification > recent.position() {
            // Not read by this process yet: it is new, or made up by the client.
            let found =
                store.read(store_keys::NOTIFICATIONS, cursor.notification.saturating_sub(1), 1, Duration::ZERO).await?;
            if found.first().is_none_or(|entry| entry.position != cursor.notification) {
                return Ok(false);
            }
        }
        let log = store_keys::events(&self.id);
        if cursor.own > 0 {
            let found = store.read(&log, cursor.own - 1, 1, Duration::ZERO).await?;
            if found.first().is_some_and(|entry| entry.position == cursor.own) {
                return Ok(true);
            }
            // The log expires before a quiet session does.
            if self.read_up_to().await?.is_none_or(|read| read.own != cursor.own) {
                return Ok(false);
            }
        }
        // If the log is full, older events may have been evicted.
        Ok(store.read(&log, 0, *max_events, Duration::ZERO).await?.len() < *max_events)
    }

    /// Ends the streams of this session in other processes, because its client has connected to
    /// this one.
    pub(crate) fn take_stream(&self) {
        let content = NotificationContent::StreamTaken { session: self.id.to_string() };
        self.workers.publish(store_keys::MESSAGES, Some(Arc::clone(&self.id)), content);
    }
}

/// Feeds the stream of a session until its reader disconnects.
struct Feed {
    shared: Arc<SharedSession>,
    stream: Arc<Stream>,
    connection: Arc<Connection>,
    reader: u64,
    wake: Arc<Notify>,
    /// The session's log may have unread events.
    has_events: bool,
    /// When the session's log was last read.
    searched: Instant,
    /// The position up to which the stream has been fed.
    cursor: StreamPosition,
    /// The position that was saved last.
    kept: StreamPosition,
}

impl Feed {
    async fn run(mut self) {
        let workers = Arc::clone(&self.shared.workers);
        loop {
            let is_replaced = self.take_news();
            // LIFE-05: nothing is sent to a session before it is initialized.
            let has_room = self.stream.ahead() < MAX_AHEAD && self.connection.is_initialized();
            let before = self.cursor;
            // After a failure, the position is that of the last event that was fed.
            let fed = if has_room { self.feed().await } else { Ok(()) };
            let is_more = fed.is_ok() && self.cursor != before;
            let is_read = !is_replaced && self.stream.is_read_by(self.reader);
            if !is_read || !is_more {
                self.save_cursor().await;
            }
            if !is_read || self.connection.is_closed() {
                return;
            }
            self.shared.renew();
            if !is_more {
                if has_room && fed.is_ok() {
                    workers.recent.rest(&self.shared.id, &self.wake, self.cursor.notification);
                }
                let pause = if has_room { CHECK_INTERVAL } else { RETRY_DELAY };
                race::within(&*workers.runtime, pause, self.wake.notified()).await;
            }
        }
    }

    /// Applies the updates since the last call. Returns `true` if a newer stream has taken over.
    fn take_news(&mut self) -> bool {
        let Workers { recent, runtime, .. } = &*self.shared.workers;
        let updates = recent.updates(&self.shared.id, &self.wake);
        self.cursor.notification = updates.done.unwrap_or_default().max(self.cursor.notification);
        let now = runtime.now();
        self.has_events |= updates.has_events || now.saturating_duration_since(self.searched) >= POLL_INTERVAL;
        if self.has_events {
            self.searched = now;
        }
        updates.is_replaced
    }

    /// Feeds what follows the position, and advances it.
    async fn feed(&mut self) -> Result<(), StoreError> {
        let workers = Arc::clone(&self.shared.workers);
        match workers.notifications_after(self.cursor.notification).await? {
            Some(notifications) => self.feed_notifications(&notifications),
            None => self.feed_all(),
        }
        if self.has_events {
            let log = store_keys::events(&self.shared.id);
            let entries = workers.store.read(&log, self.cursor.own, BATCH_SIZE, Duration::ZERO).await?;
            self.has_events = entries.len() == BATCH_SIZE;
            self.pass_on(entries);
        }
        Ok(())
    }

    /// Feeds those notifications that the client subscribed to.
    fn feed_notifications(&mut self, notifications: &[(u64, Arc<WorkerNotification>)]) {
        let (mut events, mut said) = (Vec::new(), HashSet::new());
        for (position, notification) in notifications {
            self.cursor.notification = *position;
            if let NotificationContent::Announced(Announcement::Changed(changes)) = &notification.content {
                // Repeated change notifications are redundant.
                let mut new = self.connection.notifications_of(changes);
                new.retain(|new| said.insert(new.clone()));
                events.extend(events_at(self.cursor, new));
            }
        }
        self.stream.feed(self.reader, events);
    }

    /// Notifies the client of all its subscriptions, because it is no longer known which have
    /// changed.
    fn feed_all(&mut self) {
        self.cursor.notification = self.shared.workers.recent.position();
        self.stream.feed(self.reader, events_at(self.cursor, self.connection.all_notifications()));
    }

    /// Feeds events of the session.
    fn pass_on(&mut self, entries: Vec<LogEntry>) {
        let events = entries.into_iter().map(|LogEntry { position, text }| {
            self.cursor.own = position;
            (Some(self.cursor.id()), Bytes::from(text))
        });
        self.stream.feed(self.reader, events.collect());
    }

    /// Saves how far the client has read, for streams that do not give a position.
    async fn save_cursor(&mut self) {
        // Everything up to here has been handled.
        let is_at_end = !self.stream.is_read_by(self.reader) && self.stream.has_read_all(self.reader);
        let read = if is_at_end { Some(self.cursor) } else { self.stream.read_up_to().and_then(StreamPosition::of) };
        let Some(read) = read.filter(|read| *read != self.kept) else { return };
        let Workers { store, idle, .. } = &*self.shared.workers;
        if store.put(&store_keys::read_up_to(&self.shared.id), &read.id().to_string(), *idle).await.is_ok() {
            self.kept = read;
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.workers.recent.leave(&self.shared.id, &self.wake);
    }
}

/// Converts the messages at one position to events. Only the last one gets the id, so a client that
/// received some of them gets all of them again.
fn events_at(cursor: StreamPosition, messages: Vec<Bytes>) -> Vec<(Option<EventId>, Bytes)> {
    let last = messages.len();
    messages.into_iter().zip(1..).map(|(message, number)| ((number == last).then(|| cursor.id()), message)).collect()
}

/// Marks this stream among stream numbers: those of calls start with the number of their process,
/// which has 31 bits.
const UNRELATED_BIT: u64 = 1 << 63;
/// Positions are less than this.
const POSITION_LIMIT: u64 = 1 << 53;

/// The position of an event. The stream is read from two logs, so it has a position in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    /// The position in the shared log; all notifications up to it have been handled.
    pub(super) notification: u64,
    /// The position in the session's log; 0 is the start.
    pub(super) own: u64,
}

impl StreamPosition {
    /// The position of an event id, or `None` if it belongs to another stream.
    pub(crate) fn of(id: EventId) -> Option<Self> {
        let position = Self { notification: id.event, own: id.stream ^ UNRELATED_BIT };
        (position.notification < POSITION_LIMIT && position.own < POSITION_LIMIT).then_some(position)
    }

    /// Returns whether an id belongs to this stream.
    pub(crate) fn is_named_by(id: EventId) -> bool {
        id.stream & UNRELATED_BIT != 0
    }

    /// The id of the event at this position.
    pub(crate) fn id(self) -> EventId {
        EventId { stream: UNRELATED_BIT | self.own, event: self.notification }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_from_its_id() {
        for position in [
            StreamPosition { notification: 1, own: 0 },
            StreamPosition { notification: POSITION_LIMIT - 1, own: POSITION_LIMIT - 1 },
        ] {
            let id = EventId::parse(&position.id().to_string()).unwrap();
            assert_eq!(StreamPosition::of(id), Some(position));
            assert!(StreamPosition::is_named_by(id));
        }
        for other in
            ["0-1", "1-1", "9223372036854775807-1", "9232379236109516800-1", "9223372036854775808-9007199254740992"]
        {
            assert_eq!(StreamPosition::of(EventId::parse(other).unwrap()), None, "{other}");
        }
    }
}
