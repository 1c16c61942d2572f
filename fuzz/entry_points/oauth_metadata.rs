//! Metadata that a client discovers: it leads to a login at a safe URL or to an error with the
//! reason (AUC-05 to AUC-12), with few requests and none to an unsafe URL.

use super::endpoint::finish;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::json;
use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use trunkline::{
    auth::{
        AuthError, AuthNetwork, ClientAuth, FetchError, MemoryStore, NetworkAccess, OAuth, OAuthOptions,
        RedirectHandler,
    },
    client_auth::{CredentialsRefusal, OutgoingRequest},
    runtime::BoxedTask,
    transport::TokioRuntime,
};

const SERVER: &str = "https://mcp.example/mcp";
/// More than any path through the documents takes.
const MAX_REQUESTS: usize = 20;

pub fn seeds() -> Vec<Vec<u8>> {
    let resource = json!({"resource": SERVER, "authorization_servers": ["https://auth.example"]});
    let issuer = json!({
        "issuer": "https://auth.example",
        "authorization_endpoint": "https://auth.example/authorize",
        "token_endpoint": "https://auth.example/token",
        "registration_endpoint": "https://auth.example/register",
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    });
    let both = format!("{resource}\n{issuer}");
    vec![both.into_bytes()]
}

/// The input: the first line describes the resource, the others the issuer.
pub fn judge(data: &[u8]) {
    let cut = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (resource, issuer) = data.split_at(cut);
    let asked = Arc::new(AtomicUsize::new(0));
    let documents = Documents {
        resource: Bytes::copy_from_slice(resource),
        issuer: Bytes::copy_from_slice(issuer),
        asked: Arc::clone(&asked),
    };
    let visited = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&visited);
    let handler = RedirectHandler::new("http://127.0.0.1:9/callback", move |url: String| {
        *seen.lock().expect("poisoned") = Some(url);
        async { Err(AuthError("nobody is there".to_owned())) }
    });
    let options = OAuthOptions::default().with_store(MemoryStore::new()).with_handler(handler);
    let oauth = OAuth::with_network(options, documents).expect("invalid options");
    let auth = Option::<Arc<dyn ClientAuth>>::from(oauth).expect("no authority");
    let request = finish(async { OutgoingRequest::new("POST", SERVER, TokioRuntime::current()) });
    let mut refusal = CredentialsRefusal::default();
    refusal.status = 401;
    refusal.interactive = true;
    let outcome = finish(auth.refused(&request, refusal));
    assert!(!matches!(outcome, Ok(true)), "credentials from nowhere");
    assert!(asked.load(Ordering::SeqCst) <= MAX_REQUESTS);
    let visited = visited.lock().expect("poisoned").clone();
    assert!(visited.is_none_or(|url| url.to_ascii_lowercase().starts_with("https:")), "an unsafe page");
}

struct Documents {
    resource: Bytes,
    issuer: Bytes,
    asked: Arc<AtomicUsize>,
}

impl AuthNetwork for Documents {
    fn fetch(&self, request: Request<Bytes>, _: NetworkAccess) -> BoxedTask<Result<Response<Bytes>, FetchError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        assert_eq!(request.uri().scheme_str(), Some("https"), "{}", request.uri());
        let path = request.uri().path();
        let (status, body) = if path.starts_with("/.well-known/oauth-protected-resource") {
            (200, self.resource.clone())
        } else if path.contains("/.well-known/") {
            (200, self.issuer.clone())
        } else if path == "/register" {
            (201, Bytes::from_static(br#"{"client_id":"me"}"#))
        } else {
            (404, Bytes::new())
        };
        Box::pin(
            async move { Response::builder().status(status).body(body).map_err(|error| FetchError(error.to_string())) },
        )
    }

    fn access_of(&self, _: &str, _: Option<IpAddr>) -> NetworkAccess {
        NetworkAccess::Public
    }
}
