//! `subscriptions/listen` (2026-07-28): opt-in streams of change notifications.

use super::{
    client_names::Names,
    outbound::{Outbound, OutgoingMessage},
    pending::PendingNotifications,
};
use crate::{
    protocol::{RawJson, RequestId, RpcError, envelope, meta, method},
    server::registry::ListSet,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, sync::Arc};

/// One open stream.
pub(super) struct OpenSubscription {
    id: RequestId,
    lists: ListSet,
    resources: Names,
    tasks: Names,
    /// Changes that have not been sent yet.
    pending: PendingNotifications,
    reply: Arc<dyn Outbound>,
}

/// The members of a filter that name lists.
const FILTERS: [(&str, ListSet); 3] = [
    ("toolsListChanged", ListSet::TOOLS),
    ("resourcesListChanged", ListSet::RESOURCES),
    ("promptsListChanged", ListSet::PROMPTS),
];

impl OpenSubscription {
    /// Opens a stream and acknowledges it: the first message (SUB-02) tells which part of the
    /// filter is honoured. `names` is an empty set charged to the client.
    pub(super) fn open(
        id: RequestId,
        params: Option<&RawJson>,
        offered: ListSet,
        names: impl Fn() -> Names,
        seen_tasks: impl Fn(BTreeSet<String>) -> Result<Option<BTreeSet<String>>, RpcError>,
        reply: Arc<dyn Outbound>,
    ) -> Result<Self, RpcError> {
        #[derive(Deserialize)]
        struct ListenParams {
            // A map, because a struct could also be deserialized from an array.
            notifications: Map<String, Value>,
        }
        let wrong =
            |problem: &dyn std::fmt::Display| RpcError::invalid_params(format!("subscriptions/listen: {problem}"));
        let params =
            params.ok_or_else(|| RpcError::invalid_params("subscriptions/listen needs the parameter notifications"))?;
        let filter = params.read::<ListenParams>().map_err(|problem| wrong(&problem))?.notifications;
        let mut lists = ListSet::NONE;
        let mut honoured = json!({});
        for (name, list) in FILTERS {
            match filter.get(name) {
                None | Some(Value::Bool(false)) => {}
                Some(Value::Bool(true)) if offered.has(list) => {
                    lists = lists.with(list);
                    honoured[name] = true.into();
                }
                Some(Value::Bool(true)) => {}
                Some(_) => return Err(wrong(&format!("notifications.{name} must be true or false"))),
            }
        }
        let texts = |name: &str| -> Result<Names, RpcError> {
            let no_strings = || wrong(&format!("notifications.{name} must be an array of strings"));
            let mut names = names();
            for text in
                filter.get(name).map_or(Ok(&[][..]), |it| it.as_array().map(Vec::as_slice).ok_or_else(no_strings))?
            {
                names.insert(text.as_str().ok_or_else(no_strings)?)?;
            }
            Ok(names)
        };
        let resources = texts("resourceSubscriptions")?;
        let resources = if offered.has(ListSet::RESOURCES) { resources } else { names() };
        if !resources.set().is_empty() {
            honoured["resourceSubscriptions"] = json!(resources.set());
        }
        let mut tasks = names();
        if filter.contains_key("taskIds") {
            let named = texts("taskIds")?;
            if let Some(seen) = seen_tasks(named.set().clone())? {
                // TKX-42
                honoured["taskIds"] = json!(seen);
                tasks = named;
                tasks.retain(&seen);
            }
        }
        let subscription = Self { id, lists, resources, tasks, pending: PendingNotifications::default(), reply };
        subscription.send(method::SUBSCRIPTIONS_ACKNOWLEDGED, json!({"notifications": honoured}));
        Ok(subscription)
    }

    /// Adds the changes that the stream is subscribed to (SUB-01). Returns whether there were any.
    pub(super) fn add(&mut self, changes: &PendingNotifications) -> bool {
        self.pending.add_wanted(changes, self.lists, self.resources.set())
    }

    /// Sends pending notifications.
    pub(super) fn send_pending(&mut self) {
        for (method, params) in std::mem::take(&mut self.pending).messages() {
            self.send(method, params.unwrap_or_else(|| json!({})));
        }
    }

    /// Returns whether the stream is subscribed to a task (TKX-42, TKX-43).
    pub(super) fn names_task(&self, id: &str) -> bool {
        self.tasks.set().contains(id)
    }

    /// Sends the status of a task.
    pub(super) fn send_task_status(&self, task: &RawJson) {
        let Some(members) = task.as_str().strip_suffix('}') else { return };
        self.send_text(method::TASKS_CHANGED, &format!(r#"{members},"_meta":{}}}"#, self.tag()));
    }

    /// The resources that the stream is subscribed to.
    pub(super) fn resources(&self) -> &BTreeSet<String> {
        self.resources.set()
    }

    /// The channel for the stream's messages.
    pub(super) fn reply(&self) -> &Arc<dyn Outbound> {
        &self.reply
    }

    /// The members of the result when the server ends the stream (SUB-06).
    pub(super) fn ended(&self) -> Value {
        json!({"_meta": self.tag()})
    }

    /// Announces the end of the stream.
    pub(super) fn cancelled(&self) {
        self.send(method::CANCELLED, json!({"requestId": self.id}));
    }

    /// Each message of the stream includes its id (SUB-03).
    fn send(&self, method: &str, mut params: Value) {
        params["_meta"] = self.tag();
        self.send_text(method, &params.to_string());
    }

    fn send_text(&self, method: &str, params: &str) {
        let message = envelope::encode_notification(method, Some(params.as_bytes()));
        self.reply.send(OutgoingMessage::Notification(message));
    }

    fn tag(&self) -> Value {
        json!({meta::SUBSCRIPTION_ID: self.id})
    }
}
