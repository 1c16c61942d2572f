//! Handles server requests that create host tasks, or are about them.

use super::Unanswered;
use crate::{
    client::{
        inner::ClientInner,
        state::host_task_table::{BegunTask, EndedTask},
    },
    engine::{IncomingRequest, TaskMetadata, later},
    protocol::{RawJson, RequestId, RpcError, meta, method},
    race::unless,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

impl ClientInner {
    /// Answers a request with a task, in which the handler runs (TSK-10).
    pub(in crate::client) fn begin_host_task(self: &Arc<Self>, request: IncomingRequest, wanted: TaskMetadata) {
        let IncomingRequest { id, method, params, .. } = request;
        let ttl = wanted.ttl.unwrap_or(self.options.host_task_ttl).min(self.options.host_task_ttl);
        let BegunTask { id: task, created, stop } = match self.host.tasks.begin(ttl, self.runtime.unix_time()) {
            Ok(begun) => begun,
            Err(error) => return self.answer(&id, Err(error)),
        };
        self.answer(&id, Ok(RawJson::object(&created)));
        self.expire_later(task.clone(), ttl);
        let paused = self.pause_requests();
        let (client, answer) = (Arc::downgrade(self), self.host_answer(method, params, None));
        self.runtime.spawn(Box::pin(async move {
            let outcome = unless(stop.kept(), answer).await;
            let Some(client) = client.upgrade() else { return };
            client.resume_requests(&paused);
            let Some(outcome) = outcome else { return };
            let outcome = outcome.map_err(Unanswered::into_rpc);
            let ended = client.host.tasks.finish(&task, outcome, client.runtime.unix_time());
            if let Some(ended) = ended {
                client.host_task_ended(&task, ended);
            }
        }));
    }

    /// Answers a request about tasks. A request for a result may wait (TSK-20).
    pub(in crate::client) fn host_task_request(self: &Arc<Self>, request: &IncomingRequest) {
        let IncomingRequest { id, method, params, .. } = request;
        let answer = match *method {
            method::TASKS_LIST => {
                read(method, params).and_then(|ListParams { cursor }| self.host.tasks.page(cursor.as_deref()))
            }
            method::TASKS_CANCEL => read(method, params).and_then(|TaskParams { task }| {
                let ended = self.host.tasks.cancel(&task, self.runtime.unix_time())?;
                let view = ended.view.clone();
                self.host_task_ended(&task, ended);
                Ok(view)
            }),
            method::TASKS_RESULT => match read(method, params).and_then(|TaskParams { task }| {
                let outcome = self.host.tasks.fetch(&task, id)?;
                Ok(outcome.map(|outcome| related(&task, outcome)))
            }) {
                Ok(Some(outcome)) => return self.answer(id, outcome),
                Ok(None) => return,
                Err(error) => Err(error),
            },
            _ => read(method, params).and_then(|TaskParams { task }| self.host.tasks.show(&task)),
        };
        self.answer(id, answer.map(|view| RawJson::object(&view)));
    }

    fn host_task_ended(&self, task: &str, EndedTask { view, outcome, waiting }: EndedTask) {
        let status = self.conversation.lock().notification(method::TASKS_STATUS, Some(&RawJson::object(&view)));
        if let Ok(status) = status {
            self.send(status);
        }
        for request in waiting {
            self.answer(&request, related(task, outcome.clone()));
        }
    }

    /// Called when the server has withdrawn a request: stops its handler, or its wait for a result.
    pub(in crate::client) fn withdrawn(&self, request: &RequestId) {
        self.host.tasks.forget(request);
        self.host.stop(request);
    }

    /// Removes a task when it expires.
    fn expire_later(self: &Arc<Self>, task: String, ttl: Duration) {
        let (client, runtime) = (Arc::downgrade(self), Arc::clone(&self.runtime));
        let until = later(runtime.now(), ttl);
        self.runtime.spawn(Box::pin(async move {
            runtime.sleep_until(until).await;
            let Some(client) = client.upgrade() else { return };
            for request in client.host.tasks.expire(&task) {
                client.answer(&request, Err(RpcError::unknown_task(&task)));
            }
        }));
    }
}

/// The task that the parameters name. Other metadata is ignored (TSK-17).
#[derive(Deserialize)]
struct TaskParams {
    #[serde(rename = "taskId")]
    task: String,
}

#[derive(Deserialize)]
struct ListParams {
    cursor: Option<String>,
}

fn read<P: DeserializeOwned>(method: &str, params: &RawJson) -> Result<P, RpcError> {
    params.read().map_err(|problem| RpcError::invalid_params(format!("{method}: {problem}")))
}

/// The outcome of a task, related to it (TSK-18, TSK-21).
fn related(task: &str, outcome: Result<RawJson, RpcError>) -> Result<RawJson, RpcError> {
    let mut result: Value = outcome?.parse().map_err(|_| RpcError::internal())?;
    if !result["_meta"].is_object() {
        result["_meta"] = json!({});
    }
    result["_meta"][meta::RELATED_TASK] = json!({"taskId": task});
    Ok(RawJson::object(&result))
}
