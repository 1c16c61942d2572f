//! The state of shared sessions, and its changes.

use crate::{engine::LegacyTerms, protocol::model::LoggingLevel, server::registry::ListSet, sync::Mutex};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The state of a legacy session, for any process that serves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SharedState {
    pub(super) terms: LegacyTerms,
    /// The lists that `initialize` declared.
    pub(super) declared: ListSet,
    pub(super) initialized: bool,
    pub(super) log_level: LoggingLevel,
    /// Resources that the session is subscribed to.
    pub(super) resources: BTreeSet<String>,
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
            SessionChange::Subscribed(uri) => drop(self.resources.insert(uri.clone())),
            SessionChange::Unsubscribed(uri) => drop(self.resources.remove(uri)),
        }
    }
}

/// Changes of this process that have not been published yet.
pub(super) type OwnChanges = Box<Mutex<Vec<SessionChange>>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_round_trips_through_its_string() {
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
