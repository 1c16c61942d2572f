//! The conversations of a server that want to be notified of changes.

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

/// A conversation that wants to be notified of changes.
pub(in crate::server) trait ChangeListener: Send + Sync {
    /// Takes changes in; they are sent soon, as far as the client asked for them.
    fn notify(self: Arc<Self>, changes: &PendingNotifications);
    /// An elicitation by URL is complete. `false`: this client was not sent it.
    fn elicitation_complete(&self, id: &str) -> bool;
    /// Returns whether it wants to know of changes of a resource.
    fn wants(&self, uri: &str) -> bool;
    /// The status of a task changed.
    fn task_changed(&self, change: &TaskChange<'_>);
    /// The number of the worker by which it tells other processes. `None`: it tells a client of
    /// this process.
    fn worker(&self) -> Option<u64> {
        None
    }
}

/// A changed task.
pub(in crate::server) struct TaskChange<'a> {
    pub(in crate::server) id: &'a str,
    /// The session that made it, in the legacy era.
    pub(in crate::server) session: Option<u64>,
    /// Renders the task for a revision.
    pub(in crate::server) render: &'a dyn Fn(Revision) -> RawJson,
    /// The task for the newest revision, rendered when a stream wants it, and once.
    pub(in crate::server) latest: OnceCell<RawJson>,
}

impl TaskChange<'_> {
    pub(super) fn latest(&self) -> &RawJson {
        self.latest.get_or_init(|| (self.render)(Revision::LATEST))
    }
}

/// The listeners, by the numbers of their conversations.
#[derive(Default)]
pub(in crate::server) struct Listeners(Mutex<HashMap<u64, Weak<dyn ChangeListener>>>);

impl Listeners {
    pub(in crate::server) fn insert(&self, number: u64, listener: Weak<dyn ChangeListener>) {
        self.0.lock().insert(number, listener);
    }

    pub(in crate::server) fn remove(&self, number: u64) {
        self.0.lock().remove(&number);
    }

    /// The listeners that are there, for use with no lock held.
    fn all(&self) -> Vec<Arc<dyn ChangeListener>> {
        self.0.lock().values().filter_map(Weak::upgrade).collect()
    }

    /// Those that notify clients of this process.
    pub(super) fn of_this_process(&self) -> Vec<Arc<dyn ChangeListener>> {
        self.all().into_iter().filter(|listener| listener.worker().is_none()).collect()
    }

    /// The workers by which this server tells other processes: each of its endpoints is one.
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

    /// Returns whether anyone wants to know of changes of a resource.
    pub(in crate::server) fn want(&self, uri: &str) -> bool {
        self.all().iter().any(|listener| listener.wants(uri))
    }

    pub(in crate::server) fn elicitation_complete(&self, id: &str) -> bool {
        // Each client that was sent it, and no other: an id that a host gave to several is told to
        // them all.
        self.all().iter().fold(false, |any, listener| listener.elicitation_complete(id) | any)
    }

    pub(in crate::server) fn task_changed(&self, change: &TaskChange<'_>) {
        for listener in self.all() {
            listener.task_changed(change);
        }
    }
}
