//! Follows a task to its end: polls, provides input, and fetches the result.

use super::task_input::{Answering, TaskAnswers, TaskInput};
use crate::{
    backoff::Backoff,
    client::{
        Client, ClientError, ErrorKind, InputRequired, RequestOptions,
        reading::{odd_results::usable, task_form::read_task},
        state::{
            task_state::{ClientTaskState, Handle},
            task_wish::TaskForm,
        },
    },
    engine::later,
    protocol::{
        RawJson, RequestId, RpcError,
        error::code,
        method,
        model::{SubscriptionFilter, Task, TaskStatus},
    },
    race::{unless, within},
    runtime::BoxedTask,
    wire_log::Transport,
};
use serde::Serialize;
use serde_json::json;
use std::{
    collections::BTreeMap,
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

/// Used if the server requests no interval.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Bounds of what a server requests (TSK-25, TKX-15).
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(3600);
/// The wait after a failed poll.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(30) };

/// The polling loop of a task.
pub(super) struct Following {
    client: Client,
    state: Arc<ClientTaskState>,
    id: String,
    form: TaskForm,
    input: TaskInput,
    /// Its progress token.
    progress: Option<RequestId>,
    /// When the client learned of the task.
    since: Instant,
    /// When the client last learned its state.
    learned: Instant,
    /// Since when polls have been failing, and how many.
    failing: Option<(Instant, u32)>,
    /// True if the user may be asked to log in for the next request. At first nobody is, so that
    /// credentials which are missing for a while do not end the task.
    attended: bool,
    /// The pending `tasks/result` (2025-11-25), during which servers send their requests for input.
    fetching: Option<BoxedTask<Result<RawJson, ClientError>>>,
    answering: Answering,
}

/// Why a pause ended.
enum Woken {
    Due,
    PollNow,
    Fetched(Result<RawJson, ClientError>),
    Answered(Result<TaskAnswers, ClientError>),
}

impl Following {
    /// Follows a task from the state that is known.
    pub(super) fn start(
        client: &Client,
        task: Task,
        form: TaskForm,
        input: TaskInput,
        progress: Option<RequestId>,
    ) -> Handle {
        let (inner, id, is_over) = (&client.inner, task.task_id.clone(), task.status.is_final());
        let state = Arc::new(ClientTaskState::new(task));
        let now = inner.runtime.now();
        let streams = inner.tasks.add(&id, &state);
        if form == TaskForm::Extension && streams && !is_over {
            open_stream(client, &id, &state);
        }
        let following = Self {
            client: client.clone(),
            state: Arc::clone(&state),
            id,
            form,
            input,
            progress,
            since: now,
            learned: now,
            failing: None,
            attended: false,
            fetching: None,
            answering: Answering::default(),
        };
        inner.runtime.spawn(Box::pin(following.run()));
        // Closing a connection ends the tasks it knows of; this one may have been added too late.
        if let Err(error) = inner.check_open() {
            state.end(error);
        }
        Handle(state)
    }

    async fn run(mut self) {
        let (state, inner) = (Arc::clone(&self.state), Arc::clone(&self.client.inner));
        let outcome = unless(state.stop.kept(), self.until_end()).await;
        if let Some(outcome) = outcome {
            state.finish(outcome);
        }
        inner.tasks.remove(&self.id, &state);
        if let Some(token) = &self.progress {
            inner.conversation.lock().unfollow(token);
        }
    }

    async fn until_end(&mut self) -> Result<RawJson, ClientError> {
        loop {
            let Some(task) = self.state.task() else { return Err(ClientError::Closed) };
            if task.status.is_final() {
                let has_failed = task.status == TaskStatus::Failed;
                match self.outcome(task).await {
                    // Its outcome, even if it says that the server was busy.
                    Err(error @ ClientError::Protocol(_)) if has_failed => return Err(error),
                    Err(error) if self.may_try_again(&error) => {}
                    outcome => return outcome,
                }
            } else if task.status == TaskStatus::InputRequired {
                self.begin_input(&task)?;
            }
            match self.pause().await {
                Woken::PollNow => {
                    self.learned = self.client.inner.runtime.now();
                    continue;
                }
                Woken::Fetched(outcome) => {
                    self.fetching = None;
                    match outcome {
                        Err(error) if self.may_try_again(&error) => continue,
                        outcome => {
                            // So that the last state that readers see is final.
                            let _ = self.poll().await;
                            return outcome;
                        }
                    }
                }
                Woken::Answered(answers) => self.answering.ready.extend(answers?),
                Woken::Due => {}
            }
            match self.poll().await {
                Err(error) if self.may_try_again(&error) => {}
                polled => polled?,
            }
            self.check_expired()?;
        }
    }

    /// Polls the state, and sends input that is ready.
    async fn poll(&mut self) -> Result<(), ClientError> {
        let options = self.options();
        let task = self.client.task_state(&self.id, &options).await;
        self.learned = self.client.inner.runtime.now();
        let task = task?;
        self.attended = false;
        // A final state does not end the attempts to fetch its result.
        self.failing = self.failing.filter(|_| task.status.is_final());
        // TKX-33: the task may no longer need the input when the user has decided.
        let outstanding = task.input_requests.clone().filter(|_| task.status == TaskStatus::InputRequired);
        self.state.apply(task);
        let Some(responses) = self.answering.outstanding(outstanding.as_ref()) else { return Ok(()) };
        let update = update_params(&self.id, responses);
        self.client.request(method::TASKS_UPDATE, Some(&update), &options).await.map_err(unknown)?;
        self.answering.ready.clear();
        Ok(())
    }

    /// Handles new requests for input: starts the handlers, or the request during which the server
    /// sends them (TSK-19).
    fn begin_input(&mut self, task: &Task) -> Result<(), ClientError> {
        match self.form {
            TaskForm::Core if self.fetching.is_none() && self.failing.is_none() => {
                let (client, id, options) = (self.client.clone(), self.id.clone(), self.options());
                self.fetching = Some(Box::pin(async move { fetch(&client, &id, Duration::MAX, options).await }));
            }
            TaskForm::Extension if !matches!(self.input, TaskInput::Manual) => {
                let required =
                    InputRequired::of_task(self.client.server_label(), task).map_err(ClientError::InvalidResponse)?;
                self.answering.begin(&self.client.inner, &self.input, required)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The outcome of a finished task.
    async fn outcome(&mut self, task: Task) -> Result<RawJson, ClientError> {
        let nonsense = |what: &str| ClientError::InvalidResponse(format!("the task {} {what}", task.task_id));
        match (task.status, self.form) {
            (TaskStatus::Cancelled, _) => Err(ClientError::TaskCancelled(task.task_id)),
            (_, TaskForm::Core) => {
                let timeout = self.client.inner.options.timeout;
                if let Some(fetching) = self.fetching.take()
                    && let Some(Ok(result)) = within(&*self.client.inner.runtime, timeout, fetching).await
                {
                    return Ok(result);
                }
                fetch(&self.client, &self.id, timeout, self.options()).await
            }
            (TaskStatus::Failed, TaskForm::Extension) => {
                Err(task.error.map_or_else(|| nonsense("failed without an error"), ClientError::Protocol))
            }
            (_, TaskForm::Extension) => match &task.result {
                Some(result) if result.is_object() => {
                    let result = RawJson::from_value(result).map_err(|error| nonsense(&error.to_string()))?;
                    usable(self.client.server_label(), method::TOOLS_CALL, result)
                }
                _ => Err(nonsense("is complete without a result")),
            },
        }
    }

    /// Waits until the next poll, or until something happens.
    async fn pause(&mut self) -> Woken {
        let pause = match self.failing {
            Some((_, times)) => self.interval().max(BACKOFF.after(times - 1)),
            None => self.interval(),
        };
        let runtime = Arc::clone(&self.client.inner.runtime);
        let now = runtime.now();
        let poll = later(self.learned, pause);
        // A final poll when the task expires.
        let due =
            self.expiry().map(|(expiry, _)| expiry).filter(|expiry| now < *expiry).map_or(poll, |it| it.min(poll));
        let mut due = runtime.sleep_until(due);
        let mut poll_now = pin!(self.state.poll_now.kept());
        poll_fn(|context| {
            if let Some(fetching) = &mut self.fetching
                && let Poll::Ready(outcome) = fetching.as_mut().poll(context)
            {
                return Poll::Ready(Woken::Fetched(outcome));
            }
            if let Poll::Ready(answers) = self.answering.poll(context) {
                return Poll::Ready(Woken::Answered(answers));
            }
            if poll_now.as_mut().poll(context).is_ready() {
                return Poll::Ready(Woken::PollNow);
            }
            due.as_mut().poll(context).map(|()| Woken::Due)
        })
        .await
    }

    /// The polling interval that the server currently requests (TKX-29), within bounds.
    fn interval(&self) -> Duration {
        let named = self.state.task().and_then(|task| task.poll_interval_ms).map(Duration::from_millis);
        named.unwrap_or(DEFAULT_POLL_INTERVAL).clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
    }

    fn options(&self) -> RequestOptions {
        RequestOptions::default().with_unattended(!self.attended)
    }

    /// Returns whether a failure may be temporary. Polls may fail for at most the maximum time of a
    /// request.
    fn may_try_again(&mut self, error: &ClientError) -> bool {
        let passing = match error.kind() {
            ErrorKind::Transport | ErrorKind::Timeout | ErrorKind::Busy => {
                !matches!(error, ClientError::InvalidResponse(_))
            }
            // There are no credentials just now, or the server refuses them. A group has already
            // asked the user.
            ErrorKind::AuthorizationRequired
                if !self.attended && self.client.inner.connector.transport() != Transport::Memory =>
            {
                self.attended = error.authorization().is_some_and(|demand| demand.http_status.is_some());
                true
            }
            _ => false,
        };
        let passing = passing && self.client.inner.check_open().is_ok();
        let now = self.client.inner.runtime.now();
        let (since, times) = self.failing.unwrap_or((now, 0));
        self.failing = Some((since, times.saturating_add(1)));
        self.learned = now;
        passing && now.saturating_duration_since(since) < self.client.inner.options.max_timeout
    }

    /// TKX-39
    fn check_expired(&self) -> Result<(), ClientError> {
        match self.expiry() {
            Some((expiry, ttl)) if expiry <= self.client.inner.runtime.now() => {
                Err(ClientError::TaskExpired(self.id.clone(), ttl))
            }
            _ => Ok(()),
        }
    }

    /// When the server will drop the task, as currently announced (TKX-29), if it is still running.
    fn expiry(&self) -> Option<(Instant, Duration)> {
        let task = self.state.task().filter(|task| !task.status.is_final())?;
        let ttl = Duration::from_millis(task.ttl_ms?);
        Some((later(self.since, ttl), ttl))
    }
}

impl Client {
    /// Requests the state of a task.
    pub(super) async fn task_state(&self, id: &str, options: &RequestOptions) -> Result<Task, ClientError> {
        let state = self.task_request(method::TASKS_GET, id, options).await?;
        read_task(self.server_label(), method::TASKS_GET, &state)
            .map_err(|error| ClientError::InvalidResponse(format!("{}: {error}", method::TASKS_GET)))
    }

    /// Sends a request about a task that only names it.
    pub(super) async fn task_request(
        &self,
        method: &str,
        id: &str,
        options: &RequestOptions,
    ) -> Result<RawJson, ClientError> {
        self.request(method, Some(&task_params(id)), options).await.map_err(unknown)
    }
}

pub(super) fn task_params(id: &str) -> RawJson {
    RawJson::object(&json!({"taskId": id}))
}

/// The parameters of `tasks/update`. The answers stay as they are: they may be those of somebody
/// else, behind a proxy, and no `Value` holds each number of theirs.
fn update_params(id: &str, responses: &BTreeMap<String, RawJson>) -> RawJson {
    #[derive(Serialize)]
    struct Update<'a> {
        #[serde(rename = "taskId")]
        id: &'a str,
        #[serde(rename = "inputResponses")]
        responses: &'a BTreeMap<String, RawJson>,
    }
    RawJson::object(&Update { id, responses })
}

/// `tasks/result` (TSK-20).
async fn fetch(client: &Client, id: &str, within: Duration, options: RequestOptions) -> Result<RawJson, ClientError> {
    let options = options.with_timeout(within).with_max_timeout(within);
    client.request(method::TASKS_RESULT, Some(&task_params(id)), &options).await
}

/// Opens the notification stream of the task (TKX-41). If that fails, polling alone notices the
/// end.
fn open_stream(client: &Client, id: &str, state: &Arc<ClientTaskState>) {
    let (client, state, id) = (client.clone(), Arc::downgrade(state), id.to_owned());
    let runtime = Arc::clone(&client.inner.runtime);
    runtime.spawn(Box::pin(async move {
        match client.subscribe(SubscriptionFilter::default().with_tasks(vec![id])).await {
            Ok(subscription) => {
                if let Some(state) = state.upgrade() {
                    state.hold(Box::new(subscription));
                }
            }
            Err(error) => {
                tracing::debug!(target: "trunkline::client::tasks", %error, "there are no notifications of a task")
            }
        }
    }));
}

/// TSK-31, TKX-20
pub(super) fn unknown(error: ClientError) -> ClientError {
    match error {
        ClientError::Protocol(error @ RpcError { code: code::INVALID_PARAMS, .. }) => ClientError::UnknownTask(error),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_with_numbers_of_any_length_are_sent() {
        let answer = format!(r#"{{"action":"accept","content":{{"n":{}}}}}"#, "9".repeat(400));
        let responses = BTreeMap::from([("a".to_owned(), RawJson::from_text(answer.clone().into()).unwrap())]);
        let expected = format!(r#"{{"taskId":"t","inputResponses":{{"a":{answer}}}}}"#);
        assert_eq!(update_params("t", &responses).as_str(), expected);
    }
}
