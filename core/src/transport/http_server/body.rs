//! The bodies of responses.

use super::{exchange::Reader, mailbox::MailboxReader, service::OpenStream};
use crate::{http::sse, server::Outgoing};
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep};

/// The body of a response: nothing, one message, or an event stream.
pub struct HttpBody(Kind);

enum Kind {
    Empty,
    Full(Bytes),
    Events(Box<Events>),
}

/// A stream of messages. It ends after the last answer (HTTP-21).
pub(super) struct Events {
    source: Source,
    /// Goes out with the head, in one write.
    first: BytesMut,
    keep_alive: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    ended: bool,
    _open: OpenStream,
}

/// Where the messages of a stream come from.
pub(super) enum Source {
    Exchange(Reader),
    Mailbox(MailboxReader),
}

/// More is left for the next frame, so that one stream does not hold everything in memory twice.
const FRAME_BYTES: usize = 64 << 10;

impl HttpBody {
    pub(super) fn empty() -> Self {
        Self(Kind::Empty)
    }

    pub(super) fn full(message: Bytes) -> Self {
        Self(Kind::Full(message))
    }

    pub(super) fn events(events: Events) -> Self {
        Self(Kind::Events(Box::new(events)))
    }
}

impl Events {
    pub(super) fn new(source: Source, keep_alive: Duration, open: OpenStream) -> Self {
        Self { source, first: BytesMut::new(), keep_alive, timer: None, ended: false, _open: open }
    }

    /// A message that was read already.
    pub(super) fn starting_with(mut self, outgoing: Option<Outgoing>) -> Self {
        match outgoing {
            Some(outgoing) => put(&mut self.first, outgoing),
            None => self.first.extend_from_slice(sse::KEEP_ALIVE),
        }
        self
    }

    fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        match &self.source {
            Source::Exchange(reader) => reader.poll_next(context),
            Source::Mailbox(reader) => reader.poll_next(context),
        }
    }

    /// Everything that is ready goes into one frame.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut frame = std::mem::take(&mut self.first);
        while frame.len() < FRAME_BYTES && !self.ended {
            match self.poll_next(context) {
                Poll::Ready(Some(outgoing)) => put(&mut frame, outgoing),
                Poll::Ready(None) => self.ended = true,
                Poll::Pending => break,
            }
        }
        if !frame.is_empty() {
            if let Source::Exchange(reader) = &self.source {
                self.ended |= reader.is_done();
            }
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
        // Polled once more, so that it wakes this task when it is due again.
        let _ = timer.as_mut().poll(context);
        Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)))
    }
}

fn put(stream: &mut BytesMut, outgoing: Outgoing) {
    match outgoing {
        Outgoing::Response { message, .. } | Outgoing::Notification(message) | Outgoing::Request(message) => {
            sse::put_event(stream, &message);
        }
        Outgoing::Abandoned => {}
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
            Kind::Empty => Poll::Ready(None),
            Kind::Full(message) => {
                let message = std::mem::take(message);
                self.0 = Kind::Empty;
                Poll::Ready(Some(Ok(Frame::data(message))))
            }
            Kind::Events(events) => events.poll(context).map(|frame| frame.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Empty => true,
            Kind::Full(_) => false,
            Kind::Events(events) => events.ended && events.first.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Full(message) => SizeHint::with_exact(message.len() as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}
