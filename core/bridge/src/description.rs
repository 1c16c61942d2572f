//! Descriptions of calls, connections, servers and the port, for `describe` and `open`.

use crate::{
    BridgeError, ErrorKind, PortState,
    host_json::without_nulls,
    state::tables::{self, HandleKind},
};
use http::{HeaderMap, HeaderName, header};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trunkline::{
    auth::{Identity, Verification},
    bridge_support::described,
    client::Client,
    protocol::{
        RawJson,
        model::{ClientCapabilities, Implementation, JsonObject, ServerCapabilities},
    },
    server::{CallInfo, Category, HttpRequest, Server},
};

/// The kinds of handles that can be described, apart from the port.
const KINDS: [HandleKind; 4] = [HandleKind::Call, HandleKind::Verification, HandleKind::Connection, HandleKind::Server];

/// Describes a call, a token to verify, a connection, a server, or (0) the port.
pub(crate) fn describe(state: &PortState, target: u64) -> Result<String, BridgeError> {
    let described = match HandleKind::of(target) {
        None if target == 0 => {
            let (closing, things) = (state.queue.is_closing(), state.tables.lock().len());
            Some(of_kind("port", json!(PortDescription { number: state.number, things, closing })))
        }
        // Without the lock, which all other calls need: what a peer sent may be large.
        Some(HandleKind::Call) => state.call_info(target).map(|info| of_call(&info)),
        Some(HandleKind::Verification) => state.tables.lock().verifications.get(target).map(of_verification),
        Some(HandleKind::Connection) => {
            state.client(target).map(|client| of_kind("connection", server_description(&client)))
        }
        Some(HandleKind::Server) => state.server(target).ok().map(|server| of_server(&server)),
        _ => None,
    };
    let described = described.ok_or_else(|| tables::ended(&KINDS, "a call, token, connection or server", target))?;
    serde_json::to_string(&described).map_err(|error| BridgeError::new(ErrorKind::Internal, error.to_string()))
}

described! {
    /// The call that a handler answers.
    #[derive(Serialize)]
    pub struct CallDescription {
        /// Method of the request, such as `tools/call`.
        required method: String = "method",
        /// Name of the called tool or prompt, URI of the resource to read, or otherwise the method.
        required name: String = "name",
        /// Protocol revision of the caller.
        required revision: &'static str = "revision" as String,
        /// JSON-RPC id of the request as a string, unique among the requests in flight of its
        /// session.
        required request_id: String = "requestId",
        /// Id of the session (HTTP up to 2025-11-25); otherwise absent.
        optional session_id: Option<String> = "sessionId",
        /// Headers of the call's HTTP request, by lowercase name. Multiple values are joined by
        /// commas, those of `cookie` by semicolons. Headers with an access token are omitted if the
        /// endpoint requires one. Empty on pipes and in memory.
        required headers: BTreeMap<String, String> = "headers",
        /// Target of the HTTP request as received, such as `/mcp?tenant=acme`; in a web framework,
        /// relative to the mount.
        optional url: Option<String> = "url",
        /// IP address of the HTTP peer, which may be a proxy, if known.
        optional remote_address: Option<String> = "remoteAddress",
        /// Name and version of the caller, if it sent them.
        optional client_info: Option<Value> = "clientInfo" as Implementation,
        /// Capabilities of the caller.
        required client_capabilities: Value = "clientCapabilities" as ClientCapabilities,
        /// The `_meta` of the request, or its replacement by middleware.
        required meta: Value = "meta" as JsonObject,
        /// Identity of the caller, if its access token was verified.
        optional auth: Option<Value> = "auth" as Identity,
        /// True if the caller requested progress; otherwise none is sent.
        required wants_progress: bool = "progress",
        /// The client's responses to the previous run's requests for input, by key. Keys without a
        /// response are missing.
        required input_responses: Value = "inputResponses" as JsonObject,
        /// State that the previous run passed along with its requests for input.
        optional state: Option<Value> = "state",
    }

    /// The HTTP request with an access token to verify.
    #[derive(Serialize)]
    pub struct VerificationDescription {
        /// Headers of the HTTP request, by lowercase name. Multiple values are joined by commas,
        /// those of `cookie` by semicolons. They include the token and its proof: don't log them or
        /// pass them on.
        required headers: BTreeMap<String, String> = "headers",
        /// Target of the HTTP request as received, such as `/mcp?tenant=acme`; in a web framework,
        /// relative to the mount.
        required target: String = "target",
        /// IP address of the HTTP peer, which may be a proxy, if known.
        optional remote_address: Option<String> = "remoteAddress",
    }

    /// Additional members of the description of a call, for the host only.
    #[derive(Serialize)]
    pub struct HandlerMemory {
        /// Values that earlier runs of the handler stored with `notify` `once`, by name.
        required once: Value = "once" as JsonObject,
        /// Why the client's responses do not match the requests for input, by key.
        optional input_problems: Option<Value> = "inputProblems" as JsonObject,
    }

    /// The description of a server: the names of its features.
    #[derive(Serialize)]
    pub struct ServerFeatures {
        /// The tools.
        required tools: Vec<String> = "tools",
        /// The URIs of the resources.
        required resources: Vec<String> = "resources",
        /// The resource templates.
        required resource_templates: Vec<String> = "resourceTemplates",
        /// The prompts.
        required prompts: Vec<String> = "prompts",
    }

    /// The description of the port.
    #[derive(Serialize)]
    pub struct PortDescription {
        /// Number of the port in its process.
        required number: u64 = "number",
        /// Number of handles and tickets in use.
        required things: usize = "things",
        /// True if the port was closed and is ending.
        required closing: bool = "closing",
    }

    /// The server of a connection. If revision 2026-07-28 is pinned, everything except the revision
    /// becomes known shortly after the connection opens.
    #[derive(Serialize)]
    pub struct ConnectionDescription {
        /// Negotiated protocol revision.
        required revision: &'static str = "revision" as String,
        /// Name and version of the server, if it sent them.
        optional server_info: Option<Value> = "serverInfo" as Implementation,
        /// Capabilities of the server.
        required capabilities: Value = "capabilities" as ServerCapabilities,
        /// The server's instructions for the model.
        optional instructions: Option<String> = "instructions",
        /// Process id of the server, if this client started it and it is running. It changes when
        /// the server is restarted.
        optional pid: Option<u32> = "pid" as u64,
    }
}

/// A call, with what the host stores for its later runs.
fn of_call(call: &CallInfo) -> Value {
    let scope = call.request_info();
    let facts = CallDescription {
        method: call.method().to_owned(),
        name: call.name().to_owned(),
        revision: scope.revision.as_str(),
        request_id: call.request_id().to_string(),
        session_id: call.session_id().map(str::to_owned),
        headers: call.http().map(|request| headers_of(request.headers())).unwrap_or_default(),
        url: call.http().map(|request| request.uri().to_string()),
        remote_address: call.http().and_then(HttpRequest::remote_address).map(|address| address.to_string()),
        client_info: scope.client_info.as_ref().and_then(read::<Implementation>),
        client_capabilities: read::<ClientCapabilities>(&scope.client_capabilities).unwrap_or_else(|| json!({})),
        meta: scope.meta.as_ref().map_or_else(|| json!({}), value),
        auth: scope.auth.as_ref().map(value),
        wants_progress: scope.progress_token.is_some(),
        input_responses: json!(call.input_responses()),
        state: call.state(),
    };
    let problems = Some(call.input_problems()).filter(|problems| !problems.is_empty());
    let memory =
        HandlerMemory { once: json!(call.all_memoized()), input_problems: problems.map(|problems| json!(problems)) };
    let mut described = of_kind("call", json!(facts));
    if let (Some(members), Value::Object(more)) = (described.as_object_mut(), json!(memory)) {
        members.extend(more);
    }
    without_nulls(described)
}

/// The request that carries a token.
fn of_verification(verification: &Verification) -> Value {
    let facts = VerificationDescription {
        headers: headers_of(verification.headers()),
        target: verification.uri().to_string(),
        remote_address: verification.remote_address().map(|address| address.to_string()),
    };
    without_nulls(of_kind("verification", json!(facts)))
}

/// Headers as strings, with one character per byte of a value.
fn headers_of(headers: &HeaderMap) -> BTreeMap<String, String> {
    let joined = |name: &HeaderName| {
        let separator = if *name == header::COOKIE { "; " } else { ", " };
        let values =
            headers.get_all(name).iter().map(|value| value.as_bytes().iter().copied().map(char::from).collect());
        values.collect::<Vec<String>>().join(separator)
    };
    headers.keys().map(|name| (name.as_str().to_owned(), joined(name))).collect()
}

/// Adds the kind to a description.
fn of_kind(kind: &str, mut described: Value) -> Value {
    described["kind"] = kind.into();
    described
}

/// A server, described by the names of its features.
fn of_server(server: &Server) -> Value {
    let features = ServerFeatures {
        tools: server.names(Category::Tools),
        resources: server.names(Category::Resources),
        resource_templates: server.names(Category::ResourceTemplates),
        prompts: server.names(Category::Prompts),
    };
    of_kind("server", json!(features))
}

/// The description of an open connection's server.
pub(crate) fn server_description(client: &Client) -> Value {
    let server = client.server();
    without_nulls(json!(ConnectionDescription {
        revision: server.revision.as_str(),
        server_info: server.info.as_ref().and_then(read::<Implementation>),
        capabilities: read::<ServerCapabilities>(&server.capabilities).unwrap_or_else(|| json!({})),
        instructions: server.instructions.clone(),
        pid: client.pid(),
    }))
}

/// An object from a peer; `None` if it is not of that type, which hosts could not read.
fn read<T: DeserializeOwned>(raw: &RawJson) -> Option<Value> {
    raw.parse::<T>().ok().map(|_| value(raw))
}

fn value(raw: &RawJson) -> Value {
    raw.parse().unwrap_or_default()
}
