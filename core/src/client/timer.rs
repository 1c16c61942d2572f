//! The single timer of a client, which sleeps until the earliest deadline.

use crate::{
    runtime::{BoxedTask, Runtime},
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

/// Why a timer fired.
pub(super) enum TimerCall {
    /// The deadline has passed.
    Due,
    /// The runtime has dropped the timer's task because it has ended.
    RuntimeEnded,
}

impl Timer {
    /// Sets the deadline, unless an earlier one is set. Returns the task that calls `fire`, if it
    /// is not running yet.
    pub(super) fn aim<F: Fn(TimerCall) + Send + 'static>(
        &self,
        at: Instant,
        runtime: &Arc<dyn Runtime>,
        fire: impl FnOnce() -> F,
    ) -> Option<BoxedTask> {
        let waker = {
            let mut state = self.0.lock();
            if state.ended || state.at.is_some_and(|earlier| earlier <= at) {
                return None;
            }
            state.at = Some(at);
            if !std::mem::replace(&mut state.started, true) {
                let (task, runtime) = (TimerTask { state: Arc::clone(&self.0), fire: fire() }, Arc::clone(runtime));
                return Some(Box::pin(async move {
                    while is_due(&task.state, &*runtime).await {
                        (task.fire)(TimerCall::Due);
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
        let waker = {
            let mut state = self.0.lock();
            state.ended = true;
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.end();
    }
}

struct TimerTask<F: Fn(TimerCall)> {
    state: Arc<Mutex<TimerState>>,
    fire: F,
}

impl<F: Fn(TimerCall)> Drop for TimerTask<F> {
    fn drop(&mut self) {
        let ended = self.state.lock().ended;
        if !ended {
            (self.fire)(TimerCall::RuntimeEnded);
        }
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
