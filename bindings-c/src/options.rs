//! Options of servers, tools, HTTP listeners and clients: what was set, as the JSON that the bridge takes.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::edge::failure::Failure;
use crate::edge::options::options;
use crate::open_handle::NotificationCallback;
use crate::port::Port;

/// Options of a server. Made by `trunkline_server_options_new`, read by
/// `trunkline_server_new_with`, freed by `trunkline_server_options_free`. What is not set keeps its
/// default.
#[derive(Default)]
pub struct trunkline_server_options {
    pub(crate) port: Option<Arc<Port>>,
    pub(crate) info: Map<String, Value>,
    pub(crate) instructions: Option<String>,
    pub(crate) options: Map<String, Value>,
    wrong: Option<Failure>,
}

options!(trunkline_server_options);

/// The limits of a server; see `trunkline_server_options_set_limit`.
#[repr(C)]
#[allow(dead_code, reason = "for C; Rust takes the numbers, which may be anything")]
pub enum trunkline_limit {
    /// Things on one page of a list. Default 1000.
    TRUNKLINE_LIMIT_PAGE_SIZE = 1,
    /// Calls that run at the same time, per session. Default 64.
    TRUNKLINE_LIMIT_MAX_RUNNING = 2,
    /// Calls that wait to run, per session. Default 1024.
    TRUNKLINE_LIMIT_MAX_WAITING = 3,
    /// Bytes of a message. Default 64 MiB.
    TRUNKLINE_LIMIT_MAX_MESSAGE_BYTES = 4,
    /// Nested arrays and objects of a message. Default 128.
    TRUNKLINE_LIMIT_MAX_NESTING = 5,
    /// HTTP sessions. Default 10000.
    TRUNKLINE_LIMIT_MAX_SESSIONS = 6,
    /// Milliseconds until an idle HTTP session ends. Default 30 minutes.
    TRUNKLINE_LIMIT_SESSION_IDLE_MS = 7,
    /// Milliseconds that calls get to finish when a server stops. Default 5 s.
    TRUNKLINE_LIMIT_DRAIN_DEADLINE_MS = 8,
    /// Milliseconds between keep-alive comments on a silent HTTP stream. Default 15 s; 0: none.
    TRUNKLINE_LIMIT_KEEP_ALIVE_MS = 9,
    /// Milliseconds that a `requestState` may travel. Default one hour.
    TRUNKLINE_LIMIT_STATE_LIFETIME_MS = 10,
    /// Rounds of input that one request may need. Default 16.
    TRUNKLINE_LIMIT_MAX_ROUNDS = 11,
    /// Milliseconds that a person gets to answer, up to 2025-11-25. Default 10 minutes.
    TRUNKLINE_LIMIT_INPUT_TIMEOUT_MS = 12,
    /// Milliseconds that a task is kept. Default one hour.
    TRUNKLINE_LIMIT_TASK_TTL_MS = 13,
    /// Milliseconds after which clients may ask for a task again. Default 500.
    TRUNKLINE_LIMIT_TASK_POLL_INTERVAL_MS = 14,
    /// Tasks that are kept. Default 10000.
    TRUNKLINE_LIMIT_MAX_TASKS = 15,
    /// Bytes of the calls that wait to run, per session. Default 64 MiB.
    TRUNKLINE_LIMIT_MAX_WAITING_BYTES = 16,
    /// Tasks of one principal, or of one session or pipe where nobody is asked for a token. Default 1000.
    TRUNKLINE_LIMIT_MAX_TASKS_PER_CLIENT = 17,
}

/// The bridge's name of each limit, by its number.
pub(crate) const LIMITS: [&str; 17] = [
    "pageSize",
    "maxRunning",
    "maxWaiting",
    "maxMessageBytes",
    "maxNesting",
    "maxSessions",
    "sessionIdleMs",
    "drainDeadlineMs",
    "keepAliveMs",
    "stateLifetimeMs",
    "maxRounds",
    "inputTimeoutMs",
    "taskTtlMs",
    "taskPollIntervalMs",
    "maxTasks",
    "maxWaitingBytes",
    "maxTasksPerClient",
];

/// Options of a tool. Made by `trunkline_tool_options_new`, read by
/// `trunkline_server_add_tool_with`, freed by `trunkline_tool_options_free`.
#[derive(Default)]
pub struct trunkline_tool_options {
    /// The members of the registration beside the tool.
    pub(crate) entry: Map<String, Value>,
    wrong: Option<Failure>,
}

options!(trunkline_tool_options);

/// Options of an HTTP listener. Made by `trunkline_http_options_new`, read by
/// `trunkline_server_listen_http`, freed by `trunkline_http_options_free`. Defaults: 127.0.0.1,
/// port 8000, path /mcp.
#[derive(Default)]
pub struct trunkline_http_options {
    pub(crate) transport: Map<String, Value>,
    wrong: Option<Failure>,
}

options!(trunkline_http_options);

/// Options of a client. Made by `trunkline_client_options_new`, read by the
/// `trunkline_client_connect_*` functions, freed by `trunkline_client_options_free`. What is not
/// set keeps its default.
#[derive(Default)]
pub struct trunkline_client_options {
    pub(crate) port: Option<Arc<Port>>,
    pub(crate) client: Map<String, Value>,
    pub(crate) limits: Map<String, Value>,
    pub(crate) headers: Map<String, Value>,
    pub(crate) env: Map<String, Value>,
    pub(crate) inherit_env: Option<bool>,
    pub(crate) cwd: Option<String>,
    pub(crate) background: bool,
    pub(crate) notification: Option<Arc<NotificationCallback>>,
    wrong: Option<Failure>,
}

options!(trunkline_client_options);

pub(crate) fn put(map: &mut Map<String, Value>, name: &str, value: impl Into<Value>) -> Result<(), Failure> {
    map.insert(name.to_owned(), value.into());
    Ok(())
}

pub(crate) fn push(map: &mut Map<String, Value>, name: &str, value: &str) -> Result<(), Failure> {
    let list = map.entry(name).or_insert_with(|| json!([]));
    list.as_array_mut().ok_or_else(|| Failure::internal(format!("`{name}` is not a list")))?.push(value.into());
    Ok(())
}

pub(crate) fn put_in(map: &mut Map<String, Value>, group: &str, name: &str, value: Value) -> Result<(), Failure> {
    let members = map.entry(group).or_insert_with(|| json!({}));
    put(members.as_object_mut().ok_or_else(|| Failure::internal(format!("`{group}` is not an object")))?, name, value)
}
