//! The telemetry of a call.

use crate::{
    client::ClientError,
    protocol::{RawJson, SentTrace},
    telemetry::{NetworkFacts, OperationEnd, RunningOperation},
};
use std::sync::Arc;

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
