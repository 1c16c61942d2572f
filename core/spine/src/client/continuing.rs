//! The steps of a call after its first response: its end, or another request (for a round of input,
//! after rereading the tools list, or for a task).

use super::{
    Client, ClientCall, ClientError, RequestOptions,
    client::upgraded,
    inner::ClientInner,
    state::{
        client_call::{Awaited, CheckableAnswer, ContinuedCall, ServerAnswer},
        result_schema::ResultCheck,
        task_wish::needs_task,
    },
};
use crate::protocol::{RawJson, RpcError, error::code, method};
use std::sync::{Arc, Weak};

/// The step that a response leads to.
enum Step {
    /// The call ends.
    End(Result<RawJson, ClientError>),
    /// The call ends with this result, after a costly check.
    Check(ResultCheck, RawJson),
    /// The host answers the requests for input, for the next round.
    AnswerInput(RawJson),
    /// The outcome of the call is that of the task.
    FollowTask(RawJson),
    /// The request is resent with the headers that it lacked.
    ListToolsAgain(RpcError),
    /// The request is resent for a task.
    AskForTask(RpcError),
}

impl Awaited {
    /// Handles the response. If it ends the call, the call ends immediately; otherwise it continues
    /// in a task.
    pub(in crate::client) fn answered(self, client: &Arc<ClientInner>, answer: ServerAnswer) {
        let Self { call, check, again } = self;
        if let Some(again) = again {
            return again.keep((answer, check));
        }
        match call.next_step(client, None, (answer, check)) {
            Step::End(outcome) => call.end(client, outcome),
            step => call.go_on(client, step),
        }
    }
}

impl ClientCall {
    /// Decides what a response leads to. `call` is its history, if this is not the first response.
    fn next_step(&self, client: &ClientInner, call: Option<&ContinuedCall>, (answer, check): CheckableAnswer) -> Step {
        let repeatable = self.repeatable.as_deref();
        let task = self.task_wish();
        let as_task = call.map_or_else(|| task.is_some_and(|task| task.as_task), |call| call.as_task);
        match answer {
            ServerAnswer::InputRequired(result) if repeatable.is_some_and(|it| !it.request.options.is_manual()) => {
                Step::AnswerInput(result)
            }
            ServerAnswer::Task(result) if task.is_some() => Step::FollowTask(result),
            ServerAnswer::Outcome(Err(ClientError::Protocol(error))) if repeatable.is_some() => {
                if error.code == code::HEADER_MISMATCH
                    && !call.is_some_and(|call| call.repeated)
                    && self.mirrors(client)
                {
                    Step::ListToolsAgain(error)
                } else if !as_task && task.is_some_and(|task| needs_task(task.form, &error)) {
                    Step::AskForTask(error)
                } else {
                    Step::End(Err(ClientError::Protocol(error)))
                }
            }
            ServerAnswer::Outcome(Ok(result)) if as_task && self.is_core_task(&result) => Step::FollowTask(result),
            ServerAnswer::Outcome(Ok(result)) => match check {
                Some(check) if check.schema.is_costly(&result) => Step::Check(check, result),
                Some(check) => Step::End(check.schema.checked(result)),
                None => Step::End(Ok(result)),
            },
            answer => Step::End(self.outcome_of(client.label.get(), answer)),
        }
    }

    /// Returns whether arguments of its tool are mirrored in headers.
    fn mirrors(&self, client: &ClientInner) -> bool {
        &*self.method == method::TOOLS_CALL && client.mirrors(client.revision())
    }

    /// Ends a call with its first response, which may be cached.
    fn end(&self, client: &ClientInner, outcome: Result<RawJson, ClientError>) {
        if let Some(slot) = &self.slot {
            match &outcome {
                Ok(result) => client.cache.keep(slot, result, client.auth_context(), client.runtime.now()),
                Err(error) => client.cache.refused(slot, error),
            }
        }
        self.finish(outcome);
    }

    /// Continues in a task, which holds the client only while a request is in flight. So a client
    /// that has been dropped is not kept alive while a user is thinking.
    fn go_on(self: Arc<Self>, client: &Arc<ClientInner>, step: Step) {
        let (runtime, client) = (Arc::clone(&client.runtime), Arc::downgrade(client));
        runtime.spawn(Box::pin(async move {
            let outcome = self.outcome_after(step, &client).await;
            self.finish(outcome);
        }));
    }

    /// The outcome of the call, step by step.
    async fn outcome_after(
        self: &Arc<Self>,
        mut step: Step,
        client: &Weak<ClientInner>,
    ) -> Result<RawJson, ClientError> {
        let mut call = self.repeatable.as_deref().map(ContinuedCall::of);
        loop {
            step = match (step, &mut call) {
                (Step::End(outcome), _) => return outcome,
                (Step::Check(check, result), _) => {
                    let (runtime, id) = {
                        let client = upgraded(client)?.inner;
                        (Arc::clone(&client.runtime), client.id)
                    };
                    return self.unless_cancelled(check.checked_in_turn(runtime, id, result)).await?;
                }
                (Step::FollowTask(task), Some(call)) => {
                    return self.follow_task(upgraded(client)?, call, &task).await;
                }
                (Step::AnswerInput(result), Some(call)) => {
                    self.answer_input(client, call, &result).await?;
                    self.sent_again(upgraded(client)?, call).await?
                }
                (Step::ListToolsAgain(error), Some(call)) => {
                    let client = upgraded(client)?;
                    call.repeated = true;
                    if !self.list_tools_again(&client).await? {
                        return Err(ClientError::Protocol(error));
                    }
                    self.sent_again(client, call).await?
                }
                (Step::AskForTask(error), Some(call)) => {
                    let client = upgraded(client)?;
                    self.ask_for_task(&client, call, error).await?;
                    self.sent_again(client, call).await?
                }
                // Only a call that can be repeated has further steps.
                (_, None) => return Err(ClientError::Closed),
            };
        }
    }

    /// Sends the next request, and decides what its response leads to.
    async fn sent_again(self: &Arc<Self>, client: Client, call: &ContinuedCall) -> Result<Step, ClientError> {
        let answer = client.send_again(self, &call.request).await?;
        Ok(self.next_step(&client.inner, Some(call), answer))
    }

    /// Rereads the list of tools for their mirrored parameters (H26-38). Returns `false` if there
    /// is none.
    async fn list_tools_again(&self, client: &Client) -> Result<bool, ClientError> {
        client.inner.cache.forget(method::TOOLS_LIST);
        let options = RequestOptions::default();
        Ok(self.unless_cancelled(client.list_all(method::TOOLS_LIST, None, &options)).await?.is_ok())
    }
}
