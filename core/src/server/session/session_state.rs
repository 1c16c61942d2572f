//! The state of a session of the legacy era.

use super::{
    client_names::Names, log_level::SessionLevel, name_budget::NameBudget, pending::PendingNotifications,
    shared_state::OwnChanges,
};
use crate::{server::registry::ListSet, sync::Mutex, telemetry::LoadShare};
use std::sync::{Arc, OnceLock, atomic::AtomicBool};

/// The state of a session of the legacy era, and its notifications that are not sent yet.
pub(in crate::server) struct SessionState {
    pub(super) initialized: AtomicBool,
    /// The lists that `initialize` declared.
    pub(super) declared: OnceLock<ListSet>,
    pub(in crate::server) log_level: SessionLevel,
    /// Resources that the session subscribed to.
    pub(super) resources: Mutex<Names>,
    /// Elicitations by URL that this client was sent (ELI-28).
    pub(super) elicitations: Mutex<Names>,
    pub(super) pending: Mutex<PendingNotifications>,
    /// Pending notifications will be sent soon.
    pub(super) scheduled: AtomicBool,
    /// The conversation is among the listeners of its server.
    pub(super) listening: AtomicBool,
    /// Set if other processes serve the session too.
    pub(super) own_changes: OnceLock<OwnChanges>,
    /// Counts the session while it is open.
    pub(super) counted: Mutex<Option<LoadShare>>,
}

impl SessionState {
    pub(super) fn new(budget: &Arc<NameBudget>) -> Self {
        Self {
            initialized: AtomicBool::new(false),
            declared: OnceLock::new(),
            log_level: SessionLevel::default(),
            resources: Mutex::new(Names::new(budget)),
            elicitations: Mutex::new(Names::new(budget)),
            pending: Mutex::default(),
            scheduled: AtomicBool::new(false),
            listening: AtomicBool::new(false),
            own_changes: OnceLock::new(),
            counted: Mutex::default(),
        }
    }
}
