//! Calls that wait for the next round of their caller.

use super::asking::ProxiedCall;
use indexmap::IndexMap;
use std::{collections::HashMap, sync::Arc, time::Duration};
use trunkline_core::{
    extension::{Promise, race::unless, sync::Mutex},
    runtime::Runtime,
};
use trunkline_proto::engine::later;

/// Maximum parked calls; beyond it, the oldest of the client that has the most is cancelled.
const MAX_CALLS: usize = 1_024;

/// Parked calls by id.
pub(super) struct ParkedCalls {
    runtime: Arc<dyn Runtime>,
    calls: Mutex<IndexMap<String, ParkedCall>>,
}

struct ParkedCall {
    call: Arc<ProxiedCall>,
    /// Its client, if there is a per-client limit.
    client: Option<Arc<str>>,
    /// Completes when the call is resumed.
    taken: Arc<Promise<()>>,
}

impl ParkedCalls {
    pub(super) fn new(runtime: Arc<dyn Runtime>) -> Arc<Self> {
        Arc::new(Self { runtime, calls: Mutex::default() })
    }

    /// Parks a call. If it is not resumed in time, it is cancelled.
    pub(super) fn keep(self: &Arc<Self>, call: Arc<ProxiedCall>, client: Option<Arc<str>>, time: Duration) {
        let (id, taken) = (call.id.clone(), Arc::new(Promise::default()));
        let oldest = {
            let mut calls = self.calls.lock();
            let oldest = if calls.len() >= MAX_CALLS { give_way(&mut calls) } else { None };
            calls.insert(id.clone(), ParkedCall { call, client, taken: Arc::clone(&taken) });
            oldest
        };
        if let Some(oldest) = oldest {
            tracing::warn!(target: "trunkline::server::proxy", waiting = MAX_CALLS, "abandoned a call: too many calls of a proxy are waiting for their callers");
            oldest.give_up();
        }
        let (calls, runtime) = (Arc::downgrade(self), Arc::clone(&self.runtime));
        self.runtime.spawn(Box::pin(async move {
            let over = runtime.sleep_until(later(runtime.now(), time));
            if unless(taken.kept(), over).await.is_none() {
                return;
            }
            let parked = calls.upgrade().and_then(|calls| calls.calls.lock().shift_remove(&id));
            if let Some(parked) = parked {
                parked.give_up();
            }
        }));
    }

    /// Resumes a call and removes it.
    pub(super) fn take(&self, id: &str) -> Option<Arc<ProxiedCall>> {
        let parked = self.calls.lock().shift_remove(id)?;
        parked.taken.keep(());
        Some(parked.call)
    }
}

/// Removes the oldest call of the client that has the most.
fn give_way(calls: &mut IndexMap<String, ParkedCall>) -> Option<ParkedCall> {
    let mut counts = HashMap::<_, usize>::new();
    calls.values().for_each(|parked| *counts.entry(&parked.client).or_default() += 1);
    let (client, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let oldest = calls.values().position(|parked| parked.client == *client)?;
    calls.shift_remove_index(oldest).map(|(_, parked)| parked)
}

impl ParkedCall {
    fn give_up(&self) {
        self.taken.keep(());
        self.call.stop.keep(());
    }
}

impl Drop for ParkedCalls {
    fn drop(&mut self) {
        self.calls.lock().values().for_each(ParkedCall::give_up);
    }
}

#[cfg(all(test, feature = "server", feature = "tokio"))]
mod tests {
    use super::*;
    use trunkline_core::transport::TokioRuntime;

    #[tokio::test(start_paused = true)]
    async fn the_calls_of_a_greedy_client_do_not_push_out_those_of_another() {
        let parked = ParkedCalls::new(TokioRuntime::current());
        let keep = |client: Option<&str>| {
            let call = ProxiedCall::new().unwrap();
            parked.keep(Arc::clone(&call), client.map(Into::into), Duration::from_secs(60));
            call.id.clone()
        };
        let (bystander, nobody) = (keep(Some("bystander")), keep(None));
        let greedy: Vec<_> = (0..2 * MAX_CALLS).map(|_| keep(Some("greedy"))).collect();
        assert_eq!(parked.calls.lock().len(), MAX_CALLS);
        assert!(parked.take(&bystander).is_some() && parked.take(&nobody).is_some());
        assert!(parked.take(&greedy[MAX_CALLS]).is_none() && parked.take(&greedy[2 * MAX_CALLS - 1]).is_some());
    }
}
