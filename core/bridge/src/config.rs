//! The JSON that hosts give to the port: read strictly, so that a misspelt option is an error and not a default.

use super::BridgeError;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, time::Duration};
use trunkline::{
    client::ClientOptions,
    engine::{Limits, RevisionChoice},
    protocol::{
        RawJson,
        model::{Implementation, LoggingLevel},
    },
    server::{CacheHints, CacheScope, Category, ServerOptions, StateKey},
};

/// Reads JSON of the host; the error says what `what` lacks or has too much.
pub(super) fn read<T: DeserializeOwned>(what: &str, json: &[u8]) -> Result<T, BridgeError> {
    read_borrowed(what, json)
}

/// The same from a value.
pub(super) fn read_value<T: DeserializeOwned>(what: &str, value: Value) -> Result<T, BridgeError> {
    serde_path_to_error::deserialize::<_, T>(value).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        BridgeError::invalid(if path == "." { format!("{what}: {error}") } else { format!("{what}: {path}: {error}") })
    })
}

/// The lists of a server by their names.
pub(super) fn category(name: &str) -> Result<Category, BridgeError> {
    Category::parse(name).ok_or_else(|| {
        BridgeError::invalid(format!("{name:?} is none of tools, resources, resourceTemplates and prompts"))
    })
}

fn read_borrowed<'a, T: Deserialize<'a>>(what: &str, json: &'a [u8]) -> Result<T, BridgeError> {
    // The path costs time, so it is only looked for when something is wrong.
    serde_json::from_slice(json).map_err(|error| {
        let located = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(json));
        let place = located.err().map(|error| error.path().to_string()).filter(|path| path != ".");
        BridgeError::invalid(match place {
            Some(path) => format!("{what}: {path}: {error}"),
            None => format!("{what}: {error}"),
        })
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ServerConfig {
    pub(super) info: Value,
    pub(super) instructions: Option<String>,
    #[serde(default)]
    options: ServerOptionsConfig,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ServerOptionsConfig {
    page_size: Option<usize>,
    debug: Option<bool>,
    max_running: Option<usize>,
    max_waiting: Option<usize>,
    max_waiting_bytes: Option<usize>,
    max_message_bytes: Option<usize>,
    max_nesting: Option<usize>,
    max_sessions: Option<usize>,
    session_idle_ms: Option<u64>,
    drain_deadline_ms: Option<u64>,
    keep_alive_ms: Option<u64>,
    ttl_ms: Option<u64>,
    #[serde(default)]
    cache_scope: CacheScope,
    #[serde(default)]
    state_keys: Vec<String>,
    state_lifetime_ms: Option<u64>,
    max_rounds: Option<u32>,
    input_timeout_ms: Option<u64>,
    #[serde(default)]
    replay: bool,
    task_ttl_ms: Option<u64>,
    task_poll_interval_ms: Option<u64>,
    max_tasks: Option<usize>,
    max_tasks_per_client: Option<usize>,
    #[serde(default)]
    extensions: Map<String, Value>,
    #[serde(default)]
    experimental: Map<String, Value>,
}

impl ServerConfig {
    pub(super) fn options(&self) -> Result<ServerOptions, BridgeError> {
        let given = &self.options;
        let defaults = ServerOptions::default();
        for member in ["name", "version"] {
            if self.info.get(member).and_then(Value::as_str).is_none() {
                return Err(BridgeError::invalid(format!("server: info.{member} must be a string")));
            }
        }
        // What clients would refuse to read is refused here.
        Implementation::deserialize(&self.info)
            .map_err(|error| BridgeError::invalid(format!("server: info: {error}")))?;
        let limits = Limits {
            max_running: given.max_running.unwrap_or(defaults.limits.max_running),
            max_waiting: given.max_waiting.unwrap_or(defaults.limits.max_waiting),
            max_waiting_bytes: given.max_waiting_bytes.unwrap_or(defaults.limits.max_waiting_bytes),
            max_message_bytes: given.max_message_bytes.unwrap_or(defaults.limits.max_message_bytes),
            max_nesting: given.max_nesting.unwrap_or(defaults.limits.max_nesting),
            ..defaults.limits
        };
        limits.check().map_err(|problem| BridgeError::invalid(format!("server: options.maxNesting: {problem}")))?;
        Ok(ServerOptions {
            limits,
            page_size: given.page_size.unwrap_or(defaults.page_size),
            debug: given.debug.unwrap_or(defaults.debug),
            max_sessions: given.max_sessions.unwrap_or(defaults.max_sessions),
            session_idle: millis(given.session_idle_ms, defaults.session_idle),
            drain_deadline: millis(given.drain_deadline_ms, defaults.drain_deadline),
            keep_alive: millis(given.keep_alive_ms, defaults.keep_alive),
            cache: CacheHints { ttl: millis(given.ttl_ms, defaults.cache.ttl), scope: given.cache_scope },
            state_keys: given.state_keys.iter().map(|key| state_key(key)).collect::<Result<_, _>>()?,
            state_lifetime: millis(given.state_lifetime_ms, defaults.state_lifetime),
            max_rounds: given.max_rounds.unwrap_or(defaults.max_rounds),
            input_timeout: millis(given.input_timeout_ms, defaults.input_timeout),
            rerun_handlers: given.replay,
            task_ttl: millis(given.task_ttl_ms, defaults.task_ttl),
            task_poll_interval: millis(given.task_poll_interval_ms, defaults.task_poll_interval),
            max_tasks: given.max_tasks.unwrap_or(defaults.max_tasks),
            max_tasks_per_client: given.max_tasks_per_client.unwrap_or(defaults.max_tasks_per_client),
            extensions: settings_by_name("extensions", &given.extensions)?,
            experimental: settings_by_name("experimental", &given.experimental)?,
        })
    }
}

fn state_key(text: &str) -> Result<StateKey, BridgeError> {
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    bytes
        .map(StateKey::new)
        .ok_or_else(|| BridgeError::invalid("server: options.stateKeys must hold keys of 32 bytes in Base64"))
}

fn settings_by_name(what: &str, given: &Map<String, Value>) -> Result<Map<String, Value>, BridgeError> {
    match given.iter().find(|(_, settings)| !settings.is_object()) {
        Some((name, _)) => Err(BridgeError::invalid(format!("server: options.{what}.{name} must be an object"))),
        None => Ok(given.clone()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OpenConfig {
    pub(super) server: Option<u64>,
    pub(super) client: Option<ClientConfig>,
    pub(super) transport: TransportConfig,
    #[serde(default)]
    pub(super) wait: bool,
    /// The host reads pipes itself when they are lent to it.
    #[serde(default)]
    pub(super) driven: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is read once")]
pub(super) enum TransportConfig {
    Stdio,
    Http {
        /// Inside a web framework: no socket.
        #[serde(default)]
        mounted: bool,
        #[serde(default)]
        host: Option<String>,
        #[serde(default)]
        port: Option<u64>,
        #[serde(default)]
        unix: Option<String>,
        #[serde(default)]
        unix_mode: Option<String>,
        #[serde(default)]
        path: Option<String>,
        #[serde(default)]
        stateless: bool,
        #[serde(default)]
        json: bool,
        #[serde(default)]
        allowed_hosts: Vec<String>,
        #[serde(default)]
        allowed_origins: Vec<String>,
        #[serde(default)]
        sse: Option<Value>,
        #[serde(default)]
        messages: Option<String>,
        #[serde(default)]
        replay_events: Option<usize>,
        #[serde(default)]
        replay_bytes: Option<usize>,
        #[serde(default)]
        retry_ms: Option<u64>,
        #[serde(default)]
        max_connections: Option<usize>,
        #[serde(default)]
        max_requests: Option<usize>,
        #[serde(default)]
        max_body_bytes: Option<usize>,
        #[serde(default)]
        auth: Option<Value>,
        #[serde(default)]
        url: Option<String>,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    Child {
        command: Vec<String>,
        #[serde(default)]
        env: BTreeMap<String, String>,
        #[serde(default = "yes")]
        inherit_env: bool,
        #[serde(default)]
        cwd: Option<String>,
    },
    Memory {
        server: u64,
    },
}

impl TransportConfig {
    /// An option that is given but means nothing to a client.
    pub(super) fn only_for_listeners(&self) -> Option<&'static str> {
        let Self::Http {
            url: _,
            headers: _,
            mounted,
            host,
            port,
            unix,
            unix_mode,
            path,
            stateless,
            json,
            allowed_hosts,
            allowed_origins,
            sse,
            messages,
            replay_events,
            replay_bytes,
            retry_ms,
            max_connections,
            max_requests,
            max_body_bytes,
            auth,
        } = self
        else {
            return None;
        };
        let given = [
            ("mounted", *mounted),
            ("host", host.is_some()),
            ("port", port.is_some()),
            ("unix", unix.is_some()),
            ("unixMode", unix_mode.is_some()),
            ("path", path.is_some()),
            ("stateless", *stateless),
            ("json", *json),
            ("allowedHosts", !allowed_hosts.is_empty()),
            ("allowedOrigins", !allowed_origins.is_empty()),
            ("sse", sse.is_some()),
            ("messages", messages.is_some()),
            ("replayEvents", replay_events.is_some()),
            ("replayBytes", replay_bytes.is_some()),
            ("retryMs", retry_ms.is_some()),
            ("maxConnections", max_connections.is_some()),
            ("maxRequests", max_requests.is_some()),
            ("maxBodyBytes", max_body_bytes.is_some()),
            ("auth", auth.is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    pub(super) fn is_mounted(&self) -> bool {
        matches!(self, Self::Http { mounted: true, .. })
    }
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClientConfig {
    info: Option<Value>,
    revision: Option<String>,
    #[serde(default)]
    listen: bool,
    #[serde(default)]
    options: ClientOptionsConfig,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClientOptionsConfig {
    timeout_ms: Option<u64>,
    max_timeout_ms: Option<u64>,
    connect_timeout_ms: Option<u64>,
    probe_timeout_ms: Option<u64>,
    max_message_bytes: Option<usize>,
}

impl ClientConfig {
    pub(super) fn options(&self) -> Result<ClientOptions, BridgeError> {
        let defaults = ClientOptions::default();
        let info = match &self.info {
            Some(info) if info["name"].is_string() && info["version"].is_string() => {
                RawJson::from_value(info).map_err(|error| BridgeError::invalid(format!("client: info: {error}")))?
            }
            Some(_) => return Err(BridgeError::invalid("client: info needs the strings name and version")),
            None => defaults.info,
        };
        let revision = match &self.revision {
            Some(name) => RevisionChoice::parse(name).ok_or_else(|| {
                BridgeError::invalid(format!(
                    "client: revision {name:?} is none of auto, legacy, modern, 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"
                ))
            })?,
            None => defaults.revision,
        };
        let given = &self.options;
        let timeout = millis(given.timeout_ms, defaults.timeout);
        Ok(ClientOptions {
            info,
            revision,
            timeout,
            max_timeout: millis(given.max_timeout_ms, defaults.max_timeout.max(timeout)),
            connect_timeout: millis(given.connect_timeout_ms, defaults.connect_timeout),
            probe_timeout: millis(given.probe_timeout_ms, defaults.probe_timeout),
            listen: self.listen,
            limits: Limits {
                max_message_bytes: given.max_message_bytes.unwrap_or(defaults.limits.max_message_bytes),
                ..defaults.limits
            },
            ..defaults
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RequestConfig<'a> {
    pub(super) method: String,
    #[serde(borrow)]
    pub(super) params: Option<&'a serde_json::value::RawValue>,
    pub(super) key: Option<String>,
    /// A list: all pages as one.
    #[serde(default)]
    pub(super) all: bool,
    pub(super) timeout_ms: Option<u64>,
    pub(super) max_timeout_ms: Option<u64>,
    #[serde(default)]
    pub(super) progress: bool,
    #[serde(default)]
    pub(super) wait: bool,
}

/// Reads a request; its params stay a slice.
pub(super) fn read_request(json: &[u8]) -> Result<RequestConfig<'_>, BridgeError> {
    read_borrowed("request", json)
}

/// The head of a request that a web framework brings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestHead {
    pub(super) method: String,
    /// As it was sent, percent-encoded.
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    /// The framework has something else to ask where nothing is served.
    #[serde(default)]
    pub(super) optional: bool,
}

/// What a handler says while it runs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CallNoticeConfig {
    pub(super) progress: Option<f64>,
    pub(super) total: Option<f64>,
    pub(super) message: Option<String>,
    pub(super) log: Option<LogConfig>,
    pub(super) once: Option<OnceConfig>,
    #[serde(default)]
    pub(super) close_stream: bool,
    #[serde(default)]
    pub(super) start_task: bool,
    pub(super) task_message: Option<String>,
}

/// What a server tells its clients.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ServerNoticeConfig {
    pub(super) list_changed: Option<String>,
    pub(super) resource_updated: Option<String>,
    pub(super) elicitation_complete: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogConfig {
    pub(super) level: LoggingLevel,
    pub(super) logger: Option<String>,
    #[serde(default)]
    pub(super) data: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnceConfig {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: Value,
}

/// Requests for input that a handler gives instead of a result.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct InputConfig {
    #[serde(default)]
    pub(super) input_requests: BTreeMap<String, InputRequestConfig>,
    pub(super) state: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputRequestConfig {
    pub(super) method: String,
    #[serde(default)]
    pub(super) params: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NotificationConfig {
    pub(super) method: String,
    pub(super) params: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailConfig {
    pub(super) kind: FailKind,
    pub(super) message: String,
    pub(super) path: Option<String>,
    pub(super) code: Option<i64>,
    pub(super) data: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FailKind {
    Tool,
    Invalid,
    Internal,
    Protocol,
}

/// Durations of the host, bounded so that adding one to a time cannot overflow.
pub(super) fn millis(given: Option<u64>, default: Duration) -> Duration {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    given.map_or(default, |given| Duration::from_millis(given).min(CENTURY))
}
