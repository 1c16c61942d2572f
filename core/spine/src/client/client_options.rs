//! The options of a client and of a request, with their defaults.

use super::{ClientError, ClientHandlers, InputResponses, ServerDefaults, readable};
use crate::{
    cause::Cause,
    client_auth::ClientAuth,
    engine::{Limits, RevisionChoice},
    protocol::{
        RawJson, SentTrace,
        describe::{Described, Type},
        model::{ClientCapabilities, Implementation, LoggingLevel, Progress, Root},
        options::{Bytes, JsonForm, Millis},
        uri,
    },
    telemetry::{self, OpenOperation, Telemetry},
};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

trunkline_proto::options! {
    /// Limits and behavior of a client.
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
        /// The name and version that servers see. By default, those of this library.
        info: Implementation => "info" as Info = this_library(),
        /// Additional capabilities that servers may use. Those of handlers, roots and tasks are
        /// declared automatically; add those of requests whose input the caller supplies itself,
        /// and those of extensions.
        capabilities: ClientCapabilities => "capabilities" = ClientCapabilities::default(),
        /// Handlers for requests and notifications from servers; the capabilities they need are
        /// declared.
        handlers: ClientHandlers = ClientHandlers::default(),
        /// The directories and files that servers may work in: their URIs begin with `file://`.
        /// Without this option, servers cannot request roots.
        #[deprecated(note = "in protocol revision 2026-07-28; use tool arguments, resource URIs or configuration instead")]
        @into roots: Option<Vec<Root>> => "roots" = None,
        /// The credentials of requests over HTTP.
        @into auth: Option<Arc<dyn ClientAuth>> = None,
        /// Default transport options for the servers of a configuration or a group.
        server_defaults: ServerDefaults = ServerDefaults::default(),
        /// Values for placeholders in configurations, which take precedence over the environment:
        /// `workspaceFolder` for `${workspaceFolder}`, `input:key` for `${input:key}`.
        @into variables: BTreeMap<String, String> => "variables" = BTreeMap::new(),
        /// The protocol revision: negotiated (`auto`), the newest of one era without a fallback
        /// (`legacy`, `modern`), or a specific revision without a probe.
        revision: RevisionChoice => "revision" = RevisionChoice::Auto,
        /// Receive list changes on every revision: legacy servers send them anyway, for others the
        /// client opens a subscription.
        listen: bool => "listen" = false,
        /// Timeout of a request; each progress notification restarts it.
        timeout: Duration => "timeoutMs" as Millis = Duration::from_secs(60),
        /// Maximum time of a request regardless of progress, and of a list with all its pages.
        /// Never less than the timeout.
        max_timeout: Duration => "maxTimeoutMs" as Millis = Duration::from_secs(600),
        /// Maximum time for a handler to answer a server's request, for example while the user
        /// fills in a form. The timeout of the call it belongs to is paused meanwhile.
        input_timeout: Duration => "inputTimeoutMs" as Millis = Duration::from_secs(600),
        /// Refuse a server's requests for input or roots while this client has no request in flight
        /// that they could belong to.
        related_requests_only: bool => "relatedRequestsOnly" = false,
        /// Maximum number of server requests run as tasks and kept (2025-11-25): those for
        /// elicitation and sampling that have handlers. With 0, the client declares no support for
        /// them.
        max_host_tasks: usize => "maxHostTasks" = 1_024,
        /// Maximum total size of the kept results of those tasks.
        max_host_task_bytes: usize => "maxHostTaskBytes" as Bytes = 16 << 20,
        /// Maximum lifetime of such a task from its start; its handler ends with it.
        host_task_ttl: Duration => "hostTaskTtlMs" as Millis = Duration::from_secs(3600),
        /// Show servers' forms and pages in the terminal of the process, one at a time, if the
        /// program has no handler for them. Without a terminal, the capability is not declared. The
        /// program must not read from the terminal meanwhile.
        terminal_forms: bool => "terminalForms" = false,
        /// Maximum rounds of requests for input per call (2026-07-28).
        max_input_rounds: usize => "maxInputRounds" = 10,
        /// Cache results for as long as the server allows (2026-07-28: `ttlMs`, `cacheScope`):
        /// lists and the contents of resources. Change notifications invalidate them earlier.
        cache: bool => "cache" = true,
        /// Maximum size of cached results; the oldest are evicted first. There are at most 1,024 of
        /// them.
        max_cache_bytes: usize => "maxCacheBytes" as Bytes = 16 << 20,
        /// Validate the structured content of tools against the output schemas of their latest
        /// list; results that do not match are errors. If the program has not listed the tools,
        /// results are not validated, nor are those of tasks.
        validate_results: bool => "validateResults" = true,
        /// The minimum severity of log messages requested from servers; by default, the server
        /// decides: on 2026-07-28 it sends none.
        #[deprecated(note = "in protocol revision 2026-07-28; log to standard error or through OpenTelemetry instead")]
        @into log_level: Option<LoggingLevel> => "logLevel" = None,
        /// The interval of pings to a server of the legacy era, so that neither it nor a proxy on
        /// the way drops an idle session. By default, there are none. Later revisions have no
        /// sessions.
        @into ping_interval: Option<Duration> => "pingIntervalMs" as Millis = None,
        /// Maximum time to open the connection, for all attempts together. In memory, this includes
        /// opening the lifespan of the server.
        connect_timeout: Duration => "connectTimeoutMs" as Millis = Duration::from_secs(30),
        /// Reconnect on the next call if the connection was lost; calls in flight fail. Without it,
        /// the client ends with its connection.
        reconnect: bool => "reconnect" = true,
        /// Connect with the first request instead of when the client is opened. A request fails if
        /// it cannot connect, and the next one tries again. Until one succeeds, the client knows
        /// nothing about the server. A group has no such option: it connects to its servers when it
        /// is opened, and again on demand.
        lazy: bool => "lazy" = false,
        /// Maximum silence of a server on a pipe before it is treated as legacy.
        probe_timeout: Duration => "probeTimeoutMs" as Millis = Duration::from_secs(5),
        /// Maximum time for a child process to exit on its own when the client closes, or gives up
        /// connecting to it; then it is terminated, and finally killed.
        close_timeout: Duration => "closeTimeoutMs" as Millis = Duration::from_secs(2),
        /// Maximum requests in flight; beyond it, requests are refused as busy.
        max_in_flight: usize = 16_384,
        /// Maximum size of a message, sent or received.
        max_message_bytes: usize => "maxMessageBytes" as Bytes = 64 << 20,
        /// Maximum nesting of arrays and objects in a message; at most 128.
        max_nesting: usize = 128,
        /// Maximum JSON values in a message, which take far more memory than their text.
        max_values: usize => "maxValues" = 1_000_000,
        /// Report requests to OpenTelemetry, as spans and metrics. By default, enabled if the
        /// program uses OpenTelemetry; in Rust, with the cargo feature `opentelemetry`.
        @into telemetry: Option<bool> => "telemetry" = None,
        /// A custom receiver of spans and metrics, instead of the program's.
        @into telemetry_receiver: Option<Arc<dyn Telemetry>> = None,
        /// Internal: the span that the host of a binding has started for the opening.
        @into opening: Option<Arc<dyn OpenOperation>> = None,
    }

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
        /// Timeout of the request, or of each page; progress restarts it. By default, the
        /// connection's option.
        @into timeout: Option<Duration> => "timeoutMs" as Millis = None,
        /// Maximum time regardless of progress, or for all pages. By default, the connection's
        /// option.
        @into max_timeout: Option<Duration> => "maxTimeoutMs" as Millis = None,
        /// Requests progress notifications and receives them.
        on_progress: Option<ProgressHook> = None,
        /// Let the caller supply the input that the server needs (2026-07-28), instead of the
        /// client's handlers: the call fails with the error `inputRequired`, which contains the
        /// requests; call again with the answers.
        manual_input: bool => "manualInput" = false,
        /// Requested lifetime of a task (2025-11-25); by default, the server decides.
        @into task_ttl: Option<Duration> = None,
        /// Bypass the cache.
        fresh: bool => "fresh" = false,
        /// Internal: the request in the host of a binding.
        cause: Option<Arc<dyn Cause>> = None,
        /// Internal: the trace context that its messages carry.
        trace: Option<Arc<SentTrace>> = None,
        /// Internal: no caller waits for it, so the user is not asked to log in for it.
        unattended: bool = false,
        ;
        /// The answers to the requests of the previous round, if the caller drives the rounds.
        input_responses: InputResponses,
    }
}

impl ClientOptions {
    /// Fills in the program's receiver of telemetry if none is set.
    #[doc(hidden)]
    pub fn with_telemetry_of_program(self) -> Self {
        let receiver = telemetry::or_of_program(self.telemetry, self.telemetry_receiver.clone());
        self.with_telemetry_receiver(receiver)
    }

    /// Limits of the conversation.
    #[doc(hidden)]
    pub fn limits(&self) -> Limits {
        Limits::default()
            .with_max_message_bytes(self.max_message_bytes)
            .with_max_nesting(self.max_nesting)
            .with_max_values(self.max_values)
    }

    /// Validates the options in combination.
    ///
    /// # Errors
    /// The reason, which names the option by its JSON name.
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
        let is_given = |member: &str| info[member].as_str().is_some_and(|text| !text.is_empty());
        if !is_given("name") || !is_given("version") {
            return Err(D::Error::custom("needs the strings name and version, which must not be empty"));
        }
        Implementation::deserialize(info).map_err(D::Error::custom)
    }

    fn write(info: &Implementation) -> Value {
        serde_json::to_value(info).unwrap_or_default()
    }
}

/// Receives the parameters of progress notifications.
pub type ProgressHook = Arc<dyn Fn(&RawJson) + Send + Sync>;

/// Passes on a progress notification: the progress, the total, and a message for people.
#[doc(hidden)]
pub fn report_progress(params: &RawJson, report: impl FnOnce(f64, Option<f64>, Option<&str>)) -> Result<(), String> {
    let Progress { progress, total, message, .. } = readable(params)?;
    report(progress, total, message.as_deref());
    Ok(())
}

impl RequestOptions {
    /// The JSON names of the options for a call's input.
    #[doc(hidden)]
    pub const OF_INPUT: [&str; 3] = ["manualInput", "inputResponses", "requestState"];

    /// The JSON names of the options for cacheable results.
    #[doc(hidden)]
    pub const OF_KEPT_RESULTS: [&str; 1] = ["fresh"];

    /// Returns whether the caller drives the rounds of input: it asked to, or it supplied answers.
    #[doc(hidden)]
    pub fn is_manual(&self) -> bool {
        self.manual_input || self.input_responses.are_given()
    }
}

/// Rejects URIs that do not start with `file://` or that contain `..` segments (ROOT-05).
pub(in crate::client) fn check_roots(roots: &[Root]) -> Result<(), ClientError> {
    for (index, root) in roots.iter().enumerate() {
        let invalid = |problem: String| ClientError::Invalid(format!("roots/{index}/uri: {problem}"));
        if !root.uri.starts_with("file://") {
            return Err(invalid(format!("{:?} must begin with \"file://\"", root.uri)));
        }
        uri::check(&root.uri).and_then(|()| uri::check_traversal(&root.uri)).map_err(|e| invalid(e.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_05_roots_are_files_that_do_not_climb() {
        for uri in ["https://a.b/", "/work", "file:/work", "file:///a/../b", "file:///a%2f%2e%2e", "file:///a b"] {
            let error = check_roots(&[Root::new("file:///a"), Root::new(uri)]).unwrap_err();
            assert!(error.to_string().starts_with("roots/1/uri: "), "{uri}: {error}");
        }
        assert!(check_roots(&[Root::new("file:///C:/work")]).is_ok());
    }
}
