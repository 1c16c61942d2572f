//! The ends of operations and sessions: what counts as a failure.

use super::{
    attributes::{Attribute, key},
    operation::{NetworkFacts, OperationKind, request_id},
};
use crate::protocol::{RawJson, RequestId, RpcError, method};
use serde::Deserialize;
use std::time::Duration;

/// The `error.type` of a tool that reports a failure in its result.
const TOOL_ERROR: &str = "tool_error";
/// That of a request which its sender has withdrawn, or whose conversation has ended.
const CANCELLED: &str = "cancelled";

/// The end of an operation.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OperationEnd {
    /// The facts that are known at its end: `error.type` if it failed, and the code of a JSON-RPC
    /// error.
    pub attributes: Vec<Attribute>,
    /// The text of its failure, if there is one.
    pub error: Option<String>,
    /// The time that it took.
    pub duration: Duration,
}

impl OperationEnd {
    /// The end with the answer of a server or a client.
    pub(crate) fn answered(method: &str, answer: &Result<RawJson, RpcError>) -> Self {
        match answer {
            Err(error) => Self::refused(error),
            Ok(result) if method == method::TOOLS_CALL && is_tool_error(result) => Self::failed(TOOL_ERROR, None),
            Ok(_) => Self::default(),
        }
    }

    /// The end by a JSON-RPC error.
    pub(crate) fn refused(error: &RpcError) -> Self {
        let mut end = Self::failed(error.code.to_string(), Some(error.message.clone()));
        end.attributes.push(Attribute::new(key::STATUS_CODE, error.code.to_string()));
        end
    }

    /// The end of a request that is not wanted any more.
    pub(crate) fn cancelled() -> Self {
        Self::failed(CANCELLED, None)
    }

    /// The end by a failure without a JSON-RPC error.
    pub(crate) fn failed(kind: impl Into<super::AttributeValue>, error: Option<String>) -> Self {
        Self { attributes: vec![Attribute::new(key::ERROR_TYPE, kind)], error, duration: Duration::ZERO }
    }

    /// The same with the id that the request was sent with.
    pub(crate) fn with_id(mut self, id: Option<&RequestId>) -> Self {
        self.attributes.extend(id.map(request_id));
        self
    }

    /// Returns whether the operation failed.
    pub fn is_failure(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.key == key::ERROR_TYPE)
    }
}

/// Returns whether the result of a tool says that it failed.
fn is_tool_error(result: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Marked {
        #[serde(rename = "isError")]
        is_error: bool,
    }
    result.parse::<Marked>().is_ok_and(|result| result.is_error)
}

/// A session that has ended: what `initialize` opened, up to the revision 2025-11-25.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObservedSession {
    /// The side that it is seen from.
    pub kind: OperationKind,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// The time that it took.
    pub duration: Duration,
}

impl ObservedSession {
    pub(crate) fn new(
        kind: OperationKind,
        way: NetworkFacts,
        failure: Option<&'static str>,
        duration: Duration,
    ) -> Self {
        let mut attributes = way.attributes();
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
    }
}
