//! Progress of a task, for requests that wait for its result.

use std::sync::Arc;
use trunkline::{
    bridge_support::{Mutex, OnDrop, ReplyTo},
    protocol::RawJson,
};

/// The progress of a task.
#[derive(Default)]
pub(crate) struct TaskProgress(Mutex<Reported>);

#[derive(Default)]
struct Reported {
    /// The latest progress. A new request gets it immediately.
    latest: Option<RawJson>,
    receivers: Vec<Arc<dyn ReplyTo>>,
}

impl TaskProgress {
    pub(crate) fn report(&self, params: &RawJson) {
        let receivers = {
            let mut reported = self.0.lock();
            reported.latest = Some(params.clone());
            reported.receivers.clone()
        };
        receivers.iter().for_each(|receiver| receiver.progress(params.clone()));
    }

    /// Passes progress to a request until the returned guard is dropped.
    pub(crate) fn receive(&self, receiver: Arc<dyn ReplyTo>) -> OnDrop<impl FnOnce()> {
        let latest = {
            let mut reported = self.0.lock();
            reported.receivers.push(Arc::clone(&receiver));
            reported.latest.clone()
        };
        if let Some(latest) = latest {
            receiver.progress(latest);
        }
        OnDrop::new(move || self.0.lock().receivers.retain(|other| !Arc::ptr_eq(other, &receiver)))
    }
}
