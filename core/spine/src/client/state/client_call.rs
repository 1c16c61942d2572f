//! A call to the server: the receiver of its outcome, and the steps of its end.

use super::{
    reply_to::CallReceiver,
    response_cache::CacheSlot,
    result_schema::ResultCheck,
    task_wish::{TaskForm, TaskWish},
};
use crate::{
    client::{ClientError, InputRequired, RequestOptions, telemetry::CallOperation},
    engine::{Answer, RequestExtras},
    protocol::{RawJson, RequestId, call_params::CallParams, method::Method},
    race::unless,
    runtime::{Promise, Runtime},
    sync::Mutex,
};
use std::{
    borrow::Cow,
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

/// A call to the server. It continues when its handles are dropped;
/// [`Client::cancel`](crate::client::Client::cancel) ends it.
#[doc(hidden)]
pub struct ClientCall {
    pub(in crate::client) method: Cow<'static, str>,
    pub(in crate::client) receiver: CallReceiver,
    pub(in crate::client) flight: Mutex<Flight>,
    pub(in crate::client) operation: Option<Box<CallOperation>>,
    /// The start of the call, if debug logging is on.
    pub(in crate::client) logged: Option<(Instant, Arc<dyn Runtime>)>,
    /// The cache slot of its first result.
    pub(in crate::client) slot: Option<Box<CacheSlot>>,
    /// Set if the call may take more than one request.
    pub(in crate::client) repeatable: Option<Box<RepeatableCall>>,
}

/// The target of a cancellation.
pub(in crate::client) enum Flight {
    /// The latest request.
    Sent(RequestId),
    /// Work between two requests, stopped by completing the promise.
    Working(Arc<Promise<()>>),
    /// Cancelled, or not sent yet.
    Cancelled,
}

/// A call that may take more than one request (MRTR-17).
pub(in crate::client) struct RepeatableCall {
    pub(in crate::client) request: OwnedRequest,
    pub(in crate::client) task: Option<TaskWish>,
    pub(in crate::client) began: Instant,
}

/// A call that continues: its latest request, and its history.
pub(in crate::client) struct ContinuedCall {
    pub(in crate::client) request: OwnedRequest,
    /// True if the request was resent with missing headers.
    pub(in crate::client) repeated: bool,
    pub(in crate::client) as_task: bool,
    /// The rounds of input so far, and the time that the server took for them.
    pub(in crate::client) rounds: usize,
    pub(in crate::client) spent: Duration,
    /// The start of this round.
    pub(in crate::client) began: Instant,
}

impl ContinuedCall {
    pub(in crate::client) fn of(call: &RepeatableCall) -> Self {
        Self {
            request: call.request.clone(),
            repeated: false,
            as_task: call.task.as_ref().is_some_and(|task| task.as_task),
            rounds: 0,
            spent: Duration::ZERO,
            began: call.began,
        }
    }

    /// Restarts the call, this time for a task.
    pub(in crate::client) fn begin_as_task(&mut self, now: Instant) {
        (self.as_task, self.rounds, self.spent, self.began) = (true, 0, Duration::ZERO, now);
    }
}

/// The parts of a request, as supplied by the program.
#[derive(Clone, Copy)]
pub(in crate::client) struct RequestParts<'a> {
    pub(in crate::client) method: &'a str,
    /// The row of the method, if the revision has it.
    pub(in crate::client) row: Option<&'static Method>,
    pub(in crate::client) params: Option<&'a RawJson>,
    pub(in crate::client) options: &'a RequestOptions,
}

impl RequestParts<'_> {
    /// The method's name.
    pub(in crate::client) fn name(&self) -> Cow<'static, str> {
        self.row.map_or_else(|| Cow::Owned(self.method.to_owned()), |row| Cow::Borrowed(row.name))
    }
}

/// The parts of a request that may be resent.
#[derive(Clone)]
pub(in crate::client) struct OwnedRequest {
    pub(in crate::client) params: Option<RawJson>,
    pub(in crate::client) options: RequestOptions,
    pub(in crate::client) extras: RequestExtras,
}

/// The server's response to one request.
pub(in crate::client) type ServerAnswer = Answer<ClientError>;

/// A response, and the validation of its result.
pub(in crate::client) type CheckableAnswer = (ServerAnswer, Option<ResultCheck>);

/// A request waiting for its response.
#[derive(Clone)]
pub(in crate::client) struct Awaited {
    pub(in crate::client) call: Arc<ClientCall>,
    pub(in crate::client) check: Option<ResultCheck>,
    /// Set for later requests of a call, whose task waits for the response.
    pub(in crate::client) again: Option<Arc<Promise<CheckableAnswer>>>,
}

impl Awaited {
    /// The only request of a call.
    pub(in crate::client) fn by(call: &Arc<ClientCall>) -> Self {
        Self { call: Arc::clone(call), check: None, again: None }
    }

    /// Fails the call with a local error, which is not retried.
    pub(in crate::client) fn failed(self, error: ClientError) {
        match self.again {
            Some(again) => again.keep((ServerAnswer::Outcome(Err(error)), None)),
            None => self.call.finish(Err(error)),
        }
    }

    pub(in crate::client) fn progress(&self, params: RawJson) {
        match &self.call.operation {
            Some(operation) => operation.run(|| self.call.receiver.progress(params)),
            None => self.call.receiver.progress(params),
        }
    }
}

impl ClientCall {
    /// A call with a single request, without telemetry and caching.
    pub(in crate::client) fn new(receiver: CallReceiver) -> Self {
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

    /// A call that starts with local work, and the promise that stops it.
    pub(in crate::client) fn working(receiver: CallReceiver) -> (Arc<Self>, Arc<Promise<()>>) {
        let stop = Arc::new(Promise::default());
        let flight = Mutex::new(Flight::Working(Arc::clone(&stop)));
        (Arc::new(Self { flight, ..Self::new(receiver) }), stop)
    }

    /// Completes a call that needs no request.
    pub(in crate::client) fn answered_here(self, result: RawJson) -> Arc<Self> {
        self.receiver.answered(Ok(result));
        Arc::new(self)
    }

    /// The outcome of a call that ends with this response of a server, which has this name in the
    /// log.
    pub(in crate::client) fn outcome_of(
        &self,
        server: Option<&str>,
        answer: ServerAnswer,
    ) -> Result<RawJson, ClientError> {
        let invalid = |text: &str| Err(ClientError::InvalidResponse(text.to_owned()));
        match answer {
            ServerAnswer::Outcome(outcome) => outcome,
            ServerAnswer::InputRequired(result) if self.repeatable.is_some() => {
                let required = InputRequired::read(server, &result).map_err(ClientError::InvalidResponse)?;
                Err(ClientError::InputRequired(Box::new(required)))
            }
            ServerAnswer::InputRequired(_) => {
                invalid("the server asked for input, which this request does not support")
            }
            ServerAnswer::Task(_) => invalid("the server created a task for a request that cannot be a task"),
        }
    }

    pub(in crate::client) fn task_form(&self) -> Option<TaskForm> {
        self.task_wish().map(|task| task.form)
    }

    pub(in crate::client) fn task_wish(&self) -> Option<&TaskWish> {
        self.repeatable.as_ref()?.task.as_ref()
    }

    /// Does work between two requests, until the call is cancelled.
    pub(in crate::client) async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, ClientError> {
        let stop = Arc::new(Promise::default());
        {
            let mut flight = self.flight.lock();
            if matches!(*flight, Flight::Cancelled) {
                return Err(ClientError::Cancelled);
            }
            *flight = Flight::Working(Arc::clone(&stop));
        }
        unless(stop.kept(), work).await.ok_or(ClientError::Cancelled)
    }

    pub(in crate::client) fn finish(&self, outcome: Result<RawJson, ClientError>) {
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

/// The tool that a request calls.
pub(in crate::client) fn tool_of(params: Option<&RawJson>) -> Option<Cow<'_, str>> {
    CallParams::read(params?).ok().map(|call| call.name)
}
