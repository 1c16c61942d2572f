//! Announces changes of a server to the other processes that run it, and receives theirs.

use super::{
    listeners::{ChangeListener, TaskChange},
    pending::PendingNotifications,
    server_state::ServerState,
};
use crate::{protocol::RawJson, server::registry::ListSet};
use serde::{Deserialize, Serialize};
use std::{
    cell::OnceCell,
    sync::{Arc, Weak},
};

/// A change that subscribed clients of all processes are notified of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Announcement {
    /// Changes of lists or resources.
    Changed(PendingNotifications),
    /// A URL elicitation is complete.
    ElicitationComplete(String),
    /// The status of a task changed.
    TaskChanged {
        /// Its id.
        id: String,
        /// The task, projected to the newest revision.
        task: RawJson,
    },
}

/// Announces changes to the other processes. Never blocks.
pub(crate) trait Announce: Send + Sync + 'static {
    /// Announces a change.
    fn announce(&self, announcement: Announcement);
}

/// Passes a server's changes to the other processes, until it is dropped.
pub(crate) struct Announcer {
    server: Weak<ServerState>,
    number: u64,
    to: Weak<dyn Announce>,
    worker: u64,
}

impl Announcer {
    pub(in crate::server) fn new(server: &Arc<ServerState>, to: Weak<dyn Announce>, worker: u64) -> Arc<Self> {
        let number = server.next_number();
        let announcer = Arc::new(Self { server: Arc::downgrade(server), number, to, worker });
        let listener: Weak<dyn ChangeListener> = Arc::<Self>::downgrade(&announcer);
        server.listeners().insert(number, listener);
        announcer
    }

    /// Notifies the clients of this process of another worker's announcement, unless that worker is
    /// another endpoint of the same server, whose changes they already know.
    pub(crate) fn deliver(&self, worker: u64, announcement: &Announcement) {
        let Some(server) = self.server.upgrade() else { return };
        if server.listeners().workers().contains(&worker) {
            return;
        }
        let listeners = server.listeners().of_this_process();
        match announcement {
            Announcement::Changed(changes) => listeners.into_iter().for_each(|listener| listener.notify(changes)),
            Announcement::ElicitationComplete(id) => {
                listeners.iter().for_each(|listener| {
                    listener.elicitation_complete(id);
                });
            }
            Announcement::TaskChanged { id, task } => {
                let latest = OnceCell::from(task.clone());
                let change = TaskChange { id, session: None, render: &|_| task.clone(), latest };
                listeners.iter().for_each(|listener| listener.task_changed(&change));
            }
        }
    }

    /// Only one endpoint of a server announces.
    fn announce(&self, announcement: Announcement) {
        let first = self.server.upgrade().and_then(|server| server.listeners().workers().first().copied());
        if first == Some(self.worker)
            && let Some(to) = self.to.upgrade()
        {
            to.announce(announcement);
        }
    }
}

impl ChangeListener for Announcer {
    /// One change at a time, because each is an event with an id.
    fn notify(self: Arc<Self>, changes: &PendingNotifications) {
        let lists =
            ListSet::ALL.into_iter().filter(|list| changes.lists.has(*list)).map(PendingNotifications::of_lists);
        let resources = changes.resources.iter().map(|uri| PendingNotifications::of_resource(uri));
        lists.chain(resources).for_each(|change| self.announce(Announcement::Changed(change)));
    }

    fn elicitation_complete(&self, id: &str) -> bool {
        self.announce(Announcement::ElicitationComplete(id.to_owned()));
        false
    }

    fn wants(&self, _: &str) -> bool {
        false
    }

    fn task_changed(&self, change: &TaskChange<'_>) {
        self.announce(Announcement::TaskChanged { id: change.id.to_owned(), task: change.latest().clone() });
    }

    fn worker(&self) -> Option<u64> {
        Some(self.worker)
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        if let Some(server) = self.server.upgrade() {
            server.listeners().remove(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_come_back_from_their_text() {
        let task = RawJson::from_text(r#"{"result":1e400}"#.into()).unwrap();
        for (announcement, text) in [
            (
                Announcement::Changed(PendingNotifications::of_resource("a://b")),
                r#"{"changed":{"lists":0,"resources":["a://b"]}}"#,
            ),
            (
                Announcement::Changed(PendingNotifications::of_lists(ListSet::TOOLS)),
                r#"{"changed":{"lists":1,"resources":[]}}"#,
            ),
            (Announcement::ElicitationComplete("e".into()), r#"{"elicitationComplete":"e"}"#),
            (
                Announcement::TaskChanged { id: "t".into(), task },
                r#"{"taskChanged":{"id":"t","task":{"result":1e400}}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&announcement).unwrap(), text);
            assert_eq!(serde_json::from_str::<Announcement>(text).unwrap(), announcement);
        }
    }
}
