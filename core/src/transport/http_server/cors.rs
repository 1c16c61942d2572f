//! CORS headers for pages of other origins, once the guard has let them in.

use super::body::HttpBody;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

const EXPOSED: HeaderValue = HeaderValue::from_static("Mcp-Session-Id, Retry-After, WWW-Authenticate, DPoP-Nonce");
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// Time for which a browser need not ask again, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// A page that the guard has let in, and the headers that it means to send.
pub(super) struct WebPage {
    origin: HeaderValue,
    wanted: Option<HeaderValue>,
}

impl WebPage {
    /// The page that sent a request, if one did.
    pub(super) fn of(request: &HeaderMap) -> Option<Self> {
        let origin = request.get(header::ORIGIN)?.clone();
        Some(Self { origin, wanted: request.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned() })
    }
}

/// Lets the page that the guard allowed read the response.
pub(super) fn allow(response: &mut Response<HttpBody>, WebPage { origin, wanted }: WebPage) {
    // A caller that lacks a scope may know it; its page has passed the guard.
    let refused =
        response.status() == StatusCode::FORBIDDEN && !response.headers().contains_key(header::WWW_AUTHENTICATE);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    if refused {
        return;
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    if let Some(wanted) = wanted {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    }
}
