//! The options of a server, with their defaults.

use super::{
    registry::{OnDuplicate, RegisterError},
    request::StateKey,
    result::CacheHints,
};
use crate::{
    engine::Limits,
    protocol::{
        describe::Type,
        extension,
        options::{Bytes, JsonForm, Millis},
    },
    store::{ChosenStore, StoreChoice},
    telemetry::Telemetry,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};

trunkline_proto::options! {
    /// Limits and behavior of a server.
    ///
    /// ```
    /// use trunkline::ServerOptions;
    ///
    /// let options = ServerOptions::default().with_page_size(50).with_debug(true);
    /// ```
    #[derive(Debug, Clone, PartialEq)]
    pub struct ServerOptions {
        /// Items per page of a list.
        page_size: usize => "pageSize" limit 1 = 1000,
        /// The behavior if a name, URI or argument is registered twice: an error, or the new
        /// registration replaces the old (a notebook cell that runs twice, a module that is
        /// reloaded).
        on_duplicate: OnDuplicate => "onDuplicate" = OnDuplicate::Error,
        /// List features even if the caller's token lacks their scopes, so that clients can
        /// discover them and request the scopes. Either way, a call without the scopes gets a
        /// challenge that names them.
        list_out_of_scope: bool => "listOutOfScope" = false,
        /// Send clients the details of internal failures. By default they get a generic message,
        /// and the details are logged.
        debug: bool => "debug" = false,
        /// Maximum concurrent HTTP sessions. The longest-idle session is evicted to make room; if
        /// all are busy, new sessions are refused as busy.
        max_sessions: usize => "maxSessions" limit 6 = 10_000,
        /// Maximum concurrent HTTP sessions of one principal, if tokens are verified. Its
        /// longest-idle session is evicted to make room.
        max_sessions_per_client: usize => "maxSessionsPerClient" limit 18 = 1000,
        /// Maximum idle time of an HTTP session; a minute for one that has not been used since it
        /// was opened.
        session_idle: Duration => "sessionIdleMs" limit 7 as Millis = Duration::from_secs(30 * 60),
        /// Maximum time to drain after a signal, or a close without its own deadline. Calls and
        /// tasks in flight may run until the last fifth of it (at most a second); then they fail,
        /// and their failures are sent and stored.
        drain_deadline: Duration => "drainDeadlineMs" limit 8 as Millis = Duration::from_secs(5),
        /// Interval of comments on an idle event stream; 0 disables them.
        keep_alive: Duration => "keepAliveMs" limit 9 as Millis = Duration::from_secs(15),
        /// Keys that encrypt the state of requests that take several rounds. The first key
        /// encrypts, and all keys decrypt. Instances with the same keys can continue each other's
        /// requests. By default, a random key per process. Each key is 32 random bytes, as a Base64
        /// string.
        state_keys: Vec<StateKey> => "stateKeys" as StateKeys = Vec::new(),
        /// Maximum time between two rounds of a request on 2026-07-28.
        state_lifetime: Duration => "stateLifetimeMs" limit 10 as Millis = Duration::from_secs(3600),
        /// Maximum rounds of input per request.
        max_rounds: u32 => "maxRounds" limit 11 = 16,
        /// Maximum time for the user to answer a request for input in the legacy era.
        input_timeout: Duration => "inputTimeoutMs" limit 12 as Millis = Duration::from_secs(600),
        /// Use tasks for elicitation and sampling if the client supports them (2025-11-25), so that
        /// no request stays open while the user answers.
        client_request_tasks: bool => "clientRequestTasks" = false,
        /// Rerun handlers from the top for each answer in the legacy era too, as 2026-07-28 does,
        /// to find handlers that do not support it. For tests.
        rerun_handlers: bool => "rerunHandlers" = false,
        /// Maximum lifetime of a task, and its default if the client requests none.
        task_ttl: Duration => "taskTtlMs" limit 13 as Millis = Duration::from_secs(3600),
        /// Suggested interval at which clients poll a task.
        task_poll_interval: Duration => "taskPollIntervalMs" limit 14 as Millis = Duration::from_millis(500),
        /// Maximum tasks kept at once. Beyond it, new tasks are refused as busy.
        max_tasks: usize => "maxTasks" limit 15 = 10_000,
        /// Maximum tasks kept at once per principal, or per session or pipe if no tokens are
        /// verified.
        max_tasks_per_client: usize => "maxTasksPerClient" limit 17 = 1000,
        /// Total size of the results of all kept tasks. Beyond it, calls that would become tasks
        /// are refused as busy, and a task whose result does not fit fails.
        max_task_bytes: usize => "maxTaskBytes" limit 20 as Bytes = 256 << 20,
        /// Total size of the task results per principal, or per session or pipe if no tokens are
        /// verified.
        max_task_bytes_per_client: usize => "maxTaskBytesPerClient" limit 21 as Bytes = 64 << 20,
        /// Memory budget for the names that clients subscribe to (resources, tasks and
        /// elicitations), for all sessions and streams, with 128 bytes added for each name. One
        /// principal, or one address behind trusted proxies, may use a quarter of it. Beyond it,
        /// new subscriptions are refused as busy.
        max_subscription_bytes: usize => "maxSubscriptionBytes" limit 23 as Bytes = 64 << 20,
        /// Where to keep tasks, and HTTP sessions of the legacy era, so that they outlive the
        /// process and other workers can serve them: a URL, `sqlite:PATH` for processes on one
        /// machine, `redis://HOST` or `rediss://HOST` for many machines, `memory:` for tests.
        /// Workers that share a store must run the same server. By default, both are kept in the
        /// memory of the process.
        @into store: Option<StoreChoice> => "store" as ChosenStore = None,
        /// Timeout of each store call.
        store_deadline: Duration => "storeDeadlineMs" limit 22 as Millis = Duration::from_secs(5),
        /// Declared extensions: their settings, by id.
        extensions: Map<String, Value> => "extensions" = Map::new(),
        /// Declared experimental capabilities: their settings, by name.
        experimental: Map<String, Value> => "experimental" = Map::new(),
        /// Report requests to OpenTelemetry, as spans and metrics. By default, enabled if the
        /// program uses OpenTelemetry; in Rust, with the cargo feature `opentelemetry`.
        @into telemetry: Option<bool> => "telemetry" = None,
        /// A custom receiver of spans and metrics, instead of the program's.
        @into telemetry_receiver: Option<Arc<dyn Telemetry>> = None,
        ;
        /// Limits of each conversation.
        limits: Limits,
        /// Cache hints for lists and the discovery result.
        cache: CacheHints,
    }
}

/// Keys of 32 bytes, in Base64.
pub struct StateKeys;

impl JsonForm<Vec<StateKey>> for StateKeys {
    const TYPE: Type = Type::List(&Type::String);

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<StateKey>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let key = |text: &String| {
            let bytes = STANDARD.decode(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            bytes.map(StateKey::new).ok_or_else(|| D::Error::custom("keys have 32 bytes, in Base64"))
        };
        texts.iter().map(key).collect()
    }

    /// Keys are secret: only their number is written.
    fn write(keys: &Vec<StateKey>) -> Value {
        keys.iter().map(|_| Value::from("…")).collect()
    }
}

impl ServerOptions {
    /// Validates the options.
    ///
    /// # Errors
    /// If an option is invalid. The error names it by its JSON name.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), RegisterError> {
        if self.page_size == 0 {
            return Err(RegisterError("options.pageSize: must be 1 or more, not 0".into()));
        }
        self.limits.check().map_err(|problem| RegisterError(format!("options.maxNesting: {problem}")))?;
        if let Some(store) = &self.store {
            store.check().map_err(|error| RegisterError(format!("options.store: {error}")))?;
        }
        for id in self.extensions.keys() {
            extension::check_id(id).map_err(|problem| RegisterError(format!("options.extensions: {problem}")))?;
        }
        for (option, declared) in [("extensions", &self.extensions), ("experimental", &self.experimental)] {
            if let Some((name, _)) = declared.iter().find(|(_, settings)| !settings.is_object()) {
                return Err(RegisterError(format!("options.{option}: the settings of {name} must be an object")));
            }
        }
        Ok(())
    }

    /// Maximum time that calls in flight may continue when the server shuts down within its drain
    /// deadline.
    #[doc(hidden)]
    pub fn drain_time(&self) -> Duration {
        const MAX_MARGIN: Duration = Duration::from_secs(1);
        self.drain_deadline - (self.drain_deadline / 5).min(MAX_MARGIN)
    }

    /// Bounds durations so that they can be added to any time.
    pub(super) fn bounded(mut self) -> Self {
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
            &mut self.store_deadline,
        ];
        for duration in durations {
            *duration = (*duration).min(YEAR);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_all_of_the_drain_deadline_but_its_last_fifth_or_second() {
        for (deadline, calls) in [(0, 0), (1_000, 800), (5_000, 4_000), (60_000, 59_000)] {
            let options = ServerOptions::default().with_drain_deadline(Duration::from_millis(deadline));
            assert_eq!(options.drain_time(), Duration::from_millis(calls), "{deadline} ms");
        }
    }
}
