//! Notifications that belong to no request: changed lists, updated resources, completed
//! elicitations, tasks.

use super::{
    change_listeners::{ChangeListener, TaskChange},
    connection::Connection,
    conversation_observers::LogContext,
    outbound::OutgoingMessage,
    pending::PendingNotifications,
    shared::MAX_URI,
    shared_state::SessionChange,
};
use crate::protocol::{RevisionFeature, RpcError, envelope, method};
use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// Changes within this time are sent together.
const COALESCING_DELAY: Duration = Duration::from_millis(5);

impl ChangeListener for Connection {
    fn notify(self: Arc<Self>, changes: &PendingNotifications) {
        // LIFE-05: a session gets nothing until it is initialized; then it gets what it missed.
        let for_session = self.add_for_session(changes) && self.is_initialized();
        let mut any = for_session;
        self.for_subscriptions(|subscription| any |= subscription.add(changes));
        if any {
            self.send_soon();
        }
    }

    fn retain_unwanted(&self, uris: &mut HashSet<String>) {
        remove_all(uris, self.session.resources.lock().set());
        self.for_subscriptions(|subscription| remove_all(uris, subscription.resources()));
    }

    fn elicitation_complete(&self, id: &str) -> bool {
        if !self.session.elicitations.lock().remove(id) {
            return false;
        }
        let (method, params) = (method::ELICITATION_COMPLETE, json!({"elicitationId": id}).to_string());
        self.notify_session(method, envelope::encode_notification(method, Some(params.as_bytes())));
        true
    }

    fn task_changed(&self, change: &TaskChange<'_>) {
        self.for_subscriptions(|subscription| {
            if subscription.names_task(change.id) {
                subscription.send_task_status(change.latest());
            }
        });
        if let Some(revision) = self.revision().filter(|revision| revision.supports(RevisionFeature::CoreTasks))
            && change.session == Some(self.number)
        {
            let (method, params) = (method::TASKS_STATUS, (change.render)(revision));
            self.notify_session(method, envelope::encode_notification(method, Some(params.as_bytes())));
        }
    }
}

/// Removes the elements of a set from another one, in the time that the smaller one takes.
fn remove_all(uris: &mut HashSet<String>, wanted: &BTreeSet<String>) {
    if wanted.len() < uris.len() {
        for uri in wanted {
            uris.remove(uri);
        }
    } else {
        uris.retain(|uri| !wanted.contains(uri));
    }
}

impl Connection {
    /// Subscribes a session to a resource.
    pub(in crate::server) fn subscribe_to_resource(&self, uri: &str, client: Option<Arc<str>>) -> Result<(), RpcError> {
        if !self.can_share(uri) {
            let text = format!("The URI of a subscription has at most {MAX_URI} bytes");
            return Err(RpcError::invalid_params(text));
        }
        self.session.resources.lock().within(&self.server().names).of(client).insert(uri)?;
        self.note_change(|| SessionChange::Subscribed(uri.to_owned()));
        Ok(())
    }

    pub(in crate::server) fn unsubscribe_from_resource(&self, uri: &str) {
        self.session.resources.lock().remove(uri);
        self.session.pending.lock().resources.remove(uri);
        if self.can_share(uri) {
            self.note_change(|| SessionChange::Unsubscribed(uri.to_owned()));
        }
    }

    /// Remembers a URL elicitation sent to this client, whose completion is announced by id.
    pub(in crate::server) fn remember_elicitation(self: &Arc<Self>, params: &Value, client: Option<Arc<str>>) {
        if let Some(id) = params.get("elicitationId").and_then(Value::as_str) {
            self.listen();
            if self.session.elicitations.lock().within(&self.server().names).of(client).insert(id).is_err() {
                tracing::warn!(target: "trunkline::server::session", elicitation = id, "too many elicitations are open: the client will not be notified when this one completes");
            }
        }
    }

    fn add_for_session(&self, changes: &PendingNotifications) -> bool {
        // The stream of a shared session is fed from its log by the process that has the stream.
        if self.is_shared() || self.revision().is_none_or(|revision| revision.supports(RevisionFeature::ResultType)) {
            return false;
        }
        let resources = self.session.resources.lock();
        self.session.pending.lock().add_wanted(changes, self.declared(), resources.set())
    }

    pub(super) fn send_soon(self: &Arc<Self>) {
        if self.session.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        let connection = Arc::clone(self);
        self.runtime().spawn(Box::pin(async move {
            let at = connection.runtime().now() + COALESCING_DELAY;
            connection.runtime().sleep_until(at).await;
            connection.session.scheduled.store(false, Ordering::Release);
            if !connection.is_closed() {
                connection.send_now();
            }
        }));
    }

    fn send_now(&self) {
        // LIFE-05: even if streams of the other era are open.
        if self.is_initialized() {
            let changes = std::mem::take(&mut *self.session.pending.lock());
            for (method, message) in changes.encoded() {
                self.notify_session(method, message);
            }
        }
        self.for_subscriptions(|subscription| subscription.send_pending());
    }

    fn notify_session(&self, method: &str, message: Bytes) {
        let outgoing = OutgoingMessage::Notification(message);
        self.send(&*self.setup.unrelated, outgoing, LogContext::default(), method);
    }
}

#[cfg(test)]
mod tests;
