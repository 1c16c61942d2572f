//! The client of a test.

use super::{answered::AnsweredRequest, answers::Lines};
use crate::{
    client::Client,
    server::{HandlerFailure, TestSession},
    sync::Mutex,
};
use std::{error::Error, fmt, ops::Deref, sync::Arc};

/// A client in memory that answers from a [`Script`](super::Script). It is used as the [`Client`]
/// that it derefs to.
pub struct TestClient {
    client: Client,
    lines: Arc<Mutex<Lines>>,
    test_session: Arc<TestSession>,
}

/// A test that does not fit its script: see [`TestClient::finish`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedTest(Vec<String>);

impl TestClient {
    pub(super) fn new(client: Client, lines: Arc<Mutex<Lines>>, test_session: Arc<TestSession>) -> Self {
        Self { client, lines, test_session }
    }

    /// The requests of the server that were answered so far, in their order.
    pub fn asked(&self) -> Vec<AnsweredRequest> {
        self.lines.lock().asked().to_vec()
    }

    /// The failures of handlers since the last time, of which a client is not told: internal errors
    /// and panics.
    pub fn failures(&self) -> Vec<HandlerFailure> {
        self.test_session.take_failures()
    }

    /// Closes the client at the end of a test.
    ///
    /// # Errors
    /// If answers of the script were not asked for, if there was none for a request, or if a
    /// handler failed that [`Self::failures`] was not asked for.
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

impl fmt::Display for UnfinishedTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl Error for UnfinishedTest {}
