//! The rounds of a request that needs input of the client: what was answered, what is kept, and what is asked next.
//!
//! On 2026-07-28 each round is a request of its own, and everything between the rounds travels in the sealed `requestState`. In
//! the handshake era the client's request stays open, and the same is kept here.

use super::{
    asking::AskError,
    call::CallInner,
    input::{self, InputRequest},
    serving::{Serving, Sink},
    state::Contents,
};
use crate::{
    engine::Patience,
    protocol::{Feature, RawJson, RpcError, error::code},
    sync::Mutex,
};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use std::{collections::BTreeMap, sync::Arc};

/// What a client said to a request for input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    #[serde(rename = "g")]
    Given(Value),
    /// It does not match what was asked; says where (ELI-11).
    #[serde(rename = "u")]
    Unfit(String),
    /// Only the handshake era has refusals; a modern client simply never comes back.
    #[serde(rename = "r")]
    Refused(RpcError),
}

/// The rounds of one request so far.
#[derive(Default)]
pub(super) struct Rounds {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many rounds of input there were.
    round: u32,
    /// The answers of this round, to what the one before asked for.
    fresh: BTreeMap<String, Answer>,
    /// What a first round brought unasked: answers for who asks, which checks them, and not to be handed on.
    unasked: BTreeMap<String, Value>,
    /// Answers that the handler has asked for; they are carried to later rounds.
    used: BTreeMap<String, Answer>,
    kept: BTreeMap<String, Value>,
    user: Option<Value>,
    noted: BTreeMap<String, InputRequest>,
}

impl Rounds {
    /// Takes up what an earlier round left: the answers and the sealed state in the parameters (MRTR-05).
    pub(super) fn resume(&self, serving: &Serving) -> Result<(), RpcError> {
        let Some(params) = &serving.params else { return Ok(()) };
        if !serving.takes_input || !serving.scope.revision.supports(Feature::InputRequired) || !mentions_rounds(params)
        {
            return Ok(());
        }
        #[derive(Deserialize)]
        struct Retry<'a> {
            #[serde(borrow, rename = "inputResponses")]
            responses: Option<&'a RawValue>,
            #[serde(rename = "requestState")]
            state: Option<Value>,
        }
        let wrong = |text: &str| RpcError::invalid_params(format!("{}: {text}", serving.method));
        let retry: Retry<'_> = params.parse().map_err(|_| wrong("the parameters cannot be read"))?;
        let mut state = self.state.lock();
        let mut asked = None;
        match retry.state {
            None => {}
            Some(Value::String(sealed)) => {
                let contents = serving.server().sealer().open(&sealed, serving)?;
                state.round = contents.round;
                state.used = contents.answers;
                state.kept = contents.kept;
                state.user = contents.user;
                asked = Some(contents.asked);
            }
            Some(_) => return Err(wrong("requestState must be a string")),
        }
        if let Some(responses) = retry.responses {
            // MRTR-12: what is malformed is an error; what nobody asked for does not matter (MRTR-11).
            let responses: BTreeMap<String, Value> =
                serde_json::from_str(responses.get()).map_err(|_| wrong("inputResponses must be an object"))?;
            if let Some((key, _)) = responses.iter().find(|(_, response)| !response.is_object()) {
                return Err(wrong(&format!("inputResponses.{key} must be an object")));
            }
            match asked {
                None => state.unasked = responses,
                Some(asked) => {
                    let answer = |(key, response)| Some((asked.get(&key)?.answer(response)?, key));
                    state.fresh = responses.into_iter().filter_map(answer).map(|(answer, key)| (key, answer)).collect();
                }
            }
        }
        Ok(())
    }

    /// The answer to a question. What was used is sealed into later rounds, and no client can change it there (MRTR-05).
    pub(super) fn answer(&self, key: &str) -> Option<Answer> {
        let mut state = self.state.lock();
        if !state.used.contains_key(key) {
            let unasked = state.unasked.get(key).cloned().map(Answer::Given);
            if let Some(answer) = state.fresh.get(key).cloned().or(unasked) {
                state.used.insert(key.to_owned(), answer);
            }
        }
        state.used.get(key).cloned()
    }

    /// An answer is no use: the question is asked again.
    pub(super) fn forget(&self, key: &str) {
        let mut state = self.state.lock();
        state.fresh.remove(key);
        state.unasked.remove(key);
        state.used.remove(key);
    }

    pub(super) fn note(&self, key: String, request: InputRequest) {
        self.state.lock().noted.insert(key, request);
    }

    pub(super) fn take_noted(&self) -> Option<BTreeMap<String, InputRequest>> {
        let mut state = self.state.lock();
        (!state.noted.is_empty()).then(|| std::mem::take(&mut state.noted))
    }

    /// The answers of this round that can be used.
    pub(super) fn responses(&self) -> BTreeMap<String, Value> {
        self.of_fresh(|answer| match answer {
            Answer::Given(value) => Some(value.clone()),
            Answer::Unfit(_) | Answer::Refused(_) => None,
        })
    }

    /// What is wrong with the other answers of this round.
    pub(super) fn problems(&self) -> BTreeMap<String, String> {
        self.of_fresh(|answer| match answer {
            Answer::Unfit(problem) => Some(problem.clone()),
            Answer::Given(_) | Answer::Refused(_) => None,
        })
    }

    fn of_fresh<T>(&self, pick: impl Fn(&Answer) -> Option<T>) -> BTreeMap<String, T> {
        self.state.lock().fresh.iter().filter_map(|(key, answer)| Some((key.clone(), pick(answer)?))).collect()
    }

    pub(super) fn user_state(&self) -> Option<Value> {
        self.state.lock().user.clone()
    }

    pub(super) fn kept(&self, name: &str) -> Option<Value> {
        self.state.lock().kept.get(name).cloned()
    }

    pub(super) fn all_kept(&self) -> BTreeMap<String, Value> {
        self.state.lock().kept.clone()
    }

    pub(super) fn keep(&self, name: &str, value: Value) {
        self.state.lock().kept.insert(name.to_owned(), value);
    }

    /// Begins another round. What its number is, unless there were too many.
    fn begin(&self, limit: u32) -> Result<(), RpcError> {
        let mut state = self.state.lock();
        if state.round >= limit {
            return Err(RpcError::new(
                code::INTERNAL_ERROR,
                format!("The request asked for input in {limit} rounds and is not done; that is the limit"),
            ));
        }
        state.round += 1;
        Ok(())
    }

    /// What the next round has to know.
    fn contents(&self, requests: &BTreeMap<String, InputRequest>, user: Option<Value>) -> Contents {
        let state = self.state.lock();
        let asked = requests.iter().map(|(key, request)| (key.clone(), request.question())).collect();
        Contents { round: state.round, asked, answers: state.used.clone(), kept: state.kept.clone(), user }
    }

    /// In the handshake era: the answers of a round came.
    fn answered(&self, answers: BTreeMap<String, Answer>, user: Option<Value>) {
        let mut state = self.state.lock();
        state.fresh = answers;
        state.user = user;
    }
}

/// Most requests are first rounds; they are not parsed once more for it.
fn mentions_rounds(params: &RawJson) -> bool {
    let text = params.as_bytes();
    memmem::find(text, b"\"inputResponses\"").is_some() || memmem::find(text, b"\"requestState\"").is_some()
}

impl Serving {
    /// The handler needs input: asks the client in the way of its era.
    pub(super) fn require(
        self: &Arc<Self>,
        call: &Arc<CallInner>,
        input: RawJson,
        sink: Sink,
        requests: BTreeMap<String, InputRequest>,
        user: Option<Value>,
    ) -> bool {
        match self.check_requirement(requests, &user) {
            Err(error) => self.deliver(sink, Err(error)),
            Ok(requests) if self.scope.revision.supports(Feature::InputRequired) && self.task().is_none() => {
                let result = self.input_required(&requests, user);
                self.deliver(sink, result)
            }
            Ok(requests) => {
                self.ask_all(call, input, sink, requests, user);
                true
            }
        }
    }

    fn check_requirement(
        &self,
        requests: BTreeMap<String, InputRequest>,
        user: &Option<Value>,
    ) -> Result<BTreeMap<String, InputRequest>, RpcError> {
        if !self.takes_input {
            tracing::error!(target: "trunkline", "a handler of {} asked for input, which only tools, prompts and resources can", self.method);
            return Err(RpcError::internal());
        }
        if requests.is_empty() && user.is_none() {
            tracing::error!(target: "trunkline", "a handler of {} required input, but named neither requests nor state", self.method);
            return Err(RpcError::internal());
        }
        self.rounds.begin(self.server().options().max_rounds)?;
        let (mut checked, mut refused) = (BTreeMap::new(), None);
        for (key, request) in requests {
            match input::check(request, &self.scope) {
                Ok(request) => drop(checked.insert(key, request)),
                Err(input::Refused { error }) => refused = Some(input::both(refused, error)),
            }
        }
        refused.map_or(Ok(checked), Err)
    }

    /// The result of this round on 2026-07-28 (MRTR-02). It carries no caching hints (CCH-14).
    fn input_required(
        &self,
        requests: &BTreeMap<String, InputRequest>,
        user: Option<Value>,
    ) -> Result<RawJson, RpcError> {
        let mut result = json!({"resultType": "input_required"});
        if !requests.is_empty() {
            let requests: Map<_, _> = requests.iter().map(|(key, request)| (key.clone(), request.to_json())).collect();
            result["inputRequests"] = requests.into();
        }
        result["requestState"] = self.server().sealer().seal(&self.rounds.contents(requests, user), self)?.into();
        Ok(self.server().seal_object(result, self.scope.revision))
    }

    /// In the handshake era: real requests on the call's stream, all at once, and the handler again when all are answered.
    fn ask_all(
        self: &Arc<Self>,
        call: &Arc<CallInner>,
        input: RawJson,
        sink: Sink,
        requests: BTreeMap<String, InputRequest>,
        user: Option<Value>,
    ) {
        let gathering = Arc::new(Gathering {
            serving: Arc::clone(self),
            call: Arc::clone(call),
            state: Mutex::new(Gathered {
                missing: requests.len() + 1,
                answers: BTreeMap::new(),
                waiting: Some(Waiting { input, sink, user }),
            }),
        });
        let options = self.server().options();
        let patience = Patience { timeout: options.input_timeout, max: options.input_timeout };
        for (key, request) in requests {
            let gathering = Arc::clone(&gathering);
            let kept = Arc::clone(&gathering);
            let name = key.clone();
            let asked = Box::new(move |answer| gathering.take(key, answer));
            if let Err(error) = self.ask_one(&name, patience, request, asked) {
                kept.take(name, Err(error));
            }
        }
        gathering.one_less();
    }
}

impl Serving {
    fn ask_one(
        self: &Arc<Self>,
        key: &str,
        patience: Patience,
        request: InputRequest,
        asked: Box<dyn FnOnce(Result<Value, AskError>) + Send>,
    ) -> Result<(), AskError> {
        match self.task() {
            Some(task) => task.ask(key, request, patience, asked).map(drop),
            None => self.connection.ask_input(self, patience, &request, asked).map(drop),
        }
    }
}

/// Collects the answers of one round.
struct Gathering {
    serving: Arc<Serving>,
    call: Arc<CallInner>,
    state: Mutex<Gathered>,
}

struct Gathered {
    /// How many answers are missing, and one more until all questions are sent.
    missing: usize,
    answers: BTreeMap<String, Answer>,
    waiting: Option<Waiting>,
}

/// What the handler is called again with.
struct Waiting {
    input: RawJson,
    sink: Sink,
    user: Option<Value>,
}

impl Gathering {
    fn take(self: &Arc<Self>, key: String, answer: Result<Value, AskError>) {
        let answer = match answer {
            Ok(value) => Answer::Given(value),
            Err(AskError::Invalid(problem)) => Answer::Unfit(problem),
            Err(error) => Answer::Refused(error.into_rpc()),
        };
        self.state.lock().answers.insert(key, answer);
        self.one_less();
    }

    fn one_less(self: &Arc<Self>) {
        let complete = {
            let mut state = self.state.lock();
            state.missing -= 1;
            if state.missing > 0 {
                return;
            }
            state.waiting.take().map(|waiting| (std::mem::take(&mut state.answers), waiting))
        };
        let Some((answers, Waiting { input, sink, user })) = complete else { return };
        // A refusal that nobody may look at would be asked for again and again.
        let refused = answers.values().find_map(|answer| match answer {
            Answer::Refused(error) => Some(error.clone()),
            Answer::Given(_) | Answer::Unfit(_) => None,
        });
        if let Some(error) = refused {
            self.serving.deliver(sink, Err(error));
            return;
        }
        self.serving.rounds.answered(answers, user);
        let serving = Arc::clone(&self.serving);
        let target = Arc::clone(&self.call.target);
        // A handler that asks again at once would otherwise run on the stack of its own answer.
        let task = async move { serving.run(target, input, sink) };
        self.serving.connection.runtime().spawn(Box::pin(task));
    }
}
