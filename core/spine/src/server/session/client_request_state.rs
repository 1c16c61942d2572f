//! State of the client requests of a conversation: their order, and the client's tasks that they
//! wait for.

use crate::{engine::CallKey, runtime::Promise, server::handlers::ResponseCallback, sync::Mutex};
use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard},
};

/// A pending client request.
pub(in crate::server) struct PendingRequest {
    pub(in crate::server) on_response: ResponseCallback,
    /// The call that it belongs to.
    pub(in crate::server) call: CallKey,
}

/// State of the client requests of a conversation.
#[derive(Default)]
pub(in crate::server) struct ClientRequestState {
    /// Held while a request or its cancellation is sent, so that the request is sent first, and
    /// both before the end of their call.
    order: Mutex<()>,
    /// The client's tasks that requests wait for. A promise completes when its task changes.
    tasks: Mutex<BTreeMap<String, Arc<Promise<()>>>>,
}

impl ClientRequestState {
    /// Serializes sending of requests and cancellations.
    pub(in crate::server) fn in_order(&self) -> MutexGuard<'_, ()> {
        self.order.lock()
    }

    /// Watches a task of the client. The promise completes when the client reports a change.
    pub(in crate::server) fn watch_task(&self, id: &str) -> Arc<Promise<()>> {
        Arc::clone(self.tasks.lock().entry(id.to_owned()).or_default())
    }

    /// Stops watching a task.
    pub(in crate::server) fn unwatch_task(&self, id: &str) {
        self.tasks.lock().remove(id);
    }

    pub(super) fn task_changed(&self, id: &str) {
        let change = self.tasks.lock().get(id).cloned();
        if let Some(change) = change {
            change.keep(());
        }
    }
}
