//! Input for tasks (extension): each request is answered once.

use crate::{
    client::{
        ClientError, InputRequired, RequestOptions,
        calls::input_rounds::{check, no_input},
        inner::ClientInner,
        state::task_wish::OtherClient,
    },
    protocol::{RawJson, model::JsonObject},
    race::all,
    runtime::BoxedTask,
};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    task::{Context, Poll},
};

/// Maximum number of requests of one task.
const MAX_REQUESTS: usize = 1_024;

/// Answers, with the keys of their requests.
pub(super) type TaskAnswers = Vec<(String, RawJson)>;

/// The source of a task's input.
pub(super) enum TaskInput {
    /// The handlers of the host.
    Handlers,
    /// The owner of the handle, from the task's state.
    Manual,
    /// The client on whose behalf the call was made.
    Passed(Arc<OtherClient>),
}

/// The requests of one task and their answers.
#[derive(Default)]
pub(super) struct Answering {
    /// Keys that were passed to a handler, which must not happen twice (TKX-14).
    begun: HashSet<String>,
    /// Requests that became known together are answered together.
    running: Vec<BoxedTask<Result<TaskAnswers, ClientError>>>,
    /// Answers that have not been sent yet.
    pub(super) ready: BTreeMap<String, RawJson>,
}

impl TaskInput {
    pub(super) fn of(options: &RequestOptions) -> Self {
        if options.manual_input { Self::Manual } else { Self::Handlers }
    }
}

impl Answering {
    /// Starts handling all new requests concurrently. They are treated like direct requests
    /// (TKX-13).
    pub(super) fn begin(
        &mut self,
        client: &Arc<ClientInner>,
        input: &TaskInput,
        mut required: InputRequired,
    ) -> Result<(), ClientError> {
        let other = if let TaskInput::Passed(other) = input { Some(other) } else { None };
        required.requests.retain(|key, _| !self.begun.contains(key));
        if required.requests.is_empty() {
            return Ok(());
        }
        check(client, other.map(|other| &other.seen.capabilities), &required)?;
        if self.begun.len() + required.requests.len() > MAX_REQUESTS {
            let text = format!("the task asked for input {MAX_REQUESTS} times, the maximum");
            return Err(ClientError::InvalidResponse(text));
        }
        let keys: Vec<String> = required.requests.keys().cloned().collect();
        self.begun.extend(keys.iter().cloned());
        let answers = required.requests.into_values().map(|request| match other {
            Some(other) => client.passed_answer(&request.method, request.params, &other.ask),
            None => client.host_answer(&request.method, request.params, None),
        });
        let answers = all(answers.collect());
        self.running.push(Box::pin(async move {
            let answers = answers.await.map_err(no_input)?;
            Ok(keys.into_iter().zip(answers).collect())
        }));
        Ok(())
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<TaskAnswers, ClientError>> {
        for (index, answers) in self.running.iter_mut().enumerate() {
            if let Poll::Ready(answers) = answers.as_mut().poll(context) {
                drop(self.running.swap_remove(index));
                return Poll::Ready(answers);
            }
        }
        Poll::Pending
    }

    /// The answers to the currently outstanding requests, or `None` if there are none.
    pub(super) fn outstanding(&mut self, requests: Option<&JsonObject>) -> Option<&BTreeMap<String, RawJson>> {
        self.ready.retain(|key, _| requests.is_some_and(|requests| requests.contains_key(key)));
        Some(&self.ready).filter(|ready| !ready.is_empty())
    }
}
