//! Clients; `generated/` has their operations and their end.

use trunkline::protocol::model::CallToolResult;
use trunkline_bridge::message::NotifyConnection;

use crate::client::{connect, trunkline_client};
use crate::edge::prelude::*;
use crate::json::{ParamsBuilder, parsed_or_none, read};
use crate::options::{SetMembers, trunkline_client_options};
use crate::port::trunkline_port;
use crate::requests::trunkline_request_options;
use crate::server::trunkline_server;

/// Starts a program and connects to it over its stdin and stdout: `command` is an array of `count`
/// texts, the program first; no shell is involved. Blocks until connected. `options` may be NULL.
/// `client` is yours: `trunkline_client_free`.
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
/// `options` may be NULL. `client` is yours: `trunkline_client_free`.
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

/// Connects over a transport of the program's own, whose functions are the
/// `trunkline_client_options_on_transport_*` of the options. Blocks until connected. `client` is
/// yours: `trunkline_client_free`.
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
/// connected. The client runs on the server's port, so that its blocking calls run the server's
/// tools too. Inside a callback of the server they give `TRUNKLINE_BLOCKING`. `options` may be
/// NULL. `client` is yours: `trunkline_client_free`.
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

/// Gives the client in the place of a server of a group: JSON for `trunkline_client_add_server`, or
/// for a place among those of `trunkline_client_connect_group`. The group shares the client, which
/// keeps its own callbacks and options, and is yours to free as before. Its callbacks run where its
/// own port is dispatched. `json` is yours: `trunkline_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_as_server(
    client: *const trunkline_client,
    json: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (client, json) = (&handle!(client).connection, out!(json));
        let place = serde_json::json!({"connection": client.handle, "port": client.port.core.number()});
        json.finish(Text::copy(place.to_string().as_bytes()).give())
    })
}

/// Calls a tool for its text: the text blocks of the result, joined by newlines. Blocks until the
/// result arrives and runs callbacks meanwhile. `arguments` is a JSON object, or empty for none;
/// `options` may be NULL. The caller owns `text`; free it with `trunkline_text_free`. A failure that
/// the tool reports is `TRUNKLINE_TOOL_FAILED`, with its text as the message.
/// `trunkline_client_call_tool` gives the whole result.
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
        let json = client.request("tools/call", params.raw()?.as_deref(), settled!(options))?;
        let result: CallToolResult = serde_json::from_slice(&json)
            .map_err(|reason| Failure::transport(&format!("Invalid result of a tool: {reason}")))?;
        match result.joined_text() {
            failure if result.is_error => Err(Failure::tool_failed(failure)),
            joined => text.finish(Text::copy(joined.as_bytes()).give()),
        }
    })
}

/// Cancels a started request: its callback gets `TRUNKLINE_CANCELLED`. `reason` may be empty. A
/// ticket that is already answered is not an error.
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
/// `instructions`, `pid`. `description` is yours: `trunkline_text_free`.
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

/// The id of the process of the server, if this client has started it and it runs; otherwise 0, and
/// for NULL. A server that is started again has another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_pid(client: *const trunkline_client) -> u32 {
    value_or(0, || {
        let client = &handle!(client).connection;
        // Of a connection that has ended there is no description.
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

/// Frees a client; one that is open is closed without waiting. Callbacks of started requests run no
/// more, their destructors do. Also inside callbacks, not while another thread uses the client.
/// NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_free(client: *mut trunkline_client) {
    free!(client)
}
