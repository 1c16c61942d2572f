//! The HTTP request that brought a call.

use crate::http::{headers, routes};
use http::{Extensions, HeaderMap, Method, Uri, Version, header, request::Parts};
use std::{fmt, net::IpAddr, sync::Arc};

const PROOF: &str = "dpop";

/// The head of the HTTP request that brought a call ([`Context::http`](crate::Context::http)).
///
/// In a web framework, it is the request as the framework passes it on: axum, for example, strips
/// the prefix of a nested service from the URI, and its middleware puts values in the extensions.
///
/// ```
/// use trunkline::{Context, Server};
///
/// async fn tenant(ctx: Context) -> String {
///     let header = ctx.http().and_then(|request| request.headers().get("x-tenant"));
///     header.and_then(|value| value.to_str().ok()).unwrap_or("nobody").to_owned()
/// }
///
/// let server = Server::builder("tenants", "1.0.0").tool("tenant", "Name the tenant.", tenant).build();
/// ```
pub struct HttpRequest {
    /// The head.
    pub(crate) parts: Arc<Parts>,
    remote_address: Option<IpAddr>,
    session: Option<SessionSource>,
}

/// Where a request names its session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SessionSource {
    /// Streamable HTTP.
    Header,
    /// HTTP+SSE.
    Query,
}

impl HttpRequest {
    /// `remote_address` is that of the peer, if the server has its own socket.
    pub(crate) fn new(parts: Parts, remote_address: Option<IpAddr>) -> Self {
        let given = || parts.extensions.get().map(|RemoteAddress(address)| *address);
        Self { remote_address: remote_address.or_else(given), parts: Arc::new(parts), session: None }
    }

    /// Marks that the session that the request names there was found, and belongs to its sender.
    pub(crate) fn in_session(self, source: SessionSource) -> Self {
        Self { session: Some(source), ..self }
    }

    /// Removes the access token, which was issued for this server and must not be passed on
    /// (AUS-09).
    pub(crate) fn without_token(mut self) -> Self {
        // Verifiers have dropped their references, so nothing is copied.
        let headers = &mut Arc::make_mut(&mut self.parts).headers;
        headers.remove(header::AUTHORIZATION);
        headers.remove(PROOF);
        self
    }

    /// The approximate size of the head.
    pub(crate) fn head_bytes(&self) -> usize {
        let fields = self.parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
        let target = self.parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
        target + fields.sum::<usize>()
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.parts.method
    }

    /// The target of the request as received. Over HTTP/1.1, this is the path and query.
    pub fn uri(&self) -> &Uri {
        &self.parts.uri
    }

    /// The headers. With authorization, those with the token and its proof are omitted.
    pub fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// Values that the middleware of a web framework has set for its handlers.
    pub fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// The address of the peer, which may be a proxy. There is none on a Unix socket; a web
    /// framework sets it with [`RemoteAddress`].
    pub fn remote_address(&self) -> Option<IpAddr> {
        self.remote_address
    }

    /// The version of HTTP, as telemetry names it.
    pub(crate) fn version(&self) -> Option<&'static str> {
        match self.parts.version {
            Version::HTTP_10 => Some("1.0"),
            Version::HTTP_11 => Some("1.1"),
            Version::HTTP_2 => Some("2"),
            Version::HTTP_3 => Some("3"),
            _ => None,
        }
    }

    /// The id of its session. Whatever else the request names may be the session of another client
    /// (SEC-04).
    pub(crate) fn session_id(&self) -> Option<&str> {
        match self.session? {
            SessionSource::Header => self.parts.headers.get(headers::SESSION_ID)?.to_str().ok(),
            SessionSource::Query => routes::session_of(self.parts.uri.query()),
        }
    }
}

impl fmt::Debug for HttpRequest {
    /// Omits headers, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.parts.method)
            .field("path", &self.parts.uri.path())
            .field("remote_address", &self.remote_address)
            .finish_non_exhaustive()
    }
}

/// A request extension with the address of the peer, for requests that a web framework passes to an
/// [`HttpService`](crate::transport::HttpService).
///
/// ```
/// use std::net::{IpAddr, Ipv4Addr};
/// use trunkline::server::RemoteAddress;
///
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(RemoteAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteAddress(pub IpAddr);
