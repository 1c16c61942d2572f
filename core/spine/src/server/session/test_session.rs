//! Test sessions: they record failures that a client would only find in the server's log.

use crate::{server::handlers::ToolError, sync::Mutex};
use std::sync::Arc;

/// Maximum recorded failures; later ones are only logged.
const MAX_FAILURES: usize = 1_000;

/// A handler that failed without a message for its client: an internal error or a panic.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HandlerFailure {
    /// The name of the tool or prompt, or the URI of the resource.
    pub name: String,
    /// The failure. [`ToolError::internal_error`] is the error of the handler itself.
    pub error: Arc<ToolError>,
}

/// A conversation of a test. Handlers that ask its client run again from the top on every revision.
#[derive(Debug, Default)]
pub struct TestSession(Mutex<Vec<HandlerFailure>>);

impl TestSession {
    pub(super) fn note(&self, name: &str, error: &Arc<ToolError>) {
        let mut failures = self.0.lock();
        if failures.len() < MAX_FAILURES {
            failures.push(HandlerFailure { name: name.to_owned(), error: Arc::clone(error) });
        }
    }

    /// Takes the failures recorded so far.
    pub fn take_failures(&self) -> Vec<HandlerFailure> {
        std::mem::take(&mut *self.0.lock())
    }
}
