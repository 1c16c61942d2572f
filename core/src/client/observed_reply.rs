//! The end of an observed request: the outcome of its operation.

use super::{error::ClientError, reply::ReplyTo};
use crate::{
    protocol::{RawJson, RpcError, SentTrace, envelope::Notification},
    telemetry::{NetworkFacts, OperationEnd, RunningOperation},
};
use std::sync::Arc;

/// The end of an operation with the outcome of its requests.
pub fn end_of(method: &str, outcome: &Result<RawJson, ClientError>, trace: &SentTrace) -> OperationEnd {
    end_with(method, outcome).with_requests(method, &trace.requests(), &[])
}

/// The end of an operation with its outcome.
pub(super) fn end_with(method: &str, outcome: &Result<RawJson, ClientError>) -> OperationEnd {
    let answered = |answer: &Result<RawJson, RpcError>| OperationEnd::answered(method, answer);
    match outcome {
        Ok(result) => answered(&Ok(result.clone())),
        // The caller answers, and calls again.
        Err(ClientError::InputRequired(_)) => OperationEnd::default(),
        Err(error) => match error.rpc() {
            Some(error) => OperationEnd::refused(error),
            None => OperationEnd::failed(error.kind().as_str(), Some(error.to_string())),
        },
    }
}

/// Ends the operation of a request with its outcome.
pub(super) struct ObservedReply {
    operation: RunningOperation,
    method: String,
    trace: Arc<SentTrace>,
    reply: Arc<dyn ReplyTo>,
    /// The facts of the connection, where it is that of an opening.
    opened: Option<NetworkFacts>,
}

impl ObservedReply {
    pub(super) fn new(
        operation: RunningOperation,
        method: &str,
        trace: Arc<SentTrace>,
        reply: Arc<dyn ReplyTo>,
    ) -> Self {
        Self { operation, method: method.to_owned(), trace, reply, opened: None }
    }

    /// The same for a request that is all an opening takes.
    pub(super) fn opening(self, way: NetworkFacts) -> Self {
        Self { opened: Some(way), ..self }
    }
}

impl ReplyTo for ObservedReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let end = end_of(&self.method, &outcome, &self.trace);
        self.operation.end(match &self.opened {
            Some(way) => end.opened_by(&self.method, way.clone()),
            None => end,
        });
        self.reply.answered(outcome);
    }

    fn progress(&self, params: RawJson) {
        self.operation.run(|| self.reply.progress(params));
    }

    fn notification(&self, notification: Notification) {
        self.reply.notification(notification);
    }

    fn task_created(&self, result: RawJson) {
        self.reply.task_created(result);
    }

    fn input_required(&self, result: RawJson) {
        self.reply.input_required(result);
    }
}
