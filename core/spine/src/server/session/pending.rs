//! Pending notifications that belong to no request, and changes that a server announces to the
//! other processes that run it.

use crate::{
    protocol::{RawJson, envelope, method},
    server::registry::{Category, ListSet},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Changes whose notifications have not been sent yet.
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

    /// Its changes one by one.
    pub(super) fn each(&self) -> impl Iterator<Item = Self> {
        let lists = ListSet::ALL.into_iter().filter(|list| self.lists.has(*list)).map(Self::of_lists);
        lists.chain(self.resources.iter().map(|uri| Self::of_resource(uri)))
    }

    /// The methods and parameters of its notifications.
    pub(super) fn messages(self) -> impl Iterator<Item = (&'static str, Option<Value>)> {
        let Self { lists, resources } = self;
        let lists = ListSet::ALL.into_iter().filter(move |list| lists.has(*list));
        let resources = resources.into_iter().map(|uri| (method::RESOURCES_UPDATED, Some(json!({"uri": uri}))));
        lists.map(|list| (changed_method(list), None)).chain(resources)
    }

    /// The methods of its notifications, and their messages.
    pub(super) fn encoded(self) -> impl Iterator<Item = (&'static str, Bytes)> {
        self.messages().map(|(method, params)| {
            let params = params.map(|params| params.to_string());
            (method, envelope::encode_notification(method, params.as_deref().map(str::as_bytes)))
        })
    }

    /// Adds the changes in `other` that a client is subscribed to. Returns whether there were any.
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

/// The notification for a changed list.
fn changed_method(list: ListSet) -> &'static str {
    match list {
        ListSet::TOOLS => method::TOOLS_LIST_CHANGED,
        ListSet::RESOURCES => method::RESOURCES_LIST_CHANGED,
        _ => method::PROMPTS_LIST_CHANGED,
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_round_trip_through_their_string() {
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
