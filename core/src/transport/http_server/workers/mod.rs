//! The processes that serve one server behind a load balancer without stickiness, by a store.
//!
//! Each process can go on with each session: its record is in the store (`sessions.rs`). All
//! processes read one log, by which they tell each other of changes (`notice.rs`). The stream of a
//! session's messages without a request is read from the same log (`unrelated.rs`), so that it goes
//! on at any process from the place of its last event.

mod keys;
mod notice;
mod outbox;
mod sessions;
mod unrelated;

pub(super) use sessions::SharedSession;
pub(super) use unrelated::event;

use crate::{
    engine::{Limits, later},
    protocol::envelope::Frame,
    runtime::Runtime,
    server::{Announce, Announcement, Announcer, Connection, Outbound, OutgoingMessage, Server},
    store::{LogEntry, Store, StoreError, StoreGuard},
    sync::Mutex,
};
use notice::{Notice, Tells};
use outbox::{Outbox, OutboxEntry};
use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};
use tokio::sync::{OnceCell, watch};

/// Longest time of a call of the store.
const DEADLINE: Duration = Duration::from_secs(5);
/// Longest time that a read of a log waits for an entry.
const WAIT: Duration = Duration::from_secs(20);
/// Pause after a failure of the store.
const PAUSE: Duration = Duration::from_millis(100);
/// Bounds of the log that every process reads: a client can come back for events within them.
const MAX_NOTICES: usize = 10_000;
const KEEP_NOTICES: Duration = Duration::from_secs(3600);
/// Most entries of one read.
const BATCH: usize = 256;
/// Notices that a process remembers, so that its streams need not ask the store.
const MAX_LATEST: usize = 1024;
/// Requests to clients that one process can number in one session.
const REQUESTS_BITS: u32 = 20;

/// The sessions that this process serves at present.
pub(super) trait ServedSessions: Send + Sync + 'static {
    /// The conversation of a session.
    fn connection(&self, id: &str) -> Option<Arc<Connection>>;
    /// Ends a session here.
    fn end(&self, id: &str);
    /// Ends the stream of a session's messages without a request here.
    fn give_up_stream(&self, id: &str);
}

/// This process among those that serve the same server.
pub(super) struct Workers {
    store: StoreGuard,
    runtime: Arc<dyn Runtime>,
    /// The number of this process: 32 random bits.
    number: u64,
    outbox: Arc<Outbox>,
    sessions: Weak<dyn ServedSessions>,
    /// The longest time that a session may be idle.
    idle: Duration,
    limits: Limits,
    nowhere: Arc<dyn Outbound>,
    announcer: OnceLock<Arc<Announcer>>,
    joined: OnceCell<()>,
    latest: Mutex<LatestNotices>,
    /// The position of the latest notice.
    position: watch::Sender<u64>,
}

/// The notices that came last.
#[derive(Default)]
struct LatestNotices {
    /// All notices after this position are among them.
    after: u64,
    notices: VecDeque<(u64, Arc<Notice>)>,
}

impl Workers {
    /// Tells other processes of this server's changes from now on, by its store. `None`: it has
    /// none.
    pub(super) fn of(
        server: &Server,
        runtime: &Arc<dyn Runtime>,
        sessions: &Arc<impl ServedSessions>,
        nowhere: &Arc<dyn Outbound>,
    ) -> Option<Arc<Self>> {
        let options = server.options();
        let store = Arc::clone(options.session_store.as_ref()?);
        let store = StoreGuard::new(store, "of sessions", Arc::clone(runtime), DEADLINE);
        let sessions: Weak<dyn ServedSessions> = Arc::downgrade(&(Arc::clone(sessions) as Arc<dyn ServedSessions>));
        let mut random = [0; 4];
        if let Err(error) = getrandom::fill(&mut random) {
            tracing::error!(target: "trunkline::server", "sessions stay in this process, for the system gives no random bytes: {error}");
            return None;
        }
        let workers = Arc::new(Self {
            outbox: Outbox::new(store.clone(), Arc::clone(runtime)),
            store,
            runtime: Arc::clone(runtime),
            number: u32::from_be_bytes(random).max(1).into(),
            sessions,
            idle: options.session_idle,
            limits: options.limits.clone(),
            nowhere: Arc::clone(nowhere),
            announcer: OnceLock::new(),
            joined: OnceCell::new(),
            latest: Mutex::default(),
            position: watch::Sender::new(0),
        });
        let others: Weak<dyn Announce> = Arc::<Self>::downgrade(&workers);
        let _ = workers.announcer.set(server.announce_to(others));
        Some(workers)
    }

    /// The first id of requests to clients that this process makes: ids tell by which process.
    fn first_request(&self) -> i64 {
        i64::try_from(self.number << REQUESTS_BITS).unwrap_or_default() + 1
    }

    /// The number of the first stream of events that this process keeps for a session.
    pub(super) fn first_stream(&self) -> u64 {
        (self.number << REQUESTS_BITS) + 1
    }

    /// Begins to read what other processes tell, if that has not begun yet.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn join(self: &Arc<Self>) -> Result<(), StoreError> {
        let join = async || {
            let position = self.tell_now(Tells::Joined).await?;
            self.latest.lock().after = position;
            self.position.send_replace(position);
            self.follow(keys::NOTICES.to_owned(), position, Self::notice);
            self.follow(keys::messages(self.number), 0, Self::message);
            Ok(())
        };
        self.joined.get_or_try_init(join).await.map(drop)
    }

    /// Gives the entries of a log to `take`, as long as these workers live.
    fn follow(self: &Arc<Self>, log: String, mut after: u64, take: fn(&Self, &LogEntry)) {
        let (store, runtime, workers) = (self.store.clone(), Arc::clone(&self.runtime), Arc::downgrade(self));
        self.runtime.spawn(Box::pin(async move {
            loop {
                let read = store.read(&log, after, BATCH, WAIT).await;
                let Some(workers) = workers.upgrade() else { return };
                match read {
                    Ok(entries) => {
                        for entry in entries {
                            after = entry.position;
                            take(&workers, &entry);
                        }
                    }
                    // The place is kept: nothing is missed.
                    Err(_) => {
                        drop(workers);
                        runtime.sleep_until(later(runtime.now(), PAUSE)).await;
                    }
                }
            }
        }));
    }

    /// Takes a notice in.
    fn notice(&self, entry: &LogEntry) {
        let Some(notice) = read_notice(entry) else { return };
        if notice.from != self.number {
            self.heed(&notice.tells);
        }
        {
            let mut latest = self.latest.lock();
            latest.notices.push_back((entry.position, Arc::new(notice)));
            if latest.notices.len() > MAX_LATEST
                && let Some((position, _)) = latest.notices.pop_front()
            {
                latest.after = position;
            }
        }
        self.position.send_replace(entry.position);
    }

    /// Does what another process's notice asks for.
    fn heed(&self, tells: &Tells) {
        match tells {
            Tells::Joined | Tells::ToClient { .. } => {}
            Tells::Announced(announcement) => {
                if let Some(announcer) = self.announcer.get() {
                    announcer.deliver(announcement);
                }
            }
            Tells::FromClient { session, message } => self.receive(session, message),
            Tells::SessionChanged { session, changes } => {
                if let Some(connection) = self.connection(session) {
                    changes.iter().for_each(|change| connection.apply(change));
                }
            }
            Tells::SessionEnded { session } => {
                if let Some(sessions) = self.sessions.upgrade() {
                    sessions.end(session);
                }
            }
            Tells::StreamTaken { session } => {
                if let Some(sessions) = self.sessions.upgrade() {
                    sessions.give_up_stream(session);
                }
            }
        }
    }

    /// Takes in a message for this process alone.
    fn message(&self, entry: &LogEntry) {
        match read_notice(entry).map(|notice| notice.tells) {
            Some(Tells::FromClient { session, message }) => self.receive(&session, &message),
            _ => tracing::error!(target: "trunkline::server", "not a message of a client: {}", entry.text),
        }
    }

    fn connection(&self, session: &str) -> Option<Arc<Connection>> {
        self.sessions.upgrade()?.connection(session)
    }

    /// Takes in a message of a client that came to another process, which has checked its sender.
    fn receive(&self, session: &str, message: &str) {
        let Some(connection) = self.connection(session) else { return };
        let frame = Frame::parse(&message.as_bytes().to_vec().into(), self.limits.frame());
        if connection.receive(frame, None, &self.nowhere).is_err() {
            tracing::error!(target: "trunkline::server", "a message of a client came broken from another process");
        }
    }

    /// The notices after a position, and at most [`BATCH`] of them.
    async fn notices_after(&self, after: u64) -> Result<Vec<(u64, Arc<Notice>)>, StoreError> {
        {
            let latest = self.latest.lock();
            if latest.after <= after {
                let new = latest.notices.iter().skip_while(|(position, _)| *position <= after);
                return Ok(new.take(BATCH).cloned().collect());
            }
        }
        let entries = self.store.read(keys::NOTICES, after, BATCH, Duration::ZERO).await?;
        let notices = entries.iter().map(|entry| (entry.position, read_notice(entry)));
        // A stream must pass by an entry that cannot be read, too.
        let unreadable = || Notice { from: 0, tells: Tells::Joined };
        Ok(notices.map(|(position, notice)| (position, Arc::new(notice.unwrap_or_else(unreadable)))).collect())
    }

    /// Tells the other processes soon.
    fn tell(&self, tells: Tells) {
        let text = self.written(tells);
        let log = keys::NOTICES.to_owned();
        self.outbox.push(OutboxEntry { log, text, max_entries: MAX_NOTICES, keep_for: KEEP_NOTICES });
    }

    /// Tells the other processes, and gives the position of the notice.
    async fn tell_now(&self, tells: Tells) -> Result<u64, StoreError> {
        self.store.append(keys::NOTICES, &self.written(tells), MAX_NOTICES, KEEP_NOTICES).await
    }

    fn written(&self, tells: Tells) -> String {
        serde_json::to_string(&Notice { from: self.number, tells }).unwrap_or_default()
    }
}

impl Announce for Workers {
    fn announce(&self, announcement: Announcement) {
        self.tell(Tells::Announced(announcement));
    }
}

fn read_notice(entry: &LogEntry) -> Option<Notice> {
    let read = serde_json::from_str(&entry.text);
    read.inspect_err(
        |problem| tracing::error!(target: "trunkline::server", "a notice of another process cannot be read: {problem}"),
    )
    .ok()
}

/// The way of messages without a request to the client of a shared session: by the log, to whichever
/// process has the stream.
struct ToClient {
    workers: Weak<Workers>,
    session: Arc<str>,
}

impl Outbound for ToClient {
    fn send(&self, outgoing: OutgoingMessage) {
        if let (Some(workers), Some(message)) = (self.workers.upgrade(), outgoing.message()) {
            let message = String::from_utf8_lossy(message).into_owned();
            workers.tell(Tells::ToClient { session: self.session.to_string(), message });
        }
    }
}
