//! How a call relates to tasks.

use super::task_state::Handle;
use crate::{
    client::{PassingHandler, ServerDescription},
    engine::OnBehalf,
    protocol::{RevisionFeature, RpcError, error::code, extension, model::ServerCapabilities},
    sync::Mutex,
};
use serde_json::Value;
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

/// The form of tasks on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::client) enum TaskForm {
    /// The client requests a task (2025-11-25).
    Core,
    /// The server decides (the extension).
    Extension,
}

impl TaskForm {
    /// The form of tasks of a server, or `None` if its tool calls cannot be tasks (TSK-03).
    pub(in crate::client) fn of(server: &ServerDescription) -> Option<Self> {
        if server.revision.supports(RevisionFeature::TasksExtension) {
            return Some(Self::Extension);
        }
        let declared: ServerCapabilities = server.capabilities.parse().unwrap_or_default();
        let call = declared.tasks.as_ref().and_then(|tasks| tasks.pointer("/requests/tools/call"));
        let offered = server.revision.supports(RevisionFeature::CoreTasks) && call.is_some_and(Value::is_object);
        offered.then_some(Self::Core)
    }
}

/// Returns whether a server refused a call because it must be a task: the tool requires it
/// (TSK-07), or the request did not declare the extension (TKX-05).
pub(in crate::client) fn needs_task(form: TaskForm, error: &RpcError) -> bool {
    match form {
        TaskForm::Core => error.code == code::METHOD_NOT_FOUND,
        TaskForm::Extension => requires_extension(error),
    }
}

/// Returns whether a server refused a call because it must be a task of the extension (TKX-05).
#[doc(hidden)]
pub fn requires_extension(error: &RpcError) -> bool {
    let required = error.data.as_ref().and_then(|data| data.get("requiredCapabilities"));
    error.code == code::MISSING_CLIENT_CAPABILITY && required.is_some_and(|required| extension::TASKS.is_in(required))
}
