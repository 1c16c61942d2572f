//! The single timer of a client, which sleeps until the earliest deadline.

use crate::{
    on_drop::OnDrop,
    runtime::{BoxedTask, Runtime, change},
    sync::Mutex,
};
use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker, ready},
    time::Instant,
};

/// A timer. Its task ends when it is dropped.
#[derive(Default)]
pub(super) struct Timer(Arc<Mutex<TimerState>>);

#[derive(Default)]
struct TimerState {
    at: Option<Instant>,
    started: bool,
    ended: bool,
    waker: Option<Waker>,
}

impl Timer {
    /// Sets the deadline, unless an earlier one is set. If the timer's task is not running yet,
    /// returns it. It calls the first function of `calls` whenever the deadline has passed, and the
    /// second one if the runtime drops it because it has ended.
    pub(super) fn aim<D: Fn() + Send + 'static, E: FnOnce() + Send + 'static>(
        &self,
        at: Instant,
        runtime: &Arc<dyn Runtime>,
        calls: impl FnOnce() -> (D, E),
    ) -> Option<BoxedTask> {
        let waker = {
            let mut state = self.0.lock();
            if state.ended || state.at.is_some_and(|earlier| earlier <= at) {
                return None;
            }
            state.at = Some(at);
            if !std::mem::replace(&mut state.started, true) {
                let ((due, ended), timer, runtime) = (calls(), Arc::clone(&self.0), Arc::clone(runtime));
                let dropped = Arc::clone(&self.0);
                let on_drop = OnDrop::new(move || {
                    if !dropped.lock().ended {
                        ended();
                    }
                });
                return Some(Box::pin(async move {
                    let _on_drop = on_drop;
                    while is_due(&timer, &*runtime).await {
                        due();
                    }
                }));
            }
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
        None
    }

    /// Stops the timer.
    pub(super) fn end(&self) {
        change(&self.0, |state| &mut state.waker, |state| state.ended = true);
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the deadline. Returns `false` if the timer was stopped.
async fn is_due(timer: &Mutex<TimerState>, runtime: &dyn Runtime) -> bool {
    let mut asleep: Option<(Instant, BoxedTask)> = None;
    poll_fn(|context| {
        let at = {
            let mut state = timer.lock();
            if state.ended {
                return Poll::Ready(false);
            }
            state.waker = Some(context.waker().clone());
            state.at
        };
        let Some(at) = at else { return Poll::Pending };
        let sleep = match &mut asleep {
            Some((until, sleep)) if *until == at => sleep,
            _ => &mut asleep.insert((at, runtime.sleep_until(at))).1,
        };
        ready!(sleep.as_mut().poll(context));
        let mut state = timer.lock();
        // A deadline that was moved in the meantime is handled by the same firing.
        state.at = None;
        Poll::Ready(true)
    })
    .await
}
