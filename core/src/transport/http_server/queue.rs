//! Messages on their way to a client that may read slowly.

use crate::server::Outgoing;
use std::collections::VecDeque;

/// How many bytes of notifications wait for one reader.
const MAX_BYTES: usize = 1 << 20;

/// Responses and requests always pass, for calls and limits bound their number; of notifications the oldest give way.
#[derive(Debug, Default)]
pub(super) struct Queue {
    messages: VecDeque<Outgoing>,
    notification_bytes: usize,
}

impl Queue {
    pub(super) fn push(&mut self, outgoing: Outgoing) {
        if let Outgoing::Notification(message) = &outgoing {
            while self.notification_bytes + message.len() > MAX_BYTES && self.drop_oldest() {}
            self.notification_bytes += message.len();
        }
        self.messages.push_back(outgoing);
    }

    pub(super) fn pop(&mut self) -> Option<Outgoing> {
        let outgoing = self.messages.pop_front()?;
        if let Outgoing::Notification(message) = &outgoing {
            self.notification_bytes -= message.len();
        }
        Some(outgoing)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether the same notification waits already.
    pub(super) fn holds(&self, outgoing: &Outgoing) -> bool {
        let Outgoing::Notification(message) = outgoing else { return false };
        self.messages.iter().any(|waiting| matches!(waiting, Outgoing::Notification(other) if other == message))
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn drop_oldest(&mut self) -> bool {
        let oldest = self.messages.iter().position(|outgoing| matches!(outgoing, Outgoing::Notification(_)));
        if let Some(Outgoing::Notification(message)) = oldest.and_then(|index| self.messages.remove(index)) {
            self.notification_bytes -= message.len();
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn notification(size: usize, byte: u8) -> Outgoing {
        Outgoing::Notification(Bytes::from(vec![byte; size]))
    }

    #[test]
    fn notifications_are_bounded_and_responses_pass() {
        let mut queue = Queue::default();
        let response = || Outgoing::Response { message: Bytes::from(vec![0; 2 * MAX_BYTES]), failure: None };
        queue.push(response());
        for byte in 0..5 {
            queue.push(notification(MAX_BYTES / 2, byte));
        }
        queue.push(response());
        assert!(matches!(queue.pop(), Some(Outgoing::Response { .. })));
        for byte in [3, 4] {
            assert!(matches!(queue.pop(), Some(Outgoing::Notification(message)) if message[0] == byte));
        }
        assert!(matches!(queue.pop(), Some(Outgoing::Response { .. })));
        assert!(queue.pop().is_none() && queue.notification_bytes == 0);
    }

    #[test]
    fn a_notification_beyond_the_bound_still_passes_alone() {
        let mut queue = Queue::default();
        queue.push(notification(1, 1));
        queue.push(notification(2 * MAX_BYTES, 2));
        assert!(matches!(queue.pop(), Some(Outgoing::Notification(message)) if message[0] == 2));
        assert!(queue.is_empty());
    }
}
