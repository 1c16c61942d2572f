//! Combinators that race futures.

use crate::{
    engine::later,
    runtime::{BoxedTask, Runtime},
};
use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

/// Runs a future until a deadline.
pub async fn until<T>(runtime: &dyn Runtime, at: Instant, future: impl Future<Output = T>) -> Option<T> {
    unless(runtime.sleep_until(at), future).await
}

/// Runs a future for at most a time.
pub async fn within<T>(runtime: &dyn Runtime, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    until(runtime, later(runtime.now(), limit), future).await
}

/// Runs a future until another one completes.
pub async fn unless<T>(end: impl Future<Output = ()>, future: impl Future<Output = T>) -> Option<T> {
    let (mut end, mut future) = (pin!(end), pin!(future));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => end.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// The value of a future, if it needs no waiting. Otherwise, it must still be run.
pub fn at_once<T>(future: &mut BoxedTask<T>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Runs futures concurrently. Returns all values, or the first error.
pub async fn all<T, E>(mut tasks: Vec<BoxedTask<Result<T, E>>>) -> Result<Vec<T>, E> {
    let mut values: Vec<Option<T>> = tasks.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (task, value) in tasks.iter_mut().zip(&mut values) {
            if value.is_none()
                && let Poll::Ready(outcome) = task.as_mut().poll(context)
            {
                match outcome {
                    Ok(done) => *value = Some(done),
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        }
        if values.iter().all(Option::is_some) { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await?;
    Ok(values.into_iter().flatten().collect())
}

/// Runs a future. Returns `None` if it panics.
pub async fn guarded<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        polled.map_or(Poll::Ready(None), |polled| polled.map(Some))
    })
    .await
}
