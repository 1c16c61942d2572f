//! The messages of a session that belong to no request: they wait for the session's GET stream (HTTP-33).

use super::queue::Queue;
use crate::server::{Outbound, Outgoing};
use crate::sync::Mutex;
use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// Holds the messages until a stream carries them. One stream reads at a time; a newer one takes over, for its client knows
/// best that the older is dead.
#[derive(Default)]
pub(super) struct Mailbox {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: Queue,
    reader: Option<Waker>,
    /// The stream that may read.
    current: u64,
    attached: bool,
    closed: bool,
}

/// A stream's end.
pub(super) struct MailboxReader {
    mailbox: Arc<Mailbox>,
    number: u64,
}

impl Mailbox {
    /// Starts to read; who read before, ends.
    pub(super) fn attach(self: &Arc<Self>) -> MailboxReader {
        let (number, previous) = {
            let mut state = self.state.lock();
            state.current += 1;
            state.attached = true;
            (state.current, state.reader.take())
        };
        previous.into_iter().for_each(Waker::wake);
        MailboxReader { mailbox: Arc::clone(self), number }
    }

    /// Whether a stream is open.
    pub(super) fn is_attached(&self) -> bool {
        self.state.lock().attached
    }

    /// Ends the stream, and every later one at once.
    pub(super) fn close(&self) {
        let reader = {
            let mut state = self.state.lock();
            state.closed = true;
            state.queue.clear();
            state.reader.take()
        };
        reader.into_iter().for_each(Waker::wake);
    }
}

impl Outbound for Mailbox {
    fn send(&self, outgoing: Outgoing) {
        let reader = {
            let mut state = self.state.lock();
            // That a list changed is as true when it is said once.
            if state.closed || matches!(outgoing, Outgoing::Abandoned) || state.queue.holds(&outgoing) {
                return;
            }
            state.queue.push(outgoing);
            state.reader.take()
        };
        reader.into_iter().for_each(Waker::wake);
    }
}

impl MailboxReader {
    /// The next message; `None` when another stream took over or the session ended.
    pub(super) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        let mut state = self.mailbox.state.lock();
        if state.closed || state.current != self.number {
            return Poll::Ready(None);
        }
        if let Some(outgoing) = state.queue.pop() {
            return Poll::Ready(Some(outgoing));
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for MailboxReader {
    fn drop(&mut self) {
        let mut state = self.mailbox.state.lock();
        if state.current == self.number {
            state.attached = false;
            state.reader = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn next(reader: &MailboxReader) -> Poll<Option<Outgoing>> {
        reader.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn http_33_messages_wait_for_a_stream_and_are_said_once() {
        let mailbox = Arc::new(Mailbox::default());
        for text in ["a", "b", "a"] {
            mailbox.send(Outgoing::Notification(Bytes::from_static(text.as_bytes())));
        }
        let reader = mailbox.attach();
        for text in ["a", "b"] {
            assert!(matches!(next(&reader), Poll::Ready(Some(Outgoing::Notification(message))) if message == text));
        }
        assert!(next(&reader).is_pending());
    }

    #[test]
    fn http_35_a_newer_stream_takes_over() {
        let mailbox = Arc::new(Mailbox::default());
        let (first, second) = (mailbox.attach(), mailbox.attach());
        mailbox.send(Outgoing::Notification(Bytes::from_static(b"a")));
        assert!(matches!(next(&first), Poll::Ready(None)));
        drop(first);
        assert!(mailbox.is_attached());
        assert!(matches!(next(&second), Poll::Ready(Some(_))));
        mailbox.close();
        assert!(matches!(next(&second), Poll::Ready(None)));
        drop(second);
        assert!(!mailbox.is_attached());
    }
}
