//! JSON-RPC error objects, and the error codes that the protocol defines.

use super::revision::{Era, Revision};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal, $remedy:literal;)*) => {
        /// Error codes (the specification's base protocol and schema pages; docs/versions.md, 1.5).
        pub mod code {
            $($(#[doc = $doc])* pub const $name: i64 = $number;)*
        }

        /// The codes with their documentation, for the errors page.
        pub static CODES: &[ProtocolErrorCode] =
            &[$(ProtocolErrorCode { name: stringify!($name), number: $number, doc: &[$($doc),*], remedy: $remedy }),*];
    };
}

codes! {
    /// The message is not valid JSON.
    PARSE_ERROR = -32700, "Fix the sender, which does not write valid JSON.";
    /// The JSON is not a JSON-RPC message, or the message is not allowed at this point.
    INVALID_REQUEST = -32600, "Fix the sender: the message is not part of the protocol, or was sent at the wrong time.";
    /// The method does not exist.
    METHOD_NOT_FOUND = -32601, "Check the peer's capabilities and its revision.";
    /// The parameters are invalid.
    INVALID_PARAMS = -32602, "Read the message: it names the parameter, or what does not exist.";
    /// An internal error.
    INTERNAL_ERROR = -32603, "Read the peer's log. If `data.reason` is `busy`, a limit was reached: try again later. If it is `interrupted`, the server ended before the call did: the effect of the call is unknown.";
    /// Up to 2025-11-25: the resource does not exist. 2026-07-28 uses [`INVALID_PARAMS`] instead;
    /// clients understand both.
    RESOURCE_NOT_FOUND = -32002, "List the resources again.";
    /// 2025-11-25 only: the user has to open URLs first.
    URL_ELICITATION_REQUIRED = -32042, "Open the URLs in the data, then repeat the request.";
    /// 2026-07-28: an HTTP header is missing or differs from the body.
    HEADER_MISMATCH = -32020, "Check the proxies between the two sides: they must not change the headers.";
    /// 2026-07-28: the request needs a client capability that it did not declare.
    MISSING_CLIENT_CAPABILITY = -32021, "Register a handler for the capability that the data names.";
    /// 2026-07-28: the protocol version of the request is not supported.
    UNSUPPORTED_VERSION = -32022, "Use a revision from the list in the data; clients of this library do so automatically.";
}

/// A protocol error code.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProtocolErrorCode {
    /// The name of its constant in [`code`].
    pub name: &'static str,
    /// The code.
    pub number: i64,
    /// The documentation, one line per item.
    pub doc: &'static [&'static str],
    /// Advice for a program that gets the error.
    pub remedy: &'static str,
}

/// A JSON-RPC error object.
///
/// ```
/// # use trunkline_proto as trunkline;
/// use trunkline::protocol::RpcError;
///
/// let error = RpcError::new(1001, "The quota is used up");
/// assert_eq!((error.code, error.message.as_str()), (1001, "The quota is used up"));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// One of [`code`], or an application-defined code outside of -32768..-32000.
    pub code: i64,
    /// One concise sentence.
    pub message: String,
    /// Additional information, defined by the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// Creates an error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Returns the same error with data.
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

    /// The resource does not exist: -32602 on 2026-07-28, -32002 before, both with the URI.
    pub fn resource_not_found(uri: &str, revision: Revision) -> Self {
        let code = match revision.era() {
            Era::Modern => code::INVALID_PARAMS,
            Era::Legacy => code::RESOURCE_NOT_FOUND,
        };
        Self::new(code, format!("Resource not found: {uri}")).with_data(json!({"uri": uri}))
    }

    /// -32602: the prompt does not exist.
    pub fn unknown_prompt(name: &str) -> Self {
        Self::invalid_params(format!("Unknown prompt: {name}"))
    }

    /// -32602: the cursor is invalid or has expired.
    pub fn invalid_cursor() -> Self {
        Self::invalid_params(
            "Invalid cursor: use the nextCursor of the previous page unchanged, or omit it to start over",
        )
    }

    /// -32602: the task does not exist, or was deleted.
    pub fn unknown_task(id: &str) -> Self {
        Self::invalid_params(format!("Unknown or expired task: {id}"))
    }

    /// -32042 with the parameters of the URL elicitations, each with an `elicitationId` (2025-11-25
    /// only).
    pub fn url_elicitation_required(elicitations: Vec<Value>) -> Self {
        Self::new(code::URL_ELICITATION_REQUIRED, "The user has to open a URL before this request can be processed")
            .with_data(json!({"elicitations": elicitations}))
    }

    /// -32603, without the cause: internal details belong in the log and are not sent to the peer.
    pub fn internal() -> Self {
        Self::new(code::INTERNAL_ERROR, "Internal error")
    }

    /// -32603 with `data.reason` = `busy`: a limit was reached; try again later.
    pub fn busy(what: &str) -> Self {
        Self::new(code::INTERNAL_ERROR, format!("Busy: {what}")).with_data(json!({"reason": "busy"}))
    }

    /// -32603 with `data.reason` = `interrupted`: the server that ran the call was closed, or its
    /// process ended. The effect of the call is unknown.
    pub fn interrupted() -> Self {
        let text = "The server that ran the call has ended; the effect of the call is unknown";
        Self::new(code::INTERNAL_ERROR, text).with_data(json!({"reason": "interrupted"}))
    }

    /// Returns whether this is [`RpcError::busy`].
    pub fn is_busy(&self) -> bool {
        self.data.as_ref().is_some_and(|data| data["reason"] == "busy")
    }

    /// -32020
    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(code::HEADER_MISMATCH, message)
    }

    /// -32021
    pub fn missing_client_capability(required: Value) -> Self {
        Self::new(code::MISSING_CLIENT_CAPABILITY, "The request needs a client capability that it did not declare")
            .with_data(json!({"requiredCapabilities": required}))
    }

    /// -32022
    pub fn unsupported_version(requested: &str) -> Self {
        let supported: Vec<_> = Revision::of(Era::Modern).rev().map(Revision::as_str).collect();
        Self::new(code::UNSUPPORTED_VERSION, format!("Unsupported protocol version: {requested}"))
            .with_data(json!({"supported": supported, "requested": requested}))
    }

    /// Returns whether only servers of the modern era send this code (docs/versions.md, 2.3).
    pub fn is_modern(&self) -> bool {
        matches!(self.code, code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rpc_23_24_26_no_code_is_ours_that_is_not_assigned() {
        assert!(CODES.iter().any(|code| code.number == code::PARSE_ERROR));
        for one in CODES.iter().map(|code| code.number) {
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
