//! The telemetry of an opening: one operation, whichever requests it takes.

use super::call_operation::{CallOperation, end_with};
use crate::{
    client::error::ClientError,
    protocol::{RawJson, SentTrace, method},
    sync::Mutex,
    telemetry::{NetworkFacts, OperationEnd, OperationStart, RunningOperation},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The begin of an opening of which nothing is known yet, at a time since 1970.
pub fn opening_start(began: Duration) -> OperationStart {
    OperationStart::opening(method::DISCOVER, NetworkFacts::default(), began)
}

/// An opening that goes on: the first one of a client, or that of a connection that was lost.
pub(in crate::client) struct ObservedOpening {
    operation: RunningOperation,
    /// The trace context that its messages carry.
    pub(in crate::client) trace: Arc<SentTrace>,
    /// The ends of its requests so far.
    ends: Mutex<Vec<OperationEnd>>,
}

impl ObservedOpening {
    pub(in crate::client) fn new(operation: RunningOperation) -> Self {
        let trace = Arc::new(SentTrace::new(operation.context()));
        Self { operation, trace, ends: Mutex::default() }
    }

    /// Notes the answer of the last request.
    pub(in crate::client) fn answered(&self, now: Instant, method: &str, outcome: &Result<RawJson, ClientError>) {
        self.trace.note_answered(now);
        self.ends.lock().push(end_with(method, outcome));
    }

    /// The operation of a call that ends it: where the revision is pinned, nothing was asked
    /// before.
    pub(in crate::client) fn of_call(self, network: NetworkFacts) -> Box<CallOperation> {
        Box::new(CallOperation { operation: self.operation, trace: self.trace, opened: Some(network) })
    }

    /// Ends it. `first`: the method of the first request, for an opening that sent none.
    pub(in crate::client) fn end(self, first: &str, outcome: &Result<(), ClientError>, network: NetworkFacts) {
        let sent = self.trace.requests();
        let method = sent.last().map_or_else(|| first.to_owned(), |last| last.method.to_string());
        let outcome = outcome.as_ref().map(|()| RawJson::empty_object()).map_err(Clone::clone);
        let end = end_with(&method, &outcome).opened_by(&method, network);
        self.operation.end(end.with_requests(&method, &sent, &self.ends.lock()));
    }
}
