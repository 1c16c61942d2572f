//! The telemetry of an opening: one operation, whichever requests it takes.

use super::{
    error::ClientError,
    inner::ClientInner,
    observed::{ObservedReply, end_with},
    reply::ReplyTo,
};
use crate::{
    engine::RevisionChoice,
    protocol::{Era, RawJson, SentTrace, method},
    sync::Mutex,
    telemetry::{NetworkFacts, OpenOperation, OperationEnd, OperationStart, RunningOperation},
};
use std::{sync::Arc, time::Duration};

/// An opening that goes on: the first one of a client, or that of a connection that was lost.
pub(super) struct ObservedOpening {
    operation: RunningOperation,
    /// The trace context that its messages carry.
    pub(super) trace: Arc<SentTrace>,
    /// The ends of its requests so far.
    ends: Mutex<Vec<OperationEnd>>,
}

impl ObservedOpening {
    /// Notes the answer of the last request.
    pub(super) fn answered(&self, client: &ClientInner, method: &str, outcome: &Result<RawJson, ClientError>) {
        self.trace.note_answered(client.runtime.now());
        self.ends.lock().push(end_with(method, outcome));
    }

    /// Lets it end with the reply of a request: where the revision is pinned, nothing was asked
    /// before.
    pub(super) fn end_with_reply(
        self,
        client: &ClientInner,
        method: &str,
        reply: Arc<dyn ReplyTo>,
    ) -> Arc<dyn ReplyTo> {
        let way = client.observed_way();
        Arc::new(ObservedReply::new(self.operation, method, self.trace, reply).opening(way))
    }
}

/// The begin of an opening of which nothing is known yet, at a time since 1970.
pub fn opening_start(began: Duration) -> OperationStart {
    OperationStart::opening(method::DISCOVER, NetworkFacts::default(), began)
}

impl ClientInner {
    /// Begins the operation of an opening. `given`: that of a program which has begun a span for
    /// it.
    pub(super) fn begin_opening(&self, given: Option<Arc<dyn OpenOperation>>) {
        let Some(telemetry) = self.telemetry.as_deref() else { return };
        let operation = match given {
            Some(open) => Some(RunningOperation::of(open, &self.runtime)),
            None => {
                let (way, now) = (self.observed_way(), self.runtime.unix_time());
                let start = OperationStart::opening(self.first_method(), way, now);
                RunningOperation::begin(telemetry, &self.runtime, start)
            }
        };
        *self.opening.lock() = operation.map(|operation| {
            let trace = Arc::new(SentTrace::new(operation.context()));
            ObservedOpening { operation, trace, ends: Mutex::default() }
        });
    }

    /// Ends it. The request that opened the connection, or that failed last, names it.
    pub(super) fn end_opening(&self, outcome: &Result<(), ClientError>) {
        let Some(opening) = self.opening.lock().take() else { return };
        let sent = opening.trace.requests();
        let method = sent.last().map_or_else(|| self.first_method().to_owned(), |last| last.method.to_string());
        let outcome = outcome.as_ref().map(|()| RawJson::empty_object()).map_err(Clone::clone);
        let end = end_with(&method, &outcome).opened_by(&method, self.observed_way());
        opening.operation.end(end.with_requests(&method, &sent, &opening.ends.lock()));
    }

    /// The method that an opening sends first.
    fn first_method(&self) -> &'static str {
        let settled = self.conversation.lock().revision().map(RevisionChoice::Pinned);
        match settled.unwrap_or(self.options.revision) {
            RevisionChoice::Legacy => method::INITIALIZE,
            RevisionChoice::Pinned(revision) if revision.era() == Era::Legacy => method::INITIALIZE,
            _ => method::DISCOVER,
        }
    }
}
