//! An HTTP endpoint, and how to reach it.

use crate::{http::guard::is_loopback, protocol::options::Required};
use std::{collections::BTreeMap, fmt};

trunkline_proto::options! {
    /// An HTTP endpoint to connect to: its URL, headers, TLS and proxy.
    ///
    /// ```
    /// use trunkline::HttpEndpoint;
    ///
    /// let endpoint = HttpEndpoint::new("https://mcp.example/mcp")
    ///     .with_header("X-Team", "weather")
    ///     .with_proxy("http://proxy.example:3128");
    /// ```
    #[derive(Clone, PartialEq, Eq, Hash)]
    pub struct HttpEndpoint {
        /// The URL. For a server on a Unix socket, use `unix:/run/it.sock`, or
        /// `unix:/run/it.sock:/path` if its endpoint is not `/mcp`.
        @into url: String => "url" as Required = String::new(),
        /// Headers sent with each request.
        @into headers: BTreeMap<String, String> => "headers" = BTreeMap::new(),
        /// Trusted certificates in PEM, in addition to those of the system and of the files named
        /// by `NODE_EXTRA_CA_CERTS` and `SSL_CERT_FILE`.
        @some(String) ca: Option<String> => "ca" = None,
        /// The client certificate in PEM, for servers that require one (mTLS), and those of its
        /// issuers.
        @some(String) client_certificate: Option<String> => "clientCertificate" = None,
        /// The private key of that certificate, in PEM.
        @some(String) client_key: Option<String> => "clientKey" = None,
        /// The URL of a proxy. By default, it is taken from the environment: `HTTPS_PROXY`,
        /// `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`.
        @some(String) proxy: Option<String> => "proxy" = None,
        /// Shown in errors and logs instead of the URL, if its path is secret.
        @some(String) shown_url: Option<String> = None,
        /// `true` if the server supports only HTTP+SSE (2024-11-05). Otherwise the client tries
        /// Streamable HTTP first and then falls back as specified.
        http_sse: bool = false,
    }
}

impl HttpEndpoint {
    /// The endpoint at a URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    /// Returns whether the endpoint is on this machine: a loopback address, or a Unix socket.
    pub fn is_local(&self) -> bool {
        let host = reqwest::Url::parse(&self.url).ok();
        let host = host.as_ref().and_then(reqwest::Url::host_str);
        self.url.starts_with("unix:") || host.is_some_and(is_loopback)
    }

    /// The URL for errors and logs.
    pub(super) fn shown_url(&self) -> &str {
        self.shown_url.as_deref().unwrap_or(&self.url)
    }

    /// Adds a header to each request. To compute headers in a function, use `RequestHeaders` as the
    /// client's `auth` option.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }
}

/// Omits anything that may be secret.
impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = super::http_failure::redacted(self.shown_url());
        f.debug_struct("HttpEndpoint").field("url", &url).finish_non_exhaustive()
    }
}
