//! Rounds of input: the host's handlers answer, and the call is repeated.

use crate::{
    client::{
        ClientCall, ClientError, InputRequired, InputResponses, client::upgraded, inner::ClientInner,
        server_requests::Unanswered, state::client_call::ContinuedCall,
    },
    protocol::{RawJson, input::check_received},
    race::{all, unless},
};
use serde_json::Value;
use std::sync::{Arc, Weak};

impl ClientCall {
    /// Runs the handlers of a round concurrently, and sends their answers with the next request of
    /// the call (MRTR-13).
    pub(in crate::client) async fn answer_input(
        &self,
        client: &Weak<ClientInner>,
        call: &mut ContinuedCall,
        result: &RawJson,
    ) -> Result<(), ClientError> {
        let inner = upgraded(client)?.inner;
        let required = InputRequired::read(inner.label.get(), result).map_err(ClientError::InvalidResponse)?;
        let limit = inner.options.max_input_rounds;
        if call.rounds >= limit {
            return Err(ClientError::TooManyRounds(limit));
        }
        check(&inner, None, &required)?;
        let now = inner.runtime.now();
        if let Some(trace) = &call.request.extras.trace {
            trace.note_answered(now);
        }
        call.rounds += 1;
        call.spent += now.saturating_duration_since(call.began);
        let responses = self.ask_host(inner, required).await?;
        call.next_round(&upgraded(client)?.inner, self, &responses)
    }

    /// The host's answers to the requests of a round.
    async fn ask_host(&self, inner: Arc<ClientInner>, required: InputRequired) -> Result<InputResponses, ClientError> {
        let answers =
            required.requests.values().map(|request| inner.host_answer(&request.method, request.params.clone(), None));
        let answers = all(answers.collect());
        let stop = inner.host.begin(None);
        inner.events.awaiting_user(true);
        let client = Arc::downgrade(&inner);
        drop(inner);
        let answers = self.unless_cancelled(unless(stop.kept(), answers)).await;
        let inner = upgraded(&client)?.inner;
        inner.host.done(&stop);
        inner.events.awaiting_user(false);
        let keys: Vec<_> = required.requests.keys().cloned().collect();
        match answers? {
            Some(Ok(answers)) => Ok(required.answer(keys.into_iter().zip(answers))),
            // A handler that has closed the client may fail just because of that.
            Some(Err(unanswered)) => Err(inner.check_open().err().unwrap_or_else(|| no_input(unanswered))),
            None => Err(inner.check_open().err().unwrap_or(ClientError::Cancelled)),
        }
    }
}

impl ContinuedCall {
    fn next_round(
        &mut self,
        client: &ClientInner,
        call: &ClientCall,
        responses: &InputResponses,
    ) -> Result<(), ClientError> {
        let Some(first) = call.repeatable.as_ref().map(|call| &call.request) else { return Ok(()) };
        let params = responses.with_params(first.params.as_ref());
        self.request.params = Some(params.map_err(ClientError::unwritable)?);
        let times = client.request_timeout(&first.options);
        let left = times.max.saturating_sub(self.spent);
        if left.is_zero() {
            return Err(ClientError::Timeout(format!(
                "The input rounds of {} did not finish within {:?}",
                call.method, times.max
            )));
        }
        self.request.options = first.options.clone().with_timeout(times.timeout.min(left)).with_max_timeout(left);
        self.began = client.runtime.now();
        Ok(())
    }
}

/// Fails the call if a request is undeclared, unknown or malformed, from the point of view of the
/// client or the one on whose behalf it calls.
pub(in crate::client) fn check(
    client: &ClientInner,
    of_other: Option<&RawJson>,
    required: &InputRequired,
) -> Result<(), ClientError> {
    let conversation = client.conversation.lock();
    let Some(revision) = conversation.revision() else { return Err(ClientError::Closed) };
    let capabilities: Value = of_other.unwrap_or_else(|| conversation.capabilities()).parse().unwrap_or_default();
    drop(conversation);
    for (key, request) in &required.requests {
        let params: Value = request.params.parse().unwrap_or_default();
        check_received(&request.method, &params, &capabilities, revision).map_err(|error| {
            ClientError::InvalidResponse(format!("the request for input {key:?} is invalid: {}", error.message))
        })?;
    }
    Ok(())
}

pub(in crate::client) fn no_input(unanswered: Unanswered) -> ClientError {
    match unanswered {
        Unanswered::Failed(error) => ClientError::NoInput(error.message),
        Unanswered::Invalid(problem) => ClientError::NoInput(problem),
        Unanswered::TimedOut => {
            ClientError::Timeout("The host did not provide the input that the server needs in time".to_owned())
        }
    }
}
