//! Options of servers, HTTP listeners and clients that are set together or are C's own; `generated/options.rs` has the others.

use std::ffi::c_void;
use std::sync::Arc;

use crate::edge::prelude::*;
use crate::generated::options::LIMITS;
use crate::json::parsed;
use crate::open_handle::{NotificationCallback, trunkline_notification_callback};
use crate::options::{trunkline_client_options, trunkline_http_options, trunkline_server_options};
use crate::port::trunkline_port;
use crate::requests::{ProgressCallback, trunkline_progress_callback, trunkline_request_options};

/// Runs the server on a port of yours instead of one of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_port(
    options: *mut trunkline_server_options,
    port: *mut trunkline_port,
) -> trunkline_result {
    set!(options, options.port = Some(handle!(port).port.clone()))
}

/// Sets how the model should use the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_instructions(
    options: *mut trunkline_server_options,
    instructions: trunkline_str,
) -> trunkline_result {
    set!(options, options.instructions = Some(text!(instructions).to_owned()))
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
        options.given.put(name, value);
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
        options.given.put("ttlMs", ttl_ms);
        options.given.put("cacheScope", scope);
    })
}

/// Sets the TCP port; 0 takes a free one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_port(
    options: *mut trunkline_http_options,
    port: u16,
) -> trunkline_result {
    set!(options, options.given.put("port", port))
}

/// Listens on a Unix socket instead of an address, with permissions such as "600" (the default; `mode` may be empty).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_unix(
    options: *mut trunkline_http_options,
    path: trunkline_str,
    mode: trunkline_str,
) -> trunkline_result {
    set!(options, {
        let (path, mode) = (text!(path), text!(mode));
        options.given.put("unix", path);
        if !mode.is_empty() {
            options.given.put("unixMode", mode);
        }
    })
}

/// Sets where clients of HTTP+SSE (2024-11-05) open their stream and where they post. Default "/sse" and "/messages"; an empty
/// `stream`: they are not served.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_sse(
    options: *mut trunkline_http_options,
    stream: trunkline_str,
    messages: trunkline_str,
) -> trunkline_result {
    set!(options, {
        let (stream, messages) = (text!(stream), text!(messages));
        if stream.is_empty() {
            options.given.put("sse", false);
        } else {
            options.given.put("sse", stream);
            options.given.put("messages", messages);
        }
    })
}

/// Sets what each session keeps for clients whose connection breaks: events, and bytes of them. Default 1000 and 4 MiB;
/// 0: nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_replay(
    options: *mut trunkline_http_options,
    events: u64,
    bytes: u64,
) -> trunkline_result {
    set!(options, {
        options.given.put("replayEvents", events);
        options.given.put("replayBytes", bytes);
    })
}

/// Lets in only who has an access token: a JSON object such as `{"resource": "https://mcp.example/mcp", "issuer":
/// "https://auth.example", "requiredScopes": ["mcp"]}`. `resource` is the public URL of the endpoint, which tokens must be for.
/// The others: `authorizationServers`, `audience`, `jwks`, `jwksUri`, `algorithms`, `scopes`, `implies`, `dpop` ("off", "optional",
/// "required"), `dpopAlgorithms`, `dpopNonce`, `publicUrl`, `metadata`, and `verifier`: the registration of what judges tokens in the
/// place of the built-in check of JWTs (`trunkline_server_add`). Calls have the identity at "/auth" (`trunkline_call_fact`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_auth(
    options: *mut trunkline_http_options,
    auth: trunkline_str,
) -> trunkline_result {
    set!(options, options.given.put("auth", parsed("auth", text!(auth))?))
}

/// Runs the client on a port of yours instead of one of its own. A client in memory always runs on
/// the port of its server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_port(
    options: *mut trunkline_client_options,
    port: *mut trunkline_port,
) -> trunkline_result {
    set!(options, options.port = Some(handle!(port).port.clone()))
}

/// Sets what the client calls itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_info(
    options: *mut trunkline_client_options,
    name: trunkline_str,
    version: trunkline_str,
) -> trunkline_result {
    set!(options, {
        let (name, version) = (text!(name), text!(version));
        options.given.put("info", serde_json::json!({"name": name, "version": version}));
    })
}

/// Makes `trunkline_client_connect_*` return at once, for programs with a loop of their own.
/// Requests wait for the connection; if it cannot be made, they fail, and `trunkline_client_closed`
/// says so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_background(
    options: *mut trunkline_client_options,
    background: bool,
) -> trunkline_result {
    set!(options, options.background = background)
}

/// Runs `callback` for each notification of the server. `destructor` fires exactly once, when
/// neither the options nor a client uses `user_data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_on_notification(
    options: *mut trunkline_client_options,
    callback: trunkline_notification_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    set!(options, options.notification = Some(Arc::new(NotificationCallback::required(callback, user_data)?)))
}

/// Requests progress. `callback` runs before the outcome of the request: for a blocking request on the thread that made it.
/// Progress that comes while a callback of the port runs is reduced to the latest; a blocking request that is answered
/// meanwhile leaves it out. `destructor` fires exactly once, when neither the options nor a request uses `user_data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_on_progress(
    options: *mut trunkline_request_options,
    callback: trunkline_progress_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    set!(options, options.progress = Some(Arc::new(ProgressCallback::required(callback, user_data)?)))
}
