//! Who gets the answer of a request.

use super::{ClientError, options::ProgressHook};
use crate::protocol::RawJson;
use parking_lot::Mutex;
use std::{
    future::poll_fn,
    task::{Poll, Waker},
};

/// Takes the outcome of one request, once, and its progress before that. Called without locks held; must not block.
pub(crate) trait ReplyTo: Send + Sync + 'static {
    /// The outcome.
    fn answered(&self, outcome: Result<RawJson, ClientError>);
    /// Progress: the parameters of the notification.
    fn progress(&self, params: RawJson);
}

impl std::fmt::Debug for dyn ReplyTo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReplyTo")
    }
}

/// A reply that a future waits for.
pub(super) struct Waiter {
    on_progress: Option<ProgressHook>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    outcome: Option<Result<RawJson, ClientError>>,
    waker: Option<Waker>,
}

impl Waiter {
    pub(super) fn new(on_progress: Option<ProgressHook>) -> Self {
        Self { on_progress, state: Mutex::default() }
    }

    /// Completes with the outcome.
    pub(super) async fn outcome(&self) -> Result<RawJson, ClientError> {
        poll_fn(|context| {
            let mut state = self.state.lock();
            match state.outcome.take() {
                Some(outcome) => Poll::Ready(outcome),
                None => {
                    state.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl ReplyTo for Waiter {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let waker = {
            let mut state = self.state.lock();
            state.outcome = Some(outcome);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn progress(&self, params: RawJson) {
        if let Some(hook) = &self.on_progress {
            hook(&params);
        }
    }
}
