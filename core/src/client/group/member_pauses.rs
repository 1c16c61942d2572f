//! The time that a server of a group spends asking a person: the requests of the group that it
//! answers do not count it.

use crate::{client::Inbox, protocol::RequestId, sync::Mutex};
use std::{collections::HashSet, sync::Arc};

/// The requests of a group that one server answers.
#[derive(Default)]
pub(super) struct MemberPauses(Mutex<MemberPauseState>);

#[derive(Default)]
struct MemberPauseState {
    in_flight: HashSet<RequestId>,
    /// Number of persons who are asked now, and the requests that wait for them.
    asking: usize,
    paused: Vec<RequestId>,
}

/// A request that the server answers, until it is dropped.
pub(super) struct MemberRequest<'a> {
    pauses: &'a MemberPauses,
    id: RequestId,
}

impl MemberPauses {
    pub(super) fn enter(&self, id: RequestId) -> MemberRequest<'_> {
        self.0.lock().in_flight.insert(id.clone());
        MemberRequest { pauses: self, id }
    }

    /// A person is asked: the clocks of the requests in flight stand still.
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

    /// The clocks go on.
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

impl Drop for MemberRequest<'_> {
    fn drop(&mut self) {
        self.pauses.0.lock().in_flight.remove(&self.id);
    }
}
