//! One call on its way through a handler.

use super::{
    asking::AskError,
    cancellation::{Cancellation, Cancelled},
    connection::Connection,
    outbound::{Outbound, Outgoing},
    outcome::Outcome,
    registry::RegisteredTool,
};
use crate::{
    engine::{CallKey, Patience, Scope},
    protocol::{RawJson, RequestId},
};
use std::{sync::Arc, time::Duration};

/// A call to answer. Dropping it unanswered fails the call.
pub struct Call {
    facts: CallFacts,
    arguments: RawJson,
    answered: bool,
}

/// What is known about a call, and what may be done while it runs. Cheap to clone.
#[derive(Clone)]
pub struct CallFacts {
    pub(super) inner: Arc<CallInner>,
}

pub(super) struct CallInner {
    pub(super) connection: Arc<Connection>,
    pub(super) key: CallKey,
    pub(super) scope: Scope,
    pub(super) tool: Arc<RegisteredTool>,
    pub(super) reply: Arc<dyn Outbound>,
    pub(super) cancellation: Cancellation,
}

impl Call {
    pub(super) fn new(inner: CallInner, arguments: RawJson) -> Self {
        Self { facts: CallFacts { inner: Arc::new(inner) }, arguments, answered: false }
    }

    /// The arguments object; valid against the input schema.
    pub fn arguments(&self) -> &RawJson {
        &self.arguments
    }

    /// Facts and means of this call, to keep while it runs.
    pub fn facts(&self) -> &CallFacts {
        &self.facts
    }

    /// Answers the call. `false`: it was cancelled or its connection is gone, and nothing was sent.
    pub fn complete(mut self, outcome: Outcome) -> bool {
        self.answered = true;
        self.facts.inner.connection.complete(&self.facts.inner, outcome)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.answered {
            let outcome = Outcome::Internal("the handler dropped the call without an answer".into());
            self.facts.inner.connection.complete(&self.facts.inner, outcome);
        }
    }
}

impl CallFacts {
    /// Where the call comes from.
    pub fn scope(&self) -> &Scope {
        &self.inner.scope
    }

    /// The name of the tool.
    pub fn tool_name(&self) -> &str {
        &self.inner.tool.name
    }

    /// Reports progress, if the client asked for it. Values that do not rise are dropped (PRG-02).
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if let Some(message) = self.inner.connection.progress_of(&self.inner, progress, total, message) {
            self.inner.reply.send(Outgoing::Notification(message));
        }
    }

    /// Sends a request to the client of this call; `asked` takes the outcome, exactly once unless this fails. Only the
    /// handshake era has such requests. `timeout` starts anew with each progress notification, up to `max`.
    ///
    /// # Errors
    /// [`AskError::Refused`] if the revision has no such request, [`AskError::Closed`] if the connection is closed.
    pub fn ask(
        &self,
        method: &str,
        params: Option<&RawJson>,
        timeout: Duration,
        max: Duration,
        asked: impl FnOnce(Result<RawJson, AskError>) + Send + 'static,
    ) -> Result<RequestId, AskError> {
        let patience = Patience { timeout, max };
        self.inner.connection.ask(&self.inner, patience, method, params, Box::new(asked))
    }

    /// Cancels a request of [`Self::ask`] and tells the client; its outcome is [`AskError::Cancelled`].
    pub fn cancel_asked(&self, id: &RequestId, reason: &str) {
        self.inner.connection.give_up(id, reason, &*self.inner.reply, AskError::Cancelled);
    }

    /// Closes the HTTP connection that waits for this call, where the client can come back for the answer: in sessions of
    /// 2025-11-25 (HTTP-27). The client is told when to ask again. Elsewhere nothing happens.
    pub fn close_stream(&self) {
        self.inner.reply.close_stream();
    }

    /// Whether the call is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancellation.is_cancelled()
    }

    /// Runs `hook` with the reason when the call is cancelled; at once if it is.
    pub fn on_cancel(&self, hook: impl FnOnce(&str) + Send + 'static) {
        self.inner.cancellation.on_cancel(Box::new(hook));
    }

    pub(super) fn cancelled(&self) -> Cancelled {
        self.inner.cancellation.cancelled()
    }
}
