//! Handlers that return `InputRequired`: requests the input as the client's era does.

use super::{
    active_request::{ActiveRequest, Responder},
    mapper::ResultMapper,
};
use crate::{
    engine::RequestTimeout,
    protocol::{RawJson, RevisionFeature, RpcError},
    runtime::Promise,
    server::handlers::{Answer, ClientRequestError, InputRequest, InputRequired, both, check},
    wire_log::Transport,
};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// The answer to a request of a round.
type PendingAnswer = Arc<Promise<Result<Value, ClientRequestError>>>;

impl ActiveRequest {
    /// Requests the input of a handler as the client's era does.
    pub(super) fn require(
        self: &Arc<Self>,
        mapper: &Arc<dyn ResultMapper>,
        input: &RawJson,
        responder: Responder,
        InputRequired { requests, state: user }: InputRequired,
    ) -> bool {
        match self.check_requirement(requests, &user) {
            Err(error) => self.deliver(responder, Err(error)),
            Ok(requests) if self.info.revision.supports(RevisionFeature::InputRequired) && self.task().is_none() => {
                let result = self.input_required(&requests, user);
                self.deliver(responder, result)
            }
            Ok(requests) => {
                let gathered = gathered(self.ask_all(requests));
                let (context, mapper, input) = (Arc::clone(self), Arc::clone(mapper), input.clone());
                // In a task, because a handler that asks again immediately would otherwise run on
                // the stack of its own answer.
                self.connection.runtime().spawn(Box::pin(async move {
                    match gathered.await {
                        Ok(answers) => {
                            context.rounds().answered(answers, user);
                            context.run(mapper, input, responder);
                        }
                        Err(refusal) => drop(context.deliver(responder, Err(refusal))),
                    }
                }));
                true
            }
        }
    }

    fn check_requirement(
        &self,
        requests: IndexMap<String, InputRequest>,
        user: &Option<Value>,
    ) -> Result<IndexMap<String, InputRequest>, RpcError> {
        if !self.row.takes_input {
            tracing::error!(target: "trunkline::server::request", method = self.method, "a handler asked for input, which only tools, prompts and resources can");
            return Err(RpcError::internal());
        }
        if requests.is_empty() && user.is_none() {
            tracing::error!(target: "trunkline::server::request", method = self.method, "a handler required input, but set neither requests nor state");
            return Err(RpcError::internal());
        }
        self.rounds().begin(self.server().options().max_rounds)?;
        let (mut checked, mut refused) = (IndexMap::new(), None);
        for (key, request) in requests {
            match check(request, &self.info) {
                Ok(request) => drop(checked.insert(key, request)),
                Err(error) => refused = Some(both(refused, error)),
            }
        }
        refused.map_or(Ok(checked), Err)
    }

    /// The result of this round on 2026-07-28 (MRTR-02). It carries no caching hints (CCH-14).
    fn input_required(
        &self,
        requests: &IndexMap<String, InputRequest>,
        user: Option<Value>,
    ) -> Result<RawJson, RpcError> {
        let mut result = json!({"resultType": "input_required"});
        if !requests.is_empty() {
            let requests: Map<_, _> = requests.iter().map(|(key, request)| (key.clone(), request.to_json())).collect();
            result["inputRequests"] = requests.into();
        }
        let (sealer, contents) = (&self.services.sealer, self.rounds().contents(requests, user));
        if self.connection.setup.transport == Transport::Http {
            sealer.warn_of_random_key();
        }
        let state = sealer.seal(&contents, &self.binding(), self.server().options().state_lifetime)?;
        result["requestState"] = state.into();
        Ok(self.results().seal_object(result, self.info.revision))
    }

    /// In the legacy era: sends real requests on the call's stream, all at once.
    fn ask_all(self: &Arc<Self>, requests: IndexMap<String, InputRequest>) -> Vec<(String, PendingAnswer)> {
        let options = self.server().options();
        let timeout = RequestTimeout { timeout: options.input_timeout, max: options.input_timeout };
        let mut asked = Vec::with_capacity(requests.len());
        for (key, request) in requests {
            let promise = PendingAnswer::default();
            let answered = Arc::clone(&promise);
            let on_response = Box::new(move |answer| answered.keep(answer));
            let sent = match self.task() {
                Some(task) => task.ask(&key, request, timeout, on_response).map(drop),
                None => self.send_input_request(timeout, &request, on_response).map(drop),
            };
            if let Err(error) = sent {
                promise.keep(Err(error));
            }
            asked.push((key, promise));
        }
        asked
    }
}

/// Waits for all answers of a round. Fails if the client refuses a request: a handler that ignores
/// the refusal would ask again and again.
async fn gathered(asked: Vec<(String, PendingAnswer)>) -> Result<BTreeMap<String, Answer>, RpcError> {
    let mut answers = BTreeMap::new();
    for (key, answer) in asked {
        let answer = match answer.kept().await {
            Ok(value) => Answer::Given(value),
            Err(ClientRequestError::Invalid(problem)) => Answer::Unfit(problem),
            Err(error) => Answer::Refused(error.into_rpc()),
        };
        answers.insert(key, answer);
    }
    let refusal = |answer: &Answer| if let Answer::Refused(error) = answer { Some(error.clone()) } else { None };
    answers.values().find_map(refusal).map_or(Ok(answers), Err)
}
