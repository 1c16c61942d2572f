//! The configurable limits of one conversation: every queue is bounded, and every wait has a
//! deadline.

use crate::protocol::{envelope::FrameBounds, options::Bytes};
use std::time::Duration;

crate::options! {
    /// Limits of a conversation.
    ///
    /// ```
    /// # use trunkline_proto::engine as trunkline;
    /// use trunkline::Limits;
    ///
    /// let limits = Limits::default().with_max_message_bytes(64 << 20);
    /// ```
    #[derive(Debug, Clone, PartialEq)]
    pub struct Limits {
        /// Maximum size of a message. Over HTTP, larger ones are refused with 413.
        max_message_bytes: usize => "maxMessageBytes" limit 4 as Bytes = 4 << 20,
        /// Maximum nesting of arrays and objects in a message; at most 128.
        max_nesting: usize => "maxNesting" limit 5 = MAX_NESTING,
        /// Maximum JSON values in a message, which take far more memory than their text; a message
        /// with more is invalid. An HTTP endpoint counts each value of a message with more than
        /// 2,048 as 72 bytes of the requests that it reads and serves.
        max_values: usize => "maxValues" limit 19 = 500_000,
        /// Maximum running calls per session.
        max_running: usize => "maxRunning" limit 2 = 128,
        /// Maximum queued calls per session. Beyond it, calls are refused as busy.
        max_waiting: usize => "maxWaiting" limit 3 = 1024,
        /// Total size of all queued calls of a session. Calls that do not fit are refused as busy.
        max_waiting_bytes: usize => "maxWaitingBytes" limit 16 as Bytes = 64 << 20,
        /// Timeout of a request; each progress notification restarts it.
        request_timeout: Duration = Duration::from_secs(60),
        /// Maximum time of a request regardless of progress.
        max_request_timeout: Duration = Duration::from_secs(600),
    }
}

/// Deeper nesting is rejected by JSON parsers.
const MAX_NESTING: usize = 128;

/// Longer numbers take seconds to parse where a language reads integers of any size.
const LONGEST_NUMBER: usize = 1000;

impl Limits {
    /// Returns whether the limits are valid.
    ///
    /// # Errors
    /// Which limit is invalid, and its maximum.
    pub fn check(&self) -> Result<(), String> {
        if self.max_nesting > MAX_NESTING {
            return Err(format!("the deepest nesting can be at most {MAX_NESTING}, not {}", self.max_nesting));
        }
        Ok(())
    }

    /// Maximum number of calls in a frame; a larger batch would not fit into the queue anyway.
    pub fn frame(&self) -> FrameBounds {
        FrameBounds {
            nesting: self.max_nesting,
            values: self.max_values,
            number: LONGEST_NUMBER,
            elements: self.max_running.saturating_add(self.max_waiting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_cannot_be_kept_are_refused() {
        assert_eq!(Limits::default().check(), Ok(()));
        let refused = Limits { max_nesting: 129, ..Limits::default() }.check().unwrap_err();
        assert!(refused.contains("128") && refused.contains("129"), "{refused}");
    }
}
