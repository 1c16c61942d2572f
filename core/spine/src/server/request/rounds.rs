//! Multi round-trip requests: answers so far, values that handlers kept, and the requests of the
//! next round.
//!
//! On 2026-07-28, each round is a separate request, and everything in between is in the sealed
//! `requestState`. In the legacy era, the client's request stays open, and the state is kept here.

use super::{
    request_state::{Binding, SealedState, Sealer, StateContents, digest_of_json},
    resumptions::{ResumedState, Resumption},
};
use crate::{
    protocol::{RawJson, RpcError, error::code},
    server::handlers::{Answer, HandlerRounds, InputRequest},
    sync::Mutex,
};
use indexmap::IndexMap;
use memchr::memmem;
use once_cell::race::OnceBox;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{MutexGuard, OnceLock},
    time::Duration,
};

/// The rounds of one request so far.
#[derive(Default)]
pub(super) struct RequestRounds {
    /// Created on demand, because most requests have a single round.
    state: OnceLock<Box<Mutex<RoundsState>>>,
}

#[derive(Default)]
struct RoundsState {
    /// State for later rounds: the number of rounds of input, the answers that the handler has
    /// used, and the keys of its requests, with digests of those to which it gave none.
    carried: StateContents,
    /// Answers of this round, to the requests of the previous one.
    fresh: BTreeMap<String, Answer>,
    /// Input responses sent without a prior request. Validated when first used; never sealed into
    /// the state.
    unasked: BTreeMap<String, Value>,
    noted: IndexMap<String, InputRequest>,
    /// Holds the sealed state that the request resumes.
    resumption: Option<Resumption>,
}

impl RequestRounds {
    fn state(&self) -> MutexGuard<'_, RoundsState> {
        self.state.get_or_init(Box::default).lock()
    }

    /// Resumes an earlier round from the answers and the sealed state in the parameters (MRTR-05).
    /// Returns the state to hold, if there is one.
    pub(super) fn resume<'a>(
        &self,
        params: &RawJson,
        sealer: &Sealer,
        binding: impl FnOnce() -> Binding<'a>,
    ) -> Result<Option<ResumedState>, RpcError> {
        if !mentions_rounds(params) {
            return Ok(None);
        }
        let binding = binding();
        #[derive(Deserialize)]
        struct Retry<'a> {
            #[serde(borrow, rename = "inputResponses")]
            responses: Option<&'a RawValue>,
            #[serde(rename = "requestState")]
            state: Option<Value>,
        }
        let wrong = |text: &str| RpcError::invalid_params(format!("{}: {text}", binding.method));
        let retry: Retry<'_> = params.parse().map_err(|_| wrong("the parameters cannot be read"))?;
        let mut state = self.state();
        let (mut requested, mut resumed) = (None, None);
        match retry.state {
            None => {}
            Some(Value::String(sealed)) => {
                let SealedState { id, expires, contents, .. } = sealer.open(&sealed, &binding)?;
                state.carried = contents;
                requested = Some(std::mem::take(&mut state.carried.requested));
                let expires = Duration::from_millis(expires);
                resumed = Some(ResumedState { principal: binding.principal, id, expires });
            }
            Some(_) => return Err(wrong("requestState must be a string")),
        }
        if let Some(responses) = retry.responses {
            // MRTR-12: malformed responses are an error; unsolicited ones are ignored (MRTR-11).
            let responses: BTreeMap<String, Value> =
                serde_json::from_str(responses.get()).map_err(|_| wrong("inputResponses must be an object"))?;
            if let Some((key, _)) = responses.iter().find(|(_, response)| !response.is_object()) {
                return Err(wrong(&format!("inputResponses.{key} must be an object")));
            }
            match requested {
                None => state.unasked = responses,
                Some(requested) => {
                    let answer = |(key, response)| Some((requested.get(&key)?.answer(response)?, key));
                    state.fresh = responses.into_iter().filter_map(answer).map(|(answer, key)| (key, answer)).collect();
                }
            }
        }
        Ok(resumed)
    }

    /// Holds the state, and restores the values that were kept since it was sealed.
    pub(super) fn hold(&self, resumption: Resumption, kept: BTreeMap<String, Value>) {
        let mut state = self.state();
        state.carried.kept.extend(kept);
        state.resumption = Some(resumption);
    }

    /// Releases the resumed state, so that another request may use it.
    pub(super) fn end(&self) {
        let resumption = self.state.get().and_then(|state| state.lock().resumption.take());
        drop(resumption);
    }

    /// The key of a request that its handler gives none: that of the same request in an earlier
    /// run, or a new one, which begins with `prefix`.
    pub(super) fn key_of(&self, request: &InputRequest, prefix: &str, used: &BTreeSet<String>) -> String {
        let digest = digest_of_json(&request.to_json().to_string());
        let mut state = self.state();
        let earlier =
            |(key, of): &(&String, &String)| **of == digest && key.starts_with(prefix) && !used.contains(*key);
        // The first of several equal requests has the lowest number.
        if let Some((key, _)) = state.carried.digests.iter().filter(earlier).min_by_key(|(key, _)| (key.len(), *key)) {
            return key.clone();
        }
        let mut keys = (1..).map(|number: u32| format!("{prefix}{number}"));
        let is_new = |key: &String| !state.carried.digests.contains_key(key) && !used.contains(key);
        let key = keys.find(is_new).unwrap_or_default();
        state.carried.digests.insert(key.clone(), digest);
        key
    }

    /// Records that the handler gave a request this key.
    pub(super) fn chose(&self, key: &str) {
        self.state().carried.digests.entry(key.to_owned()).or_default();
    }

    /// The answer to a request. A used answer is sealed into the state, where the client cannot
    /// change it (MRTR-05).
    pub(super) fn answer(&self, key: &str) -> Option<Answer> {
        let mut state = self.state();
        if !state.carried.answers.contains_key(key) {
            let unasked = state.unasked.get(key).cloned().map(Answer::Given);
            if let Some(answer) = state.fresh.get(key).cloned().or(unasked) {
                state.carried.answers.insert(key.to_owned(), answer);
            }
        }
        state.carried.answers.get(key).cloned()
    }

    /// Drops an unusable answer, so that its request is sent again.
    pub(super) fn forget(&self, key: &str) {
        let mut state = self.state();
        state.fresh.remove(key);
        state.unasked.remove(key);
        state.carried.answers.remove(key);
    }

    pub(super) fn note(&self, key: String, request: InputRequest) {
        self.state().noted.insert(key, request);
    }

    pub(super) fn take_noted(&self) -> Option<IndexMap<String, InputRequest>> {
        let mut state = self.state.get()?.lock();
        (!state.noted.is_empty()).then(|| std::mem::take(&mut state.noted))
    }

    fn of_fresh<T>(&self, pick: impl Fn(&Answer) -> Option<T>) -> BTreeMap<String, T> {
        self.state().fresh.iter().filter_map(|(key, answer)| Some((key.clone(), pick(answer)?))).collect()
    }

    /// Starts another round, unless there have been too many.
    pub(super) fn begin(&self, limit: u32) -> Result<(), RpcError> {
        let mut state = self.state();
        if state.carried.round >= limit {
            return Err(RpcError::new(
                code::INTERNAL_ERROR,
                format!("The request is not done after {limit} rounds of input, the limit"),
            ));
        }
        state.carried.round += 1;
        Ok(())
    }

    /// The state for the next round.
    pub(super) fn contents(&self, requests: &IndexMap<String, InputRequest>, user: Option<Value>) -> StateContents {
        let state = self.state();
        let requested = requests.iter().map(|(key, request)| (key.clone(), request.sealed())).collect();
        let mut contents = StateContents { requested, user, ..state.carried.clone() };
        contents.answers.extend(state.unused());
        let StateContents { answers, digests, .. } = &mut contents;
        digests.retain(|key, _| requests.contains_key(key) || answers.contains_key(key));
        contents
    }

    /// In the legacy era: records the answers of a round.
    pub(super) fn answered(&self, answers: BTreeMap<String, Answer>, user: Option<Value>) {
        let mut state = self.state();
        let unused: Vec<_> = state.unused().collect();
        state.carried.answers.extend(unused);
        state.fresh = answers;
        state.carried.user = user;
    }
}

impl RoundsState {
    /// Answers to requests that this run has not come to, because it made others first. Those that
    /// a handler returned as `InputRequired` are not among them: it gets these answers once.
    fn unused(&self) -> impl Iterator<Item = (String, Answer)> {
        let StateContents { answers, digests, .. } = &self.carried;
        let unused = move |(key, _): &(&String, &Answer)| digests.contains_key(*key) && !answers.contains_key(*key);
        self.fresh.iter().filter(unused).map(|(key, answer)| (key.clone(), answer.clone()))
    }
}

impl HandlerRounds for RequestRounds {
    fn responses(&self) -> BTreeMap<String, Value> {
        self.of_fresh(|answer| if let Answer::Given(value) = answer { Some(value.clone()) } else { None })
    }

    fn unasked(&self) -> BTreeMap<String, Value> {
        self.state().unasked.clone()
    }

    fn problems(&self) -> BTreeMap<String, String> {
        self.of_fresh(|answer| if let Answer::Unfit(problem) = answer { Some(problem.clone()) } else { None })
    }

    fn user_state(&self) -> Option<Value> {
        self.state().carried.user.clone()
    }

    fn memoized(&self, name: &str) -> Option<Value> {
        self.state().carried.kept.get(name).cloned()
    }

    fn all_memoized(&self) -> BTreeMap<String, Value> {
        self.state().carried.kept.clone()
    }

    fn memoize(&self, name: &str, value: Value) {
        let mut state = self.state();
        if let Some(resumption) = &state.resumption {
            resumption.keep(name, &value);
        }
        state.carried.kept.insert(name.to_owned(), value);
    }
}

/// Most requests are first rounds; this avoids parsing them again.
fn mentions_rounds(params: &RawJson) -> bool {
    static MEMBERS: OnceBox<[memmem::Finder<'static>; 2]> = OnceBox::new();
    let members = MEMBERS.get_or_init(|| Box::new(["\"inputResponses\"", "\"requestState\""].map(memmem::Finder::new)));
    members.iter().any(|member| member.find(params.as_bytes()).is_some()) || params.may_have_escaped_names()
}
