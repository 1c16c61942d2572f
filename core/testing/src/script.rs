//! Scripted answers of the user and the model.

use crate::{answers::Lines, test_client::TestClient};
use std::sync::Arc;
use trunkline_core::{
    RevisionChoice,
    client::{Client, ClientError, ClientOptions, Connector},
    extension::{MemoryConnector, TestSession, sync::Mutex},
    protocol::{
        Revision,
        model::{CreateMessageResult, ElicitResult, Root},
    },
    server::Server,
    transport::{Target, TokioRuntime},
};

/// The answers of the user and the model in a test, in order.
///
/// A client with a script declares what the script answers. A request fails if no answer is left.
/// Handlers that ask their client run again from the top on every revision, as on 2026-07-28, which
/// reveals side effects before a question
/// ([`ServerOptions::rerun_handlers`](trunkline_core::ServerOptions::rerun_handlers)).
///
/// ```
/// use serde_json::json;
/// use trunkline::{prelude::*, testing::Script};
///
/// async fn failing() -> Result<String, CallError> {
///     Ok(std::fs::read_to_string("missing.txt")?)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), trunkline::ClientError> {
/// let server = Server::builder("reader", "1.0.0").tool("read", "Read a file.", failing).build();
/// let client = Script::new().connect(&server).await?;
/// assert!(client.call_tool("read", json!({})).await?.is_error);
/// // The client only gets an internal error; the test sees the error itself.
/// assert!(client.failures()[0].error.internal_error().is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Script {
    lines: Lines,
    options: ClientOptions,
}

impl Script {
    /// Creates a script without answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the answer to the next form.
    pub fn on_elicit(mut self, answer: ElicitResult) -> Self {
        self.lines.forms.push_back(answer);
        self
    }

    /// Adds the answer to the next page.
    pub fn on_elicit_url(mut self, answer: ElicitResult) -> Self {
        self.lines.pages.push_back(answer);
        self
    }

    /// Adds the answer of the model to the next conversation, with tools or without.
    pub fn on_sample(mut self, answer: CreateMessageResult) -> Self {
        self.lines.samples.push_back(answer);
        self
    }

    /// Sets the roots that the server may list; connecting fails if a URI does not begin with
    /// `file://`.
    #[expect(deprecated, reason = "older revisions have it")]
    pub fn roots(self, roots: impl IntoIterator<Item = Root>) -> Self {
        Self { options: self.options.with_roots(roots.into_iter().collect::<Vec<_>>()), ..self }
    }

    /// Pins the revision. Default: the newest.
    pub fn revision(self, revision: Revision) -> Self {
        Self { options: self.options.with_revision(RevisionChoice::Pinned(revision)), ..self }
    }

    /// Sets the options of the client, including their revision. The handlers of the script replace
    /// theirs; so do its roots if the options have none.
    #[expect(deprecated, reason = "older revisions have it")]
    pub fn options(self, options: ClientOptions) -> Self {
        let roots = options.roots.clone().or(self.options.roots);
        Self { options: options.with_roots(roots), ..self }
    }

    /// Connects a client with this script to a server in memory.
    ///
    /// # Errors
    /// As for [`Client::connect`].
    pub async fn connect(self, server: &Server) -> Result<TestClient, ClientError> {
        let Self { lines, options } = self;
        let lines = Arc::new(Mutex::new(lines));
        let test_session = Arc::new(TestSession::default());
        let connector = MemoryConnector::new(server.clone(), TokioRuntime::current()).in_test_session(&test_session);
        let connector: Arc<dyn Connector> = Arc::new(connector);
        let options = options.with_handlers(Lines::handlers(&lines));
        let client = Client::connect_with(Target::from(connector), options, ()).await?;
        Ok(TestClient { client, lines, test_session })
    }
}
