//! How a call becomes a task.

use super::task::{Holder, NewTask, Task};
use crate::{
    protocol::{Feature, RawJson, RpcError, extension, project},
    server::{
        catalog::{RegisteredTool, TaskSupport},
        random,
        serving::{Serving, Sink},
    },
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// How a call of a tool runs.
pub(in crate::server) enum Mode {
    /// Its result answers the request.
    Call,
    /// As a task from the start, kept for so long if the client said so.
    Task(Option<Duration>),
}

/// How a call of this tool runs for this client.
pub(in crate::server) fn mode(serving: &Serving, tool: &RegisteredTool, params: &RawJson) -> Result<Mode, RpcError> {
    let revision = serving.scope.revision;
    if revision.supports(Feature::CoreTasks) {
        return core_mode(serving, tool, params);
    }
    // TKX-47: what the client writes into `task` does not matter here.
    if !revision.supports(Feature::TasksExtension) || tool.task_support == TaskSupport::Forbidden {
        return Ok(Mode::Call);
    }
    let declared = extension::TASKS.is_in(&serving.client_capabilities());
    match (declared, tool.task_support) {
        (true, _) if tool.defers_task => {
            serving.may_become_task.store(true, Ordering::Relaxed);
            Ok(Mode::Call)
        }
        (true, _) => Ok(Mode::Task(None)),
        // TKX-05
        (false, TaskSupport::Required) => Err(RpcError::missing_client_capability(extension::TASKS.required())),
        (false, _) => Ok(Mode::Call),
    }
}

/// 2025-11-25: the client decides, as far as the tool lets it.
fn core_mode(serving: &Serving, tool: &RegisteredTool, params: &RawJson) -> Result<Mode, RpcError> {
    #[derive(Deserialize)]
    struct Augmented {
        task: Option<Value>,
    }
    // TSK-08: a server without tasks does not know the field.
    if !serving.offers_tasks() {
        return Ok(Mode::Call);
    }
    let given: Augmented = params.parse().map_err(|_| RpcError::internal())?;
    let refuse = |problem: &str| {
        let mut error = RpcError::method_not_found(serving.method);
        error.message = format!("The tool {} {problem}", tool.name);
        Err(error)
    };
    match (given.task, tool.task_support) {
        (None, TaskSupport::Required) => refuse("can only be called as a task"),
        (None, _) => Ok(Mode::Call),
        (Some(_), TaskSupport::Forbidden) => refuse("cannot be called as a task"),
        (Some(task), _) if !task.is_object() => Err(RpcError::invalid_params("tools/call: task must be an object")),
        (Some(task), _) => match task.get("ttl") {
            None => Ok(Mode::Task(None)),
            Some(ttl) => match ttl.as_u64() {
                Some(ttl) => Ok(Mode::Task(Some(Duration::from_millis(ttl)))),
                None => Err(RpcError::invalid_params("tools/call: task.ttl must be a whole number of milliseconds")),
            },
        },
    }
}

impl Serving {
    /// Whether anything here can be a task.
    pub(in crate::server) fn offers_tasks(&self) -> bool {
        // Without sessions nobody could come back for one in the handshake era.
        self.snapshot.has_tasks && !self.connection.is_stateless()
    }

    /// The client's capabilities as a value.
    pub(in crate::server) fn client_capabilities(&self) -> Value {
        self.scope.client_capabilities.parse().unwrap_or_default()
    }

    /// From here on the request is a task, which gets the result: by the first sink of the answer. Who waited for it, the second, is
    /// to get the task instead.
    ///
    /// # Errors
    /// If too many tasks are kept; the sink comes back.
    pub(in crate::server) fn start_task(
        self: &Arc<Self>,
        ttl: Option<Duration>,
        sink: Sink,
    ) -> Result<(Sink, (Sink, RawJson)), (Sink, RpcError)> {
        let server = self.server();
        let options = server.options();
        let runtime = self.connection.runtime();
        let owner = self.owner();
        let holder = match &*owner.principal {
            "" => Holder::Conversation(self.connection.number()),
            principal => Holder::Principal(principal.to_owned()),
        };
        let Some(id) = random::unguessable() else { return Err((sink, RpcError::internal())) };
        let new = NewTask {
            id,
            number: server.next_number(),
            owner,
            holder,
            ends_with: self.connection.tasks_end_with(),
            cancellation: self.cancellation.clone(),
            ttl: ttl.unwrap_or(options.task_ttl).min(options.task_ttl),
            poll_interval: options.task_poll_interval,
        };
        let until = crate::engine::later(runtime.now(), new.ttl);
        let task = Task::new(new, server.downgrade(), Arc::clone(runtime));
        // TKX-08: it can be asked for before anyone knows its id.
        if let Err(error) = server.tasks().insert(&task, options) {
            return Err((sink, error));
        }
        let _ = self.task.set(Arc::clone(&task));
        self.expire(&task, until);
        let created = project::created_task(task.to_json(self.scope.revision), self.scope.revision);
        let created = server.seal_object(created, self.scope.revision);
        Ok((Sink::Inside(Box::new(move |result| task.finish(result))), (sink, created)))
    }

    /// A task is kept until its time is over, and then no longer (TKX-38).
    fn expire(&self, task: &Arc<Task>, until: std::time::Instant) {
        let runtime = Arc::clone(self.connection.runtime());
        let server = self.server().downgrade();
        let task = Arc::downgrade(task);
        self.connection.runtime().spawn(Box::pin(async move {
            runtime.sleep_until(until).await;
            if let (Some(server), Some(task)) = (server.upgrade(), task.upgrade()) {
                task.cancel("its time is over");
                server.tasks().remove(&task);
            }
        }));
    }
}
