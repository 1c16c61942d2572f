//! Connections to the server behind a URL.

use super::{
    super::http_defaults::{AGENT, trusting},
    heads,
    http_endpoint::HttpEndpoint,
    http_failure::{self, HttpTarget},
    http_link::{HttpLink, HttpRoute},
    tls::Security,
};
use crate::{
    client::{Connector, Inbox, Link, LinkFailure},
    client_auth::{AuthError, ClientAuth, OutgoingRequest},
    engine::Limits,
    protocol::{Era, model::Implementation},
    runtime::{BoxedTask, Runtime},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use reqwest::{Client, Url, redirect};
use std::{
    future::ready,
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

/// How long opening a TCP or TLS connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept: shorter than typical server timeouts, so that it isn't
/// used just as the server closes it.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// The name of a client that has none of its own.
const DEFAULT_NAME: &str = "trunkline";
const USER_AGENT: HeaderValue = HeaderValue::from_static(AGENT);
/// Maximum length of the client's name and version in `User-Agent`.
const MAX_PRODUCT: usize = 100;
/// Begins the URLs of Unix sockets.
const UNIX_PREFIX: &str = "unix:";
/// Used behind a Unix socket, if its URL names none.
const DEFAULT_ENDPOINT: &str = "/mcp";

/// Connects to a server by its URL.
pub struct HttpConnector {
    url: Url,
    /// The URL for errors and logs.
    shown: String,
    /// The Unix socket, if any.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is none"))]
    socket: Option<PathBuf>,
    headers: HeaderMap,
    limits: Limits,
    auth: Option<Arc<dyn ClientAuth>>,
    security: Security,
    http_sse: bool,
    route: OnceLock<Result<Arc<HttpRoute>, String>>,
}

impl HttpConnector {
    /// Creates a connector for an endpoint.
    ///
    /// # Errors
    /// If the URL is not an absolute `http`, `https` or `unix` URL, or something else is malformed;
    /// the message says what.
    pub fn new(endpoint: &HttpEndpoint, limits: Limits) -> Result<Self, String> {
        let url = &*endpoint.url;
        let shown = http_failure::redacted(endpoint.shown_url());
        let (parsed, socket) = match url.strip_prefix(UNIX_PREFIX) {
            Some(rest) => behind_socket(rest)?,
            None => {
                let wrong = |error| {
                    let instead = "give one such as http://localhost:8000/mcp, or a program as a list of strings";
                    format!("{shown:?} is not a URL ({error}): {instead}")
                };
                (Url::parse(url).map_err(wrong)?, None)
            }
        };
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            let schemes = "it must start with http:// or https://, or unix: for a socket";
            return Err(format!("{shown:?} is not a URL of an HTTP server: {schemes}"));
        }
        let mut checked = HeaderMap::with_capacity(endpoint.headers.len());
        for (name, value) in &endpoint.headers {
            let name = HeaderName::try_from(name).map_err(|_| format!("{name:?} is not a valid header name"))?;
            let mut value =
                HeaderValue::try_from(value).map_err(|_| format!("The header {name} has an invalid value"))?;
            // Often a secret, so it is never logged, and HTTP/2 does not index it.
            value.set_sensitive(true);
            checked.insert(name, value);
        }
        let security = Security::of(endpoint)?;
        if parsed.scheme() == "http" && (endpoint.ca.is_some() || endpoint.client_certificate.is_some()) {
            return Err(format!("{shown:?} does not use TLS: certificates require https"));
        }
        let (http_sse, route) = (endpoint.http_sse, OnceLock::new());
        checked.entry(header::USER_AGENT).or_insert(USER_AGENT);
        // Of a socket, the URL has the whole path.
        let shown = endpoint.shown_url.as_ref().map_or_else(|| http_failure::redacted(parsed.as_str()), |_| shown);
        Ok(Self { url: parsed, shown, socket, headers: checked, limits, auth: None, security, http_sse, route })
    }

    /// Sets `User-Agent` to the name of the client, unless the endpoint has its own.
    #[must_use]
    pub fn with_info(mut self, info: &Implementation) -> Self {
        if self.headers[header::USER_AGENT] == USER_AGENT
            && info.name != DEFAULT_NAME
            && let Ok(value) =
                HeaderValue::try_from(format!("{}/{} {AGENT}", product(&info.name), product(&info.version)))
        {
            self.headers.insert(header::USER_AGENT, value);
        }
        self
    }

    /// Sets the source of credentials.
    #[must_use]
    pub fn with_auth(self, auth: Option<Arc<dyn ClientAuth>>) -> Self {
        Self { auth, ..self }
    }

    fn hash(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(self.url.as_str())
    }

    fn route(&self) -> Result<Arc<HttpRoute>, LinkFailure> {
        let route = self.route.get_or_init(|| {
            let mut builder = Client::builder()
                .redirect(redirect::Policy::none())
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_idle_timeout(POOL_IDLE_TIMEOUT)
                .tcp_nodelay(true);
            let proxy = self.security.proxy_to(&self.url);
            if proxy.is_none() {
                builder = builder.no_proxy();
            }
            if let Some((proxy, _)) = &self.security.proxy {
                builder = builder.proxy(proxy.clone());
            }
            if self.url.scheme() == "http" {
                // Without TLS, and without redirects to other origins, the system's certificates
                // are not needed. Loading them takes longer than everything else.
                builder = builder.tls_certs_only([]);
            } else {
                builder = trusting(builder, &self.security.trusted);
                if let Some(identity) = &self.security.identity {
                    builder = builder.identity(identity.clone());
                }
            }
            #[cfg(unix)]
            if let Some(socket) = &self.socket {
                builder = builder.unix_socket(socket.clone());
            }
            let client = builder.build().map_err(|error| format!("The HTTP client cannot be set up: {error}"))?;
            Ok(Arc::new(HttpRoute {
                client,
                url: self.url.clone(),
                target: HttpTarget::new(&self.url, &self.shown, proxy),
                headers: heads::of_posts(self.headers.clone()),
                max_message_bytes: self.limits.max_message_bytes,
                auth: self.auth.clone(),
                server: (!self.http_sse).then(|| self.hash()),
            }))
        });
        route.clone().map_err(LinkFailure::Unreachable)
    }
}

/// Converts a name or version to a valid product token (RFC 9110 section 10.1.5).
fn product(name: &str) -> String {
    let is_token = |sign: char| sign.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(sign);
    name.chars().take(MAX_PRODUCT).map(|sign| if is_token(sign) { sign } else { '-' }).collect()
}

/// The URL and the socket of `/run/it.sock:/path`.
fn behind_socket(rest: &str) -> Result<(Url, Option<PathBuf>), String> {
    if cfg!(not(unix)) {
        return Err(format!("{UNIX_PREFIX}{rest} cannot be reached: this system has no Unix sockets"));
    }
    let (socket, endpoint) = match rest.rfind(":/") {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => (rest, DEFAULT_ENDPOINT),
    };
    let wrong = |what: String| {
        format!("{UNIX_PREFIX}{rest} is not a URL of a Unix socket, such as unix:/run/it.sock:/mcp: {what}")
    };
    if socket.is_empty() {
        return Err(wrong("it has no path".to_owned()));
    }
    let mut url = Url::parse(&format!("http://localhost{endpoint}")).map_err(|error| wrong(error.to_string()))?;
    // Never sent, but shown in errors.
    url.set_fragment(Some(&format!("{UNIX_PREFIX}{socket}")));
    Ok((url, Some(socket.into())))
}

impl Connector for HttpConnector {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
        let route = self.route();
        Box::pin(async move { Ok(Arc::new(HttpLink::new(route?, inbox)) as Arc<dyn Link>) })
    }

    fn is_pipe(&self) -> bool {
        false
    }

    fn auth(&self) -> Option<Arc<dyn ClientAuth>> {
        self.auth.clone()
    }

    fn logout(&self, runtime: Arc<dyn Runtime>) -> BoxedTask<Result<(), AuthError>> {
        match &self.auth {
            Some(auth) => auth.logout(&OutgoingRequest::new("POST", self.url.as_str(), runtime)),
            None => Box::pin(ready(Ok(()))),
        }
    }

    fn access_token(&self, runtime: Arc<dyn Runtime>) -> BoxedTask<Result<Option<String>, AuthError>> {
        let Some(auth) = &self.auth else { return Box::pin(ready(Ok(None))) };
        let headers = auth.headers(&OutgoingRequest::new("POST", self.url.as_str(), runtime));
        Box::pin(async move {
            let value = headers.await?.into_iter().find(|(name, _)| name == "authorization").map(|(_, value)| value);
            Ok(value.and_then(|value| value.split_once(' ').map(|(_, token)| token.to_owned())))
        })
    }

    fn only_era(&self) -> Option<Era> {
        self.http_sse.then_some(Era::Legacy)
    }

    fn identity(&self) -> Option<u64> {
        Some(self.hash())
    }

    fn server_address(&self) -> Option<(String, Option<u16>)> {
        Some((self.url.host_str()?.to_owned(), self.url.port_or_known_default()))
    }

    fn display(&self) -> Option<String> {
        Some(self.shown.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_urls_and_headers_are_named() {
        let connector = |url: &str, name: &str, value: &str| {
            HttpConnector::new(&HttpEndpoint::new(url).with_header(name, value), Limits::default()).err()
        };
        assert_eq!(connector("http://localhost:1/mcp", "X-A", "b"), None);
        for (url, name, value, text) in [
            ("localhost:8000/mcp", "a", "b", "localhost:8000/mcp"),
            ("node server.mjs", "a", "b", "a program as a list of strings"),
            ("/mcp", "a", "b", "/mcp"),
            ("unix:", "a", "b", "no path"),
            ("ftp://x/", "a", "b", "http://"),
            ("http://x/", "a b", "b", "a b"),
            ("http://x/", "a", "b\n", "header a"),
        ] {
            assert!(connector(url, name, value).unwrap().contains(text), "{url} {name}");
        }
    }

    #[test]
    fn wrong_certificates_and_proxies_are_named_without_their_secrets() {
        let https = || HttpEndpoint::new("https://x/");
        let problem = |endpoint: &HttpEndpoint| HttpConnector::new(endpoint, Limits::default()).err();
        assert_eq!(problem(&https().with_proxy("http://user:secret@proxy:1")), None);
        let mut alone = https();
        alone.client_key = Some("secret".into());
        for (endpoint, text) in [
            (https().with_ca("secret"), "ca contains no PEM certificate"),
            (https().with_client_certificate("secret").with_client_key("secret"), "not valid PEM"),
            (alone, "be given together"),
            (https().with_proxy("http://user:secret@a b"), "not a URL of a proxy"),
            (HttpEndpoint::new("http://x/").with_ca(include_str!("../../../../tests/tls/ca.pem")), "does not use TLS"),
        ] {
            let problem = problem(&endpoint).unwrap();
            assert!(problem.contains(text) && !problem.contains("secret"), "{problem}");
            assert!(!format!("{endpoint:?}").contains("secret"));
        }
    }
}
