//! What an async handler in Rust knows about its call.

use super::{asking::AskError, call::CallFacts};
use crate::{
    engine::Scope,
    protocol::{RawJson, Revision, method},
    runtime::Promise,
};
use std::{sync::Arc, time::Duration};

/// How long a client may take to show that it is alive.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// The call that a handler serves. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    facts: CallFacts,
}

impl Context {
    pub(super) fn new(facts: CallFacts) -> Self {
        Self { facts }
    }

    /// Reports progress, if the client asked for it. Values must rise; others are dropped.
    pub async fn progress(&self, progress: f64, total: Option<f64>) {
        self.facts.progress(progress, total, None);
    }

    /// Reports progress with a text for people.
    pub async fn progress_message(&self, progress: f64, total: Option<f64>, message: &str) {
        self.facts.progress(progress, total, Some(message));
    }

    /// Completes when the call is cancelled. A handler that does not await it is dropped at its next await.
    pub async fn cancelled(&self) {
        self.facts.cancelled().await;
    }

    /// Closes the HTTP connection that waits for this call, where the client can come back for the answer: in sessions of
    /// 2025-11-25 (HTTP-27). Elsewhere nothing happens.
    pub fn close_stream(&self) {
        self.facts.close_stream();
    }

    /// Whether the call is cancelled; for loops that do not await.
    pub fn is_cancelled(&self) -> bool {
        self.facts.is_cancelled()
    }

    /// Asks whether the client is alive. Clients of the modern era cannot be asked.
    ///
    /// # Errors
    /// As [`AskError`] says.
    pub async fn ping(&self) -> Result<(), AskError> {
        let answer = Arc::new(Promise::default());
        let kept = Arc::clone(&answer);
        self.facts.ask(method::PING, None, PING_TIMEOUT, PING_TIMEOUT, move |outcome| kept.keep(outcome))?;
        answer.kept().await.map(drop)
    }

    /// The revision that governs the call.
    pub fn revision(&self) -> Revision {
        self.scope().revision
    }

    /// The client's Implementation object, if it gave one. Self-reported: not for decisions (DISC-10).
    pub fn client_info(&self) -> Option<&RawJson> {
        self.scope().client_info.as_ref()
    }

    /// The client's capabilities object.
    pub fn client_capabilities(&self) -> &RawJson {
        &self.scope().client_capabilities
    }

    /// The request's `_meta` object.
    pub fn meta(&self) -> Option<&RawJson> {
        self.scope().meta.as_ref()
    }

    fn scope(&self) -> &Scope {
        self.facts.scope()
    }
}
