//! Receives the outcome of a call.

use crate::{
    client::{ClientError, ProgressHook, events::contained},
    protocol::{RawJson, envelope::Notification},
    runtime::Promise,
};
use std::sync::Arc;

/// Receives progress and then, once, the outcome of a call that no future waits for. Called without
/// holding locks; must not block.
pub trait ReplyTo: Send + Sync + 'static {
    /// The call has completed.
    fn answered(&self, outcome: Result<RawJson, ClientError>);
    /// Returns whether the request asks for progress.
    fn wants_progress(&self) -> bool {
        false
    }
    /// Progress: the parameters of the notification.
    fn progress(&self, params: RawJson) {
        let _ = params;
    }
    /// A notification of the subscription that the request opened; never called for other requests.
    fn notification(&self, notification: Notification) {
        let _ = notification;
    }
}

/// A function that receives only the outcome.
impl<F: Fn(Result<RawJson, ClientError>) + Send + Sync + 'static> ReplyTo for F {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        self(outcome);
    }
}

/// The receiver of the outcome of a call.
pub(in crate::client) enum CallReceiver {
    /// A waiting future.
    Future {
        outcome: Promise<Result<RawJson, ClientError>>,
        on_progress: Option<ProgressHook>,
    },
    Reply(Arc<dyn ReplyTo>),
}

impl CallReceiver {
    pub(in crate::client) fn future(on_progress: Option<ProgressHook>) -> Self {
        Self::Future { outcome: Promise::default(), on_progress }
    }

    /// Waits for the outcome, if the receiver is a future.
    pub(in crate::client) async fn outcome(&self) -> Result<RawJson, ClientError> {
        match self {
            Self::Future { outcome, .. } => outcome.kept().await,
            Self::Reply(_) => std::future::pending().await,
        }
    }

    pub(in crate::client) fn answered(&self, result: Result<RawJson, ClientError>) {
        match self {
            Self::Future { outcome, .. } => outcome.keep(result),
            Self::Reply(reply) => reply.answered(result),
        }
    }

    pub(in crate::client) fn progress(&self, params: RawJson) {
        match self {
            Self::Future { on_progress: Some(hook), .. } => contained("on_progress", || hook(&params)),
            Self::Future { .. } => {}
            Self::Reply(reply) => reply.progress(params),
        }
    }

    pub(in crate::client) fn notification(&self, notification: Notification) {
        if let Self::Reply(reply) = self {
            reply.notification(notification);
        }
    }
}
