//! The stream of a session's messages without a request, read from two logs: that of all processes
//! and that of the session.

use super::{
    outbox::{OutboxEntry, Watcher},
    process::{BATCH, PAUSE, Workers},
    sessions::SharedSession,
    store_keys,
    stream_position::StreamPosition,
    worker_notification::{NotificationContent, WorkerNotification},
};
use crate::{
    engine::later,
    http::replay::EventId,
    race,
    server::{Announcement, Connection, Outbound, OutgoingMessage},
    store::{LogEntry, Store, StoreError},
    transport::http_server::response_stream::Stream,
};
use bytes::Bytes;
use std::{
    collections::HashSet,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// Time after which a stream looks whether it is still read, and keeps the place of its client.
const LOOK: Duration = Duration::from_secs(1);
/// Time after which a stream looks for events of which it was not told.
const SEARCH: Duration = Duration::from_secs(15);
/// Events that wait to be read; the logs keep the others.
const MAX_AHEAD: usize = BATCH;
/// Shortest time for which the events of a session are kept after the last one.
const KEEP: Duration = Duration::from_secs(3600);

/// The way of messages without a request to the client of a shared session: by its log, to the
/// process that has the stream.
struct UnrelatedMessages {
    workers: Weak<Workers>,
    session: Arc<str>,
}

impl Outbound for UnrelatedMessages {
    fn send(&self, outgoing: OutgoingMessage) {
        if let (Some(workers), Some(message)) = (self.workers.upgrade(), outgoing.message()) {
            workers.keep_event(&self.session, String::from_utf8_lossy(message).into_owned());
        }
    }
}

impl Workers {
    /// Where the messages of a session go that belong to no request.
    pub(in crate::transport::http_server) fn to_client(self: &Arc<Self>, session: &str) -> Arc<dyn Outbound> {
        Arc::new(UnrelatedMessages { workers: Arc::downgrade(self), session: session.into() })
    }

    fn keep_event(&self, session: &Arc<str>, message: String) {
        let wake =
            (store_keys::MESSAGES, self.encoded(NotificationContent::EventKept { session: session.to_string() }));
        self.append_soon(OutboxEntry {
            of: Some(Arc::clone(session)),
            log: store_keys::events(session),
            text: message,
            max_entries: self.max_events,
            keep_for: self.idle.max(KEEP),
            wake: Some(wake),
            watcher: Watcher::default(),
        });
    }

    /// The notifications after a position, and at most [`BATCH`] of them. `None`: some are gone.
    async fn notifications_after(&self, after: u64) -> Result<Option<Vec<(u64, Arc<WorkerNotification>)>>, StoreError> {
        if let Some(latest) = self.recent.after(after, BATCH) {
            return Ok(Some(latest));
        }
        let entries =
            self.store.read(store_keys::NOTIFICATIONS, after.saturating_sub(1), BATCH + 1, Duration::ZERO).await?;
        let Some(([first], rest)) = entries.split_first_chunk() else { return Ok(None) };
        let notifications =
            rest.iter().map(|entry| (entry.position, Arc::new(WorkerNotification::read_or_empty(entry))));
        Ok((first.position == after).then(|| notifications.collect()))
    }
}

impl SharedSession {
    /// Reads the stream of the session from the logs, from a place on, until its reader goes.
    pub(in crate::transport::http_server) fn follow(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        connection: &Arc<Connection>,
        after: StreamPosition,
        reader: u64,
    ) {
        let (stream, workers) = (Arc::clone(stream), Arc::clone(&self.workers));
        let subscriber = Arc::clone(connection);
        let wake = workers.recent.enter(&self.id, Box::new(move |changes| subscriber.is_subscribed_to(changes)));
        let (shared, connection) = (Arc::clone(self), Arc::clone(connection));
        let runtime = Arc::clone(&workers.runtime);
        let feed = Feed { shared, workers, stream, connection, reader, wake, has_events: true };
        runtime.spawn(Box::pin(feed.run(after)));
    }

    /// The place from which a client reads that names none: it has read what is before.
    pub(in crate::transport::http_server) async fn start(&self) -> Result<StreamPosition, StoreError> {
        let kept = self.workers.store.get(&store_keys::read_up_to(&self.id)).await?;
        let kept = kept.and_then(|id| EventId::parse(&id)).and_then(StreamPosition::of);
        Ok(kept
            .filter(|kept| kept.notification >= self.opened)
            .unwrap_or(StreamPosition { notification: self.opened, own: 0 }))
    }

    /// Returns whether the stream can go on after a place that a client named: what followed it is
    /// kept, or can be made up for.
    pub(in crate::transport::http_server) async fn can_resume_from(
        &self,
        cursor: StreamPosition,
    ) -> Result<bool, StoreError> {
        let Workers { store, recent, max_events, .. } = &*self.workers;
        if cursor.notification < self.opened {
            return Ok(false);
        }
        if cursor.notification > recent.position() {
            // Not read here yet: it is new, or made up.
            let found =
                store.read(store_keys::NOTIFICATIONS, cursor.notification.saturating_sub(1), 1, Duration::ZERO).await?;
            if found.first().is_none_or(|entry| entry.position != cursor.notification) {
                return Ok(false);
            }
        }
        let log = store_keys::events(&self.id);
        if cursor.own == 0 {
            // As many as are kept may have been more.
            return Ok(store.read(&log, 0, *max_events, Duration::ZERO).await?.len() < *max_events);
        }
        let found = store.read(&log, cursor.own - 1, 1, Duration::ZERO).await?;
        Ok(found.first().is_some_and(|entry| entry.position == cursor.own))
    }

    /// Lets the streams of this session at other processes end: its client has come here.
    pub(in crate::transport::http_server) fn take_stream(&self) {
        self.workers.publish(store_keys::MESSAGES, NotificationContent::StreamTaken { session: self.id.to_string() });
    }
}

/// Feeds the stream of a session until its reader goes.
struct Feed {
    shared: Arc<SharedSession>,
    workers: Arc<Workers>,
    stream: Arc<Stream>,
    connection: Arc<Connection>,
    reader: u64,
    wake: Arc<Notify>,
    /// The log of the session may have events that were not read.
    has_events: bool,
}

impl Feed {
    async fn run(mut self, mut cursor: StreamPosition) {
        let runtime = Arc::clone(&self.workers.runtime);
        let (mut kept, mut searched) = (cursor, runtime.now());
        loop {
            let is_replaced = self.take_news(&mut cursor, &mut searched);
            // LIFE-05: a session is sent nothing before it is initialized.
            let has_room = self.stream.ahead() < MAX_AHEAD && self.connection.is_initialized();
            let before = cursor;
            // After a failure, the place is that up to which it was fed.
            let fed = if has_room { self.feed(&mut cursor).await } else { Ok(()) };
            let is_more = fed.is_ok() && cursor != before;
            let is_read = !is_replaced && self.stream.is_read_by(self.reader);
            if !is_read || !is_more {
                kept = self.save_cursor(cursor, kept).await;
            }
            if !is_read || self.connection.is_closed() {
                return;
            }
            self.shared.renew();
            if !is_more {
                if has_room && fed.is_ok() {
                    self.workers.recent.rest(&self.shared.id, &self.wake, cursor.notification);
                }
                let pause = if has_room { LOOK } else { PAUSE };
                race::until(&*runtime, later(runtime.now(), pause), self.wake.notified()).await;
            }
        }
    }

    /// Takes in what happened meanwhile. `true`: a newer stream has taken over.
    fn take_news(&mut self, cursor: &mut StreamPosition, searched: &mut Instant) -> bool {
        let updates = self.workers.recent.updates(&self.shared.id, &self.wake);
        cursor.notification = updates.done.map_or(cursor.notification, |done| cursor.notification.max(done));
        let now = self.workers.runtime.now();
        let is_time = now.saturating_duration_since(*searched) >= SEARCH;
        self.has_events |= updates.has_events || is_time;
        if self.has_events {
            *searched = now;
        }
        updates.is_replaced
    }

    /// Feeds what follows a place, which moves to the one from which there is more.
    async fn feed(&mut self, cursor: &mut StreamPosition) -> Result<(), StoreError> {
        let notification = match self.workers.notifications_after(cursor.notification).await? {
            Some(notifications) => {
                self.feed_notifications(&notifications, *cursor);
                notifications.last().map_or(cursor.notification, |(position, _)| *position)
            }
            None => self.feed_all(*cursor),
        };
        cursor.notification = notification;
        if self.has_events {
            let log = store_keys::events(&self.shared.id);
            let entries = self.workers.store.read(&log, cursor.own, BATCH, Duration::ZERO).await?;
            self.has_events = entries.len() == BATCH;
            cursor.own = self.pass_on(entries, *cursor);
        }
        Ok(())
    }

    /// Feeds the changes among notifications that the client asked for.
    fn feed_notifications(&self, notifications: &[(u64, Arc<WorkerNotification>)], cursor: StreamPosition) {
        let (mut events, mut said) = (Vec::new(), HashSet::new());
        for (position, notification) in notifications {
            if let NotificationContent::Announced(Announcement::Changed(changes)) = &notification.content {
                // That something changed is as true when it is said once.
                let mut new = self.connection.notifications_of(changes);
                new.retain(|new| said.insert(new.clone()));
                events.extend(events_at(StreamPosition { notification: *position, ..cursor }, new));
            }
        }
        self.stream.feed(self.reader, events);
    }

    /// Feeds a notification of everything that the client asked for, because nobody knows any more
    /// which of it changed: the position of the latest notification.
    fn feed_all(&self, cursor: StreamPosition) -> u64 {
        let notification = self.workers.recent.position();
        let all = self.connection.all_notifications();
        self.stream.feed(self.reader, events_at(StreamPosition { notification, ..cursor }, all));
        notification
    }

    /// Feeds events of the session: the position of the last one.
    fn pass_on(&self, entries: Vec<LogEntry>, cursor: StreamPosition) -> u64 {
        let last = entries.last().map_or(cursor.own, |entry| entry.position);
        let events = entries.into_iter().map(|LogEntry { position, text }| {
            (Some(StreamPosition { own: position, ..cursor }.id()), Bytes::from(text))
        });
        self.stream.feed(self.reader, events.collect());
        last
    }

    /// Keeps the place up to which the client has read, for streams that do not name it.
    async fn save_cursor(&self, cursor: StreamPosition, kept: StreamPosition) -> StreamPosition {
        // Up to here there was nothing more for it.
        let is_at_end = !self.stream.is_read_by(self.reader) && self.stream.has_read_all(self.reader);
        let read = if is_at_end { Some(cursor) } else { self.stream.read_up_to().and_then(StreamPosition::of) };
        let Some(read) = read.filter(|read| *read != kept) else { return kept };
        let key = store_keys::read_up_to(&self.shared.id);
        match self.workers.store.put(&key, &read.id().to_string(), self.workers.idle).await {
            Ok(()) => read,
            Err(_) => kept,
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.workers.recent.leave(&self.shared.id, &self.wake);
    }
}

/// Messages of one place as events. An id is given once, and the last one has it: a client that got
/// some of them gets all again.
fn events_at(cursor: StreamPosition, messages: Vec<Bytes>) -> Vec<(Option<EventId>, Bytes)> {
    let last = messages.len();
    messages.into_iter().zip(1..).map(|(message, number)| ((number == last).then(|| cursor.id()), message)).collect()
}
