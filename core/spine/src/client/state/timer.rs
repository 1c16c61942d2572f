//! The single timer of a client, which sleeps until the earliest deadline.

use crate::{
    on_drop::OnDrop,
    race::until,
    runtime::{BoxedTask, Runtime, Watched},
};
use std::{future::poll_fn, mem, sync::Arc, task::Poll, time::Instant};

/// A timer. Its task ends when it is dropped.
#[derive(Default)]
pub(in crate::client) struct Timer(Arc<Watched<TimerState>>);

#[derive(Debug, Default)]
struct TimerState {
    at: Option<Instant>,
    started: bool,
    ended: bool,
}

impl Timer {
    /// Sets the deadline, unless an earlier one is set. Returns whether [`Self::task`] has to be
    /// spawned, which is only once.
    pub(in crate::client) fn aim(&self, at: Instant) -> bool {
        if self.0.with(|state| state.ended || state.at.is_some_and(|earlier| earlier <= at)) {
            return false;
        }
        self.0.change(|state| {
            state.at = Some(state.at.map_or(at, |other| other.min(at)));
            !mem::replace(&mut state.started, true)
        })
    }

    /// The task of the timer. It calls `due` whenever the deadline has passed, and `ended` if the
    /// runtime drops it because it has ended.
    pub(in crate::client) fn task(
        &self,
        runtime: &Arc<dyn Runtime>,
        due: impl Fn() + Send + 'static,
        ended: impl FnOnce() + Send + 'static,
    ) -> BoxedTask {
        let (timer, dropped, runtime) = (Arc::clone(&self.0), Arc::clone(&self.0), Arc::clone(runtime));
        let on_drop = OnDrop::new(move || {
            if !dropped.with(|state| state.ended) {
                ended();
            }
        });
        Box::pin(async move {
            let _on_drop = on_drop;
            while is_due(&timer, &*runtime).await {
                due();
            }
        })
    }

    /// Stops the timer.
    pub(in crate::client) fn end(&self) {
        self.0.change(|state| state.ended = true);
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the deadline. Returns `false` if the timer was stopped.
async fn is_due(timer: &Watched<TimerState>, runtime: &dyn Runtime) -> bool {
    loop {
        let aimed = |state: &mut TimerState| match state.at {
            _ if state.ended => Poll::Ready(None),
            Some(at) => Poll::Ready(Some(at)),
            None => Poll::Pending,
        };
        let Some(at) = poll_fn(|context| timer.poll(context, aimed)).await else { return false };
        let is_at = |state: &mut TimerState| !state.ended && state.at == Some(at);
        let moved = |state: &mut TimerState| if is_at(state) { Poll::Pending } else { Poll::Ready(()) };
        if until(runtime, at, poll_fn(|context| timer.poll(context, moved))).await.is_none() {
            // A deadline that was moved in the meantime is handled by the same firing.
            timer.with(|state| state.at = None);
            return true;
        }
    }
}
