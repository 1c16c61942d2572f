//! Tasks that requests name: of this process, or of other workers.

use super::{
    elsewhere::CANCEL_TIMEOUT,
    record::TaskRecord,
    server_task::{ResultRequest, Task},
    stored::{StoredTasks, list_of, unavailable},
    task_view::TaskView,
};
use crate::{
    engine::RequestTimeout,
    protocol::{RawJson, RpcError, method},
    race,
    server::{
        handlers::{Answer, CancelSent, ClientRequestError, InputRequest},
        request::{
            active_request::{ActiveRequest, Routed},
            requests_to_client::InputCallback,
        },
    },
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    future::Future,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// A task that a request names.
pub(in crate::server) enum NamedTask {
    /// A task of this process.
    Here(Arc<Task>),
    /// A task that another worker may run, as it was found in the store.
    Elsewhere(Arc<StoredTasks>, Box<TaskRecord>),
}

impl ActiveRequest {
    /// Finds the task with this id, if the client may access it (TSK-31, TKX-20). `undeclared` is
    /// the error if it has not declared the tasks extension, and then only knows those of sessions.
    pub(in crate::server) async fn named_task(
        &self,
        id: &str,
        undeclared: Option<RpcError>,
    ) -> Result<NamedTask, RpcError> {
        let owner = self.owner();
        let found = match (self.services.tasks.find(id, &owner), self.stored_tasks()?) {
            (Err(_), Some(stored)) => {
                let found = stored.find(id, &owner).await;
                found.map(|record| NamedTask::Elsewhere(Arc::clone(stored), Box::new(record)))
            }
            (found, _) => found.map(NamedTask::Here),
        };
        match undeclared.filter(|_| !found.as_ref().is_ok_and(NamedTask::is_of_session)) {
            Some(undeclared) => Err(undeclared),
            None => found,
        }
    }

    /// The error of a request for the result of a task that another process continues, while it has
    /// not responded with it: the client can ask again, because nothing was interrupted.
    pub(in crate::server::request) fn task_elsewhere(&self) -> Option<RpcError> {
        #[derive(Deserialize)]
        struct Named {
            #[serde(rename = "taskId")]
            id: String,
        }
        if self.method != method::TASKS_RESULT {
            return None;
        }
        let Named { id } = self.params.as_ref()?.parse().ok()?;
        self.services.tasks.find(&id, &self.owner()).ok()?.elsewhere()
    }

    /// One page of the client's tasks after a position, and the position of the next page.
    pub(in crate::server) async fn task_page(&self, after: u64) -> Result<(Vec<TaskView>, Option<u64>), RpcError> {
        let (size, owner) = (self.server().options().page_size, self.owner());
        match self.stored_tasks()?.and_then(|stored| Some((stored, list_of(&owner)?))) {
            Some((stored, list)) => stored.page(&list, after, size, &owner).await,
            None => Ok(self.services.tasks.page(after, size, &owner)),
        }
    }
}

impl ResultRequest for ActiveRequest {
    fn can_ask(&self) -> bool {
        self.can_ask()
    }

    fn ask(
        self: Arc<Self>,
        timeout: RequestTimeout,
        request: &InputRequest,
        on_response: InputCallback,
    ) -> Result<CancelSent, ClientRequestError> {
        self.send_input_request(timeout, request, on_response)
    }
}

impl NamedTask {
    fn is_of_session(&self) -> bool {
        match self {
            Self::Here(task) => task.is_of_session(),
            Self::Elsewhere(_, record) => record.session,
        }
    }

    pub(in crate::server) fn id(&self) -> &str {
        match self {
            Self::Here(task) => task.id(),
            Self::Elsewhere(_, record) => record.id(),
        }
    }

    /// The task as every worker sees it.
    pub(in crate::server) async fn view(&self, context: &ActiveRequest) -> Result<TaskView, RpcError> {
        let task = match self {
            Self::Here(task) => task,
            Self::Elsewhere(_, record) => return Ok(record.task.clone()),
        };
        // The store may have taken the final state without confirming it. Other workers then report
        // it already.
        if task.is_ending()
            && let Some(stored) = context.stored_tasks()?
            && let Some(record) = stored.look_up(task.id()).await.map_err(unavailable)?
        {
            return Ok(record.task);
        }
        Ok(task.view())
    }

    /// The result or error of its request, once the task is over (TSK-20). `context` is the request
    /// for it, on whose stream the task can send its client requests.
    pub(in crate::server) async fn outcome(self, context: &Arc<ActiveRequest>) -> Result<RawJson, RpcError> {
        match self {
            Self::Here(task) => task.outcome(Arc::clone(context) as _).await,
            Self::Elsewhere(stored, record) => stored.outcome_elsewhere(*record, context).await,
        }
    }

    /// Cancels the task, and waits until every worker knows that if `is_confirmed` is set. Returns
    /// `false` if the task is already over.
    pub(in crate::server) async fn cancel(
        &mut self,
        context: &ActiveRequest,
        is_confirmed: bool,
    ) -> Result<bool, RpcError> {
        match self {
            Self::Here(task) => {
                let cancelled = task.cancel("the client cancelled the task");
                if is_confirmed {
                    let runtime = context.connection.runtime();
                    let announced = race::within(&**runtime, CANCEL_TIMEOUT, task.announced(None)).await;
                    announced.ok_or_else(|| RpcError::busy("the store of tasks is not available"))?;
                    task.elsewhere().map_or(Ok(()), Err)?;
                }
                Ok(cancelled)
            }
            Self::Elsewhere(_, record) if record.is_final() => Ok(false),
            Self::Elsewhere(stored, record) => {
                match stored.cancel(record, &context.owner()).await? {
                    Some(ended) => **record = ended,
                    None if is_confirmed => return Err(RpcError::busy("the worker of the task does not respond")),
                    None => {}
                }
                Ok(true)
            }
        }
    }

    /// Passes input responses of the client to the task, unless it is over.
    pub(in crate::server) async fn update(&self, responses: Map<String, Value>) -> Result<(), RpcError> {
        let answers = responses.into_iter().map(|(key, response)| (key, Answer::Given(response))).collect();
        match self {
            Self::Here(task) => task.take_answers(answers),
            Self::Elsewhere(_, record) if record.is_final() => {}
            Self::Elsewhere(stored, record) => stored.answer(record, answers).await?,
        }
        Ok(())
    }
}

impl Routed {
    /// Responds when work that may wait for the store or for the end of a task is done, unless the
    /// request is cancelled. Without a store, what does not have to wait is responded to at once.
    pub(in crate::server) fn when_done<F>(work: impl FnOnce(Arc<ActiveRequest>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<RawJson, RpcError>> + Send + 'static,
    {
        Self::Deferred(Box::new(move |context, responder| {
            let mut work = Box::pin(work(Arc::clone(context)));
            if context.server().options().store.is_none()
                && let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                context.deliver(responder, done);
                return;
            }
            let context = Arc::clone(context);
            let runtime = Arc::clone(context.connection.runtime());
            runtime.spawn(Box::pin(async move {
                let done = race::unless(context.cancellation.cancelled(), work).await;
                let cancelled = || Err(RpcError::invalid_request("The request was cancelled"));
                context.deliver(responder, done.unwrap_or_else(cancelled));
            }));
        }))
    }
}
