//! The client: connecting, and requests on a connection. `generated/` has the operations of clients
//! and how they end.

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;
use trunkline::protocol::{RawJson, method::TOOLS_CALL, model::CallToolResult};
use trunkline_bridge::message::{HostSpan, Notification, NotifyConnection, OPEN, Request};
use trunkline_bridge::{ErrorKind, OptionNames};

use crate::calls::trunkline_call_callback;
use crate::edge::prelude::*;
use crate::edge::signal_actions::with_sigpipe_blocked;
use crate::json::{ParamsBuilder, find, parsed_or_none, read, typed};
use crate::open_handle::{OpenHandle, Opened};
use crate::options::{SetMembers, trunkline_client_options};
use crate::port::{Port, trunkline_port};
use crate::requests::{PreparedRequest, trunkline_request_options};
use crate::server::trunkline_server;

/// A custom transport may take this long after its client was freed, as after a client of Rust was
/// dropped.
const TRANSPORT_CLOSE_TIMEOUT_MS: u64 = 2_000;

/// A connection to a server. Its functions may be used on any thread. Free it with
/// `trunkline_client_free`.
pub struct trunkline_client {
    pub(crate) port: trunkline_port,
    pub(crate) connection: Arc<Opened>,
}

/// Connects over the transport that the options give.
pub(crate) fn connect(
    options: Option<&trunkline_client_options>,
    server: Option<&trunkline_server>,
    transport: impl FnOnce(&trunkline_client_options) -> SetMembers,
    client: Out<*mut trunkline_client>,
) -> Result<(), Failure> {
    let defaults = trunkline_client_options::default();
    let options = options.unwrap_or(&defaults);
    // Compiled once, for all transports.
    connect_over(options, server, transport(options), client)
}

/// Connects over a transport, on the port of the server if it is in this process, on the port in
/// the options, or on a new one.
fn connect_over(
    options: &trunkline_client_options,
    server: Option<&trunkline_server>,
    transport: SetMembers,
    client: Out<*mut trunkline_client>,
) -> Result<(), Failure> {
    let port = server.map(trunkline_server::port).or(options.port.as_ref()).cloned();
    let port = port.map_or_else(|| Port::new(OptionNames::C), Ok)?;
    let wait = !options.background;
    let given = options.opening.clone().with("client", options.given.clone().0);
    let given = given.with("transport", transport.0).with("wait", wait);
    let mut given = given.with("handlers", json!(options.handlers.lanes())).0;
    let (notification, handlers) = (options.notification.clone(), Mutex::new(options.handlers.clone()));
    let open = Arc::new(OpenHandle { notification, handlers, ..OpenHandle::default() });
    let is_observed = options.given.0.get("telemetry") != Some(&json!(false));
    let opening = || Request::default().with_method(OPEN.to_owned());
    let span = if is_observed { port.begin_numbered(0, opening) } else { None };
    if let Some(HostSpan { number, trace }) = &span {
        given.insert("span".to_owned(), json!({"number": number, "trace": trace}));
    }
    if wait {
        port.check_may_wait()?;
    }
    #[cfg(target_vendor = "apple")]
    crate::edge::signal_actions::handle_sigchld_on_alternate_stack();
    let mut connecting = None;
    let begun = port.make(
        open.clone(),
        |core| with_sigpipe_blocked(|| core.open(given)),
        |handle| {
            let connection = Arc::new(Opened { port: port.clone(), handle, open: open.clone() });
            if let Some(server) = server {
                server.note_client(&connection);
            }
            let made = trunkline_client { port: trunkline_port { port: port.clone() }, connection };
            if wait {
                connecting = Some(made);
            } else {
                client.put(give(made));
            }
        },
    );
    if let (Err(_), Some((telemetry, span))) = (&begun, port.telemetry.get().zip(span)) {
        telemetry.unsent(span.number);
    }
    let handle = begun?;
    let Some(connecting) = connecting else { return Ok(()) };
    // No `Closed` follows a failure, so nothing else would remove the function that closes a
    // transport. The core has called it by now.
    port.wait_for(handle, None).inspect_err(|_| port.detach(handle))?;
    client.finish(give(connecting))
}

/// The connection of a client.
impl Opened {
    /// Sends a request, and blocks until its result arrives.
    pub(crate) fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: Option<&trunkline_request_options>,
    ) -> Result<Bytes, Failure> {
        Ok(PreparedRequest::new(method, params, options).run(&self.port, self.handle)?.1)
    }

    /// Lists all items, page by page, and blocks until all have arrived: the items at `pointer` in
    /// the results.
    pub(crate) fn list(
        &self,
        method: &str,
        pointer: &str,
        options: Option<&trunkline_request_options>,
    ) -> Result<Text, Failure> {
        let mut request = PreparedRequest::new(method, None, options);
        request.message.all = true;
        let (_, listed) = request.run(&self.port, self.handle)?;
        Ok(Text::copy(find(str::from_utf8(&listed).map_err(Failure::internal)?, pointer)?))
    }

    /// Registers a handler on a connected client.
    pub(crate) fn answer(
        &self,
        operation: &'static str,
        callback: Callback<trunkline_call_callback>,
    ) -> Result<(), Failure> {
        let before = self.open.handlers.lock().clone();
        // Store the handler first: a request may arrive at once.
        self.open.handlers.lock().put(operation, callback);
        let handlers = Some(self.open.handlers.lock().lanes());
        let noted = self.note(NotifyConnection { handlers, ..NotifyConnection::default() });
        if noted.is_err() {
            // The host's destructors must run without a lock held.
            let refused = std::mem::replace(&mut *self.open.handlers.lock(), before);
            drop(refused);
        }
        noted
    }

    /// Sends a note about the connection to the core.
    fn note(&self, note: NotifyConnection) -> Result<(), Failure> {
        Ok(self.port.core.notify_message(self.handle, Notification::Connection(note))?)
    }
}

impl Drop for trunkline_client {
    fn drop(&mut self) {
        let Opened { port, handle, open } = &*self.connection;
        if port.check_process().is_err() {
            return;
        }
        let closing = open.closing_transport();
        let deadline_ms = if closing.is_some() { TRANSPORT_CLOSE_TIMEOUT_MS } else { 0 };
        port.replace(*handle, closing);
        let _ = self.connection.start_close(deadline_ms);
        port.detach_all_of(*handle);
        // Threads that wait for the end still hold it.
        open.end(port, Err(Failure::of(ErrorKind::Closed, "the client was freed")));
    }
}

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
        let client = &handle!(client).connection;
        let target = json!({"connection": client.handle, "port": client.port.core.number()});
        out!(json).finish(Text::new(target.to_string()).give())
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
            .map_err(|reason| Failure::of(ErrorKind::Transport, format!("Invalid tool result: {reason}")))?;
        if result.is_error {
            let failed = trunkline_result::TRUNKLINE_TOOL_FAILED;
            return Err(Failure::new(failed, ErrorKind::Protocol, result.joined_text()));
        }
        text.finish(Text::copy(result.joined_text()).give())
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
        let client = &handle!(client).connection;
        client.port.cancel(ticket, client.handle, text!(reason))
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
        let span = client.port.begin_numbered(client.handle, || {
            let sent = params.as_ref().and_then(|params| RawJson::from_value(params).ok());
            Request::default().with_method(method.to_owned()).with_params(sent).with_notification(true)
        });
        client.note(NotifyConnection { method: Some(method.to_owned()), params, span, ..NotifyConnection::default() })
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
        let client = &handle!(client).connection;
        out!(description).finish(Text::new(client.port.core.describe(client.handle)?).give())
    })
}

/// Returns `true` once a connection with `trunkline_client_options_set_background` is established,
/// also after it has ended; otherwise, and for NULL, `false`. Changes only inside
/// `trunkline_dispatch`, which then returns, and other blocking functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_opened(client: *const trunkline_client) -> bool {
    value_or(false, || Ok(handle!(client).connection.open.is_opened()))
}

/// The process id of the server, if this client started it and it is running; otherwise 0, also for
/// NULL. It changes when the server is restarted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_pid(client: *const trunkline_client) -> u32 {
    value_or(0, || {
        let client = &handle!(client).connection;
        // A connection that has ended has no description.
        typed(&client.port.core.describe(client.handle)?, "/pid", "a number")
    })
}

/// The port of the client. Borrowed: valid until the client is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_port(client: *const trunkline_client) -> *mut trunkline_port {
    value_or(std::ptr::null_mut(), || Ok(std::ptr::from_ref(&handle!(client).port).cast_mut()))
}

/// Frees a client; an open one is closed without waiting. Callbacks of started requests no longer
/// run, but their destructors do. A custom transport is closed if its port is shared and
/// dispatched; otherwise call `trunkline_client_close` first. Allowed inside callbacks, but not
/// while another thread uses the client. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_free(client: *mut trunkline_client) {
    free!(client)
}
