//! Which calls may become tasks: the server's capabilities, and the support of each tool.

use crate::{
    client::opening::server_description::ServerDescription,
    protocol::{RawJson, RevisionFeature, RpcError, error::code, extension, model::ServerCapabilities},
    sync::Mutex,
};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::HashMap, sync::OnceLock};

/// The form of tasks on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::client) enum TaskForm {
    /// The client requests a task (2025-11-25).
    Core,
    /// The server decides (the extension).
    Extension,
}

/// The task support of tools on 2025-11-25, from the latest lists.
#[derive(Default)]
pub(in crate::client) struct ServerTaskSupport {
    form: OnceLock<Option<TaskForm>>,
    tools: Mutex<HashMap<String, Support>>,
}

/// The task support of a tool (TSK-04, TSK-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::client) enum Support {
    Forbidden,
    Optional,
    Required,
}

impl ServerTaskSupport {
    /// The form of tasks of a server, or `None` if its tool calls cannot be tasks (TSK-03).
    pub(in crate::client) fn form(&self, server: &ServerDescription) -> Option<TaskForm> {
        *self.form.get_or_init(|| {
            if server.revision.supports(RevisionFeature::TasksExtension) {
                return Some(TaskForm::Extension);
            }
            let declared: ServerCapabilities = server.capabilities.parse().unwrap_or_default();
            let call = declared.tasks.as_ref().and_then(|tasks| tasks.pointer("/requests/tools/call"));
            let offered = server.revision.supports(RevisionFeature::CoreTasks) && call.is_some_and(Value::is_object);
            offered.then_some(TaskForm::Core)
        })
    }

    /// Reads a list of tools from a server that supports tasks.
    pub(in crate::client) fn read_list(&self, result: &RawJson) {
        #[derive(Deserialize)]
        struct List {
            tools: Vec<Listed>,
        }
        #[derive(Deserialize)]
        struct Listed {
            #[serde(default)]
            name: Value,
            #[serde(default)]
            execution: Value,
        }
        let Ok(List { tools: listed }) = result.parse() else { return };
        let mut tools = self.tools.lock();
        for Listed { name, execution } in listed {
            let support = match execution.get("taskSupport").and_then(Value::as_str) {
                Some("required") => Support::Required,
                Some("optional") => Support::Optional,
                _ => Support::Forbidden,
            };
            if let Value::String(name) = name {
                tools.insert(name, support);
            }
        }
    }

    pub(in crate::client) fn of(&self, tool: &str) -> Option<Support> {
        self.tools.lock().get(tool).copied()
    }
}

/// Returns whether a server refused a call because it must be a task: the tool requires it
/// (TSK-07), or the request did not declare the extension (TKX-05).
pub(in crate::client) fn needs_task(form: TaskForm, error: &RpcError) -> bool {
    match form {
        TaskForm::Core => error.code == code::METHOD_NOT_FOUND,
        TaskForm::Extension => {
            let required = error.data.as_ref().and_then(|data| data.get("requiredCapabilities"));
            error.code == code::MISSING_CLIENT_CAPABILITY
                && required.is_some_and(|required| extension::TASKS.is_in(required))
        }
    }
}
