//! The questions of the server that are open.

use super::{
    hub::{Hub, text_of},
    state::{Era, Increment},
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
    /// The questions that are logins, by the era of their connection.
    pub(super) logins: Vec<(Era, u64)>,
    /// The era that is being opened.
    pub(super) login_of: Option<Era>,
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

    /// Logins belong to this era until another one is opened.
    pub(super) fn expect_login_of(&self, era: Era) {
        self.open().login_of = Some(era);
    }

    /// The logins of a connection are over.
    pub(super) fn end_logins(&self, era: Era) {
        let ended: Vec<u64> = {
            let open = &mut *self.open();
            let ended = open.logins.iter().filter(|(of, _)| *of == era).map(|(_, id)| *id).collect();
            open.logins.retain(|(of, _)| *of != era);
            ended
        };
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
