//! Admission at an endpoint: limits open requests without a session, and the memory used by bodies.
//! It is checked before a body is read. (Sessions limit their own running and queued calls.)

use crate::{
    counts::{CountLimits, Counts},
    fast_map::FastMap,
    server::Connection,
    sync::Mutex,
};
use std::sync::{
    Arc, Weak,
    atomic::{AtomicUsize, Ordering},
};

/// Larger bodies are limited per principal and leave a reserve for small ones.
const SMALL_BODY: usize = 64 << 10;
/// Messages with fewer JSON values are not counted: the smallest body that is counted could have as
/// many.
const MAX_UNCOUNTED_VALUES: usize = 2 << 10;
/// The reserve for small bodies, or a sixteenth of the total if that is less.
const ROOM_FOR_SMALL: usize = 16 << 20;

/// Why a request is refused: which limit was reached.
pub(super) type MissingRoom = &'static str;

const TOO_MANY_REQUESTS: MissingRoom = "too many requests are being served";
const TOO_MUCH: MissingRoom = "too much data is in flight";
const TOO_MUCH_OF_ONE: MissingRoom = "too much data of this client is in flight";

/// The limits of an endpoint.
#[derive(Debug, Clone)]
pub(super) struct GateBounds {
    /// Requests that belong to no session.
    pub(super) requests: usize,
    /// Streams of change notifications, which stay open by design.
    pub(super) streams: usize,
    /// Requests and streams of one principal.
    pub(super) of_principal: usize,
    /// Bytes of bodies, until their call has ended.
    pub(super) bytes: usize,
    /// Bytes of one body.
    pub(super) body: usize,
    /// JSON values of one message.
    pub(super) values: usize,
}

impl GateBounds {
    fn of_requests(&self) -> CountLimits {
        CountLimits { all: self.requests, each: self.of_principal }
    }
}

type PrincipalCounts = Counts<Arc<str>>;

pub(super) struct Gate {
    bounds: GateBounds,
    bytes: AtomicUsize,
    large: Mutex<PrincipalCounts>,
    /// JSON values in use. Large messages are counted separately from small ones.
    values_of_large: Mutex<PrincipalCounts>,
    values_of_small: Mutex<PrincipalCounts>,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    requests: PrincipalCounts,
    streams: PrincipalCounts,
    /// The conversations to end when the endpoint ends.
    served: FastMap<u64, Weak<Connection>>,
    next: u64,
    /// True if streams of change notifications end, including those of later requests.
    ends_subscriptions: bool,
    closed: bool,
}

impl Slots {
    fn leave(&mut self, counted: Counted, principal: Option<&Arc<str>>) {
        match counted {
            Counted::Request => self.requests.give_back(principal, 1),
            Counted::Stream => self.streams.give_back(principal, 1),
            Counted::Nowhere => {}
        }
    }
}

/// The resources used by one message. Kept with the call and released with it, whatever happens to
/// the response.
pub(super) struct Permit {
    gate: Arc<Gate>,
    principal: Option<Arc<str>>,
    /// Bytes of the head, which is kept with the call.
    head: usize,
    bytes: usize,
    /// Bytes that count as those of a large body.
    large: usize,
    values: usize,
    slot: Option<RequestSlot>,
}

struct RequestSlot {
    number: u64,
    counted: Counted,
}

/// The limit that a slot counts towards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Request,
    Stream,
    /// None, because the request has become a task.
    Nowhere,
}

impl Gate {
    pub(super) fn new(bounds: GateBounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            bytes: AtomicUsize::new(0),
            large: Mutex::default(),
            values_of_large: Mutex::default(),
            values_of_small: Mutex::default(),
            slots: Mutex::default(),
        })
    }

    /// Creates a permit for a message of a principal, or of a client address, without reserving
    /// anything yet.
    pub(super) fn permit(self: &Arc<Self>, principal: Option<&str>) -> Permit {
        Permit {
            gate: Arc::clone(self),
            principal: principal.map(Arc::from),
            head: 0,
            bytes: 0,
            large: 0,
            values: 0,
            slot: None,
        }
    }

    /// The conversations of requests without a session.
    pub(super) fn served(&self) -> Vec<Arc<Connection>> {
        self.slots.lock().served.values().filter_map(Weak::upgrade).collect()
    }

    /// Ends the streams of change notifications.
    pub(super) fn end_subscriptions(&self) {
        self.slots.lock().ends_subscriptions = true;
        self.served().iter().for_each(Connection::end_subscriptions);
    }

    /// Stops admitting requests, and returns the open conversations.
    pub(super) fn close(&self) -> Vec<Arc<Connection>> {
        self.slots.lock().closed = true;
        self.served()
    }
}

impl Permit {
    /// Checks that a request slot is available, without taking one, because the body may never
    /// arrive.
    pub(super) fn check_slot(&self) -> Result<(), MissingRoom> {
        let limits = self.gate.bounds.of_requests();
        let has_slot = self.gate.slots.lock().requests.has_room(self.principal.as_ref(), 1, limits);
        if has_slot { Ok(()) } else { Err(TOO_MANY_REQUESTS) }
    }

    /// Takes a request slot, unless it has one.
    pub(super) fn take_slot(&mut self) -> Result<(), MissingRoom> {
        if self.slot.is_some() {
            return Ok(());
        }
        let mut slots = self.gate.slots.lock();
        if !slots.requests.take(self.principal.as_ref(), 1, self.gate.bounds.of_requests()) {
            return Err(TOO_MANY_REQUESTS);
        }
        slots.next += 1;
        self.slot = Some(RequestSlot { number: slots.next, counted: Counted::Request });
        Ok(())
    }

    /// Exchanges its request slot for a stream slot.
    pub(super) fn becomes_stream(&mut self) -> Result<(), MissingRoom> {
        let is_request = |slot: &&mut RequestSlot| slot.counted == Counted::Request;
        let Some(slot) = self.slot.as_mut().filter(is_request) else { return Ok(()) };
        let (principal, bounds) = (self.principal.as_ref(), &self.gate.bounds);
        let mut slots = self.gate.slots.lock();
        if !slots.streams.take(principal, 1, CountLimits { all: bounds.streams, each: bounds.of_principal }) {
            return Err("too many streams of change notifications are open");
        }
        slots.requests.give_back(principal, 1);
        slot.counted = Counted::Stream;
        Ok(())
    }

    /// Returns whether it has a stream slot.
    pub(super) fn is_stream(&self) -> bool {
        self.slot.as_ref().is_some_and(|slot| slot.counted == Counted::Stream)
    }

    /// Releases its slot. The conversation still ends with the endpoint, and the bytes are held
    /// until the task has ended.
    pub(super) fn release_slot(&mut self) {
        if let Some(slot) = &mut self.slot {
            let counted = std::mem::replace(&mut slot.counted, Counted::Nowhere);
            self.gate.slots.lock().leave(counted, self.principal.as_ref());
        }
    }

    /// Registers the conversation that serves it.
    pub(super) fn served_by(&self, connection: &Arc<Connection>) -> Result<(), MissingRoom> {
        let Some(slot) = &self.slot else { return Ok(()) };
        let mut slots = self.gate.slots.lock();
        if slots.closed {
            return Err("the server is closing");
        }
        slots.served.insert(slot.number, Arc::downgrade(connection));
        let ends_subscriptions = slots.ends_subscriptions;
        drop(slots);
        if ends_subscriptions {
            connection.end_subscriptions();
        }
        Ok(())
    }

    /// Checks whether this many bytes could be held, without holding them.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), MissingRoom> {
        let held = (self.gate.bytes.load(Ordering::Relaxed) - self.head) as u64;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if held.saturating_add(bytes as u64) > self.bound_for(bytes) as u64 { Err(TOO_MUCH) } else { Ok(()) }
    }

    /// The total size limit for a body of this size.
    fn bound_for(&self, own: usize) -> usize {
        let GateBounds { bytes, body, .. } = self.gate.bounds;
        if own <= SMALL_BODY { bytes } else { (bytes - ROOM_FOR_SMALL.min(bytes / 16)).max(body) }
    }

    /// Holds the head, in addition to the body.
    pub(super) fn hold_head(&mut self, bytes: usize) -> Result<(), MissingRoom> {
        self.head = bytes;
        let held = self.gate.bytes.fetch_add(bytes, Ordering::Relaxed);
        if held.saturating_add(bytes) > self.gate.bounds.bytes { Err(TOO_MUCH) } else { Ok(()) }
    }

    /// Holds more bytes. They count as they arrive, not as announced, so announcing a large body
    /// without sending it takes nothing from others.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), MissingRoom> {
        // A body of the maximum size fits in whatever its head.
        let held = self.gate.bytes.fetch_add(bytes, Ordering::Relaxed) - self.head;
        self.bytes += bytes;
        if held.saturating_add(bytes) > self.bound_for(self.bytes) {
            return Err(TOO_MUCH);
        }
        if !self.is_large() {
            return Ok(());
        }
        let (more, bounds) = (self.bytes - self.large, &self.gate.bounds);
        // The total of large bodies is limited with that of all.
        let limits = CountLimits { all: usize::MAX, each: (bounds.bytes / 4).max(bounds.body) };
        if !self.gate.large.lock().take(self.principal.as_ref(), more, limits) {
            return Err(TOO_MUCH_OF_ONE);
        }
        self.large = self.bytes;
        Ok(())
    }

    /// Holds the JSON values of its message, which use far more memory than its bytes, while the
    /// handler may have them. Called after reading the body.
    pub(super) fn hold_values(&mut self, values: usize) -> Result<(), MissingRoom> {
        if values <= MAX_UNCOUNTED_VALUES {
            return Ok(());
        }
        let (held, limits) = self.held_values();
        if !held.lock().take(self.principal.as_ref(), values, limits) {
            return Err("too many JSON values are being served");
        }
        self.values += values;
        Ok(())
    }

    /// The count of JSON values that its message belongs to, and the limits of that count.
    fn held_values(&self) -> (&Mutex<PrincipalCounts>, CountLimits) {
        let (gate, values) = (&self.gate, self.gate.bounds.values);
        match self.is_large() {
            true => (&gate.values_of_large, CountLimits { all: values.saturating_mul(2), each: values }),
            false => {
                let each = (values / 4).max(values.min(SMALL_BODY));
                (&gate.values_of_small, CountLimits { all: values, each })
            }
        }
    }

    /// Returns whether its body is large.
    pub(super) fn is_large(&self) -> bool {
        self.bytes > SMALL_BODY
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.bytes.fetch_sub(self.head + self.bytes, Ordering::Relaxed);
        if self.large > 0 {
            self.gate.large.lock().give_back(self.principal.as_ref(), self.large);
        }
        if self.values > 0 {
            self.held_values().0.lock().give_back(self.principal.as_ref(), self.values);
        }
        if let Some(RequestSlot { number, counted }) = self.slot.take() {
            let mut slots = self.gate.slots.lock();
            slots.leave(counted, self.principal.as_ref());
            slots.served.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Arc<Gate> {
        Gate::new(GateBounds { requests: 3, streams: 2, of_principal: 2, bytes: 10, body: 10, values: 10 })
    }

    fn enter(gate: &Arc<Gate>, principal: Option<&str>) -> Option<Permit> {
        let mut permit = gate.permit(principal);
        permit.take_slot().ok().map(|()| permit)
    }

    #[test]
    fn slots_are_bounded_in_all_and_for_each_principal() {
        let gate = gate();
        let (_a, b) = (enter(&gate, Some("ada")).unwrap(), enter(&gate, Some("ada")).unwrap());
        assert!(enter(&gate, Some("ada")).is_none());
        let _c = enter(&gate, Some("bob")).unwrap();
        assert!(enter(&gate, None).is_none());
        drop(b);
        let mut d = enter(&gate, Some("ada")).unwrap();
        d.take_slot().unwrap();
        assert!(enter(&gate, None).is_none(), "one place for one message");
        drop(d);
        assert!(enter(&gate, None).is_some());
    }

    #[test]
    fn streams_have_their_own_slots() {
        let gate = gate();
        let mut streams: Vec<_> = (0..3).map(|_| enter(&gate, None).unwrap()).collect();
        streams[0].becomes_stream().unwrap();
        streams[0].becomes_stream().unwrap();
        streams[1].becomes_stream().unwrap();
        assert!(streams[2].becomes_stream().is_err());
        let (_d, _e) = (enter(&gate, None).unwrap(), enter(&gate, None).unwrap());
        assert!(enter(&gate, None).is_none());
        drop(streams);
        let slots = gate.slots.lock();
        assert_eq!((slots.requests.all, slots.streams.all), (2, 0));
    }

    #[test]
    fn bytes_are_held_until_the_message_is_done() {
        let gate = gate();
        let (mut a, mut b) = (gate.permit(None), gate.permit(None));
        a.hold(6).unwrap();
        assert!(b.check_room(4).is_ok() && b.check_room(5).is_err());
        b.hold(4).unwrap();
        assert!(b.hold(1).is_err());
        drop(b);
        assert!(a.check_room(4).is_ok());
        drop(a);
        assert_eq!(gate.bytes.load(Ordering::Relaxed), 0);
        assert!(gate.permit(None).check_room(10).is_ok());
    }

    /// A gate of 100,000 values, and permits of it that hold a body.
    fn gate_of_values() -> (Arc<Gate>, impl Fn(Option<&str>, usize) -> Permit) {
        let (bytes, values) = (1 << 20, 100_000);
        let gate = Gate::new(GateBounds { requests: 9, streams: 9, of_principal: 9, bytes, body: bytes, values });
        let permits = Arc::clone(&gate);
        let permit = move |principal: Option<&str>, body: usize| {
            let mut permit = permits.permit(principal);
            permit.hold(body).unwrap();
            permit
        };
        (gate, permit)
    }

    #[test]
    fn values_are_bounded_in_all_and_for_each_principal() {
        const LARGE: usize = SMALL_BODY + 1;
        let (gate, permit) = gate_of_values();
        let [mut ada, mut again, mut bob] = ["ada", "ada", "bob"].map(|name| permit(Some(name), LARGE));
        ada.hold_values(100_000).unwrap();
        assert!(again.hold_values(2_049).is_err(), "one message's worth for one principal");
        bob.hold_values(95_000).unwrap();
        let mut nobody = permit(None, LARGE);
        assert!(nobody.hold_values(5_001).is_err(), "two messages' worth in all");
        nobody.hold_values(5_000).unwrap();
        drop((ada, bob, nobody));
        again.hold_values(100_000).unwrap();
        drop(again);
        let values = gate.values_of_large.lock();
        assert_eq!((values.all, values.of(Some(&"ada".into()))), (0, 0));
    }

    #[test]
    fn large_messages_take_no_values_from_small_ones_and_ordinary_ones_need_none() {
        let (gate, permit) = gate_of_values();
        let mut large = [(); 2].map(|()| permit(None, 2 * SMALL_BODY));
        large.iter_mut().for_each(|permit| permit.hold_values(100_000).unwrap());
        let mut ada = [(); 3].map(|()| permit(Some("ada"), SMALL_BODY));
        ada[0].hold_values(30_000).unwrap();
        ada[1].hold_values(30_000).unwrap();
        assert!(ada[2].hold_values(10_000).is_err(), "a share for one principal");
        let mut nobody = permit(None, SMALL_BODY);
        nobody.hold_values(30_000).unwrap();
        assert!(permit(None, SMALL_BODY).hold_values(30_000).is_err(), "one message's worth in all");
        permit(Some("ada"), 2 * SMALL_BODY).hold_values(MAX_UNCOUNTED_VALUES).unwrap();
        drop((large, ada, nobody));
        assert_eq!((gate.values_of_large.lock().all, gate.values_of_small.lock().all), (0, 0));
    }

    #[test]
    fn a_head_counts_towards_the_bytes_of_others() {
        let bounds = GateBounds { requests: 9, streams: 9, of_principal: 9, bytes: 100, body: 100, values: 1 };
        let gate = Gate::new(bounds);
        let mut permit = gate.permit(None);
        permit.hold_head(60).unwrap();
        permit.check_room(100).unwrap();
        permit.hold(100).unwrap();
        assert_eq!(gate.permit(None).hold_head(1), Err(TOO_MUCH));
        drop(permit);
        assert_eq!(gate.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn large_bodies_leave_capacity_for_small_ones_and_each_principal_has_a_share() {
        const MIB: usize = 1 << 20;
        let bounds =
            GateBounds { requests: 9, streams: 9, of_principal: 9, bytes: 64 * MIB, body: 16 * MIB, values: 1 };
        let gate = Gate::new(bounds);
        let mut ada: Vec<_> = (0..2).map(|_| gate.permit(Some("ada"))).collect();
        ada[0].hold(10 * MIB).unwrap();
        assert_eq!(ada[1].hold(10 * MIB), Err(TOO_MUCH_OF_ONE), "a quarter of all");
        drop(ada);
        assert_eq!(gate.large.lock().of(Some(&"ada".into())), 0);
        let mut held: Vec<_> = (0..4).map(|_| gate.permit(None)).collect();
        held.iter_mut().for_each(|permit| permit.hold(15 * MIB).unwrap());
        assert_eq!(gate.permit(None).check_room(MIB as u64), Err(TOO_MUCH));
        assert_eq!(gate.permit(None).hold(MIB), Err(TOO_MUCH));
        gate.permit(Some("bob")).hold(SMALL_BODY).unwrap();
    }
}
