//! Tool calls that become tasks: because the caller wants a task, or because the server turns a
//! call into one while the caller waits for the result (TKX-52).

use super::{ClientTask, following::Following, task_input::TaskInput};
use crate::{
    client::{
        Client, ClientCall, ClientError, RequestOptions,
        calls::sending::with_task,
        inner::ClientInner,
        reading::task_form::{created_task, created_task_id, read_task},
        state::{
            client_call::{Awaited, ContinuedCall, Flight, ServerAnswer, tool_of},
            task_wish::TaskForm,
        },
    },
    protocol::{RawJson, RequestId, RpcError, method, model::TaskSupport},
};
use std::sync::Arc;

impl Client {
    /// Returns whether calls of a tool may or must run as tasks, on a server where the client
    /// requests them (2025-11-25).
    #[doc(hidden)]
    pub async fn requested_task_support(&self, tool: &str) -> TaskSupport {
        match self.task_form() {
            Some(TaskForm::Core) => self.task_support_of(tool).await.unwrap_or(TaskSupport::Forbidden),
            _ => TaskSupport::Forbidden,
        }
    }

    /// The task support of a tool (2025-11-25), from the latest list, or from listing the tools
    /// now.
    pub(super) async fn task_support_of(&self, tool: &str) -> Result<TaskSupport, ClientError> {
        if let Some(support) = self.inner.known_tools.task_support(tool) {
            return Ok(support);
        }
        self.list_all(method::TOOLS_LIST, None, &RequestOptions::default()).await?;
        Ok(self.inner.known_tools.task_support(tool).unwrap_or(TaskSupport::Forbidden))
    }
}

impl ClientCall {
    /// Returns whether the result of a request for a task is that task (TSK-08).
    pub(in crate::client) fn is_core_task(&self, result: &RawJson) -> bool {
        self.task_form() == Some(TaskForm::Core) && created_task(result).is_some()
    }

    /// Requests a task in the next attempt, because the server accepts nothing else. If the tool is
    /// not known to require tasks, the call fails with the server's error.
    pub(in crate::client) async fn ask_for_task(
        &self,
        client: &Client,
        call: &mut ContinuedCall,
        refused: RpcError,
    ) -> Result<(), ClientError> {
        let Some(first) = self.repeatable.as_ref().map(|call| &call.request) else {
            return Err(ClientError::Protocol(refused));
        };
        call.request = first.clone();
        if self.task_form() == Some(TaskForm::Core) {
            let Some(tool) = tool_of(first.params.as_ref()) else { return Err(ClientError::Protocol(refused)) };
            if !matches!(self.unless_cancelled(client.task_support_of(&tool)).await?, Ok(TaskSupport::Required)) {
                return Err(ClientError::Protocol(refused));
            }
            call.request.params = Some(with_task(first.params.as_ref(), first.options.task_ttl)?);
        }
        call.request.extras.task = true;
        call.begin_as_task(client.inner.runtime.now());
        Ok(())
    }

    /// Follows the task that the server created for the call, either for the caller or to get the
    /// result that the caller waits for. A task that can no longer be used is cancelled.
    pub(in crate::client) async fn follow_task(
        self: &Arc<Self>,
        client: Client,
        call: &ContinuedCall,
        result: &RawJson,
    ) -> Result<RawJson, ClientError> {
        let Some(wish) = self.task_wish() else {
            return self.outcome_of(client.server_label(), ServerAnswer::Task(result.clone()));
        };
        let created = created_task(result).filter(|_| wish.form == TaskForm::Core);
        let task = read_task(client.server_label(), method::TOOLS_CALL, created.as_ref().unwrap_or(result));
        let task = task.map_err(|error| ClientError::InvalidResponse(format!("the task: {error}")))?;
        let id = task.task_id.clone();
        let of_progress = self.last_request().filter(|_| self.follows_progress());
        let input = match wish.taker.as_ref().and_then(|taker| taker.other.clone()) {
            Some(other) => TaskInput::Passed(other),
            None => TaskInput::of(&call.request.options),
        };
        let handle = Following::start(&client, task, wish.form, input, of_progress);
        let outcome = match &wish.taker {
            Some(taker) => {
                let handed_over = async { *taker.task.lock() = Some(handle) };
                self.unless_cancelled(handed_over).await.map(|()| RawJson::empty_object())
            }
            None => {
                let task = ClientTask::new(&client, handle);
                let spent = client.inner.runtime.now().saturating_duration_since(call.began);
                let left = client.inner.request_timeout(&call.request.options).max.saturating_sub(spent);
                self.unless_cancelled(task.outcome_within(left)).await.unwrap_or_else(Err)
            }
        };
        if matches!(outcome, Err(ClientError::Cancelled | ClientError::Timeout(_))) && client.inner.check_open().is_ok()
        {
            client.inner.cancel_task(&id);
        }
        outcome
    }

    /// Returns whether progress of the task is reported for its request (2025-11-25).
    fn follows_progress(&self) -> bool {
        self.task_form() == Some(TaskForm::Core)
            && self.repeatable.as_ref().is_some_and(|call| call.request.extras.progress)
    }

    /// The id of the latest request.
    fn last_request(&self) -> Option<RequestId> {
        if let Flight::Sent(id) = &*self.flight.lock() { Some(id.clone()) } else { None }
    }
}

impl Awaited {
    /// Keeps reporting progress of a request that became a task (PRG-07). Progress may arrive in
    /// the very next message, before the call continues.
    pub(in crate::client) fn keep_progress(&self, client: &ClientInner, request: RequestId, result: &RawJson) {
        // On 2025-11-25, a request is only resent to request a task.
        let as_task = self.again.is_some() || self.call.task_wish().is_some_and(|task| task.as_task);
        if as_task && self.call.follows_progress() && created_task_id(result).is_some() {
            client.conversation.lock().follow(request, Self::by(&self.call));
        }
    }
}

impl ClientInner {
    /// Cancels an abandoned task (CAN-04, TKX-19).
    pub(in crate::client) fn cancel_task(self: &Arc<Self>, id: &str) {
        let (client, id) = (Client { inner: Arc::clone(self) }, id.to_owned());
        self.runtime.spawn(Box::pin(async move {
            if let Err(error) = client.cancel_task(&id).await {
                tracing::debug!(target: "trunkline::client::tasks", %error, "could not cancel a task");
            }
        }));
    }

    /// Handles a late response to a cancelled task request by cancelling the task (CAN-04).
    pub(in crate::client) fn abandoned(self: &Arc<Self>, result: &RawJson) {
        if let Some(id) = created_task_id(result) {
            self.cancel_task(&id);
        }
    }
}
