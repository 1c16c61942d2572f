//! The record of the rounds that were resumed: a state that comes again finds the values that
//! handlers kept since, so that an effect does not happen twice (MRTR-08).
//!
//! A client whose connection broke before the result sends the same retry again. The sealed state
//! in it knows only what was kept before that round; this record knows the rest. It lives in the
//! memory of its process.

use crate::{protocol::RpcError, sync::Mutex};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

/// Kept values are small, such as the number of a payment; beyond this the oldest are forgotten.
const MAX_BYTES: usize = 16 << 20;
/// The size of a record without values.
const RECORD_BYTES: usize = 128;

/// The states of a server that were resumed and have not expired yet.
#[derive(Default)]
pub(super) struct Resumptions(Mutex<Records>);

#[derive(Default)]
struct Records {
    by_id: HashMap<String, ResumptionRecord>,
    /// The ids by the time of their first resumption.
    order: VecDeque<String>,
    bytes: usize,
}

struct ResumptionRecord {
    /// Since 1970.
    expires: Duration,
    /// A request with this state is being served.
    is_running: bool,
    kept: BTreeMap<String, Value>,
    bytes: usize,
}

/// A request that resumes a state, until it is dropped.
pub(super) struct Resumption {
    resumptions: Arc<Resumptions>,
    id: String,
}

impl Resumptions {
    /// Begins to serve a request with the state of that id. Returns the values that were kept since
    /// the state was sealed.
    ///
    /// # Errors
    /// Another request with the same state is being served.
    pub(super) fn begin(
        self: &Arc<Self>,
        id: &str,
        expires: Duration,
        now: Duration,
    ) -> Result<(Resumption, BTreeMap<String, Value>), RpcError> {
        let mut records = self.0.lock();
        records.forget_expired(now);
        let kept = match records.by_id.get_mut(id) {
            Some(record) if record.is_running => {
                return Err(RpcError::invalid_params(
                    "requestState is in use by another request; wait for its result, or for its end before a retry",
                ));
            }
            Some(record) => {
                record.is_running = true;
                record.kept.clone()
            }
            None => {
                records.add(id, expires);
                BTreeMap::new()
            }
        };
        Ok((Resumption { resumptions: Arc::clone(self), id: id.to_owned() }, kept))
    }
}

impl Records {
    fn add(&mut self, id: &str, expires: Duration) {
        let record = ResumptionRecord { expires, is_running: true, kept: BTreeMap::new(), bytes: RECORD_BYTES };
        self.by_id.insert(id.to_owned(), record);
        self.order.push_back(id.to_owned());
        self.bytes += RECORD_BYTES;
        self.shrink();
    }

    fn keep(&mut self, id: &str, name: &str, value: &Value) {
        let Some(record) = self.by_id.get_mut(id) else { return };
        let bytes = name.len() + value.to_string().len();
        if record.kept.insert(name.to_owned(), value.clone()).is_none() {
            record.bytes += bytes;
            self.bytes += bytes;
        }
        self.shrink();
    }

    /// Forgets the oldest records beyond the bound, but none of a request that is being served.
    fn shrink(&mut self) {
        let mut running = Vec::new();
        while self.bytes > MAX_BYTES {
            let Some(id) = self.order.pop_front() else { break };
            match self.by_id.get(&id) {
                Some(record) if record.is_running => running.push(id),
                Some(_) => self.forget(&id),
                None => {}
            }
        }
        running.into_iter().rev().for_each(|id| self.order.push_front(id));
    }

    /// States expire in about the order in which they were resumed: all have the same lifetime.
    fn forget_expired(&mut self, now: Duration) {
        while let Some(id) = self.order.front() {
            match self.by_id.get(id) {
                Some(record) if record.is_running || record.expires > now => break,
                _ => {
                    let id = self.order.pop_front().unwrap_or_default();
                    self.forget(&id);
                }
            }
        }
    }

    fn forget(&mut self, id: &str) {
        if let Some(record) = self.by_id.remove(id) {
            self.bytes -= record.bytes;
        }
    }
}

impl Resumption {
    /// Keeps a value for another request with the same state.
    pub(super) fn keep(&self, name: &str, value: &Value) {
        self.resumptions.0.lock().keep(&self.id, name, value);
    }
}

impl Drop for Resumption {
    fn drop(&mut self) {
        if let Some(record) = self.resumptions.0.lock().by_id.get_mut(&self.id) {
            record.is_running = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOUR: Duration = Duration::from_secs(3600);
    const NOW: Duration = Duration::from_secs(1_000_000);

    #[test]
    fn mrtr_08_the_values_kept_by_one_request_are_found_by_the_next_with_the_same_state() {
        let resumptions = Arc::<Resumptions>::default();
        let (first, kept) = resumptions.begin("a", NOW + HOUR, NOW).unwrap();
        assert!(kept.is_empty());
        first.keep("payment", &json!(7));
        assert!(resumptions.begin("a", NOW + HOUR, NOW).is_err(), "in use");
        assert!(resumptions.begin("b", NOW + HOUR, NOW).is_ok(), "another state");
        drop(first);
        let (_, kept) = resumptions.begin("a", NOW + HOUR, NOW).unwrap();
        assert_eq!(kept, BTreeMap::from([("payment".to_owned(), json!(7))]));
    }

    #[test]
    fn records_end_with_their_states() {
        let resumptions = Arc::<Resumptions>::default();
        drop(resumptions.begin("a", NOW + HOUR, NOW).unwrap());
        drop(resumptions.begin("b", NOW + HOUR * 3, NOW + HOUR * 2).unwrap());
        let records = resumptions.0.lock();
        assert_eq!((records.by_id.len(), records.order.len(), records.bytes), (1, 1, RECORD_BYTES));
    }

    #[test]
    fn the_memory_is_bounded_and_the_oldest_give_way() {
        let resumptions = Arc::<Resumptions>::default();
        let (running, _) = resumptions.begin("running", NOW + HOUR, NOW).unwrap();
        for number in 0..40 {
            let (resumption, _) = resumptions.begin(&number.to_string(), NOW + HOUR, NOW).unwrap();
            resumption.keep("value", &"x".repeat(1 << 20).into());
        }
        {
            let records = resumptions.0.lock();
            assert!(records.bytes <= MAX_BYTES, "{}", records.bytes);
            assert!(records.by_id.contains_key("39") && !records.by_id.contains_key("0"));
            assert!(records.by_id.contains_key("running"), "a request in flight keeps its record");
        }
        drop(running);
    }
}
