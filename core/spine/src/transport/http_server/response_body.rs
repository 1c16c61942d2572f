//! Response bodies.

use super::response_stream::{StreamItem, StreamReader};
use crate::{
    http::{replay::EventId, sse},
    on_drop::BoxedOnDrop,
};
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep};

/// The body of a response: one message, possibly empty, or an event stream.
pub struct HttpBody(BodyKind);

enum BodyKind {
    Full(Full<Bytes>),
    Events(Box<Events>),
}

/// An event stream. It ends after the last response (HTTP-21).
pub(super) struct Events {
    reader: StreamReader,
    /// Written together with the head.
    first: BytesMut,
    keep_alive: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// The expiry of the token that the stream was opened with.
    end: Option<Pin<Box<Sleep>>>,
    ended: bool,
    _session: Option<SessionEnd>,
}

/// Ends an HTTP+SSE session with its stream.
pub(super) type SessionEnd = BoxedOnDrop;

/// The rest is left for the next frame, so that a stream does not hold everything in memory twice.
const FRAME_BYTES: usize = 64 << 10;

impl HttpBody {
    pub(super) fn full(message: Bytes) -> Self {
        Self(BodyKind::Full(Full::new(message)))
    }

    /// Number of bytes ready to be read.
    pub(super) fn ready_bytes(&self) -> usize {
        match &self.0 {
            BodyKind::Full(message) => message.size_hint().lower() as usize,
            BodyKind::Events(events) => events.first.len(),
        }
    }

    pub(super) fn events(events: Events) -> Self {
        Self(BodyKind::Events(Box::new(events)))
    }
}

impl Events {
    pub(super) fn new(reader: StreamReader, keep_alive: Duration, session: Option<SessionEnd>) -> Self {
        let end = reader.lifetime.map(|lifetime| Box::pin(tokio::time::sleep(lifetime)));
        Self { reader, first: BytesMut::new(), keep_alive, timer: None, end, ended: false, _session: session }
    }

    /// Begins with an event that lets the client resume even if nothing else arrives (HTTP-26).
    pub(super) fn primed(mut self, position: Option<EventId>) -> Self {
        if let Some(position) = position {
            sse::put_priming(&mut self.first, position);
        }
        self
    }

    /// Begins with the URI to post messages to (SSE-02).
    pub(super) fn with_endpoint(mut self, uri: &str) -> Self {
        sse::put_endpoint(&mut self.first, uri);
        self
    }

    /// Begins with an item that was already read, or with a keep-alive.
    pub(super) fn starting_with(mut self, item: Option<StreamItem>) -> Self {
        match item {
            Some(item) => put(&mut self.first, item),
            None if self.first.is_empty() => self.first.extend_from_slice(sse::KEEP_ALIVE),
            None => {}
        }
        self
    }

    /// Puts everything that is ready into one frame.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut frame = std::mem::take(&mut self.first);
        self.ended |= self.end.as_mut().is_some_and(|end| end.as_mut().poll(context).is_ready());
        while frame.len() < FRAME_BYTES && !self.ended {
            match self.reader.poll_next(context) {
                Poll::Ready(Some(item)) => put(&mut frame, item),
                Poll::Ready(None) => self.ended = true,
                Poll::Pending => break,
            }
        }
        if !frame.is_empty() {
            self.ended |= self.reader.is_done();
            if let Some(timer) = &mut self.timer {
                timer.as_mut().reset(Instant::now() + self.keep_alive);
            }
            return Poll::Ready(Some(frame.freeze()));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        let keep_alive = self.keep_alive;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(keep_alive)));
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        timer.as_mut().reset(Instant::now() + keep_alive);
        // Polled again, so that it wakes this task when it is next due.
        let _ = timer.as_mut().poll(context);
        Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)))
    }
}

fn put(stream: &mut BytesMut, item: StreamItem) {
    match item {
        StreamItem::Message(id, outgoing) => {
            if let Some(message) = outgoing.message() {
                sse::put_event(stream, id, message);
            }
        }
        StreamItem::HungUp(retry) => sse::put_retry(stream, retry),
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            BodyKind::Full(message) => Pin::new(message).poll_frame(context),
            BodyKind::Events(events) => events.poll(context).map(|frame| frame.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyKind::Full(message) => message.is_end_stream(),
            BodyKind::Events(events) => events.ended && events.first.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Full(message) => message.size_hint(),
            BodyKind::Events(_) => SizeHint::default(),
        }
    }
}
