//! Admission at an endpoint: connections, bodies, requests and streams, and the memory of messages,
//! in total and for each client. (Sessions limit their own running and queued calls.)

use super::{activity::Activity, forwarded::network_of};
use crate::{
    counts::{CountLimits, Counts},
    fast_map::FastMap,
    http::rejection::Rejection,
    protocol::RequestId,
    race,
    server::Connection,
    sync::Mutex,
};
use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::time::{Duration, Instant};

/// Larger messages are limited per client and leave a reserve for small ones.
pub(super) const SMALL_BODY: usize = 64 << 10;
/// The reserve for small messages, or a sixteenth of the total if that is less.
const SMALL_BODY_RESERVE: usize = 16 << 20;
/// The memory of a parsed JSON value, which needs two bytes of text.
const VALUE_BYTES: usize = 72;
/// Messages with fewer JSON values only count as their text.
const MAX_UNCOUNTED_VALUES: usize = 2 << 10;
/// A connection without a request after this time counts as silent.
const FIRST_REQUEST: Duration = Duration::from_millis(100);
/// File descriptors reserved for the rest of the process: files, children, outgoing connections.
#[cfg(unix)]
const SPARE_DESCRIPTORS: u64 = 64;

/// A limited resource of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    /// Open connections.
    Connection,
    /// Bodies that are being read.
    Body,
    /// Requests that belong to no session, until their call has ended.
    Request,
    /// Streams of change notifications, which stay open by design.
    Stream,
    /// The memory of messages, until their calls have ended.
    Bytes,
}

const RESOURCES: usize = Resource::Bytes as usize + 1;

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full {
    resource: Resource,
    /// True for the limit of one client, false for that of all.
    pub(super) of_client: bool,
}

impl Full {
    /// The message for a refused client.
    pub(super) fn text(self) -> &'static str {
        match (self.resource, self.of_client) {
            (Resource::Connection, false) => "too many connections are open",
            (Resource::Connection, true) => "too many connections from this address are open",
            (Resource::Body, _) => "too many bodies are being sent",
            (Resource::Request, false) => "too many requests are being served",
            (Resource::Request, true) => "too many requests of this client are being served",
            (Resource::Stream, false) => "too many streams of change notifications are open",
            (Resource::Stream, true) => "too many streams of change notifications of this client are open",
            (Resource::Bytes, false) => "too much data is in flight",
            (Resource::Bytes, true) => "too much data of this client is in flight",
        }
    }

    /// Refuses a request as busy.
    pub(super) fn refusing(self, id: Option<&RequestId>) -> Rejection {
        Rejection::busy(id, self.text())
    }
}

impl From<Full> for Rejection {
    fn from(full: Full) -> Self {
        full.refusing(None)
    }
}

/// Why a place can be evicted, the best reason first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Evictable {
    /// The connection has never had a request.
    Silent,
    /// The connection has no request.
    Idle,
    /// The body has not arrived yet, although most do within milliseconds.
    Unfinished,
    /// The client of the connection does not read what is sent to it.
    Stalled,
}

/// The limits of an endpoint.
#[derive(Debug, Clone, Default)]
pub(super) struct AdmissionLimits {
    pub(super) connections: usize,
    /// Connections of one address; 0 for no limit.
    pub(super) per_address: usize,
    /// Requests, and as many bodies.
    pub(super) requests: usize,
    pub(super) streams: usize,
    /// Requests of one client, and as many streams.
    pub(super) per_client: usize,
    pub(super) bytes: usize,
}

impl AdmissionLimits {
    /// The memory of large messages is limited in total with that of all.
    fn of(&self, resource: Resource) -> CountLimits {
        let (all, each) = match resource {
            Resource::Connection if self.per_address == 0 => (self.connections, usize::MAX),
            Resource::Connection => (self.connections, self.per_address),
            Resource::Body => (self.requests, usize::MAX),
            Resource::Request => (self.requests, self.per_client),
            Resource::Stream => (self.streams, self.per_client),
            Resource::Bytes => (usize::MAX, self.bytes / 4),
        };
        CountLimits { all, each }
    }
}

/// Admits clients to the resources of an endpoint.
pub(super) struct Admission {
    limits: AdmissionLimits,
    /// The memory of all messages.
    bytes: AtomicUsize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// Of [`Resource::Bytes`] only those of large messages.
    used: [Counts<Arc<str>>; RESOURCES],
    /// The connections and the bodies, each oldest first.
    places: BTreeMap<(Resource, u64), PlaceEntry>,
    /// The conversations to end when the endpoint ends, by the numbers of their requests.
    served: FastMap<u64, Weak<Connection>>,
    next: u64,
    /// True if streams of change notifications end, including those of later requests.
    ends_subscriptions: bool,
    closed: bool,
}

struct PlaceEntry {
    holder: Option<Arc<str>>,
    since: Instant,
    activity: Arc<Activity>,
}

/// The place of a connection or a body, until it is dropped.
pub(super) struct Place {
    admission: Arc<Admission>,
    key: (Resource, u64),
    pub(super) activity: Arc<Activity>,
}

/// The resources used by one message. Kept with the call and released with it, whatever happens to
/// the response.
pub(super) struct Permit {
    admission: Arc<Admission>,
    holder: Option<Arc<str>>,
    /// Bytes of the head, which is kept with the call.
    head: usize,
    /// Bytes of the body.
    body: usize,
    /// The memory of the body and its values.
    bytes: usize,
    /// The part of it that counts as that of a large message.
    large: usize,
    /// Its number, if it has or had a slot.
    number: Option<u64>,
    /// The resource that its slot counts as; `None` for a request that has become a task.
    slot: Option<Resource>,
}

impl Admission {
    pub(super) fn new(limits: AdmissionLimits) -> Arc<Self> {
        let connections = within_descriptors(limits.connections.max(1));
        let limits = AdmissionLimits { connections, requests: limits.requests.max(1), ..limits };
        Arc::new(Self { limits, bytes: AtomicUsize::new(0), table: Mutex::default() })
    }

    /// Takes a place for a connection. At a limit, evicts one of the same address or of all, which
    /// keeps its place until it has ended, because a request may arrive in the meantime.
    ///
    /// # Errors
    /// If there is no place yet. `of_client` is set if none will become free by itself.
    pub(super) fn connect(self: &Arc<Self>, address: Option<IpAddr>) -> Result<Place, Full> {
        const CONNECTION: Resource = Resource::Connection;
        // Otherwise a client with an IPv6 network would have as many shares as addresses.
        let holder = address.map(|address| network_of(address).to_string().into());
        let mut table = self.table.lock();
        let limits = self.limits.of(CONNECTION);
        if table.used[CONNECTION as usize].of(holder.as_ref()) >= limits.each {
            let evicted = table.evict(CONNECTION, |entry| entry.holder == holder).is_some();
            return Err(Full { resource: CONNECTION, of_client: !evicted });
        }
        if !table.used[CONNECTION as usize].take(holder.as_ref(), 1, limits) {
            table.evict(CONNECTION, |_| true);
            return Err(Full { resource: CONNECTION, of_client: false });
        }
        Ok(self.place(&mut table, CONNECTION, holder))
    }

    /// Reads a body of a principal, or of a client address. Beyond the limit, abandons the oldest
    /// one of the client that sends the most.
    ///
    /// # Errors
    /// If it is abandoned for another.
    pub(super) async fn read<T>(
        self: &Arc<Self>,
        holder: Option<Arc<str>>,
        body: impl Future<Output = T>,
    ) -> Result<T, Full> {
        const BODY: Resource = Resource::Body;
        // Clients without a name count as one.
        let holder = holder.unwrap_or_default();
        let place = {
            let mut table = self.table.lock();
            table.used[BODY as usize].add(Some(&holder), 1);
            let used = &table.used[BODY as usize];
            if used.all > self.limits.of(BODY).all {
                let most = used.of(used.greatest());
                let evicted = table.evict(BODY, |entry| used.of(entry.holder.as_ref()) == most);
                // The new one has its place.
                if let Some(entry) = evicted.and_then(|number| table.places.remove(&(BODY, number))) {
                    table.used[BODY as usize].give_back(entry.holder.as_ref(), 1);
                }
            }
            self.place(&mut table, BODY, Some(holder))
        };
        let read = race::unless(place.activity.evicted.notified(), body).await;
        read.ok_or(Full { resource: BODY, of_client: false })
    }

    fn place(self: &Arc<Self>, table: &mut Table, resource: Resource, holder: Option<Arc<str>>) -> Place {
        table.next += 1;
        let (key, activity) = ((resource, table.next), Arc::<Activity>::default());
        table.places.insert(key, PlaceEntry { holder, since: Instant::now(), activity: Arc::clone(&activity) });
        Place { admission: Arc::clone(self), key, activity }
    }

    /// Creates a permit for a message of a principal, or of a client address, without reserving
    /// anything yet.
    pub(super) fn permit(self: &Arc<Self>, holder: Option<&str>) -> Permit {
        let (admission, holder) = (Arc::clone(self), holder.map(Arc::from));
        Permit { admission, holder, head: 0, body: 0, bytes: 0, large: 0, number: None, slot: None }
    }

    /// The conversations of requests without a session.
    pub(super) fn served(&self) -> Vec<Arc<Connection>> {
        self.table.lock().served.values().filter_map(Weak::upgrade).collect()
    }

    /// Ends the streams of change notifications.
    pub(super) fn end_subscriptions(&self) {
        self.table.lock().ends_subscriptions = true;
        self.served().iter().for_each(Connection::end_subscriptions);
    }

    /// Stops admitting requests, and returns the open conversations.
    pub(super) fn close(&self) -> Vec<Arc<Connection>> {
        self.table.lock().closed = true;
        self.served()
    }
}

impl Table {
    fn take(&mut self, limits: &AdmissionLimits, resource: Resource, holder: Option<&Arc<str>>) -> Result<(), Full> {
        let (limits, used) = (limits.of(resource), &mut self.used[resource as usize]);
        match used.take(holder, 1, limits) {
            true => Ok(()),
            false => Err(Full { resource, of_client: used.all < limits.all }),
        }
    }

    /// Evicts the oldest place for the best reason, and returns its number. `None` if each
    /// connection has a request, may be about to send its first, or is closing already: one that
    /// was evicted while a request arrived may take long to answer it.
    fn evict(&self, resource: Resource, among: impl Fn(&PlaceEntry) -> bool) -> Option<u64> {
        let places = self.places.range((resource, 0)..=(resource, u64::MAX));
        let mut best: Option<(Evictable, u64, &PlaceEntry)> = None;
        for (key, entry) in places.filter(|(_, entry)| among(entry)) {
            if let Some(why) = entry.evictable(resource)
                && best.as_ref().is_none_or(|(best, ..)| why < *best)
            {
                best = Some((why, key.1, entry));
                if matches!(why, Evictable::Silent | Evictable::Unfinished) {
                    break;
                }
            }
        }
        best.map(|(_, number, entry)| {
            entry.activity.evicted.notify_one();
            number
        })
    }
}

impl PlaceEntry {
    fn evictable(&self, resource: Resource) -> Option<Evictable> {
        let activity = &self.activity;
        match activity.is_idle() && !activity.is_closing() {
            true if resource == Resource::Body => Some(Evictable::Unfinished),
            true if activity.has_begun() => Some(Evictable::Idle),
            true => (self.since.elapsed() >= FIRST_REQUEST).then_some(Evictable::Silent),
            false => activity.is_stalled().then_some(Evictable::Stalled),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.admission.table.lock();
        // One that was evicted for another has left its place to it.
        if let Some(entry) = table.places.remove(&self.key) {
            table.used[self.key.0 as usize].give_back(entry.holder.as_ref(), 1);
        }
    }
}

impl Permit {
    /// The principal or client address that it is charged to.
    pub(super) fn holder(&self) -> Option<Arc<str>> {
        self.holder.clone()
    }

    /// Checks that a request slot is available, without taking one, because the body may never
    /// arrive.
    pub(super) fn check_slot(&self) -> Result<(), Full> {
        let limits = self.admission.limits.of(Resource::Request);
        let table = self.admission.table.lock();
        let used = &table.used[Resource::Request as usize];
        match used.has_room(self.holder.as_ref(), 1, limits) {
            true => Ok(()),
            false => Err(Full { resource: Resource::Request, of_client: used.all < limits.all }),
        }
    }

    /// Takes a request slot, unless it has one.
    pub(super) fn take_slot(&mut self) -> Result<(), Full> {
        if self.number.is_some() {
            return Ok(());
        }
        let mut table = self.admission.table.lock();
        table.take(&self.admission.limits, Resource::Request, self.holder.as_ref())?;
        table.next += 1;
        (self.number, self.slot) = (Some(table.next), Some(Resource::Request));
        Ok(())
    }

    /// Exchanges its request slot for a stream slot.
    pub(super) fn becomes_stream(&mut self) -> Result<(), Full> {
        if self.slot != Some(Resource::Request) {
            return Ok(());
        }
        let mut table = self.admission.table.lock();
        table.take(&self.admission.limits, Resource::Stream, self.holder.as_ref())?;
        table.used[Resource::Request as usize].give_back(self.holder.as_ref(), 1);
        self.slot = Some(Resource::Stream);
        Ok(())
    }

    /// Returns whether it has a stream slot.
    pub(super) fn is_stream(&self) -> bool {
        self.slot == Some(Resource::Stream)
    }

    /// Releases its slot. The conversation still ends with the endpoint, and the bytes are held
    /// until the task has ended.
    pub(super) fn release_slot(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.admission.table.lock().used[slot as usize].give_back(self.holder.as_ref(), 1);
        }
    }

    /// Registers the conversation that serves it. Returns `false` if the endpoint is closed.
    pub(super) fn served_by(&self, connection: &Arc<Connection>) -> bool {
        let Some(number) = self.number else { return true };
        let mut table = self.admission.table.lock();
        if table.closed {
            return false;
        }
        table.served.insert(number, Arc::downgrade(connection));
        let ends_subscriptions = table.ends_subscriptions;
        drop(table);
        if ends_subscriptions {
            connection.end_subscriptions();
        }
        true
    }

    /// Checks whether this many bytes could be held, without holding them.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), Full> {
        let held = self.admission.bytes.load(Ordering::Relaxed) - self.head;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.check(held.saturating_add(bytes), bytes)
    }

    /// Checks the memory of all messages. `own` is that of this one, which fits in if there is no
    /// other, whatever its head.
    fn check(&self, held: usize, own: usize) -> Result<(), Full> {
        let bytes = self.admission.limits.bytes;
        let reserve = if own <= SMALL_BODY { 0 } else { SMALL_BODY_RESERVE.min(bytes / 16) };
        let full = Full { resource: Resource::Bytes, of_client: false };
        if held <= (bytes - reserve).max(own) { Ok(()) } else { Err(full) }
    }

    /// Holds the head, in addition to the body.
    pub(super) fn hold_head(&mut self, bytes: usize) -> Result<(), Full> {
        self.head = bytes;
        let held = self.admission.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.check(held.saturating_add(bytes), 0)
    }

    /// Holds more bytes of the body. They count as they arrive, not as announced, so announcing a
    /// large body without sending it takes nothing from others.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), Full> {
        self.body += bytes;
        self.hold_memory(bytes)
    }

    /// Holds the memory of many JSON values, while the handler may have them. Called after reading
    /// the body.
    pub(super) fn hold_values(&mut self, values: usize) -> Result<(), Full> {
        if values <= MAX_UNCOUNTED_VALUES {
            return Ok(());
        }
        self.hold_memory(values.saturating_mul(VALUE_BYTES))
    }

    fn hold_memory(&mut self, bytes: usize) -> Result<(), Full> {
        const BYTES: Resource = Resource::Bytes;
        let held = self.admission.bytes.fetch_add(bytes, Ordering::Relaxed) - self.head;
        self.bytes += bytes;
        self.check(held.saturating_add(bytes), self.bytes)?;
        if self.bytes <= SMALL_BODY {
            return Ok(());
        }
        // A client may always have one message.
        let CountLimits { all, each } = self.admission.limits.of(BYTES);
        let limits = CountLimits { all, each: each.max(self.bytes) };
        let more = self.bytes - self.large;
        if !self.admission.table.lock().used[BYTES as usize].take(self.holder.as_ref(), more, limits) {
            return Err(Full { resource: BYTES, of_client: true });
        }
        self.large = self.bytes;
        Ok(())
    }

    /// Returns whether its body is large.
    pub(super) fn is_large(&self) -> bool {
        self.body > SMALL_BODY
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.bytes.fetch_sub(self.head + self.bytes, Ordering::Relaxed);
        self.release_slot();
        if self.large == 0 && self.number.is_none() {
            return;
        }
        let mut table = self.admission.table.lock();
        table.used[Resource::Bytes as usize].give_back(self.holder.as_ref(), self.large);
        if let Some(number) = self.number {
            table.served.remove(&number);
        }
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
mod tests;
