//! Sessions that several processes serve: the state that they share, and its changes.

use super::{
    connection::Connection,
    pending::{PendingNotifications, changed_method},
};
use crate::{
    engine::LegacyTerms,
    protocol::{envelope, method, model::LoggingLevel},
    server::registry::ListSet,
    sync::Mutex,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
};

/// The state of a session of the legacy era, for any process that serves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SharedState {
    terms: LegacyTerms,
    /// The lists that `initialize` declared.
    declared: ListSet,
    initialized: bool,
    log_level: LoggingLevel,
    /// Resources that the session subscribed to.
    resources: BTreeSet<String>,
}

/// A change of the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum SessionChange {
    Initialized,
    LogLevel(LoggingLevel),
    Subscribed(String),
    Unsubscribed(String),
}

impl SharedState {
    pub(crate) fn apply(&mut self, change: &SessionChange) {
        match change {
            SessionChange::Initialized => self.initialized = true,
            SessionChange::LogLevel(level) => self.log_level = *level,
            SessionChange::Subscribed(uri) => {
                self.resources.insert(uri.clone());
            }
            SessionChange::Unsubscribed(uri) => {
                self.resources.remove(uri);
            }
        }
    }
}

/// The changes that this process made and the others do not know yet.
pub(super) type OwnChanges = Mutex<Vec<SessionChange>>;

impl Connection {
    /// From now on others serve this session too. Requests of ours get ids from `first_request` on,
    /// which tell the processes apart.
    pub(crate) fn share(&self, first_request: i64) {
        self.conversation().number_requests_from(first_request);
        let _ = self.own_changes().set(OwnChanges::default());
    }

    /// Returns whether other processes serve this session too.
    pub(super) fn is_shared(&self) -> bool {
        self.own_changes().get().is_some()
    }

    /// The state of the session, if a handshake has opened one.
    pub(crate) fn shared_state(&self) -> Option<SharedState> {
        let terms = self.conversation().terms()?.clone();
        let resources = self.notifications().resources.lock().set().clone();
        Some(SharedState {
            terms,
            declared: self.declared(),
            initialized: self.is_initialized(),
            log_level: self.log_level().get(),
            resources,
        })
    }

    /// Goes on with a session that was opened elsewhere, or takes over what has changed there.
    pub(crate) fn restore(self: &Arc<Self>, state: &SharedState) {
        self.conversation().restore(state.terms.clone());
        self.declare(state.declared);
        self.listen();
        if state.initialized {
            self.apply(&SessionChange::Initialized);
        }
        self.apply(&SessionChange::LogLevel(state.log_level));
        let mut resources = self.notifications().resources.lock();
        let over: Vec<_> = resources.set().difference(&state.resources).cloned().collect();
        over.iter().for_each(|uri| {
            resources.remove(uri);
        });
        // Within the bounds: they were when they were kept.
        state.resources.iter().for_each(|uri| drop(resources.insert(uri)));
    }

    /// Takes over a change that another process made.
    pub(crate) fn apply(&self, change: &SessionChange) {
        match change {
            SessionChange::Initialized => self.initialized().store(true, Ordering::Release),
            SessionChange::LogLevel(level) => self.log_level().set(*level),
            SessionChange::Subscribed(uri) => drop(self.notifications().resources.lock().insert(uri)),
            SessionChange::Unsubscribed(uri) => {
                self.notifications().resources.lock().remove(uri);
            }
        }
    }

    /// Sets the least severe level that the client wants.
    pub(in crate::server) fn set_log_level(&self, level: LoggingLevel) {
        self.log_level().set(level);
        self.note_change(|| SessionChange::LogLevel(level));
    }

    /// Notes a change for the other processes, if there may be any.
    pub(super) fn note_change(&self, change: impl FnOnce() -> SessionChange) {
        if let Some(changes) = self.own_changes().get() {
            changes.lock().push(change());
        }
    }

    /// The changes that the other processes do not know yet.
    pub(crate) fn take_changes(&self) -> Vec<SessionChange> {
        self.own_changes().get().map(|changes| std::mem::take(&mut *changes.lock())).unwrap_or_default()
    }

    /// Puts changes back that could not be told.
    pub(crate) fn return_changes(&self, mut untold: Vec<SessionChange>) {
        if let Some(changes) = self.own_changes().get() {
            let mut changes = changes.lock();
            untold.append(&mut changes);
            *changes = untold;
        }
    }

    /// The notifications of changes that the client of this session asked for, as messages. The
    /// stream of a shared session is read from its log, so they are not queued here.
    pub(crate) fn notifications_of(&self, changes: &PendingNotifications) -> Vec<Bytes> {
        let mut wanted = PendingNotifications::default();
        wanted.add_wanted(changes, self.declared(), self.notifications().resources.lock().set());
        let lists = ListSet::ALL.into_iter().filter(|list| wanted.lists.has(*list));
        let of_lists = lists.map(|list| envelope::encode_notification(changed_method(list), None));
        let of_resources = wanted.resources.iter().map(|uri| {
            let params = json!({"uri": uri}).to_string();
            envelope::encode_notification(method::RESOURCES_UPDATED, Some(params.as_bytes()))
        });
        of_lists.chain(of_resources).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_from_its_text() {
        let text = r#"{"terms":{"protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"},"capabilities":{"roots":{}}},"declared":3,"initialized":false,"logLevel":"info","resources":[]}"#;
        let mut state: SharedState = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&state).unwrap(), text);
        for change in [
            SessionChange::Initialized,
            SessionChange::LogLevel(LoggingLevel::Error),
            SessionChange::Subscribed("a://b".into()),
            SessionChange::Subscribed("a://c".into()),
            SessionChange::Unsubscribed("a://b".into()),
        ] {
            let written = serde_json::to_string(&change).unwrap();
            state.apply(&serde_json::from_str(&written).unwrap());
        }
        assert!(state.initialized && state.log_level == LoggingLevel::Error);
        assert_eq!(state.resources, BTreeSet::from(["a://c".to_owned()]));
        let modern = text.replace("2025-06-18", "2026-07-28");
        assert!(serde_json::from_str::<SharedState>(&modern).unwrap_err().to_string().contains("no revision"));
    }
}
