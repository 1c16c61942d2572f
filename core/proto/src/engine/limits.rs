//! The bounds of one conversation, all options with defaults: every queue has a bound, every wait a deadline.

use crate::protocol::envelope::FrameBounds;
use std::time::Duration;

/// Limits of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Largest message in bytes. Default 64 MiB.
    pub max_message_bytes: usize,
    /// Deepest nesting of arrays and objects. Default 128, which is also the most.
    pub max_nesting: usize,
    /// Calls that run at once in one session. Default 64.
    pub max_running: usize,
    /// Calls that wait for their turn in one session. Default 1,024; further ones are refused as busy.
    pub max_waiting: usize,
    /// How many bytes these may have together. Default 64 MiB; a call for which there is no room is refused as busy.
    pub max_waiting_bytes: usize,
    /// How long a request may take; each progress notification starts it anew. Default 60 s.
    pub request_timeout: Duration,
    /// How long a request may take however much it progresses. Default 10 min.
    pub max_request_timeout: Duration,
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

    /// How much a frame may hold: a batch with more calls than may wait could not be served anyway.
    pub fn frame(&self) -> FrameBounds {
        FrameBounds { nesting: self.max_nesting, elements: self.max_running.saturating_add(self.max_waiting) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 64 << 20,
            max_nesting: DEEPEST,
            max_running: 64,
            max_waiting: 1024,
            max_waiting_bytes: 64 << 20,
            request_timeout: Duration::from_secs(60),
            max_request_timeout: Duration::from_secs(600),
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
