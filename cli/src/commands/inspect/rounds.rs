//! The questions of the server that are open.

use super::{
    hub::{Hub, text_of},
    state::{Era, Increment, Round, RoundKind},
};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;
use trunkline::{Revision, RpcError, protocol::RawJson};

/// The questions that wait for an answer.
pub(super) struct Rounds {
    hub: Arc<Hub>,
    open: Mutex<Open>,
}

#[derive(Default)]
pub(super) struct Open {
    pub(super) waiting: HashMap<u64, Waiting>,
}

/// A question that waits.
pub(super) struct Waiting {
    pub(super) method: &'static str,
    pub(super) params: Value,
    pub(super) revision: Revision,
    pub(super) sender: oneshot::Sender<Result<RawJson, RpcError>>,
}

impl Rounds {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self { hub, open: Mutex::default() }
    }

    pub(super) fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The logins of a connection are over, or only those of one of its calls.
    pub(super) fn end_logins(&self, era: Era, call: Option<u64>) {
        let is_over = |round: &&Round| {
            round.kind == RoundKind::Login && round.era == era && (call.is_none() || round.call == call)
        };
        let ended: Vec<u64> = self.hub.state().rounds.iter().filter(is_over).map(|round| round.id).collect();
        ended.into_iter().for_each(|id| end(&self.hub, id, "withdrawal"));
    }
}

/// Takes a question from the page.
pub(super) fn end(hub: &Hub, id: u64, by: &'static str) {
    let state = &mut *hub.state();
    let open = state.rounds.len();
    state.rounds.retain(|round| round.id != id);
    if state.rounds.len() < open {
        hub.tell(state, &text_of(&Increment::RoundEnded { round: id, by }));
    }
}
