//! Options of servers, tools, HTTP listeners and clients.

use std::ffi::c_void;
use std::sync::Arc;

use crate::edge::failure::{Failure, trunkline_error, trunkline_result};
use crate::edge::ffi::{free, give, guard, handle, out, text};
use crate::edge::options::set;
use crate::edge::text::trunkline_str;
use crate::edge::user_data::{UserData, trunkline_destructor};
use crate::json::parsed;
use crate::open_handle::{NotificationCallback, trunkline_notification_callback};
use crate::options::{
    LIMITS, push, put, put_in, trunkline_client_options, trunkline_http_options, trunkline_server_options,
    trunkline_tool_options,
};
use crate::port::trunkline_port;

/// Makes options in which nothing is set. `options` is yours: `trunkline_server_options_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_new(
    options: *mut *mut trunkline_server_options,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        out!(options).put(give(trunkline_server_options::default()));
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
        options.port = Some(handle!(port).port.clone());
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
    set!(options, put(&mut options.options, "rerunHandlers", replay))
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
        out!(options).put(give(trunkline_tool_options::default()));
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

/// Makes options in which nothing is set. `options` is yours: `trunkline_http_options_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_new(
    options: *mut *mut trunkline_http_options,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        out!(options).put(give(trunkline_http_options::default()));
        Ok(())
    })
}

/// Sets the address to listen on, such as "127.0.0.1".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_host(
    options: *mut trunkline_http_options,
    host: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.transport, "host", text!(host)))
}

/// Sets the TCP port; 0 takes a free one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_port(
    options: *mut trunkline_http_options,
    port: u16,
) -> trunkline_result {
    set!(options, put(&mut options.transport, "port", port))
}

/// Sets the path of the endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_path(
    options: *mut trunkline_http_options,
    path: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.transport, "path", text!(path)))
}

/// Serves the legacy revisions without sessions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_stateless(
    options: *mut trunkline_http_options,
    stateless: bool,
) -> trunkline_result {
    set!(options, put(&mut options.transport, "stateless", stateless))
}

/// Answers with plain JSON instead of an event stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_json(
    options: *mut trunkline_http_options,
    json: bool,
) -> trunkline_result {
    set!(options, put(&mut options.transport, "json", json))
}

/// Allows one more value of the Host header, such as "mcp.example.org". Loopback names are allowed
/// where the address is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_allow_host(
    options: *mut trunkline_http_options,
    host: trunkline_str,
) -> trunkline_result {
    set!(options, push(&mut options.transport, "allowedHosts", text!(host)))
}

/// Allows one more value of the Origin header, such as "https://app.example.org".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_allow_origin(
    options: *mut trunkline_http_options,
    origin: trunkline_str,
) -> trunkline_result {
    set!(options, push(&mut options.transport, "allowedOrigins", text!(origin)))
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
        put(&mut options.transport, "unix", path)?;
        if mode.is_empty() { Ok(()) } else { put(&mut options.transport, "unixMode", mode) }
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
            return put(&mut options.transport, "sse", false);
        }
        put(&mut options.transport, "sse", stream)?;
        put(&mut options.transport, "messages", messages)
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
        put(&mut options.transport, "replayEvents", events)?;
        put(&mut options.transport, "replayBytes", bytes)
    })
}

/// Sets after how many milliseconds a client may come back to a stream that was closed early. Default 1000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_retry_ms(
    options: *mut trunkline_http_options,
    retry_ms: u64,
) -> trunkline_result {
    set!(options, put(&mut options.transport, "retryMs", retry_ms))
}

/// Sets how many connections may be open. Default 16384.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_max_connections(
    options: *mut trunkline_http_options,
    connections: u64,
) -> trunkline_result {
    set!(options, put(&mut options.transport, "maxConnections", connections))
}

/// Sets how many requests without a session may be open, until their calls have ended. Default 4096.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_max_requests(
    options: *mut trunkline_http_options,
    requests: u64,
) -> trunkline_result {
    set!(options, put(&mut options.transport, "maxRequests", requests))
}

/// Sets how many bytes the bodies may have together that are read and served. Default 256 MiB, and never less than one message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_max_body_bytes(
    options: *mut trunkline_http_options,
    bytes: u64,
) -> trunkline_result {
    set!(options, put(&mut options.transport, "maxBodyBytes", bytes))
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
    set!(options, put(&mut options.transport, "auth", parsed("auth", text!(auth))?))
}

/// Frees options. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_free(options: *mut trunkline_http_options) {
    free!(options)
}

/// Makes options in which nothing is set. `options` is yours: `trunkline_client_options_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_new(
    options: *mut *mut trunkline_client_options,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        out!(options).put(give(trunkline_client_options::default()));
        Ok(())
    })
}

/// Runs the client on a port of yours instead of one of its own. A client in memory always runs on
/// the port of its server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_port(
    options: *mut trunkline_client_options,
    port: *mut trunkline_port,
) -> trunkline_result {
    set!(options, {
        options.port = Some(handle!(port).port.clone());
        Ok(())
    })
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
        put(&mut options.client, "info", serde_json::json!({"name": name, "version": version}))
    })
}

/// Sets the protocol revision: "auto" (negotiate, the default), "legacy", "modern", or one such as
/// "2025-06-18", spoken without a probe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_revision(
    options: *mut trunkline_client_options,
    revision: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.client, "revision", text!(revision)))
}

/// Sets whether to hear of changed lists of tools on every revision. Servers up to 2025-11-25 tell by themselves; others
/// are asked with a subscription. They come to the callback of `trunkline_client_options_on_notification`. Default false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_listen(
    options: *mut trunkline_client_options,
    listen: bool,
) -> trunkline_result {
    set!(options, put(&mut options.client, "listen", listen))
}

/// Sets how long a request waits, in milliseconds; progress renews it. Default 60 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_timeout_ms(
    options: *mut trunkline_client_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "timeoutMs", timeout_ms))
}

/// Sets how long a request waits at most, whatever progress it makes, in milliseconds. Default 10
/// minutes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_max_timeout_ms(
    options: *mut trunkline_client_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "maxTimeoutMs", timeout_ms))
}

/// Sets how long connecting may take, in milliseconds. Default 30 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_connect_timeout_ms(
    options: *mut trunkline_client_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "connectTimeoutMs", timeout_ms))
}

/// Sets how long a server may be silent when it is asked whether it speaks the newest revision, in milliseconds. Default 5 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_probe_timeout_ms(
    options: *mut trunkline_client_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "probeTimeoutMs", timeout_ms))
}

/// Sets the most bytes that a message may have. Default 64 MiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_max_message_bytes(
    options: *mut trunkline_client_options,
    bytes: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "maxMessageBytes", bytes))
}

/// Adds an HTTP header to each request. For HTTP only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_header(
    options: *mut trunkline_client_options,
    name: trunkline_str,
    value: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.headers, text!(name), text!(value)))
}

/// Sets an environment variable of the child process. For child processes only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_env(
    options: *mut trunkline_client_options,
    name: trunkline_str,
    value: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.env, text!(name), text!(value)))
}

/// Sets whether the child process gets this process's environment. Default true. For child
/// processes only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_inherit_env(
    options: *mut trunkline_client_options,
    inherit: bool,
) -> trunkline_result {
    set!(options, {
        options.inherit_env = Some(inherit);
        Ok(())
    })
}

/// Sets the folder that the child process starts in. For child processes only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_cwd(
    options: *mut trunkline_client_options,
    cwd: trunkline_str,
) -> trunkline_result {
    set!(options, {
        options.cwd = Some(text!(cwd).to_owned());
        Ok(())
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
    set!(options, {
        options.background = background;
        Ok(())
    })
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
    set!(options, {
        let callback = NotificationCallback::new(callback, user_data).ok_or_else(|| Failure::null("callback"))?;
        options.notification = Some(Arc::new(callback));
        Ok(())
    })
}

/// Frees options. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_free(options: *mut trunkline_client_options) {
    free!(options)
}
