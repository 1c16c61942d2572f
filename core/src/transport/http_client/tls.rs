//! The certificates and the proxy of HTTP connections.

use super::{http_endpoint::HttpEndpoint, http_failure::redacted};
use crate::http::guard::is_loopback;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, ClientBuilder, Identity, Proxy, Url};
use std::path::Path;

/// Variables that name files of certificates in PEM, which are trusted beside those of the system:
/// that of Node, and that of OpenSSL, which Python uses too.
const CERTIFICATE_FILES: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];

/// The certificates and the proxy of an endpoint, checked.
#[derive(Clone)]
pub(super) struct Security {
    trusted: Vec<Certificate>,
    identity: Option<Identity>,
    proxy: Option<Proxy>,
    /// The URL of that proxy, as errors show it.
    proxy_name: Option<String>,
}

impl Security {
    /// # Errors
    /// If something is malformed; the text says which.
    pub(super) fn of(endpoint: &HttpEndpoint) -> Result<Self, String> {
        let trusted = match &endpoint.ca {
            Some(pem) => certificates(pem.as_bytes()).ok_or("The option ca has no certificate in PEM")?,
            None => Vec::new(),
        };
        let identity = match (&endpoint.client_certificate, &endpoint.client_key) {
            (Some(certificate), Some(key)) => {
                let pem = format!("{key}\n{certificate}");
                let identity = Identity::from_pem(pem.as_bytes());
                // The error names no part of the key.
                Some(
                    identity
                        .map_err(|_| "The client's certificate and key are not PEM of a certificate and its key")?,
                )
            }
            (None, None) => None,
            _ => return Err("A client's certificate and its key go together".to_owned()),
        };
        let proxy = match &endpoint.proxy {
            Some(url) => Some(Proxy::all(url).map_err(|_| {
                format!("{:?} is not a URL of a proxy, such as http://proxy.example:3128", redacted(url))
            })?),
            None => None,
        };
        let proxy_name = endpoint.proxy.as_deref().map(|url| format!("{} (the option `proxy`)", redacted(url)));
        Ok(Self { trusted, identity, proxy, proxy_name })
    }

    /// The proxy on the way to a server, as errors show it: that of the option, or of the
    /// environment, which names none for this machine.
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

    /// Trusts what is to be trusted for TLS.
    pub(super) fn with_certificates(&self, mut builder: ClientBuilder) -> ClientBuilder {
        let named = CERTIFICATE_FILES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let named = named.filter(|(_, file)| !file.is_empty()).flat_map(|(name, file)| of_file(name, file.as_ref()));
        builder = builder.tls_certs_merge(self.trusted.iter().cloned().chain(named));
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

/// The certificates of a file that the environment names. One that cannot be read is not a reason
/// to fail, as in Node.
fn of_file(name: &str, file: &Path) -> Vec<Certificate> {
    let found = std::fs::read(file).ok().and_then(|pem| certificates(&pem));
    found.unwrap_or_else(|| {
        tracing::warn!(target: "trunkline::client::http", variable = name, file = %file.display(), "a variable names a file without certificates in PEM");
        Vec::new()
    })
}

/// The certificates of a text in PEM; `None`: there are none.
fn certificates(pem: &[u8]) -> Option<Vec<Certificate>> {
    Certificate::from_pem_bundle(pem).ok().filter(|found| !found.is_empty())
}
