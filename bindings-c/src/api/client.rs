//! Clients; `generated/` has their operations and how they end.

use trunkline::protocol::{method::TOOLS_CALL, model::CallToolResult};
use trunkline_bridge::message::NotifyConnection;

use crate::client::{connect, trunkline_client};
use crate::edge::prelude::*;
use crate::json::{ParamsBuilder, parsed_or_none, read};
use crate::options::{SetMembers, trunkline_client_options};
use crate::port::trunkline_port;
use crate::requests::trunkline_request_options;
use crate::server::trunkline_server;

/// Starts a program and connects to it over its stdin and stdout: `command` is an array of `count`
/// strings, the program first; no shell is involved. Blocks until connected. `options` may be NULL.
/// The caller owns `client`; free it with `trunkline_client_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_connect_child(
    command: *const trunkline_str,
    count: usize,
    options: *const trunkline_client_options,
    client: *mut *mut trunkline_client,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (options, client) = (settled!(options), out!(client));
        let command =
            slice!(command, count).iter().map(|&command| Ok(text!(command))).collect::<Result<Vec<_>, Failure>>()?;
        connect(options, None, |options| options.child.clone().with("type", "child").with("command", command), client)
    })
}

/// Connects to a server over HTTP: `url` is `http://` or `https://`, or
/// `unix:/run/server.sock:/mcp` for a Unix socket and the path there. Blocks until connected.
/// `options` may be NULL. The caller owns `client`; free it with `trunkline_client_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_connect_http(
    url: trunkline_str,
    options: *const trunkline_client_options,
    client: *mut *mut trunkline_client,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (url, options, client) = (text!(url), settled!(options), out!(client));
        connect(options, None, |options| options.endpoint.clone().with("type", "http").with("url", url), client)
    })
}

/// Connects over a custom transport, whose functions are set with
/// `trunkline_client_options_on_transport_*`. Blocks until connected. The caller owns `client`;
/// free it with `trunkline_client_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_connect_channel(
    options: *const trunkline_client_options,
    client: *mut *mut trunkline_client,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (options, client) = (settled!(options), out!(client));
        connect(options, None, |_| SetMembers::default().with("type", "channel"), client)
    })
}

/// Connects to a server of this process in memory: for tests, and to embed a server. Blocks until
/// connected. The client runs on the server's port, so its blocking calls also run the server's
/// tools. Inside a callback of the server they fail with `TRUNKLINE_BLOCKING`. `options` may be
/// NULL. The caller owns `client`; free it with `trunkline_client_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_connect_memory(
    server: *mut trunkline_server,
    options: *const trunkline_client_options,
    client: *mut *mut trunkline_client,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (server, options, client) = (handle!(server), settled!(options), out!(client));
        let transport = SetMembers::default().with("type", "memory").with("server", server.handle());
        connect(options, Some(server), |_| transport, client)
    })
}

/// Describes the client as a server of a group: JSON for `trunkline_client_add_server`, or for a
/// server passed to `trunkline_client_connect_group`. The group shares the client, which keeps its
/// own callbacks and options, and which you still have to free. Its callbacks run where its own
/// port is dispatched. The caller owns `json`; free it with `trunkline_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_as_server(
    client: *const trunkline_client,
    json: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (client, json) = (&handle!(client).connection, out!(json));
        let target = serde_json::json!({"connection": client.handle, "port": client.port.core.number()});
        json.finish(Text::copy(target.to_string().as_bytes()).give())
    })
}

/// Calls a tool and returns its text: the text blocks of the result, joined by newlines. Blocks
/// until the result arrives and runs callbacks meanwhile. `arguments` is a JSON object, or empty
/// for none; `options` may be NULL. The caller owns `text`; free it with `trunkline_text_free`. If
/// the tool reports a failure, the result is `TRUNKLINE_TOOL_FAILED` and the message is the tool's
/// text. For the complete result, use `trunkline_client_call_tool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_call_text(
    client: *mut trunkline_client,
    name: trunkline_str,
    arguments: trunkline_str,
    options: *const trunkline_request_options,
    text: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (client, text) = (handle!(client).connection.clone(), out!(text));
        let params =
            ParamsBuilder::default().text("name", text!(name)).optional("arguments", "arguments", text!(arguments))?;
        let json = client.request(TOOLS_CALL, params.raw()?.as_deref(), settled!(options))?;
        let result: CallToolResult = serde_json::from_slice(&json)
            .map_err(|reason| Failure::transport(&format!("Invalid tool result: {reason}")))?;
        match result.joined_text() {
            failure if result.is_error => Err(Failure::tool_failed(failure)),
            joined => text.finish(Text::copy(joined.as_bytes()).give()),
        }
    })
}

/// Cancels a started request: its callback gets `TRUNKLINE_CANCELLED`. `reason` may be empty. A
/// ticket that has already completed is not an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_cancel(
    client: *mut trunkline_client,
    ticket: u64,
    reason: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (client, reason) = (&handle!(client).connection, text!(reason));
        if client.port.has_receiver(ticket, client.handle)? {
            client.port.core.cancel(ticket, reason)?;
        }
        Ok(())
    })
}

/// Sends a notification. `params` is JSON, or empty for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_notify(
    client: *mut trunkline_client,
    method: trunkline_str,
    params: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (client, method) = (&handle!(client).connection, text!(method));
        let params = parsed_or_none("params", text!(params))?;
        client.notify(method, params)
    })
}

/// Changes the roots: `roots` is a JSON array of the specification's Root objects, whose URIs begin
/// with `file://`. A server of 2025-11-25 or older is notified; others ask again.
///
/// @deprecated Since 2026-07-28: use tool arguments, resource URIs or configuration instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_set_roots(
    client: *mut trunkline_client,
    roots: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let roots = Some(read("roots", text!(roots))?);
        handle!(client).connection.note(NotifyConnection { roots, ..NotifyConnection::default() })
    })
}

/// Information about the connection as JSON: `revision`, `serverInfo`, `capabilities`,
/// `instructions`, `pid`. The caller owns `description`; free it with `trunkline_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_info(
    client: *const trunkline_client,
    description: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (client, description) = (&handle!(client).connection, out!(description));
        description.finish(Text::new(client.port.core.describe(client.handle)?).give())
    })
}

/// The process id of the server, if this client started it and it is running; otherwise 0, also for
/// NULL. It changes when the server is restarted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_pid(client: *const trunkline_client) -> u32 {
    value_or(0, || {
        let client = &handle!(client).connection;
        // A connection that has ended has no description.
        let info = client.port.core.describe(client.handle).unwrap_or_default();
        let info: serde_json::Value = serde_json::from_slice(&info).unwrap_or_default();
        Ok(info["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default())
    })
}

/// The port of the client. Borrowed: valid until the client is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_port(client: *const trunkline_client) -> *mut trunkline_port {
    value_or(std::ptr::null_mut(), || Ok(std::ptr::from_ref(&handle!(client).port).cast_mut()))
}

/// Frees a client; an open one is closed without waiting. Callbacks of started requests no longer
/// run, but their destructors do. Allowed inside callbacks, but not while another thread uses the
/// client. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_free(client: *mut trunkline_client) {
    free!(client)
}
