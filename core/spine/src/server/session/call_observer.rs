//! The observers of a call.

use crate::{
    protocol::{RawJson, RpcError},
    telemetry::{OperationEnd, RunningOperation, excerpt},
};
use std::sync::Arc;
use tracing::Span;

/// The observers of a call: its telemetry, if there is a receiver, and its tracing span.
#[derive(Clone)]
pub(in crate::server) struct CallObserver {
    operation: Option<Arc<RunningOperation>>,
    span: Span,
}

impl CallObserver {
    pub(super) fn new(operation: Option<RunningOperation>) -> Self {
        Self { operation: operation.map(Arc::new), span: Span::none() }
    }

    /// The same observer with the span of its request, within that of the transport.
    pub(in crate::server) fn with_span(self, transport: Option<&Span>, open: impl FnOnce() -> Span) -> Self {
        let mut span = Span::none();
        self.run(|| span = transport.unwrap_or(&Span::none()).in_scope(open));
        Self { span, ..self }
    }

    /// Records the name of the called feature.
    pub(in crate::server) fn named(&self, name: &str) {
        self.span.record("name", excerpt(name));
    }

    /// Runs a part of the call.
    pub(in crate::server) fn run(&self, work: impl FnOnce()) {
        let work = || self.span.in_scope(work);
        match &self.operation {
            None => work(),
            Some(operation) => {
                operation.run(work);
            }
        }
    }

    /// Runs a part of the call whose telemetry context is already current.
    pub(in crate::server) fn in_span<R>(&self, work: impl FnOnce() -> R) -> R {
        self.span.in_scope(work)
    }

    /// The call has ended with this result. Only the first end counts.
    pub(in crate::server) fn answered(&self, method: &str, result: &Result<RawJson, RpcError>) {
        self.end(|| OperationEnd::answered(method, result));
    }

    /// The call has ended without a result.
    pub(in crate::server) fn cancelled(&self) {
        self.end(OperationEnd::cancelled);
    }

    /// The stream of the call has ended.
    pub(super) fn closed(&self) {
        self.end(OperationEnd::default);
    }

    fn end(&self, end: impl FnOnce() -> OperationEnd) {
        if let Some(operation) = &self.operation {
            operation.end(end());
        }
    }

    pub(in crate::server) fn operation(&self) -> Option<&RunningOperation> {
        self.operation.as_deref()
    }
}
