//! Starting a call of a tool as a task.

use super::{
    calling::{StartedTask, Starting},
    other_client::OtherClient,
    state::ClientTaskState,
    support::{Support, TaskForm},
    task::ClientTask,
};
use crate::{
    client::{
        cancel_on_drop::CancelOnDrop, client::Client, error::ClientError, options::RequestOptions, tools::call_params,
    },
    protocol::RawJson,
};
use serde::Serialize;
use std::sync::Arc;

impl Client {
    /// Calls a tool as a task. Its arguments are as for [`Client::call_tool`].
    ///
    /// Where the server makes no task of the call (it has none, the tool forbids it, or it is done
    /// at once), the handle has no id, and the result when this completes.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn start_task(&self, name: &str, arguments: impl Serialize) -> Result<ClientTask, ClientError> {
        self.start_task_with(name, arguments, &RequestOptions::default()).await
    }

    /// Calls a tool as a task, with options: [`RequestOptions::timeout`] is that of its start.
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
        let mut form = self.task_form();
        // TSK-04
        if form == Some(TaskForm::Core) && self.task_support_of(name).await? == Support::Forbidden {
            form = None;
        }
        self.started(params, options, form, Starting::new(options.on_progress.clone(), None)).await
    }

    /// Calls a tool as a task for another client, which a server of the modern era sees, and which
    /// gets the requests for input of the task.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub(crate) async fn start_task_on_behalf(
        &self,
        other: OtherClient,
        params: RawJson,
        options: &RequestOptions,
    ) -> Result<ClientTask, ClientError> {
        let starting = Starting::new(options.on_progress.clone(), Some(other));
        self.started(params, options, self.task_form(), starting).await
    }

    async fn started(
        &self,
        params: RawJson,
        options: &RequestOptions,
        form: Option<TaskForm>,
        starting: Arc<Starting>,
    ) -> Result<ClientTask, ClientError> {
        let guard = CancelOnDrop::new(self, self.start_for_task(params, options, form, &starting)?);
        let started = starting.started().await;
        guard.disarm();
        Ok(match started? {
            StartedTask::Task(task) => task,
            StartedTask::Result(result) => ClientTask::new(self, Arc::new(ClientTaskState::answered(result))),
        })
    }
}
