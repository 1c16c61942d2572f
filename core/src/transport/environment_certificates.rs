//! Certificates that the environment names, trusted in addition to those of the system.

use reqwest::{Certificate, ClientBuilder};
use std::path::Path;

/// Variables for files of certificates in PEM: that of Node.js, and that of OpenSSL, which Python
/// also uses.
const FILES: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];

/// Trusts these certificates and those that the environment names.
pub(super) fn trusting(builder: ClientBuilder, trusted: &[Certificate]) -> ClientBuilder {
    let named = FILES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let named = named.filter(|(_, file)| !file.is_empty()).flat_map(|(name, file)| of_file(name, file.as_ref()));
    builder.tls_certs_merge(trusted.iter().cloned().chain(named))
}

/// Reads the certificates from a file that the environment names. As in Node.js, an unreadable file
/// is not an error.
fn of_file(name: &str, file: &Path) -> Vec<Certificate> {
    let found = std::fs::read(file).ok().and_then(|pem| certificates(&pem));
    found.unwrap_or_else(|| {
        tracing::warn!(target: "trunkline::client::http", variable = name, file = %file.display(), "an environment variable names a file without PEM certificates");
        Vec::new()
    })
}

/// Parses certificates in PEM. Returns `None` if there are none.
pub(super) fn certificates(pem: &[u8]) -> Option<Vec<Certificate>> {
    Certificate::from_pem_bundle(pem).ok().filter(|found| !found.is_empty())
}
