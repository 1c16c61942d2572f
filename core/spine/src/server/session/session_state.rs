//! The state of a legacy session.

use super::{client_names::Names, pending::PendingNotifications, shared_state::OwnChanges};
use crate::{protocol::model::LoggingLevel, server::registry::ListSet, sync::Mutex, telemetry::LoadShare};
use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

/// The state of a legacy session, and its pending notifications.
#[derive(Default)]
pub(in crate::server) struct SessionState {
    pub(super) initialized: AtomicBool,
    /// The lists that `initialize` declared.
    pub(super) declared: OnceLock<ListSet>,
    pub(in crate::server) log_level: SessionLevel,
    /// Resources that the session is subscribed to.
    pub(super) resources: Mutex<Names>,
    /// URL elicitations sent to this client (ELI-28).
    pub(super) elicitations: Mutex<Names>,
    pub(super) pending: Mutex<PendingNotifications>,
    /// Set while pending notifications are scheduled to be sent.
    pub(super) scheduled: AtomicBool,
    /// Set if the conversation is a listener of its server.
    pub(super) listening: AtomicBool,
    /// Set if other processes serve the session too.
    pub(super) own_changes: OnceLock<OwnChanges>,
    /// Counts the session while it is open.
    pub(super) counted: Mutex<Option<LoadShare>>,
}

/// The minimum level of a session (LOG-02).
pub(in crate::server) struct SessionLevel(AtomicU8);

impl Default for SessionLevel {
    /// Without a level set by the client, it gets what a terminal would show.
    fn default() -> Self {
        Self(AtomicU8::new(LoggingLevel::Info as u8))
    }
}

impl SessionLevel {
    pub(in crate::server) fn set(&self, level: LoggingLevel) {
        self.0.store(level as u8, Ordering::Release);
    }

    pub(in crate::server) fn get(&self) -> LoggingLevel {
        let level = self.0.load(Ordering::Acquire);
        LoggingLevel::ALL.into_iter().find(|known| *known as u8 == level).unwrap_or(LoggingLevel::Info)
    }
}
