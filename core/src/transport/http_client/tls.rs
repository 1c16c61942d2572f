//! The certificates and the proxy of HTTP connections.

use super::{http_endpoint::HttpEndpoint, http_failure::redacted};
use crate::{
    http::guard::is_loopback,
    transport::environment_certificates::{certificates, trusting},
};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, ClientBuilder, Identity, Proxy, Url};

/// The validated certificates and proxy of an endpoint.
#[derive(Clone)]
pub(super) struct Security {
    trusted: Vec<Certificate>,
    identity: Option<Identity>,
    proxy: Option<Proxy>,
    /// The URL of that proxy, as shown in errors.
    proxy_name: Option<String>,
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
            Proxy::all(url).map_err(wrong)
        });
        let proxy_name = endpoint.proxy.as_deref().map(|url| format!("{} (the option `proxy`)", redacted(url)));
        Ok(Self { trusted, identity, proxy: proxy.transpose()?, proxy_name })
    }

    /// The proxy for a URL, as shown in errors: from the option, or from the environment, which has
    /// none for this machine.
    pub(super) fn proxy_to(&self, url: &Url) -> Option<String> {
        if self.proxy_name.is_some() {
            return self.proxy_name.clone();
        }
        if url.host_str().is_some_and(is_loopback) {
            return None;
        }
        let found = Matcher::from_system().intercept(&url.as_str().parse().ok()?)?;
        Some(format!("{} (of the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY)", redacted(&found.uri().to_string())))
    }

    /// Sets the trusted certificates.
    pub(super) fn with_certificates(&self, builder: ClientBuilder) -> ClientBuilder {
        let builder = trusting(builder, &self.trusted);
        match &self.identity {
            Some(identity) => builder.identity(identity.clone()),
            None => builder,
        }
    }

    pub(super) fn with_proxy(&self, builder: ClientBuilder) -> ClientBuilder {
        match &self.proxy {
            Some(proxy) => builder.proxy(proxy.clone()),
            None => builder,
        }
    }
}
