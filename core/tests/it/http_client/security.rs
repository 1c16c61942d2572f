//! Certificates of a private CA, client certificates, and proxies. The servers only show that they
//! were reached: they answer 500.

use super::{NOWHERE, Scripted, TEST_TIMEOUT, http};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, Stream,
    crypto::aws_lc_rs::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
};
use tokio::time::timeout;
use trunkline::{
    client::{Client, ClientError},
    protocol::model::FailureReason,
    transport::HttpEndpoint,
};

const CA: &str = include_str!("../../tls/ca.pem");
const CERTIFICATE: &str = include_str!("../../tls/client.pem");
const KEY: &str = include_str!("../../tls/client.key");

/// A server with a certificate of the authority; with `mutual` it asks clients for theirs.
fn server(mutual: bool) -> SocketAddr {
    let provider = Arc::new(default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
    let builder = if mutual {
        let mut authorities = RootCertStore::empty();
        authorities.add(CertificateDer::from_pem_slice(CA.as_bytes()).unwrap()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    let certificate = CertificateDer::from_pem_slice(include_bytes!("../../tls/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../tls/server.key")).unwrap();
    let config = Arc::new(builder.with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (Ok(mut socket), Ok(mut connection)) = (socket, ServerConnection::new(Arc::clone(&config))) else {
                return;
            };
            let _ = socket.set_read_timeout(Some(TEST_TIMEOUT));
            let mut stream = Stream::new(&mut connection, &mut socket);
            let mut head = [0; 4096];
            if stream.read(&mut head).is_ok_and(|length| length > 0) {
                let _ = stream.write_all(b"HTTP/1.1 500 Reached\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                let _ = stream.flush();
                connection.send_close_notify();
                let _ = connection.complete_io(&mut socket);
            }
        }
    });
    address
}

async fn failure(endpoint: HttpEndpoint) -> ClientError {
    timeout(TEST_TIMEOUT, Client::connect(endpoint)).await.unwrap().err().unwrap()
}

/// The status of the answer, or the reason that there was none.
async fn outcome(endpoint: HttpEndpoint) -> Result<u16, FailureReason> {
    let error = failure(endpoint).await;
    let facts = error.connection().unwrap();
    facts.http_status.ok_or_else(|| facts.reason.unwrap())
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_where_it_is_named() {
    let address = server(false);
    let endpoint = || HttpEndpoint::new(format!("https://localhost:{}/mcp", address.port()));
    assert_eq!(outcome(endpoint()).await, Err(FailureReason::Tls));
    let error = failure(endpoint()).await.to_string();
    assert!(["option `ca`", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"].iter().all(|it| error.contains(it)), "{error}");
    assert_eq!(outcome(endpoint().with_ca(CA)).await, Ok(500));
}

#[tokio::test]
async fn a_server_that_asks_for_it_gets_the_certificate_of_the_client() {
    let address = server(true);
    let endpoint = || HttpEndpoint::new(format!("https://localhost:{}/mcp", address.port())).with_ca(CA);
    let refused = outcome(endpoint()).await;
    assert!(matches!(refused, Err(FailureReason::Tls | FailureReason::Broken)), "{refused:?}");
    assert_eq!(outcome(endpoint().with_client_certificate(CERTIFICATE).with_client_key(KEY)).await, Ok(500));
}

#[tokio::test]
async fn requests_go_through_the_proxy() {
    let proxy = Scripted::new(|_| (0, http(500, "", ""))).await;
    let endpoint = HttpEndpoint::new("http://mcp.invalid/mcp").with_proxy(proxy.url.trim_end_matches("/mcp"));
    assert_eq!(outcome(endpoint).await, Ok(500));
    assert_eq!(proxy.seen.lock().unwrap()[0].headers["host"], "mcp.invalid");
}

#[tokio::test]
async fn connection_failures_name_the_proxy() {
    let nobody = format!("http://user:secret@{NOWHERE}");
    let asking = Scripted::new(|_| (0, http(407, "", ""))).await.url;
    for (proxy, reason, advice) in
        [(&*nobody, FailureReason::Refused, "refused"), (&*asking, FailureReason::Status, "http://user:password@")]
    {
        let shown = proxy.replace("user:secret@", "");
        for scheme in ["http", "https"] {
            let endpoint = HttpEndpoint::new(format!("{scheme}://mcp.invalid/mcp")).with_proxy(proxy);
            let error = failure(endpoint).await;
            let text = error.to_string();
            assert!(text.contains(&format!("proxy {shown}")) && text.contains("the option `proxy`"), "{text}");
            assert!(text.to_lowercase().contains(advice) && !text.contains("secret"), "{text}");
            if scheme == "http" {
                assert_eq!(error.connection().unwrap().reason, Some(reason));
            }
        }
    }
}

#[tokio::test]
async fn a_server_without_tls_is_a_distinct_error() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/mcp", plain.local_addr().unwrap());
    thread::spawn(move || {
        for socket in plain.incoming() {
            let mut socket = socket.unwrap();
            let _ = socket.read(&mut [0; 512]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let error = failure(HttpEndpoint::new(url)).await;
    assert!(error.to_string().contains("is its URL http://?"), "{error}");
    assert_eq!(error.connection().unwrap().reason, Some(FailureReason::Tls));
}
