//! Calls that their server answers by requests for input: the host's handlers answer, and the call
//! is made again.

use super::{
    client::Client,
    error::ClientError,
    flight::{Flight, InFlight},
    host::Run,
    inner::ClientInner,
    input_required::{InputRequired, InputResponses},
    options::RequestOptions,
    reply::ReplyTo,
    server_requests::Unanswered,
};
use crate::{
    engine::RequestExtras,
    protocol::{RawJson, input::check_received},
    race::{all, unless},
    runtime::Promise,
};
use serde_json::Value;
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// Gets the answer of a call first, until one is a result.
pub(super) struct ClientRounds {
    pub(super) client: Weak<ClientInner>,
    pub(super) call: Arc<RepeatedCall>,
    pub(super) reply: Arc<dyn ReplyTo>,
    pub(super) flight: InFlight,
    /// Number of rounds before.
    pub(super) round: usize,
    /// The time that the server has taken for them.
    pub(super) spent: Duration,
    /// When this round began.
    pub(super) began: Instant,
}

/// A call as the program made it (MRTR-17).
#[derive(Clone)]
pub(super) struct RepeatedCall {
    pub(super) method: String,
    pub(super) params: Option<RawJson>,
    pub(super) options: RequestOptions,
    pub(super) extras: RequestExtras,
}

impl ReplyTo for ClientRounds {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        self.reply.answered(outcome);
    }

    fn progress(&self, params: RawJson) {
        self.reply.progress(params);
    }

    fn task_created(&self, result: RawJson) {
        self.reply.task_created(result);
    }

    fn input_required(&self, result: RawJson) {
        let Some(client) = self.client.upgrade() else { return self.reply.answered(Err(ClientError::Closed)) };
        if let Err(error) = self.next(client, &result) {
            self.reply.answered(Err(error));
        }
    }
}

impl ClientRounds {
    /// Starts the handlers of a round; an error ends the call.
    fn next(&self, client: Arc<ClientInner>, result: &RawJson) -> Result<(), ClientError> {
        let required = InputRequired::read(result).map_err(ClientError::InvalidResponse)?;
        if self.call.options.is_manual() {
            return Err(ClientError::InputRequired(Box::new(required)));
        }
        let limit = client.options.max_input_rounds;
        if self.round >= limit {
            return Err(ClientError::TooManyRounds(limit));
        }
        check(&client, None, &required)?;
        let now = client.runtime.now();
        if let Some(trace) = &self.call.extras.trace {
            trace.note_answered(now);
        }
        let following = Self {
            client: Weak::clone(&self.client),
            call: Arc::clone(&self.call),
            reply: Arc::clone(&self.reply),
            flight: self.flight.clone(),
            round: self.round + 1,
            spent: self.spent + now.saturating_duration_since(self.began),
            began: now,
        };
        let run = client.host.next_round();
        let stop = client.host.begin(run.clone());
        {
            let mut flight = self.flight.0.lock();
            if matches!(*flight, Flight::Cancelled) {
                client.host.done(&run);
                return Err(ClientError::Cancelled);
            }
            *flight = Flight::Walking(Arc::clone(&stop));
        }
        let runtime = Arc::clone(&client.runtime);
        runtime.spawn(Box::pin(async move { following.gather(client, required, run, &stop).await }));
        Ok(())
    }

    /// Runs the handlers, all at once, and makes the call again with their answers (MRTR-13).
    async fn gather(self, client: Arc<ClientInner>, required: InputRequired, run: Run, stop: &Promise<()>) {
        let answers =
            required.requests.values().map(|request| client.host_answer(&request.method, request.params.clone(), None));
        let answers = all(answers.collect());
        client.events.asking(true);
        let weak = Arc::downgrade(&client);
        // A client that nobody holds any more is not kept by a user who is thinking.
        drop(client);
        let answers = unless(stop.kept(), answers).await;
        let Some(inner) = weak.upgrade() else { return self.reply.answered(Err(ClientError::Closed)) };
        inner.host.done(&run);
        inner.events.asking(false);
        let keys: Vec<_> = required.requests.keys().cloned().collect();
        let responses = match answers {
            Some(Ok(answers)) => required.answer(keys.into_iter().zip(answers)),
            Some(Err(unanswered)) => return self.reply.answered(Err(no_input(unanswered))),
            None => {
                let error = inner.check_open().err().unwrap_or(ClientError::Cancelled);
                return self.reply.answered(Err(error));
            }
        };
        let reply = Arc::clone(&self.reply);
        if let Err(error) = self.call_again(&Client { inner }, &responses) {
            reply.answered(Err(error));
        }
    }

    fn call_again(mut self, client: &Client, responses: &InputResponses) -> Result<(), ClientError> {
        let call = Arc::clone(&self.call);
        let RepeatedCall { method, params, options, extras } = &*call;
        let params = responses.with_params(params.as_ref()).map_err(|error| ClientError::Invalid(error.to_string()))?;
        let max = client.inner.request_timeout(options).max;
        let left = max.saturating_sub(self.spent);
        if left.is_zero() {
            return Err(ClientError::Timeout(format!(
                "The rounds of {method} did not come to their end within {max:?}"
            )));
        }
        let timeout = client.inner.request_timeout(options).timeout.min(left);
        let options = options.clone().with_timeout(timeout).with_max_timeout(left);
        self.began = client.inner.runtime.now();
        let (flight, extras) = (self.flight.clone(), extras.clone());
        client.send_noting(&flight, method, Some(&params), &options, extras, Arc::new(self), true)
    }
}

/// Requests that the client, or the one for whom it calls, did not declare, does not know or cannot
/// read fail the call.
pub(super) fn check(
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
            ClientError::InvalidResponse(format!("its request for input {key:?} is refused: {}", error.message))
        })?;
    }
    Ok(())
}

pub(super) fn no_input(unanswered: Unanswered) -> ClientError {
    match unanswered {
        Unanswered::Failed(error) => ClientError::NoInput(error.message),
        Unanswered::Invalid(problem) => ClientError::NoInput(problem),
        Unanswered::TimedOut => {
            ClientError::Timeout("The host did not give the input that the server needs in time".to_owned())
        }
    }
}
