//! Futures that end when another does.

use crate::runtime::Runtime;
use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Instant,
};

/// A future that ends at a time, whichever comes first.
pub(super) async fn until<T>(runtime: &dyn Runtime, at: Instant, future: impl Future<Output = T>) -> Option<T> {
    unless(runtime.sleep_until(at), future).await
}

/// A future that ends when another does, whichever comes first.
pub(super) async fn unless<T>(end: impl Future<Output = ()>, future: impl Future<Output = T>) -> Option<T> {
    let (mut end, mut future) = (pin!(end), pin!(future));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => end.as_mut().poll(context).map(|()| None),
    })
    .await
}
