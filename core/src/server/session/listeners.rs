//! The conversations that are notified of changes of a server.

use super::pending::PendingNotifications;
use crate::{
    protocol::{RawJson, Revision},
    sync::Mutex,
};
use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap},
    sync::{Arc, Weak},
};

/// A conversation that is notified of changes.
pub(in crate::server) trait ChangeListener: Send + Sync {
    /// Queues changes; those that the client subscribed to are sent soon.
    fn notify(self: Arc<Self>, changes: &PendingNotifications);
    /// Reports a completed URL elicitation. Returns `false` if it was not sent to this client.
    fn elicitation_complete(&self, id: &str) -> bool;
    /// Returns whether it is subscribed to a resource.
    fn wants(&self, uri: &str) -> bool;
    /// Reports a changed task.
    fn task_changed(&self, change: &TaskChange<'_>);
    /// The number of the worker through which it notifies other processes, or `None` if it notifies
    /// a client of this process.
    fn worker(&self) -> Option<u64> {
        None
    }
}

/// A changed task.
pub(in crate::server) struct TaskChange<'a> {
    pub(in crate::server) id: &'a str,
    /// The legacy session that created it.
    pub(in crate::server) session: Option<u64>,
    /// Renders the task for a revision.
    pub(in crate::server) render: &'a dyn Fn(Revision) -> RawJson,
    /// The task for the newest revision, rendered lazily.
    pub(in crate::server) latest: OnceCell<RawJson>,
}

impl TaskChange<'_> {
    pub(super) fn latest(&self) -> &RawJson {
        self.latest.get_or_init(|| (self.render)(Revision::LATEST))
    }
}

/// The listeners by the numbers of their conversations.
#[derive(Default)]
pub(in crate::server) struct Listeners(Mutex<HashMap<u64, Weak<dyn ChangeListener>>>);

impl Listeners {
    pub(in crate::server) fn insert(&self, number: u64, listener: Weak<dyn ChangeListener>) {
        self.0.lock().insert(number, listener);
    }

    pub(in crate::server) fn remove(&self, number: u64) {
        self.0.lock().remove(&number);
    }

    /// All listeners, for use without the lock.
    fn all(&self) -> Vec<Arc<dyn ChangeListener>> {
        self.0.lock().values().filter_map(Weak::upgrade).collect()
    }

    /// Those that notify clients of this process.
    pub(super) fn of_this_process(&self) -> Vec<Arc<dyn ChangeListener>> {
        self.all().into_iter().filter(|listener| listener.worker().is_none()).collect()
    }

    /// The workers through which this server notifies other processes, one per endpoint.
    pub(super) fn workers(&self) -> BTreeSet<u64> {
        self.all().iter().filter_map(|listener| listener.worker()).collect()
    }

    pub(in crate::server) fn notify(&self, changes: &PendingNotifications) {
        if changes.is_empty() {
            return;
        }
        for listener in self.all() {
            listener.notify(changes);
        }
    }

    /// Returns whether any listener is subscribed to a resource.
    pub(in crate::server) fn want(&self, uri: &str) -> bool {
        self.all().iter().any(|listener| listener.wants(uri))
    }

    pub(in crate::server) fn elicitation_complete(&self, id: &str) -> bool {
        // Notifies each client that was sent this id, and no other.
        self.all().iter().fold(false, |any, listener| listener.elicitation_complete(id) | any)
    }

    pub(in crate::server) fn task_changed(&self, change: &TaskChange<'_>) {
        for listener in self.all() {
            listener.task_changed(change);
        }
    }
}
