//! Starting tool calls as tasks.

use super::ClientTask;
use crate::{
    client::{
        Client, ClientCall, ClientError, RequestOptions,
        calls::tool_calls::call_params,
        state::{
            reply_to::CallReceiver,
            task_state::{ClientTaskState, Handle},
            task_wish::{OtherClient, TaskForm, TaskTaker, TaskWish},
        },
    },
    engine::RequestExtras,
    protocol::{RawJson, method, model::TaskSupport},
};
use serde::Serialize;
use std::sync::Arc;

impl Client {
    /// Calls a tool as a task, with arguments as in [`Client::call_tool`].
    ///
    /// If the server creates no task (it has none, the tool forbids it, or the call finishes
    /// immediately), the handle has no id and already has the result.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn start_task(&self, name: &str, arguments: impl Serialize) -> Result<ClientTask, ClientError> {
        self.start_task_with(name, arguments, &RequestOptions::default()).await
    }

    /// Calls a tool as a task, with options. [`RequestOptions::timeout`] applies to starting it.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn start_task_with(
        &self,
        name: &str,
        arguments: impl Serialize,
        options: &RequestOptions,
    ) -> Result<ClientTask, ClientError> {
        let params = call_params(name, &arguments)?;
        self.opened().await?;
        let mut form = self.task_form();
        // TSK-04
        if form == Some(TaskForm::Core) && self.task_support_of(name).await? == TaskSupport::Forbidden {
            form = None;
        }
        self.started(params, options, form, None).await
    }

    /// Calls a tool as a task on behalf of another client. A modern server sees that client, and
    /// the task's requests for input go to it.
    ///
    /// # Errors
    /// As for [`Client::request`].
    #[doc(hidden)]
    pub async fn start_task_on_behalf(
        &self,
        other: OtherClient,
        params: RawJson,
        options: &RequestOptions,
    ) -> Result<ClientTask, ClientError> {
        self.opened().await?;
        self.started(params, options, self.task_form(), Some(Arc::new(other))).await
    }

    async fn started(
        &self,
        params: RawJson,
        options: &RequestOptions,
        form: Option<TaskForm>,
        other: Option<Arc<OtherClient>>,
    ) -> Result<ClientTask, ClientError> {
        let on_behalf = other.as_ref().map(|other| Arc::clone(&other.seen));
        let extras = RequestExtras { on_behalf, ..options.on_progress.is_some().into() };
        let taker = Some(TaskTaker { other, ..TaskTaker::default() });
        let task = form.map(|form| TaskWish { form, as_task: true, taker });
        let request = self.inner.parts(method::TOOLS_CALL, Some(&params), options);
        let call = ClientCall::new(CallReceiver::future(options.on_progress.clone()));
        let call = self.send_first(call, request, extras, task)?;
        let result = self.wait(Arc::clone(&call)).await?;
        let taker = call.task_wish().and_then(|task| task.taker.as_ref());
        let task = taker.and_then(|taker| taker.task.lock().take());
        let handle = task.unwrap_or_else(|| Handle(Arc::new(ClientTaskState::answered(result))));
        Ok(ClientTask::new(self, handle))
    }
}
