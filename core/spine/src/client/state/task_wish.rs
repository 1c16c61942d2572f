//! How a call relates to tasks.

use super::{support::TaskForm, task_state::Handle};
use crate::{client::PassingHandler, engine::OnBehalf, sync::Mutex};
use std::sync::Arc;

/// The task-related part of a call.
pub(in crate::client) struct TaskWish {
    pub(in crate::client) form: TaskForm,
    /// True if the first request asks for a task.
    pub(in crate::client) as_task: bool,
    /// Receives the task. Without it, the caller waits for the result.
    pub(in crate::client) taker: Option<TaskTaker>,
}

/// Receives a task, or the result if the server created none.
#[derive(Default)]
pub(in crate::client) struct TaskTaker {
    pub(in crate::client) task: Mutex<Option<Handle>>,
    /// The client on whose behalf the call is made.
    pub(in crate::client) other: Option<Arc<OtherClient>>,
}

/// The client on whose behalf a call is made, for example the caller of a proxy.
#[doc(hidden)]
pub struct OtherClient {
    /// The client as the server sees it.
    pub seen: Arc<OnBehalf>,
    /// Passes the task's requests for input to it.
    pub ask: PassingHandler,
}

impl TaskWish {
    /// Returns whether the parameters request a task (2025-11-25).
    pub(in crate::client) fn asks_by_params(&self) -> bool {
        self.as_task && self.form == TaskForm::Core
    }
}
