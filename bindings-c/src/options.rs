//! Options of servers, tools, HTTP listeners and clients.

use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use crate::edge::prelude::*;
use crate::json::parsed;
use crate::open_handle::trunkline_notification_callback;
use crate::port::Port;
use crate::server_requests::ServerRequestHandlers;

/// Options of a server. Create them with `trunkline_server_options_new`, pass them to
/// `trunkline_server_new_with`, and free them with `trunkline_server_options_free`. An option that
/// is not set has its default.
#[derive(Default)]
pub struct trunkline_server_options {
    pub(crate) port: Option<Arc<Port>>,
    pub(crate) info: SetMembers,
    /// The other members of the registration.
    pub(crate) registration: SetMembers,
    pub(crate) given: SetMembers,
    /// The functions of a custom store.
    pub(crate) store: Option<ServerRequestHandlers>,
    pub(crate) wrong: OnceLock<Failure>,
}

/// Options of a tool. Create them with `trunkline_tool_options_new`, pass them to
/// `trunkline_server_add_tool_with`, and free them with `trunkline_tool_options_free`.
#[derive(Default)]
pub struct trunkline_tool_options {
    /// The members of the registration apart from the tool.
    pub(crate) given: SetMembers,
    pub(crate) wrong: OnceLock<Failure>,
}

/// Options of an HTTP listener. Create them with `trunkline_http_options_new`, pass them to
/// `trunkline_server_listen_http`, and free them with `trunkline_http_options_free`. Defaults:
/// 127.0.0.1, port 8000, path /mcp.
#[derive(Default)]
pub struct trunkline_http_options {
    pub(crate) given: SetMembers,
    pub(crate) wrong: OnceLock<Failure>,
}

/// Options of a client. Create them with `trunkline_client_options_new`, pass them to a
/// `trunkline_client_connect_*` function, and free them with `trunkline_client_options_free`. An
/// option that is not set has its default.
#[derive(Default)]
pub struct trunkline_client_options {
    pub(crate) port: Option<Arc<Port>>,
    pub(crate) given: SetMembers,
    /// For HTTP.
    pub(crate) endpoint: SetMembers,
    /// For child processes.
    pub(crate) child: SetMembers,
    pub(crate) background: bool,
    pub(crate) notification: Option<Arc<Callback<trunkline_notification_callback>>>,
    pub(crate) handlers: ServerRequestHandlers,
    /// The other members of the opening.
    pub(crate) opening: SetMembers,
    pub(crate) wrong: OnceLock<Failure>,
}

impl trunkline_client_options {
    /// The transport options, as defaults for the servers of a configuration or a group.
    pub(crate) fn defaults(&self) -> SetMembers {
        let mut all = self.endpoint.0.clone();
        all.extend(self.child.0.clone());
        SetMembers::default().with("defaults", all)
    }
}

/// Options of the core, stored as they are set.
#[derive(Debug, Clone, Default)]
pub(crate) struct SetMembers(pub(crate) Map<String, Value>);

impl SetMembers {
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.put(name, value);
        self
    }

    /// Keeps the default if the string is empty.
    pub(crate) fn put_unless_empty(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.put(name, text);
        }
    }

    /// Adds an item to a list.
    pub(crate) fn push(&mut self, name: &str, item: &str) {
        if let Value::Array(list) = self.0.entry(name).or_insert_with(|| json!([])) {
            list.push(item.into());
        }
    }

    /// Adds a member to an object.
    pub(crate) fn put_in(&mut self, object: &str, name: &str, value: impl Into<Value>) {
        self.0.entry(object).or_insert_with(|| json!({}))[name] = value.into();
    }
}

/// Sets where clients of HTTP+SSE (2024-11-05) open their stream and where they post. Default
/// "/sse" and "/messages"; an empty `stream` disables HTTP+SSE.
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

/// Requires an access token: a JSON object such as `{"resource": "https://mcp.example/mcp",
/// "issuer": "https://auth.example", "requiredScopes": ["mcp"]}`. `resource` is the public URL of
/// the endpoint, for which tokens must be issued. The other members: `authorizationServers`,
/// `audience`, `jwks`, `jwksUri`, `algorithms`, `strictType`, `scopes`, `implies`, `dpop` ("off",
/// "optional", "required"), `dpopAlgorithms`, `dpopNonce`, `dpopProofs`, `publicUrl`, `metadata`,
/// and `verifier`: the registration of a verifier that replaces the built-in check of JWTs
/// (`trunkline_server_add`). Calls have the identity at "/auth" (`trunkline_call_fact`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_options_set_auth(
    options: *mut trunkline_http_options,
    auth: trunkline_str,
) -> trunkline_result {
    set!(options, options.given.put("auth", parsed("auth", text!(auth))?))
}

/// Authorizes the client over HTTP with OAuth 2.1: `auth` is a JSON object of OAuthOptions, `{}` to
/// ask the server and open the browser, or `{"token": …}` for a token that you already have. Its
/// functions are set with `trunkline_client_options_on_authorize` and its siblings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_auth(
    options: *mut trunkline_client_options,
    auth: trunkline_str,
) -> trunkline_result {
    set!(options, options.opening.put("auth", parsed("auth", text!(auth))?))
}

/// Sets the name and version of the client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_info(
    options: *mut trunkline_client_options,
    name: trunkline_str,
    version: trunkline_str,
) -> trunkline_result {
    set!(options, options.given.put("info", json!({"name": text!(name), "version": text!(version)})))
}

/// Makes `trunkline_client_connect_*` return immediately, for programs with their own loop.
/// Requests wait for the connection. `trunkline_client_opened` reports that it is established; if
/// connecting fails, requests fail, and `trunkline_client_closed` reports it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_background(
    options: *mut trunkline_client_options,
    background: bool,
) -> trunkline_result {
    set!(options, options.background = background)
}
