//! Options of HTTP listeners: what was set, as the JSON that the bridge takes.

use serde_json::{Map, Value};

use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{free, guard, out, set, text};
use crate::options::options;
use crate::server_options::{parsed, push, put};
use crate::text::trunkline_str;

/// Options of an HTTP listener. Made by `trunkline_http_options_new`, read by
/// `trunkline_server_listen_http`, freed by `trunkline_http_options_free`. Defaults: 127.0.0.1,
/// port 8000, path /mcp.
#[derive(Default)]
pub struct trunkline_http_options {
    pub(crate) transport: Map<String, Value>,
    wrong: Option<Failure>,
}

options!(trunkline_http_options);

/// Makes options in which nothing is set. `options` is yours: `trunkline_http_options_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_new(
    options: *mut *mut trunkline_http_options,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        out!(options).put(crate::ffi::give(trunkline_http_options::default()));
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
