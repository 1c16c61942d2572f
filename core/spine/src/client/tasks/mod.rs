//! Tasks: tool calls that outlive their requests. One API for both forms: core tasks of 2025-11-25
//! and the extension of 2026-07-28.

mod calling;
mod following;
mod start_as_task;
mod task_input;

use crate::{
    client::{
        Client, ClientError, InputResponses, RequestOptions,
        reading::{read_result::read, task_form::read_task},
        state::{
            result_schema::ResultSchema,
            task_state::{Handle, StateCursor},
        },
    },
    engine::later,
    protocol::{
        RawJson, RevisionFeature, method,
        model::{CallToolResult, Task, TaskStatus},
    },
    race,
    sync::Mutex,
};
use following::{Following, task_params, unknown};
use futures_core::Stream;
use std::{
    fmt::{self, Debug, Formatter},
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use task_input::TaskInput;

/// A tool call running as a task: a stream of its states, and its result. The API is the same for
/// tasks of 2025-11-25 and of the 2026-07-28 extension; states always have the form of the
/// extension.
///
/// The client polls at the interval that the server asks for, and also reads notifications if the
/// server sends them. The client's handlers answer the task's requests for input. Intermediate
/// states may be skipped. Dropping the handle stops the polling but not the task: keep its id to
/// find it again with [`Client::resume_task`].
///
/// ```
/// use trunkline::{Client, Server, server::{TaskSupport, Tool}};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), trunkline::ClientError> {
/// let tool = Tool::new("report", "Writes a report", async || "done").task(TaskSupport::Optional);
/// let client = Client::connect(&Server::builder("reports", "1.0.0").add_tool(tool).build()).await?;
/// let mut task = client.start_task("report", ()).await?;
/// while let Some(state) = task.next().await {
///     println!("{}", state?.status.as_str());
/// }
/// assert_eq!(task.result().await?.joined_text(), "done");
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it ends the polling"]
pub struct ClientTask {
    client: Client,
    handle: Handle,
    cursor: Mutex<StateCursor>,
}

impl Client {
    /// Resumes a task by its id, for example one that an earlier run of the program started.
    ///
    /// # Errors
    /// [`ClientError::UnknownTask`] if the server does not know the task (any more);
    /// [`ClientError::Invalid`] if the server has no tasks; otherwise as for [`Client::request`].
    pub async fn resume_task(&self, id: &str) -> Result<ClientTask, ClientError> {
        self.resume_task_with(id, &RequestOptions::default()).await
    }

    /// Resumes a task by its id, with options. The timeouts apply to the request that looks up the
    /// task; with [`RequestOptions::manual_input`], the caller answers the task's requests for
    /// input.
    ///
    /// # Errors
    /// As for [`Client::resume_task`].
    pub async fn resume_task_with(&self, id: &str, options: &RequestOptions) -> Result<ClientTask, ClientError> {
        let Some(form) = self.task_form() else {
            return Err(ClientError::Invalid("resume_task: the server has no tasks".into()));
        };
        let times = RequestOptions::default().with_timeout(options.timeout).with_max_timeout(options.max_timeout);
        let task = self.task_state(id, &times).await?;
        Ok(ClientTask::new(self, Following::start(self, task, form, TaskInput::of(options), None)))
    }

    /// Cancels a task by its id, unless it is over.
    ///
    /// # Errors
    /// As for [`Client::request`]; a server of 2025-11-25 refuses if the task is over.
    pub async fn cancel_task(&self, id: &str) -> Result<(), ClientError> {
        self.cancel_task_with(id, &RequestOptions::default()).await
    }

    /// Cancels a task by its id, with request options.
    ///
    /// # Errors
    /// As for [`Client::cancel_task`].
    pub async fn cancel_task_with(&self, id: &str, options: &RequestOptions) -> Result<(), ClientError> {
        self.task_request(method::TASKS_CANCEL, id, options).await.map(drop)
    }
}

impl ClientTask {
    pub(super) fn new(client: &Client, handle: Handle) -> Self {
        Self { client: client.clone(), handle, cursor: Mutex::default() }
    }

    /// The id, which you can use to resume the task. `None` if the server did not create a task.
    pub fn id(&self) -> Option<String> {
        self.state().map(|task| task.task_id)
    }

    /// The latest known state. `None` if the server did not create a task.
    pub fn state(&self) -> Option<Task> {
        self.handle.0.task()
    }

    /// The latest known status.
    pub fn status(&self) -> TaskStatus {
        self.handle.0.status()
    }

    /// Waits for the next state. Returns `None` when the task is over.
    ///
    /// # Errors
    /// Why the final state cannot be determined; returned once.
    pub async fn next(&mut self) -> Option<Result<Task, ClientError>> {
        poll_fn(|context| self.poll_state(context)).await
    }

    #[doc(hidden)]
    pub fn poll_state(&self, context: &Context<'_>) -> Poll<Option<Result<Task, ClientError>>> {
        self.handle.0.poll_next(&self.cursor, context)
    }

    /// Undoes the last [`Self::next`], if its state could not be delivered.
    #[doc(hidden)]
    pub fn put_back(&self) {
        *self.cursor.lock() = StateCursor::default();
    }

    /// Stops polling, for owners that only have a reference.
    #[doc(hidden)]
    pub fn end(&self) {
        self.handle.0.end(ClientError::Closed);
    }

    /// Waits for the result of the call, up to the maximum time of a request
    /// ([`ClientOptions::max_timeout`](super::ClientOptions::max_timeout)).
    ///
    /// # Errors
    /// As for [`ClientTask::result_within`].
    pub async fn result(&self) -> Result<CallToolResult, ClientError> {
        read(&self.outcome_matching(None, None).await?)
    }

    /// Waits for the result of the call, up to `within`.
    ///
    /// # Errors
    /// The JSON-RPC error of a failed task; [`ClientError::TaskCancelled`];
    /// [`ClientError::UnknownTask`] or [`ClientError::TaskExpired`] if the server has dropped the
    /// task; [`ClientError::Timeout`] after `within`, in which case the task continues and you can
    /// wait for it again.
    pub async fn result_within(&self, within: Duration) -> Result<CallToolResult, ClientError> {
        read(&self.outcome_within(within).await?)
    }

    #[doc(hidden)]
    pub async fn outcome_matching(
        &self,
        schema: Option<Arc<ResultSchema>>,
        within: Option<Duration>,
    ) -> Result<RawJson, ClientError> {
        let inner = &self.client.inner;
        let (runtime, within) = (Arc::clone(&inner.runtime), within.unwrap_or(inner.options.max_timeout));
        let deadline = later(runtime.now(), within);
        let result = self.outcome_within(within).await?;
        match schema {
            Some(schema) => schema.checked_until(deadline, runtime, inner.id, result).await,
            None => Ok(result),
        }
    }

    #[doc(hidden)]
    pub async fn outcome_within(&self, within: Duration) -> Result<RawJson, ClientError> {
        let outcome = race::within(&*self.client.inner.runtime, within, self.handle.0.outcome()).await;
        outcome.unwrap_or_else(|| {
            let id = self.id().unwrap_or_default();
            Err(ClientError::Timeout(format!("The task {id} did not finish within {within:?}")))
        })
    }

    /// Cancels the task. Does nothing if it is over. With the extension, a server may still let it
    /// finish; check its state.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn cancel(&self) -> Result<(), ClientError> {
        let Some(id) = self.id() else { return Ok(()) };
        if self.status().is_final() {
            return Ok(());
        }
        let options = RequestOptions::default();
        let state = match self.client.task_request(method::TASKS_CANCEL, &id, &options).await {
            // On 2025-11-25, the response is the task (TSK-30); in the extension, it is only an
            // acknowledgement.
            Ok(answer) => read_task(self.client.server_label(), method::TASKS_CANCEL, &answer).ok(),
            // TSK-29: it may have ended in the meantime.
            Err(error @ ClientError::UnknownTask(_)) => match self.client.task_state(&id, &options).await {
                Ok(task) if task.status.is_final() => Some(task),
                _ => return Err(error),
            },
            Err(error) => return Err(error),
        };
        if let Some(task) = state {
            self.handle.0.apply(task);
            self.handle.0.poll_now.keep(());
        }
        Ok(())
    }

    /// Answers the requests for input in the task's state (extension only), if the caller does so
    /// itself ([`RequestOptions::manual_input`]).
    ///
    /// # Errors
    /// [`ClientError::Invalid`] if the server has no such requests; otherwise as for
    /// [`Client::request`].
    pub async fn respond(&self, responses: &InputResponses) -> Result<(), ClientError> {
        let id = self.id().filter(|_| self.client.revision().supports(RevisionFeature::TasksExtension));
        let Some(id) = id else {
            return Err(ClientError::Invalid("respond: a task of this revision does not take input responses".into()));
        };
        let params = responses.with_params(Some(&task_params(&id))).map_err(ClientError::unwritable)?;
        let update = self.client.request(method::TASKS_UPDATE, Some(&params), &RequestOptions::default()).await;
        update.map(drop).map_err(unknown)
    }
}

impl Stream for ClientTask {
    type Item = Result<Task, ClientError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_state(context)
    }
}

impl Debug for ClientTask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTask").field("id", &self.id()).field("status", &self.status()).finish_non_exhaustive()
    }
}
