//! Connections to the server behind a URL.

use super::link::HttpLink;
use crate::{
    client::{Connector, Inbox, Link, LinkFailure},
    engine::Limits,
    http::guard::is_loopback,
    runtime::Task,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, OnceLock},
    time::Duration,
};

/// How long a TCP or TLS connection may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
/// How long an unused connection is kept: less than servers keep theirs, so that it is not used just when they close it.
const POOL_IDLE: Duration = Duration::from_secs(20);
const MAX_REDIRECTS: usize = 5;

/// Connects to a server by its URL.
pub struct HttpConnector {
    url: Url,
    headers: HeaderMap,
    limits: Limits,
    client: OnceLock<Result<Client, String>>,
}

impl HttpConnector {
    /// The server at `url`; `headers` go with every request.
    ///
    /// # Errors
    /// If the URL is not an absolute one with `http` or `https`, or a header is malformed; the text says which.
    pub fn new(url: &str, headers: &BTreeMap<String, String>, limits: Limits) -> Result<Self, String> {
        let parsed = Url::parse(url).map_err(|error| format!("{url:?} is no URL: {error}"))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(format!("{url:?} is no URL of an HTTP server: it must start with http:// or https://"));
        }
        let mut checked = HeaderMap::with_capacity(headers.len());
        for (name, value) in headers {
            let name = HeaderName::try_from(name).map_err(|_| format!("{name:?} is no name of a header"))?;
            let value = HeaderValue::try_from(value)
                .map_err(|_| format!("The header {name} has a value that no header can carry"))?;
            checked.insert(name, value);
        }
        Ok(Self { url: parsed, headers: checked, limits, client: OnceLock::new() })
    }

    fn client(&self) -> Result<Client, LinkFailure> {
        let client = self.client.get_or_init(|| {
            let mut builder = Client::builder()
                .redirect(redirect::Policy::custom(follow))
                .connect_timeout(CONNECT_DEADLINE)
                .pool_idle_timeout(POOL_IDLE)
                .tcp_nodelay(true);
            if self.url.host_str().is_some_and(is_loopback) {
                builder = builder.no_proxy();
            }
            if self.url.scheme() == "http" {
                // No TLS without a redirect, and none leads to another origin: the system's certificates, which take
                // longer to load than everything else, are not needed.
                builder = builder.tls_certs_only([]);
            }
            builder.build().map_err(|error| format!("The HTTP client cannot be set up: {error}"))
        });
        client.clone().map_err(LinkFailure::Unreachable)
    }
}

/// A redirect that keeps method and body is followed within the origin. Any other would lose the message, or give it (and the
/// caller's headers) to a stranger.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let same_origin = attempt.previous().last().is_some_and(|url| url.origin() == attempt.url().origin());
    let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
    if same_origin && keeps_body && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

impl Connector for HttpConnector {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> Task<Result<Arc<dyn Link>, LinkFailure>> {
        let (client, url, headers, limits) =
            (self.client(), self.url.clone(), self.headers.clone(), self.limits.clone());
        Box::pin(async move {
            let link: Arc<dyn Link> = Arc::new(HttpLink::new(client?, url, headers, limits, inbox));
            Ok(link)
        })
    }

    fn is_pipe(&self) -> bool {
        false
    }

    fn identity(&self) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        self.url.as_str().hash(&mut hasher);
        Some(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_urls_and_headers_are_named() {
        let connector = |url: &str, name: &str, value: &str| {
            HttpConnector::new(url, &BTreeMap::from([(name.into(), value.into())]), Limits::default()).err()
        };
        assert_eq!(connector("http://localhost:1/mcp", "X-A", "b"), None);
        for (url, name, value, text) in [
            ("localhost:8000/mcp", "a", "b", "localhost:8000/mcp"),
            ("/mcp", "a", "b", "/mcp"),
            ("ftp://x/", "a", "b", "http://"),
            ("http://x/", "a b", "b", "a b"),
            ("http://x/", "a", "b\n", "header a"),
        ] {
            assert!(connector(url, name, value).unwrap().contains(text), "{url} {name}");
        }
    }
}
