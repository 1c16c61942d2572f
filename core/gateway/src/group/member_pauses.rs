//! Time that a server of a group spends asking the user, which does not count towards the timeouts
//! of the group's requests.

use std::{collections::HashSet, sync::Arc};
use trunkline_core::{
    client::Inbox,
    extension::{on_drop::OnDrop, sync::Mutex},
    protocol::RequestId,
};

/// The requests of a group that one server is handling.
#[derive(Default)]
pub(super) struct MemberPauses(Mutex<MemberPauseState>);

#[derive(Default)]
struct MemberPauseState {
    in_flight: HashSet<RequestId>,
    /// Number of pending questions, and the requests that are paused.
    asking: usize,
    paused: Vec<RequestId>,
}

impl MemberPauses {
    /// Enters a request that the server is handling, until the guard is dropped.
    pub(super) fn enter(&self, id: RequestId) -> OnDrop<impl FnOnce()> {
        self.0.lock().in_flight.insert(id.clone());
        OnDrop::new(move || {
            self.0.lock().in_flight.remove(&id);
        })
    }

    /// Called when the user is asked: pauses the timeouts of the requests in flight.
    pub(super) fn begin(&self, inbox: Option<&Arc<dyn Inbox>>) {
        let paused = {
            let mut state = self.0.lock();
            state.asking += 1;
            if state.asking > 1 {
                return;
            }
            state.paused = state.in_flight.iter().cloned().collect();
            state.paused.clone()
        };
        if let Some(inbox) = inbox {
            paused.iter().for_each(|id| inbox.pause(id));
        }
    }

    /// Resumes the timeouts.
    pub(super) fn end(&self, inbox: Option<&Arc<dyn Inbox>>) {
        let paused = {
            let mut state = self.0.lock();
            state.asking = state.asking.saturating_sub(1);
            if state.asking > 0 {
                return;
            }
            std::mem::take(&mut state.paused)
        };
        if let Some(inbox) = inbox {
            paused.iter().for_each(|id| inbox.resume(id));
        }
    }
}
