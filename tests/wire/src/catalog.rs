//! Maps messages to the types of a revision, derived from the names and unions of its schema.

use std::collections::HashMap;

use serde_json::Value;

use crate::extension::Extensions;
use crate::schema::{NodeId, Schema};
use crate::{Direction, Revision, SchemaError};

/// A request method in one direction.
pub(crate) struct RequestType {
    pub(crate) request: NodeId,
    /// The types that its result may have.
    pub(crate) results: Vec<NodeId>,
}

/// The four shapes of a JSON-RPC message.
pub(crate) struct Envelopes {
    pub(crate) request: NodeId,
    pub(crate) notification: NodeId,
    pub(crate) result: NodeId,
    pub(crate) error: NodeId,
}

/// The kinds of message that have a method.
#[derive(Clone, Copy)]
pub(crate) enum CallKind {
    Request,
    Notification,
}

/// The messages that one side may send.
pub(crate) struct Sender {
    pub(crate) requests: HashMap<String, RequestType>,
    pub(crate) notifications: HashMap<String, NodeId>,
    /// Every result type of this side, for responses whose request is not known.
    pub(crate) results: Vec<NodeId>,
}

/// The types of one revision and the extensions that were negotiated, by message.
pub(crate) struct Catalog {
    pub(crate) revision: Revision,
    pub(crate) extensions: Extensions,
    pub(crate) schema: Schema,
    pub(crate) envelopes: Envelopes,
    /// Response types for particular error codes.
    pub(crate) errors: HashMap<i64, NodeId>,
    /// `true` if a message may be an array.
    pub(crate) batches: bool,
    client: Sender,
    server: Sender,
}

impl Envelopes {
    pub(crate) fn of(&self, kind: CallKind) -> NodeId {
        match kind {
            CallKind::Request => self.request,
            CallKind::Notification => self.notification,
        }
    }
}

impl Sender {
    /// The type of the messages with that method.
    pub(crate) fn call(&self, kind: CallKind, method: &str) -> Option<NodeId> {
        match kind {
            CallKind::Request => self.requests.get(method).map(|known| known.request),
            CallKind::Notification => self.notifications.get(method).copied(),
        }
    }
}

impl Catalog {
    pub(crate) fn load(revision: Revision, extensions: Extensions) -> Result<Self, SchemaError> {
        let schema = Schema::load(revision, &extensions)?;
        let derive = || {
            Ok((
                envelopes(&schema)?,
                sender(&schema, Direction::ClientToServer)?,
                sender(&schema, Direction::ServerToClient)?,
            ))
        };
        let (envelopes, client, server) =
            derive().map_err(|problem: String| SchemaError::Unusable { revision, problem })?;
        let batches = schema
            .definition("JSONRPCMessage")
            .is_some_and(|message| schema.members(message).iter().any(|member| schema.node(*member).items.is_some()));
        Ok(Self { revision, extensions, errors: errors(&schema), envelopes, batches, client, server, schema })
    }

    /// The messages that the sender of this direction may send.
    pub(crate) fn sender(&self, direction: Direction) -> &Sender {
        match direction {
            Direction::ClientToServer => &self.client,
            Direction::ServerToClient => &self.server,
        }
    }
}

fn envelopes(schema: &Schema) -> Result<Envelopes, String> {
    let message = schema.definition("JSONRPCMessage").ok_or("defines no JSONRPCMessage")?;
    let members = schema.members(message);
    let find = |present: &[&str], absent: &[&str]| {
        let declares = |member: NodeId, name: &&str| schema.property(member, name).is_some();
        let fits = |member: &&NodeId| {
            present.iter().all(|name| declares(**member, name)) && !absent.iter().any(|name| declares(**member, name))
        };
        members.iter().find(fits).copied().ok_or_else(|| format!("JSONRPCMessage has no member with {present:?}"))
    };
    Ok(Envelopes {
        request: find(&["method", "id"], &[])?,
        notification: find(&["method"], &["id"])?,
        result: find(&["result", "id"], &[])?,
        error: find(&["error", "id"], &[])?,
    })
}

fn sender(schema: &Schema, direction: Direction) -> Result<Sender, String> {
    // A union that a revision lacks is empty: in 2026-07-28 servers send no requests.
    let union = |kind: &str| {
        let name = format!("{}{kind}", direction.sender());
        schema.definition(&name).map(|union| schema.members(union)).unwrap_or_default()
    };
    let mut requests = HashMap::new();
    for request in union("Request") {
        requests.insert(method(schema, request)?, RequestType { request, results: results(schema, request)? });
    }
    for_tasks(schema, &mut requests);
    let mut notifications = HashMap::new();
    for notification in union("Notification") {
        notifications.insert(method(schema, notification)?, notification);
    }
    // The unions of 2025-11-25 lack the task with which either side may answer a request.
    let results = union("Result").into_iter().chain(schema.definition("CreateTaskResult")).collect();
    Ok(Sender { requests, notifications, results })
}

fn method(schema: &Schema, message: NodeId) -> Result<String, String> {
    let method = schema.constant(message, "method").and_then(Value::as_str).map(str::to_owned);
    method.ok_or_else(|| format!("{} has no method", schema.node(message).name))
}

/// `ListToolsRequest` is answered by the result of `ListToolsResultResponse`, else by
/// `ListToolsResult`, else by nothing.
fn results(schema: &Schema, request: NodeId) -> Result<Vec<NodeId>, String> {
    let name = &schema.node(request).name;
    let stem = name.strip_suffix("Request").ok_or_else(|| format!("{name} is not named as a request"))?;
    let response = schema.definition(&format!("{stem}ResultResponse"));
    let result = response
        .and_then(|response| schema.property(response, "result"))
        .or_else(|| schema.definition(&format!("{stem}Result")))
        .or_else(|| schema.definition("EmptyResult"))
        .ok_or_else(|| format!("no result type for {name}"))?;
    Ok(schema.members(result))
}

/// A request that may run as a task may be answered with that task instead, and the request for a
/// task's payload with the result of any of those (its own result type is as open as `Result`).
fn for_tasks(schema: &Schema, requests: &mut HashMap<String, RequestType>) {
    let Some(created) = schema.definition("CreateTaskResult") else {
        return;
    };
    let empty = schema.definition("EmptyResult").map(|empty| schema.follow(empty));
    let mut payloads = Vec::new();
    for request in requests.values_mut() {
        let parameters = schema.property(request.request, "params").map(|parameters| schema.members(parameters));
        if parameters.unwrap_or_default().iter().any(|member| schema.property(*member, "task").is_some()) {
            payloads.extend(request.results.iter().copied());
            request.results.push(created);
        }
    }
    if payloads.is_empty() {
        return;
    }
    for request in requests.values_mut() {
        let says_nothing = |result: &NodeId| schema.node(*result).values.is_some() && Some(*result) != empty;
        if request.results.iter().all(says_nothing) {
            request.results.clone_from(&payloads);
        }
    }
}

fn errors(schema: &Schema) -> HashMap<i64, NodeId> {
    let code = |response: NodeId| schema.constant(schema.property(response, "error")?, "code")?.as_i64();
    schema.definitions().filter_map(|response| Some((code(response)?, response))).collect()
}
