//! Requests of the server's own to the client of a call (RPC-31): sent in the handshake era, asked by rounds on 2026-07-28.

use super::{
    call::CallInner,
    cancellation::HookId,
    connection::{Connection, Governing},
    input::{self, InputKind, InputRequest},
    outbound::{Outbound, Outgoing},
    serving::Serving,
    tasks::Task,
};
use crate::{
    engine::{Patience, later},
    protocol::{Feature, RawJson, RequestId, RpcError, envelope::NoResult},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock, Weak},
    time::Instant,
};

/// Takes the outcome of a request, once.
pub(crate) type Asked = Box<dyn FnOnce(Result<RawJson, AskError>) + Send>;

/// A question on its way.
#[derive(Clone)]
pub struct Asking(pub(super) Way);

/// Where the answer comes from.
#[derive(Clone)]
pub(super) enum Way {
    Answered,
    Sent(RequestId),
    OfTask(Arc<Task>, String),
}

/// Why a client gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AskError {
    /// The client answered with an error, lacks the capability, or the revision has no such request.
    #[error("{0}")]
    Refused(RpcError),
    /// What the client answered does not fit the question.
    #[error("The client's answer does not fit: {0}")]
    Invalid(String),
    /// 2026-07-28: the client has not been asked yet. The call ends here, and the handler runs again from the top with the answer.
    #[error("The handler waits for input of the client and will run again; this is no failure")]
    Suspended,
    /// Cancelled by the handler; the client was told.
    #[error("The request was cancelled")]
    Cancelled,
    /// No answer in time; the client was told to cancel.
    #[error("The client did not answer in time")]
    Timeout,
    /// The client cannot be asked here: answers are JSON only, or there is no session.
    #[error(
        "The client of this call cannot be asked: HTTP without sessions, or without event streams, has no way back"
    )]
    NoWayBack,
    /// The connection is closed.
    #[error("The connection is closed")]
    Closed,
}

impl From<NoResult> for AskError {
    fn from(answer: NoResult) -> Self {
        match answer {
            NoResult::Error(error) => Self::Refused(error),
            NoResult::Nonsense(text) => Self::Invalid(text),
        }
    }
}

impl AskError {
    /// What the client of the call gets if the handler lets this pass.
    #[doc(hidden)]
    pub fn into_rpc(self) -> RpcError {
        match self {
            Self::Refused(error) => error,
            other => RpcError::invalid_request(other.to_string()),
        }
    }
}

impl CallInner {
    /// See [`super::CallFacts::ask`].
    pub(super) fn ask(
        &self,
        method: &str,
        key: Option<&str>,
        params: Option<&RawJson>,
        patience: Patience,
        asked: Asked,
    ) -> Result<Asking, AskError> {
        let serving = &self.serving;
        let Some(kind) = InputKind::of(method) else {
            let id = serving.connection.ask(serving, patience, method, params, asked)?;
            return Ok(Asking(Way::Sent(id)));
        };
        if !serving.takes_input {
            let text = format!("While {} is served, the client cannot be asked for input", serving.method);
            return Err(AskError::Refused(RpcError::invalid_request(text)));
        }
        let params: Option<Value> = params.map(RawJson::read).transpose().map_err(|problem| {
            AskError::Refused(RpcError::invalid_params(format!("The params of {method} cannot be read: {problem}")))
        })?;
        let request = InputRequest::new(method, params.unwrap_or_else(|| json!({}))).map_err(AskError::Refused)?;
        let by_rounds = serving.scope.revision.supports(Feature::InputRequired);
        let task = serving.task();
        if !by_rounds && task.is_none() && !serving.reply.can_ask() {
            return Err(AskError::NoWayBack);
        }
        let checked =
            input::check(request.clone(), &serving.scope).map_err(|refused| AskError::Refused(refused.error))?;
        if let Some(task) = task {
            if self.target.link().is_some() {
                let text = "The request has become a task: its handler can ask the client, middleware no longer";
                return Err(AskError::Refused(RpcError::invalid_request(text)));
            }
            let key = self.key(key, kind);
            let asked = move |answer: Result<Value, AskError>| asked(answer.and_then(|answer| raw(&answer)));
            let key = task.ask(&key, checked, patience, Box::new(asked))?;
            return Ok(Asking(Way::OfTask(Arc::clone(task), key)));
        }
        if !by_rounds && !serving.server().options().replay {
            let asked = move |answer: Result<Value, AskError>| asked(answer.and_then(|answer| raw(&answer)));
            let id = serving.connection.ask_input(serving, patience, &checked, Box::new(asked))?;
            return Ok(Asking(Way::Sent(id)));
        }
        let key = self.own_key(key, kind)?;
        match serving.rounds.answer(&key).map(|answer| checked.read(answer)) {
            None | Some(Err(AskError::Suspended)) => {
                serving.rounds.forget(&key);
                serving.rounds.note(key, request);
                return Err(AskError::Suspended);
            }
            Some(answer) => asked(answer.and_then(|answer| raw(&answer))),
        }
        Ok(Asking(Way::Answered))
    }
}

/// The key, or one like it that was not used yet.
pub(super) fn unused_key(used: &mut BTreeSet<String>, key: &str) -> String {
    let mut candidate = key.to_owned();
    let mut count = 1;
    while !used.insert(candidate.clone()) {
        count += 1;
        candidate = format!("{key}-{count}");
    }
    candidate
}

fn raw(answer: &Value) -> Result<RawJson, AskError> {
    RawJson::from_value(answer).map_err(|error| AskError::Invalid(error.to_string()))
}

impl Connection {
    /// Asks the client of a call for input, and checks its answer.
    pub(super) fn ask_input(
        self: &Arc<Self>,
        serving: &Arc<Serving>,
        patience: Patience,
        request: &InputRequest,
        asked: Box<dyn FnOnce(Result<Value, AskError>) + Send>,
    ) -> Result<RequestId, AskError> {
        let params = match request.kind {
            InputKind::Roots => None,
            _ => Some(raw(&request.params)?),
        };
        self.remember_elicitation(&request.params);
        let kept = request.clone();
        let asked = Box::new(move |answer| asked(input::read_answer(&kept, answer)));
        self.ask(serving, patience, request.kind.method(), params.as_ref(), asked)
    }

    /// Asks the client of a call, on that call's stream (HTTP-17). The outcome comes exactly once, unless this fails.
    pub(super) fn ask(
        self: &Arc<Self>,
        serving: &Arc<Serving>,
        patience: Patience,
        method: &str,
        params: Option<&RawJson>,
        asked: Asked,
    ) -> Result<RequestId, AskError> {
        if self.is_closed() {
            return Err(AskError::Closed);
        }
        if !serving.reply.can_ask() {
            return Err(AskError::NoWayBack);
        }
        let sent = Arc::new(OnceLock::new());
        let hook = self.end_with(serving, &sent);
        let cancellation = serving.cancellation.clone();
        let asked: Asked = Box::new(move |answer| {
            cancellation.forget(hook);
            asked(answer);
        });
        let now = self.runtime().now();
        let id = {
            let _in_order = self.questions.lock();
            if serving.cancellation.is_cancelled() {
                return Err(AskError::Cancelled);
            }
            let revision = serving.scope.revision;
            let asking = self.conversation().ask(now, patience, revision, method, params, asked);
            let (id, message) = asking.map_err(|error| {
                serving.cancellation.forget(hook);
                AskError::Refused(error)
            })?;
            let outgoing = Outgoing::Request(message);
            self.log_sent(&outgoing, (&serving.scope).into(), method);
            serving.reply.send(outgoing);
            sent.get_or_init(|| id).clone()
        };
        self.watch(id.clone(), later(now, patience.timeout), Arc::downgrade(&serving.reply));
        Ok(id)
    }

    /// A question is no longer of interest when its call is not: its end is told while the stream of the call is still there.
    fn end_with(self: &Arc<Self>, serving: &Arc<Serving>, sent: &Arc<OnceLock<RequestId>>) -> Option<HookId> {
        let connection = Arc::downgrade(self);
        let reply = Arc::downgrade(&serving.reply);
        let sent = Arc::clone(sent);
        serving.cancellation.on_cancel(Box::new(move |reason| {
            if let (Some(connection), Some(reply)) = (connection.upgrade(), reply.upgrade())
                && !connection.is_closed()
            {
                // If it is just being sent, it has its id afterwards.
                let id = {
                    let _in_order = connection.questions.lock();
                    sent.get().cloned()
                };
                if let Some(id) = id {
                    connection.give_up(&id, reason, Some(&*reply), AskError::Cancelled);
                }
            }
        }))
    }

    /// Ends the request when its time is over. Progress may have moved the deadline meanwhile. The stream is not kept for it: when
    /// the call is over, it may go.
    fn watch(self: &Arc<Self>, id: RequestId, deadline: Instant, reply: Weak<dyn Outbound>) {
        let connection: Weak<Self> = Arc::downgrade(self);
        let runtime = Arc::clone(self.runtime());
        let task = {
            let runtime = Arc::clone(&runtime);
            async move {
                let mut deadline = deadline;
                loop {
                    runtime.sleep_until(deadline).await;
                    let Some(connection) = connection.upgrade() else { return };
                    let moved = connection.conversation().deadline_of(&id);
                    match moved {
                        None => return,
                        Some(later) if later > runtime.now() => deadline = later,
                        Some(_) => {
                            let reply = reply.upgrade();
                            return connection.give_up(&id, "timed out", reply.as_deref(), AskError::Timeout);
                        }
                    }
                }
            }
        };
        runtime.spawn(Box::pin(task));
    }

    /// Ends a request that is no longer wanted, and tells the client.
    pub(super) fn give_up(&self, id: &RequestId, reason: &str, reply: Option<&dyn Outbound>, error: AskError) {
        let asked = {
            let _in_order = self.questions.lock();
            let given_up = self.conversation().cancel_asked(id, reason);
            given_up.map(|(asked, told)| {
                if let Some(reply) = reply {
                    let outgoing = Outgoing::Notification(told);
                    self.log_sent(&outgoing, Governing::default(), "");
                    reply.send(outgoing);
                }
                asked
            })
        };
        if let Some(asked) = asked {
            asked(Err(error));
        }
    }
}

#[cfg(test)]
mod tests;
