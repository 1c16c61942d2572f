//! Calls of tools that become tasks: where the caller wants the task, and where the server makes
//! one of a call whose caller waits for the result (TKX-52).

use super::{
    following::Following,
    form::{created_task, read_task},
    input::TaskInput,
    other_client::OtherClient,
    state::ClientTaskState,
    support::{Support, TaskForm, needs_task},
    task::ClientTask,
};
use crate::{
    client::{
        client::Client,
        error::ClientError,
        flight::{Flight, InFlight},
        inner::ClientInner,
        options::{ProgressHook, RequestOptions},
        reply::ReplyTo,
        rounds::RepeatedCall,
    },
    engine::RequestExtras,
    protocol::{RawJson, RpcError, method, model::Task},
    race::unless,
    runtime::Promise,
};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{json, value::RawValue, value::to_raw_value};
use std::{
    borrow::Cow,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// Gets the answer of a call of a tool first, where it may be a task.
struct TaskCall {
    client: Weak<ClientInner>,
    call: RepeatedCall,
    reply: Arc<dyn ReplyTo>,
    /// Takes the task; without it, the caller waits for the result.
    taker: Option<Arc<Starting>>,
    flight: InFlight,
    began: Instant,
    form: TaskForm,
    as_task: bool,
}

/// The reply of a call that is started for its task.
pub(super) struct Starting {
    on_progress: Option<ProgressHook>,
    other: Option<Arc<OtherClient>>,
    started: Promise<Result<StartedTask, ClientError>>,
}

/// The start of a call.
pub(super) enum StartedTask {
    Task(ClientTask),
    /// The server answered at once.
    Result(RawJson),
}

impl Client {
    pub(in crate::client) fn task_form(&self) -> Option<TaskForm> {
        self.inner.task_support.form(self.inner.server.get()?)
    }

    /// Starts a call of a tool, on a connection whose calls may be tasks. Its caller waits for the
    /// result.
    pub(in crate::client) fn start_tool_call(
        &self,
        flight: &InFlight,
        form: TaskForm,
        call: RepeatedCall,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<(), ClientError> {
        // TSK-06
        let as_task = form == TaskForm::Core && self.needs_task(call.params.as_ref());
        self.begin_task_call(flight, form, call, (reply, None), as_task, false)
    }

    /// Returns whether a tool can only be called as a task.
    pub(in crate::client) fn needs_task(&self, params: Option<&RawJson>) -> bool {
        tool_of(params).is_some_and(|tool| self.inner.task_support.of(&tool) == Some(Support::Required))
    }

    /// Starts a call for its task.
    pub(super) fn start_for_task(
        &self,
        params: RawJson,
        options: &RequestOptions,
        as_task: Option<TaskForm>,
        starting: &Arc<Starting>,
    ) -> Result<InFlight, ClientError> {
        let flight = InFlight::default();
        let call = RepeatedCall {
            method: method::TOOLS_CALL.to_owned(),
            params: Some(params),
            options: options.clone(),
            extras: RequestExtras {
                on_behalf: starting.other.as_ref().map(|other| Arc::clone(&other.seen)),
                ..options.on_progress.is_some().into()
            },
        };
        let reply: Arc<dyn ReplyTo> = starting.clone();
        match as_task {
            Some(form) => {
                let takers = (reply, Some(Arc::clone(starting)));
                self.begin_task_call(&flight, form, call, takers, true, false)?;
            }
            None => self.start_in(&flight, call, reply, false)?,
        }
        Ok(flight)
    }

    fn begin_task_call(
        &self,
        flight: &InFlight,
        form: TaskForm,
        mut call: RepeatedCall,
        (reply, taker): (Arc<dyn ReplyTo>, Option<Arc<Starting>>),
        as_task: bool,
        again: bool,
    ) -> Result<(), ClientError> {
        call.extras.task = as_task;
        let mut sent = call.clone();
        if as_task && form == TaskForm::Core {
            let params = with_task(call.params.as_ref(), call.options.task_ttl);
            sent.params = Some(params.map_err(|error| ClientError::Invalid(error.to_string()))?);
        }
        let task_call = TaskCall {
            client: Arc::downgrade(&self.inner),
            call,
            reply,
            taker,
            flight: flight.clone(),
            began: self.inner.runtime.now(),
            form,
            as_task,
        };
        self.start_in(flight, sent, Arc::new(task_call), again)
    }

    /// Returns whether calls of a tool may be tasks, on a server whose clients ask for them
    /// (2025-11-25).
    pub(crate) async fn may_be_asked_for_task(&self, tool: &str) -> bool {
        self.task_form() == Some(TaskForm::Core)
            && self.task_support_of(tool).await.is_ok_and(|support| support != Support::Forbidden)
    }

    /// The support of a tool for tasks (2025-11-25): as it was listed last, or else is listed now.
    pub(super) async fn task_support_of(&self, tool: &str) -> Result<Support, ClientError> {
        if let Some(support) = self.inner.task_support.of(tool) {
            return Ok(support);
        }
        self.list_all(method::TOOLS_LIST, None, &RequestOptions::default()).await?;
        Ok(self.inner.task_support.of(tool).unwrap_or(Support::Forbidden))
    }
}

impl ReplyTo for TaskCall {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        match outcome {
            Err(ClientError::Protocol(error)) if !self.as_task && needs_task(self.form, &error) => self.again(error),
            Ok(result) if self.as_task && self.form == TaskForm::Core => match created_task(&result) {
                Some(task) => self.created(task),
                None => self.reply.answered(Ok(result)),
            },
            outcome => self.reply.answered(outcome),
        }
    }

    fn progress(&self, params: RawJson) {
        self.reply.progress(params);
    }

    fn input_required(&self, result: RawJson) {
        self.reply.input_required(result);
    }

    fn task_created(&self, result: RawJson) {
        self.created(read_task(&result));
    }
}

impl TaskCall {
    /// Makes the call as a task, which alone the server takes.
    fn again(&self, refused: RpcError) {
        let Some(inner) = self.client.upgrade() else { return self.reply.answered(Err(ClientError::Closed)) };
        let (client, runtime) = (Client { inner: Arc::clone(&inner) }, Arc::clone(&inner.runtime));
        let (flight, call, form) = (self.flight.clone(), self.call.clone(), self.form);
        let (reply, taker) = (Arc::clone(&self.reply), self.taker.clone());
        let refused = Err(ClientError::Protocol(refused));
        runtime.spawn(Box::pin(async move {
            if form == TaskForm::Core {
                let Some(tool) = tool_of(call.params.as_ref()) else { return reply.answered(refused) };
                if !matches!(client.task_support_of(&tool).await, Ok(Support::Required)) {
                    return reply.answered(refused);
                }
            }
            let takers = (Arc::clone(&reply), taker);
            if let Err(error) = client.begin_task_call(&flight, form, call, takers, true, true) {
                reply.answered(Err(error));
            }
        }));
    }

    fn created(&self, task: Result<Task, serde_json::Error>) {
        let Some(inner) = self.client.upgrade() else { return self.reply.answered(Err(ClientError::Closed)) };
        let task = match task {
            Ok(task) => task,
            Err(error) => return self.reply.answered(Err(ClientError::InvalidResponse(format!("the task: {error}")))),
        };
        let client = Client { inner };
        let of_progress = self.flight.id().filter(|_| self.call.extras.progress && self.form == TaskForm::Core);
        if let Some(token) = &of_progress {
            client.inner.conversation.lock().follow(token.clone(), Arc::clone(&self.reply));
        }
        let state = Arc::new(ClientTaskState::new(task.clone()));
        let input = match self.taker.as_ref().and_then(|taker| taker.other.clone()) {
            Some(other) => TaskInput::Passed(other),
            None => TaskInput::of(&self.call.options),
        };
        Following::start(&client, &task, &state, self.form, input, of_progress);
        let task = ClientTask::new(&client, state);
        let stop = Arc::new(Promise::default());
        {
            let mut flight = self.flight.0.lock();
            if matches!(*flight, Flight::Cancelled) {
                drop(flight);
                self.reply.answered(Err(ClientError::Cancelled));
                return client.inner.cancel_task(&task.id().unwrap_or_default());
            }
            *flight = Flight::Walking(Arc::clone(&stop));
        }
        match &self.taker {
            Some(starting) => starting.started.keep(Ok(StartedTask::Task(task))),
            None => self.wait(client, task, stop),
        }
    }

    /// Waits for the result, for the caller. A task that nobody can ask for any more is cancelled.
    fn wait(&self, client: Client, task: ClientTask, stop: Arc<Promise<()>>) {
        let (inner, reply) = (Arc::clone(&client.inner), Arc::clone(&self.reply));
        let spent = inner.runtime.now().saturating_duration_since(self.began);
        let left = inner.request_timeout(&self.call.options).max.saturating_sub(spent);
        inner.runtime.clone().spawn(Box::pin(async move {
            let outcome = unless(stop.kept(), task.outcome_within(left)).await.unwrap_or(Err(ClientError::Cancelled));
            let given_up = matches!(outcome, Err(ClientError::Cancelled | ClientError::Timeout(_)));
            reply.answered(outcome);
            if given_up && inner.check_open().is_ok() {
                inner.cancel_task(&task.id().unwrap_or_default());
            }
        }));
    }
}

impl ClientInner {
    /// Cancels a task of which nobody waits for the end (CAN-04, TKX-19).
    pub(in crate::client) fn cancel_task(self: &Arc<Self>, id: &str) {
        let (client, params) = (Client { inner: Arc::clone(self) }, RawJson::from_value(&json!({"taskId": id})));
        self.runtime.spawn(Box::pin(async move {
            let Ok(params) = params else { return };
            if let Err(error) = client.request(method::TASKS_CANCEL, Some(&params), &RequestOptions::default()).await {
                tracing::debug!(target: "trunkline::client::tasks", %error, "a task was not cancelled");
            }
        }));
    }

    /// Takes the late answer of a call for a task, which was cancelled: so is its task (CAN-04).
    pub(in crate::client) fn abandoned(self: &Arc<Self>, result: &RawJson) {
        if let Some(Ok(task)) = created_task(result) {
            self.cancel_task(&task.task_id);
        }
    }
}

impl Starting {
    pub(super) fn new(on_progress: Option<ProgressHook>, other: Option<OtherClient>) -> Arc<Self> {
        Arc::new(Self { on_progress, other: other.map(Arc::new), started: Promise::default() })
    }

    pub(super) async fn started(&self) -> Result<StartedTask, ClientError> {
        self.started.kept().await
    }
}

impl ReplyTo for Starting {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        self.started.keep(outcome.map(StartedTask::Result));
    }

    fn progress(&self, params: RawJson) {
        if let Some(hook) = &self.on_progress {
            hook(&params);
        }
    }
}

/// The parameters with which a call asks for a task (2025-11-25).
fn with_task(params: Option<&RawJson>, ttl: Option<Duration>) -> Result<RawJson, serde_json::Error> {
    let mut members: IndexMap<String, &RawValue> = params.map_or(Ok(IndexMap::new()), RawJson::parse)?;
    let ttl = ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
    let task = to_raw_value(&ttl.map_or_else(|| json!({}), |ttl| json!({"ttl": ttl})))?;
    members.insert("task".to_owned(), &task);
    RawJson::from_value(&members)
}

/// The tool that a call names.
fn tool_of(params: Option<&RawJson>) -> Option<String> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    params?.parse::<Named<'_>>().ok().map(|named| named.name.into_owned())
}
