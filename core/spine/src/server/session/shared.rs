//! Conversations of sessions that are shared by several processes.

use super::{
    connection::Connection,
    pending::PendingNotifications,
    shared_state::{OwnChanges, SessionChange, SharedState},
};
use crate::protocol::model::LoggingLevel;
use bytes::Bytes;
use std::sync::{Arc, atomic::Ordering};

/// Maximum length of a subscribed URI. Messages to other processes contain it, and with longer
/// ones, a few requests of one client would fill the store.
pub(super) const MAX_URI: usize = 16 << 10;

impl Connection {
    /// Marks the session as shared with other processes. The prefix makes the ids of client
    /// requests unique among them.
    pub(crate) fn share(&self, prefix: &str) {
        self.conversation().begin_ids_with(prefix);
        let _ = self.session.own_changes.set(OwnChanges::default());
    }

    /// Returns whether the session is shared with other processes.
    pub(super) fn is_shared(&self) -> bool {
        self.session.own_changes.get().is_some()
    }

    /// The state of the session, if a handshake has opened one.
    pub(crate) fn shared_state(&self) -> Option<SharedState> {
        let terms = self.conversation().terms()?.clone();
        let resources = self.session.resources.lock().set().clone();
        Some(SharedState {
            terms,
            declared: self.declared(),
            initialized: self.is_initialized(),
            log_level: self.session.log_level.get(),
            resources,
        })
    }

    /// Restores a session that another process opened, or applies its latest state.
    pub(crate) fn restore(self: &Arc<Self>, state: &SharedState) {
        self.conversation().restore(state.terms.clone());
        let _ = self.session.declared.set(state.declared);
        self.listen();
        self.count_session();
        if state.initialized {
            self.apply(&SessionChange::Initialized);
        }
        self.apply(&SessionChange::LogLevel(state.log_level));
        let mut resources = self.session.resources.lock();
        resources.retain(&state.resources);
        // The process that added them has already checked the limits.
        state.resources.iter().for_each(|uri| resources.within(&self.server().names).adopt(uri));
    }

    /// Applies a change made by another process.
    pub(crate) fn apply(&self, change: &SessionChange) {
        match change {
            SessionChange::Initialized => self.session.initialized.store(true, Ordering::Release),
            SessionChange::LogLevel(level) => self.session.log_level.set(*level),
            SessionChange::Subscribed(uri) => self.session.resources.lock().within(&self.server().names).adopt(uri),
            SessionChange::Unsubscribed(uri) => drop(self.session.resources.lock().remove(uri)),
        }
    }

    /// Sets the client's log level.
    pub(in crate::server) fn set_log_level(&self, level: LoggingLevel) {
        self.session.log_level.set(level);
        self.note_change(|| SessionChange::LogLevel(level));
    }

    /// Returns whether a subscription to this URI can be shared with other processes, if it has to.
    pub(super) fn can_share(&self, uri: &str) -> bool {
        !self.is_shared() || uri.len() <= MAX_URI
    }

    /// Records a change for the other processes, if the session is shared.
    pub(super) fn note_change(&self, change: impl FnOnce() -> SessionChange) {
        if let Some(changes) = self.session.own_changes.get() {
            changes.lock().push(change());
        }
    }

    /// Takes the changes that have not been published yet.
    pub(crate) fn take_changes(&self) -> Vec<SessionChange> {
        self.session.own_changes.get().map(|changes| std::mem::take(&mut *changes.lock())).unwrap_or_default()
    }

    /// Puts back changes that could not be published.
    pub(crate) fn return_changes(&self, untold: Vec<SessionChange>) {
        if let Some(changes) = self.session.own_changes.get() {
            changes.lock().splice(0..0, untold);
        }
    }

    /// The notifications of changes that the client is subscribed to, as messages. They are not
    /// queued here, because the stream of a shared session is fed from its log.
    pub(crate) fn notifications_of(&self, changes: &PendingNotifications) -> Vec<Bytes> {
        let mut wanted = PendingNotifications::default();
        wanted.add_wanted(changes, self.declared(), self.session.resources.lock().set());
        wanted.encoded().map(|(_, message)| message).collect()
    }

    /// Returns whether the client is subscribed to any of the changes.
    pub(crate) fn is_subscribed_to(&self, changes: &PendingNotifications) -> bool {
        let mut wanted = PendingNotifications::default();
        wanted.add_wanted(changes, self.declared(), self.session.resources.lock().set())
    }

    /// Notifications for everything that the client is subscribed to, as messages.
    pub(crate) fn all_notifications(&self) -> Vec<Bytes> {
        let resources = self.session.resources.lock().set().clone();
        self.notifications_of(&PendingNotifications { lists: self.declared(), resources })
    }
}
