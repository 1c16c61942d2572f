//! The options of a server, with their defaults.

use crate::engine::Limits;
use std::time::Duration;

/// Limits and habits of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerOptions {
    /// The bounds of each conversation.
    pub limits: Limits,
    /// How many tools one page of a list holds. Default 1,000.
    pub page_size: usize,
    /// Show clients the detail of internal failures. Default `false`: they get a generic text and the log gets the detail.
    pub debug: bool,
    /// HTTP sessions at once. Default 10,000; further ones are refused as busy.
    pub max_sessions: usize,
    /// How long an HTTP session may be idle. Default 30 min.
    pub session_idle: Duration,
    /// How long calls may go on after a listener closes. Default 5 s.
    pub drain_deadline: Duration,
    /// How often a quiet SSE stream gets a comment. Default 15 s.
    pub keep_alive: Duration,
}

impl ServerOptions {
    /// With durations that can be added to any time.
    pub(super) fn bounded(mut self) -> Self {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        for duration in [&mut self.session_idle, &mut self.drain_deadline, &mut self.keep_alive] {
            *duration = (*duration).min(YEAR);
        }
        self
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            page_size: 1000,
            debug: false,
            max_sessions: 10_000,
            session_idle: Duration::from_secs(30 * 60),
            drain_deadline: Duration::from_secs(5),
            keep_alive: Duration::from_secs(15),
        }
    }
}
