//! Request bodies that a web framework passes in chunks.

use super::admission::SMALL_BODY;
use crate::runtime::Watched;
use bytes::Bytes;
use http_body::{Body, Frame};
use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

/// Memory budget for the unread chunks of all bodies of an endpoint. Their senders may be unknown,
/// because bodies arrive while their access token is still being verified. Bytes that have been
/// read count in `admission.rs`.
#[derive(Debug)]
pub(crate) struct FeedRoom {
    max: usize,
    waiting: AtomicUsize,
}

/// The reading end.
pub struct FedBody(pub(super) Arc<FedPieces>);

/// The writing end.
#[derive(Debug)]
pub struct BodyFeed {
    shared: Arc<FedPieces>,
    max: usize,
}

#[derive(Debug)]
pub(super) struct FedPieces {
    state: Watched<BodyState>,
    room: Arc<FeedRoom>,
}

#[derive(Debug, Default)]
struct BodyState {
    /// The unread bytes.
    pieces: VecDeque<Bytes>,
    /// Total number of bytes written.
    fed: usize,
    ended: bool,
    unwanted: bool,
    /// True if the budget was exhausted.
    crowded_out: bool,
}

impl FeedRoom {
    /// Creates a budget of this many bytes.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, waiting: AtomicUsize::new(0) })
    }

    /// Reserves memory. Small bodies may use a reserve that large ones may not.
    fn take(&self, bytes: usize, of_body: usize) -> bool {
        let max = if of_body <= SMALL_BODY { self.max } else { self.max - self.max / 4 };
        let take = |waiting: usize| waiting.checked_add(bytes).filter(|sum| *sum <= max);
        self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl BodyFeed {
    /// Creates a body. Chunks beyond `max` are not accepted; the reader will notice and refuse it.
    /// Nor are chunks that don't fit in `room`; see [`FedPieces::is_crowded_out`].
    pub(crate) fn new(max: usize, room: &Arc<FeedRoom>) -> (Self, FedBody) {
        let shared = Arc::new(FedPieces { state: Watched::default(), room: Arc::clone(room) });
        (Self { shared: Arc::clone(&shared), max }, FedBody(shared))
    }

    /// Passes the next chunk; `end` marks the last. Returns `false` if the rest is not needed.
    pub fn feed(&self, piece: Bytes, end: bool) -> bool {
        let FedPieces { state, room } = &*self.shared;
        let feed = |state: &mut BodyState| {
            if state.unwanted || state.ended {
                return false;
            }
            state.fed = state.fed.saturating_add(piece.len());
            state.ended = end || state.fed > self.max;
            let wanted = room.take(piece.len(), state.fed);
            if !wanted {
                state.crowded_out = true;
                state.ended = true;
                self.shared.give_up(state);
            } else if !piece.is_empty() {
                state.pieces.push_back(piece);
            }
            wanted
        };
        state.change(feed)
    }
}

impl FedPieces {
    /// Returns whether a truncated body was cut off because the budget was exhausted.
    pub(super) fn is_crowded_out(&self) -> bool {
        self.state.with(|state| state.crowded_out)
    }

    /// Stops reading it.
    fn give_up(&self, state: &mut BodyState) {
        state.unwanted = true;
        self.room.give_back(state.pieces.drain(..).map(|piece| piece.len()).sum());
    }
}

impl Body for FedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.state.poll(context, |state| {
            let Some(piece) = state.pieces.pop_front() else {
                return if state.ended { Poll::Ready(None) } else { Poll::Pending };
            };
            self.0.room.give_back(piece.len());
            Poll::Ready(Some(Ok(Frame::data(piece))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.state.with(|state| state.ended && state.pieces.is_empty())
    }
}

impl Drop for FedBody {
    fn drop(&mut self) {
        self.0.state.with(|state| self.0.give_up(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    fn body(max: usize) -> (BodyFeed, FedBody) {
        BodyFeed::new(max, &FeedRoom::new(1000))
    }

    #[tokio::test]
    async fn pieces_arrive_in_order_until_the_last() {
        let (feed, body) = body(10);
        assert!(feed.feed(Bytes::from_static(b"ab"), false));
        let reading = tokio::spawn(async { body.collect().await.unwrap().to_bytes() });
        tokio::task::yield_now().await;
        assert!(feed.feed(Bytes::new(), false));
        assert!(feed.feed(Bytes::from_static(b"cd"), true));
        assert_eq!(reading.await.unwrap(), "abcd");
        assert!(!feed.feed(Bytes::from_static(b"more"), true));
        assert_eq!(feed.shared.room.waiting.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_body_that_is_too_long_or_that_nobody_reads_is_not_kept() {
        let (feed, fed) = body(3);
        assert!(feed.feed(Bytes::from_static(b"abcd"), false));
        assert!(!feed.feed(Bytes::from_static(b"e"), false));
        assert_eq!(feed.shared.state.with(|state| state.pieces.len()), 1);
        drop(fed);
        assert!(feed.shared.state.with(|state| state.pieces.is_empty()));
        assert_eq!(feed.shared.room.waiting.load(Ordering::Relaxed), 0);
        let (feed, fed) = body(3);
        drop(fed);
        assert!(!feed.feed(Bytes::from_static(b"a"), false));
    }

    #[test]
    fn bodies_that_nobody_has_read_are_bounded_together() {
        const LARGE: usize = 100 << 10;
        let piece = |bytes: usize| Bytes::from(vec![b'x'; bytes]);
        let room = FeedRoom::new(4 * LARGE);
        let new = || BodyFeed::new(10 * LARGE, &room);
        let waiting: Vec<_> = (0..3).map(|_| new()).collect();
        assert!(waiting.iter().all(|(feed, _)| feed.feed(piece(LARGE), false)));
        let (feed, fed) = new();
        assert!(!feed.feed(piece(LARGE), false), "a quarter is for small ones");
        assert!(fed.0.is_crowded_out() && fed.is_end_stream() && !waiting[0].1.0.is_crowded_out());
        let (small, read) = new();
        assert!(small.feed(piece(1000), true) && !read.0.is_crowded_out());
        assert!(!waiting[0].0.feed(piece(1), false), "what came of it is dropped");
        assert_eq!(room.waiting.load(Ordering::Relaxed), 2 * LARGE + 1000);
        drop((waiting, read));
        assert_eq!(room.waiting.load(Ordering::Relaxed), 0);
    }
}
