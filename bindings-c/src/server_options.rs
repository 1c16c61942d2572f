//! Options of servers and tools: what was set, as the JSON that the bridge takes.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{free, guard, handle, out, set, text};
use crate::hub::Hub;
use crate::options::options;
use crate::port::trunkline_port;
use crate::text::trunkline_str;

/// Options of a server. Made by `trunkline_server_options_new`, read by
/// `trunkline_server_new_with`, freed by `trunkline_server_options_free`. What is not set keeps its
/// default.
#[derive(Default)]
pub struct trunkline_server_options {
    pub(crate) hub: Option<Arc<Hub>>,
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
const LIMITS: [&str; 17] = [
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

/// Makes options in which nothing is set. `options` is yours: `trunkline_server_options_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_new(
    options: *mut *mut trunkline_server_options,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        out!(options).put(crate::ffi::give(trunkline_server_options::default()));
        Ok(())
    })
}

/// Runs the server on a port of yours instead of one of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_port(
    options: *mut trunkline_server_options,
    port: *mut trunkline_port,
) -> trunkline_result {
    set!(options, {
        options.hub = Some(handle!(port).hub.clone());
        Ok(())
    })
}

/// Sets the name for people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_title(
    options: *mut trunkline_server_options,
    title: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.info, "title", text!(title)))
}

/// Sets the description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_description(
    options: *mut trunkline_server_options,
    description: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.info, "description", text!(description)))
}

/// Sets the URL of the server's site.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_website_url(
    options: *mut trunkline_server_options,
    url: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.info, "websiteUrl", text!(url)))
}

/// Sets the icons: a JSON array of the specification's Icon.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_icons(
    options: *mut trunkline_server_options,
    icons: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.info, "icons", parsed("icons", text!(icons))?))
}

/// Sets how the model should use the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_instructions(
    options: *mut trunkline_server_options,
    instructions: trunkline_str,
) -> trunkline_result {
    set!(options, {
        options.instructions = Some(text!(instructions).to_owned());
        Ok(())
    })
}

/// Shows clients the detail of failures that they otherwise see as a generic text. Off by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_debug(
    options: *mut trunkline_server_options,
    debug: bool,
) -> trunkline_result {
    set!(options, put(&mut options.options, "debug", debug))
}

/// Sets a limit (one of `trunkline_limit`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_limit(
    options: *mut trunkline_server_options,
    limit: u32,
    value: u64,
) -> trunkline_result {
    set!(options, {
        let name = (limit as usize).checked_sub(1).and_then(|index| LIMITS.get(index));
        let name = name.ok_or_else(|| Failure::invalid("the argument `limit` is not a trunkline_limit"))?;
        put(&mut options.options, name, value)
    })
}

/// Sets how long clients may keep lists and what the server says about itself: `ttl_ms` milliseconds, "private" to one user or
/// "public". Default 0 and private. Resources have their own: `trunkline_server_add`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_cache(
    options: *mut trunkline_server_options,
    ttl_ms: u64,
    scope: trunkline_str,
) -> trunkline_result {
    set!(options, {
        let scope = text!(scope);
        put(&mut options.options, "ttlMs", ttl_ms)?;
        put(&mut options.options, "cacheScope", scope)
    })
}

/// Adds a key that seals the state of requests that need input in rounds: 32 bytes in Base64, for servers of several processes.
/// The first one seals, all of them open. Without any, a random key of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_add_state_key(
    options: *mut trunkline_server_options,
    key: trunkline_str,
) -> trunkline_result {
    set!(options, push(&mut options.options, "stateKeys", text!(key)))
}

/// Runs handlers again for each answer of the client on all revisions, as 2026-07-28 always does: a test mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_replay(
    options: *mut trunkline_server_options,
    replay: bool,
) -> trunkline_result {
    set!(options, put(&mut options.options, "replay", replay))
}

/// Declares an extension: its identifier and its settings, a JSON object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_extension(
    options: *mut trunkline_server_options,
    id: trunkline_str,
    settings: trunkline_str,
) -> trunkline_result {
    set!(options, put_in(&mut options.options, "extensions", text!(id), parsed("settings", text!(settings))?))
}

/// Declares an experimental capability: its name and its settings, a JSON object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_experimental(
    options: *mut trunkline_server_options,
    name: trunkline_str,
    settings: trunkline_str,
) -> trunkline_result {
    set!(options, { put_in(&mut options.options, "experimental", text!(name), parsed("settings", text!(settings))?) })
}

/// Frees options. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_free(options: *mut trunkline_server_options) {
    free!(options)
}

/// Makes options in which nothing is set. `options` is yours: `trunkline_tool_options_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_tool_options_new(
    options: *mut *mut trunkline_tool_options,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        out!(options).put(crate::ffi::give(trunkline_tool_options::default()));
        Ok(())
    })
}

/// Says that the output schema describes `{"result": value}` and the tool returns the bare value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_tool_options_set_wrap_output(
    options: *mut trunkline_tool_options,
    wrap: bool,
) -> trunkline_result {
    set!(options, put(&mut options.entry, "wrapOutput", wrap))
}

/// Sets the client capabilities without which a call is refused before it reaches the tool: a JSON
/// object such as `{"sampling": {}}`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_tool_options_set_requires(
    options: *mut trunkline_tool_options,
    capabilities: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.entry, "requires", parsed("capabilities", text!(capabilities))?))
}

/// Sets what an access token must grant for calls of the tool, beside what the endpoint needs: a JSON array of scopes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_tool_options_set_scopes(
    options: *mut trunkline_tool_options,
    scopes: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.entry, "scopes", parsed("scopes", text!(scopes))?))
}

/// Lets calls that may run as tasks begin as calls; `trunkline_call_start_task` makes tasks of them. For 2026-07-28.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_tool_options_set_defer_task(
    options: *mut trunkline_tool_options,
    defer: bool,
) -> trunkline_result {
    set!(options, put(&mut options.entry, "deferTask", defer))
}

/// Frees options. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_tool_options_free(options: *mut trunkline_tool_options) {
    free!(options)
}

pub(crate) fn put(map: &mut Map<String, Value>, name: &str, value: impl Into<Value>) -> Result<(), Failure> {
    map.insert(name.to_owned(), value.into());
    Ok(())
}

pub(crate) fn push(map: &mut Map<String, Value>, name: &str, value: &str) -> Result<(), Failure> {
    let list = map.entry(name).or_insert_with(|| json!([]));
    list.as_array_mut().ok_or_else(|| Failure::internal(format!("`{name}` is not a list")))?.push(value.into());
    Ok(())
}

fn put_in(map: &mut Map<String, Value>, group: &str, name: &str, value: Value) -> Result<(), Failure> {
    let members = map.entry(group).or_insert_with(|| json!({}));
    put(members.as_object_mut().ok_or_else(|| Failure::internal(format!("`{group}` is no object")))?, name, value)
}

pub(crate) fn parsed(argument: &str, json: &str) -> Result<Value, Failure> {
    serde_json::from_str(json).map_err(|reason| Failure::not_json(argument, &reason))
}
