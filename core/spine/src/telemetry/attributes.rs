//! The attributes of the semantic conventions.

use serde::Serialize;
use std::borrow::Cow;

/// Attribute names.
pub(super) mod key {
    pub(in crate::telemetry) const CLIENT_ADDRESS: &str = "client.address";
    pub(in crate::telemetry) const ERROR_TYPE: &str = "error.type";
    pub(in crate::telemetry) const METHOD: &str = "mcp.method.name";
    pub(in crate::telemetry) const OPERATION: &str = "gen_ai.operation.name";
    pub(in crate::telemetry) const PROMPT: &str = "gen_ai.prompt.name";
    pub(in crate::telemetry) const PROTOCOL_NAME: &str = "network.protocol.name";
    pub(in crate::telemetry) const PROTOCOL_VERSION: &str = "network.protocol.version";
    pub(in crate::telemetry) const REQUEST_ID: &str = "jsonrpc.request.id";
    pub(in crate::telemetry) const RESOURCE: &str = "mcp.resource.uri";
    pub(in crate::telemetry) const REVISION: &str = "mcp.protocol.version";
    pub(in crate::telemetry) const SERVER_ADDRESS: &str = "server.address";
    pub(in crate::telemetry) const SERVER_PORT: &str = "server.port";
    pub(in crate::telemetry) const SESSION_ID: &str = "mcp.session.id";
    pub(in crate::telemetry) const STATUS_CODE: &str = "rpc.response.status_code";
    pub(in crate::telemetry) const TOOL: &str = "gen_ai.tool.name";
    pub(in crate::telemetry) const TRANSPORT: &str = "network.transport";
}

/// They would have too many values as attributes of metrics.
const SPAN_ATTRIBUTES: [&str; 4] = [key::CLIENT_ADDRESS, key::REQUEST_ID, key::RESOURCE, key::SESSION_ID];

/// An attribute of a span or metric.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attribute {
    /// The name.
    pub key: &'static str,
    /// The value.
    pub value: AttributeValue,
}

impl Attribute {
    pub(super) fn new(key: &'static str, value: impl Into<AttributeValue>) -> Self {
        Self { key, value: value.into() }
    }

    /// Returns whether metrics have it, too.
    pub fn is_of_metrics(&self) -> bool {
        !SPAN_ATTRIBUTES.contains(&self.key)
    }

    /// Returns whether it is the name of a tool or prompt.
    pub(super) fn is_name(&self) -> bool {
        [key::TOOL, key::PROMPT].contains(&self.key)
    }
}

/// The beginning of a text that the peer chose, whose length must not become that of spans and
/// logs.
pub(crate) fn excerpt(text: &str) -> &str {
    text.char_indices().nth(1_024).map_or(text, |(end, _)| &text[..end])
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum AttributeValue {
    /// A string.
    Text(Cow<'static, str>),
    /// An integer.
    Integer(i64),
}

impl From<&'static str> for AttributeValue {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Cow<'static, str>> for AttributeValue {
    fn from(text: Cow<'static, str>) -> Self {
        Self::Text(text)
    }
}

impl From<u16> for AttributeValue {
    fn from(number: u16) -> Self {
        Self::Integer(number.into())
    }
}

/// Bucket boundaries of all histograms, in seconds.
pub const DURATION_BOUNDARIES: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The name under which spans and measurements are reported (the instrumentation scope).
pub const SCOPE: &str = "trunkline";
