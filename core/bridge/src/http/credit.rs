//! Flow control for responses.

use crate::process::sync_primitives::Mutex;
use std::{
    future::poll_fn,
    task::{Poll, Waker},
};

/// In bytes.
const INITIAL_CREDIT: usize = 64 << 10;

/// How many more bytes the core may send.
pub(crate) struct Credit(Mutex<(usize, Option<Waker>)>);

impl Default for Credit {
    fn default() -> Self {
        Self(Mutex::new((INITIAL_CREDIT, None)))
    }
}

impl Credit {
    pub(crate) fn grant(&self, bytes: usize) {
        let waiting = {
            let mut state = self.0.lock();
            state.0 = state.0.saturating_add(bytes);
            if bytes > 0 { state.1.take() } else { None }
        };
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }

    /// Waits until there is credit, and takes at most `most`.
    pub(crate) async fn take(&self, most: usize) -> usize {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if state.0 == 0 {
                state.1 = Some(context.waker().clone());
                return Poll::Pending;
            }
            let taken = most.min(state.0);
            state.0 -= taken;
            Poll::Ready(taken)
        })
        .await
    }
}
