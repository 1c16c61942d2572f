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
                self.ask_all(mapper, requests, NextInput { input: input.clone(), responder, user });
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

    /// In the legacy era: sends real requests on the call's stream, all at once, and calls the
    /// handler again when all are answered.
    fn ask_all(
        self: &Arc<Self>,
        mapper: &Arc<dyn ResultMapper>,
        requests: IndexMap<String, InputRequest>,
        next: NextInput,
    ) {
        let options = self.server().options();
        let timeout = RequestTimeout { timeout: options.input_timeout, max: options.input_timeout };
        let mut asked = Vec::with_capacity(requests.len());
        for (key, request) in requests {
            let promise = Arc::<Promise<Result<Value, ClientRequestError>>>::default();
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
        let (context, mapper) = (Arc::clone(self), Arc::clone(mapper));
        // In a task, because a handler that asks again immediately would otherwise run on the stack
        // of its own answer.
        self.connection.runtime().spawn(Box::pin(async move {
            let mut answers = BTreeMap::new();
            for (key, promise) in asked {
                let answer = match promise.kept().await {
                    Ok(value) => Answer::Given(value),
                    Err(ClientRequestError::Invalid(problem)) => Answer::Unfit(problem),
                    Err(error) => Answer::Refused(error.into_rpc()),
                };
                answers.insert(key, answer);
            }
            let NextInput { input, responder, user } = next;
            // If the handler ignores a refusal, it would be asked for again and again.
            let is_refused = |answer: &&Answer| matches!(answer, Answer::Refused(_));
            if let Some(Answer::Refused(error)) = answers.values().find(is_refused) {
                context.deliver(responder, Err(error.clone()));
                return;
            }
            context.rounds().answered(answers, user);
            context.run(mapper, input, responder);
        }));
    }
}

/// What the next run of the handler needs.
struct NextInput {
    input: RawJson,
    responder: Responder,
    user: Option<Value>,
}
