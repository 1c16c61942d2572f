//! Our own requests: ids, deadlines and response matching.

use crate::fast_map::FastMap;
use crate::protocol::{RawJson, RequestId, meta::ProgressToken};
use std::{
    borrow::Cow,
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// The timeouts of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestTimeout {
    /// Maximum time without progress.
    pub timeout: Duration,
    /// Maximum total time, regardless of progress (LIFE-16).
    pub max: Duration,
}

/// A request to send.
#[derive(Debug, Clone, Copy)]
pub struct MethodCall<'a> {
    /// Its method.
    pub method: &'a str,
    /// The parameters object.
    pub params: Option<&'a RawJson>,
    /// Its timeouts.
    pub timeout: RequestTimeout,
}

/// The end of a wait that starts now. An endless wait is capped at a century, so that no clock
/// overflows.
pub fn later(now: Instant, wait: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    now.checked_add(wait.min(CENTURY)).unwrap_or(now)
}

/// The same JSON without line breaks, since a message over a pipe is one line (STD-01). Between
/// tokens, a line break is equivalent to a space.
pub(super) fn one_line(params: &[u8]) -> Cow<'_, [u8]> {
    let breaks = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !params.iter().any(breaks) {
        return Cow::Borrowed(params);
    }
    params.iter().map(|byte| if breaks(byte) { b' ' } else { *byte }).collect()
}

/// The table of our own pending requests. A `T` is kept with each.
///
/// Ids are counted up and never reused (RPC-05); a request's progress token is its id (PRG-01).
#[derive(Debug)]
pub struct OutgoingRequests<T> {
    next_id: i64,
    /// The prefix of all ids, if other processes make requests in the same session.
    prefix: Option<Box<str>>,
    pending: FastMap<i64, Pending<T>>,
    deadlines: BTreeSet<(Instant, i64)>,
}

#[derive(Debug)]
struct Pending<T> {
    item: T,
    deadline: Instant,
    last: Instant,
    timeout: RequestTimeout,
    paused: Option<Paused>,
}

/// The paused timeouts of a request; pauses are counted.
#[derive(Debug)]
struct Paused {
    since: Instant,
    times: usize,
}

impl<T> Default for OutgoingRequests<T> {
    fn default() -> Self {
        Self { next_id: 1, prefix: None, pending: FastMap::default(), deadlines: BTreeSet::new() }
    }
}

impl<T> OutgoingRequests<T> {
    /// Sets the prefix of ids, which must be unique among the processes of the session.
    pub(super) fn begin_ids_with(&mut self, prefix: &str) {
        self.prefix = Some(prefix.into());
    }

    fn id(&self, number: i64) -> RequestId {
        match &self.prefix {
            None => RequestId::Integer(number),
            Some(prefix) => RequestId::String(format!("{prefix}{number}").into()),
        }
    }

    fn number(&self, id: &RequestId) -> Option<i64> {
        match (id, &self.prefix) {
            (RequestId::Integer(number), None) => Some(*number),
            (RequestId::String(id), Some(prefix)) => id.strip_prefix(&**prefix)?.parse().ok(),
            _ => None,
        }
    }

    /// Starts a request and returns its id.
    pub fn start(&mut self, now: Instant, timeout: RequestTimeout, item: T) -> RequestId {
        let id = self.next_id;
        self.next_id += 1;
        let last = later(now, timeout.max);
        let deadline = later(now, timeout.timeout).min(last);
        self.pending.insert(id, Pending { item, deadline, last, timeout, paused: None });
        self.deadlines.insert((deadline, id));
        self.id(id)
    }

    /// Removes a request that was answered, cancelled or has timed out. Returns `None` if it is not
    /// pending (a late response, CAN-07, or an unknown id).
    pub fn finish(&mut self, id: &RequestId) -> Option<T> {
        let id = self.number(id)?;
        let pending = self.pending.remove(&id)?;
        self.deadlines.remove(&(pending.deadline, id));
        Some(pending.item)
    }

    /// Restarts the timeout of a request after progress, up to its maximum time (LIFE-15, LIFE-16).
    pub fn progress(&mut self, now: Instant, token: &ProgressToken) -> Option<&mut T> {
        let id = self.number(token)?;
        let pending = self.pending.get_mut(&id)?;
        self.deadlines.remove(&(pending.deadline, id));
        pending.deadline = later(now, pending.timeout.timeout).min(pending.last);
        if pending.paused.is_none() {
            self.deadlines.insert((pending.deadline, id));
        }
        Some(&mut pending.item)
    }

    /// Pauses the timeouts of a request while the user is asked. Each call needs a matching
    /// [`Self::resume`].
    pub fn pause(&mut self, now: Instant, id: &RequestId) {
        let Some(id) = self.number(id) else { return };
        let Some(pending) = self.pending.get_mut(&id) else { return };
        self.deadlines.remove(&(pending.deadline, id));
        pending.paused.get_or_insert(Paused { since: now, times: 0 }).times += 1;
    }

    /// Pauses the timeouts of all requests. Returns them for [`Self::resume`].
    pub fn pause_all(&mut self, now: Instant) -> Vec<RequestId> {
        let ids: Vec<_> = self.pending.keys().map(|number| self.id(*number)).collect();
        for id in &ids {
            self.pause(now, id);
        }
        ids
    }

    /// Resumes the timeouts of a request: its timeout restarts, and its maximum time is extended by
    /// the pause.
    pub fn resume(&mut self, now: Instant, id: &RequestId) {
        let Some(id) = self.number(id) else { return };
        let Some(pending) = self.pending.get_mut(&id) else { return };
        let Some(paused) = &mut pending.paused else { return };
        paused.times -= 1;
        if paused.times > 0 {
            return;
        }
        pending.last = later(pending.last, now.saturating_duration_since(paused.since));
        pending.paused = None;
        pending.deadline = later(now, pending.timeout.timeout).min(pending.last);
        self.deadlines.insert((pending.deadline, id));
    }

    /// When the next request times out.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// A request that has timed out, and the timeout that was exceeded.
    pub fn first_due(&self, now: Instant) -> Option<(RequestId, &T, Duration)> {
        let (deadline, id) = self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        let pending = self.pending.get(id)?;
        let over = if *deadline == pending.last { pending.timeout.max } else { pending.timeout.timeout };
        Some((self.id(*id), &pending.item, over))
    }

    /// All requests in flight, in no order.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.pending.values().map(|pending| &pending.item)
    }

    /// A request in flight.
    pub fn get(&self, id: &RequestId) -> Option<&T> {
        self.pending.get(&self.number(id)?).map(|pending| &pending.item)
    }

    /// When a request times out.
    pub fn deadline_of(&self, id: &RequestId) -> Option<Instant> {
        self.pending.get(&self.number(id)?).map(|pending| pending.deadline)
    }

    /// Removes all requests, oldest first.
    pub fn drain(&mut self) -> Vec<(RequestId, T)> {
        self.deadlines.clear();
        let mut all: Vec<_> = self.pending.drain().map(|(id, pending)| (id, pending.item)).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter().map(|(id, item)| (self.id(id), item)).collect()
    }

    /// Number of requests in flight.
    pub fn in_flight(&self) -> usize {
        self.pending.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const TIMEOUT: RequestTimeout = RequestTimeout { timeout: SECOND, max: Duration::from_secs(3) };

    #[test]
    fn a_pause_stops_the_clocks_of_its_request_only() {
        let (mut table, now) = (OutgoingRequests::default(), Instant::now());
        let (asking, other) = (table.start(now, TIMEOUT, "asking"), table.start(now, TIMEOUT, "other"));
        table.pause(now, &asking);
        table.pause(now, &asking);
        assert!(table.progress(now, &asking).is_some());
        assert_eq!(table.first_due(now + SECOND), Some((other.clone(), &"other", SECOND)));
        table.finish(&other);
        let later = now + 60 * SECOND;
        table.resume(later, &asking);
        assert_eq!(table.next_deadline(), None, "someone else still asks");
        table.resume(later, &asking);
        table.resume(later, &asking);
        assert_eq!(table.next_deadline(), Some(later + SECOND));
        // The maximum time was extended by the pause.
        table.progress(later + 2 * SECOND + SECOND / 2, &asking);
        assert_eq!(table.next_deadline(), Some(later + 3 * SECOND));
        table.pause(later, &other);
        table.resume(later, &other);
    }

    #[test]
    fn life_13_a_request_times_out_and_a_late_answer_is_ignored() {
        let (mut table, now) = (OutgoingRequests::default(), Instant::now());
        let id = table.start(now, TIMEOUT, "a");
        assert_eq!(table.first_due(now), None);
        assert_eq!(table.next_deadline(), Some(now + SECOND));
        assert_eq!(table.first_due(now + SECOND), Some((id.clone(), &"a", SECOND)));
        assert_eq!(table.finish(&id), Some("a"));
        assert_eq!(table.finish(&id), None);
        assert_eq!(table.in_flight(), 0);
    }

    #[test]
    fn life_15_progress_renews_and_life_16_the_cap_holds() {
        let (mut table, now) = (OutgoingRequests::default(), Instant::now());
        let id = table.start(now, TIMEOUT, "a");
        for step in 1..=5 {
            let at = now + SECOND * step / 2;
            assert!(table.progress(at, &id).is_some());
            assert_eq!(table.first_due(at), None);
        }
        assert_eq!(table.next_deadline(), Some(now + SECOND * 3));
        assert_eq!(table.first_due(now + SECOND * 3), Some((id.clone(), &"a", SECOND * 3)));
        assert_eq!(table.deadline_of(&id), Some(now + SECOND * 3));
    }

    #[test]
    fn std_01_json_that_is_written_over_several_lines_becomes_one() {
        let pretty = b"{\r\n  \"a\": \"x\\ny\"\n}";
        assert_eq!(&*one_line(pretty), b"{    \"a\": \"x\\ny\" }");
        assert!(matches!(one_line(b"{}"), Cow::Borrowed(_)));
    }

    #[test]
    fn ids_with_a_beginning_are_those_of_one_process() {
        let (mut table, now) = (OutgoingRequests::default(), Instant::now());
        table.begin_ids_with("w1-");
        let (one, two) = (table.start(now, TIMEOUT, 1), table.start(now, TIMEOUT, 2));
        assert_eq!((one.clone(), two.clone()), (RequestId::from("w1-1"), RequestId::from("w1-2")));
        for other in [RequestId::Integer(1), RequestId::from("1"), RequestId::from("w2-1"), RequestId::from("w1-")] {
            assert_eq!(table.finish(&other), None, "{other}");
        }
        assert_eq!(table.pause_all(now).len(), 2);
        table.resume(now, &two);
        assert_eq!(table.first_due(now + SECOND), Some((two.clone(), &2, SECOND)));
        assert!(table.progress(now + SECOND, &two).is_some() && table.deadline_of(&one).is_some());
        assert_eq!((table.finish(&one), table.get(&two)), (Some(1), Some(&2)));
        assert_eq!(table.drain(), [(two, 2)]);
    }

    /// LIFE-14: each request has its own timeout.
    #[test]
    fn waits_without_end_are_possible() {
        let (mut table, now) = (OutgoingRequests::default(), Instant::now());
        let id = table.start(now, RequestTimeout { timeout: Duration::MAX, max: Duration::MAX }, "a");
        assert!(table.progress(now, &id).is_some());
        assert!(table.next_deadline().is_some_and(|deadline| deadline > now + SECOND * 3600));
    }

    #[test]
    fn rpc_05_ids_are_never_reused_and_look_alikes_differ() {
        let (mut table, now) = (OutgoingRequests::default(), Instant::now());
        let first = table.start(now, TIMEOUT, 1);
        assert_eq!(table.finish(&RequestId::from("1")), None);
        assert_eq!(table.finish(&first), Some(1));
        assert_ne!(table.start(now, TIMEOUT, 2), first);
        assert_eq!(table.drain().len(), 1);
    }
}
