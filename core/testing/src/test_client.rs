//! The client in a test.

use crate::answers::{AnsweredRequest, Lines};
use std::{ops::Deref, sync::Arc};
use trunkline_core::{
    client::Client,
    extension::{TestSession, sync::Mutex},
    server::HandlerFailure,
};

/// An in-memory client that answers from a [`Script`](crate::Script). It derefs to [`Client`].
pub struct TestClient {
    pub(super) client: Client,
    pub(super) lines: Arc<Mutex<Lines>>,
    pub(super) test_session: Arc<TestSession>,
}

/// A test that did not match its script; see [`TestClient::finish`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct UnfinishedTest(Vec<String>);

impl TestClient {
    /// The server requests answered so far, in order.
    pub fn answered_requests(&self) -> Vec<AnsweredRequest> {
        self.lines.lock().answered.clone()
    }

    /// Takes the failures of handlers that are not reported to clients: internal errors and panics.
    pub fn failures(&self) -> Vec<HandlerFailure> {
        self.test_session.take_failures()
    }

    /// Ends the test and closes the client.
    ///
    /// # Errors
    /// If answers of the script are left, if there was none for a request, or if a handler failed
    /// and you have not called [`Self::failures`].
    pub async fn finish(self) -> Result<(), UnfinishedTest> {
        self.client.close().await;
        let failures = self.test_session.take_failures();
        let failures = failures.iter().map(|failure| format!("{} failed: {}", failure.name, failure.error));
        let faults: Vec<_> = failures.chain(self.lines.lock().faults()).collect();
        if faults.is_empty() { Ok(()) } else { Err(UnfinishedTest(faults)) }
    }
}

impl Deref for TestClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
