//! The body of a request that a web framework brings in pieces.

use crate::sync::Mutex;
use bytes::Bytes;
use http_body::{Body, Frame};
use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// The end that is read.
pub struct FedBody(Arc<Mutex<BodyState>>);

/// The end that is fed.
#[derive(Debug)]
pub struct BodyFeed {
    state: Arc<Mutex<BodyState>>,
    max: usize,
}

#[derive(Debug, Default)]
struct BodyState {
    pieces: VecDeque<Bytes>,
    /// How much was fed in all.
    fed: usize,
    ended: bool,
    unwanted: bool,
    reader: Option<Waker>,
}

impl BodyFeed {
    /// A body of which no more is taken once it is longer than `max`: whoever reads it will see
    /// that and refuse it.
    pub fn new(max: usize) -> (Self, FedBody) {
        let state = Arc::<Mutex<BodyState>>::default();
        (Self { state: Arc::clone(&state), max }, FedBody(state))
    }

    /// The next piece; `end`: it is the last. `false`: the rest is not wanted any more.
    pub fn feed(&self, piece: Bytes, end: bool) -> bool {
        let reader = {
            let mut state = self.state.lock();
            if state.unwanted || state.ended {
                return false;
            }
            state.fed = state.fed.saturating_add(piece.len());
            state.ended = end || state.fed > self.max;
            if !piece.is_empty() {
                state.pieces.push_back(piece);
            }
            state.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
        true
    }
}

impl Body for FedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut state = self.0.lock();
        if let Some(piece) = state.pieces.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        let state = self.0.lock();
        state.ended && state.pieces.is_empty()
    }
}

impl Drop for FedBody {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.unwanted = true;
        state.pieces.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn pieces_come_through_in_order_until_the_last() {
        let (feed, body) = BodyFeed::new(10);
        assert!(feed.feed(Bytes::from_static(b"ab"), false));
        let reading = tokio::spawn(async { body.collect().await.unwrap().to_bytes() });
        tokio::task::yield_now().await;
        assert!(feed.feed(Bytes::new(), false));
        assert!(feed.feed(Bytes::from_static(b"cd"), true));
        assert_eq!(reading.await.unwrap(), "abcd");
        assert!(!feed.feed(Bytes::from_static(b"more"), true));
    }

    #[test]
    fn a_body_that_is_too_long_or_that_nobody_reads_is_not_kept() {
        let (feed, body) = BodyFeed::new(3);
        assert!(feed.feed(Bytes::from_static(b"abcd"), false));
        assert!(!feed.feed(Bytes::from_static(b"e"), false));
        assert_eq!(feed.state.lock().pieces.len(), 1);
        drop(body);
        assert!(feed.state.lock().pieces.is_empty());
        let (feed, body) = BodyFeed::new(3);
        drop(body);
        assert!(!feed.feed(Bytes::from_static(b"a"), false));
    }
}
