//! Calls that wait for the next round of their caller.

use super::asking::ProxiedCall;
use crate::{
    engine::later,
    race::unless,
    runtime::{Promise, Runtime},
    sync::Mutex,
};
use indexmap::IndexMap;
use std::{sync::Arc, time::Duration};

/// Maximum parked calls; beyond it, the oldest is cancelled.
const MAX_CALLS: usize = 1_024;

/// Parked calls by id.
pub(super) struct ParkedCalls {
    runtime: Arc<dyn Runtime>,
    calls: Mutex<IndexMap<String, ParkedCall>>,
}

struct ParkedCall {
    call: Arc<ProxiedCall>,
    /// Completes when the call is resumed.
    taken: Arc<Promise<()>>,
}

impl ParkedCalls {
    pub(super) fn new(runtime: Arc<dyn Runtime>) -> Arc<Self> {
        Arc::new(Self { runtime, calls: Mutex::default() })
    }

    /// Parks a call. If it is not resumed in time, it is cancelled.
    pub(super) fn keep(self: &Arc<Self>, call: Arc<ProxiedCall>, time: Duration) {
        let (id, taken) = (call.id.clone(), Arc::new(Promise::default()));
        let oldest = {
            let mut calls = self.calls.lock();
            let oldest = if calls.len() >= MAX_CALLS { calls.shift_remove_index(0) } else { None };
            calls.insert(id.clone(), ParkedCall { call, taken: Arc::clone(&taken) });
            oldest
        };
        if let Some((_, oldest)) = oldest {
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
