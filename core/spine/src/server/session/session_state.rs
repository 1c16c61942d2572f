//! The state of a legacy session.

use super::{client_names::Names, log_level::SessionLevel, pending::PendingNotifications, shared_state::OwnChanges};
use crate::{server::registry::ListSet, sync::Mutex, telemetry::LoadShare};
use std::sync::{OnceLock, atomic::AtomicBool};

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
