//! The tasks of a connection that are being followed.

use super::task_state::ClientTaskState;
use crate::{
    client::ClientError,
    protocol::{RawJson, envelope::Notification, method, model::Task},
    sync::Mutex,
};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

/// Maximum number of tasks with a notification stream per connection. Others are only polled.
const MAX_SUBSCRIBED: usize = 16;

/// Tasks by id. Several handles may follow the same task.
#[derive(Default)]
pub(in crate::client) struct ClientTaskTable(Mutex<HashMap<String, Vec<Weak<ClientTaskState>>>>);

impl ClientTaskTable {
    /// Adds a task. Returns `true` if a stream may be opened for its notifications.
    pub(in crate::client) fn add(&self, id: &str, state: &Arc<ClientTaskState>) -> bool {
        let mut table = self.0.lock();
        table.entry(id.to_owned()).or_default().push(Arc::downgrade(state));
        table.len() <= MAX_SUBSCRIBED
    }

    pub(in crate::client) fn remove(&self, id: &str, state: &Arc<ClientTaskState>) {
        let mut table = self.0.lock();
        let Some(states) = table.get_mut(id) else { return };
        states.retain(|other| other.strong_count() > 0 && !std::ptr::eq(other.as_ptr(), Arc::as_ptr(state)));
        if states.is_empty() {
            table.remove(id);
        }
    }

    /// Handles a task notification of either form. Nothing relies on them (TSK-26). Returns `false`
    /// if it is another notification.
    pub(in crate::client) fn notification(&self, Notification { method, params }: &Notification) -> bool {
        if !matches!(&**method, method::TASKS_STATUS | method::TASKS_CHANGED) {
            return false;
        }
        if let Some(Ok(task)) = params.as_ref().map(RawJson::read::<Task>) {
            let states = self.0.lock().get(&task.task_id).cloned().unwrap_or_default();
            for state in states.iter().filter_map(Weak::upgrade) {
                state.apply(task.clone());
                state.poll_now.keep(());
            }
        }
        true
    }

    /// Called when the connection has ended.
    pub(in crate::client) fn end(&self, error: Option<&ClientError>) {
        let all = std::mem::take(&mut *self.0.lock());
        for state in all.values().flatten().filter_map(Weak::upgrade) {
            state.end(error.cloned().unwrap_or(ClientError::Closed));
        }
    }
}
