//! The telemetry of a client: operations of calls, and of openings with all of their requests.

use crate::{
    client::ClientError,
    protocol::{RawJson, SentTrace, method},
    sync::Mutex,
    telemetry::{NetworkFacts, OperationEnd, OperationStart, RunningOperation},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Ends an operation with the outcome of its requests.
pub fn end_of(method: &str, outcome: &Result<RawJson, ClientError>, trace: &SentTrace) -> OperationEnd {
    end_with(method, outcome).with_requests(method, &trace.requests(), &[])
}

/// Ends an operation with its outcome.
pub(in crate::client) fn end_with(method: &str, outcome: &Result<RawJson, ClientError>) -> OperationEnd {
    match outcome {
        Ok(result) => OperationEnd::answered(method, &Ok(result.clone())),
        // The caller provides the input and calls again.
        Err(ClientError::InputRequired(_)) => OperationEnd::default(),
        Err(error) => match error.rpc() {
            Some(error) => OperationEnd::refused(error),
            None => OperationEnd::failed(error.kind().as_str(), Some(error.to_string())),
        },
    }
}

/// The operation of a call.
pub(in crate::client) struct CallOperation {
    pub(in crate::client) operation: RunningOperation,
    pub(in crate::client) trace: Arc<SentTrace>,
    /// The facts of the connection, if the call itself opens it.
    pub(in crate::client) opened: Option<NetworkFacts>,
}

impl CallOperation {
    pub(in crate::client) fn run(&self, work: impl FnOnce()) {
        self.operation.run(work);
    }

    pub(in crate::client) fn end(&self, method: &str, outcome: &Result<RawJson, ClientError>) {
        let end = end_of(method, outcome, &self.trace);
        self.operation.end(match &self.opened {
            Some(network) => end.opened_by(method, network.clone()),
            None => end,
        });
    }
}

/// The start of an opening, before anything is known about it. `began` is the time since the Unix
/// epoch.
pub fn opening_start(began: Duration) -> OperationStart {
    OperationStart::opening(method::DISCOVER, NetworkFacts::default(), began)
}

/// An opening in progress: a client's first one or a reconnect.
pub(in crate::client) struct ObservedOpening {
    operation: RunningOperation,
    /// The trace context that its messages carry.
    pub(in crate::client) trace: Arc<SentTrace>,
    /// The results of its requests so far.
    ends: Mutex<Vec<OperationEnd>>,
}

impl ObservedOpening {
    pub(in crate::client) fn new(operation: RunningOperation) -> Self {
        let trace = Arc::new(SentTrace::new(operation.context()));
        Self { operation, trace, ends: Mutex::default() }
    }

    /// Records the response to the last request.
    pub(in crate::client) fn answered(&self, now: Instant, method: &str, outcome: &Result<RawJson, ClientError>) {
        self.trace.note_answered(now);
        self.ends.lock().push(end_with(method, outcome));
    }

    /// Converts it to the operation of the call that opens the connection: with a pinned revision,
    /// no request comes before the call.
    pub(in crate::client) fn of_call(self, network: NetworkFacts) -> Box<CallOperation> {
        Box::new(CallOperation { operation: self.operation, trace: self.trace, opened: Some(network) })
    }

    /// Ends the opening. `first` is the method of the first request, in case none was sent.
    pub(in crate::client) fn end(self, first: &str, outcome: &Result<(), ClientError>, network: NetworkFacts) {
        let sent = self.trace.requests();
        let method = sent.last().map_or_else(|| first.to_owned(), |last| last.method.to_string());
        let outcome = outcome.as_ref().map(|()| RawJson::empty_object()).map_err(Clone::clone);
        let end = end_with(&method, &outcome).opened_by(&method, network);
        self.operation.end(end.with_requests(&method, &sent, &self.ends.lock()));
    }
}
