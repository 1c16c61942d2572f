//! The log level of a session.

use crate::protocol::model::LoggingLevel;
use std::sync::atomic::{AtomicU8, Ordering};

/// The minimum level of a session (LOG-02).
pub(in crate::server) struct SessionLevel(AtomicU8);

impl Default for SessionLevel {
    /// Without a level set by the client, it gets what a terminal would show.
    fn default() -> Self {
        Self(AtomicU8::new(LoggingLevel::Info as u8))
    }
}

impl SessionLevel {
    pub(in crate::server) fn set(&self, level: LoggingLevel) {
        self.0.store(level as u8, Ordering::Release);
    }

    pub(in crate::server) fn get(&self) -> LoggingLevel {
        let level = self.0.load(Ordering::Acquire);
        LoggingLevel::ALL.into_iter().find(|known| *known as u8 == level).unwrap_or(LoggingLevel::Info)
    }
}
