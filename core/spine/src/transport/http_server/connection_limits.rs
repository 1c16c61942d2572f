//! Connection limits of a listener, and which connections are evicted.

use super::forwarded::network_of;
use crate::{
    counts::{CountLimits, Counts},
    sync::Mutex,
};
use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::{
    sync::Notify,
    time::{Duration, Instant},
};

/// A connection without a request after this time counts as silent.
const FIRST_REQUEST: Duration = Duration::from_millis(100);
/// A connection whose client has not read for this long can be evicted.
pub(super) const STALLED: Duration = Duration::from_secs(5);
/// File descriptors reserved for the rest of the process: files, children, outgoing connections.
#[cfg(unix)]
const SPARE_DESCRIPTORS: u64 = 64;

/// The open connections.
pub(super) struct Connections {
    table: Mutex<ConnectionTable>,
    limits: CountLimits,
}

#[derive(Default)]
struct ConnectionTable {
    /// Oldest first.
    open: BTreeMap<u64, ConnectionEntry>,
    addresses: Counts<IpAddr>,
    next: u64,
}

struct ConnectionEntry {
    /// The peer's address, or its network; a Unix socket has none.
    address: Option<IpAddr>,
    since: Instant,
    activity: Arc<Activity>,
}

/// Why a connection can be evicted, the best reason first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Evictable {
    /// The connection has never had a request.
    Silent,
    /// The connection has no request.
    Idle,
    /// Its client does not read what is sent to it.
    Stalled,
}

/// The permit of a connection, released on drop.
pub(super) struct ConnectionPermit {
    connections: Arc<Connections>,
    number: u64,
    pub(super) activity: Arc<Activity>,
}

/// Why a connection is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionLimit {
    /// A permit may become available when an evicted connection or a request ends.
    Total,
    /// All connections of its address are busy.
    PerAddress,
}

/// The activity of a connection.
#[derive(Default)]
pub(super) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
    /// Since when a write has been pending, without any progress.
    unwritten_since: Mutex<Option<Instant>>,
    /// Over HTTP/2: since when the client has read none of its responses.
    unread_since: Mutex<Option<Instant>>,
    /// True if the connection closes after its requests anyway.
    closing: AtomicBool,
    /// Notified when the connection is evicted.
    pub(super) evicted: Notify,
}

impl Connections {
    /// `max_per_address` is 0 for no limit.
    pub(super) fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        let each = if max_per_address == 0 { usize::MAX } else { max_per_address };
        let limits = CountLimits { all: within_descriptors(max.max(1)), each };
        Arc::new(Self { table: Mutex::default(), limits })
    }

    /// Acquires a permit. At the total or per-address limit, evicts a connection without a request,
    /// or whose client reads nothing. Its permit is released only when it has ended, because a
    /// request may arrive in the meantime.
    ///
    /// # Errors
    /// If no permit is available yet.
    pub(super) fn enter(self: &Arc<Self>, address: Option<IpAddr>) -> Result<ConnectionPermit, ConnectionLimit> {
        // Otherwise a client with an IPv6 network would have as many shares as addresses.
        let address = address.map(network_of);
        let mut table = self.table.lock();
        if table.addresses.of(address.as_ref()) >= self.limits.each {
            let evicted = table.evict(|entry| entry.address == address);
            return Err(if evicted { ConnectionLimit::Total } else { ConnectionLimit::PerAddress });
        }
        if !table.addresses.take(address.as_ref(), 1, self.limits) {
            table.evict(|_| true);
            return Err(ConnectionLimit::Total);
        }
        table.next += 1;
        let (number, activity) = (table.next, Arc::<Activity>::default());
        table.open.insert(number, ConnectionEntry { address, since: Instant::now(), activity: Arc::clone(&activity) });
        Ok(ConnectionPermit { connections: Arc::clone(self), number, activity })
    }
}

impl ConnectionTable {
    /// Evicts the oldest connection that has never had a request, or else the oldest that currently
    /// has none, or else the oldest whose client reads nothing. Returns `false` if each other one
    /// has a request, may be about to send its first, or is closing already: one that was evicted
    /// while a request arrived may take long to answer it.
    fn evict(&self, among: impl Fn(&ConnectionEntry) -> bool) -> bool {
        let mine = self.open.iter().filter(|(_, entry)| among(entry));
        let evictable = mine.filter_map(|(number, entry)| Some((entry.evictable()?, *number, entry)));
        let evicted = evictable.min_by_key(|(why, number, _)| (*why, *number));
        if let Some((_, _, entry)) = evicted {
            entry.activity.evicted.notify_one();
        }
        evicted.is_some()
    }

    fn remove(&mut self, number: u64) {
        let Some(entry) = self.open.remove(&number) else { return };
        self.addresses.give_back(entry.address.as_ref(), 1);
    }
}

impl ConnectionEntry {
    fn evictable(&self) -> Option<Evictable> {
        let activity = &self.activity;
        let is_late = || self.since.elapsed() >= FIRST_REQUEST;
        match activity.is_idle() && !activity.closing.load(Ordering::Relaxed) {
            true if activity.begun.load(Ordering::Relaxed) > 0 => Some(Evictable::Idle),
            true => is_late().then_some(Evictable::Silent),
            false => activity.is_stalled().then_some(Evictable::Stalled),
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.connections.table.lock().remove(self.number);
    }
}

impl Activity {
    /// Marks the start of a request, which ends when the returned guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Active {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Active(Arc::clone(self))
    }

    /// Returns whether there is currently no request, and no response that waits to be read.
    pub(super) fn is_idle(&self) -> bool {
        let ended = self.ended.load(Ordering::Acquire);
        self.begun.load(Ordering::Relaxed) == ended
    }

    /// Sets whether a write is pending, when one begins to be or some of it succeeds.
    pub(super) fn set_unwritten(&self, is_unwritten: bool) {
        *self.unwritten_since.lock() = is_unwritten.then(Instant::now);
    }

    /// Over HTTP/2: sets whether responses wait to be read, after the client has read something or
    /// has got the first of them. If its windows allow no data, no write is pending.
    pub(super) fn set_unread(&self, is_unread: bool) {
        *self.unread_since.lock() = is_unread.then(Instant::now);
    }

    /// Returns whether the client has read nothing for a while, although there is something to
    /// read.
    pub(super) fn is_stalled(&self) -> bool {
        lasts(&self.unwritten_since, STALLED) || self.is_unread_for(STALLED)
    }

    /// Over HTTP/2: returns whether the client has read none of its responses for this time.
    pub(super) fn is_unread_for(&self, time: Duration) -> bool {
        lasts(&self.unread_since, time)
    }

    /// A number that changes whenever a request or a pending write starts or ends.
    pub(super) fn changes(&self) -> u64 {
        self.begun.load(Ordering::Relaxed).wrapping_add(self.ended.load(Ordering::Relaxed))
    }

    /// Marks that the connection closes after its requests, so that it is only evicted if its
    /// client does not read the responses.
    pub(super) fn set_closing(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}

fn lasts(since: &Mutex<Option<Instant>>, time: Duration) -> bool {
    since.lock().is_some_and(|since| since.elapsed() >= time)
}

/// A request until the connection has taken its response, or a pending write.
pub(super) struct Active(Arc<Activity>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
    }
}

/// Limits the number to the available file descriptors.
fn within_descriptors(max: usize) -> usize {
    #[cfg(unix)]
    if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        return max.min(usize::try_from(spared(limit)).unwrap_or(usize::MAX));
    }
    max
}

#[cfg(unix)]
fn spared(limit: u64) -> u64 {
    (limit - SPARE_DESCRIPTORS.min(limit / 2)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));
    const BOB: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)));

    async fn evicted(permit: &ConnectionPermit) -> bool {
        tokio::time::timeout(Duration::from_millis(1), permit.activity.evicted.notified()).await.is_ok()
    }

    fn enter(connections: &Arc<Connections>, address: Option<IpAddr>) -> ConnectionPermit {
        connections.enter(address).ok().unwrap()
    }

    fn limit_hit(connections: &Arc<Connections>, address: Option<IpAddr>) -> Option<ConnectionLimit> {
        connections.enter(address).err()
    }

    #[tokio::test(start_paused = true)]
    async fn beyond_the_limit_silent_connections_are_closed_and_then_idle_ones() {
        let connections = Connections::new(3, 0);
        let [busy, idle, silent] = [(); 3].map(|()| enter(&connections, None));
        let request = busy.activity.begin();
        drop(idle.activity.begin());
        tokio::time::advance(FIRST_REQUEST).await;
        assert_eq!(limit_hit(&connections, None), Some(ConnectionLimit::Total));
        assert!(evicted(&silent).await && !evicted(&idle).await && !evicted(&busy).await);
        drop(silent);
        let next = enter(&connections, None);
        let _next = next.activity.begin();
        assert_eq!(limit_hit(&connections, None), Some(ConnectionLimit::Total));
        assert!(evicted(&idle).await && !evicted(&busy).await);
        drop(idle);
        let last = enter(&connections, None);
        let _last = last.activity.begin();
        assert_eq!(limit_hit(&connections, None), Some(ConnectionLimit::Total), "each has a request");
        drop(request);
        assert_eq!(limit_hit(&connections, None), Some(ConnectionLimit::Total));
        assert!(evicted(&busy).await);
        drop((busy, next));
        assert_eq!(connections.table.lock().open.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_has_a_deadline_for_its_first_request_and_counts_until_it_is_closed() {
        let connections = Connections::new(1, 0);
        let first = enter(&connections, None);
        assert_eq!(limit_hit(&connections, None), Some(ConnectionLimit::Total));
        assert!(!evicted(&first).await, "its request may be on its way");
        tokio::time::advance(FIRST_REQUEST).await;
        assert_eq!(limit_hit(&connections, None), Some(ConnectionLimit::Total));
        assert!(evicted(&first).await);
        // A request arrived in the meantime.
        let _request = first.activity.begin();
        assert_eq!(limit_hit(&connections, None), Some(ConnectionLimit::Total));
        assert!(!evicted(&first).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_its_share() {
        let connections = Connections::new(100, 2);
        let alice = [(); 2].map(|()| enter(&connections, ALICE));
        let requests = alice.each_ref().map(|permit| permit.activity.begin());
        assert_eq!(limit_hit(&connections, ALICE), Some(ConnectionLimit::PerAddress));
        let [first, second] = [(); 2].map(|()| enter(&connections, BOB));
        assert_eq!(
            limit_hit(&connections, BOB),
            Some(ConnectionLimit::PerAddress),
            "their requests may be on their way"
        );
        tokio::time::advance(FIRST_REQUEST).await;
        assert_eq!(limit_hit(&connections, BOB), Some(ConnectionLimit::Total));
        assert!(evicted(&first).await && !evicted(&second).await, "the older one of the same client");
        drop(first);
        let _third = enter(&connections, BOB);
        let _unix = [(); 3].map(|()| enter(&connections, None));
        drop((requests, alice));
        drop(enter(&connections, ALICE));
        assert_eq!(connections.table.lock().addresses.of(ALICE.as_ref()), 0);
    }

    #[test]
    fn the_addresses_of_a_network_share_what_one_client_has() {
        let connections = Connections::new(100, 1);
        let of = |text: &str| Some(text.parse().unwrap());
        let _permits = ["2001:db8:1:2::3", "2001:db8:1:3::3", "192.0.2.1"].map(|text| enter(&connections, of(text)));
        for text in ["2001:db8:1:2:4::5", "::ffff:192.0.2.1"] {
            assert_eq!(limit_hit(&connections, of(text)), Some(ConnectionLimit::PerAddress), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_closing_already_is_not_evicted() {
        let connections = Connections::new(3, 1);
        let alice = enter(&connections, ALICE);
        drop(alice.activity.begin());
        assert_eq!(limit_hit(&connections, ALICE), Some(ConnectionLimit::Total));
        assert!(evicted(&alice).await);
        // A request arrived in the meantime, so it closes afterwards.
        drop(alice.activity.begin());
        alice.activity.set_closing();
        assert_eq!(limit_hit(&connections, ALICE), Some(ConnectionLimit::PerAddress));
        let others = [BOB, None].map(|address| enter(&connections, address));
        tokio::time::advance(FIRST_REQUEST).await;
        assert_eq!(limit_hit(&connections, None), Some(ConnectionLimit::Total));
        assert!(!evicted(&alice).await && evicted(&others[0]).await, "the oldest of the others");
    }

    #[cfg(unix)]
    #[test]
    fn descriptors_are_left_to_the_rest_of_the_process() {
        let limits = [1024, 200, 64, 1].map(spared);
        assert_eq!(limits, [960, 136, 32, 1]);
        assert!(within_descriptors(usize::MAX) < usize::MAX);
        assert_eq!(within_descriptors(1), 1);
    }
}
