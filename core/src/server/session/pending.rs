//! Notifications that belong to no request, until they are sent.

use super::{name_room::NameRoom, names::Names};
use crate::{
    protocol::method,
    server::registry::{Category, ListSet},
    sync::Mutex,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::AtomicBool},
};

/// Changes whose notifications were not sent yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingNotifications {
    pub(super) lists: ListSet,
    pub(super) resources: BTreeSet<String>,
}

impl PendingNotifications {
    pub(in crate::server) fn of_lists(lists: ListSet) -> Self {
        Self { lists, resources: BTreeSet::new() }
    }

    pub(in crate::server) fn of_list(category: Category) -> Self {
        Self::of_lists(category.change())
    }

    pub(in crate::server) fn of_resource(uri: &str) -> Self {
        Self { lists: ListSet::NONE, resources: BTreeSet::from([uri.to_owned()]) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lists == ListSet::NONE && self.resources.is_empty()
    }

    /// Adds what a client asked for of `other`, so this stays as small as the client's wishes.
    /// Gives whether there was anything.
    pub(super) fn add_wanted(&mut self, other: &Self, lists: ListSet, resources: &BTreeSet<String>) -> bool {
        let wanted = Self {
            lists: other.lists.and(lists),
            resources: other.resources.intersection(resources).cloned().collect(),
        };
        let any = !wanted.is_empty();
        self.lists = self.lists.with(wanted.lists);
        self.resources.extend(wanted.resources);
        any
    }
}

/// The subscriptions of a session of the legacy era, and its notifications that are still to be
/// sent.
pub(super) struct SessionNotifications {
    /// Resources that the session subscribed to.
    pub(super) resources: Mutex<Names>,
    /// Elicitations by URL that this client was sent (ELI-28).
    pub(super) elicitations: Mutex<Names>,
    pub(super) pending: Mutex<PendingNotifications>,
    pub(super) scheduled: AtomicBool,
}

impl SessionNotifications {
    pub(super) fn new(room: &Arc<NameRoom>) -> Self {
        Self {
            resources: Mutex::new(Names::new(room)),
            elicitations: Mutex::new(Names::new(room)),
            pending: Mutex::default(),
            scheduled: AtomicBool::new(false),
        }
    }
}

/// The notification of a changed list.
pub(super) fn changed_method(list: ListSet) -> &'static str {
    match list {
        ListSet::TOOLS => method::TOOLS_LIST_CHANGED,
        ListSet::RESOURCES => method::RESOURCES_LIST_CHANGED,
        _ => method::PROMPTS_LIST_CHANGED,
    }
}
