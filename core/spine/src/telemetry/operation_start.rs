//! The start of an operation: its name and attributes.

use super::attributes::{Attribute, excerpt, key};
use crate::{
    protocol::{
        RawJson, RequestId, Revision, TraceContext,
        method::{Method, Target},
    },
    wire_log::Transport,
};
use serde::Deserialize;
use std::{borrow::Cow, time::Duration};

/// The start of a request or notification.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OperationStart {
    /// The kind of the span.
    pub kind: OperationKind,
    /// The name of the span: the method, and the name of the tool or prompt.
    pub name: String,
    /// The attributes known at the start.
    pub attributes: Vec<Attribute>,
    /// The received trace context. Empty on the sender's side, where the current span is the
    /// parent.
    pub parent: TraceContext,
    /// The start time, since the Unix epoch.
    pub began: Duration,
}

/// The side that an operation is seen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// The receiver of the request: a server, or a client handling a server request.
    Server,
    /// The sender of the request: a client, or a server making a client request.
    Client,
}

impl OperationKind {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }

    /// The histogram of the durations of its requests.
    pub const fn operation_duration(self) -> DurationMetric {
        match self {
            Self::Server => DurationMetric {
                name: "mcp.server.operation.duration",
                description: "MCP request or notification duration as observed on the receiver from the time it was \
                              received until the result or ack is sent.",
            },
            Self::Client => DurationMetric {
                name: "mcp.client.operation.duration",
                description: "The duration of the MCP request or notification as observed on the sender from the time \
                              it was sent until the response or ack is received.",
            },
        }
    }

    /// The histogram of the durations of its sessions.
    pub const fn session_duration(self) -> DurationMetric {
        match self {
            Self::Server => DurationMetric {
                name: "mcp.server.session.duration",
                description: "The duration of the MCP session as observed on the MCP server.",
            },
            Self::Client => DurationMetric {
                name: "mcp.client.session.duration",
                description: "The duration of the MCP session as observed on the MCP client.",
            },
        }
    }
}

/// A histogram of durations in seconds, with the buckets of [`DURATION_BOUNDARIES`].
///
/// [`DURATION_BOUNDARIES`]: super::DURATION_BOUNDARIES
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DurationMetric {
    /// The name.
    pub name: &'static str,
    /// The description.
    pub description: &'static str,
}

/// Facts about the transport of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct NetworkFacts {
    pub(crate) transport: Option<Transport>,
    /// The version of HTTP.
    pub(crate) http_version: Option<&'static str>,
    pub(crate) revision: Option<Revision>,
    pub(crate) session_id: Option<String>,
    /// The address of the client, as its server sees it.
    pub(crate) client_address: Option<String>,
    /// The address and port of the server, as used by the client.
    pub(crate) server: Option<(String, Option<u16>)>,
}

impl NetworkFacts {
    /// The attributes, which sessions have as well.
    pub(super) fn attributes(self) -> Vec<Attribute> {
        let (network, protocol) = match self.transport {
            Some(Transport::Stdio) => (Some("pipe"), None),
            Some(Transport::Http) => (Some("tcp"), Some("http")),
            _ => (None, None),
        };
        let (address, port) = self.server.map_or((None, None), |(address, port)| (Some(address), port));
        [
            self.revision.map(|revision| Attribute::new(key::REVISION, revision.as_str())),
            network.map(|name| Attribute::new(key::TRANSPORT, name)),
            protocol.map(|name| Attribute::new(key::PROTOCOL_NAME, name)),
            self.http_version.map(|version| Attribute::new(key::PROTOCOL_VERSION, version)),
            self.session_id.map(|id| Attribute::new(key::SESSION_ID, id)),
            self.client_address.map(|address| Attribute::new(key::CLIENT_ADDRESS, address)),
            address.map(|address| Attribute::new(key::SERVER_ADDRESS, address)),
            port.map(|port| Attribute::new(key::SERVER_PORT, port)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl OperationStart {
    /// The start of a request or notification of this side.
    pub(crate) fn sent(
        method: impl Into<Cow<'static, str>>,
        params: Option<&RawJson>,
        network: NetworkFacts,
        began: Duration,
    ) -> Self {
        let mut start = Self::about(OperationKind::Client, method.into(), params, began);
        start.attributes.extend(network.attributes());
        start
    }

    /// The start of a request of the peer.
    pub(crate) fn received(
        method: impl Into<Cow<'static, str>>,
        params: Option<&RawJson>,
        id: &RequestId,
        network: NetworkFacts,
        began: Duration,
    ) -> Self {
        let mut start = Self::about(OperationKind::Server, method.into(), params, began);
        start.attributes.push(request_id(id));
        start.attributes.extend(network.attributes());
        start
    }

    fn about(kind: OperationKind, method: Cow<'static, str>, params: Option<&RawJson>, began: Duration) -> Self {
        let mut name = method.to_string();
        let kind_of_target = Method::target(&method);
        let target = kind_of_target.zip(params).and_then(|(kind, params)| target(kind, params));
        if let Some(Attribute { key: key::TOOL | key::PROMPT, value: super::AttributeValue::Text(target) }) = &target {
            name = format!("{method} {target}");
        }
        let mut attributes = vec![Attribute::new(key::METHOD, method)];
        attributes.extend(target);
        if kind_of_target == Some(Target::Tool) {
            attributes.push(Attribute::new(key::OPERATION, "execute_tool"));
        }
        Self { kind, name, attributes, parent: TraceContext::default(), began }
    }

    /// The start of an opening. Its end has the method, which may differ from the first one.
    pub(crate) fn opening(first: &'static str, network: NetworkFacts, began: Duration) -> Self {
        let (kind, parent) = (OperationKind::Client, TraceContext::default());
        Self { kind, name: first.to_owned(), attributes: network.attributes(), parent, began }
    }

    pub(crate) fn with_parent(mut self, parent: TraceContext) -> Self {
        self.parent = parent;
        self
    }
}

/// The id of a request, without quotes.
pub(super) fn request_id(id: &RequestId) -> Attribute {
    let text = match id {
        RequestId::String(text) => excerpt(text).to_owned(),
        id => id.to_string(),
    };
    Attribute::new(key::REQUEST_ID, text)
}

/// The tool, prompt or resource of a request.
fn target(kind: Target, params: &RawJson) -> Option<Attribute> {
    #[derive(Deserialize)]
    struct TargetParams {
        name: Option<String>,
        uri: Option<String>,
        #[serde(rename = "ref")]
        reference: Option<Reference>,
    }
    #[derive(Deserialize)]
    struct Reference {
        name: Option<String>,
    }
    let (key, of): (_, fn(TargetParams) -> Option<String>) = match kind {
        Target::Tool => (key::TOOL, |params| params.name),
        Target::Prompt => (key::PROMPT, |params| params.name),
        Target::Completion => (key::PROMPT, |params| params.reference?.name),
        Target::Resource | Target::Subscription => (key::RESOURCE, |params| params.uri),
        Target::Task => return None,
    };
    Some(Attribute::new(key, excerpt(&of(params.parse().ok()?)?).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::method;
    use serde_json::json;

    #[test]
    fn spans_have_the_names_of_tools_and_prompts_and_not_those_of_resources() {
        for (method, params, name, attribute) in [
            (method::TOOLS_CALL, json!({"name": "add"}), "tools/call add", Some((key::TOOL, "add"))),
            (method::PROMPTS_GET, json!({"name": "greet"}), "prompts/get greet", Some((key::PROMPT, "greet"))),
            (
                method::COMPLETION_COMPLETE,
                json!({"ref": {"type": "ref/prompt", "name": "greet"}}),
                "completion/complete greet",
                Some((key::PROMPT, "greet")),
            ),
            (method::RESOURCES_READ, json!({"uri": "a://b"}), "resources/read", Some((key::RESOURCE, "a://b"))),
            (method::TASKS_GET, json!({"taskId": "7"}), "tasks/get", None),
            (method::TOOLS_CALL, json!({"name": 7}), "tools/call", None),
        ] {
            let params = RawJson::from_value(&params).unwrap();
            let network = NetworkFacts { transport: Some(Transport::Stdio), ..NetworkFacts::default() };
            let id = RequestId::from("seven");
            let made = OperationStart::received(method, Some(&params), &id, network, Duration::ZERO);
            assert_eq!(made.name, name);
            let has = |key: &'static str, value: &'static str| made.attributes.contains(&Attribute::new(key, value));
            assert!(has(key::METHOD, method) && has(key::TRANSPORT, "pipe"), "{made:?}");
            assert!(has(key::REQUEST_ID, "seven"), "{made:?}");
            assert!(attribute.is_none_or(|(key, value)| has(key, value)), "{made:?}");
            assert_eq!(has(key::OPERATION, "execute_tool"), method == method::TOOLS_CALL);
        }
    }

    #[test]
    fn what_the_peer_chose_is_shortened() {
        let (long, short) = ("é".repeat(4 << 20), "é".repeat(1_024));
        let params = RawJson::from_value(&json!({"name": long})).unwrap();
        let (id, network) = (RequestId::from(&*long), NetworkFacts::default());
        let made = OperationStart::received(method::TOOLS_CALL, Some(&params), &id, network, Duration::ZERO);
        assert_eq!(made.name, format!("tools/call {short}"));
        for key in [key::REQUEST_ID, key::TOOL] {
            assert!(made.attributes.contains(&Attribute::new(key, short.clone())), "{key}");
        }
    }
}
