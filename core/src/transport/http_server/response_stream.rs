//! Messages on their way from a conversation to whoever reads an HTTP response.

use super::{gate::Permit, history::History, queue::StreamQueue};
use crate::{
    http::replay::EventId,
    protocol::RequestId,
    runtime::BoxedTask,
    server::{Arrival, Connection, Outbound, OutgoingMessage},
    sync::Mutex,
};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

/// The messages of one stream. One response reads them at a time; a newer one takes over, for its
/// client knows best that the older is dead.
pub(super) struct Stream {
    state: Mutex<StreamState>,
    kind: StreamKind,
}

/// The content of a stream, and the meaning of a disconnect for it.
pub(super) enum StreamKind {
    /// The answer of one POST, perhaps with messages before it. Messages that are unread at a
    /// disconnect are dropped.
    Answer {
        /// `true` if messages before the answer can reach the client.
        streams: bool,
        /// `true` if answers of the client find their way back to this conversation.
        in_session: bool,
    },
    /// The answer of one POST in a session, whose client can come back for the rest (HTTP-38).
    Resumable {
        /// Of the session.
        history: Arc<History>,
        /// The requests that are answered.
        requests: Vec<RequestId>,
        /// `true` if the revision lets the server close the connection early (HTTP-27).
        polls: bool,
    },
    /// Messages without a request of a session (HTTP-33); they wait for a reader.
    Unrelated(Option<Arc<History>>),
    /// Everything that a session says: HTTP+SSE.
    Everything,
}

#[derive(Default)]
struct StreamState {
    queue: StreamQueue,
    waker: Option<Waker>,
    /// The newest reader.
    reader: u64,
    attached: bool,
    answered: usize,
    /// Number of answers that will come; unknown while the frame is being received, and for streams
    /// without end.
    expected: Option<usize>,
    /// Nothing will be read any more.
    closed: bool,
    /// Its number in the session, once a client may have learnt of it.
    number: Option<u64>,
    /// The connection is to be closed before the stream ends.
    hang_up: bool,
    /// Events that were read for this stream from a log, and not by the reader yet.
    fed: VecDeque<(Option<EventId>, Bytes)>,
    /// The place of the latest of them that a reader has.
    read_up_to: Option<EventId>,
}

impl StreamState {
    fn has_all(&self) -> bool {
        self.expected.is_some_and(|expected| self.answered >= expected)
    }
}

/// An item for a reader.
pub(super) enum StreamItem {
    /// A message, and its place if the client can come back to it.
    Message(Option<EventId>, OutgoingMessage),
    /// The connection is closed, and the client may come back after this time. Nothing follows.
    HungUp(Duration),
}

/// The places with which an event stream begins, for a client that can come back.
#[derive(Default)]
pub(super) struct StreamOpening {
    /// The place before everything.
    pub(super) before: Option<EventId>,
    /// The place of what was read already.
    pub(super) first: Option<EventId>,
    /// Completes when other processes know of the stream.
    pub(super) kept: Option<BoxedTask<()>>,
}

/// The end that the HTTP response holds. Dropping it is a disconnect, unless everything has been
/// read.
pub(super) struct StreamReader {
    stream: Arc<Stream>,
    number: u64,
    /// Events that an earlier reader had taken and its client missed.
    missed: VecDeque<(EventId, Bytes)>,
    hung_up: bool,
    /// A disconnect cancels what is read here: only in the modern era (HTTP-22, HTTP-24).
    cancels: Option<Arc<Connection>>,
    /// The time for which it may be read; `None` has no bound.
    lifetime: Option<Duration>,
}

impl Stream {
    pub(super) fn new(kind: StreamKind) -> Arc<Self> {
        let history = match &kind {
            StreamKind::Unrelated(history) => history.clone(),
            _ => None,
        };
        let stream = Arc::new(Self { state: Mutex::default(), kind });
        if let Some(history) = history {
            stream.state.lock().number = Some(history.open(&stream, &[]).0);
        }
        stream
    }

    /// One on which nothing more comes.
    pub(super) fn finished() -> Arc<Self> {
        let stream = Self::new(StreamKind::Answer { streams: true, in_session: false });
        stream.finish();
        stream
    }

    fn history(&self) -> Option<&Arc<History>> {
        match &self.kind {
            StreamKind::Resumable { history, .. } | StreamKind::Unrelated(Some(history)) => Some(history),
            _ => None,
        }
    }

    /// Starts to read what has not been read; who read before, ends.
    pub(super) fn attach(self: &Arc<Self>) -> StreamReader {
        let (reader, waker) = self.attach_with(&mut self.state.lock(), VecDeque::new());
        waker.into_iter().for_each(Waker::wake);
        reader
    }

    /// Starts to read after an event. `None`: what followed it is not kept any more.
    pub(super) fn attach_after(self: &Arc<Self>, last: EventId) -> Option<StreamReader> {
        let (reader, waker) = {
            let mut state = self.state.lock();
            // With the stream locked: nobody takes a message meanwhile.
            let missed = self.history()?.after(last)?;
            self.attach_with(&mut state, missed)
        };
        waker.into_iter().for_each(Waker::wake);
        Some(reader)
    }

    /// A new reader, and who is to be told that it reads no more.
    fn attach_with(
        self: &Arc<Self>,
        state: &mut StreamState,
        missed: VecDeque<(EventId, Bytes)>,
    ) -> (StreamReader, Option<Waker>) {
        state.reader += 1;
        state.attached = true;
        state.hang_up = false;
        state.fed.clear();
        let (stream, number) = (Arc::clone(self), state.reader);
        let reader = StreamReader { stream, number, missed, hung_up: false, cancels: None, lifetime: None };
        (reader, state.waker.take())
    }

    /// Gives a reader events of a log, unless another one reads meanwhile.
    pub(super) fn feed(&self, reader: u64, events: Vec<(Option<EventId>, Bytes)>) {
        let waker = {
            let mut state = self.state.lock();
            if state.reader != reader || events.is_empty() {
                return;
            }
            state.fed.extend(events);
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Number of events that wait to be read.
    pub(super) fn ahead(&self) -> usize {
        self.state.lock().fed.len()
    }

    /// The place of the latest event that a reader was given from a log.
    pub(super) fn read_up_to(&self) -> Option<EventId> {
        self.state.lock().read_up_to
    }

    /// Returns whether that reader is the newest, and was given everything that was read for it.
    pub(super) fn has_read_all(&self, reader: u64) -> bool {
        let state = self.state.lock();
        state.reader == reader && state.fed.is_empty()
    }

    /// Returns whether that reader still reads.
    pub(super) fn is_read_by(&self, reader: u64) -> bool {
        let state = self.state.lock();
        state.attached && state.reader == reader
    }

    /// Ends the reader: its client reads elsewhere.
    pub(super) fn give_up(&self) {
        let waker = {
            let mut state = self.state.lock();
            state.reader += 1;
            state.attached = false;
            self.settle(&mut state);
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Returns whether someone reads.
    pub(super) fn is_attached(&self) -> bool {
        self.state.lock().attached
    }

    /// Nothing more comes: readers end when they have read what there is.
    pub(super) fn finish(&self) {
        let waker = {
            let mut state = self.state.lock();
            state.expected = Some(0);
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// When everything has come and nobody reads, what is unread waits with what was read: within
    /// the same bounds. Where the client may read elsewhere, it does so at once.
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

    /// No more answers come than have come.
    fn end(&self) {
        let waker = {
            let mut state = self.state.lock();
            state.answered = usize::MAX;
            self.settle(&mut state);
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Outbound for Stream {
    fn send(&self, outgoing: OutgoingMessage) {
        let waker = {
            let mut state = self.state.lock();
            let early = matches!(outgoing, OutgoingMessage::Notification(_) | OutgoingMessage::Request(_));
            if !early {
                state.answered = state.answered.saturating_add(1);
            }
            let unwanted = match &self.kind {
                StreamKind::Answer { streams: false, .. } => early,
                // That a list changed is as true when it is said once.
                StreamKind::Unrelated(_) => state.queue.holds(&outgoing),
                _ => false,
            };
            if state.closed || unwanted {
                return;
            }
            if !matches!(outgoing, OutgoingMessage::Abandoned) {
                state.queue.push(outgoing);
            }
            self.settle(&mut state);
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn is_congested(&self) -> bool {
        matches!(self.kind, StreamKind::Everything) && self.state.lock().queue.is_congested()
    }

    /// Without a stream there is nothing to carry a request, and without a session its answer would
    /// find nobody.
    fn can_ask(&self) -> bool {
        let possible = match self.kind {
            StreamKind::Answer { streams, in_session } => streams && in_session,
            _ => true,
        };
        possible && !self.state.lock().closed
    }

    fn close_stream(&self) {
        if !matches!(self.kind, StreamKind::Resumable { polls: true, .. }) {
            return;
        }
        let waker = {
            let mut state = self.state.lock();
            state.hang_up = state.attached;
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let number = self.state.lock().number;
        if let (Some(history), Some(number)) = (self.history(), number) {
            history.finish(number);
        }
    }
}

/// The end that a conversation holds. When the last copy is gone without an answer, none will ever
/// come.
pub(super) struct Answers {
    stream: Arc<Stream>,
    /// The room that the call takes up at the endpoint.
    permit: Option<Mutex<Permit>>,
    arrival: Arrival,
}

impl Outbound for Answers {
    fn send(&self, outgoing: OutgoingMessage) {
        self.stream.send(outgoing);
    }

    fn can_ask(&self) -> bool {
        self.stream.can_ask()
    }

    fn close_stream(&self) {
        self.stream.close_stream();
    }

    fn release_slot(&self) {
        if let Some(permit) = &self.permit {
            permit.lock().release_slot();
        }
    }

    fn arrival(&self) -> Option<&Arrival> {
        Some(&self.arrival)
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.stream.end();
    }
}

/// Both ends of a new stream for the answer of one POST. `cancels`: whom a disconnect cancels.
/// `permit`: kept until the call has ended.
pub(super) fn exchange(
    kind: StreamKind,
    cancels: Option<Arc<Connection>>,
    permit: Option<Permit>,
    arrival: Arrival,
) -> (Arc<dyn Outbound>, StreamReader) {
    let stream = Stream::new(kind);
    let mut reader = stream.attach();
    reader.cancels = cancels;
    (Arc::new(Answers { stream, permit: permit.map(Mutex::new), arrival }), reader)
}

impl StreamReader {
    /// A reader of the events of a stream that has ended.
    pub(super) fn of_the_past(missed: VecDeque<(EventId, Bytes)>) -> Self {
        let mut reader = Stream::finished().attach();
        reader.missed = missed;
        reader
    }

    /// Bounds the time for which it may be read.
    pub(super) fn bounded(mut self, lifetime: Option<Duration>) -> Self {
        self.lifetime = lifetime;
        self
    }

    pub(super) fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }

    /// Its number among the readers of the stream.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Says how many answers will come.
    pub(super) fn expect(&self, answers: usize) {
        self.stream.state.lock().expected = Some(answers);
    }

    /// The next message; `None` after the last, or when another reader took over.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        let mut state = self.stream.state.lock();
        if self.hung_up || state.closed || state.reader != self.number {
            return Poll::Ready(None);
        }
        if let Some((id, message)) = self.missed.pop_front() {
            return Poll::Ready(Some(StreamItem::Message(Some(id), OutgoingMessage::Notification(message))));
        }
        if let Some((id, message)) = state.fed.pop_front() {
            state.read_up_to = id.or(state.read_up_to);
            return Poll::Ready(Some(StreamItem::Message(id, OutgoingMessage::Notification(message))));
        }
        if let Some(outgoing) = state.queue.pop() {
            // Counted while the stream is locked: who attaches now has either missed it, or will
            // read it.
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
            return Poll::Ready(Some(StreamItem::HungUp(history.retry())));
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// The response becomes an event stream, which begins with what was read already: its place,
    /// and the place before it, if the client can come back. It may learn of them when the future
    /// has completed, if there is one.
    pub(super) fn open(&self, first: Option<&OutgoingMessage>) -> StreamOpening {
        let mut state = self.stream.state.lock();
        let Some(history) = self.stream.history() else { return StreamOpening::default() };
        let requests: &[RequestId] = match &self.stream.kind {
            StreamKind::Resumable { requests, .. } => requests,
            _ => &[],
        };
        let (number, kept) = match state.number {
            Some(number) => (number, None),
            None => history.open(&self.stream, requests),
        };
        state.number = Some(number);
        let position = history.position(number);
        StreamOpening { before: Some(position), first: first.and_then(|outgoing| history.keep(number, outgoing)), kept }
    }

    /// Returns whether every message has been read and no more will come.
    pub(super) fn is_done(&self) -> bool {
        let state = self.stream.state.lock();
        self.missed.is_empty() && state.has_all() && state.queue.is_empty()
    }

    /// Owner of the calls that a disconnect cancels: there is one in the modern era only.
    pub(super) fn cancels(&self) -> Option<&Arc<Connection>> {
        self.cancels.as_ref()
    }

    /// Returns whether a client that is told early of this stream can poll it.
    pub(super) fn polls(&self) -> bool {
        matches!(self.stream.kind, StreamKind::Resumable { polls: true, .. })
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let mut state = self.stream.state.lock();
        if state.reader != self.number {
            return;
        }
        state.attached = false;
        state.waker = None;
        let waits = match self.stream.kind {
            StreamKind::Answer { .. } => false,
            StreamKind::Resumable { .. } => state.number.is_some(),
            StreamKind::Unrelated(_) | StreamKind::Everything => true,
        };
        if waits {
            return self.stream.settle(&mut state);
        }
        state.closed = true;
        state.queue.clear();
        let answered = state.has_all();
        drop(state);
        if let Some(connection) = self.cancels.as_ref().filter(|_| !answered) {
            connection.close();
        }
    }
}

#[cfg(test)]
mod tests;
