//! The requests to the client of one conversation: their order, and the client's tasks they wait
//! for.

use crate::{runtime::Promise, sync::Mutex};
use std::{
    collections::HashMap,
    sync::{Arc, MutexGuard},
};

/// The requests to the client of one conversation.
#[derive(Default)]
pub(in crate::server) struct ClientRequestState {
    /// Held while a request, or the notification that cancels it, is sent: the request leaves
    /// first, and both leave before the call that they belong to ends.
    order: Mutex<()>,
    /// The client's tasks that requests wait for. Each promise is kept when its task changes.
    tasks: Mutex<HashMap<String, Arc<Promise<()>>>>,
}

impl ClientRequestState {
    /// Sends of requests and of their cancellations take turns.
    pub(in crate::server) fn in_order(&self) -> MutexGuard<'_, ()> {
        self.order.lock()
    }

    /// Watches a task of the client. The promise is kept when the client reports a change.
    pub(in crate::server) fn watch_task(&self, id: &str) -> Arc<Promise<()>> {
        Arc::clone(self.tasks.lock().entry(id.to_owned()).or_default())
    }

    /// Ends what [`Self::watch_task`] began.
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
