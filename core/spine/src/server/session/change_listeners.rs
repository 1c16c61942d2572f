//! Listeners for changes of a server: conversations of this process, and the other processes that
//! run it.

use super::pending::{Announce, Announcement, PendingNotifications};
use crate::{
    protocol::{RawJson, Revision},
    sync::Mutex,
};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Weak},
};

/// A conversation that is notified of changes.
pub(in crate::server) trait ChangeListener: Send + Sync {
    /// Queues changes; those that the client subscribed to are sent soon.
    fn notify(self: Arc<Self>, changes: &PendingNotifications);
    /// Reports a completed URL elicitation. Returns `false` if it was not sent to this client.
    fn elicitation_complete(&self, id: &str) -> bool;
    /// Removes the resources that it is subscribed to.
    fn retain_unwanted(&self, uris: &mut HashSet<String>);
    /// Reports a changed task.
    fn task_changed(&self, change: &TaskChange<'_>);
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

/// The listeners of a server.
#[derive(Default)]
pub(in crate::server) struct Listeners {
    /// By the numbers of their conversations.
    here: Mutex<HashMap<u64, Weak<dyn ChangeListener>>>,
    /// The workers that announce changes to other processes, one per endpoint, by their numbers.
    workers: Mutex<BTreeMap<u64, Weak<dyn Announce>>>,
}

impl Listeners {
    pub(in crate::server) fn insert(&self, number: u64, listener: Weak<dyn ChangeListener>) {
        self.here.lock().insert(number, listener);
    }

    pub(in crate::server) fn remove(&self, number: u64) {
        self.here.lock().remove(&number);
    }

    pub(in crate::server) fn insert_worker(&self, number: u64, worker: Weak<dyn Announce>) {
        let mut workers = self.workers.lock();
        workers.retain(|_, worker| worker.strong_count() > 0);
        workers.insert(number, worker);
    }

    /// The listeners of this process, for use without the lock.
    fn all(&self) -> Vec<Arc<dyn ChangeListener>> {
        self.here.lock().values().filter_map(Weak::upgrade).collect()
    }

    /// Announces changes to the other processes, through one endpoint only.
    fn announce(&self, announce: impl FnOnce(&dyn Announce)) {
        let worker = self.workers.lock().values().find_map(Weak::upgrade);
        if let Some(worker) = worker {
            announce(&*worker);
        }
    }

    /// Notifies the clients of this process of another worker's announcement, unless that worker is
    /// another endpoint of this server, whose changes they already know.
    pub(in crate::server) fn deliver(&self, worker: u64, announcement: &Announcement) {
        if self.workers.lock().contains_key(&worker) {
            return;
        }
        for listener in self.all() {
            match announcement {
                Announcement::Changed(changes) => listener.notify(changes),
                Announcement::ElicitationComplete(id) => drop(listener.elicitation_complete(id)),
                Announcement::TaskChanged { id, task } => {
                    let latest = OnceCell::from(task.clone());
                    listener.task_changed(&TaskChange { id, session: None, render: &|_| task.clone(), latest });
                }
            }
        }
    }

    pub(in crate::server) fn notify(&self, changes: &PendingNotifications) {
        if changes.is_empty() {
            return;
        }
        for listener in self.all() {
            listener.notify(changes);
        }
        // One change at a time, because each is an event with an id.
        self.announce(|others| changes.each().for_each(|change| others.announce(Announcement::Changed(change))));
    }

    /// Removes the resources that any listener is subscribed to.
    pub(in crate::server) fn retain_unwanted(&self, uris: &mut HashSet<String>) {
        for listener in self.all() {
            listener.retain_unwanted(uris);
        }
    }

    pub(in crate::server) fn elicitation_complete(&self, id: &str) -> bool {
        self.announce(|others| others.announce(Announcement::ElicitationComplete(id.to_owned())));
        // Notifies each client that was sent this id, and no other.
        self.all().iter().fold(false, |any, listener| listener.elicitation_complete(id) | any)
    }

    pub(in crate::server) fn task_changed(&self, change: &TaskChange<'_>) {
        for listener in self.all() {
            listener.task_changed(change);
        }
        let task = || change.latest().clone();
        self.announce(|others| others.announce(Announcement::TaskChanged { id: change.id.to_owned(), task: task() }));
    }
}
