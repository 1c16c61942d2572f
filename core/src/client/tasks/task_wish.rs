//! The wish of a call for a task.

use super::{other_client::OtherClient, support::TaskForm, task_state::Handle};
use crate::sync::Mutex;
use std::sync::Arc;

/// The part of a call that may become a task.
pub(in crate::client) struct TaskWish {
    pub(in crate::client) form: TaskForm,
    /// The first request asks for a task.
    pub(in crate::client) as_task: bool,
    /// The caller takes the task; without it, it waits for the result.
    pub(super) taker: Option<TaskTaker>,
}

/// The caller that takes a task, or the result if the server made none.
#[derive(Default)]
pub(super) struct TaskTaker {
    pub(super) task: Mutex<Option<Handle>>,
    /// The client for which the call is made.
    pub(super) other: Option<Arc<OtherClient>>,
}

impl TaskWish {
    /// Returns whether the parameters ask for a task (2025-11-25).
    pub(in crate::client) fn asks_by_params(&self) -> bool {
        self.as_task && self.form == TaskForm::Core
    }
}
