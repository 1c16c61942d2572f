//! Access tokens at an HTTP server: a real authorization server's keys, a real server, requests as
//! clients send them.

use aws_lc_rs::{
    digest,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use trunkline::{
    HttpOptions, Listener, Server, ServerOptions,
    auth::{
        Authorization, AuthorizationOptions, DpopPolicy, Identity, JwtOptions, Refusal, TokenVerifier, Verification,
    },
    protocol::model::{ElicitParams, Field, FormSchema},
    server::{Context, StateKey, Tool},
    store::{ProcessStore, Store, StoreChoice},
    transport::TokioRuntime,
};

const RESOURCE: &str = "https://mcp.example/mcp";
const METADATA: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

// ---- an authorization server ----

struct Issuer {
    url: String,
    key: EcdsaKeyPair,
    /// Number of requests for its keys.
    asked: Arc<AtomicUsize>,
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn new_key() -> EcdsaKeyPair {
    EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap()
}

fn jwk(key: &EcdsaKeyPair) -> Value {
    let point = key.public_key().as_ref();
    json!({"kty": "EC", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..])})
}

fn sign(key: &EcdsaKeyPair, header: &Value, claims: &Value) -> String {
    let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
    let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
    format!("{signed}.{}", encode(signature))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

impl Issuer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/tenant", listener.local_addr().unwrap());
        let key = new_key();
        let mut listed = jwk(&key);
        listed["kid"] = "k1".into();
        let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string();
        let keys = json!({"keys": [{"kty": "oct", "k": "AAAA"}, listed]}).to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut buffer = vec![0; 8192];
                let length = stream.read(&mut buffer).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&buffer[..length]).into_owned();
                let (status, body) = match request.split(' ').nth(1) {
                    // The last of the three possible locations.
                    Some("/tenant/.well-known/openid-configuration") => ("200 OK", metadata.as_str()),
                    Some("/tenant/keys") => {
                        counter.fetch_add(1, Ordering::SeqCst);
                        ("200 OK", keys.as_str())
                    }
                    _ => ("404 Not Found", ""),
                };
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let _ = stream.write_all((head + body).as_bytes()).await;
            }
        });
        Self { url, key, asked }
    }

    fn token(&self, changes: Value) -> String {
        let mut claims = json!({"iss": self.url, "sub": "alice", "aud": RESOURCE, "exp": now() + 300, "iat": now(),
            "client_id": "app", "scope": "mcp"});
        claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        sign(&self.key, &json!({"alg": "ES256", "typ": "at+jwt", "kid": "k1"}), &claims)
    }

    fn authorization(&self) -> AuthorizationOptions {
        AuthorizationOptions::new(RESOURCE).with_authorization_servers([&self.url]).with_required_scopes(["mcp"])
    }
}

// ---- a server ----

pub(super) struct Fixture {
    listener: Listener,
    client: Client,
}

fn server() -> Server {
    Server::builder("fixture", "1.0.0")
        .tool("who", "Says who asks.", |ctx: Context| async move {
            let auth = ctx.auth();
            serde_json::to_string(&auth).unwrap()
        })
        .tool("steps", "Reports two steps.", |ctx: Context| async move {
            ctx.progress(1.0, Some(2.0)).await;
            ctx.progress(2.0, Some(2.0)).await;
            serde_json::to_string(&ctx.auth()).unwrap()
        })
        .add_tool(
            Tool::new("write", "Needs more.", |_: Context| async move { "written".to_owned() }).scopes(["files:write"]),
        )
        .build()
}

impl Fixture {
    async fn new(options: AuthorizationOptions) -> Self {
        let authorization = Authorization::jwt(options, JwtOptions::default()).unwrap();
        Self::with(HttpOptions::default().with_auth(authorization)).await
    }

    async fn judged_by(verifier: impl TokenVerifier, resource: &str) -> Self {
        let options = AuthorizationOptions::new(resource).with_authorization_servers(["https://auth.example"]);
        let authorization = Authorization::new(options, Arc::new(verifier)).unwrap();
        Self::with(HttpOptions::default().with_auth(authorization)).await
    }

    pub(super) async fn with(options: HttpOptions) -> Self {
        Self::of(server(), options).await
    }

    async fn of(server: Server, options: HttpOptions) -> Self {
        let listener = server.listen_with(options.with_port(0)).await.unwrap();
        Self { listener, client: Client::builder().no_proxy().build().unwrap() }
    }

    fn url(&self, path: &str) -> String {
        self.listener.url().unwrap().replace("/mcp", path)
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Response {
        let request = self.client.request(method, self.url(path)).timeout(Duration::from_secs(20));
        let request = request.header("accept", "application/json, text/event-stream");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        request.send().await.unwrap()
    }

    /// A modern call of a tool.
    pub(super) async fn call(&self, tool: &str, headers: &[(&str, &str)]) -> Response {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": {}, "_meta": meta}});
        let mut all = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)];
        all.extend(headers);
        self.send(Method::POST, "/mcp", &all, Some(&body)).await
    }

    /// The session that this token opens.
    async fn session(&self, bearer: &str) -> String {
        let answer = self.send(Method::POST, "/mcp", &[("authorization", bearer)], Some(&initialize())).await;
        assert_eq!(answer.status(), 200);
        answer.headers()["mcp-session-id"].to_str().unwrap().to_owned()
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
}

fn challenges(response: &Response) -> Vec<String> {
    let values = response.headers().get_all("www-authenticate");
    values.iter().map(|value| value.to_str().unwrap().to_owned()).collect()
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

async fn auth_of(response: Response) -> Value {
    assert_eq!(response.status(), 200);
    let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    serde_json::from_str(body["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
}

// ---- metadata and challenges ----

#[test]
fn aus_13_offline_access_is_no_scope_of_a_tool() {
    let tool = Tool::new("write", "Needs more.", || async { "written" }).scopes(["offline_access"]);
    let error = server().add_tool(tool).err().unwrap();
    assert!(error.to_string().contains("offline_access"), "{error}");
}

#[tokio::test]
async fn probes_need_no_token() {
    let authorization = Authorization::jwt(Issuer::start().await.authorization(), JwtOptions::default()).unwrap();
    let fixture = Fixture::with(HttpOptions::default().with_auth(authorization).with_health(true)).await;
    for path in ["/healthz", "/readyz"] {
        let answer = fixture.send(Method::GET, path, &[], None).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert!(challenges(&answer).is_empty());
    }
    assert_eq!(fixture.call("who", &[]).await.status(), 401);
}

#[tokio::test]
async fn aus_01_and_aus_03_metadata_is_served_without_a_token() {
    let issuer = Issuer::start().await;
    let fixture = Fixture::new(issuer.authorization()).await;
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let answer = fixture.send(Method::GET, path, &[("origin", "http://localhost:6274")], None).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.headers()["content-type"], "application/json");
        assert_eq!(answer.headers()["access-control-allow-origin"], "http://localhost:6274");
        let document: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(document["resource"], RESOURCE);
        assert_eq!(document["authorization_servers"], json!([issuer.url]));
        assert_eq!(document["scopes_supported"], json!(["mcp"]));
    }
    // A cached answer to a request without an origin must not answer a page.
    let answer = fixture.send(Method::GET, "/.well-known/oauth-protected-resource", &[], None).await;
    assert_eq!(answer.headers()["vary"], "Origin");
    let answer = fixture.send(Method::POST, "/.well-known/oauth-protected-resource", &[], None).await;
    assert_eq!(answer.status(), 405);
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn aus_02_aus_04_and_aus_05_without_a_token_the_challenge_names_the_requirements() {
    let fixture = Fixture::new(Issuer::start().await.authorization()).await;
    let challenge = format!(r#"Bearer scope="mcp", resource_metadata="{METADATA}""#);
    for (method, path) in [
        (Method::POST, "/mcp"),
        (Method::GET, "/mcp"),
        (Method::DELETE, "/mcp"),
        (Method::GET, "/sse"),
        (Method::POST, "/messages?sessionId=x"),
    ] {
        // SEC-02: a session id does not authenticate.
        let answer = fixture.send(method.clone(), path, &[("mcp-session-id", "x")], None).await;
        // AUS-06
        assert_eq!(answer.status(), 401, "{method} {path}");
        assert_eq!(challenges(&answer), std::slice::from_ref(&challenge));
    }
    for path in ["/", "/favicon.ico", "/mcp/x"] {
        let answer = fixture.send(Method::GET, path, &[], None).await;
        assert_eq!((answer.status().as_u16(), challenges(&answer).len()), (404, 0), "{path}");
    }
    // SEC-01, DISC-29: also what opens nothing, and what is not a message.
    let answer = fixture.send(Method::POST, "/mcp", &[], Some(&json!("nonsense"))).await;
    assert_eq!(answer.status(), 401);
    // Browsers ask before they send, and have no token then.
    let headers = [("origin", "http://localhost:1"), ("access-control-request-headers", "authorization, dpop")];
    let answer = fixture.send(Method::OPTIONS, "/mcp", &headers, None).await;
    assert_eq!(answer.status(), 204);
    // XAU-72
    assert_eq!(answer.headers()["access-control-allow-headers"], "authorization, dpop");
    let exposed = answer.headers()["access-control-expose-headers"].to_str().unwrap();
    assert!(exposed.contains("WWW-Authenticate") && exposed.contains("DPoP-Nonce"), "{exposed}");
}

/// XAU-32, XAU-41: a token is verified in the same way however it was obtained.
#[tokio::test]
async fn aus_05_to_aus_08_and_sec_07_only_good_tokens_for_this_server_get_in() {
    let issuer = Issuer::start().await;
    let fixture = Fixture::new(issuer.authorization()).await;
    let good = issuer.token(json!({}));
    let forged = sign(&new_key(), &json!({"alg": "ES256", "kid": "k1"}), &json!({"iss": issuer.url}));
    for (token, status, error) in [
        (issuer.token(json!({"aud": "https://other.example/mcp"})), 401, "invalid_token"),
        (issuer.token(json!({"exp": now() - 3600})), 401, "invalid_token"),
        (issuer.token(json!({"iss": "https://evil.example"})), 401, "invalid_token"),
        (forged, 401, "invalid_token"),
        ("opaque".to_owned(), 401, "invalid_token"),
        ("two words".to_owned(), 400, "invalid_request"),
        (String::new(), 400, "invalid_request"),
    ] {
        let answer = fixture.call("who", &[("authorization", &bearer(&token))]).await;
        assert_eq!(answer.status(), status, "{token}");
        let challenge = challenges(&answer).concat();
        assert!(challenge.contains(&format!(r#"error="{error}""#)), "{challenge}");
        assert!(challenge.contains(METADATA), "{challenge}");
        let body = answer.text().await.unwrap();
        assert!(!body.contains("alice") && (token.is_empty() || !body.contains(&token)), "{body}");
    }
    let answer = fixture.send(Method::GET, &format!("/mcp?access_token={good}"), &[], None).await;
    assert_eq!(answer.status(), 400);
    assert_eq!(fixture.call("who", &[("authorization", &bearer(&good))]).await.status(), 200);
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn aus_09_handlers_know_the_sender_and_not_the_token() {
    let issuer = Issuer::start().await;
    let fixture = Fixture::new(issuer.authorization()).await;
    let token = issuer.token(json!({"team": "blue"}));
    let auth = auth_of(fixture.call("who", &[("authorization", &bearer(&token))]).await).await;
    assert_eq!(auth["subject"], "alice");
    assert_eq!(auth["principal"], format!("{}#sub:alice", issuer.url));
    assert_eq!((&auth["clientId"], &auth["scopes"]), (&json!("app"), &json!(["mcp"])));
    assert_eq!(auth["claims"]["team"], "blue");
    assert!(!auth.to_string().contains(token.rsplit('.').next().unwrap()));
    // A session: each request has its own sender.
    let session = fixture.session(&bearer(&token)).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who"}});
    let other = bearer(&issuer.token(json!({"team": "red"})));
    let headers = [("authorization", other.as_str()), ("mcp-session-id", &session)];
    let auth = auth_of(fixture.send(Method::POST, "/mcp", &headers, Some(&call)).await).await;
    assert_eq!(auth["claims"]["team"], "red");
    // Without token auth, callers are unknown.
    let open = Fixture::with(HttpOptions::default()).await;
    assert_eq!(auth_of(open.call("who", &[]).await).await, Value::Null);
}

// ---- the rate limit ----

/// A greedy caller gets `Retry-After`, and a bystander does not notice.
#[tokio::test]
async fn tool_22_and_cmp_04_the_rate_of_one_principal_is_bounded() {
    let issuer = Issuer::start().await;
    let authorization = Authorization::jwt(issuer.authorization(), JwtOptions::default()).unwrap();
    let options = HttpOptions::default().with_auth(authorization).with_rate_limit(1).with_rate_burst(5);
    let fixture = Fixture::with(options).await;
    let (greedy, bystander) = (bearer(&issuer.token(json!({}))), bearer(&issuer.token(json!({"sub": "bob"}))));
    let mut statuses = Vec::new();
    for _ in 0..8 {
        let response = fixture.call("who", &[("authorization", &greedy)]).await;
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            let after: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=60).contains(&after), "{after}");
            let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
            assert_eq!(body["error"]["data"]["reason"], "busy");
            statuses.push(429);
        } else {
            statuses.push(response.status().as_u16());
        }
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
    for _ in 0..5 {
        assert_eq!(fixture.call("who", &[("authorization", &bystander)]).await.status(), 200);
    }
    // Sessions of one principal share its bucket, and a session without one has its own.
    let open = Fixture::with(HttpOptions::default().with_rate_limit(1).with_rate_burst(3)).await;
    for _ in 0..3 {
        assert_eq!(open.call("who", &[("mcp-session-id", "made-up")]).await.status(), 200);
    }
    assert_eq!(open.call("who", &[("mcp-session-id", "another")]).await.status(), 429, "made-up ids help nobody");
}

// ---- scopes ----

#[tokio::test]
async fn aus_10_aus_11_and_sec_21_insufficient_scope_names_all_that_is_needed() {
    let issuer = Issuer::start().await;
    let fixture = Fixture::new(issuer.authorization().with_implied("admin", ["mcp", "files:write"])).await;
    for (scope, tool, needed) in [
        ("mcp", "who", None),
        ("mcp files:write", "write", None),
        // AUS-12
        ("admin", "write", None),
        ("mcp", "write", Some("mcp files:write")),
        ("files:write", "write", Some("mcp files:write")),
        ("", "write", Some("mcp files:write")),
        ("files:write", "who", Some("mcp")),
    ] {
        let token = bearer(&issuer.token(json!({"scope": scope})));
        let answer = fixture.call(tool, &[("authorization", &token), ("origin", "http://localhost:1")]).await;
        match needed {
            None => assert_eq!(answer.status(), 200, "{scope} {tool}"),
            Some(needed) => {
                // AUS-06
                assert_eq!(answer.status(), 403, "{scope} {tool}");
                // A page may read why.
                assert_eq!(answer.headers()["access-control-allow-origin"], "http://localhost:1");
                let challenge = challenges(&answer).concat();
                assert!(challenge.starts_with(r#"Bearer error="insufficient_scope""#), "{challenge}");
                assert!(challenge.contains(&format!(r#"scope="{needed}""#)), "{challenge}");
                assert!(challenge.contains(&format!(r#"resource_metadata="{METADATA}""#)), "{challenge}");
                let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
                assert_eq!((&body["id"], &body["error"]["data"]["error"]), (&json!(1), &json!("insufficient_scope")));
            }
        }
    }
    let token = bearer(&issuer.token(json!({"scope": ""})));
    for method in [Method::GET, Method::DELETE] {
        let answer = fixture.send(method, "/mcp", &[("authorization", &token)], None).await;
        assert_eq!(answer.status(), 403);
    }
    let answer = fixture.send(Method::POST, "/mcp", &[("authorization", &token)], Some(&initialize())).await;
    assert_eq!(answer.status(), 403);
    assert!(answer.headers().get("mcp-session-id").is_none());
}

// ---- sessions ----

#[tokio::test]
async fn sec_02_and_sec_04_a_session_is_its_openers() {
    let issuer = Issuer::start().await;
    let fixture = Fixture::new(issuer.authorization()).await;
    let alice = bearer(&issuer.token(json!({})));
    let session = fixture.session(&alice).await;
    let bob = bearer(&issuer.token(json!({"sub": "bob"})));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for (method, body) in [(Method::POST, Some(&ping)), (Method::GET, None), (Method::DELETE, None)] {
        let headers = [("authorization", bob.as_str()), ("mcp-session-id", &session)];
        let answer = fixture.send(method.clone(), "/mcp", &headers, body).await;
        // As if there were none.
        assert_eq!(answer.status(), 404, "{method}");
    }
    // With a later token of the same person, it continues.
    let later = bearer(&issuer.token(json!({"jti": "2"})));
    let headers = [("authorization", later.as_str()), ("mcp-session-id", &session)];
    assert_eq!(fixture.send(Method::POST, "/mcp", &headers, Some(&ping)).await.status(), 200);
    assert_eq!(fixture.send(Method::DELETE, "/mcp", &headers, None).await.status(), 204);
    assert_eq!(fixture.send(Method::POST, "/mcp", &headers, Some(&ping)).await.status(), 404);
}

#[tokio::test]
async fn sec_02_and_sec_04_a_session_in_a_store_is_its_openers_at_every_process() {
    let issuer = Issuer::start().await;
    let store: Arc<dyn Store> = Arc::new(ProcessStore::new(TokioRuntime::current()));
    let process = async || {
        let authorization = Authorization::jwt(issuer.authorization(), JwtOptions::default()).unwrap();
        let options = ServerOptions::default().with_store(StoreChoice::custom(Arc::clone(&store)));
        let server = Server::builder("fixture", "1.0.0").options(options).build();
        Fixture::of(server, HttpOptions::default().with_auth(authorization)).await
    };
    let (first, second) = (process().await, process().await);
    let alice = bearer(&issuer.token(json!({})));
    let session = first.session(&alice).await;
    let bob = bearer(&issuer.token(json!({"sub": "bob"})));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let requests = [(Method::POST, Some(&ping)), (Method::GET, None), (Method::DELETE, None)];
    // Before and after the second process has read its record.
    for _ in 0..2 {
        for (method, body) in requests.clone() {
            let headers = [("authorization", bob.as_str()), ("mcp-session-id", &session)];
            let answer = second.send(method.clone(), "/mcp", &headers, body).await;
            assert_eq!(answer.status(), 404, "{method}");
        }
        let headers = [("authorization", alice.as_str()), ("mcp-session-id", &session)];
        assert_eq!(second.send(Method::POST, "/mcp", &headers, Some(&ping)).await.status(), 200);
    }
}

/// The events of a stream that has ended: their ids, and the messages of those that have one.
async fn events_of(response: Response) -> (Vec<String>, Vec<Value>) {
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    let ids = text.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
    (ids, data.map(|data| serde_json::from_str(data).unwrap()).collect())
}

#[tokio::test]
async fn sec_04_events_are_resumed_by_the_principal_that_they_were_sent_to() {
    let issuer = Issuer::start().await;
    let fixture = Fixture::new(issuer.authorization()).await;
    let [alice, bob] = ["alice", "bob"].map(|name| bearer(&issuer.token(json!({"sub": name}))));
    let [of_alice, of_bob] = [fixture.session(&alice).await, fixture.session(&bob).await];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "steps", "arguments": {}, "_meta": {"progressToken": "t"}}});
    let post = async |token: &str, session: &str| {
        let headers = [("authorization", token), ("mcp-session-id", session)];
        events_of(fixture.send(Method::POST, "/mcp", &headers, Some(&call)).await).await
    };
    let (ids, sent) = post(&alice, &of_alice).await;
    // An event that opens the stream, two reports of progress and the response.
    assert_eq!((ids.len(), sent.len()), (4, 3), "{ids:?} {sent:?}");
    assert!(sent[2].to_string().contains("alice"), "{sent:?}");
    let resume = async |token: &str, session: &str, last: &str| {
        let headers = [("authorization", token), ("mcp-session-id", session), ("last-event-id", last)];
        fixture.send(Method::GET, "/mcp", &headers, None).await
    };
    for last in &ids {
        // In the session of the other, and in one's own: before it has events, where the id is
        // unknown.
        assert_eq!(resume(&bob, &of_alice, last).await.status(), 404, "{last}");
        assert_eq!(resume(&bob, &of_bob, last).await.status(), 400, "{last}");
    }
    // With events under the same ids: those are one's own.
    let (same_ids, of_his_own) = post(&bob, &of_bob).await;
    assert_eq!(same_ids, ids);
    assert!(of_his_own[2].to_string().contains("bob"));
    let (_, again) = events_of(resume(&bob, &of_bob, &ids[0]).await).await;
    assert_eq!(again, of_his_own);
    // A later token of the principal itself gets them.
    let later = bearer(&issuer.token(json!({"jti": "2"})));
    for (position, last) in ids.iter().enumerate() {
        let (_, again) = events_of(resume(&later, &of_alice, last).await).await;
        assert_eq!(again, sent[position..], "{last}");
    }
}

#[tokio::test]
async fn sec_04_a_stream_of_http_sse_is_its_openers() {
    let issuer = Issuer::start().await;
    let fixture = Fixture::new(issuer.authorization()).await;
    let alice = bearer(&issuer.token(json!({})));
    let mut stream = fixture.send(Method::GET, "/sse", &[("authorization", &alice)], None).await;
    assert_eq!(stream.status(), 200);
    let event = String::from_utf8(stream.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let place = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned();
    let bob = bearer(&issuer.token(json!({"sub": "bob"})));
    for (token, status) in [(&bob, 404), (&alice, 202)] {
        let answer = fixture.send(Method::POST, &place, &[("authorization", token)], Some(&initialize())).await;
        assert_eq!(answer.status(), status);
    }
}

// ---- bound tokens ----

static PROOFS: AtomicU64 = AtomicU64::new(0);

fn thumbprint(key: &EcdsaKeyPair) -> String {
    let jwk = jwk(key);
    let text = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, jwk["x"], jwk["y"]);
    encode(digest::digest(&digest::SHA256, text.as_bytes()))
}

fn proof(key: &EcdsaKeyPair, token: &str, changes: Value) -> String {
    let mut claims = json!({"jti": PROOFS.fetch_add(1, Ordering::SeqCst).to_string(), "htm": "POST", "htu": RESOURCE,
        "iat": now(), "ath": encode(digest::digest(&digest::SHA256, token.as_bytes()))});
    claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    sign(key, &json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk(key)}), &claims)
}

/// XAU-01: audience and scopes are judged as for every token.
#[tokio::test]
async fn xau_57_to_xau_66_bound_tokens_need_their_proof() {
    let issuer = Issuer::start().await;
    let fixture = Fixture::new(issuer.authorization().with_dpop(DpopPolicy::Optional)).await;
    let key = new_key();
    let token = issuer.token(json!({"cnf": {"jkt": thumbprint(&key)}}));
    let unbound = issuer.token(json!({}));
    let elsewhere = issuer.token(json!({"cnf": {"jkt": thumbprint(&key)}, "aud": "https://other.example"}));
    let good = proof(&key, &token, json!({}));
    for (scheme, token, proof, status, error) in [
        ("DPoP", &token, Some(good.clone()), 200, ""),
        // XAU-70
        ("DPoP", &token, Some(good), 401, "invalid_dpop_proof"),
        ("DPoP", &token, None, 401, "invalid_dpop_proof"),
        ("DPoP", &token, Some(proof(&key, &token, json!({"htm": "GET"}))), 401, "invalid_dpop_proof"),
        (
            "DPoP",
            &token,
            Some(proof(&key, &token, json!({"htu": "https://other.example/mcp"}))),
            401,
            "invalid_dpop_proof",
        ),
        ("DPoP", &token, Some(proof(&key, &token, json!({"iat": now() - 600}))), 401, "invalid_dpop_proof"),
        ("DPoP", &token, Some(proof(&key, "another", json!({}))), 401, "invalid_dpop_proof"),
        ("DPoP", &token, Some(proof(&new_key(), &token, json!({}))), 401, "invalid_dpop_proof"),
        ("DPoP", &unbound, Some(proof(&key, &unbound, json!({}))), 401, "invalid_token"),
        ("DPoP", &elsewhere, Some(proof(&key, &elsewhere, json!({}))), 401, "invalid_token"),
        ("Bearer", &token, None, 401, "invalid_token"),
        ("Bearer", &unbound, None, 200, ""),
    ] {
        let authorization = format!("{scheme} {token}");
        let mut headers = vec![("authorization", authorization.as_str())];
        headers.extend(proof.as_deref().map(|proof| ("dpop", proof)));
        let answer = fixture.call("who", &headers).await;
        assert_eq!(answer.status(), status, "{scheme} {error}");
        if status != 200 {
            let challenges = challenges(&answer);
            assert!(challenges[0].starts_with(&format!(r#"{scheme} error="{error}""#)), "{challenges:?}");
            // XAU-63
            let dpop = challenges.iter().find(|challenge| challenge.starts_with("DPoP ")).unwrap();
            assert!(dpop.contains(r#"algs="ES256 "#) && dpop.contains(METADATA) && dpop.contains(r#"scope="mcp""#));
        }
    }
    let answer = fixture.send(Method::GET, "/.well-known/oauth-protected-resource", &[], None).await;
    let document: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(document["dpop_bound_access_tokens_required"], false);
}

#[tokio::test]
async fn xau_70_a_proof_that_one_worker_has_seen_is_refused_by_the_others() {
    let issuer = Issuer::start().await;
    let store: Arc<dyn Store> = Arc::new(ProcessStore::new(TokioRuntime::current()));
    let worker = async |store: StoreChoice| {
        let authorization = issuer.authorization().with_dpop(DpopPolicy::Required);
        let authorization = Authorization::jwt(authorization, JwtOptions::default()).unwrap();
        let server = Server::builder("fixture", "1.0.0").options(ServerOptions::default().with_store(store));
        let server = server.tool("who", "Tells.", async || "someone").build();
        Fixture::of(server, HttpOptions::default().with_auth(authorization)).await
    };
    let shared = || StoreChoice::custom(Arc::clone(&store));
    let (one, other) = (worker(shared()).await, worker(shared()).await);
    let key = new_key();
    let token = issuer.token(json!({"cnf": {"jkt": thumbprint(&key)}}));
    let authorization = format!("DPoP {token}");
    let ask = async |fixture: &Fixture, proof: &str| {
        fixture.call("who", &[("authorization", authorization.as_str()), ("dpop", proof)]).await
    };
    for (first, second) in [(&one, &other), (&other, &one)] {
        let used = proof(&key, &token, json!({}));
        assert_eq!(ask(first, &used).await.status(), 200);
        for worker in [second, first] {
            let again = ask(worker, &used).await;
            assert_eq!(again.status(), 401);
            assert!(challenges(&again)[0].contains("The DPoP proof was used before"), "{:?}", challenges(&again));
        }
        assert_eq!(ask(second, &proof(&key, &token, json!({}))).await.status(), 200, "a proof of its own");
    }
    // Without the store this is unknown: port 1 has no Redis.
    let alone = worker(StoreChoice::url("redis://127.0.0.1:1")).await;
    assert_eq!(ask(&alone, &proof(&key, &token, json!({}))).await.status(), 503);
}

/// XAU-67, XAU-68, XAU-69.
#[tokio::test]
async fn xau_67_and_xau_68_and_xau_69_nonces() {
    let issuer = Issuer::start().await;
    let authorization = issuer.authorization().with_dpop(DpopPolicy::Required).with_dpop_nonce([3; 32]);
    let fixture = Fixture::new(authorization).await;
    let key = new_key();
    let token = issuer.token(json!({"cnf": {"jkt": thumbprint(&key)}}));
    let authorization = format!("DPoP {token}");
    let first = proof(&key, &token, json!({}));
    let answer = fixture.call("who", &[("authorization", &authorization), ("dpop", &first)]).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert!(challenges(&answer)[0].contains(r#"error="use_dpop_nonce""#));
    let nonce = answer.headers()["dpop-nonce"].to_str().unwrap().to_owned();
    let second = proof(&key, &token, json!({"nonce": nonce}));
    let answer = fixture.call("who", &[("authorization", &authorization), ("dpop", &second)]).await;
    assert_eq!(answer.status(), 200);
    assert!(answer.headers().contains_key("dpop-nonce"));
    let answer = fixture.call("who", &[("authorization", &bearer(&issuer.token(json!({}))))]).await;
    assert_eq!(answer.status(), 401);
    assert_eq!(challenges(&answer).len(), 1);
}

// ---- custom verifiers ----

/// On loopback every local user can connect: a secret that only one of them has excludes the
/// others.
#[tokio::test]
async fn sec_20_a_local_server_is_guarded_with_a_token() {
    let verifier = |verification: Verification| {
        let identity = Identity::default().with_subject("me");
        let is_mine = verification.token() == "the-secret-of-this-user";
        verification.complete(if is_mine { Ok(identity) } else { Err(Refusal::InvalidToken("Unknown".to_owned())) });
    };
    let fixture = Fixture::judged_by(verifier, "http://127.0.0.1/mcp").await;
    assert!(fixture.url("/mcp").starts_with("http://127.0.0.1:"));
    let mine = "Bearer the-secret-of-this-user";
    for wrong in [&[] as &[_], &[("authorization", "Bearer the-secret-of-another")], &[("authorization", "Basic eDp5")]]
    {
        assert_eq!(fixture.call("who", wrong).await.status(), 401, "{wrong:?}");
        for (method, path) in [
            (Method::POST, "/mcp"),
            (Method::GET, "/mcp"),
            (Method::DELETE, "/mcp"),
            (Method::GET, "/sse"),
            (Method::POST, "/messages?sessionId=x"),
        ] {
            let body = (method == Method::POST).then(initialize);
            let answer = fixture.send(method.clone(), path, wrong, body.as_ref()).await;
            assert_eq!(answer.status(), 401, "{method} {path} {wrong:?}");
        }
    }
    assert_eq!(auth_of(fixture.call("who", &[("authorization", mine)]).await).await["principal"], "#sub:me");
    fixture.session(mine).await;
}

#[tokio::test]
async fn a_verifier_sees_the_request_that_presents_the_token() {
    let verifier = |verification: Verification| {
        assert_eq!(verification.headers()["authorization"], bearer("t"));
        assert_eq!(verification.remote_address(), Some(Ipv4Addr::LOCALHOST.into()));
        let tenant = verification.headers().get("x-tenant").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let is_theirs =
            tenant.is_some() && verification.uri().query() == tenant.map(|it| format!("tenant={it}")).as_deref();
        verification.complete(match is_theirs {
            true => Ok(Identity::default().with_subject("acme")),
            false => Err(Refusal::InvalidToken("it is of another tenant".into())),
        });
    };
    let running = Fixture::judged_by(verifier, RESOURCE).await;
    let send = |path: &'static str, tenant: &'static str| {
        let (running, authorization) = (&running, bearer("t"));
        async move {
            let headers = [("authorization", &*authorization), ("x-tenant", tenant)];
            running.send(Method::POST, path, &headers, Some(&initialize())).await.status()
        }
    };
    assert_eq!(send("/mcp?tenant=acme", "acme").await, StatusCode::OK);
    assert_eq!(send("/mcp?tenant=acme", "other").await, StatusCode::UNAUTHORIZED);
    assert_eq!(send("/mcp", "acme").await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn verifiers_may_answer_later_and_their_failures_let_nobody_in() {
    let verifier = |verification: Verification| {
        assert_eq!(verification.resource(), RESOURCE);
        match verification.token() {
            "panic" => panic!("on purpose"),
            "drop" => drop(verification),
            "scope" => {
                let scopes = vec!["more".to_owned()];
                verification.complete(Err(Refusal::InsufficientScope { scopes, description: None }));
            }
            _ => {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    let identity = Identity::default().with_subject(verification.token());
                    verification.complete(Ok(identity));
                });
            }
        }
    };
    let fixture = Fixture::judged_by(verifier, RESOURCE).await;
    let auth = auth_of(fixture.call("who", &[("authorization", "Bearer alice")]).await).await;
    assert_eq!(auth["principal"], "#sub:alice");
    for token in ["Bearer panic", "Bearer drop"] {
        let answer = fixture.call("who", &[("authorization", token)]).await;
        assert_eq!(answer.status(), 503, "{token}");
        assert!(answer.headers().contains_key("retry-after"));
    }
    let answer = fixture.call("who", &[("authorization", "Bearer scope")]).await;
    assert_eq!(answer.status(), 403);
    assert!(challenges(&answer)[0].contains(r#"scope="more""#));
    let long = format!("Bearer {}", "a".repeat(8 * 1024 + 1));
    assert_eq!(fixture.call("who", &[("authorization", &long)]).await.status(), 400);
}

#[tokio::test]
async fn streams_end_with_the_token_that_opened_them() {
    // Within the leeway of 60 s.
    let end = now() - 54;
    let verifier = move |verification: Verification| {
        let identity = Identity::default().with_subject(verification.token());
        let identity = if verification.token() == "ends" { identity.with_expires_at(end) } else { identity };
        verification.complete(Ok(identity));
    };
    let fixture = Fixture::judged_by(verifier, RESOURCE).await;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": true}, "_meta": meta}});
    let session = fixture.session("Bearer ends").await;
    let modern = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    let with =
        |headers: &[(&'static str, &'static str)], token: &'static str| [headers, &[("authorization", token)]].concat();
    let listening = fixture.send(Method::POST, "/mcp", &with(&modern, "Bearer ends"), Some(&listen)).await;
    let of_session = [("mcp-session-id", session.as_str()), ("authorization", "Bearer ends")];
    let getting = fixture.send(Method::GET, "/mcp", &of_session, None).await;
    // A session of HTTP+SSE is its stream.
    let sse = fixture.send(Method::GET, "/sse", &[("authorization", "Bearer ends")], None).await;
    let lasting = fixture.send(Method::POST, "/mcp", &with(&modern, "Bearer lasts"), Some(&listen)).await;
    let lasting_sse = fixture.send(Method::GET, "/sse", &[("authorization", "Bearer lasts")], None).await;
    for mut stream in [listening, getting, sse] {
        assert_eq!(stream.status(), 200);
        while tokio::time::timeout(Duration::from_secs(30), stream.chunk())
            .await
            .expect("it does not end")
            .unwrap()
            .is_some()
        {}
    }
    for mut lasting in [lasting, lasting_sse] {
        let more = async { while lasting.chunk().await.unwrap().is_some() {} };
        assert!(
            tokio::time::timeout(Duration::from_millis(200), more).await.is_err(),
            "a stream without an end of its token goes on"
        );
    }
}

/// Staging and production may be one program with one set of keys.
#[tokio::test]
async fn mrtr_06_a_state_of_one_resource_is_refused_at_another() {
    let endpoint = async |resource: &str| {
        let asks = |ctx: Context| async move {
            let form = FormSchema::new().required("name", Field::text());
            ctx.elicit_with_key("name", ElicitParams::form("Who approves?", form)).await?;
            trunkline::Ok("approved")
        };
        let options = ServerOptions::default().with_state_keys(vec![StateKey::new([7; 32])]);
        let server = Server::builder("fixture", "1.0.0").options(options).tool("approve", "Asks first.", asks).build();
        let verifier = |verification: Verification| {
            verification.complete(Ok(Identity::default().with_subject("alice")));
        };
        let terms = AuthorizationOptions::new(resource).with_authorization_servers(["https://auth.example"]);
        let authorization = Authorization::new(terms, Arc::new(verifier)).unwrap();
        Fixture::of(server, HttpOptions::default().with_auth(authorization)).await
    };
    let approve = async |fixture: &Fixture, round: &Value| -> Value {
        let mut params = json!({"name": "approve", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}});
        params.as_object_mut().unwrap().extend(round.as_object().unwrap().clone());
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "approve"),
            ("authorization", "Bearer any"),
        ];
        let answer = fixture.send(Method::POST, "/mcp", &headers, Some(&body)).await;
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    };
    let (staging, production) = (endpoint(RESOURCE).await, endpoint("https://production.example/mcp").await);
    let asked = approve(&staging, &json!({})).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let answers = json!({"name": {"action": "accept", "content": {"name": "Ada"}}});
    let round = json!({"requestState": asked["result"]["requestState"], "inputResponses": answers});
    let refused = approve(&production, &round).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let answer = approve(&staging, &round).await;
    assert_eq!(answer["result"]["content"][0]["text"], "approved", "{answer}");
}

#[tokio::test]
async fn when_the_issuer_is_down_nobody_gets_in_and_nobody_is_blamed() {
    let issuer = Issuer::start().await;
    let gone = AuthorizationOptions::new(RESOURCE).with_authorization_servers(["http://127.0.0.1:1"]);
    let fixture = Fixture::new(gone).await;
    let token = issuer.token(json!({"iss": "http://127.0.0.1:1"}));
    let answer = fixture.call("who", &[("authorization", &bearer(&token))]).await;
    assert_eq!(answer.status(), 503);
    assert!(challenges(&answer).is_empty());
}
