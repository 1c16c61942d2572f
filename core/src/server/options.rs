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
    /// Limits and behaviour of a server.
    ///
    /// ```
    /// use trunkline::ServerOptions;
    ///
    /// let options = ServerOptions::default().with_page_size(50).with_debug(true);
    /// ```
    #[derive(Debug, Clone, PartialEq)]
    pub struct ServerOptions {
        /// Items on one page of a list.
        page_size: usize => "pageSize" = 1000,
        /// The answer to a registration whose name, URI or argument is taken: an error, or the new
        /// one takes the place of the old (a notebook cell that runs twice, a module that is loaded
        /// again).
        on_duplicate: OnDuplicate => "onDuplicate" = OnDuplicate::Error,
        /// Show in lists also the features that need scopes which the caller's token lacks. A
        /// client can learn by that of what it could ask a scope for. A call without the scopes is
        /// answered by the challenge that names them in either case.
        list_out_of_scope: bool => "listOutOfScope" = false,
        /// Show clients the detail of internal failures. Otherwise they get a generic text, and the
        /// log gets the detail.
        debug: bool => "debug" = false,
        /// HTTP sessions at once. For a further one the session that has been idle the longest
        /// gives way; if all are busy, it is refused as busy.
        max_sessions: usize => "maxSessions" = 10_000,
        /// HTTP sessions at once of one principal, where tokens are verified. For a further one its
        /// own idlest gives way.
        max_sessions_per_client: usize => "maxSessionsPerClient" = 1000,
        /// Longest time that an HTTP session may be idle; a minute for one that nothing has used
        /// since it was opened.
        session_idle: Duration => "sessionIdleMs" as Millis = Duration::from_secs(30 * 60),
        /// Longest time from a signal, or from a close without a deadline of its own, to the end of
        /// the server. Calls and tasks in flight may complete until its last fifth, which is a
        /// second at most: then they fail, and their failures are sent and stored.
        drain_deadline: Duration => "drainDeadlineMs" as Millis = Duration::from_secs(5),
        /// Time after which a quiet event stream gets a comment; 0: never.
        keep_alive: Duration => "keepAliveMs" as Millis = Duration::from_secs(15),
        /// Keys that seal the state of requests that take several rounds: the first seals, all
        /// open. Instances that share them can continue each other's rounds. Without keys, a random
        /// key of this process is used. Each is 32 random bytes, as a string in Base64.
        state_keys: Vec<StateKey> => "stateKeys" as StateKeys = Vec::new(),
        /// Longest time of a client from one round to the next on 2026-07-28.
        state_lifetime: Duration => "stateLifetimeMs" as Millis = Duration::from_secs(3600),
        /// Most rounds of input that one request may need.
        max_rounds: u32 => "maxRounds" = 16,
        /// Longest time of a person to answer a request for input in the legacy era.
        input_timeout: Duration => "inputTimeoutMs" as Millis = Duration::from_secs(600),
        /// Let clients that can answer elicitation and sampling by tasks (2025-11-25): no message
        /// waits for their answers.
        client_request_tasks: bool => "clientRequestTasks" = false,
        /// Run handlers again from the top for each answer in the legacy era too, as 2026-07-28
        /// does: shows handlers that cannot stand it. For tests.
        rerun_handlers: bool => "rerunHandlers" = false,
        /// Longest time that a task is kept, and the time where the client names none.
        task_ttl: Duration => "taskTtlMs" as Millis = Duration::from_secs(3600),
        /// Time between two looks of a client at a task.
        task_poll_interval: Duration => "taskPollIntervalMs" as Millis = Duration::from_millis(500),
        /// Tasks that are kept at once. Further ones are refused as busy.
        max_tasks: usize => "maxTasks" = 10_000,
        /// Tasks that are kept at once of one principal, or of one session or pipe where no tokens
        /// are verified.
        max_tasks_per_client: usize => "maxTasksPerClient" = 1000,
        /// Size of the results of all tasks that are kept. Beyond it calls that would become tasks
        /// are refused as busy, and a task whose result finds no room fails.
        max_task_bytes: usize => "maxTaskBytes" as Bytes = 256 << 20,
        /// Size of the results of the tasks of one principal, or of one session or pipe where no
        /// tokens are verified.
        max_task_bytes_per_client: usize => "maxTaskBytesPerClient" as Bytes = 64 << 20,
        /// Size of the names that clients have given of what they want to be notified of, with 128
        /// bytes more for each: resources, tasks and elicitations, of all sessions and streams.
        /// One principal, or one address behind trusted proxies, may have a quarter of it. Beyond
        /// it, further ones are refused as busy.
        max_subscription_bytes: usize => "maxSubscriptionBytes" as Bytes = 64 << 20,
        /// Place of the tasks and of the sessions of the legacy era over HTTP, so that they outlive
        /// their process and other workers answer for them: a URL, `sqlite:PATH` for the processes
        /// of one machine, `redis://HOST` or `rediss://HOST` for many, `memory:` for tests. Workers
        /// that share a store must be of one server. By default both are in the memory of the
        /// process.
        @into store: Option<StoreChoice> => "store" as ChosenStore = None,
        /// Longest time of one call of the store.
        store_deadline: Duration => "storeDeadlineMs" as Millis = Duration::from_secs(5),
        /// Extensions that are declared, by their ids, with their settings.
        extensions: Map<String, Value> => "extensions" = Map::new(),
        /// Capabilities that are declared outside of the specification, by name, with their
        /// settings.
        experimental: Map<String, Value> => "experimental" = Map::new(),
        /// Report requests to OpenTelemetry, as spans and measurements. By default where the
        /// program has it: loaded (Python, Node.js), as a cargo feature (Rust), by callbacks (C).
        @into telemetry: Option<bool> => "telemetry" = None,
        /// The receiver of spans and measurements, in the place of the program's.
        @into telemetry_receiver: Option<Arc<dyn Telemetry>> = None,
        ;
        /// The bounds of each conversation.
        limits: Limits,
        /// Hints of lists and of the result of discovery, for the caches of clients.
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

    /// Keys are secret: their number is all that is told.
    fn write(keys: &Vec<StateKey>) -> Value {
        keys.iter().map(|_| Value::from("…")).collect()
    }
}

impl ServerOptions {
    /// Returns whether what is declared can be.
    ///
    /// # Errors
    /// Checks the options; the error has the reason, and names the option as JSON has it.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), RegisterError> {
        if self.page_size == 0 {
            return Err(RegisterError("options.pageSize: must be 1 or more, not 0".into()));
        }
        self.limits.check().map_err(|problem| RegisterError(format!("options.maxNesting: {problem}")))?;
        if let Some(store) = &self.store {
            store.check().map_err(|error| RegisterError(format!("options.store: {error}")))?;
        }
        for (id, settings) in &self.extensions {
            extension::check_id(id).map_err(|problem| RegisterError(format!("options.extensions: {problem}")))?;
            if !settings.is_object() {
                return Err(RegisterError(format!("options.extensions: the settings of {id} must be an object")));
            }
        }
        for (name, settings) in &self.experimental {
            if !settings.is_object() {
                return Err(RegisterError(format!("options.experimental: the settings of {name} must be an object")));
            }
        }
        Ok(())
    }

    /// Longest time that calls in flight may go on when the server ends within its drain deadline.
    #[doc(hidden)]
    pub fn drain_time(&self) -> Duration {
        const LAST_WORDS: Duration = Duration::from_secs(1);
        self.drain_deadline - (self.drain_deadline / 5).min(LAST_WORDS)
    }

    /// With durations that can be added to any time.
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
