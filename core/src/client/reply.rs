//! Receivers of the answer of a request.

use super::{error::ClientError, options::ProgressHook};
use crate::{
    protocol::{RawJson, envelope::Notification},
    runtime::Promise,
};
use std::sync::Arc;

/// Takes the outcome of one request, once, and its progress before that. Called without locks held;
/// must not block.
pub trait ReplyTo: Send + Sync + 'static {
    /// The outcome.
    fn answered(&self, outcome: Result<RawJson, ClientError>);
    /// Progress: the parameters of the notification.
    fn progress(&self, params: RawJson);
    /// A notification of the subscription that the request opened; other requests get none.
    fn notification(&self, notification: Notification) {
        let _ = notification;
    }

    /// The server made a task of the request. By default that is an invalid response.
    #[doc(hidden)]
    fn task_created(&self, _result: RawJson) {
        self.answered(Err(ClientError::InvalidResponse("it makes a task of a request that cannot be one".to_owned())));
    }

    /// The server needs input first. By default that is an invalid response.
    #[doc(hidden)]
    fn input_required(&self, _result: RawJson) {
        self.answered(Err(ClientError::InvalidResponse("it asks for input that this request cannot have".to_owned())));
    }
}

impl std::fmt::Debug for dyn ReplyTo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReplyTo")
    }
}

/// A hook that hands progress on.
pub(super) fn forwarding(reply: Arc<dyn ReplyTo>) -> ProgressHook {
    Arc::new(move |params: &RawJson| reply.progress(params.clone()))
}

/// A reply that a future waits for.
pub(super) struct Waiter {
    on_progress: Option<ProgressHook>,
    promise: Promise<Result<RawJson, ClientError>>,
}

impl Waiter {
    pub(super) fn new(on_progress: Option<ProgressHook>) -> Self {
        Self { on_progress, promise: Promise::default() }
    }

    /// Completes with the outcome.
    pub(super) async fn outcome(&self) -> Result<RawJson, ClientError> {
        self.promise.kept().await
    }
}

impl ReplyTo for Waiter {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        self.promise.keep(outcome);
    }

    fn progress(&self, params: RawJson) {
        if let Some(hook) = &self.on_progress {
            hook(&params);
        }
    }
}
