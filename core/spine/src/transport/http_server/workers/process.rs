//! This process as one of several workers of a server.

use super::{
    outbox::{Outbox, OutboxEntry, Watcher},
    recent_notifications::RecentNotifications,
    store_keys,
    worker_notification::{NotificationContent, WorkerNotification},
};
use crate::{
    engine::later,
    protocol::envelope::Frame,
    runtime::Runtime,
    server::{Announce, Announcement, Connection, Outbound, Server},
    store::{FollowedLog, LogEntry, Store, StoreError, StoreGuard},
    sync::Mutex,
};
use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::{OnceCell, Semaphore};

/// The wait after a failure of the store.
pub(super) const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Maximum number of entries of one read.
pub(super) const BATCH_SIZE: usize = 256;
/// Concurrent calls of sweeps must not fill the queue of a store.
const MAX_SWEEP_CALLS: usize = 16;
/// Maximum number of streams whose logs are waited for: clients can invent them.
const MAX_AWAITED_STREAMS: usize = 16;
/// The account of queued changes of tasks: with results, they can be large, and must not crowd out
/// other announcements.
const TASK_ACCOUNT: &str = "tasks";
/// Time after its last heartbeat when a process is presumed dead.
const LEASE_DURATION: Duration = Duration::from_secs(8);

/// The sessions that this process is serving.
pub(crate) trait ServedSessions: Send + Sync + 'static {
    /// The connection of a session.
    fn connection(&self, id: &str) -> Option<Arc<Connection>>;
    /// Ends a session in this process.
    fn end(&self, id: &str);
    /// Stops reading the stream of a call in this process.
    fn give_up_call_stream(&self, id: &str, stream: u64);
    /// Stops the stream of a session's messages unrelated to a request in this process.
    fn give_up_stream(&self, id: &str);
}

/// This process as one of several workers of a server.
pub(crate) struct Workers {
    pub(super) store: StoreGuard,
    pub(super) runtime: Arc<dyn Runtime>,
    /// The number of this process: 31 random bits.
    pub(super) number: u64,
    /// Incremented for each new number.
    next: AtomicU64,
    pub(super) outbox: Arc<Outbox>,
    sessions: Weak<dyn ServedSessions>,
    /// The sessions that this process no longer serves, although they may live on and have tasks
    /// here.
    pub(super) left: Mutex<HashSet<Arc<str>>>,
    /// Permits for the store calls of a sweep, which may concern thousands of sessions.
    pub(super) of_sweeps: Semaphore,
    /// Permits to wait for the log of a stream.
    pub(super) of_streams: Semaphore,
    /// Maximum idle time of a session.
    pub(super) idle: Duration,
    pub(super) server: Server,
    nowhere: Arc<dyn Outbound>,
    joined: OnceCell<()>,
    /// When this process last failed to renew its lease.
    unrenewed: Mutex<Option<Instant>>,
    /// Set to end the streams of calls that other processes serve.
    pub(crate) closing: AtomicBool,
    /// Maximum number and bytes of the events kept of a stream.
    pub(super) max_replay: (usize, usize),
    pub(super) recent: RecentNotifications,
}

impl Workers {
    /// Announces this server's changes to other processes through its store. Returns `None` without
    /// a store. `max_replay` is the number and bytes of the events kept of a stream.
    pub(crate) fn of(
        server: &Server,
        runtime: &Arc<dyn Runtime>,
        sessions: &Arc<impl ServedSessions>,
        nowhere: &Arc<dyn Outbound>,
        max_replay: (usize, usize),
    ) -> Option<Arc<Self>> {
        let options = server.options();
        let stay = |error: &dyn std::fmt::Display| {
            tracing::error!(target: "trunkline::server::session", %error, "sessions are not shared with other processes");
        };
        let store = server.store(runtime).inspect_err(|error| stay(error)).ok()??;
        let sessions: Weak<dyn ServedSessions> = Arc::downgrade(&(Arc::clone(sessions) as Arc<dyn ServedSessions>));
        let mut random = [0; 4];
        getrandom::fill(&mut random).inspect_err(|error| stay(error)).ok()?;
        let workers = Arc::new(Self {
            next: AtomicU64::new(1),
            outbox: Outbox::new(store.clone(), Arc::clone(runtime)),
            store,
            runtime: Arc::clone(runtime),
            number: (u32::from_be_bytes(random) >> 1).max(1).into(),
            sessions,
            left: Mutex::default(),
            of_sweeps: Semaphore::new(MAX_SWEEP_CALLS),
            of_streams: Semaphore::new(MAX_AWAITED_STREAMS),
            idle: options.session_idle,
            server: server.clone(),
            nowhere: Arc::clone(nowhere),
            joined: OnceCell::new(),
            unrenewed: Mutex::default(),
            closing: AtomicBool::new(false),
            max_replay,
            recent: RecentNotifications::default(),
        });
        let others: Weak<dyn Announce> = Arc::<Self>::downgrade(&workers);
        server.announce_to(others, workers.number);
        Some(workers)
    }

    /// A stream number that is unique across all processes.
    pub(super) fn next_stream(&self) -> u64 {
        (self.number << 32) | (self.next.fetch_add(1, Ordering::Relaxed) & u64::from(u32::MAX))
    }

    /// The prefix of ids of requests to a client. It identifies the process, and makes ids unique
    /// if a process serves a session again.
    pub(crate) fn prefix_of_ids(&self) -> String {
        format!("{}-{}-", self.number, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Starts reading what other processes announce, unless already started.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn join(self: &Arc<Self>) -> Result<(), StoreError> {
        let join = async || {
            let position = self.publish_and_wait(store_keys::NOTIFICATIONS, NotificationContent::Joined).await?;
            self.recent.begin(position);
            let begin = self.publish_and_wait(store_keys::MESSAGES, NotificationContent::Joined).await?;
            self.store.put(&store_keys::worker(self.number), "1", LEASE_DURATION).await?;
            let follow = |log, after, take| self.store.follow(log, after, Arc::downgrade(self), take);
            follow(FollowedLog::shared(store_keys::NOTIFICATIONS), position, Self::notification);
            follow(FollowedLog::shared(store_keys::MESSAGES), begin, Self::message);
            follow(FollowedLog::own(store_keys::messages(self.number)), 0, Self::message);
            self.show_life();
            Ok(())
        };
        self.joined.get_or_try_init(join).await.map(drop)
    }

    /// Sends heartbeats for as long as this process lives.
    fn show_life(self: &Arc<Self>) {
        let (store, runtime, workers) = (self.store.clone(), Arc::clone(&self.runtime), Arc::downgrade(self));
        let key = store_keys::worker(self.number);
        self.runtime.spawn(Box::pin(async move {
            while workers.strong_count() > 0 {
                runtime.sleep_until(later(runtime.now(), LEASE_DURATION / 4)).await;
                if store.put(&key, "1", LEASE_DURATION).await.is_err()
                    && let Some(workers) = workers.upgrade()
                {
                    *workers.unrenewed.lock() = Some(runtime.now());
                }
            }
            let _ = store.remove(&key).await;
        }));
    }

    /// Returns whether a process is alive, as far as is known. While this process could not renew
    /// its own lease, others could not either, so they get the time to do so.
    pub(super) async fn lives(&self, number: u64) -> bool {
        let is_recent = |at: Instant| self.runtime.now().saturating_duration_since(at) < LEASE_DURATION;
        number == self.number
            || !matches!(self.store.get(&store_keys::worker(number)).await, Ok(None))
            || self.unrenewed.lock().is_some_and(is_recent)
    }

    /// Handles an entry of the notifications log.
    fn notification(self: &Arc<Self>, entry: &LogEntry) {
        let Some(notification) = WorkerNotification::read(entry) else { return };
        if notification.from != self.number {
            self.apply(notification.from, &notification.content);
        }
        self.recent.post(entry.position, notification).iter().for_each(|stream| stream.notify_one());
    }

    /// Applies a notification, usually another process's.
    pub(super) fn apply(&self, from: u64, content: &NotificationContent) {
        match content {
            NotificationContent::Joined | NotificationContent::EventKept { .. } => {}
            NotificationContent::Announced(announcement) => self.server.deliver(from, announcement),
            NotificationContent::FromClient { session, message } => self.receive(session, message),
            NotificationContent::SessionChanged { session, changes } => {
                let Some(connection) = self.connection(session) else { return };
                changes.iter().for_each(|change| connection.apply(change));
            }
            NotificationContent::SessionEnded { session } => {
                self.sessions.upgrade().iter().for_each(|sessions| sessions.end(session));
                self.server.end_tasks_of_session(session);
            }
            NotificationContent::CallStreamTaken { session, stream } => {
                self.sessions.upgrade().iter().for_each(|sessions| sessions.give_up_call_stream(session, *stream));
            }
            NotificationContent::StreamTaken { session } => {
                self.sessions.upgrade().iter().for_each(|sessions| sessions.give_up_stream(session));
            }
        }
    }

    /// Handles a message from another process.
    fn message(self: &Arc<Self>, entry: &LogEntry) {
        let Some(notification) = WorkerNotification::read(entry) else { return };
        match &notification.content {
            // Also for events of this process: it is stored now.
            NotificationContent::EventKept { session } => self.recent.wake(session),
            content if notification.from != self.number => self.apply(notification.from, content),
            _ => {}
        }
    }

    fn connection(&self, session: &str) -> Option<Arc<Connection>> {
        self.sessions.upgrade()?.connection(session)
    }

    /// Handles a client's message that another process received and authenticated.
    fn receive(&self, session: &str, message: &str) {
        let Some(connection) = self.connection(session) else { return };
        let frame = Frame::parse(&message.as_bytes().to_vec().into(), self.server.options().limits.frame());
        if connection.receive(frame, None, &self.nowhere).is_err() {
            tracing::error!(target: "trunkline::server::session", "received an invalid client message from another process");
        }
    }

    /// Announces something to the other processes soon, through one of the two shared logs. `of` is
    /// what it counts towards while it waits.
    pub(super) fn publish(&self, log: &str, of: Option<Arc<str>>, content: NotificationContent) {
        let text = self.encoded(content);
        let (keep_for, log, watcher) = (store_keys::keep_for(log), log.to_owned(), Watcher::default());
        self.outbox.push(OutboxEntry { of, log, text, max_entries: None, keep_for, wake: None, watcher });
    }

    /// Completes when everything that other processes need of this one is stored.
    pub(crate) async fn sent(&self) {
        self.outbox.sent().await;
    }

    /// Announces something to the other processes and returns the position of the entry.
    pub(super) async fn publish_and_wait(&self, log: &str, content: NotificationContent) -> Result<u64, StoreError> {
        self.store.send(log, &self.encoded(content), store_keys::keep_for(log)).await
    }

    pub(super) fn encoded(&self, content: NotificationContent) -> String {
        serde_json::to_string(&WorkerNotification { from: self.number, content }).unwrap_or_default()
    }
}

impl Announce for Workers {
    fn announce(&self, announcement: Announcement) {
        let (log, of) = match &announcement {
            Announcement::Changed(_) => (store_keys::NOTIFICATIONS, None),
            // No client needs these to resume a stream.
            Announcement::ElicitationComplete(_) => (store_keys::MESSAGES, None),
            Announcement::TaskChanged { .. } => (store_keys::MESSAGES, Some(TASK_ACCOUNT.into())),
        };
        self.publish(log, of, NotificationContent::Announced(announcement));
    }
}
