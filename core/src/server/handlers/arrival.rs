//! The way by which a message came.

#[cfg(feature = "http-server")]
use super::http_request::HttpRequest;
use tracing::Span;

/// The way by which a message came: the HTTP request that brought it, and its caller in this
/// process.
#[derive(Debug)]
pub struct Arrival {
    /// The HTTP request.
    #[cfg(feature = "http-server")]
    pub(crate) http: Option<HttpRequest>,
    /// The span within which the caller sent it.
    pub(crate) span: Span,
    /// The number by which the host of a binding knows the caller; 0 if there is none.
    pub(crate) cause: u64,
}

impl Arrival {
    /// A message of a caller in this process.
    pub(crate) fn within(span: Span, cause: u64) -> Self {
        Self {
            #[cfg(feature = "http-server")]
            http: None,
            span,
            cause,
        }
    }

    /// A message that an HTTP request brought, within the current span.
    #[cfg(feature = "http-server")]
    pub(crate) fn over_http(request: HttpRequest) -> Self {
        let cause = request.extensions().get().map_or(0, |Cause(number)| *number);
        Self { http: Some(request), span: Span::current(), cause }
    }
}

impl Default for Arrival {
    fn default() -> Self {
        Self {
            #[cfg(feature = "http-server")]
            http: None,
            span: Span::none(),
            cause: 0,
        }
    }
}

/// An extension of HTTP requests that a binding mounts: the number by which its host knows the
/// request.
#[cfg(feature = "http-server")]
#[derive(Debug, Clone, Copy)]
pub struct Cause(pub u64);
