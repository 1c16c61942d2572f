//! An HTTP endpoint, and the way there.

use std::{collections::BTreeMap, fmt};

/// An HTTP endpoint to connect to: its URL, headers, TLS and proxy.
///
/// ```
/// use trunkline::transport::HttpEndpoint;
///
/// let endpoint = HttpEndpoint::new("https://mcp.example/mcp")
///     .with_header("X-Team", "weather")
///     .with_proxy("http://proxy.example:3128");
/// ```
///
/// A function gives headers for each request as the option `auth` of the client: `RequestHeaders`.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HttpEndpoint {
    /// The URL. A server on a Unix socket is found at `unix:/run/it.sock`, or
    /// `unix:/run/it.sock:/path` if its endpoint is not `/mcp`.
    pub url: String,
    /// Headers of each request.
    pub headers: BTreeMap<String, String>,
    /// Certificates in PEM that are trusted beside those of the system.
    pub ca: Option<String>,
    /// The certificate of this client in PEM, and those of its issuers; for servers that ask for
    /// one (mTLS).
    pub client_certificate: Option<String>,
    /// The private key of the certificate, in PEM.
    pub client_key: Option<String>,
    /// The URL of a proxy; without it, the environment says (`HTTPS_PROXY`, `HTTP_PROXY`,
    /// `ALL_PROXY`, `NO_PROXY`).
    pub proxy: Option<String>,
    /// `true` if the server is known to have HTTP+SSE (2024-11-05) only. Otherwise it is asked for
    /// Streamable HTTP first, and found by the fallback of the specification.
    pub http_sse: bool,
}

impl HttpEndpoint {
    /// The endpoint at a URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    /// Adds a header to each request.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Trusts certificates in PEM beside those of the system.
    #[must_use]
    pub fn with_ca(mut self, pem: impl Into<String>) -> Self {
        self.ca = Some(pem.into());
        self
    }

    /// Gives servers that ask for one a certificate, with its private key, both in PEM.
    #[must_use]
    pub fn with_client_certificate(mut self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        (self.client_certificate, self.client_key) = (Some(certificate.into()), Some(key.into()));
        self
    }

    /// Connects over HTTP+SSE (2024-11-05), without asking for Streamable HTTP first.
    #[must_use]
    pub fn with_http_sse(mut self, http_sse: bool) -> Self {
        self.http_sse = http_sse;
        self
    }

    /// Connects by a proxy.
    #[must_use]
    pub fn with_proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }
}

/// Without what may be secret.
impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEndpoint").field("url", &super::failure::shown(&self.url)).finish_non_exhaustive()
    }
}
