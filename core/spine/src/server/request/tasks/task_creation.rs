//! Turns calls into tasks.

use super::{
    restart::TaskRequest,
    server_task::{Task, TaskFacts, TaskOwner},
    task_table::Tasks,
};
use crate::{
    engine::{RequestInfo, later},
    protocol::{RawJson, RevisionFeature, RpcError, extension, project},
    random,
    server::{
        handlers::{Arrival, RestartedTask, TaskRun, TaskTimes},
        registry::{TaskSupport, ToolTasks},
        request::active_request::{ActiveRequest, Responder},
    },
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    mem,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// How a tool call runs.
pub(in crate::server) enum Mode {
    /// As a call, whose result is the response.
    Call,
    /// As a task, with the time to live that the client requested.
    Task(Option<Duration>),
}

/// How a call of this tool runs for this client.
pub(in crate::server) fn mode(
    context: &ActiveRequest,
    tool: &str,
    tasks: ToolTasks,
    params: &RawJson,
) -> Result<Mode, RpcError> {
    let revision = context.info.revision;
    if revision.supports(RevisionFeature::CoreTasks) {
        return core_mode(context, tool, tasks.support, params);
    }
    // TKX-47: the contents of `task` are ignored.
    if !revision.supports(RevisionFeature::TasksExtension) || tasks.support == TaskSupport::Forbidden {
        return Ok(Mode::Call);
    }
    let declared = extension::TASKS.is_in(&context.client_capabilities());
    match (declared, tasks.support) {
        (true, _) if tasks.defers => {
            context.may_become_task.store(true, Ordering::Relaxed);
            Ok(Mode::Call)
        }
        (true, _) => Ok(Mode::Task(None)),
        // TKX-05
        (false, TaskSupport::Required) => Err(RpcError::missing_client_capability(extension::TASKS.required())),
        (false, _) => Ok(Mode::Call),
    }
}

/// 2025-11-25: the client decides, as far as the tool allows.
fn core_mode(context: &ActiveRequest, tool: &str, support: TaskSupport, params: &RawJson) -> Result<Mode, RpcError> {
    #[derive(Deserialize)]
    struct Augmented {
        task: Option<Value>,
    }
    // TSK-08: a server without tasks ignores the field.
    if !context.offers_tasks() {
        return Ok(Mode::Call);
    }
    let given: Augmented = params.parse().map_err(|_| RpcError::internal())?;
    let refuse = |problem: &str| {
        let mut error = RpcError::method_not_found(context.method);
        error.message = format!("The tool {tool} {problem}");
        Err(error)
    };
    match (given.task, support) {
        (None, TaskSupport::Required) => refuse("can only be called as a task"),
        (None, _) => Ok(Mode::Call),
        (Some(_), TaskSupport::Forbidden) => refuse("cannot be called as a task"),
        (Some(task), _) if !task.is_object() => Err(RpcError::invalid_params("tools/call: task must be an object")),
        (Some(task), _) => match task.get("ttl") {
            // The official TypeScript SDK has `null` for a task without a limit.
            None | Some(Value::Null) => Ok(Mode::Task(None)),
            Some(ttl) => match ttl.as_u64() {
                Some(ttl) => Ok(Mode::Task(Some(Duration::from_millis(ttl)))),
                None => Err(RpcError::invalid_params("tools/call: task.ttl must be a whole number of milliseconds")),
            },
        },
    }
}

/// The tasks among `ids` whose status the client may see (TKX-21).
pub(in crate::server) fn visible_tasks(
    tasks: &Tasks,
    info: &RequestInfo,
    mut ids: BTreeSet<String>,
) -> Result<BTreeSet<String>, RpcError> {
    let declared: Value = info.client_capabilities.parse().unwrap_or_default();
    if !extension::TASKS.is_in(&declared) {
        return Err(RpcError::missing_client_capability(extension::TASKS.required()));
    }
    let owner = TaskOwner { principal: info.principal(), session: None, session_id: None };
    ids.retain(|id| tasks.find(id, &owner).is_ok());
    Ok(ids)
}

impl ActiveRequest {
    /// Turns the request into a task. From now on, `responder` delivers the result to the task; the
    /// returned one was waiting for the result, and gets the task instead. `restarts` tells whether
    /// the task restarts when its process ends.
    ///
    /// # Errors
    /// If there are too many tasks. The responder is then unchanged.
    pub(in crate::server) fn start_task(
        self: &Arc<Self>,
        times: TaskTimes,
        restarts: bool,
        responder: &mut Responder,
    ) -> Result<(Responder, RawJson), RpcError> {
        let server = self.server();
        let options = server.options();
        let runtime = self.connection.runtime();
        let owner = self.owner();
        let restarted = self.reply.arrival().and_then(Arrival::take_restarted);
        let (id, created, ttl, run) = match restarted {
            Some(RestartedTask { id, created, ttl, run }) => (id, created, ttl, Some(run)),
            None => {
                let id = random::unguessable().ok_or_else(RpcError::internal)?;
                let run = (restarts && self.may_run_again(&owner)).then_some(TaskRun { number: 1, written: None });
                let ttl = times.ttl.unwrap_or(options.task_ttl).min(options.task_ttl);
                (id, runtime.unix_time(), ttl, run)
            }
        };
        let facts = TaskFacts {
            id,
            number: server.next_number(),
            owner,
            holder: self.holder(),
            ends_with: self.connection.tasks_end_with(),
            cancellation: self.cancellation.clone(),
            created,
            ttl,
            poll_interval: times.poll_interval.unwrap_or(options.task_poll_interval),
            run,
            stored: matches!(self.stored_tasks(), Ok(Some(_))),
        };
        let left = created.saturating_add(ttl).saturating_sub(runtime.unix_time());
        let until = later(runtime.now(), left);
        let task = Task::new(facts, Arc::downgrade(server), Arc::clone(runtime));
        // TKX-08: the task must exist before anyone knows its id.
        self.services.tasks.insert(&task, options)?;
        let scope = responder.scope(self);
        self.set_task(Arc::clone(&task));
        self.reply.release_slot();
        self.expire(&task, until);
        let created = project::created_task(task.view().to_json(self.info.revision), self.info.revision);
        let created = self.results().seal_object(created, self.info.revision);
        let server = Arc::clone(server);
        let tasks = Arc::clone(&self.services.tasks);
        let finish = move |result| tasks.finish(&task, result, server.options());
        let finishing = self.renaming(Responder::Inside(scope, Box::new(finish)));
        Ok((mem::replace(responder, finishing), created))
    }

    /// Returns whether another process could restart the task: its owner can find it there, and it
    /// does not depend on the state of earlier rounds.
    fn may_run_again(&self, owner: &TaskOwner) -> bool {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Continued {
            request_state: Option<Value>,
        }
        let continued = self.request_params().and_then(|params| params.parse::<Continued>().ok());
        let is_first = continued.is_none_or(|continued| continued.request_state.is_none());
        is_first && (!owner.principal.is_empty() || owner.session.is_none())
    }

    /// Responds with the new task and continues. With a store, the task is stored first, because
    /// what a client knows about must outlive this process (TKX-08). If that fails, the task is not
    /// started.
    pub(in crate::server::request) fn hand_out(
        self: &Arc<Self>,
        waiting: Responder,
        created: RawJson,
        go_on: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) {
        let (Some(stored), Some(task)) = (self.stored_tasks().transpose(), self.task().cloned()) else {
            self.deliver(waiting, Ok(created));
            return go_on(self);
        };
        let (this, stored) = (Arc::clone(self), stored.cloned());
        self.connection.runtime().spawn(Box::pin(async move {
            let adding = async {
                let stored = stored?;
                let begins = task.facts.run.as_ref().is_some_and(|run| run.number == 1);
                let request = begins.then(|| TaskRequest::of(&this));
                stored.add(&task, request, this.server().options()).await
            };
            match adding.await {
                Ok(()) => {
                    this.deliver(waiting, Ok(created));
                    go_on(&this);
                }
                Err(error) => {
                    task.cancel("the task cannot be stored");
                    this.services.tasks.remove(&task);
                    this.deliver(waiting, Err(error));
                }
            }
        }));
    }

    /// Removes a task when it expires (TKX-38).
    fn expire(&self, task: &Arc<Task>, until: std::time::Instant) {
        let runtime = Arc::clone(self.connection.runtime());
        let tasks = Arc::downgrade(&self.services.tasks);
        let task = Arc::downgrade(task);
        self.connection.runtime().spawn(Box::pin(async move {
            runtime.sleep_until(until).await;
            if let (Some(tasks), Some(task)) = (tasks.upgrade(), task.upgrade()) {
                task.cancel("its time to live has expired");
                tasks.remove(&task);
            }
        }));
    }
}
