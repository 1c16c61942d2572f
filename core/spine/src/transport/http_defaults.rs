//! The defaults of all HTTP requests: the name of this library, and the certificates that the
//! environment names, trusted in addition to those of the system.

use reqwest::{Certificate, ClientBuilder};
use std::path::Path;

/// The name of this library in `User-Agent`.
pub(super) const AGENT: &str = concat!("trunkline/", env!("CARGO_PKG_VERSION"));

/// Variables for files of certificates in PEM: that of Node.js, and that of OpenSSL, which Python
/// also uses.
const FILE_VARIABLES: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];

/// Trusts these certificates and those that the environment names.
pub(super) fn trusting(builder: ClientBuilder, trusted: &[Certificate]) -> ClientBuilder {
    let named = FILE_VARIABLES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let named = named.filter(|(_, file)| !file.is_empty()).flat_map(|(name, file)| of_file(name, file.as_ref()));
    let added = trusted.iter().cloned().chain(named);
    #[cfg(target_os = "android")]
    return builder.tls_certs_only(added.chain(of_android()));
    #[cfg(not(target_os = "android"))]
    builder.tls_certs_merge(added)
}

/// Reads the certificates of the system. Its own verifier is in Java: without a context of the app,
/// which no program of ours passes on, `rustls` panics.
#[cfg(target_os = "android")]
fn of_android() -> Vec<Certificate> {
    use rustls::{
        RootCertStore,
        pki_types::{CertificateDer, pem::PemObject},
    };
    /// Since Android 14 they are part of a module, which is updated without the system.
    const SYSTEM_FOLDERS: [&str; 2] = ["/apex/com.android.conscrypt/cacerts", "/system/etc/security/cacerts"];
    let files = SYSTEM_FOLDERS.iter().find_map(|folder| std::fs::read_dir(folder).ok());
    let found =
        files.into_iter().flatten().flatten().filter_map(|file| CertificateDer::from_pem_file(file.path()).ok());
    // A single one that rustls does not understand would make the whole client unusable.
    let understood = found.filter(|found| RootCertStore::empty().add(found.clone()).is_ok());
    understood.filter_map(|found| Certificate::from_der(&found).ok()).collect()
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
