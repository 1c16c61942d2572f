//! HTTP responses for refusals and errors.

use crate::protocol::{Era, RequestId, RpcError, envelope, error::code};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode};

/// An HTTP error response.
#[derive(Debug)]
pub struct Rejection {
    /// The status.
    pub status: StatusCode,
    /// A JSON-RPC error.
    pub body: Bytes,
    /// Additional header fields.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Rejection {
    /// `id` is that of the refused request, if it could be read.
    pub fn new(status: StatusCode, id: Option<&RequestId>, error: &RpcError) -> Self {
        Self { status, body: envelope::encode_error(id, error), headers: Vec::new() }
    }

    /// A refusal with status 400.
    pub fn bad_request(id: Option<&RequestId>, error: &RpcError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, id, error)
    }

    /// A limit was reached (503).
    pub fn busy(id: Option<&RequestId>, what: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, id, &RpcError::busy(what))
    }

    /// A refusal that does not name a request.
    pub fn of_http(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, None, &RpcError::invalid_request(message))
    }
}

/// The status of an error response, if no response has been started (docs/versions.md, 2.2).
/// `refused` is set if the method was not run.
pub fn status_of(era: Era, code: i64, refused: bool, busy: bool) -> StatusCode {
    match (era, code) {
        _ if busy => StatusCode::SERVICE_UNAVAILABLE,
        // H26-12: an unknown method of the modern era.
        (Era::Modern, code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        (Era::Modern, code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION) => {
            StatusCode::BAD_REQUEST
        }
        (Era::Modern, _) if refused => StatusCode::BAD_REQUEST,
        (Era::Legacy, code::PARSE_ERROR | code::INVALID_REQUEST) if refused => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h26_08_h26_11_h26_12_statuses_of_both_eras() {
        for (era, code, refused, busy, status) in [
            (Era::Modern, -32601, true, false, 404),
            (Era::Modern, -32601, false, false, 404),
            (Era::Modern, -32602, true, false, 400),
            (Era::Modern, -32602, false, false, 200),
            (Era::Modern, -32603, false, false, 200),
            (Era::Modern, -32020, true, false, 400),
            (Era::Modern, -32021, false, false, 400),
            (Era::Modern, -32022, true, false, 400),
            (Era::Modern, -32603, true, true, 503),
            (Era::Legacy, -32601, true, false, 200),
            (Era::Legacy, -32602, true, false, 200),
            (Era::Legacy, -32602, false, false, 200),
            (Era::Legacy, -32600, true, false, 400),
            (Era::Legacy, -32600, false, false, 200),
            (Era::Legacy, -32603, true, true, 503),
        ] {
            assert_eq!(status_of(era, code, refused, busy).as_u16(), status, "{era:?} {code} {refused} {busy}");
        }
    }
}
