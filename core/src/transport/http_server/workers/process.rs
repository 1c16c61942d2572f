//! This process among those that serve the same server.

use super::{
    keys,
    notice::{Notice, Tells},
    outbox::{Outbox, OutboxEntry},
};
use crate::{
    engine::{Limits, later},
    protocol::envelope::Frame,
    runtime::Runtime,
    server::{Announce, Announcement, Announcer, Connection, Outbound, Server},
    store::{LogEntry, Store, StoreError, StoreGuard},
    sync::Mutex,
};
use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{OnceCell, watch};

/// Longest time that a read of a log waits for an entry.
const WAIT: Duration = Duration::from_secs(20);
/// Pause after a failure of the store.
pub(super) const PAUSE: Duration = Duration::from_millis(100);
/// Bounds of a log of messages.
pub(super) const MAX_MESSAGES: usize = 10_000;
pub(super) const KEEP_MESSAGES: Duration = Duration::from_secs(600);
/// Bounds of the log that every process reads: a client can come back for events within them.
const MAX_NOTICES: usize = 10_000;
const KEEP_NOTICES: Duration = Duration::from_secs(3600);
/// Most entries of one read.
pub(super) const BATCH: usize = 256;
/// Time after its last sign of life until a process counts as gone.
const LEASE: Duration = Duration::from_secs(8);
/// Notices that a process remembers, so that its streams need not ask the store.
const MAX_LATEST: usize = 1024;

/// The sessions that this process serves at present.
pub(in crate::transport::http_server) trait ServedSessions:
    Send + Sync + 'static
{
    /// The conversation of a session.
    fn connection(&self, id: &str) -> Option<Arc<Connection>>;
    /// Ends a session here.
    fn end(&self, id: &str);
    /// Ends the reading of the stream of a call here.
    fn give_up_call_stream(&self, id: &str, stream: u64);
    /// Ends the stream of a session's messages without a request here.
    fn give_up_stream(&self, id: &str);
}

/// This process among those that serve the same server.
pub(in crate::transport::http_server) struct Workers {
    pub(super) store: StoreGuard,
    pub(super) runtime: Arc<dyn Runtime>,
    /// The number of this process: 32 random bits.
    pub(super) number: u64,
    /// Rises with everything that needs a number of its own.
    next: AtomicU64,
    outbox: Arc<Outbox>,
    sessions: Weak<dyn ServedSessions>,
    /// The longest time that a session may be idle.
    pub(super) idle: Duration,
    limits: Limits,
    nowhere: Arc<dyn Outbound>,
    announcer: OnceLock<Arc<Announcer>>,
    joined: OnceCell<()>,
    pub(super) latest: Mutex<LatestNotices>,
    /// The position of the latest notice.
    pub(super) position: watch::Sender<u64>,
}

/// The notices that came last.
#[derive(Default)]
pub(super) struct LatestNotices {
    /// All notices after this position are among them.
    pub(super) after: u64,
    notices: VecDeque<(u64, Arc<Notice>)>,
}

impl Workers {
    /// Tells other processes of this server's changes from now on, by its store. `None`: it has
    /// none.
    pub(in crate::transport::http_server) fn of(
        server: &Server,
        runtime: &Arc<dyn Runtime>,
        sessions: &Arc<impl ServedSessions>,
        nowhere: &Arc<dyn Outbound>,
    ) -> Option<Arc<Self>> {
        let options = server.options();
        let stay = |error: &dyn std::fmt::Display| {
            tracing::error!(target: "trunkline::server::session", %error, "sessions stay in this process");
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
        let _ = workers.announcer.set(server.announce_to(others, workers.number));
        Some(workers)
    }

    /// The store that all processes share.
    pub(in crate::transport::http_server) fn store(&self) -> &StoreGuard {
        &self.store
    }

    /// A number that no stream of this process had, and none of another has.
    pub(super) fn next_stream(&self) -> u64 {
        (self.number << 32) | (self.next.fetch_add(1, Ordering::Relaxed) & u64::from(u32::MAX))
    }

    /// The beginning of ids of requests to a client: they tell by which process, and a session that
    /// it serves again has others than before.
    pub(super) fn prefix_of_ids(&self) -> String {
        format!("{}-{}-", self.number, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Begins to read what other processes tell, if that has not begun yet.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::transport::http_server) async fn join(self: &Arc<Self>) -> Result<(), StoreError> {
        let join = async || {
            let position = self.tell_now(Tells::Joined).await?;
            self.latest.lock().after = position;
            self.position.send_replace(position);
            let (log, joined) = (keys::MESSAGES, self.written(Tells::Joined));
            let begin = self.store.append(log, &joined, MAX_MESSAGES, KEEP_MESSAGES).await?;
            self.store.put(&keys::worker(self.number), "1", LEASE).await?;
            self.follow(keys::NOTICES.to_owned(), position, Self::notice);
            self.follow(log.to_owned(), begin, Self::message);
            self.follow(keys::messages(self.number), 0, Self::message);
            self.show_life();
            Ok(())
        };
        self.joined.get_or_try_init(join).await.map(drop)
    }

    /// Shows others that this process lives, as long as it does.
    fn show_life(self: &Arc<Self>) {
        let (store, runtime, workers) = (self.store.clone(), Arc::clone(&self.runtime), Arc::downgrade(self));
        let key = keys::worker(self.number);
        self.runtime.spawn(Box::pin(async move {
            while workers.strong_count() > 0 {
                runtime.sleep_until(later(runtime.now(), LEASE / 4)).await;
                let _ = store.put(&key, "1", LEASE).await;
            }
            let _ = store.remove(&key).await;
        }));
    }

    /// Returns whether a process lives, as far as is known.
    pub(super) async fn lives(&self, number: u64) -> bool {
        number == self.number || !matches!(self.store.get(&keys::worker(number)).await, Ok(None))
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
            self.heed(notice.from, &notice.tells);
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
    fn heed(&self, from: u64, tells: &Tells) {
        match tells {
            Tells::Joined | Tells::ToClient { .. } => {}
            Tells::Announced(announcement) => {
                if let Some(announcer) = self.announcer.get() {
                    announcer.deliver(from, announcement);
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
            Tells::CallStreamTaken { session, stream } => {
                if let Some(sessions) = self.sessions.upgrade() {
                    sessions.give_up_call_stream(session, *stream);
                }
            }
            Tells::StreamTaken { session } => {
                if let Some(sessions) = self.sessions.upgrade() {
                    sessions.give_up_stream(session);
                }
            }
        }
    }

    /// Takes in a message that came to another process.
    fn message(&self, entry: &LogEntry) {
        if let Some(notice) = read_notice(entry).filter(|notice| notice.from != self.number) {
            self.heed(notice.from, &notice.tells);
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
            tracing::error!(target: "trunkline::server::session", "a message of a client came broken from another process");
        }
    }

    /// The notices after a position, and at most [`BATCH`] of them.
    pub(super) async fn notices_after(&self, after: u64) -> Result<Vec<(u64, Arc<Notice>)>, StoreError> {
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
    pub(super) fn tell(&self, tells: Tells) {
        self.append_soon(keys::NOTICES.to_owned(), self.written(tells), MAX_NOTICES, KEEP_NOTICES);
    }

    pub(super) fn append_soon(&self, log: String, text: String, max_entries: usize, keep_for: Duration) {
        self.outbox.push(OutboxEntry { log, text, max_entries, keep_for });
    }

    /// Tells the other processes, and gives the position of the notice.
    pub(super) async fn tell_now(&self, tells: Tells) -> Result<u64, StoreError> {
        self.store.append(keys::NOTICES, &self.written(tells), MAX_NOTICES, KEEP_NOTICES).await
    }

    pub(super) fn written(&self, tells: Tells) -> String {
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
        |problem| tracing::error!(target: "trunkline::server::session", error = %problem, "a notice of another process cannot be read"),
    )
    .ok()
}
