//! Requests from the peer: admission, queueing, cancellation and progress.

use super::{Limits, RequestInfo};
use crate::fast_map::FastMap;
use crate::protocol::{RawJson, RequestId, method::Method};
use std::collections::VecDeque;

/// Identifies an open request within one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey(pub(crate) u64);

/// A valid request from the peer, to be served.
#[derive(Debug, Clone)]
pub struct IncomingCall {
    /// Identifies the call until it is finished.
    pub key: CallKey,
    /// Its JSON-RPC id.
    pub id: RequestId,
    /// Its row of the method table.
    pub method: &'static Method,
    /// Its parameters object, if it has one.
    pub params: Option<RawJson>,
    /// Its origin.
    pub info: RequestInfo,
}

/// The capacity that a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// A running slot, or a slot in the queue, where it uses this number of bytes.
    Slot(usize),
    /// No slot, because it only waits for something else, such as the end of a task. It counts as
    /// open.
    Waits,
    /// No slot, because it stays open by design, such as a stream of change notifications.
    Stays,
}

/// Calls that were neither answered nor cancelled when the conversation ended.
#[derive(Debug)]
pub struct OpenCalls<T> {
    /// The running calls, unordered.
    pub running: Vec<(CallKey, RequestId)>,
    /// The queued calls, in order.
    pub waiting: Vec<T>,
}

/// The decision about a new call.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// Serve it now.
    Run,
    /// Pass it to [`Incoming::queue`] with its number of bytes.
    Wait(usize),
    /// The queue is full.
    Busy,
}

/// The table of the peer's requests. A `T` is kept with each queued call.
#[derive(Debug)]
pub struct Incoming<T> {
    by_id: FastMap<RequestId, CallKey>,
    open: FastMap<CallKey, OpenCall>,
    waiting: VecDeque<QueuedRequest<T>>,
    /// Bytes of queued calls.
    bytes: usize,
    /// Number of calls with a slot.
    running: usize,
    /// Number of calls that only wait. Together with `stays` at most `max_running` plus
    /// `max_waiting`.
    waits: usize,
    /// Number of calls that stay open by design.
    stays: usize,
    next_key: u64,
    max_running: usize,
    max_waiting: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct QueuedRequest<T> {
    key: CallKey,
    bytes: usize,
    item: T,
}

#[derive(Debug)]
struct OpenCall {
    id: RequestId,
    running: bool,
    demand: Demand,
    progress: Option<f64>,
}

impl<T> Incoming<T> {
    /// An empty table.
    pub fn new(limits: &Limits) -> Self {
        Self {
            by_id: FastMap::default(),
            open: FastMap::default(),
            waiting: VecDeque::new(),
            bytes: 0,
            running: 0,
            waits: 0,
            stays: 0,
            next_key: 1,
            max_running: limits.max_running.max(1),
            max_waiting: limits.max_waiting,
            max_bytes: limits.max_waiting_bytes,
        }
    }

    /// A key for a new call.
    pub fn next_key(&mut self) -> CallKey {
        let key = CallKey(self.next_key);
        self.next_key += 1;
        key
    }

    /// Admits a call.
    pub fn admit(&mut self, key: CallKey, id: RequestId, demand: Demand) -> Admission {
        let most_slotless = self.max_running.saturating_add(self.max_waiting);
        let admission = match demand {
            Demand::Slot(_) if self.running < self.max_running => Admission::Run,
            Demand::Slot(bytes)
                if self.waiting.len() < self.max_waiting && self.bytes.saturating_add(bytes) <= self.max_bytes =>
            {
                Admission::Wait(bytes)
            }
            Demand::Waits | Demand::Stays if self.waits + self.stays < most_slotless => Admission::Run,
            _ => return Admission::Busy,
        };
        let running = admission == Admission::Run;
        if running {
            *self.count(demand) += 1;
        }
        self.by_id.insert(id.clone(), key);
        self.open.insert(key, OpenCall { id, running, demand, progress: None });
        admission
    }

    /// Queues a call that has to wait; `finish` of another call returns it.
    pub fn queue(&mut self, key: CallKey, bytes: usize, item: T) {
        self.bytes += bytes;
        self.waiting.push_back(QueuedRequest { key, bytes, item });
    }

    fn count(&mut self, demand: Demand) -> &mut usize {
        match demand {
            Demand::Slot(_) => &mut self.running,
            Demand::Waits => &mut self.waits,
            Demand::Stays => &mut self.stays,
        }
    }

    fn take_waiting(&mut self, key: CallKey) -> Option<T> {
        let position = self.waiting.iter().position(|waiting| waiting.key == key)?;
        let QueuedRequest { bytes, item, .. } = self.waiting.remove(position)?;
        self.bytes -= bytes;
        Some(item)
    }

    /// The key of an open request.
    pub fn find(&self, id: &RequestId) -> Option<CallKey> {
        self.by_id.get(id).copied()
    }

    /// Finishes a call that was answered, failed or cancelled. Returns its id and the call to run
    /// next. The id is `None` if the call had already ended, in which case nothing may be sent for
    /// it (PRG-05, CAN-05).
    pub fn finish(&mut self, key: CallKey) -> (Option<RequestId>, Option<T>) {
        let Some(open) = self.open.remove(&key) else { return (None, None) };
        self.by_id.remove(&open.id);
        if !open.running {
            self.take_waiting(key);
            return (Some(open.id), None);
        }
        *self.count(open.demand) -= 1;
        (Some(open.id), self.start_next())
    }

    /// Cancels a call. Returns the item kept with it if it was still queued, and the call to run
    /// next.
    pub fn cancel(&mut self, key: CallKey) -> (Option<T>, Option<T>) {
        let waiting = self.take_waiting(key);
        let (_, next) = self.finish(key);
        (waiting, next)
    }

    /// Ends all calls, including queued ones, and returns them.
    pub fn drain(&mut self) -> OpenCalls<T> {
        let waiting = self.waiting.drain(..).map(|queued| queued.item).collect();
        let running = self.open.drain().filter(|(_, call)| call.running).map(|(key, call)| (key, call.id)).collect();
        self.by_id.clear();
        (self.bytes, self.running, self.waits, self.stays) = (0, 0, 0, 0);
        OpenCalls { running, waiting }
    }

    fn start_next(&mut self) -> Option<T> {
        if self.running >= self.max_running {
            return None;
        }
        let QueuedRequest { key, bytes, item } = self.waiting.pop_front()?;
        self.bytes -= bytes;
        if let Some(open) = self.open.get_mut(&key) {
            open.running = true;
            self.running += 1;
        }
        Some(item)
    }

    /// Returns whether this progress value may be sent: the call is open and the value has
    /// increased (PRG-02, PRG-05).
    pub fn advance(&mut self, key: CallKey, progress: f64) -> bool {
        let Some(open) = self.open.get_mut(&key) else { return false };
        if !progress.is_finite() || open.progress.is_some_and(|last| progress <= last) {
            return false;
        }
        open.progress = Some(progress);
        true
    }

    /// Returns whether a call is open.
    pub fn is_open(&self, key: CallKey) -> bool {
        self.open.contains_key(&key)
    }

    /// Returns whether no call is open, except those that stay open by design.
    pub fn is_empty(&self) -> bool {
        self.running + self.waiting.len() + self.waits == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(max_running: usize, max_waiting: usize) -> Incoming<u32> {
        Incoming::new(&Limits { max_running, max_waiting, ..Limits::default() })
    }

    fn admit(table: &mut Incoming<u32>, key: CallKey, id: RequestId, demand: Demand, item: u32) -> Admission {
        let admission = table.admit(key, id, demand);
        if let Admission::Wait(bytes) = admission {
            table.queue(key, bytes, item);
        }
        admission
    }

    #[test]
    fn calls_wait_for_their_turn_and_the_bound_holds() {
        let mut table = table(1, 1);
        let keys: Vec<_> = (0..3).map(|_| table.next_key()).collect();
        assert_eq!(admit(&mut table, keys[0], 1.into(), Demand::Slot(0), 10), Admission::Run);
        assert!(matches!(admit(&mut table, keys[1], 2.into(), Demand::Slot(0), 20), Admission::Wait(_)));
        assert_eq!(admit(&mut table, keys[2], 3.into(), Demand::Slot(0), 30), Admission::Busy);
        assert_eq!(table.finish(keys[0]), (Some(1.into()), Some(20)));
        assert_eq!(table.finish(keys[0]), (None, None));
        assert_eq!(table.finish(keys[1]), (Some(2.into()), None));
        assert!(table.is_empty());
    }

    #[test]
    fn a_waiting_call_can_be_cancelled() {
        let mut table = table(1, 8);
        let (first, second) = (table.next_key(), table.next_key());
        admit(&mut table, first, 1.into(), Demand::Slot(0), 1);
        admit(&mut table, second, "1".into(), Demand::Slot(0), 2);
        assert_eq!(table.find(&"1".into()), Some(second));
        assert_eq!(table.cancel(second), (Some(2), None));
        assert_eq!(table.cancel(second), (None, None));
        assert_eq!(table.finish(first), (Some(1.into()), None));
    }

    #[test]
    fn what_waits_is_bounded_in_bytes_too() {
        let limits = Limits { max_running: 1, max_waiting_bytes: 10, ..Limits::default() };
        let mut table: Incoming<u32> = Incoming::new(&limits);
        let keys: Vec<_> = (0..5).map(|_| table.next_key()).collect();
        // A running call is not queued.
        assert_eq!(admit(&mut table, keys[0], 0.into(), Demand::Slot(100), 0), Admission::Run);
        assert!(matches!(admit(&mut table, keys[1], 1.into(), Demand::Slot(6), 1), Admission::Wait(_)));
        assert_eq!(admit(&mut table, keys[2], 2.into(), Demand::Slot(5), 2), Admission::Busy);
        assert!(matches!(admit(&mut table, keys[3], 3.into(), Demand::Slot(4), 3), Admission::Wait(_)));
        assert_eq!(table.cancel(keys[1]), (Some(1), None));
        assert!(matches!(admit(&mut table, keys[2], 2.into(), Demand::Slot(6), 2), Admission::Wait(_)));
        assert_eq!(table.finish(keys[0]), (Some(0.into()), Some(3)));
        assert!(matches!(admit(&mut table, keys[4], 4.into(), Demand::Slot(4), 4), Admission::Wait(_)));
    }

    #[test]
    fn what_waits_for_something_else_takes_no_slot_but_counts_as_open() {
        let mut table = table(1, 0);
        let (fetch, call) = (table.next_key(), table.next_key());
        assert_eq!(admit(&mut table, fetch, 1.into(), Demand::Waits, 1), Admission::Run);
        assert_eq!(admit(&mut table, call, 2.into(), Demand::Slot(0), 2), Admission::Run);
        assert_eq!(table.finish(call), (Some(2.into()), None));
        assert!(!table.is_empty());
        let another = table.next_key();
        assert_eq!(admit(&mut table, another, 3.into(), Demand::Stays, 3), Admission::Busy);
        assert_eq!(table.finish(fetch), (Some(1.into()), None));
        assert!(table.is_empty());
        assert_eq!(admit(&mut table, another, 3.into(), Demand::Stays, 3), Admission::Run);
        assert!(table.is_empty());
    }

    #[test]
    fn streams_take_no_running_slot() {
        let mut table = table(1, 0);
        let (stream, call) = (table.next_key(), table.next_key());
        assert_eq!(admit(&mut table, stream, 1.into(), Demand::Stays, 1), Admission::Run);
        assert_eq!(admit(&mut table, call, 2.into(), Demand::Slot(0), 2), Admission::Run);
        let another = table.next_key();
        assert_eq!(admit(&mut table, another, 3.into(), Demand::Stays, 3), Admission::Busy, "streams are bounded too");
        assert_eq!(table.finish(stream), (Some(1.into()), None));
        assert_eq!(admit(&mut table, another, 3.into(), Demand::Stays, 3), Admission::Run);
        assert!(!table.is_empty());
        table.drain();
        assert!(table.is_empty() && !table.is_open(call) && table.find(&3.into()).is_none());
    }

    #[test]
    fn prg_02_progress_strictly_rises_and_prg_05_stops_with_the_call() {
        let mut table = table(1, 0);
        let key = table.next_key();
        admit(&mut table, key, 1.into(), Demand::Slot(0), 1);
        assert!(table.advance(key, 0.0));
        assert!(!table.advance(key, 0.0));
        assert!(table.advance(key, 0.5));
        assert!(!table.advance(key, f64::NAN));
        assert!(!table.advance(key, 0.4));
        let _ = table.finish(key);
        assert!(!table.advance(key, 1.0));
    }
}
