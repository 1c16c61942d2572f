//! The connections of a listener: how many there may be, and which give way.

use super::body::HttpBody;
use crate::sync::Mutex;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};
use tokio::sync::Notify;

/// Descriptors that are left to the rest of the process: files, children, connections to others.
#[cfg(unix)]
const SPARE_DESCRIPTORS: u64 = 64;

/// The open connections.
pub(super) struct Connections {
    table: Mutex<ConnectionTable>,
    max: usize,
    /// 0: no bound.
    max_per_address: usize,
}

#[derive(Default)]
struct ConnectionTable {
    /// The oldest first.
    open: BTreeMap<u64, ConnectionEntry>,
    of: HashMap<IpAddr, usize>,
    next: u64,
}

struct ConnectionEntry {
    /// The peer; a Unix socket has none.
    address: Option<IpAddr>,
    activity: Arc<Activity>,
}

/// The place of one connection, until it is dropped.
pub(super) struct ConnectionPlace {
    connections: Arc<Connections>,
    number: u64,
    pub(super) activity: Arc<Activity>,
}

/// The reason why a connection has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPlace {
    /// There may be a place later.
    AtAll,
    /// Its address has its share.
    OfAddress,
}

/// The requests of one connection.
#[derive(Default)]
pub(super) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
    gives_way: Notify,
}

impl Connections {
    pub(super) fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Self { table: Mutex::default(), max: within_descriptors(max.max(1)), max_per_address })
    }

    /// Takes a place. Where there is none, or the address has its share, a connection without a
    /// request gives way.
    ///
    /// # Errors
    /// Each one has a request.
    pub(super) fn enter(self: &Arc<Self>, address: Option<IpAddr>) -> Result<ConnectionPlace, NoPlace> {
        let mut table = self.table.lock();
        let share = address.and_then(|address| table.of.get(&address)).copied().unwrap_or_default();
        if self.max_per_address > 0 && share >= self.max_per_address {
            let idle = table.idle(|entry| entry.address == address).ok_or(NoPlace::OfAddress)?;
            table.give_way(idle);
        }
        if table.open.len() >= self.max {
            let idle = table.idle(|_| true).ok_or(NoPlace::AtAll)?;
            table.give_way(idle);
        }
        table.next += 1;
        let (number, activity) = (table.next, Arc::<Activity>::default());
        table.open.insert(number, ConnectionEntry { address, activity: Arc::clone(&activity) });
        if let Some(address) = address {
            *table.of.entry(address).or_default() += 1;
        }
        Ok(ConnectionPlace { connections: Arc::clone(self), number, activity })
    }
}

impl ConnectionTable {
    /// The oldest connection that has never had a request, or else the oldest without one now.
    fn idle(&self, among: impl Fn(&ConnectionEntry) -> bool) -> Option<u64> {
        let idle = self.open.iter().filter(|(_, entry)| among(entry) && entry.activity.is_idle());
        idle.min_by_key(|(number, entry)| (entry.activity.has_begun(), **number)).map(|(number, _)| *number)
    }

    fn give_way(&mut self, number: u64) {
        if let Some(entry) = self.remove(number) {
            entry.activity.gives_way.notify_one();
        }
    }

    fn remove(&mut self, number: u64) -> Option<ConnectionEntry> {
        let entry = self.open.remove(&number)?;
        if let Some(address) = entry.address
            && let Some(count) = self.of.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                self.of.remove(&address);
            }
        }
        Some(entry)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.connections.table.lock().remove(self.number);
    }
}

impl Activity {
    /// A request has begun; it ends with what this gives.
    pub(super) fn begin(self: &Arc<Self>) -> Active {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Active(Arc::clone(self))
    }

    /// Returns whether there has been a request.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed) > 0
    }

    /// Returns whether there is no request now.
    pub(super) fn is_idle(&self) -> bool {
        let ended = self.ended.load(Ordering::Acquire);
        self.begun.load(Ordering::Relaxed) == ended
    }

    /// A number that is another one when requests have begun or ended since.
    pub(super) fn changes(&self) -> u64 {
        self.begun.load(Ordering::Relaxed).wrapping_add(self.ended.load(Ordering::Relaxed))
    }

    /// Completes when the connection is to give way to another.
    pub(super) async fn gives_way(&self) {
        self.gives_way.notified().await;
    }
}

/// A request, until its response has been taken or given up.
pub(super) struct Active(Arc<Activity>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
    }
}

/// The body of the response to such a request.
pub(super) struct ActiveBody {
    pub(super) body: HttpBody,
    pub(super) _active: Active,
}

impl Body for ActiveBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// No more than the process has descriptors for.
#[cfg(unix)]
fn within_descriptors(max: usize) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(max, |limit| max.min(usize::try_from(spared(limit)).unwrap_or(usize::MAX)))
}

#[cfg(not(unix))]
fn within_descriptors(max: usize) -> usize {
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

    async fn gives_way(place: &ConnectionPlace) -> bool {
        tokio::time::timeout(std::time::Duration::from_millis(1), place.activity.gives_way()).await.is_ok()
    }

    fn enter(connections: &Arc<Connections>, address: Option<IpAddr>) -> ConnectionPlace {
        connections.enter(address).ok().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn beyond_the_bound_silent_connections_give_way_and_then_idle_ones() {
        let connections = Connections::new(3, 0);
        let [busy, idle, silent] = [(); 3].map(|()| enter(&connections, None));
        let request = busy.activity.begin();
        drop(idle.activity.begin());
        let next = enter(&connections, None);
        assert!(gives_way(&silent).await && !gives_way(&idle).await && !gives_way(&busy).await);
        let _next = next.activity.begin();
        let last = enter(&connections, None);
        let _last = last.activity.begin();
        assert!(gives_way(&idle).await && !gives_way(&busy).await);
        assert_eq!(connections.enter(None).err(), Some(NoPlace::AtAll), "each has a request");
        drop((silent, idle));
        assert_eq!(connections.enter(None).err(), Some(NoPlace::AtAll), "those had no place any more");
        drop(request);
        drop(enter(&connections, None));
        assert!(gives_way(&busy).await);
        drop(last);
        assert_eq!(connections.table.lock().open.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_its_share() {
        let connections = Connections::new(100, 2);
        let alice = [(); 2].map(|()| enter(&connections, ALICE));
        let requests = alice.each_ref().map(|place| place.activity.begin());
        assert_eq!(connections.enter(ALICE).err(), Some(NoPlace::OfAddress));
        let bob = [(); 2].map(|()| enter(&connections, BOB));
        let _third = enter(&connections, BOB);
        assert!(gives_way(&bob[0]).await && !gives_way(&bob[1]).await, "one of its own gives way");
        let _unix = [(); 3].map(|()| enter(&connections, None));
        drop((requests, alice));
        drop(enter(&connections, ALICE));
        assert_eq!(connections.table.lock().of.get(&ALICE.unwrap()), None);
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
