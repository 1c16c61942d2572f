//! JSON-RPC error objects and the codes that the protocol defines.

use super::revision::{Era, Revision};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;

/// Error codes (the specification's base protocol and schema pages; docs/versions.md, 1.5).
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a JSON-RPC message, or not one that is legal now.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist here.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are wrong.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something failed inside.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Up to 2025-11-25: there is no such resource. 2026-07-28 says [`INVALID_PARAMS`] instead, but
    /// clients understand both (RES-07).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// 2025-11-25 only: the user has to open URLs first (ELI-30).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// 2026-07-28: an HTTP header is missing or differs from the body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// 2026-07-28: the request needs a client capability that it did not declare.
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// 2026-07-28: the version that the request names is not supported.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// One of [`code`], or an application's own outside -32768..-32000.
    pub code: i64,
    /// One concise sentence.
    pub message: String,
    /// More detail, defined by the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same error with data.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// -32600
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// -32602
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// -32601
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    /// There is no such resource: -32602 on 2026-07-28, -32002 before, both with the URI (RES-05,
    /// RES-06).
    pub fn resource_not_found(uri: &str, revision: Revision) -> Self {
        let code = match revision.era() {
            Era::Modern => code::INVALID_PARAMS,
            Era::Legacy => code::RESOURCE_NOT_FOUND,
        };
        Self::new(code, format!("Resource not found: {uri}")).with_data(json!({"uri": uri}))
    }

    /// -32602: there is no such prompt (PRM-04).
    pub fn unknown_prompt(name: &str) -> Self {
        Self::invalid_params(format!("Unknown prompt: {name}"))
    }

    /// -32602: the cursor is not one of ours, or no longer (PAG-05).
    pub fn invalid_cursor() -> Self {
        Self::invalid_params(
            "Invalid cursor: use the nextCursor of the previous page as it stands, or leave it out to start again",
        )
    }

    /// -32602: there is no such task, or no longer (TSK-31, TKX-20).
    pub fn unknown_task(id: &str) -> Self {
        Self::invalid_params(format!("Unknown or expired task: {id}"))
    }

    /// -32042 with the parameters of the URL elicitations, each with an `elicitationId` (2025-11-25
    /// only, ELI-30).
    pub fn url_elicitation_required(elicitations: Vec<Value>) -> Self {
        Self::new(code::URL_ELICITATION_REQUIRED, "The user has to open a URL before this request can be processed")
            .with_data(json!({"elicitations": elicitations}))
    }

    /// -32603, with nothing about the cause: what went wrong inside is for the log, not for the
    /// peer.
    pub fn internal() -> Self {
        Self::new(code::INTERNAL_ERROR, "Internal error")
    }

    /// -32603 with `data.reason` = `busy`: a limit was reached, try again later.
    pub fn busy(what: &str) -> Self {
        Self::new(code::INTERNAL_ERROR, format!("Busy: {what}")).with_data(json!({"reason": "busy"}))
    }

    /// Returns whether this is [`RpcError::busy`].
    pub fn is_busy(&self) -> bool {
        self.data.as_ref().is_some_and(|data| data["reason"] == "busy")
    }

    /// -32020
    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(code::HEADER_MISMATCH, message)
    }

    /// -32021 (DISC-15)
    pub fn missing_client_capability(required: Value) -> Self {
        Self::new(code::MISSING_CLIENT_CAPABILITY, "The request needs a client capability that it did not declare")
            .with_data(json!({"requiredCapabilities": required}))
    }

    /// -32022 (DISC-12)
    pub fn unsupported_version(requested: &str) -> Self {
        let supported: Vec<_> = Revision::of(Era::Modern).rev().map(Revision::as_str).collect();
        Self::new(code::UNSUPPORTED_VERSION, format!("Unsupported protocol version: {requested}"))
            .with_data(json!({"supported": supported, "requested": requested}))
    }

    /// Returns whether the code is one of the three that only a server of the modern era sends
    /// (docs/versions.md, 2.3).
    pub fn is_modern(&self) -> bool {
        matches!(self.code, code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes of the module above, as they are written there.
    fn our_codes() -> Vec<i64> {
        let module = include_str!("error.rs").split("pub mod code {").nth(1).and_then(|rest| rest.split("\n}").next());
        let constants = module.unwrap_or_default().lines().filter_map(|line| line.split_once(": i64 = "));
        constants.filter_map(|(_, code)| code.trim_end_matches(';').parse().ok()).collect()
    }

    #[test]
    fn rpc_23_24_26_no_code_is_ours_that_is_not_assigned() {
        let codes = our_codes();
        assert!(codes.contains(&code::PARSE_ERROR) && codes.contains(&code::UNSUPPORTED_VERSION), "{codes:?}");
        for one in codes {
            // -32002 and -32042 belong to older revisions.
            let assigned =
                [-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022, -32042].contains(&one);
            assert!(assigned, "{one}");
        }
    }

    #[test]
    fn res_05_res_06_a_missing_resource_has_the_code_of_the_revision() {
        for revision in Revision::ALL {
            let error = RpcError::resource_not_found("a:b", revision);
            assert_eq!(error.code, if revision == Revision::LATEST { -32602 } else { -32002 });
            assert_eq!(error.data, Some(json!({"uri": "a:b"})));
        }
    }

    #[test]
    fn eli_30_the_error_lists_the_elicitations() {
        let one = json!({"mode": "url", "message": "m", "url": "https://a.b/", "elicitationId": "1"});
        let error = RpcError::url_elicitation_required(vec![one.clone()]);
        assert_eq!((error.code, error.data), (-32042, Some(json!({"elicitations": [one]}))));
    }
}
