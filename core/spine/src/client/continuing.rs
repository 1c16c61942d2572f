//! The steps of a call after its first response: its end, or another request (for a round of input,
//! after rereading the tools list, or for a task).

use super::{
    Client, ClientCall, ClientError, RequestOptions,
    client::upgraded,
    inner::ClientInner,
    state::{
        client_call::{Awaited, CheckableAnswer, ContinuedCall, ServerAnswer},
        result_schema::ResultCheck,
        task_wish::{TaskWish, needs_task},
    },
};
use crate::protocol::{RawJson, error::code, method};
use std::sync::{Arc, Weak};

impl Awaited {
    /// Handles the response. If it ends the call, the call ends immediately; otherwise it continues
    /// in a task.
    pub(in crate::client) fn answered(self, client: &Arc<ClientInner>, answer: ServerAnswer) {
        let Self { call, check, again } = self;
        if let Some(again) = again {
            return again.keep((answer, check));
        }
        if call.goes_on(client, &answer, check.as_ref()) {
            return call.go_on(client, (answer, check));
        }
        let outcome = call.outcome_of(answer).and_then(|result| match check {
            Some(check) => check.schema.checked(result),
            None => Ok(result),
        });
        if let Some(slot) = &call.slot {
            match &outcome {
                Ok(result) => client.cache.keep(slot, result, client.auth_context(), client.runtime.now()),
                Err(error) => client.cache.refused(slot, error),
            }
        }
        call.finish(outcome);
    }
}

impl ClientCall {
    /// Returns whether the call continues after its first response.
    fn goes_on(&self, client: &ClientInner, answer: &ServerAnswer, check: Option<&ResultCheck>) -> bool {
        let task = self.repeatable.as_ref().and_then(|repeatable| repeatable.task.as_ref());
        match answer {
            ServerAnswer::Outcome(Ok(result)) => {
                check.is_some_and(|check| check.schema.is_costly(result)) || task.is_some_and(TaskWish::asks_by_params)
            }
            ServerAnswer::Outcome(Err(ClientError::Protocol(error))) if self.repeatable.is_some() => {
                (error.code == code::HEADER_MISMATCH && self.mirrors(client))
                    || task.is_some_and(|task| !task.as_task && needs_task(task.form, error))
            }
            ServerAnswer::Outcome(Err(_)) => false,
            ServerAnswer::InputRequired(_) => {
                self.repeatable.as_ref().is_some_and(|it| !it.request.options.is_manual())
            }
            ServerAnswer::Task(_) => task.is_some(),
        }
    }

    /// Returns whether arguments of its tool are mirrored in headers.
    fn mirrors(&self, client: &ClientInner) -> bool {
        &*self.method == method::TOOLS_CALL && client.mirrors(client.revision())
    }

    /// Continues in a task, which holds the client only while a request is in flight. So a client
    /// that has been dropped is not kept alive while a user is thinking.
    fn go_on(self: Arc<Self>, client: &Arc<ClientInner>, first: CheckableAnswer) {
        let (runtime, client) = (Arc::clone(&client.runtime), Arc::downgrade(client));
        runtime.spawn(Box::pin(async move {
            let outcome = self.outcome_after(first, &client).await;
            self.finish(outcome);
        }));
    }

    /// The outcome of the call, request by request.
    async fn outcome_after(
        self: &Arc<Self>,
        (mut answer, mut check): CheckableAnswer,
        client: &Weak<ClientInner>,
    ) -> Result<RawJson, ClientError> {
        let mut call = self.repeatable.as_deref().map(ContinuedCall::of);
        let mirrors = client.upgrade().is_some_and(|client| self.mirrors(&client));
        loop {
            (answer, check) = match (answer, &mut call) {
                (ServerAnswer::InputRequired(result), Some(call)) if !call.request.options.is_manual() => {
                    self.answer_input(client, call, &result).await?;
                    upgraded(client)?.send_again(self, &call.request).await?
                }
                (ServerAnswer::Task(task), Some(call)) => {
                    return self.follow_task(upgraded(client)?, call, &task).await;
                }
                (ServerAnswer::Outcome(Err(ClientError::Protocol(error))), Some(call))
                    if error.code == code::HEADER_MISMATCH && mirrors && !call.repeated =>
                {
                    let client = upgraded(client)?;
                    call.repeated = true;
                    if !self.list_tools_again(&client).await? {
                        return Err(ClientError::Protocol(error));
                    }
                    client.send_again(self, &call.request).await?
                }
                (ServerAnswer::Outcome(Err(ClientError::Protocol(error))), Some(call))
                    if !call.as_task && self.task_form().is_some_and(|form| needs_task(form, &error)) =>
                {
                    let client = upgraded(client)?;
                    self.ask_for_task(&client, call, error).await?;
                    client.send_again(self, &call.request).await?
                }
                (ServerAnswer::Outcome(Ok(result)), Some(call)) if self.is_core_task(call, &result) => {
                    return self.follow_task(upgraded(client)?, call, &result).await;
                }
                (ServerAnswer::Outcome(Ok(result)), _) => {
                    let Some(check) = check else { return Ok(result) };
                    let (runtime, id) = {
                        let client = upgraded(client)?.inner;
                        (Arc::clone(&client.runtime), client.id)
                    };
                    return self.unless_cancelled(check.checked_in_turn(runtime, id, result)).await?;
                }
                (answer, _) => return self.outcome_of(answer),
            };
        }
    }

    /// Rereads the list of tools for their mirrored parameters (H26-38). Returns `false` if there
    /// is none.
    async fn list_tools_again(&self, client: &Client) -> Result<bool, ClientError> {
        client.inner.cache.forget(method::TOOLS_LIST);
        let options = RequestOptions::default();
        Ok(self.unless_cancelled(client.list_all(method::TOOLS_LIST, None, &options)).await?.is_ok())
    }
}
