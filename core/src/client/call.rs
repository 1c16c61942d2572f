//! A call to the server: the receiver of its outcome, and the steps of its end.

use super::{
    call_operation::CallOperation,
    error::ClientError,
    inner::ClientInner,
    input_required::InputRequired,
    options::RequestOptions,
    reply::CallReceiver,
    response_cache::CacheSlot,
    result_schema::ResultCheck,
    tasks::{calling::TaskWish, support::needs_task},
};
use crate::{
    engine::RequestExtras,
    protocol::{
        RawJson, RequestId,
        envelope::Notification,
        error::code,
        method::{self, Method},
    },
    runtime::{Promise, Runtime},
    sync::Mutex,
};
use std::{borrow::Cow, fmt, sync::Arc, time::Instant};

/// A call to the server. It continues when its handles are dropped;
/// [`Client::cancel`](super::Client::cancel) ends it.
#[doc(hidden)]
pub struct ClientCall {
    pub(super) method: Cow<'static, str>,
    pub(super) receiver: CallReceiver,
    pub(super) flight: Mutex<Flight>,
    pub(super) operation: Option<Box<CallOperation>>,
    /// The start of the call, where debug records are wanted.
    pub(super) logged: Option<(Instant, Arc<dyn Runtime>)>,
    /// The place of its first result in the cache.
    pub(super) slot: Option<Box<CacheSlot>>,
    /// Set if one request may not be enough.
    pub(super) repeatable: Option<Box<RepeatableCall>>,
}

/// The part of a call that can be cancelled.
pub(super) enum Flight {
    /// The request that was sent last.
    Sent(RequestId),
    /// Work between two requests; keeping the promise stops it.
    Working(Arc<Promise<()>>),
    /// Cancelled, or not sent yet.
    Cancelled,
}

/// A call that may take more than one request (MRTR-17).
pub(super) struct RepeatableCall {
    pub(super) request: OwnedRequest,
    pub(super) task: Option<TaskWish>,
    pub(super) began: Instant,
}

/// The parts of a request, as the program gives them.
#[derive(Clone, Copy)]
pub(super) struct RequestParts<'a> {
    pub(super) method: &'a str,
    /// The row of the method, if the revision has it.
    pub(super) row: Option<&'static Method>,
    pub(super) params: Option<&'a RawJson>,
    pub(super) options: &'a RequestOptions,
}

/// The parts of a request that may be sent again.
#[derive(Clone)]
pub(super) struct OwnedRequest {
    pub(super) params: Option<RawJson>,
    pub(super) options: RequestOptions,
    pub(super) extras: RequestExtras,
}

/// The answer of the server to one request.
pub(super) enum ServerAnswer {
    Outcome(Result<RawJson, ClientError>),
    /// It needs input first (MRTR-01).
    InputRequired(RawJson),
    /// It made a task of the request (TKX-03).
    Task(RawJson),
}

/// An answer, and the check of its result.
pub(super) type CheckableAnswer = (ServerAnswer, Option<ResultCheck>);

/// A request that waits for its answer.
#[derive(Clone)]
pub(super) struct Awaited {
    pub(super) call: Arc<ClientCall>,
    pub(super) check: Option<ResultCheck>,
    /// Set for further requests of a call: its task waits for the answer.
    pub(super) again: Option<Arc<Promise<CheckableAnswer>>>,
}

impl Awaited {
    /// The only request of a call.
    pub(super) fn by(call: &Arc<ClientCall>) -> Self {
        Self { call: Arc::clone(call), check: None, again: None }
    }

    /// Takes the answer. A call that ends with it ends here and now; others continue in a task.
    pub(super) fn answered(self, client: &Arc<ClientInner>, answer: ServerAnswer) {
        let Self { call, check, again } = self;
        if let Some(again) = again {
            return again.keep((answer, check));
        }
        if call.goes_on(client, &answer, check.as_ref()) {
            return call.go_on(client, (answer, check));
        }
        let outcome = call.outcome_of(answer).and_then(|result| match check {
            Some(check) => check.checked(result),
            None => Ok(result),
        });
        if let (Some(slot), Ok(result)) = (&call.slot, &outcome) {
            client.keep_result(slot, result);
        }
        call.finish(outcome);
    }

    /// Takes a failure on this side, which no other request can repair.
    pub(super) fn failed(self, error: ClientError) {
        match self.again {
            Some(again) => again.keep((ServerAnswer::Outcome(Err(error)), None)),
            None => self.call.finish(Err(error)),
        }
    }

    pub(super) fn progress(&self, params: RawJson) {
        match &self.call.operation {
            Some(operation) => operation.run(|| self.call.receiver.progress(params)),
            None => self.call.receiver.progress(params),
        }
    }

    pub(super) fn notification(&self, notification: Notification) {
        self.call.receiver.notification(notification);
    }
}

impl ClientCall {
    /// A call that takes one request, and is neither observed nor kept.
    pub(super) fn new(receiver: CallReceiver) -> Self {
        Self {
            method: Cow::Borrowed(""),
            receiver,
            flight: Mutex::new(Flight::Cancelled),
            operation: None,
            logged: None,
            slot: None,
            repeatable: None,
        }
    }

    /// A call that is work without a request yet, and the promise that stops it.
    pub(super) fn working(receiver: CallReceiver) -> (Arc<Self>, Arc<Promise<()>>) {
        let stop = Arc::new(Promise::default());
        let flight = Mutex::new(Flight::Working(Arc::clone(&stop)));
        (Arc::new(Self { flight, ..Self::new(receiver) }), stop)
    }

    /// Ends a call that needs no request.
    pub(super) fn answered_here(self, result: RawJson) -> Arc<Self> {
        self.receiver.answered(Ok(result));
        Arc::new(self)
    }

    /// Returns whether the first answer leaves something to do that takes time.
    fn goes_on(&self, client: &ClientInner, answer: &ServerAnswer, check: Option<&ResultCheck>) -> bool {
        let task = self.repeatable.as_ref().and_then(|repeatable| repeatable.task.as_ref());
        match answer {
            ServerAnswer::Outcome(Ok(result)) => {
                check.is_some_and(|check| check.is_costly(result)) || task.is_some_and(TaskWish::asks_by_params)
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

    /// Returns whether headers repeat arguments of its tool.
    pub(super) fn mirrors(&self, client: &ClientInner) -> bool {
        &*self.method == method::TOOLS_CALL && client.mirrors(client.revision())
    }

    /// The outcome of a call that ends with this answer.
    pub(super) fn outcome_of(&self, answer: ServerAnswer) -> Result<RawJson, ClientError> {
        let invalid = |text: &str| Err(ClientError::InvalidResponse(text.to_owned()));
        match answer {
            ServerAnswer::Outcome(outcome) => outcome,
            ServerAnswer::InputRequired(result) if self.repeatable.is_some() => {
                let required = InputRequired::read(&result).map_err(ClientError::InvalidResponse)?;
                Err(ClientError::InputRequired(Box::new(required)))
            }
            ServerAnswer::InputRequired(_) => invalid("it asks for input that this request cannot have"),
            ServerAnswer::Task(_) => invalid("it makes a task of a request that cannot be one"),
        }
    }

    pub(super) fn finish(&self, outcome: Result<RawJson, ClientError>) {
        if let Some((began, runtime)) = &self.logged {
            let milliseconds = runtime.now().saturating_duration_since(*began).as_secs_f64() * 1e3;
            tracing::debug!(
                target: "trunkline::client::request",
                method = &*self.method,
                milliseconds,
                error = outcome.as_ref().err().map(tracing::field::display),
                "request answered"
            );
        }
        if let Some(operation) = &self.operation {
            operation.end(&self.method, &outcome);
        }
        self.receiver.answered(outcome);
    }
}

impl fmt::Debug for ClientCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCall").field("method", &self.method).finish_non_exhaustive()
    }
}
