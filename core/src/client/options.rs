//! The options of a client and of a request, with their defaults.

use super::{config::ServerDefaults, handlers::ClientHandlers, input_required::InputResponses};
use crate::{
    cause::Cause,
    client_auth::ClientAuth,
    engine::{Limits, RevisionChoice},
    protocol::{
        RawJson, SentTrace,
        describe::{Described, Type},
        model::{ClientCapabilities, Implementation, LoggingLevel, Root},
        options::{Bytes, JsonForm, Millis},
    },
    telemetry::{self, OpenOperation, Telemetry},
};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

trunkline_proto::options! {
    /// Limits and behaviour of a client.
    ///
    /// ```
    /// use std::time::Duration;
    /// use trunkline::{ClientOptions, protocol::model::Implementation};
    ///
    /// let options = ClientOptions::default()
    ///     .with_info(Implementation::new("weather-station", "2.1.0"))
    ///     .with_timeout(Duration::from_secs(10));
    /// ```
    #[derive(Debug, Clone)]
    pub struct ClientOptions {
        /// The name and version of the client, which servers see. This library by default.
        info: Implementation => "info" as Info = this_library(),
        /// The capabilities that servers may use, beyond those of handlers, roots and tasks, which
        /// are declared by themselves: those of requests whose input the caller gives itself, and
        /// those of extensions.
        capabilities: ClientCapabilities => "capabilities" = ClientCapabilities::default(),
        /// The handlers for what servers ask and report; the capabilities that they need are
        /// declared.
        handlers: ClientHandlers = ClientHandlers::default(),
        /// The directories and files that servers may work in: their URIs begin with `file://`.
        /// Without this option servers cannot ask for them.
        @into roots: Option<Vec<Root>> => "roots" = None,
        /// The credentials of requests over HTTP.
        @into auth: Option<Arc<dyn ClientAuth>> = None,
        /// Defaults for the transports of the servers of a configuration or a group.
        server_defaults: ServerDefaults = ServerDefaults::default(),
        /// Values for placeholders in configurations, before those of the environment:
        /// `workspaceFolder` for `${workspaceFolder}`, `input:key` for `${input:key}`.
        @into variables: BTreeMap<String, String> => "variables" = BTreeMap::new(),
        /// The revision to speak: negotiated (`auto`), the newest of one era without a fallback
        /// (`legacy`, `modern`), or one revision without a probe.
        revision: RevisionChoice => "revision" = RevisionChoice::Auto,
        /// Receive changes of lists on every revision: servers of the legacy era send them anyway,
        /// others are asked by a subscription.
        listen: bool => "listen" = false,
        /// Longest time of a request; each progress notification starts it anew.
        timeout: Duration => "timeoutMs" as Millis = Duration::from_secs(60),
        /// Longest time of a request however much it progresses, and of a list with all its pages.
        /// Never less than the other.
        max_timeout: Duration => "maxTimeoutMs" as Millis = Duration::from_secs(600),
        /// Longest time of a handler that answers a request of the server, for example while the
        /// user fills in a form. The time of the call that the request belongs to stands still
        /// meanwhile.
        input_timeout: Duration => "inputTimeoutMs" as Millis = Duration::from_secs(600),
        /// Refuse requests of the server for input or roots while no request of this client is in
        /// flight that they could belong to.
        related_requests_only: bool => "relatedRequestsOnly" = false,
        /// Most requests of the server that are answered by tasks and kept (2025-11-25): those for
        /// elicitation and sampling for which there are handlers. With 0, servers are told that
        /// the client has none.
        max_host_tasks: usize => "maxHostTasks" = 1_024,
        /// Most bytes of the results of those tasks that are kept.
        max_host_task_bytes: usize => "maxHostTaskBytes" as Bytes = 16 << 20,
        /// Longest time that such a task is kept after it began; its handler ends with it.
        host_task_ttl: Duration => "hostTaskTtlMs" as Millis = Duration::from_secs(3600),
        /// Answer forms and pages of servers at the terminal of the process, one after the other,
        /// where the program has no handler for them. Without a terminal servers are told that they
        /// cannot ask. The program must not read from the terminal meanwhile.
        terminal_forms: bool => "terminalForms" = false,
        /// Most rounds of requests for input in one call (2026-07-28).
        max_input_rounds: usize => "maxInputRounds" = 10,
        /// Keep results for as long as the server says (2026-07-28: `ttlMs`, `cacheScope`): lists
        /// and the contents of resources. Notifications of changes end that earlier.
        cache: bool => "cache" = true,
        /// Most bytes of results that are kept; the oldest go first. There are at most 1,024 of
        /// them.
        max_cache_bytes: usize => "maxCacheBytes" as Bytes = 16 << 20,
        /// Check the structured content of tools against the output schemas of their most recent
        /// list; results that do not match are errors. A program that has not listed the
        /// tools gets results as they are, and those of tasks.
        validate_results: bool => "validateResults" = true,
        /// The least severe log messages that servers are asked for; without it, their default: on
        /// 2026-07-28 they send nothing.
        @into log_level: Option<LoggingLevel> => "logLevel" = None,
        /// Longest time of opening the conversation, all attempts together.
        connect_timeout: Duration => "connectTimeoutMs" as Millis = Duration::from_secs(30),
        /// Make a connection anew that was lost, when the next call needs it. Calls that were in
        /// flight have failed by then. Without it, the client ends with its connection.
        reconnect: bool => "reconnect" = true,
        /// Longest silence of a server on a pipe before it is taken for one of the legacy era.
        probe_timeout: Duration => "probeTimeoutMs" as Millis = Duration::from_secs(5),
        /// Longest time that a child process may take to exit by itself when the client closes, or
        /// gives up connecting to it; then it is asked to terminate, and at last killed.
        close_timeout: Duration => "closeTimeoutMs" as Millis = Duration::from_secs(2),
        /// Requests in flight at once; further ones are refused as busy.
        max_in_flight: usize = 16_384,
        /// Largest message, sent or received.
        max_message_bytes: usize => "maxMessageBytes" as Bytes = 64 << 20,
        /// Deepest nesting of arrays and objects in a message; at most 128.
        max_nesting: usize = 128,
        /// JSON values in a message, which cost far more in memory than on the wire.
        max_values: usize => "maxValues" = 1_000_000,
        /// Report requests to OpenTelemetry, as spans and measurements. By default where the
        /// program has it: loaded (Python, Node.js), as a cargo feature (Rust), by callbacks (C).
        @into telemetry: Option<bool> => "telemetry" = None,
        /// The receiver of spans and measurements, in the place of the program's.
        @into telemetry_receiver: Option<Arc<dyn Telemetry>> = None,
        /// Internal: the span that the host of a binding has begun for the opening.
        @into opening: Option<Arc<dyn OpenOperation>> = None,
    }
}

impl ClientOptions {
    /// The same with the receiver of telemetry that the program has, where none is named.
    pub(crate) fn with_telemetry_of_program(self) -> Self {
        let receiver = telemetry::or_of_program(self.telemetry, self.telemetry_receiver.clone());
        self.with_telemetry_receiver(receiver)
    }

    /// The bounds of the conversation.
    #[doc(hidden)]
    pub fn limits(&self) -> Limits {
        Limits::default()
            .with_max_message_bytes(self.max_message_bytes)
            .with_max_nesting(self.max_nesting)
            .with_max_values(self.max_values)
    }

    /// Judges the options together.
    ///
    /// # Errors
    /// The reason, which names the option as JSON has it.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), String> {
        self.limits().check().map_err(|problem| format!("options.maxNesting: {problem}"))
    }
}

fn this_library() -> Implementation {
    Implementation::new("trunkline", env!("CARGO_PKG_VERSION"))
}

/// The JSON of an Implementation object.
pub struct Info;

impl JsonForm<Implementation> for Info {
    const TYPE: Type = Implementation::TYPE;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Implementation, D::Error> {
        let info = Value::deserialize(deserializer)?;
        if !info["name"].is_string() || !info["version"].is_string() {
            return Err(D::Error::custom("needs the strings name and version"));
        }
        Implementation::deserialize(info).map_err(D::Error::custom)
    }

    fn write(info: &Implementation) -> Value {
        serde_json::to_value(info).unwrap_or_default()
    }
}

/// Takes the parameters of progress notifications.
pub type ProgressHook = Arc<dyn Fn(&RawJson) + Send + Sync>;

trunkline_proto::options! {
    /// The options of one request.
    ///
    /// ```
    /// use std::time::Duration;
    /// use trunkline::RequestOptions;
    ///
    /// let options = RequestOptions::default()
    ///     .with_timeout(Duration::from_secs(10))
    ///     .with_progress(|progress, total, message| println!("{progress} of {total:?}: {message:?}"));
    /// ```
    #[derive(Clone)]
    pub struct RequestOptions {
        /// Longest time of the request, or of each page; progress starts it anew. The connection's
        /// option by default.
        @into timeout: Option<Duration> => "timeoutMs" as Millis = None,
        /// Longest time however much it progresses, or of all pages. The connection's option by
        /// default.
        @into max_timeout: Option<Duration> => "maxTimeoutMs" as Millis = None,
        /// Asks for progress, and takes it.
        on_progress: Option<ProgressHook> = None,
        /// The caller gives the input that the server needs (2026-07-28), in the place of the
        /// client's handlers: the requests are the error `inputRequired`, and the call is made
        /// again with the answers.
        manual_input: bool => "manualInput" = false,
        /// The time that the server is asked to keep a task (2025-11-25); without it, the server
        /// decides.
        @into task_ttl: Option<Duration> = None,
        /// Ask the server even if the result is kept and fresh.
        fresh: bool => "fresh" = false,
        /// Internal: the request in the host of a binding.
        cause: Option<Arc<dyn Cause>> = None,
        /// Internal: the trace context that its messages carry.
        trace: Option<Arc<SentTrace>> = None,
        ;
        /// The answers to the requests of the round before, where the caller drives the rounds.
        input_responses: InputResponses,
    }
}

impl RequestOptions {
    /// The names in JSON of the options that belong to the input of a call.
    #[doc(hidden)]
    pub const OF_INPUT: [&str; 3] = ["manualInput", "inputResponses", "requestState"];

    /// The names in JSON of the options that belong to results that may be kept.
    #[doc(hidden)]
    pub const OF_KEPT_RESULTS: [&str; 1] = ["fresh"];

    /// Returns whether the caller drives the rounds of input: that was asked for, or answers are
    /// given.
    #[doc(hidden)]
    pub fn is_manual(&self) -> bool {
        self.manual_input || self.input_responses.are_given()
    }
}
