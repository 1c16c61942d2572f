//! News for clients that belong to no request: lists that changed, resources that were updated, elicitations that are complete.

use super::{
    Server,
    catalog::Changes,
    connection::{Connection, Governing},
    names::Names,
    outbound::Outgoing,
    tasks::Task,
};
use crate::protocol::{Feature, RpcError, envelope, method};
use crate::sync::Mutex;
use serde_json::{Value, json};
use std::{
    cell::OnceCell,
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// What changed, and was not told yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Notices {
    pub(super) lists: Changes,
    pub(super) resources: BTreeSet<String>,
}

impl Notices {
    pub(super) fn of_lists(lists: Changes) -> Self {
        Self { lists, resources: BTreeSet::new() }
    }

    fn of_resource(uri: &str) -> Self {
        Self { lists: Changes::NONE, resources: BTreeSet::from([uri.to_owned()]) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lists == Changes::NONE && self.resources.is_empty()
    }

    /// Adds what of the other someone wants to hear; so it stays as small as what they asked for. Whether there was anything.
    pub(super) fn add_wanted(&mut self, other: &Self, lists: Changes, resources: &BTreeSet<String>) -> bool {
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

/// What the session of a connection watches, and what it has still to be told.
#[derive(Default)]
pub(super) struct Watching {
    /// Resources that a session subscribed to.
    resources: Mutex<Names>,
    /// Elicitations by URL that this client was sent (ELI-28).
    elicitations: Mutex<Names>,
    pending: Mutex<Notices>,
    scheduled: AtomicBool,
}

/// Changes made within this time are told once.
const COALESCE: Duration = Duration::from_millis(5);

/// The notification that says that a list changed.
pub(super) fn changed_method(list: Changes) -> &'static str {
    match list {
        Changes::TOOLS => method::TOOLS_LIST_CHANGED,
        Changes::RESOURCES => method::RESOURCES_LIST_CHANGED,
        _ => method::PROMPTS_LIST_CHANGED,
    }
}

impl Server {
    /// Tells clients that subscribed to a resource that its contents changed. Updates made close together are told once.
    pub fn resource_updated(&self, uri: &str) {
        self.tell_all(&Notices::of_resource(uri));
    }

    /// Tells clients that a list changed whose things are not registered here: those of a provider.
    pub fn list_changed(&self, category: super::Category) {
        self.tell_all(&Notices::of_lists(category.change()));
    }

    /// Tells the client that was sent this elicitation by URL that it is complete (2025-11-25 only; others have no such news).
    /// `false`: no client that is connected was sent it.
    pub fn elicitation_complete(&self, elicitation_id: &str) -> bool {
        self.listeners().iter().any(|connection| connection.elicitation_complete(elicitation_id))
    }

    /// Tells how a task is now.
    pub(super) fn tell_task(&self, task: &Task) {
        // Made when someone wants it, and once.
        let shown = OnceCell::new();
        for connection in self.listeners() {
            connection.tell_task(task, &shown);
        }
    }

    pub(super) fn tell_all(&self, notices: &Notices) {
        if notices.is_empty() {
            return;
        }
        for connection in self.listeners() {
            connection.tell(notices);
        }
    }
}

impl Connection {
    /// A session wants to hear of a resource's updates.
    pub(super) fn watch_resource(&self, uri: &str) -> Result<(), RpcError> {
        self.watching().resources.lock().insert(uri)
    }

    pub(super) fn unwatch_resource(&self, uri: &str) {
        self.watching().resources.lock().remove(uri);
        self.watching().pending.lock().resources.remove(uri);
    }

    /// An elicitation by URL goes to this client; who completes it names it by id.
    pub(super) fn remember_elicitation(self: &Arc<Self>, params: &Value) {
        if let Some(id) = params.get("elicitationId").and_then(Value::as_str) {
            self.listen();
            if self.watching().elicitations.lock().insert(id).is_err() {
                tracing::warn!(target: "trunkline", "too many elicitations are open: the client will not hear that {id} is complete");
            }
        }
    }

    fn elicitation_complete(&self, id: &str) -> bool {
        if !self.watching().elicitations.lock().remove(id) {
            return false;
        }
        let params = json!({"elicitationId": id}).to_string();
        self.notify_session(method::ELICITATION_COMPLETE, Some(params.as_bytes()));
        true
    }

    /// Something changed: everyone who asked is told, once for changes made close together.
    pub(super) fn tell(self: &Arc<Self>, notices: &Notices) {
        // LIFE-05: a session hears nothing before it is initialized; then it is told what it missed.
        let for_session = self.note_for_session(notices) && self.is_initialized();
        if self.note_for_subscriptions(notices) || for_session {
            self.tell_soon();
        }
    }

    fn note_for_session(&self, notices: &Notices) -> bool {
        if self.revision().is_none_or(|revision| revision.supports(Feature::ResultType)) {
            return false;
        }
        let watching = self.watching();
        let resources = watching.resources.lock();
        watching.pending.lock().add_wanted(notices, self.declared(), resources.set())
    }

    /// What was missed before the session was initialized is told now.
    pub(super) fn tell_missed(self: &Arc<Self>) {
        if !self.watching().pending.lock().is_empty() {
            self.tell_soon();
        }
    }

    fn tell_soon(self: &Arc<Self>) {
        if self.watching().scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        let connection = Arc::clone(self);
        self.runtime().spawn(Box::pin(async move {
            let at = connection.runtime().now() + COALESCE;
            connection.runtime().sleep_until(at).await;
            connection.watching().scheduled.store(false, Ordering::Release);
            if connection.is_closed() {
                return;
            }
            connection.tell_now();
        }));
    }

    fn tell_now(self: &Arc<Self>) {
        // LIFE-05: whatever streams of the other era are open.
        if self.is_initialized() {
            self.tell_session();
        }
        self.tell_subscriptions();
    }

    fn tell_session(&self) {
        let notices = std::mem::take(&mut *self.watching().pending.lock());
        for list in Changes::ALL {
            if notices.lists.has(list) {
                self.notify_session(changed_method(list), None);
            }
        }
        for uri in notices.resources {
            let params = json!({"uri": uri}).to_string();
            self.notify_session(method::RESOURCES_UPDATED, Some(params.as_bytes()));
        }
    }

    pub(super) fn notify_session(&self, method: &str, params: Option<&[u8]>) {
        let outgoing = Outgoing::Notification(envelope::encode_notification(method, params));
        self.log_sent(&outgoing, Governing::default(), method);
        self.unrelated().send(outgoing);
    }
}

#[cfg(test)]
mod tests;
