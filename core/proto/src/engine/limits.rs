//! The bounds of one conversation, all options with defaults: every queue has a bound, every wait a
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
        /// Largest message. Over HTTP a larger one is refused with 413.
        max_message_bytes: usize => "maxMessageBytes" as Bytes = 4 << 20,
        /// Deepest nesting of arrays and objects in a message; at most 128.
        max_nesting: usize => "maxNesting" = DEEPEST,
        /// JSON values in a message, which cost far more in memory than on the wire; one with more
        /// is invalid. An HTTP endpoint counts those of messages with more than 2,048, until their
        /// calls and tasks have ended: bodies above 64 KiB may have twice as many at once, and
        /// those of one principal as many; smaller bodies as many, and those of one principal a
        /// quarter. A further one is refused as busy.
        max_values: usize => "maxValues" = 500_000,
        /// Calls that run at once in one session.
        max_running: usize => "maxRunning" = 128,
        /// Calls that wait for their turn in one session. Further ones are refused as busy.
        max_waiting: usize => "maxWaiting" = 1024,
        /// Size of all waiting calls of one session. A call for which there is no room is refused
        /// as busy.
        max_waiting_bytes: usize => "maxWaitingBytes" as Bytes = 64 << 20,
        /// Longest time of a request; each progress notification starts it anew.
        request_timeout: Duration = Duration::from_secs(60),
        /// Longest time of a request however much it progresses.
        max_request_timeout: Duration = Duration::from_secs(600),
    }
}

/// JSON readers refuse what nests deeper.
const DEEPEST: usize = 128;

impl Limits {
    /// Returns whether the limits can be kept.
    ///
    /// # Errors
    /// Which one cannot, and what the most is.
    pub fn check(&self) -> Result<(), String> {
        if self.max_nesting > DEEPEST {
            return Err(format!("the deepest nesting can be at most {DEEPEST}, not {}", self.max_nesting));
        }
        Ok(())
    }

    /// Most calls of a frame: a batch with more than may wait could not be served anyway.
    pub fn frame(&self) -> FrameBounds {
        FrameBounds {
            nesting: self.max_nesting,
            values: self.max_values,
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
