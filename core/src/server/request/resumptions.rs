//! The record of the rounds that were resumed: a state that comes again finds the values that
//! handlers kept since, so that an effect does not happen twice (MRTR-08).
//!
//! A client whose connection broke before the result sends the same retry again. The sealed state
//! in it knows only what was kept before that round; this record knows the rest. It lives in the
//! memory of its process, within a bound: beyond it the oldest records of the principal with the
//! most give way.

use crate::{protocol::RpcError, sync::Mutex};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

/// Kept values are small, such as the number of a payment.
const MAX_BYTES: usize = 16 << 20;
/// Looks at a state that another request has, and the pause between them: that may be about to end.
pub(super) const LOOKS: usize = 20;
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// The refusal of a state that another request has.
pub(super) const IN_USE: &str = "another request with this requestState is being served; send it again after that";
/// The size of a record without values.
const RECORD_BYTES: usize = 128;

/// The states of a server that were resumed and have not expired yet.
#[derive(Default)]
pub(super) struct Resumptions(Mutex<Records>);

#[derive(Default)]
struct Records {
    by_id: HashMap<String, ResumptionRecord>,
    /// By principal.
    shares: HashMap<String, ResumptionShare>,
    bytes: usize,
}

struct ResumptionRecord {
    principal: String,
    /// Since 1970.
    expires: Duration,
    /// A request with this state is being served.
    is_running: bool,
    kept: BTreeMap<String, Value>,
    bytes: usize,
}

/// The records of one principal; all callers without a verified identity are one.
#[derive(Default)]
struct ResumptionShare {
    /// The ids by the time of their first resumption.
    order: VecDeque<String>,
    running: usize,
    bytes: usize,
}

/// A request that resumes a state, until it is dropped.
pub(super) struct Resumption {
    resumptions: Arc<Resumptions>,
    id: String,
    expires: Duration,
    /// The same in the store of the server, if it has one.
    held: Option<Box<dyn HeldState>>,
}

/// A state that no other worker serves, until it is dropped.
pub(super) trait HeldState: Send + Sync {
    /// Keeps a value for another request with the state, at any worker.
    fn keep(&self, name: &str, value: &Value);
}

impl Resumptions {
    /// Begins to serve a request of that principal with the state of that id. Returns the values
    /// that were kept since the state was sealed.
    ///
    /// # Errors
    /// Another request with the same state is being served.
    pub(super) fn begin(
        self: &Arc<Self>,
        principal: &str,
        id: &str,
        expires: Duration,
        now: Duration,
    ) -> Result<(Resumption, BTreeMap<String, Value>), RpcError> {
        let mut records = self.0.lock();
        records.forget_expired(principal, now);
        let kept = match records.by_id.get(id) {
            Some(record) if record.is_running => {
                return Err(RpcError::busy(IN_USE));
            }
            Some(record) => record.kept.clone(),
            None => {
                records.add(principal, id, expires, now);
                BTreeMap::new()
            }
        };
        records.set_running(id, true);
        Ok((Resumption { resumptions: Arc::clone(self), id: id.to_owned(), expires, held: None }, kept))
    }
}

impl Records {
    fn add(&mut self, principal: &str, id: &str, expires: Duration, now: Duration) {
        // Before records that still count give way.
        if self.bytes > MAX_BYTES / 2 {
            let principals: Vec<String> = self.shares.keys().cloned().collect();
            principals.iter().for_each(|principal| self.forget_expired(principal, now));
        }
        let principal = principal.to_owned();
        let share = self.shares.entry(principal.clone()).or_default();
        share.order.push_back(id.to_owned());
        share.bytes += RECORD_BYTES;
        self.bytes += RECORD_BYTES;
        let record =
            ResumptionRecord { principal, expires, is_running: false, kept: BTreeMap::new(), bytes: RECORD_BYTES };
        self.by_id.insert(id.to_owned(), record);
    }

    fn set_running(&mut self, id: &str, running: bool) {
        let Some(record) = self.by_id.get_mut(id) else { return };
        record.is_running = running;
        let is_empty = record.kept.is_empty();
        if let Some(share) = self.shares.get_mut(&record.principal) {
            if running { share.running += 1 } else { share.running -= 1 }
        }
        // Without values, nothing is lost with the record.
        if !running && is_empty {
            self.forget(id);
        }
        self.shrink();
    }

    fn keep(&mut self, id: &str, name: &str, value: &Value) {
        let Some(record) = self.by_id.get_mut(id) else { return };
        let bytes = name.len() + value.to_string().len();
        if record.kept.insert(name.to_owned(), value.clone()).is_none() {
            record.bytes += bytes;
            self.bytes += bytes;
            if let Some(share) = self.shares.get_mut(&record.principal) {
                share.bytes += bytes;
            }
        }
        self.shrink();
    }

    /// Beyond the bound, forgets the oldest records of the principal with the largest share: a
    /// caller with many cannot make the server forget those of the others. A record whose request
    /// is being served stays.
    fn shrink(&mut self) {
        while self.bytes > MAX_BYTES {
            let idle = self.shares.values().filter(|share| share.running < share.order.len());
            let Some(share) = idle.max_by_key(|share| share.bytes) else { return };
            let is_idle = |id: &&String| self.by_id.get(*id).is_some_and(|record| !record.is_running);
            let Some(id) = share.order.iter().find(is_idle).cloned() else { return };
            self.forget(&id);
        }
    }

    /// States of a principal expire in about the order in which they were resumed: all have the
    /// same lifetime.
    fn forget_expired(&mut self, principal: &str, now: Duration) {
        while let Some(id) = self.shares.get(principal).and_then(|share| share.order.front()) {
            match self.by_id.get(id) {
                Some(record) if record.is_running || record.expires > now => return,
                _ => {
                    let id = id.clone();
                    self.forget(&id);
                }
            }
        }
    }

    fn forget(&mut self, id: &str) {
        let Some(record) = self.by_id.remove(id) else { return };
        self.bytes -= record.bytes;
        let Some(share) = self.shares.get_mut(&record.principal) else { return };
        share.bytes -= record.bytes;
        if let Some(place) = share.order.iter().position(|other| other == id) {
            share.order.remove(place);
        }
        if share.order.is_empty() {
            self.shares.remove(&record.principal);
        }
    }
}

impl Resumption {
    /// The id of the state, and its end since 1970.
    pub(super) fn state(&self) -> (&str, Duration) {
        (&self.id, self.expires)
    }

    /// The values that requests with the state have kept at this process.
    pub(super) fn known(&self) -> BTreeMap<String, Value> {
        self.resumptions.0.lock().by_id.get(&self.id).map(|record| record.kept.clone()).unwrap_or_default()
    }

    /// Holds the state against other workers, too, from now on.
    pub(super) fn hold(&mut self, held: Box<dyn HeldState>) {
        self.held = Some(held);
    }

    /// Keeps a value for another request with the same state.
    pub(super) fn keep(&self, name: &str, value: &Value) {
        if let Some(held) = &self.held {
            held.keep(name, value);
        }
        self.resumptions.0.lock().keep(&self.id, name, value);
    }
}

impl Drop for Resumption {
    fn drop(&mut self) {
        self.resumptions.0.lock().set_running(&self.id, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOUR: Duration = Duration::from_secs(3600);
    const NOW: Duration = Duration::from_secs(1_000_000);

    /// A request that keeps so many bytes and ends.
    fn resume(resumptions: &Arc<Resumptions>, principal: &str, id: &str, bytes: usize) {
        let (resumption, _) = resumptions.begin(principal, id, NOW + HOUR, NOW).unwrap();
        resumption.keep("value", &"x".repeat(bytes).into());
    }

    fn has(resumptions: &Resumptions, id: &str) -> bool {
        resumptions.0.lock().by_id.contains_key(id)
    }

    #[test]
    fn mrtr_08_the_values_kept_by_one_request_are_found_by_the_next_with_the_same_state() {
        let resumptions = Arc::<Resumptions>::default();
        let (first, kept) = resumptions.begin("me", "a", NOW + HOUR, NOW).unwrap();
        assert!(kept.is_empty());
        first.keep("payment", &json!(7));
        assert!(resumptions.begin("me", "a", NOW + HOUR, NOW).is_err(), "in use");
        assert!(resumptions.begin("me", "b", NOW + HOUR, NOW).is_ok(), "another state");
        drop(first);
        let (_, kept) = resumptions.begin("me", "a", NOW + HOUR, NOW).unwrap();
        assert_eq!(kept, BTreeMap::from([("payment".to_owned(), json!(7))]));
    }

    #[test]
    fn records_end_with_their_states_and_at_once_without_values() {
        let resumptions = Arc::<Resumptions>::default();
        drop(resumptions.begin("me", "empty", NOW + HOUR, NOW).unwrap());
        assert!(!has(&resumptions, "empty"));
        resume(&resumptions, "me", "a", 1);
        drop(resumptions.begin("me", "b", NOW + HOUR * 3, NOW + HOUR * 2).unwrap());
        let records = resumptions.0.lock();
        assert_eq!((records.by_id.len(), records.shares.len(), records.bytes), (0, 0, 0));
    }

    #[test]
    fn expired_records_of_all_make_room() {
        let resumptions = Arc::<Resumptions>::default();
        for number in 0..16 {
            resume(&resumptions, &format!("p{number}"), &number.to_string(), 1_047_000);
        }
        // As many again after their time.
        for number in 16..26 {
            let (one, _) = resumptions.begin("late", &number.to_string(), NOW + HOUR * 3, NOW + HOUR * 2).unwrap();
            one.keep("value", &"x".repeat(1_047_000).into());
        }
        assert!((0..16).all(|number| !has(&resumptions, &number.to_string())));
        assert!((16..26).all(|number| has(&resumptions, &number.to_string())));
    }

    #[test]
    fn mrtr_08_a_caller_with_many_records_loses_its_own_oldest_and_no_other_its_own() {
        let resumptions = Arc::<Resumptions>::default();
        let (running, _) = resumptions.begin("greedy", "running", NOW + HOUR, NOW).unwrap();
        resume(&resumptions, "modest", "payment", 1 << 10);
        for number in 0..40 {
            resume(&resumptions, "greedy", &number.to_string(), 1 << 20);
        }
        assert!(resumptions.0.lock().bytes <= MAX_BYTES);
        assert!(has(&resumptions, "39") && !has(&resumptions, "0"), "the oldest give way");
        assert!(has(&resumptions, "running"), "a request in flight keeps its record");
        assert!(has(&resumptions, "payment"), "another principal keeps its own");
        drop(running);
    }
}
