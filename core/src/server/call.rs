//! One call on its way through a handler.

use super::{
    asking::{AskError, Asking, Way, unused_key},
    cancellation::Cancelled,
    input::InputKind,
    outcome::Outcome,
    serving::{Serving, Sink, Target},
};
use crate::{
    engine::{Patience, Scope},
    protocol::{RawJson, RpcError, error::code, model::LoggingLevel},
    sync::Mutex,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// A call to answer. Dropping it unanswered fails the call.
pub struct Call {
    facts: CallFacts,
    input: RawJson,
}

/// What is known about a call, and what may be done while it runs. Cheap to clone.
#[derive(Clone)]
pub struct CallFacts {
    pub(super) inner: Arc<CallInner>,
}

pub(super) struct CallInner {
    pub(super) serving: Arc<Serving>,
    pub(super) target: Arc<dyn Target>,
    /// Who waits for the result; nobody once it is given.
    sink: Mutex<Option<Sink>>,
    questions: Mutex<Questions>,
}

/// What one run of a handler asked for.
#[derive(Default)]
struct Questions {
    /// How often each kind of input was asked for without a key.
    unnamed: BTreeMap<&'static str, u32>,
    /// The keys of this run.
    keys: BTreeSet<String>,
}

/// Questions in one run of a handler. One that asks on and on, whatever it is told, must not fill the memory.
const MAX_QUESTIONS: usize = 1000;

impl CallInner {
    pub(super) fn new(serving: Arc<Serving>, target: Arc<dyn Target>, sink: Sink) -> Self {
        Self { serving, target, sink: Mutex::new(Some(sink)), questions: Mutex::default() }
    }

    /// The key of a question; one for input that was asked for without it is the same at each run of a handler that asks in the
    /// same order.
    pub(super) fn key(&self, key: Option<&str>, kind: InputKind) -> String {
        if let Some(key) = key {
            return key.to_owned();
        }
        let (word, mut questions) = (kind.word(), self.questions.lock());
        let count = questions.unnamed.entry(word).or_default();
        *count += 1;
        match self.target.link() {
            Some(link) => format!("middleware-{}-{word}-{count}", link.position),
            None => format!("{word}-{count}"),
        }
    }

    /// The same, made different from the keys that this run has used: who asks again under one key wants another answer.
    pub(super) fn own_key(&self, key: Option<&str>, kind: InputKind) -> Result<String, AskError> {
        let key = self.key(key, kind);
        let mut questions = self.questions.lock();
        if questions.keys.len() >= MAX_QUESTIONS {
            let text = format!("The handler asked {MAX_QUESTIONS} questions in one run; that is the limit");
            return Err(AskError::Refused(RpcError::new(code::INTERNAL_ERROR, text)));
        }
        Ok(unused_key(&mut questions.keys, &key))
    }
}

impl Call {
    pub(super) fn new(inner: Arc<CallInner>, input: RawJson) -> Self {
        Self { facts: CallFacts { inner }, input }
    }

    /// What the handler needs to know, as its registration says: the arguments of a tool or prompt, say. Valid already.
    pub fn input(&self) -> &RawJson {
        &self.input
    }

    /// Facts and means of this call, to keep while it runs.
    pub fn facts(&self) -> &CallFacts {
        &self.facts
    }

    /// Answers the call. `false`: it was cancelled or its connection is gone, and nothing was sent.
    pub fn complete(mut self, outcome: Outcome) -> bool {
        self.finish(outcome)
    }

    fn finish(&mut self, outcome: Outcome) -> bool {
        let inner = &self.facts.inner;
        let Some(sink) = inner.sink.lock().take() else { return false };
        inner.serving.complete(inner, self.input.clone(), sink, outcome)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.finish(Outcome::Internal("the handler dropped the call without an answer".into()));
    }
}

impl CallFacts {
    /// Where the call comes from.
    pub fn scope(&self) -> &Scope {
        &self.inner.serving.scope
    }

    /// The method of the request.
    pub fn method(&self) -> &'static str {
        self.inner.serving.method
    }

    /// What is called: the name of a tool or prompt, the URI of a resource, or the method for anything else.
    pub fn name(&self) -> &str {
        self.inner.target.name()
    }

    /// Reports progress, if the client asked for it. Values that do not rise are dropped (PRG-02).
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.inner.serving.progress(progress, total, message);
    }

    /// Sends a log message to the client of this call, if it wants messages of that level (LOG-02, LOG-04).
    pub fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &Value) {
        self.inner.serving.log(level, logger, data);
    }

    /// Asks the client of this call; `asked` takes the outcome, exactly once unless this fails. The client has `timeout` to answer,
    /// and never more than `max`.
    ///
    /// Elicitation, sampling and roots work in both eras. In the handshake era the client gets a request. On 2026-07-28 the
    /// answer comes at once if the client has given it; otherwise this fails with [`AskError::Suspended`], the call ends, and
    /// the handler runs again from the top when the client comes back with the answer: `key` says which answer belongs to which
    /// question (`None`: counted by kind; used again in one run, it is made another). Other methods exist in the handshake era only.
    ///
    /// # Errors
    /// As [`AskError`] says.
    pub fn ask(
        &self,
        method: &str,
        key: Option<&str>,
        params: Option<&RawJson>,
        timeout: Duration,
        max: Duration,
        asked: impl FnOnce(Result<RawJson, AskError>) + Send + 'static,
    ) -> Result<Asking, AskError> {
        let patience = Patience { timeout, max };
        self.inner.ask(method, key, params, patience, Box::new(asked))
    }

    /// How long the client may take to answer a request of that method: where a person decides, as long as people take.
    pub fn patience_for(&self, method: &str) -> Duration {
        let options = self.inner.serving.server().options();
        if InputKind::of(method).is_some() { options.input_timeout } else { options.limits.request_timeout }
    }

    /// Cancels a request of [`Self::ask`] and tells the client; its outcome is [`AskError::Cancelled`].
    pub fn cancel_asked(&self, asking: &Asking, reason: &str) {
        let serving = &self.inner.serving;
        match &asking.0 {
            Way::Sent(id) => serving.connection.give_up(id, reason, Some(&*serving.reply), AskError::Cancelled),
            Way::OfTask(task, key) => task.withdraw(key),
            Way::Answered => {}
        }
    }

    /// For middleware: runs the rest of the chain, with these parameters or with those that came to it; `done` takes the result.
    ///
    /// # Errors
    /// If the call is not one of middleware.
    pub fn proceed(
        &self,
        params: Option<RawJson>,
        done: impl FnOnce(Result<RawJson, RpcError>) + Send + 'static,
    ) -> Result<(), RpcError> {
        let Some(link) = self.inner.target.link() else {
            return Err(RpcError::invalid_request("Only middleware can run the rest of a request"));
        };
        let serving = &self.inner.serving;
        let params = params.or_else(|| link.params.clone());
        serving.step(link.position + 1, params, Sink::Inside(Box::new(done)));
        Ok(())
    }

    /// The answers that came with this round of the request, for handlers that return [`Outcome::InputRequired`]: those that match
    /// what was asked.
    pub fn input_responses(&self) -> BTreeMap<String, Value> {
        self.inner.serving.rounds.responses()
    }

    /// What is wrong with the answers of this round that do not match what was asked (ELI-11): the handler may ask again.
    pub fn input_problems(&self) -> BTreeMap<String, String> {
        self.inner.serving.rounds.problems()
    }

    /// The verified state that the handler gave with [`Outcome::InputRequired`] in the round before.
    pub fn state(&self) -> Option<Value> {
        self.inner.serving.rounds.user_state()
    }

    /// What an earlier run of this handler kept under a name.
    pub fn kept(&self, name: &str) -> Option<Value> {
        self.inner.serving.rounds.kept(name)
    }

    /// Everything that earlier runs kept.
    pub fn all_kept(&self) -> BTreeMap<String, Value> {
        self.inner.serving.rounds.all_kept()
    }

    /// Keeps a value for later runs of this handler, so that what has an effect happens once.
    pub fn keep(&self, name: &str, value: Value) {
        self.inner.serving.rounds.keep(name, value);
    }

    /// Closes the HTTP connection that waits for this call, where the client can come back for the answer: in sessions of
    /// 2025-11-25 (HTTP-27). The client is told when to ask again. Elsewhere nothing happens.
    pub fn close_stream(&self) {
        self.inner.serving.reply.close_stream();
    }

    /// From here on the call is a task, if its tool defers tasks ([`super::ToolEntry::defer_task`]) and the client can have one:
    /// the client gets the task now, and its result later. Otherwise nothing happens.
    pub fn start_task(&self) {
        let serving = &self.inner.serving;
        if !serving.may_become_task.swap(false, Ordering::Relaxed) {
            return;
        }
        let waiting = {
            let mut slot = self.inner.sink.lock();
            match slot.take().map(|sink| serving.start_task(None, sink)) {
                Some(Ok((sink, waiting))) => {
                    *slot = Some(sink);
                    Some(waiting)
                }
                Some(Err((sink, _))) => {
                    *slot = Some(sink);
                    None
                }
                None => None,
            }
        };
        // Told with no lock held: whoever waits may be a handler.
        if let Some((sink, created)) = waiting {
            serving.deliver(sink, Ok(created));
        }
    }

    /// Says what the task does now. On a call that is none, nothing happens.
    pub fn set_task_message(&self, message: &str) {
        if let Some(task) = self.inner.serving.task() {
            task.set_message(message);
        }
    }

    /// Whether the call is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.inner.serving.cancellation.is_cancelled()
    }

    /// Runs `hook` with the reason when the call is cancelled; at once if it is.
    pub fn on_cancel(&self, hook: impl FnOnce(&str) + Send + 'static) {
        self.inner.serving.cancellation.on_cancel(Box::new(hook));
    }

    pub(super) fn cancelled(&self) -> Cancelled {
        self.inner.serving.cancellation.cancelled()
    }
}
