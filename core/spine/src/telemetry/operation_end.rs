//! The ends of operations and sessions: what counts as a failure.

use super::{
    attributes::{Attribute, excerpt, key},
    operation_start::{NetworkFacts, OperationKind, request_id},
};
use crate::protocol::{RawJson, RpcError, TracedRequest, method};
use serde::Deserialize;
use std::time::{Duration, Instant};

/// The `error.type` of a tool result with `isError`.
const TOOL_ERROR: &str = "tool_error";
/// The `error.type` of a cancelled request, or one whose conversation has ended.
const CANCELLED: &str = "cancelled";

/// The end of an operation.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OperationEnd {
    /// The name of the span, if it differs from the start: for an opening, that of the request that
    /// opened the connection.
    pub name: Option<String>,
    /// The attributes known at the end: `error.type` if it failed, and the code of a JSON-RPC
    /// error. They override those of the start.
    pub attributes: Vec<Attribute>,
    /// The beginning of the error message, if there is one.
    pub error: Option<String>,
    /// How long it took.
    pub duration: Duration,
    /// Its requests, if there was more than one: the rounds of a call (2026-07-28), or the attempts
    /// of an opening. Each is a child span without separate metrics.
    pub requests: Vec<ObservedRequest>,
}

/// A request of an operation with several.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObservedRequest {
    /// Its start, relative to that of the operation.
    pub after: Duration,
    /// Its end. Without a name, the request has that of the operation.
    pub end: OperationEnd,
}

impl OperationEnd {
    /// The end of an operation with a response.
    pub(crate) fn answered(method: &str, answer: &Result<RawJson, RpcError>) -> Self {
        match answer {
            Err(error) => Self::refused(error),
            Ok(result) if method == method::TOOLS_CALL && is_tool_error(result) => Self::failed(TOOL_ERROR, None),
            Ok(_) => Self::default(),
        }
    }

    /// The end of an operation with a JSON-RPC error.
    pub(crate) fn refused(error: &RpcError) -> Self {
        let mut end = Self::failed(error.code.to_string(), Some(error.message.clone()));
        end.attributes.push(Attribute::new(key::STATUS_CODE, error.code.to_string()));
        end
    }

    /// The end of a cancelled operation.
    pub(crate) fn cancelled() -> Self {
        Self::failed(CANCELLED, None)
    }

    /// The end of an operation that failed without a JSON-RPC error.
    pub(crate) fn failed(kind: impl Into<super::AttributeValue>, error: Option<String>) -> Self {
        // The error may quote the peer.
        let error = error.map(|text| excerpt(&text).to_owned());
        Self { attributes: vec![Attribute::new(key::ERROR_TYPE, kind)], error, ..Self::default() }
    }

    /// Adds the requests that were sent for an operation of `method`. `failures` are the ends of
    /// all requests but the last.
    pub(crate) fn with_requests(mut self, method: &str, sent: &[TracedRequest], failures: &[Self]) -> Self {
        let Some(first) = sent.first() else { return self };
        if sent.len() > 1 {
            let last = sent.len() - 1;
            let end =
                |index| if index == last { self.clone() } else { failures.get(index).cloned().unwrap_or_default() };
            let request = |(index, one)| ObservedRequest::new(method, first.began, one, end(index));
            self.requests = sent.iter().enumerate().map(request).collect();
        }
        let named = sent.iter().find(|one| *one.method == *method).unwrap_or(first);
        self.attributes.push(request_id(&named.id));
        self
    }

    /// For an opening: sets the request that opened the connection or failed last.
    pub(crate) fn opened_by(mut self, method: &str, network: NetworkFacts) -> Self {
        self.name = Some(method.to_owned());
        self.attributes.push(Attribute::new(key::METHOD, method.to_owned()));
        self.attributes.extend(network.attributes());
        self
    }

    /// Sets the duration.
    #[doc(hidden)]
    pub fn with_duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        if let Some(last) = self.requests.last_mut() {
            last.end.duration = duration.saturating_sub(last.after);
        }
        self
    }

    /// All attributes of the operation: those of its end, and those of its start that the end does
    /// not override.
    pub fn attributes_with<'a>(&'a self, begun: &'a [Attribute]) -> impl Iterator<Item = &'a Attribute> {
        let is_current = |begun: &&Attribute| !self.attributes.iter().any(|attribute| attribute.key == begun.key);
        begun.iter().filter(is_current).chain(&self.attributes)
    }

    /// The attributes of its measurement. Without a result, the name of the tool or prompt is left
    /// out: a client may send any name, and each would have measurements of its own.
    pub fn metric_attributes_with<'a>(&'a self, begun: &'a [Attribute]) -> impl Iterator<Item = &'a Attribute> {
        let tool_error = Attribute::new(key::ERROR_TYPE, TOOL_ERROR);
        let has_result = !self.is_failure() || self.attributes.contains(&tool_error);
        self.attributes_with(begun)
            .filter(move |attribute| attribute.is_of_metrics() && (has_result || !attribute.is_name()))
    }

    /// Returns whether the operation failed.
    pub fn is_failure(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.key == key::ERROR_TYPE)
    }
}

impl ObservedRequest {
    /// A request of an operation of `method`.
    fn new(method: &str, began: Instant, sent: &TracedRequest, mut end: OperationEnd) -> Self {
        end.name = (*sent.method != *method).then(|| sent.method.to_string());
        end.attributes.retain(|attribute| attribute.key != key::METHOD);
        end.attributes.push(Attribute::new(key::METHOD, sent.method.to_string()));
        end.attributes.push(request_id(&sent.id));
        end.duration = sent.answered.map_or(Duration::ZERO, |at| at.saturating_duration_since(sent.began));
        Self { after: sent.began.saturating_duration_since(began), end }
    }
}

/// Returns whether a tool result has `isError`.
fn is_tool_error(result: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Marked {
        #[serde(rename = "isError")]
        is_error: bool,
    }
    result.parse::<Marked>().is_ok_and(|result| result.is_error)
}

/// An ended session; only up to revision 2025-11-25.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObservedSession {
    /// The side that observed it.
    pub kind: OperationKind,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// How long it took.
    pub duration: Duration,
}

impl ObservedSession {
    pub(crate) fn new(
        kind: OperationKind,
        network: NetworkFacts,
        failure: Option<&'static str>,
        duration: Duration,
    ) -> Self {
        let mut attributes = network.attributes();
        attributes.retain(Attribute::is_of_metrics);
        attributes.extend(failure.map(|kind| Attribute::new(key::ERROR_TYPE, kind)));
        Self { kind, attributes, duration }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tool_errors_and_json_rpc_errors_are_failures() {
        let result = |value| Ok(RawJson::from_value(&value).unwrap());
        let kind = |end: &OperationEnd| {
            end.attributes.iter().find(|attribute| attribute.key == key::ERROR_TYPE).map(|found| found.value.clone())
        };
        let failed = OperationEnd::answered(method::TOOLS_CALL, &result(json!({"content": [], "isError": true})));
        assert_eq!((kind(&failed), failed.error), (Some("tool_error".into()), None));
        for fine in [json!({"content": [], "isError": false}), json!({"content": []})] {
            assert!(!OperationEnd::answered(method::TOOLS_CALL, &result(fine)).is_failure());
        }
        assert!(!OperationEnd::answered(method::PROMPTS_GET, &result(json!({"isError": true}))).is_failure());
        let refused = OperationEnd::answered(method::TOOLS_CALL, &Err(RpcError::new(-32602, "no")));
        assert_eq!((kind(&refused), refused.error.as_deref()), (Some("-32602".into()), Some("no")));
        assert!(refused.attributes.contains(&Attribute::new(key::STATUS_CODE, "-32602")));
        let long = RpcError::new(-32602, format!("Unknown tool: {}", "x".repeat(4 << 20)));
        assert_eq!(OperationEnd::answered(method::TOOLS_CALL, &Err(long)).error.map(|text| text.len()), Some(1024));
    }
}
