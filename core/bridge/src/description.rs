//! The replies of `describe` and `open`: calls, connections and servers.

use super::{
    error::{BridgeError, ErrorKind},
    state::PortState,
    table::Kind,
};
use serde_json::{Value, json};
use trunkline::{
    client::ServerDescription,
    protocol::RawJson,
    server::{CallInfo, Category, Server},
};

/// The description of a call, a connection, a server, or (0) the port.
pub(super) fn describe(state: &PortState, target: u64) -> Result<Vec<u8>, BridgeError> {
    let tables = state.tables.lock();
    let described = match Kind::of(target) {
        None if target == 0 => Some(json!({"kind": "port", "things": tables.len(), "closing": state.is_closing()})),
        Some(Kind::Call) => tables.calls.get(target).map(|call| of_call(&call.info)),
        Some(Kind::Connection) => {
            let client = tables.connections.get(target).and_then(|connection| connection.get());
            client.map(|client| of_connection(client.server()))
        }
        Some(Kind::Server) => tables.servers.get(target).map(of_server),
        _ => None,
    };
    drop(tables);
    let described = described.ok_or_else(|| BridgeError::stale("a call, connection or server", target))?;
    serde_json::to_vec(&described).map_err(|error| BridgeError::new(ErrorKind::Internal, error.to_string()))
}

/// A call: what it serves, and what its client said of itself.
fn of_call(call: &CallInfo) -> Value {
    let scope = call.request_info();
    let mut described = json!({
        "kind": "call",
        "method": call.method(),
        "name": call.name(),
        "revision": scope.revision.as_str(),
        "clientCapabilities": value(&scope.client_capabilities),
        "progress": scope.progress_token.is_some(),
    });
    described["clientInfo"] = scope.client_info.as_ref().map_or(Value::Null, value);
    described["meta"] = scope.meta.as_ref().map_or(Value::Null, value);
    described["auth"] = scope.auth.as_ref().map_or(Value::Null, value);
    described["inputResponses"] = json!(call.input_responses());
    let problems = call.input_problems();
    if !problems.is_empty() {
        described["inputProblems"] = json!(problems);
    }
    described["state"] = call.state().unwrap_or_default();
    described["once"] = json!(call.all_kept());
    without_nulls(described)
}

/// A connection: its server.
fn of_connection(server: &ServerDescription) -> Value {
    let mut described = server_description(server);
    described["kind"] = "connection".into();
    described
}

/// A server: what it offers by name, and how long its calls get when its host closes it.
fn of_server(server: &Server) -> Value {
    json!({
        "kind": "server",
        "drainDeadlineMs": server.options().drain_deadline.as_millis(),
        "tools": server.names(Category::Tools),
        "resources": server.names(Category::Resources),
        "resourceTemplates": server.names(Category::ResourceTemplates),
        "prompts": server.names(Category::Prompts),
    })
}

/// The description of the server of an open connection.
pub(super) fn server_description(server: &ServerDescription) -> Value {
    without_nulls(json!({
        "revision": server.revision.as_str(),
        "serverInfo": server.info.as_ref().map(value),
        "capabilities": value(&server.capabilities),
        "instructions": server.instructions,
    }))
}

fn value(raw: &RawJson) -> Value {
    raw.parse().unwrap_or_default()
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    value
}
