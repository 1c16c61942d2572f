//! Requests for input that the client answers with a task (2025-11-25).

use super::{
    active_request::ActiveRequest,
    requests_to_client::{InputCallback, Transmission, raw},
    tasks::Task,
};
use crate::{
    engine::{RequestTimeout, later},
    protocol::{RawJson, RequestId, RpcError, method, model::TaskStatus},
    race::unless,
    runtime::Promise,
    server::handlers::{CancelSent, ClientRequestError, HookId, InputKind, InputRequest, read_answer},
    sync::Mutex,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

/// Used if the client names no interval, and the bounds of one that it names (TSK-25).
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(3600);

/// A request for input, from sending it to the result of its task.
struct InputTask {
    context: Arc<ActiveRequest>,
    request: InputRequest,
    /// The client's deadline.
    deadline: Instant,
    hook: OnceLock<Option<HookId>>,
    state: Mutex<InputTaskState>,
    /// Completes when nothing waits for the answer any more.
    stop: Promise<()>,
}

struct InputTaskState {
    /// The id of the task, once the client has created it.
    id: Option<String>,
    /// `None` once the request is over.
    on_response: Option<InputCallback>,
}

/// The members of a task that polling needs.
#[derive(Deserialize)]
struct PolledTask {
    #[serde(rename = "taskId")]
    id: String,
    status: TaskStatus,
    #[serde(rename = "pollInterval")]
    poll_interval: Option<u64>,
}

impl ActiveRequest {
    /// Returns whether to request a task: the server wants it, and the client has declared tasks
    /// for these requests (TSK-02).
    pub(super) fn asks_by_task(&self, kind: InputKind) -> bool {
        self.server().options().client_request_tasks && Task::is_core(self.info.revision) && {
            let path = format!("/tasks/requests/{}", kind.method());
            self.client_capabilities().pointer(&path).is_some_and(Value::is_object)
        }
    }

    /// Sends a request for input that the client may answer with a task.
    pub(super) fn send_as_task(
        self: &Arc<Self>,
        timeout: RequestTimeout,
        request: &InputRequest,
        on_response: InputCallback,
    ) -> Result<CancelSent, ClientRequestError> {
        let runtime = self.connection.runtime();
        let mut params = request.params.clone();
        params["task"] = json!({"ttl": u64::try_from(timeout.timeout.as_millis()).unwrap_or(u64::MAX)});
        let params = raw(&params)?;
        let input = Arc::new(InputTask {
            context: Arc::clone(self),
            request: request.clone(),
            deadline: later(runtime.now(), timeout.timeout),
            hook: OnceLock::new(),
            state: Mutex::new(InputTaskState { id: None, on_response: Some(on_response) }),
            stop: Promise::default(),
        });
        let created = Arc::clone(&input);
        let on_created = Box::new(move |answer| created.answered(answer));
        let method = request.kind.method();
        // CAN-04: it is not cancelled by a notification.
        let transmission = Transmission { timeout, method, params: Some(&params), cancellable: false };
        if self.cancellation.is_cancelled() {
            return Err(ClientRequestError::Cancelled);
        }
        self.transmit(transmission, on_created, &OnceLock::new())?;
        let ended = Arc::downgrade(&input);
        let hook = self.cancellation.on_cancel(Box::new(move |_| {
            if let Some(input) = ended.upgrade() {
                input.give_up(ClientRequestError::Cancelled);
            }
        }));
        let _ = input.hook.set(hook);
        Ok(Arc::new(move |_| input.give_up(ClientRequestError::Cancelled)))
    }
}

impl InputTask {
    /// Handles the response: a task or the result (TSK-08).
    fn answered(self: &Arc<Self>, answer: Result<RawJson, ClientRequestError>) {
        #[derive(Deserialize)]
        struct Created {
            task: PolledTask,
        }
        let created = answer.as_ref().ok().and_then(|answer| answer.parse::<Created>().ok());
        let Some(Created { task }) = created else {
            self.finish(read_answer(&self.request, answer));
            return;
        };
        let is_wanted = {
            let mut state = self.state.lock();
            state.id = Some(task.id.clone());
            state.on_response.is_some()
        };
        if !is_wanted {
            return self.cancel(&task.id);
        }
        let input = Arc::clone(self);
        self.context.connection.runtime().spawn(Box::pin(async move {
            let id = task.id.clone();
            let change = input.context.connection.client_requests.watch_task(&id);
            let stop = input.stop.kept();
            let outcome = unless(stop, input.follow(task, &change)).await;
            input.context.connection.client_requests.unwatch_task(&id);
            match outcome {
                Some(Err(ClientRequestError::Timeout)) => input.give_up(ClientRequestError::Timeout),
                Some(outcome) => drop(input.finish(outcome)),
                None => {}
            }
        }));
    }

    /// Polls until the task has a result.
    async fn follow(&self, mut task: PolledTask, change: &Promise<()>) -> Result<Value, ClientRequestError> {
        let runtime = self.context.connection.runtime();
        // If the task waits for something, request its result early (TSK-19).
        while task.status == TaskStatus::Working {
            let named = task.poll_interval.map_or(DEFAULT_POLL_INTERVAL, Duration::from_millis);
            let due = later(runtime.now(), named.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)).min(self.deadline);
            unless(runtime.sleep_until(due), change.kept()).await;
            let state = self.ask(method::TASKS_GET, &task.id).await?;
            let wrong = |problem| ClientRequestError::Invalid(format!("{}: {problem}", method::TASKS_GET));
            task = PolledTask { id: task.id, ..state.read().map_err(wrong)? };
        }
        if task.status == TaskStatus::Cancelled {
            let text = format!("The client cancelled its task {}", task.id);
            return Err(ClientRequestError::Refused(RpcError::invalid_request(text)));
        }
        read_answer(&self.request, self.ask(method::TASKS_RESULT, &task.id).await)
    }

    /// Sends a request about the task, within the remaining time.
    async fn ask(&self, method: &str, id: &str) -> Result<RawJson, ClientRequestError> {
        let left = self.deadline.saturating_duration_since(self.context.connection.runtime().now());
        if left.is_zero() {
            return Err(ClientRequestError::Timeout);
        }
        let answer = Arc::new(Promise::default());
        let kept = Arc::clone(&answer);
        let timeout = RequestTimeout { timeout: left, max: left };
        let params = raw(&json!({"taskId": id}))?;
        self.context.send_request(timeout, method, Some(&params), Box::new(move |outcome| kept.keep(outcome)))?;
        answer.kept().await
    }

    /// Ends the request, and cancels the task.
    fn give_up(&self, error: ClientRequestError) {
        let id = self.state.lock().id.clone();
        if self.finish(Err(error)) {
            self.stop.keep(());
            if let Some(id) = id {
                self.cancel(&id);
            }
        }
    }

    /// Delivers the outcome, once.
    fn finish(&self, outcome: Result<Value, ClientRequestError>) -> bool {
        let on_response = self.state.lock().on_response.take();
        let Some(on_response) = on_response else { return false };
        self.context.cancellation.forget(self.hook.get().copied().flatten());
        on_response(outcome);
        true
    }

    /// Cancels the task (CAN-04), even if its call is over; this is then the last message on its
    /// stream.
    fn cancel(&self, id: &str) {
        let limit = self.context.server().options().limits.request_timeout;
        let timeout = RequestTimeout { timeout: limit, max: limit };
        let sent: OnceLock<RequestId> = OnceLock::new();
        let Ok(params) = raw(&json!({"taskId": id})) else { return };
        let params = Some(&params);
        let transmission = Transmission { timeout, method: method::TASKS_CANCEL, params, cancellable: false };
        if let Err(error) = self.context.transmit(transmission, Box::new(|_| {}), &sent) {
            tracing::debug!(target: "trunkline::server::tasks", %error, "could not cancel a task of the client");
        }
    }
}

#[cfg(test)]
mod tests;
