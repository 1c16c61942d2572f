//! Requests about tasks that run in other workers.

use super::{
    record::TaskRecord,
    stored::{StoredTasks, TAKEN_WITHIN},
    task::{Task, TaskOwner},
};
use crate::{
    engine,
    protocol::{RawJson, RevisionFeature, RpcError},
    race,
    runtime::BoxedTask,
    server::request::active_request::{ActiveRequest, Routed},
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Returns a task of this process once its final state is stored.
pub(in crate::server) fn view_at_end(task: Arc<Task>) -> Routed {
    later(move |context| {
        Box::pin(async move {
            let runtime = context.connection.runtime();
            let until = engine::later(runtime.now(), TAKEN_WITHIN);
            let announced = race::until(&**runtime, until, task.announced()).await;
            announced.ok_or_else(|| RpcError::busy("the store of tasks is not available"))?;
            Ok(task.to_result(context.results(), context.info.revision))
        })
    })
}

/// A task that this process doesn't run. It may not exist.
pub(in crate::server) struct TaskElsewhere {
    stored: Arc<StoredTasks>,
    id: String,
    owner: TaskOwner,
    /// The error for a client that has not declared the tasks extension.
    undeclared: Option<RpcError>,
}

impl TaskElsewhere {
    pub(in crate::server) fn new(
        stored: Arc<StoredTasks>,
        id: String,
        owner: TaskOwner,
        undeclared: Option<RpcError>,
    ) -> Self {
        Self { stored, id, owner, undeclared }
    }

    /// `tasks/get`
    pub(in crate::server) fn view(self) -> Routed {
        later(move |context| {
            Box::pin(async move {
                let record = self.find().await?;
                Ok(view(&context, &record))
            })
        })
    }

    /// `tasks/result`
    pub(in crate::server) fn fetched(self) -> Routed {
        later(move |_| {
            Box::pin(async move {
                self.find().await?;
                let record = self.stored.ended(&self.id, &self.owner).await?;
                record.outcome().ok_or_else(RpcError::internal)?
            })
        })
    }

    /// `tasks/cancel`
    pub(in crate::server) fn cancelled(self) -> Routed {
        later(move |context| {
            Box::pin(async move {
                let record = self.find().await?;
                let is_over = record.status().is_final();
                let ended = if is_over { None } else { self.stored.cancel(&record, &self.owner).await? };
                if context.info.revision.supports(RevisionFeature::TasksExtension) {
                    return Ok(seal(&context, json!({})));
                }
                match ended {
                    Some(record) => Ok(view(&context, &record)),
                    None if is_over => Err(RpcError::invalid_params(format!("The task {} has already ended", self.id))),
                    None => Err(RpcError::busy("the worker of the task does not respond")),
                }
            })
        })
    }

    /// `tasks/update`
    pub(in crate::server) fn updated(self, responses: Map<String, Value>) -> Routed {
        later(move |context| {
            Box::pin(async move {
                let record = self.find().await?;
                if !record.status().is_final() {
                    self.stored.update(&record, responses).await?;
                }
                Ok(seal(&context, json!({})))
            })
        })
    }

    async fn find(&self) -> Result<TaskRecord, RpcError> {
        match (self.stored.find(&self.id, &self.owner).await, &self.undeclared) {
            (Ok(record), _) if record.is_of_session() => Ok(record),
            (_, Some(undeclared)) => Err(undeclared.clone()),
            (found, None) => found,
        }
    }
}

impl StoredTasks {
    /// `tasks/list` for a principal, or for a session with an id.
    pub(in crate::server) fn listed(
        self: &Arc<Self>,
        after: u64,
        size: usize,
        owner: TaskOwner,
        cursor: fn(u64) -> String,
    ) -> Routed {
        let stored = Arc::clone(self);
        later(move |context| {
            Box::pin(async move {
                let revision = context.info.revision;
                let (page, next) = stored.page(after, size, &owner).await?;
                let tasks: Vec<_> = page.iter().map(|record| record.to_json(revision)).collect();
                let mut result = json!({"tasks": tasks});
                if let Some(next) = next {
                    result["nextCursor"] = cursor(next).into();
                }
                Ok(seal(&context, result))
            })
        })
    }
}

fn view(context: &ActiveRequest, record: &TaskRecord) -> RawJson {
    record.to_result(context.results(), context.info.revision)
}

fn seal(context: &ActiveRequest, result: Value) -> RawJson {
    context.results().seal_object(result, context.info.revision)
}

/// Responds when the store has responded, unless the request is cancelled.
fn later(work: impl FnOnce(Arc<ActiveRequest>) -> BoxedTask<Result<RawJson, RpcError>> + Send + 'static) -> Routed {
    Routed::Deferred(Box::new(move |context, responder| {
        let context = Arc::clone(context);
        let runtime = Arc::clone(context.connection.runtime());
        runtime.spawn(Box::pin(async move {
            let done = race::unless(context.cancellation.cancelled(), work(Arc::clone(&context))).await;
            context.deliver(
                responder,
                done.unwrap_or_else(|| Err(RpcError::invalid_request("The request was cancelled"))),
            );
        }));
    }))
}
