//! The options of a server, with their defaults.

use super::{registry::RegisterError, request::StateKey, result::CacheHints};
use crate::{engine::Limits, protocol::extension};
use serde_json::{Map, Value};
use std::time::Duration;

/// Limits and habits of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerOptions {
    /// The bounds of each conversation.
    pub limits: Limits,
    /// How many things one page of a list holds. Default 1,000.
    pub page_size: usize,
    /// Show clients the detail of internal failures. Default `false`: they get a generic text and the log gets the detail.
    pub debug: bool,
    /// HTTP sessions at once. Default 10,000; further ones are refused as busy.
    pub max_sessions: usize,
    /// How long an HTTP session may be idle. Default 30 min.
    pub session_idle: Duration,
    /// How long calls may go on after a listener closes. Default 5 s.
    pub drain_deadline: Duration,
    /// How often a quiet SSE stream gets a comment. Default 15 s; zero: never.
    pub keep_alive: Duration,
    /// How long clients may keep lists and the result of discovery. Default: not at all.
    pub cache: CacheHints,
    /// Keys that seal the state of requests that take several rounds: the first seals, all open. Instances that share them can take up each
    /// other's rounds. Default: none given, so a random key of this process.
    pub state_keys: Vec<StateKey>,
    /// How long a client may take from one round to the next on 2026-07-28. Default 1 h.
    pub state_lifetime: Duration,
    /// How many rounds of input one request may need. Default 16.
    pub max_rounds: u32,
    /// How long a person may take to answer a request for input in the legacy era. Default 10 min.
    pub input_timeout: Duration,
    /// Runs handlers again from the top for each answer in the legacy era too, as 2026-07-28 does: exposes handlers that are not
    /// safe to re-run. For tests. Default `false`.
    pub rerun_handlers: bool,
    /// How long a task is kept at most, and where the client names no time. Default 1 h.
    pub task_ttl: Duration,
    /// How often clients should ask for a task. Default 500 ms.
    pub task_poll_interval: Duration,
    /// Tasks that are kept at once. Default 10,000; further ones are refused as busy.
    pub max_tasks: usize,
    /// Of them, those of one principal, or of one session or pipe where nobody is asked for a token. Default 1,000: they run beside
    /// the calls, and nobody shall take the room of all.
    pub max_tasks_per_client: usize,
    /// Extensions that are declared, by their ids, with their settings (EXT-01). Default: none.
    pub extensions: Map<String, Value>,
    /// What is declared under `capabilities.experimental`. Default: nothing.
    pub experimental: Map<String, Value>,
}

impl ServerOptions {
    /// Whether what is declared can be (EXT-01, EXT-02).
    ///
    /// # Errors
    /// What cannot be, and why.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), RegisterError> {
        self.limits.check().map_err(|problem| RegisterError(format!("options.limits: {problem}")))?;
        for (id, settings) in &self.extensions {
            extension::check_id(id).map_err(|problem| RegisterError(format!("options.extensions: {problem}")))?;
            if !settings.is_object() {
                return Err(RegisterError(format!("options.extensions: the settings of {id} must be an object")));
            }
        }
        Ok(())
    }

    /// With durations that can be added to any time.
    pub(in crate::server) fn bounded(mut self) -> Self {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        if self.keep_alive.is_zero() {
            self.keep_alive = YEAR;
        }
        let durations = [
            &mut self.session_idle,
            &mut self.drain_deadline,
            &mut self.keep_alive,
            &mut self.state_lifetime,
            &mut self.input_timeout,
            &mut self.task_ttl,
            &mut self.task_poll_interval,
        ];
        for duration in durations {
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
            cache: CacheHints::default(),
            state_keys: Vec::new(),
            state_lifetime: Duration::from_secs(3600),
            max_rounds: 16,
            input_timeout: Duration::from_secs(600),
            rerun_handlers: false,
            task_ttl: Duration::from_secs(3600),
            task_poll_interval: Duration::from_millis(500),
            max_tasks: 10_000,
            max_tasks_per_client: 1000,
            extensions: Map::new(),
            experimental: Map::new(),
        }
    }
}
