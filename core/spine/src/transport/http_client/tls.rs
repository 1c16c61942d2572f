//! The certificates and the proxy of HTTP connections.

use super::{http_endpoint::HttpEndpoint, http_failure::redacted};
use crate::{http::guard::is_loopback, transport::http_defaults::certificates};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, Identity, Proxy, Url};

/// The validated certificates and proxy of an endpoint.
#[derive(Clone)]
pub(super) struct Security {
    pub(super) trusted: Vec<Certificate>,
    pub(super) identity: Option<Identity>,
    /// The proxy, and its URL as shown in errors.
    pub(super) proxy: Option<(Proxy, String)>,
}

impl Security {
    /// # Errors
    /// If something is malformed; the message says what.
    pub(super) fn of(endpoint: &HttpEndpoint) -> Result<Self, String> {
        let trusted = match &endpoint.ca {
            Some(pem) => certificates(pem.as_bytes()).ok_or("The option ca contains no PEM certificate")?,
            None => Vec::new(),
        };
        let identity = match (&endpoint.client_certificate, &endpoint.client_key) {
            (Some(certificate), Some(key)) => {
                let pem = format!("{key}\n{certificate}");
                let identity = Identity::from_pem(pem.as_bytes());
                // The error must not contain any part of the key.
                Some(identity.map_err(|_| "The client certificate and its key are not valid PEM, or do not match")?)
            }
            (None, None) => None,
            _ => return Err("A client certificate and its key must be given together".to_owned()),
        };
        let proxy = endpoint.proxy.as_ref().map(|url| {
            let wrong = |_| format!("{:?} is not a URL of a proxy, such as http://proxy.example:3128", redacted(url));
            Proxy::all(url).map(|proxy| (proxy, format!("{} (the option `proxy`)", redacted(url)))).map_err(wrong)
        });
        Ok(Self { trusted, identity, proxy: proxy.transpose()? })
    }

    /// The proxy for a URL, as shown in errors: from the option, or from the environment, which has
    /// none for this machine.
    pub(super) fn proxy_to(&self, url: &Url) -> Option<String> {
        if let Some((_, name)) = &self.proxy {
            return Some(name.clone());
        }
        if url.host_str().is_some_and(is_loopback) {
            return None;
        }
        let found = Matcher::from_system().intercept(&url.as_str().parse().ok()?)?;
        Some(format!("{} (of the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY)", redacted(&found.uri().to_string())))
    }
}
