//! Options of servers, tools, HTTP listeners and clients.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::edge::failure::Failure;
use crate::open_handle::NotificationCallback;
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
    pub(crate) wrong: Option<Failure>,
}

/// Options of a tool. Create them with `trunkline_tool_options_new`, pass them to
/// `trunkline_server_add_tool_with`, and free them with `trunkline_tool_options_free`.
#[derive(Default)]
pub struct trunkline_tool_options {
    /// The members of the registration besides the tool.
    pub(crate) given: SetMembers,
    pub(crate) wrong: Option<Failure>,
}

/// Options of an HTTP listener. Create them with `trunkline_http_options_new`, pass them to
/// `trunkline_server_listen_http`, and free them with `trunkline_http_options_free`. Defaults:
/// 127.0.0.1, port 8000, path /mcp.
#[derive(Default)]
pub struct trunkline_http_options {
    pub(crate) given: SetMembers,
    pub(crate) wrong: Option<Failure>,
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
    pub(crate) notification: Option<Arc<NotificationCallback>>,
    pub(crate) handlers: ServerRequestHandlers,
    pub(crate) auth: Option<Value>,
    pub(crate) wrong: Option<Failure>,
}

impl trunkline_client_options {
    /// The transport options, as defaults for the servers of a configuration or a group.
    pub(crate) fn defaults(&self) -> SetMembers {
        let all: Map<_, _> =
            self.endpoint.0.iter().chain(&self.child.0).map(|(name, value)| (name.clone(), value.clone())).collect();
        SetMembers::default().with("defaults", all)
    }

    /// Returns whether the client reports telemetry if the port does.
    pub(crate) fn is_observed(&self) -> bool {
        self.given.0.get("telemetry") != Some(&Value::Bool(false))
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
    pub(crate) fn push(&mut self, name: &str, item: &str) -> Result<(), Failure> {
        let list = self.0.entry(name).or_insert_with(|| json!([]));
        list.as_array_mut().ok_or_else(|| Failure::internal(format!("`{name}` is not a list")))?.push(item.into());
        Ok(())
    }

    /// Adds a member to an object.
    pub(crate) fn put_in(&mut self, object: &str, name: &str, value: impl Into<Value>) -> Result<(), Failure> {
        let members = self.0.entry(object).or_insert_with(|| json!({}));
        let members = members.as_object_mut();
        let members = members.ok_or_else(|| Failure::internal(format!("`{object}` is not an object")))?;
        members.insert(name.to_owned(), value.into());
        Ok(())
    }
}
