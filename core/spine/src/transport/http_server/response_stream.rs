//! Streams that carry messages from a conversation to HTTP responses.

use super::{admission::Permit, history::History, stream_queue::StreamQueue};
use crate::{
    http::replay::EventId,
    protocol::RequestId,
    runtime::{BoxedTask, Watched},
    server::{Arrival, Connection, Outbound, OutgoingMessage},
    sync::Mutex,
};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

/// The messages of a stream. Only one response reads them at a time; a newer one takes over,
/// because its client knows that the older one is dead.
pub(super) struct Stream {
    state: Watched<StreamState>,
    kind: StreamKind,
}

/// The contents of a stream, and the meaning of a disconnect.
pub(super) enum StreamKind {
    /// The response to a POST, possibly preceded by other messages. Unread messages are dropped at
    /// a disconnect.
    Answer {
        /// True if messages can be sent before the response.
        streams: bool,
        /// True if responses from the client can reach this conversation.
        in_session: bool,
    },
    /// The response to a POST in a session, which the client can resume (HTTP-38).
    Resumable {
        /// The history of the session.
        history: Arc<History>,
        /// The requests being answered.
        requests: Vec<RequestId>,
        /// True if the revision lets the server close the connection early (HTTP-27).
        polls: bool,
    },
    /// A session's messages without a request (HTTP-33), which wait for a reader.
    Unrelated(Option<Arc<History>>),
    /// All messages of a session, for HTTP+SSE.
    Everything,
}

#[derive(Default)]
struct StreamState {
    queue: StreamQueue,
    /// The newest reader.
    reader: u64,
    attached: bool,
    answered: usize,
    /// Number of expected responses; unknown while the frame is being received, and for endless
    /// streams.
    expected: Option<usize>,
    /// True if nothing more will be read.
    closed: bool,
    /// Its number in the session, once the client may know it.
    number: Option<u64>,
    /// True if the connection must be closed before the stream ends.
    hang_up: bool,
    /// Events that the reader has not read yet: those that an earlier one took and the client
    /// missed, or those fed from a log.
    fed: VecDeque<(Option<EventId>, Bytes)>,
    /// The position of the latest one that was read.
    read_up_to: Option<EventId>,
}

impl StreamState {
    fn has_all(&self) -> bool {
        self.expected.is_some_and(|expected| self.answered >= expected)
    }
}

/// An item for a reader.
pub(super) enum StreamItem {
    /// A message, with its position if the client can resume after it.
    Message(Option<EventId>, OutgoingMessage),
    /// The connection is closed, and the client may reconnect after this time. Nothing follows.
    HungUp(Duration),
}

/// The reading end, held by the HTTP response. Dropping it is a disconnect, unless everything has
/// been read.
pub(super) struct StreamReader {
    stream: Arc<Stream>,
    /// Its number among the readers of the stream.
    pub(super) number: u64,
    hung_up: bool,
    /// Whose calls a disconnect cancels; only in the modern era (HTTP-22, HTTP-24).
    pub(super) cancels: Option<Arc<Connection>>,
    /// Maximum lifetime; `None` for no limit.
    pub(super) lifetime: Option<Duration>,
}

impl Stream {
    pub(super) fn new(kind: StreamKind) -> Arc<Self> {
        Arc::new(Self { state: Watched::default(), kind })
    }

    fn history(&self) -> Option<&Arc<History>> {
        match &self.kind {
            StreamKind::Resumable { history, .. } | StreamKind::Unrelated(Some(history)) => Some(history),
            _ => None,
        }
    }

    /// Attaches a reader, which replaces the previous one.
    pub(super) fn attach(self: &Arc<Self>) -> StreamReader {
        self.state.change(|state| self.attach_with(state, VecDeque::new()))
    }

    /// Attaches a reader after an event. Returns `None` if what followed it has been dropped.
    pub(super) fn attach_after(self: &Arc<Self>, last: EventId) -> Option<StreamReader> {
        // With the stream locked, so that no message is taken in the meantime.
        self.state.change(|state| Some(self.attach_with(state, self.history()?.after(last)?)))
    }

    fn attach_with(self: &Arc<Self>, state: &mut StreamState, missed: VecDeque<(EventId, Bytes)>) -> StreamReader {
        state.reader += 1;
        state.attached = true;
        state.hang_up = false;
        state.fed = missed.into_iter().map(|(id, message)| (Some(id), message)).collect();
        let (stream, number) = (Arc::clone(self), state.reader);
        StreamReader { stream, number, hung_up: false, cancels: None, lifetime: None }
    }

    /// Feeds events from a log to a reader, unless another one has replaced it.
    pub(super) fn feed(&self, reader: u64, events: Vec<(Option<EventId>, Bytes)>) {
        if !events.is_empty() {
            self.state.change(|state| {
                if state.reader == reader {
                    state.fed.extend(events);
                }
            });
        }
    }

    /// Number of unread events.
    pub(super) fn ahead(&self) -> usize {
        self.state.with(|state| state.fed.len())
    }

    /// The position of the latest fed event that was read.
    pub(super) fn read_up_to(&self) -> Option<EventId> {
        self.state.with(|state| state.read_up_to)
    }

    /// Returns whether this reader is the newest and has read everything it was fed.
    pub(super) fn has_read_all(&self, reader: u64) -> bool {
        self.state.with(|state| state.reader == reader && state.fed.is_empty())
    }

    /// Returns whether this reader is still attached.
    pub(super) fn is_read_by(&self, reader: u64) -> bool {
        self.state.with(|state| state.attached && state.reader == reader)
    }

    /// Detaches the reader, because its client reads elsewhere.
    pub(super) fn give_up(&self) {
        self.state.change(|state| {
            state.reader += 1;
            state.attached = false;
            self.settle(state);
        });
    }

    /// Returns whether a reader is attached.
    pub(super) fn is_attached(&self) -> bool {
        self.state.with(|state| state.attached)
    }

    /// Marks the stream as finished. Readers end when they have read everything.
    pub(super) fn finish(&self) {
        self.state.change(|state| state.expected = Some(0));
    }

    /// When the stream is complete and has no reader, moves unread messages to the history, within
    /// its limits. If the client may read in another process, this happens immediately.
    fn settle(&self, state: &mut StreamState) {
        if state.attached || !(state.has_all() || self.history().is_some_and(|history| history.is_shared())) {
            return;
        }
        if let (Some(history), Some(number)) = (self.history(), state.number) {
            while let Some(outgoing) = state.queue.pop() {
                history.keep(number, &outgoing);
            }
        }
    }
}

impl Outbound for Stream {
    fn send(&self, outgoing: OutgoingMessage) {
        let early = matches!(outgoing, OutgoingMessage::Notification(_) | OutgoingMessage::Request(_));
        if early && matches!(self.kind, StreamKind::Answer { streams: false, .. }) {
            return;
        }
        self.state.change(|state| {
            if !early {
                state.answered = state.answered.saturating_add(1);
            }
            // A repeated list change is redundant.
            let repeated = matches!(self.kind, StreamKind::Unrelated(_)) && state.queue.holds(&outgoing);
            if state.closed || repeated {
                return;
            }
            if !matches!(outgoing, OutgoingMessage::Abandoned) {
                state.queue.push(outgoing);
            }
            self.settle(state);
        });
    }

    fn is_congested(&self) -> bool {
        matches!(self.kind, StreamKind::Everything) && self.state.with(|state| state.queue.is_congested())
    }

    /// Client requests need a stream to be sent on, and a session for their response.
    fn can_ask(&self) -> bool {
        let possible = match self.kind {
            StreamKind::Answer { streams, in_session } => streams && in_session,
            _ => true,
        };
        possible && self.state.with(|state| !state.closed)
    }

    fn close_stream(&self) {
        if matches!(self.kind, StreamKind::Resumable { polls: true, .. }) {
            self.state.change(|state| state.hang_up = state.attached);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let number = self.state.with(|state| state.number);
        if let (Some(history), Some(number)) = (self.history(), number) {
            history.finish(number);
        }
    }
}

/// The sending end, held by a conversation. If the last copy is dropped without a response, there
/// will be none.
pub(super) struct Answers {
    stream: Arc<Stream>,
    /// The resources that the call uses at the endpoint, until it has ended.
    permit: Mutex<Permit>,
    arrival: Arrival,
}

impl Answers {
    pub(super) fn channel(stream: Arc<Stream>, permit: Permit, arrival: Arrival) -> Arc<dyn Outbound> {
        Arc::new(Self { stream, permit: Mutex::new(permit), arrival })
    }
}

impl Outbound for Answers {
    fn send(&self, outgoing: OutgoingMessage) {
        self.stream.send(outgoing);
    }

    fn is_congested(&self) -> bool {
        self.stream.is_congested()
    }

    fn can_ask(&self) -> bool {
        self.stream.can_ask()
    }

    fn close_stream(&self) {
        self.stream.close_stream();
    }

    fn release_slot(&self) {
        self.permit.lock().release_slot();
    }

    fn arrival(&self) -> Option<&Arrival> {
        Some(&self.arrival)
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.stream.state.change(|state| {
            state.answered = usize::MAX;
            self.stream.settle(state);
        });
    }
}

impl StreamReader {
    /// A reader of past events of a stream that has ended.
    pub(super) fn of_the_past(missed: VecDeque<(EventId, Bytes)>) -> Self {
        let stream = Stream::new(StreamKind::Answer { streams: true, in_session: false });
        stream.state.change(|state| {
            state.expected = Some(0);
            stream.attach_with(state, missed)
        })
    }

    /// Sets the number of expected responses.
    pub(super) fn expect(&self, answers: usize) {
        self.stream.state.with(|state| state.expected = Some(answers));
    }

    /// Polls the next message. `None` after the last one, or when another reader has taken over.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        self.stream.state.poll(context, |state| {
            if self.hung_up || state.closed || state.reader != self.number {
                return Poll::Ready(None);
            }
            if let Some((id, message)) = state.fed.pop_front() {
                state.read_up_to = id.or(state.read_up_to);
                return Poll::Ready(Some(StreamItem::Message(id, OutgoingMessage::Notification(message))));
            }
            if let Some(outgoing) = state.queue.pop() {
                // Recorded while the stream is locked, so that a new reader either finds it in the
                // history or reads it.
                let id = self.stream.history().zip(state.number).and_then(|(history, it)| history.keep(it, &outgoing));
                return Poll::Ready(Some(StreamItem::Message(id, outgoing)));
            }
            if state.has_all() {
                return Poll::Ready(None);
            }
            if state.hang_up
                && let Some(history) = self.stream.history()
            {
                self.hung_up = true;
                return Poll::Ready(Some(StreamItem::HungUp(history.budget.retry)));
            }
            Poll::Pending
        })
    }

    /// Turns the response into an event stream that begins with the item that was already read. If
    /// the stream is resumable, sets the position of that item and returns the one before it. The
    /// client may learn both once the future, if any, has completed: other processes can then find
    /// the stream.
    pub(super) fn open(&self, first: Option<&mut StreamItem>) -> (Option<EventId>, Option<BoxedTask<()>>) {
        let Some(history) = self.stream.history() else { return (None, None) };
        let requests: &[RequestId] = match &self.stream.kind {
            StreamKind::Resumable { requests, .. } => requests,
            _ => &[],
        };
        self.stream.state.with(|state| {
            let (number, kept) = match state.number {
                Some(number) => (number, None),
                None => history.open(&self.stream, requests),
            };
            state.number = Some(number);
            let before = history.position(number);
            if let Some(StreamItem::Message(id, outgoing)) = first {
                *id = history.keep(number, outgoing);
            }
            (Some(before), kept)
        })
    }

    /// Returns whether every message has been read and no more will come.
    pub(super) fn is_done(&self) -> bool {
        self.stream.state.with(|state| state.has_all() && state.fed.is_empty() && state.queue.is_empty())
    }

    /// Returns whether the client can poll this stream.
    pub(super) fn polls(&self) -> bool {
        matches!(self.stream.kind, StreamKind::Resumable { polls: true, .. })
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        // Also releases the response's waker, which keeps its task allocated.
        let cancelled = self.stream.state.change(|state| {
            if state.reader != self.number {
                return false;
            }
            state.attached = false;
            let waits = match self.stream.kind {
                StreamKind::Answer { .. } => false,
                StreamKind::Resumable { .. } => state.number.is_some(),
                StreamKind::Unrelated(_) | StreamKind::Everything => true,
            };
            if waits {
                self.stream.settle(state);
                return false;
            }
            state.closed = true;
            state.queue.clear();
            !state.has_all()
        });
        if let Some(connection) = self.cancels.as_ref().filter(|_| cancelled) {
            connection.close();
        }
    }
}

#[cfg(test)]
mod tests;
