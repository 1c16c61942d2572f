//! One POST: the messages that answer it, from the conversation to whoever reads the HTTP response.

use super::queue::Queue;
use crate::server::{Connection, Outbound, Outgoing};
use crate::sync::Mutex;
use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// What the service and the conversation share.
pub(super) struct Exchange {
    state: Mutex<State>,
    /// Whether messages before the answer can reach the client.
    streams: bool,
    /// Whether answers of the client find their way back to this conversation.
    in_session: bool,
}

#[derive(Default)]
struct State {
    queue: Queue,
    reader: Option<Waker>,
    answered: usize,
    /// How many answers will come; unknown while the frame is being received.
    expected: Option<usize>,
    /// The client is gone, or has all its answers.
    ended: bool,
}

impl State {
    fn has_all(&self) -> bool {
        self.expected.is_some_and(|expected| self.answered >= expected)
    }
}

/// The end that the conversation holds. When the last copy is gone without an answer, none will ever come.
pub(super) struct Answers(Arc<Exchange>);

/// The end that the HTTP response holds. Dropping it before the answer came is a disconnect, and that cancels in the modern
/// era only (HTTP-22, HTTP-24).
pub(super) struct Reader {
    exchange: Arc<Exchange>,
    connection: Arc<Connection>,
    cancels: bool,
}

/// Opens an exchange.
pub(super) fn open(
    connection: Arc<Connection>,
    streams: bool,
    in_session: bool,
    cancels: bool,
) -> (Arc<dyn Outbound>, Reader) {
    let exchange = Arc::new(Exchange { state: Mutex::default(), streams, in_session });
    (Arc::new(Answers(Arc::clone(&exchange))), Reader { exchange, connection, cancels })
}

impl Outbound for Answers {
    fn send(&self, outgoing: Outgoing) {
        let reader = {
            let mut state = self.0.state.lock();
            if state.ended {
                return;
            }
            match &outgoing {
                Outgoing::Response { .. } => state.answered += 1,
                Outgoing::Abandoned => state.answered += 1,
                Outgoing::Notification(_) | Outgoing::Request(_) if !self.0.streams => return,
                Outgoing::Notification(_) | Outgoing::Request(_) => {}
            }
            if !matches!(outgoing, Outgoing::Abandoned) {
                state.queue.push(outgoing);
            }
            state.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Without a stream there is nothing to carry a request, and without a session its answer would find nobody.
    fn can_ask(&self) -> bool {
        self.0.streams && self.0.in_session && !self.0.state.lock().ended
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        let reader = {
            let mut state = self.0.state.lock();
            state.answered = usize::MAX;
            state.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl Reader {
    /// Says how many answers will come.
    pub(super) fn expect(&self, answers: usize) {
        self.exchange.state.lock().expected = Some(answers);
    }

    /// The next message; `None` after the last.
    pub(super) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        let mut state = self.exchange.state.lock();
        if let Some(outgoing) = state.queue.pop() {
            return Poll::Ready(Some(outgoing));
        }
        if state.has_all() {
            return Poll::Ready(None);
        }
        match &mut state.reader {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// Whether every message has been read and no more will come.
    pub(super) fn is_done(&self) -> bool {
        let state = self.exchange.state.lock();
        state.has_all() && state.queue.is_empty()
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Whether this is an exchange of the modern era.
    pub(super) fn is_modern(&self) -> bool {
        self.cancels
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let answered = {
            let mut state = self.exchange.state.lock();
            state.ended = true;
            state.queue.clear();
            state.has_all()
        };
        if self.cancels && !answered {
            self.connection.close();
        }
    }
}
