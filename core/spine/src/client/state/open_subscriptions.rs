//! Open subscriptions of one connection.

use super::{changes::Changes, response_cache::lies_below};
use crate::{
    client::{ClientCall, ClientError, ClientEvents},
    protocol::{
        envelope::Notification,
        method,
        model::{Change, ChangeKind, ResourceUpdated, SubscriptionFilter},
    },
    runtime::Promise,
    sync::Mutex,
};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Instant,
};

/// Maximum subscriptions of a connection. A proxy uses up to half of them for resources.
const MAX_SUBSCRIPTIONS: usize = 2_048;

/// The subscriptions of a connection.
#[derive(Default)]
pub(in crate::client) struct Subscriptions {
    open: Mutex<Vec<Arc<SubscriptionEntry>>>,
    pub(in crate::client) uses: Mutex<Uses>,
}

/// One open subscription.
pub(in crate::client) struct SubscriptionEntry {
    pub(in crate::client) filter: SubscriptionFilter,
    /// True to reopen its stream even if the server ended it or is unreachable for long, because no
    /// program would notice that it has ended.
    pub(in crate::client) lasts: bool,
    pub(in crate::client) receiver: ChangeReceiver,
    pub(in crate::client) listening: Mutex<ListenRequest>,
}

/// The receiver of the changes.
pub(in crate::client) enum ChangeReceiver {
    /// A stream of the program.
    Stream(Arc<Changes>),
    /// The events of the connection (`ClientOptions::listen`).
    Events(Arc<dyn ClientEvents>),
}

/// The `subscriptions/listen` of an entry (modern era).
#[derive(Default)]
pub(in crate::client) struct ListenRequest {
    pub(in crate::client) closed: bool,
    pub(in crate::client) call: Weak<ClientCall>,
    /// Attempts since a stream lived for longer than the longest pause.
    pub(in crate::client) attempts: u32,
}

/// The URIs that subscriptions name (the legacy era).
pub(in crate::client) type Uses = HashMap<String, SubscriptionUse>;

/// The subscriptions that name one URI, and what the server knows of them.
#[derive(Default)]
pub(in crate::client) struct SubscriptionUse {
    pub(in crate::client) holders: usize,
    /// The server has taken the subscription.
    pub(in crate::client) subscribed: bool,
    /// A request about it is in flight; the next one waits for its answer, because over HTTP it
    /// could overtake it.
    pub(in crate::client) busy: bool,
    /// Since when requests about it have failed.
    pub(in crate::client) failing: Option<Instant>,
    pub(in crate::client) waiting: Vec<Arc<Promise<Result<(), ClientError>>>>,
}

impl Subscriptions {
    pub(in crate::client) fn add(
        &self,
        filter: SubscriptionFilter,
        receiver: ChangeReceiver,
        lasts: bool,
    ) -> Result<Arc<SubscriptionEntry>, ClientError> {
        let mut open = self.open.lock();
        if open.len() >= MAX_SUBSCRIPTIONS {
            return Err(ClientError::Busy(format!("{MAX_SUBSCRIPTIONS} subscriptions are already open")));
        }
        let entry = Arc::new(SubscriptionEntry { filter, lasts, receiver, listening: Mutex::default() });
        open.push(Arc::clone(&entry));
        Ok(entry)
    }

    /// Forgets one. `false`: it was forgotten already, or the connection has ended.
    pub(in crate::client) fn remove(&self, entry: &Arc<SubscriptionEntry>) -> bool {
        self.open.lock().extract_if(.., |other| Arc::ptr_eq(other, entry)).next().is_some()
    }

    pub(in crate::client) fn is_empty(&self) -> bool {
        self.open.lock().is_empty()
    }

    /// The open ones, for use with no lock held.
    pub(in crate::client) fn all(&self) -> Vec<Arc<SubscriptionEntry>> {
        self.open.lock().clone()
    }

    /// Takes a notification that names no subscription: it goes to the streams whose filter it
    /// matches.
    pub(in crate::client) fn notification(&self, notification: &Notification) {
        let all = self.all();
        if all.is_empty() {
            return;
        }
        let Some(change) = change(notification) else { return };
        for entry in all {
            if let ChangeReceiver::Stream(changes) = &entry.receiver
                && entry.wants(&change)
            {
                changes.push(change.clone());
            }
        }
    }

    /// Notifications of the connection may have been lost.
    pub(in crate::client) fn missed(&self) {
        self.all().iter().for_each(|entry| entry.missed());
    }

    /// The connection was lost, and with it what the server knew.
    pub(in crate::client) fn forget_session(&self) {
        self.uses.lock().values_mut().for_each(|in_use| in_use.subscribed = false);
    }

    /// The server is away for too long: ends all but those that last, and returns them.
    pub(in crate::client) fn give_up(&self, error: &ClientError) -> Vec<Arc<SubscriptionEntry>> {
        let ended: Vec<_> = self.open.lock().extract_if(.., |entry| !entry.lasts).collect();
        ended.iter().for_each(|entry| entry.end(Some(error.clone())));
        ended
    }

    /// The connection has ended. `error`: why, if not by this side.
    pub(in crate::client) fn end(&self, error: Option<&ClientError>) {
        let open = std::mem::take(&mut *self.open.lock());
        open.iter().for_each(|entry| entry.end(error.cloned()));
    }
}

impl SubscriptionEntry {
    /// Takes a notification of its own stream.
    pub(in crate::client) fn take(&self, notification: &Notification) {
        match &self.receiver {
            ChangeReceiver::Events(events) => events.notification(&notification.method, notification.params.as_ref()),
            ChangeReceiver::Stream(changes) => {
                if let Some(change) = change(notification).filter(|change| self.has_kind(change.kind)) {
                    changes.push(change);
                }
            }
        }
    }

    /// Changes may have been missed.
    pub(in crate::client) fn missed(&self) {
        match &self.receiver {
            ChangeReceiver::Stream(changes) => changes.push(ChangeKind::Missed.into()),
            ChangeReceiver::Events(events) => {
                for (_, method) in LISTS.iter().filter(|(kind, _)| self.has_kind(*kind)) {
                    events.notification(method, None);
                }
            }
        }
    }

    pub(in crate::client) fn end(&self, error: Option<ClientError>) {
        match (&self.receiver, error) {
            (ChangeReceiver::Stream(changes), error) => changes.end(error),
            (ChangeReceiver::Events(_), Some(error)) => {
                tracing::warn!(target: "trunkline::client::subscription", %error, "the stream of change notifications ended");
            }
            (ChangeReceiver::Events(_), None) => {}
        }
    }

    fn has_kind(&self, kind: ChangeKind) -> bool {
        let filter = &self.filter;
        match kind {
            ChangeKind::Tools => filter.tools,
            ChangeKind::Prompts => filter.prompts,
            ChangeKind::ResourceList => filter.resource_list,
            ChangeKind::Resource => !filter.resources().is_empty(),
            ChangeKind::Task => !filter.tasks().is_empty(),
            ChangeKind::Missed => true,
        }
    }

    fn wants(&self, change: &Change) -> bool {
        match (&change.uri, &change.task) {
            (Some(uri), _) => self.filter.resources().iter().any(|subscribed| lies_below(uri, subscribed)),
            (_, Some(task)) => self.filter.tasks().contains(&task.task_id),
            (None, None) => self.has_kind(change.kind),
        }
    }
}

/// The notifications of changed lists.
const LISTS: [(ChangeKind, &str); 3] = [
    (ChangeKind::Tools, method::TOOLS_LIST_CHANGED),
    (ChangeKind::Prompts, method::PROMPTS_LIST_CHANGED),
    (ChangeKind::ResourceList, method::RESOURCES_LIST_CHANGED),
];

/// The change that a notification announces, if it announces one.
fn change(notification: &Notification) -> Option<Change> {
    let Notification { method, params } = notification;
    if let Some((kind, _)) = LISTS.iter().find(|(_, name)| *name == &**method) {
        return Some((*kind).into());
    }
    let resource = |ResourceUpdated { uri, .. }| Change { uri: Some(uri), ..ChangeKind::Resource.into() };
    let task = |task| Change { task: Some(task), ..ChangeKind::Task.into() };
    let read = match &**method {
        method::RESOURCES_UPDATED => params.as_ref()?.read().map(resource),
        method::TASKS_CHANGED | method::TASKS_STATUS => params.as_ref()?.read().map(task),
        _ => return None,
    };
    read.inspect_err(
        |error| tracing::warn!(target: "trunkline::client::subscription", method = &**method, error, "ignored an invalid notification from the server"),
    )
    .ok()
}
