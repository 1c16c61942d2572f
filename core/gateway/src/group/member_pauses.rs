//! Time that a server of a group spends asking the user, which does not count towards the timeouts
//! of the group's requests.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};
use trunkline_core::{
    client::Inbox,
    extension::{
        on_drop::{BoxedOnDrop, OnDrop},
        sync::Mutex,
    },
    protocol::RequestId,
};

/// The requests of a group that one server is handling.
#[derive(Default)]
pub(super) struct MemberPauses(Mutex<HashSet<RequestId>>);

impl MemberPauses {
    /// Enters a request that the server is handling, until the guard is dropped.
    pub(super) fn enter(&self, id: RequestId) -> OnDrop<impl FnOnce()> {
        self.0.lock().insert(id.clone());
        OnDrop::new(move || {
            self.0.lock().remove(&id);
        })
    }

    /// Pauses the timeouts of the requests in flight, until the guard is dropped.
    fn pause(&self, inbox: Arc<dyn Inbox>) -> BoxedOnDrop {
        let paused: Vec<_> = self.0.lock().iter().cloned().collect();
        paused.iter().for_each(|id| inbox.pause(id));
        BoxedOnDrop::new(Box::new(move || paused.iter().for_each(|id| inbox.resume(id))))
    }
}

/// The pauses for the pending questions of one connection. An abandoned connection no longer waits.
#[derive(Default)]
pub(super) struct PendingQuestions(Mutex<VecDeque<Option<BoxedOnDrop>>>);

impl PendingQuestions {
    /// Called when the user is asked.
    pub(super) fn begin(&self, pauses: &MemberPauses, inbox: Option<Arc<dyn Inbox>>) {
        let pause = inbox.map(|inbox| pauses.pause(inbox));
        self.0.lock().push_back(pause);
    }

    /// Called when one of the questions was answered. Whichever it was, the oldest pause ends: the
    /// later ones include what it has paused, as far as that is still in flight.
    pub(super) fn end(&self) {
        let ended = self.0.lock().pop_front();
        drop(ended);
    }
}
