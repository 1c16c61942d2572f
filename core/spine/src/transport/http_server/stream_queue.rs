//! Messages queued for a client that may read slowly.

use crate::{server::OutgoingMessage, transport::queued::MAX_QUEUED};
use bytes::Bytes;
use std::collections::VecDeque;

/// Maximum total size of queued notifications.
const MAX_BYTES: usize = 1 << 20;

/// Marks a log message; it appears within this many bytes from the start.
const LOG_METHOD: &[u8] = b"\"notifications/message\"";
const SEARCHED_BYTES: usize = 64;

/// Responses and requests are always queued, because other limits bound their number. Of
/// notifications, the oldest are dropped.
#[derive(Debug, Default)]
pub(super) struct StreamQueue {
    messages: VecDeque<OutgoingMessage>,
    bytes: usize,
    notification_bytes: usize,
}

impl StreamQueue {
    pub(super) fn push(&mut self, outgoing: OutgoingMessage) {
        if let OutgoingMessage::Notification(message) = &outgoing {
            while self.notification_bytes + message.len() > MAX_BYTES && self.drop_oldest() {}
            self.notification_bytes += message.len();
        }
        self.bytes += outgoing.message().map_or(0, Bytes::len);
        self.messages.push_back(outgoing);
    }

    pub(super) fn pop(&mut self) -> Option<OutgoingMessage> {
        let outgoing = self.messages.pop_front()?;
        self.bytes -= outgoing.message().map_or(0, Bytes::len);
        if let OutgoingMessage::Notification(message) = &outgoing {
            self.notification_bytes -= message.len();
        }
        Some(outgoing)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns whether so much is queued that no new requests should be accepted.
    pub(super) fn is_congested(&self) -> bool {
        self.bytes > MAX_QUEUED
    }

    /// Returns whether the same notification is already queued. Log messages may repeat.
    pub(super) fn holds(&self, outgoing: &OutgoingMessage) -> bool {
        let OutgoingMessage::Notification(message) = outgoing else { return false };
        if memchr::memmem::find(&message[..message.len().min(SEARCHED_BYTES)], LOG_METHOD).is_some() {
            return false;
        }
        self.messages.iter().any(|waiting| matches!(waiting, OutgoingMessage::Notification(other) if other == message))
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn drop_oldest(&mut self) -> bool {
        let oldest = self.messages.iter().position(|outgoing| matches!(outgoing, OutgoingMessage::Notification(_)));
        if let Some(OutgoingMessage::Notification(message)) = oldest.and_then(|index| self.messages.remove(index)) {
            self.bytes -= message.len();
            self.notification_bytes -= message.len();
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(size: usize, byte: u8) -> OutgoingMessage {
        OutgoingMessage::Notification(Bytes::from(vec![byte; size]))
    }

    #[test]
    fn notifications_are_bounded_and_responses_pass() {
        let mut queue = StreamQueue::default();
        let response = || OutgoingMessage::Response { message: Bytes::from(vec![0; 2 * MAX_BYTES]), failure: None };
        queue.push(response());
        for byte in 0..5 {
            queue.push(notification(MAX_BYTES / 2, byte));
        }
        queue.push(response());
        assert!(matches!(queue.pop(), Some(OutgoingMessage::Response { .. })));
        for byte in [3, 4] {
            assert!(matches!(queue.pop(), Some(OutgoingMessage::Notification(message)) if message[0] == byte));
        }
        assert!(matches!(queue.pop(), Some(OutgoingMessage::Response { .. })));
        assert!(queue.pop().is_none() && queue.notification_bytes == 0 && queue.bytes == 0);
    }

    #[test]
    fn repeated_log_messages_are_all_sent() {
        let waits_twice = |text: &'static [u8]| {
            let (mut queue, outgoing) =
                (StreamQueue::default(), OutgoingMessage::Notification(Bytes::from_static(text)));
            queue.push(outgoing.clone());
            !queue.holds(&outgoing)
        };
        assert!(waits_twice(br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#));
        assert!(!waits_twice(br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#));
    }

    #[test]
    fn a_notification_beyond_the_bound_still_passes_alone() {
        let mut queue = StreamQueue::default();
        queue.push(notification(1, 1));
        queue.push(notification(2 * MAX_BYTES, 2));
        assert!(matches!(queue.pop(), Some(OutgoingMessage::Notification(message)) if message[0] == 2));
        assert!(queue.is_empty());
    }
}
