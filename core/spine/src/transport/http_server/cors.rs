//! CORS headers for web pages that the guard has allowed.

use super::response_body::HttpBody;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

const EXPOSED_HEADERS: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, Retry-After, WWW-Authenticate, DPoP-Nonce");
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// How long browsers cache preflight responses, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// A web page that the guard has allowed, and the headers that it wants to send.
pub(super) struct WebPage {
    origin: HeaderValue,
    wanted: Option<HeaderValue>,
}

impl WebPage {
    /// The web page that sent a request, if any.
    pub(super) fn of(request: &HeaderMap) -> Option<Self> {
        let origin = request.get(header::ORIGIN)?.clone();
        Some(Self { origin, wanted: request.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned() })
    }
}

/// Allows the web page to read the response.
pub(super) fn allow(response: &mut Response<HttpBody>, WebPage { origin, wanted }: WebPage) {
    // The page may read which scopes are missing, because it has passed the guard.
    let refused =
        response.status() == StatusCode::FORBIDDEN && !response.headers().contains_key(header::WWW_AUTHENTICATE);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    if refused {
        return;
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    if let Some(wanted) = wanted {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    }
}
