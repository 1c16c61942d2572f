//! An MCP server and its authorization server in one, with every habit that a test wants, and a
//! user who agrees to everything.

use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, Uri},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::net::TcpListener;
use trunkline::{
    Client, ClientError, ClientOptions, RevisionChoice,
    auth::{AuthError, MemoryStore, OAuth, OAuthGrant, OAuthOptions, RedirectHandler, TokenStore},
};

pub(super) const CALLBACK: &str = "http://127.0.0.1:9/callback";

/// The parameters of requests, in order of arrival: path and members.
pub(super) type Seen = (String, HashMap<String, String>);

pub(super) struct Habits {
    /// Members to add to the metadata of server and authorization server, or to take away (null);
    /// `"{null}"` is a null.
    pub(super) resource: Value,
    pub(super) metadata: Value,
    /// Where the documents are; others are not found.
    pub(super) resource_path: &'static str,
    pub(super) metadata_path: &'static str,
    /// Other documents by path: what to change in the metadata of the authorization server there.
    pub(super) more_metadata: Vec<(&'static str, Value)>,
    /// True if the server is too busy to show its documents.
    pub(super) is_busy: bool,
    /// True if each response begins with a byte order mark.
    pub(super) is_marked: bool,
    /// The parameters of the challenge; `{url}` is this server.
    pub(super) challenge: String,
    /// The scope that a call needs; `{round}` is another one each time.
    pub(super) call_scope: &'static str,
    /// Parameters to add to the redirect, or to take away.
    pub(super) redirect: Value,
    /// The same of an authorization with `offline_access`.
    pub(super) redirect_of_offline: Value,
    /// Delays of the answers of the token endpoint and the registration endpoint.
    pub(super) token_delay: Duration,
    pub(super) registration_delay: Duration,
    /// The responses of the token endpoint before it issues tokens.
    pub(super) refusals: Vec<(u16, Value)>,
    /// The status of the revocation endpoint, which the metadata has to name.
    pub(super) revocation: u16,
    /// Members to add to the answer of the token endpoint.
    pub(super) token: Value,
    /// True if each refresh token counts once; using it again revokes all that followed (OAuth 2.1
    /// section 4.3.1).
    pub(super) rotates: bool,
    /// Refresh tokens that count, if they rotate.
    pub(super) refresh_tokens: Vec<String>,
    /// True if the server accepts renewed tokens.
    pub(super) renewals_count: bool,
    /// Members to add to the answer of the registration endpoint, and its status if one is an
    /// error.
    pub(super) registered: Value,
    pub(super) registration_refusal: u16,
    /// The nonces that proofs must have, at the endpoint and the token endpoint.
    pub(super) nonces: bool,
    /// Tokens that count.
    pub(super) valid: Vec<(String, String)>,
    pub(super) seen: Vec<Seen>,
    /// The paths of all requests with their queries.
    pub(super) targets: Vec<String>,
    issued: usize,
}

impl Habits {
    /// Uses up a refresh token. Returns `false` if it is void.
    fn redeem(&mut self, refresh_token: Option<String>) -> bool {
        let Some(refresh_token) = refresh_token else { return true };
        let before = self.refresh_tokens.len();
        self.refresh_tokens.retain(|valid| *valid != refresh_token);
        let counts = self.refresh_tokens.len() < before;
        if !counts {
            self.refresh_tokens.clear();
        }
        counts
    }
}

pub(super) struct World {
    pub(super) origin: String,
    habits: Arc<Mutex<Habits>>,
}

type Shared = State<(String, Arc<Mutex<Habits>>)>;

impl World {
    pub(super) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let habits = Habits {
            resource: json!({}),
            metadata: json!({}),
            resource_path: "/.well-known/oauth-protected-resource/mcp",
            metadata_path: "/.well-known/oauth-authorization-server",
            more_metadata: Vec::new(),
            is_busy: false,
            is_marked: false,
            challenge: String::new(),
            call_scope: "",
            redirect: json!({}),
            redirect_of_offline: json!({}),
            token_delay: Duration::ZERO,
            registration_delay: Duration::ZERO,
            refusals: Vec::new(),
            revocation: 200,
            token: json!({}),
            rotates: false,
            refresh_tokens: Vec::new(),
            renewals_count: true,
            registered: json!({}),
            registration_refusal: 400,
            nonces: false,
            valid: Vec::new(),
            seen: Vec::new(),
            targets: Vec::new(),
            issued: 0,
        };
        let habits = Arc::new(Mutex::new(habits));
        let app = Router::new()
            .route("/mcp", post(mcp))
            .route("/mcp/two", post(mcp))
            .route("/authorize", get(authorize))
            .route("/register", post(register))
            .route("/token", post(token))
            .route("/revoke", post(revoke))
            .route("/device", post(device))
            .fallback(documents)
            .layer(middleware::from_fn_with_state(Arc::clone(&habits), note_target))
            .with_state((origin.clone(), Arc::clone(&habits)));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { origin, habits }
    }

    pub(super) async fn with(change: impl FnOnce(&mut Habits)) -> Self {
        let world = Self::new().await;
        change(&mut world.habits());
        world
    }

    pub(super) fn habits(&self) -> MutexGuard<'_, Habits> {
        self.habits.lock().unwrap()
    }

    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    /// The requests to a path.
    pub(super) fn seen(&self, path: &str) -> Vec<HashMap<String, String>> {
        self.habits().seen.iter().filter(|(seen, _)| seen == path).map(|(_, members)| members.clone()).collect()
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.habits().seen.iter().map(|(path, _)| path.clone()).collect()
    }

    pub(super) async fn connect(&self, auth: &OAuthOptions) -> Result<Client, ClientError> {
        self.connect_to("/mcp", auth).await
    }

    /// A client that has sent all messages of its handshake.
    pub(super) async fn settled(&self, auth: &OAuthOptions) -> Client {
        let client = self.connect(auth).await.unwrap();
        client.list_tools().await.unwrap();
        client
    }

    /// Connects to the endpoint at a path; `/mcp/two` is another one.
    pub(super) async fn connect_to(&self, path: &str, auth: &OAuthOptions) -> Result<Client, ClientError> {
        let auth = OAuth::new(auth.clone()).map_err(|error| ClientError::Invalid(error.to_string()))?;
        let options = ClientOptions::default().with_revision(RevisionChoice::Legacy).with_auth(auth);
        Client::connect_with(format!("{}{path}", self.origin), options, ()).await
    }

    /// Why a client of these habits cannot connect.
    pub(super) async fn refused(change: impl FnOnce(&mut Habits)) -> (Self, String) {
        let world = Self::with(change).await;
        let error = world.connect(&oauth(MemoryStore::new())).await.err().expect("the connection was not refused");
        (world, error.to_string())
    }
}

/// A user who agrees.
pub(super) fn oauth(store: impl TokenStore) -> OAuthOptions {
    OAuthOptions::default().with_store(store).with_handler(RedirectHandler::new(CALLBACK, agree))
}

/// Nobody is asked.
pub(super) fn unattended(grant: OAuthGrant) -> OAuthOptions {
    OAuthOptions::default().with_grant(grant)
}

/// Visits the page and returns its redirect.
pub(super) async fn agree(url: String) -> Result<String, AuthError> {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
    let response = client.get(url).send().await.unwrap();
    let location = response.headers().get("location").ok_or_else(|| AuthError("the page does not redirect".into()))?;
    Ok(location.to_str().unwrap().to_owned())
}

async fn note_target(State(habits): State<Arc<Mutex<Habits>>>, request: Request, next: Next) -> Response {
    habits.lock().unwrap().targets.push(request.uri().to_string());
    let response = next.run(request).await;
    let is_marked = habits.lock().unwrap().is_marked && !response.status().is_redirection();
    if !is_marked {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.remove("content-length");
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    (head, ["\u{feff}".as_bytes(), &body].concat()).into_response()
}

fn merged(mut base: Value, changes: &Value, origin: &str) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        base[name] = match value {
            Value::String(text) if text == "{null}" => continue,
            Value::String(text) => text.replace("{url}", origin).into(),
            other => other.clone(),
        };
    }
    let members: Map<_, _> =
        base.as_object().unwrap().clone().into_iter().filter(|(_, value)| !value.is_null()).collect();
    let mut merged = Value::from(members);
    for (name, _) in changes.as_object().unwrap().iter().filter(|(_, value)| *value == "{null}") {
        merged[name] = Value::Null;
    }
    merged
}

/// A JSON answer.
fn json_of(value: &Value) -> impl IntoResponse + use<> {
    ([("content-type", "application/json")], value.to_string())
}

fn form(text: &[u8]) -> HashMap<String, String> {
    url::form_urlencoded::parse(text).into_owned().collect()
}

async fn documents(State((origin, habits)): Shared, uri: Uri, headers: HeaderMap) -> Response {
    let mut habits = habits.lock().unwrap();
    let revision = headers.get("mcp-protocol-version").map(|it| it.to_str().unwrap().to_owned()).unwrap_or_default();
    habits.seen.push((uri.path().to_owned(), HashMap::from([("revision".to_owned(), revision)])));
    if habits.is_busy {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if uri.path() == habits.resource_path {
        let document = json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]});
        return json_of(&merged(document, &habits.resource, &origin)).into_response();
    }
    let more = habits.more_metadata.iter().find(|(path, _)| *path == uri.path());
    let changes = more.map(|(_, changes)| changes).or((uri.path() == habits.metadata_path).then_some(&habits.metadata));
    if let Some(changes) = changes {
        let document = json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        });
        return json_of(&merged(document, changes, &origin)).into_response();
    }
    StatusCode::NOT_FOUND.into_response()
}

async fn register(State(shared): Shared, body: Bytes) -> Response {
    let response = answer_of_registration(&shared, &body);
    let delay = shared.1.lock().unwrap().registration_delay;
    tokio::time::sleep(delay).await;
    response
}

fn answer_of_registration((origin, habits): &(String, Arc<Mutex<Habits>>), body: &[u8]) -> Response {
    let body: Value = serde_json::from_slice(body).unwrap();
    let mut habits = habits.lock().unwrap();
    let members = body.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    habits.seen.push(("/register".into(), members));
    if habits.registered["error"].is_string() {
        let status = StatusCode::from_u16(habits.registration_refusal).unwrap();
        return (status, json_of(&habits.registered)).into_response();
    }
    let number = habits.seen.iter().filter(|(path, _)| path == "/register").count();
    let answer = json!({"client_id": format!("registered-{number}")});
    (StatusCode::CREATED, json_of(&merged(answer, &habits.registered, origin))).into_response()
}

async fn authorize(State((origin, habits)): Shared, uri: Uri) -> Redirect {
    let query = form(uri.query().unwrap_or_default().as_bytes());
    let mut habits = habits.lock().unwrap();
    let answer = json!({"code": "the-code", "state": query["state"]});
    let mut answer = merged(answer, &habits.redirect, &origin);
    if query.get("scope").is_some_and(|scope| scope.contains("offline_access")) {
        answer = merged(answer, &habits.redirect_of_offline, &origin);
    }
    let parameters =
        answer.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()));
    let url = reqwest::Url::parse_with_params(&query["redirect_uri"], parameters).unwrap();
    habits.seen.push(("/authorize".into(), query));
    Redirect::to(url.as_str())
}

async fn token(State(shared): Shared, headers: HeaderMap, body: Bytes) -> Response {
    let response = answer_of_token(&shared, &headers, &body);
    let delay = shared.1.lock().unwrap().token_delay;
    tokio::time::sleep(delay).await;
    response
}

fn answer_of_token((origin, habits): &(String, Arc<Mutex<Habits>>), headers: &HeaderMap, body: &[u8]) -> Response {
    assert_eq!(headers["user-agent"], concat!("trunkline/", env!("CARGO_PKG_VERSION")));
    let mut form = form(body);
    let mut habits = habits.lock().unwrap();
    for name in ["authorization", "dpop"] {
        if let Some(value) = headers.get(name) {
            form.insert(name.to_owned(), value.to_str().unwrap().to_owned());
        }
    }
    let proof = form.get("dpop").map(|proof| claims(proof));
    // The scopes that the user has agreed to.
    let agreed = habits
        .seen
        .iter()
        .rev()
        .find(|(path, _)| path == "/authorize")
        .and_then(|(_, query)| query.get("scope"))
        .cloned();
    let scope = form.get("scope").cloned().or(agreed).unwrap_or_default();
    let refresh_token = form.get("refresh_token").cloned();
    habits.seen.push(("/token".into(), form));
    if habits.nonces && proof.as_ref().is_some_and(|claims| claims["nonce"] != "token-nonce") {
        let body = json_of(&json!({"error": "use_dpop_nonce"}));
        return (StatusCode::BAD_REQUEST, [("dpop-nonce", "token-nonce")], body).into_response();
    }
    if !habits.refusals.is_empty() {
        let (status, body) = habits.refusals.remove(0);
        return (StatusCode::from_u16(status).unwrap(), json_of(&body)).into_response();
    }
    let renews = refresh_token.is_some();
    if habits.rotates && !habits.redeem(refresh_token) {
        return (StatusCode::BAD_REQUEST, json_of(&json!({"error": "invalid_grant"}))).into_response();
    }
    habits.issued += 1;
    let token = format!("token-{}", habits.issued);
    if habits.renewals_count || !renews {
        habits.valid.push((token.clone(), scope));
    }
    let kind = if proof.is_some() { "DPoP" } else { "bearer" };
    let mut answer = json!({"access_token": token, "token_type": kind});
    if habits.rotates {
        let refresh_token = format!("refresh-{}", habits.issued);
        answer["refresh_token"] = refresh_token.as_str().into();
        habits.refresh_tokens.push(refresh_token);
    }
    json_of(&merged(answer, &habits.token, origin)).into_response()
}

/// RFC 8628 section 3.2.
async fn device(State((origin, habits)): Shared, body: Bytes) -> Response {
    let mut habits = habits.lock().unwrap();
    habits.seen.push(("/device".into(), form(&body)));
    let page = format!("{origin}/activate");
    let answer = json!({"device_code": "the-device-code", "user_code": "WDJB-MJHT", "verification_uri": page,
        "expires_in": 600, "interval": 0});
    json_of(&answer).into_response()
}

async fn revoke(State((_, habits)): Shared, body: Bytes) -> StatusCode {
    let (form, mut habits) = (form(&body), habits.lock().unwrap());
    habits.valid.retain(|(token, _)| *token != form["token"]);
    habits.seen.push(("/revoke".into(), form));
    StatusCode::from_u16(habits.revocation).unwrap()
}

/// The claims of a JWT, unverified.
pub(super) fn claims(token: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap()).unwrap()
}

async fn mcp(State((origin, habits)): Shared, headers: HeaderMap, body: Bytes) -> Response {
    let mut habits = habits.lock().unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap();
    let method = message["method"].as_str().unwrap_or_default();
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    let (authorization, dpop) = (text("authorization"), text("dpop"));
    let extensions = message["params"]["capabilities"]["extensions"].to_string();
    let members = [("method", method), ("authorization", &authorization), ("dpop", &dpop), ("extensions", &extensions)];
    habits.seen.push(("/mcp".into(), members.map(|(name, value)| (name.to_owned(), value.to_owned())).into()));
    let challenge = |status, parameters: String| {
        (status, [("www-authenticate", parameters), ("dpop-nonce", "mcp-nonce".to_owned())]).into_response()
    };
    let (scheme, token) = authorization.split_once(' ').unwrap_or_default();
    let Some((_, granted)) = habits.valid.iter().find(|(valid, _)| valid == token) else {
        let parameters = habits.challenge.replace("{url}", &origin);
        return challenge(StatusCode::UNAUTHORIZED, format!("Bearer {parameters}").trim_end().to_owned());
    };
    if habits.nonces && scheme == "DPoP" && claims(&dpop)["nonce"] != "mcp-nonce" {
        return challenge(StatusCode::UNAUTHORIZED, "DPoP error=\"use_dpop_nonce\"".into());
    }
    let needed = if method == "tools/call" { habits.call_scope } else { "" };
    if !needed.is_empty() && !granted.split(' ').any(|scope| scope == needed) {
        let needed = needed.replace("{round}", &format!("round-{}", habits.issued));
        let parameters = format!("Bearer error=\"insufficient_scope\", scope=\"{needed}\"");
        return challenge(StatusCode::FORBIDDEN, parameters);
    }
    let result = match method {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "world", "version": "1"}}),
        "tools/list" => json!({"tools": []}),
        "tools/call" => json!({"content": []}),
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    json_of(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}
