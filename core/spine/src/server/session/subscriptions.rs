//! `subscriptions/listen` (2026-07-28): opt-in streams of change notifications.

use super::{
    client_names::Names,
    name_budget::NameBudget,
    outbound::{Outbound, OutgoingMessage},
    pending::PendingNotifications,
};
use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, RequestId, Revision, RpcError, envelope, meta, method},
    server::{registry::ListSet, result::ResultWriter},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// One open stream.
pub(super) struct OpenSubscription {
    id: RequestId,
    filter: ListenFilter,
    /// Changes that have not been sent yet.
    pending: PendingNotifications,
    pub(super) reply: Arc<dyn Outbound>,
}

/// The members of a filter that name lists.
const LIST_FILTERS: [(&str, ListSet); 3] = [
    ("toolsListChanged", ListSet::TOOLS),
    ("resourcesListChanged", ListSet::RESOURCES),
    ("promptsListChanged", ListSet::PROMPTS),
];

/// The notifications that a client asks for and gets.
pub(super) struct ListenFilter {
    lists: ListSet,
    resources: Names,
    tasks: Names,
    /// True if the client named tasks, and the server has some.
    has_tasks: bool,
}

impl ListenFilter {
    pub(super) fn resources(&self) -> &BTreeSet<String> {
        self.resources.set()
    }

    /// Restricts the resources to those that the client may subscribe to.
    pub(super) fn with_resources(mut self, allowed: &BTreeSet<String>) -> Self {
        self.resources.retain(allowed);
        self
    }

    /// Reads the filter of a request. Its names are charged to the client.
    pub(super) fn read(
        params: Option<&RawJson>,
        offered: ListSet,
        budget: &Arc<NameBudget>,
        client: Option<&Arc<str>>,
    ) -> Result<Self, RpcError> {
        #[derive(Deserialize)]
        struct ListenParams {
            // A map, because a struct could also be deserialized from an array.
            notifications: Map<String, Value>,
        }
        let params =
            params.ok_or_else(|| RpcError::invalid_params("subscriptions/listen needs the parameter notifications"))?;
        let filter = params.read::<ListenParams>().map_err(wrong)?.notifications;
        let mut lists = ListSet::NONE;
        for (name, list) in LIST_FILTERS {
            match filter.get(name) {
                Some(Value::Bool(true)) if offered.has(list) => lists = lists.with(list),
                None | Some(Value::Bool(_)) => {}
                Some(_) => return Err(wrong(format!("notifications.{name} must be true or false"))),
            }
        }
        let texts = |name: &str| -> Result<Names, RpcError> {
            let no_strings = || wrong(format!("notifications.{name} must be an array of strings"));
            let mut names = Names::default();
            let charged = names.within(budget).of(client.cloned());
            for text in
                filter.get(name).map_or(Ok(&[][..]), |it| it.as_array().map(Vec::as_slice).ok_or_else(no_strings))?
            {
                charged.insert(text.as_str().ok_or_else(no_strings)?)?;
            }
            Ok(names)
        };
        let resources = texts("resourceSubscriptions")?;
        let resources = if offered.has(ListSet::RESOURCES) { resources } else { Names::default() };
        Ok(Self { lists, resources, tasks: texts("taskIds")?, has_tasks: filter.contains_key("taskIds") })
    }

    /// Restricts the tasks to those that the client sees; `None`: the server has none.
    pub(super) fn with_tasks(
        mut self,
        seen: impl FnOnce(BTreeSet<String>) -> Result<Option<BTreeSet<String>>, RpcError>,
    ) -> Result<Self, RpcError> {
        if self.has_tasks {
            let seen = seen(self.tasks.set().clone())?;
            self.has_tasks = seen.is_some();
            self.tasks.retain(&seen.unwrap_or_default());
        }
        Ok(self)
    }

    fn to_json(&self) -> Value {
        let mut honoured = json!({});
        for (name, _) in LIST_FILTERS.into_iter().filter(|(_, list)| self.lists.has(*list)) {
            honoured[name] = true.into();
        }
        if !self.resources.set().is_empty() {
            honoured["resourceSubscriptions"] = json!(self.resources.set());
        }
        if self.has_tasks {
            honoured["taskIds"] = json!(self.tasks.set());
        }
        honoured
    }
}

fn wrong(problem: impl std::fmt::Display) -> RpcError {
    RpcError::invalid_params(format!("subscriptions/listen: {problem}"))
}

impl OpenSubscription {
    /// Opens a stream and acknowledges it: the first message (SUB-02) tells which part of the
    /// filter is honored.
    pub(super) fn open(id: RequestId, filter: ListenFilter, reply: Arc<dyn Outbound>) -> Self {
        let subscription = Self { id, filter, pending: PendingNotifications::default(), reply };
        let honoured = subscription.filter.to_json();
        subscription.send(method::SUBSCRIPTIONS_ACKNOWLEDGED, &RawJson::object(&json!({"notifications": honoured})));
        subscription
    }

    /// Adds the changes that the stream is subscribed to (SUB-01). Returns whether there were any.
    pub(super) fn add(&mut self, changes: &PendingNotifications) -> bool {
        self.pending.add_wanted(changes, self.filter.lists, self.filter.resources.set())
    }

    /// Sends pending notifications.
    pub(super) fn send_pending(&mut self) {
        for (method, params) in std::mem::take(&mut self.pending).messages() {
            self.send(method, &RawJson::object(&params.unwrap_or_else(|| json!({}))));
        }
    }

    /// Returns whether the stream is subscribed to a task (TKX-42, TKX-43).
    pub(super) fn names_task(&self, id: &str) -> bool {
        self.filter.tasks.set().contains(id)
    }

    /// Sends the status of a task.
    pub(super) fn send_task_status(&self, task: &RawJson) {
        self.send(method::TASKS_CHANGED, task);
    }

    /// The resources that the stream is subscribed to.
    pub(super) fn resources(&self) -> &BTreeSet<String> {
        self.filter.resources.set()
    }

    /// The result when the server ends the stream (SUB-06).
    pub(super) fn ended(&self, results: &ResultWriter) -> RawJson {
        let mut members = ObjectMembers::new();
        rewriting::set(&mut members, "_meta", &BTreeMap::from([(meta::SUBSCRIPTION_ID, self.id.to_raw())]));
        results.seal_members(members, Revision::LATEST)
    }

    /// Announces the end of the stream.
    pub(super) fn cancelled(&self) {
        self.send(method::CANCELLED, &RawJson::object(&BTreeMap::from([("requestId", self.id.to_raw())])));
    }

    /// Each message of the stream includes its id (SUB-03).
    fn send(&self, method: &str, params: &RawJson) {
        let Some(members) = params.as_str().strip_suffix('}') else { return };
        let comma = if members.len() > 1 { "," } else { "" };
        let params = format!(r#"{members}{comma}"_meta":{{"{}":{}}}}}"#, meta::SUBSCRIPTION_ID, self.id.to_raw());
        let message = envelope::encode_notification(method, Some(params.as_bytes()));
        self.reply.send(OutgoingMessage::Notification(message));
    }
}
