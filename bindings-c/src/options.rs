//! Options of servers, tools, HTTP listeners and clients.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::edge::failure::Failure;
use crate::open_handle::NotificationCallback;
use crate::port::Port;
use crate::server_requests::ServerRequestHandlers;

/// Options of a server. Made by `trunkline_server_options_new`, read by
/// `trunkline_server_new_with`, freed by `trunkline_server_options_free`. An option that is not set
/// keeps its default.
#[derive(Default)]
pub struct trunkline_server_options {
    pub(crate) port: Option<Arc<Port>>,
    pub(crate) info: SetMembers,
    /// The members of the registration beside these.
    pub(crate) registration: SetMembers,
    pub(crate) given: SetMembers,
    /// The functions of a custom store.
    pub(crate) store: Option<ServerRequestHandlers>,
    pub(crate) wrong: Option<Failure>,
}

/// Options of a tool. Made by `trunkline_tool_options_new`, read by
/// `trunkline_server_add_tool_with`, freed by `trunkline_tool_options_free`.
#[derive(Default)]
pub struct trunkline_tool_options {
    /// The members of the registration beside the tool.
    pub(crate) given: SetMembers,
    pub(crate) wrong: Option<Failure>,
}

/// Options of an HTTP listener. Made by `trunkline_http_options_new`, read by
/// `trunkline_server_listen_http`, freed by `trunkline_http_options_free`. Defaults: 127.0.0.1,
/// port 8000, path /mcp.
#[derive(Default)]
pub struct trunkline_http_options {
    pub(crate) given: SetMembers,
    pub(crate) wrong: Option<Failure>,
}

/// Options of a client. Made by `trunkline_client_options_new`, read by the
/// `trunkline_client_connect_*` functions, freed by `trunkline_client_options_free`. An option that
/// is not set keeps its default.
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
    /// The options of transports as defaults of the servers of a configuration or a group.
    pub(crate) fn defaults(&self) -> SetMembers {
        let all: Map<_, _> =
            self.endpoint.0.iter().chain(&self.child.0).map(|(name, value)| (name.clone(), value.clone())).collect();
        SetMembers::default().with("defaults", all)
    }

    /// Returns whether the client has telemetry, if the port has.
    pub(crate) fn is_observed(&self) -> bool {
        self.given.0.get("telemetry") != Some(&Value::Bool(false))
    }
}

/// Options of the core, member by member as they were set.
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

    /// Leaves the default if the text is empty.
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
