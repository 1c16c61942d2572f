//! An HTTP endpoint, and the way there.

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
        /// The URL. A server on a Unix socket is found at `unix:/run/it.sock`, or
        /// `unix:/run/it.sock:/path` if its endpoint is not `/mcp`.
        @into url: String => "url" as Required = String::new(),
        /// Headers of each request.
        @into headers: BTreeMap<String, String> => "headers" = BTreeMap::new(),
        /// Certificates in PEM that are trusted beside those of the system, and those of the files
        /// that `NODE_EXTRA_CA_CERTS` and `SSL_CERT_FILE` name.
        @some(String) ca: Option<String> => "ca" = None,
        /// The certificate of the client in PEM, for servers that ask for one (mTLS), and those of
        /// its issuers.
        @some(String) client_certificate: Option<String> => "clientCertificate" = None,
        /// The private key of that certificate, in PEM.
        @some(String) client_key: Option<String> => "clientKey" = None,
        /// The URL of a proxy. Without this option, the environment names it: `HTTPS_PROXY`,
        /// `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`.
        @some(String) proxy: Option<String> => "proxy" = None,
        /// `true` if the server is known to have HTTP+SSE (2024-11-05) only. Otherwise it is asked
        /// for Streamable HTTP first, and found by the fallback of the specification.
        http_sse: bool = false,
    }
}

impl HttpEndpoint {
    /// The endpoint at a URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    /// Returns whether the endpoint is on this machine.
    pub(in crate::transport) fn is_here(&self) -> bool {
        let host = reqwest::Url::parse(&self.url).ok();
        let host = host.as_ref().and_then(reqwest::Url::host_str);
        self.url.starts_with("unix:") || host.is_some_and(is_loopback)
    }

    /// Adds a header to each request. `RequestHeaders`, as the option `auth` of the client, gives
    /// headers by a function.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }
}

/// Without what may be secret.
impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEndpoint").field("url", &super::failure::shown(&self.url)).finish_non_exhaustive()
    }
}
