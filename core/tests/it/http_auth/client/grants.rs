//! Grants without a login page, the client's authentication, and tokens that are bound to a key.

use super::world::{World, claims, oauth, unattended};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use trunkline::{
    ClientGroup, ClientOptions, RevisionChoice,
    auth::{
        AssertionRequest, AuthError, IdentityTokenRequest, MemoryStore, OAuth, OAuthGrant, OAuthOptions, TokenSource,
        TokenStore,
    },
    client::ServerEntry,
    client_auth::{ClientAuth, CredentialsRefusal, OutgoingRequest},
    runtime::{BoxedTask, Runtime},
    transport::{Target, TokioRuntime},
    wire_log::WireLog,
};

/// A key as programs have it.
fn pem() -> String {
    use aws_lc_rs::{rand::SystemRandom, signature};
    let document =
        signature::EcdsaKeyPair::generate_pkcs8(&signature::ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(document.unwrap().as_ref()))
}

/// APP-06.
#[tokio::test]
async fn xau_05_to_08_and_xau_12_and_xau_13_client_credentials_with_a_secret() {
    let world = World::with(|habits| {
        habits.metadata = json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "code_challenge_methods_supported": null});
        habits.challenge = r#"scope="run""#.into();
        habits.token = json!({"refresh_token": "unused"});
    })
    .await;
    let auth = unattended(OAuthGrant::ClientCredentials).with_client_id("id").with_client_secret("s:");
    let client = world.connect(&auth).await.unwrap();
    let form = &world.seen("/token")[0];
    assert_eq!(form["authorization"], format!("Basic {}", STANDARD.encode("id:s%3A")));
    let members = [("grant_type", "client_credentials"), ("resource", &world.url()), ("scope", "run")];
    assert!(members.into_iter().all(|(name, value)| form[name] == value), "{form:?}");
    // XAU-03
    let extensions = r#"{"io.modelcontextprotocol/oauth-client-credentials":{}}"#;
    assert_eq!(world.seen("/mcp")[0]["extensions"], extensions);
    // A rejected token: the grant again.
    world.habits().valid.clear();
    client.list_tools().await.unwrap();
    assert_eq!(world.seen("/token")[1]["grant_type"], "client_credentials");
    assert!(world.seen("/register").is_empty() && world.seen("/authorize").is_empty());
}

#[tokio::test]
async fn xau_06_and_xau_09_to_11_client_credentials_with_an_assertion() {
    let methods = json!({"token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": ["ES256"]});
    let world = World::with(|habits| habits.metadata = methods).await;
    let auth = || {
        unattended(OAuthGrant::ClientCredentials).with_client_id("id").with_client_secret("s").with_private_key(pem())
    };
    world.connect(&auth()).await.unwrap();
    let form = &world.seen("/token")[0];
    assert_eq!(form["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    let claims = claims(&form["client_assertion"]);
    assert_eq!((&claims["iss"], &claims["sub"], &claims["aud"]), (&json!("id"), &json!("id"), &json!(world.origin)));
    assert!(claims["exp"].as_u64() > claims["iat"].as_u64() && claims["jti"].is_string());
    assert!(!form.contains_key("authorization") && !form.contains_key("client_secret"));
    let world = World::with(|habits| {
        habits.metadata = json!({"token_endpoint_auth_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["private_key_jwt"]});
    })
    .await;
    let error = world.connect(&auth()).await.err().unwrap().to_string();
    assert!(error.contains("RS256") && error.contains("ES256"), "{error}");
}

#[tokio::test]
async fn auc_18_registered_secrets_are_used_as_the_server_wants() {
    for (method, in_body) in [("client_secret_basic", false), ("client_secret_post", true)] {
        let world = World::with(|habits| {
            habits.metadata = json!({"token_endpoint_auth_methods_supported": [method]});
            habits.registered = json!({"client_secret": "secret"});
        })
        .await;
        world.connect(&oauth(MemoryStore::new())).await.unwrap();
        let form = &world.seen("/token")[0];
        assert_eq!(form.get("client_secret").map(String::as_str), in_body.then_some("secret"));
        assert_eq!(form.contains_key("authorization"), !in_body);
    }
}

/// APP-07.
#[tokio::test]
async fn xau_15_to_23_an_identity_provider_grants_access() {
    let world = World::with(|habits| {
        habits.metadata = json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]});
        habits.token = json!({"issued_token_type": "urn:ietf:params:oauth:token-type:id-jag"});
    })
    .await;
    let provider = || {
        unattended(OAuthGrant::EnterpriseManaged)
            .with_client_id("id")
            .with_client_secret("s")
            .with_idp_token_endpoint(format!("{}/token", world.origin))
            .with_idp_client_id("idp-client")
            .with_idp_client_secret("idp-secret")
            .with_identity_token("the-id-token")
    };
    world.connect(&provider()).await.unwrap();
    let [exchange, grant] = &world.seen("/token")[..] else { panic!() };
    for (name, value) in [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
        ("subject_token", "the-id-token"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("audience", &world.origin),
        ("resource", &world.url()),
        ("authorization", &format!("Basic {}", STANDARD.encode("idp-client:idp-secret"))),
    ] {
        assert_eq!(exchange[name], value);
    }
    for (name, value) in [
        ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        ("assertion", "token-1"),
        ("authorization", &format!("Basic {}", STANDARD.encode("id:s"))),
    ] {
        assert_eq!(grant[name], value);
    }
    // A function knows for whom the ID token is.
    let asked =
        TokenSource::from_fn(async |request: IdentityTokenRequest| Ok(format!("for {}", request.token_endpoint)));
    world.connect(&provider().with_identity_token(asked)).await.unwrap();
    assert_eq!(world.seen("/token")[2]["subject_token"], format!("for {}/token", world.origin));
    // XAU-21, XAU-31
    world.habits().token = json!({});
    let error = world.connect(&provider()).await.err().unwrap().to_string();
    assert!(error.contains("instead of an ID-JAG"), "{error}");
    world.habits().refusals = vec![(400, json!({"error": "invalid_grant"}))];
    let error = world.connect(&provider()).await.err().unwrap().to_string();
    assert!(error.contains("invalid_grant") && error.contains("sign in to"), "{error}");
}

/// A store that shows all that it was ever given.
#[derive(Clone, Default)]
struct OpenStore {
    kept: MemoryStore,
    given: Arc<Mutex<Vec<String>>>,
}

impl TokenStore for OpenStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        self.kept.get(key)
    }

    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>> {
        self.given.lock().unwrap().push(value.to_owned());
        self.kept.set(key, value)
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>> {
        self.kept.remove(key)
    }
}

fn enterprise(world: &World) -> OAuthOptions {
    unattended(OAuthGrant::EnterpriseManaged)
        .with_client_id("id")
        .with_idp_token_endpoint(format!("{}/token", world.origin))
        .with_idp_client_id("idp-client")
        .with_identity_token("the-id-token")
}

/// An organization's identity provider and an authorization server in one.
async fn provider(metadata: Value) -> World {
    World::with(|habits| {
        habits.metadata =
            json!({"token_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_basic", "none"]});
        habits.metadata.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        habits.token = json!({"issued_token_type": "urn:ietf:params:oauth:token-type:id-jag"});
    })
    .await
}

/// No URL and no error has a secret, and of all tokens, only the one for the server is stored.
#[tokio::test]
async fn xau_26_and_xau_27_id_tokens_and_id_jags_are_neither_shown_nor_kept() {
    let (world, store) = (provider(json!({})).await, OpenStore::default());
    let auth = enterprise(&world).with_client_secret("s3cret").with_store(store.clone());
    world.connect(&auth).await.unwrap();
    let (id_jag, token) = ("token-1", "token-2");
    assert_eq!(world.seen("/token")[1]["assertion"], id_jag);
    assert_eq!(world.seen("/mcp").pop().unwrap()["authorization"], format!("Bearer {token}"));
    let kept = store.given.lock().unwrap().join(" ");
    assert!(kept.contains(token), "{kept}");
    for secret in ["the-id-token", id_jag, "s3cret"] {
        assert!(!kept.contains(secret), "{secret} in {kept}");
    }
    world.habits().refusals = vec![(400, json!({"error": "invalid_grant"}))];
    let error = world.connect(&enterprise(&world)).await.err().unwrap();
    let shown = format!("{error} {error:?} {:?} {}", auth, world.habits().targets.join(" "));
    assert!(shown.contains("invalid_grant") && shown.contains("/.well-known/"), "{shown}");
    for secret in ["the-id-token", "token-", "s3cret"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[tokio::test]
async fn xau_14_and_xau_25_secrets_go_to_https_endpoints_only() {
    let plain = "http://auth.example/token";
    let world = provider(json!({"token_endpoint": plain})).await;
    let to = |options: OAuthOptions| OAuth::new(options).err().unwrap().to_string();
    let error = to(enterprise(&world).with_idp_token_endpoint(plain));
    assert!(error.starts_with("auth.idp_token_endpoint") && error.contains("https"), "{error}");
    let machine = unattended(OAuthGrant::ClientCredentials).with_client_id("id");
    for auth in [
        enterprise(&world).with_client_secret("s"),
        machine.clone().with_client_secret("s"),
        machine.with_private_key(pem()),
        unattended(OAuthGrant::WorkloadIdentity).with_assertion("jwt"),
        oauth(MemoryStore::new()),
    ] {
        let error = world.connect(&auth).await.err().unwrap().to_string();
        assert!(error.contains(plain) && error.contains("https"), "{error}");
    }
}

#[tokio::test]
async fn xau_28_a_key_is_used_rather_than_a_secret() {
    let world = provider(json!({})).await;
    world.connect(&enterprise(&world).with_client_secret("s").with_private_key(pem())).await.unwrap();
    let grant = world.seen("/token").pop().unwrap();
    assert_eq!(claims(&grant["client_assertion"])["sub"], "id");
    assert!(!grant.contains_key("authorization") && !grant.contains_key("client_secret"), "{grant:?}");
}

/// A client with a metadata document authenticates by a key as well.
#[tokio::test]
async fn auc_15_and_xau_28_the_key_of_a_metadata_document() {
    let document = "https://agent.example/client.json";
    let world = World::with(|habits| {
        habits.metadata = json!({"client_id_metadata_document_supported": true,
            "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"]});
    })
    .await;
    let auth = oauth(MemoryStore::new()).with_client_metadata_url(document).with_private_key(pem());
    world.connect(&auth).await.unwrap();
    assert_eq!(claims(&world.seen("/token")[0]["client_assertion"])["iss"], document);
}

#[tokio::test]
async fn xau_30_fewer_scopes_than_were_asked_for_are_taken_as_granted() {
    let world = provider(json!({})).await;
    {
        let mut habits = world.habits();
        habits.challenge = r#"scope="read write""#.into();
        habits.token["scope"] = "read".into();
    }
    let client = world.connect(&enterprise(&world)).await.unwrap();
    client.list_tools().await.unwrap();
    let asked: Vec<_> = world.seen("/token").iter().map(|form| form["scope"].clone()).collect();
    assert_eq!(asked, ["read write", "read write"], "the exchange and the grant, once each");
}

/// XAU-33, XAU-34, XAU-36 to XAU-38, XAU-40
#[tokio::test]
async fn xau_33_to_40_a_workload_shows_its_own_token() {
    let world = World::new().await;
    let (issuer, url) = (world.origin.clone(), world.url());
    let auth = || {
        let (issuer, url) = (issuer.clone(), url.clone());
        let assertion = TokenSource::from_fn(move |request: AssertionRequest| {
            let fits =
                request.issuer == issuer && request.resource == url && request.token_endpoint.ends_with("/token");
            async move { if fits { Ok("workload-jwt".to_owned()) } else { Err(AuthError("wrong facts".to_owned())) } }
        });
        unattended(OAuthGrant::WorkloadIdentity).with_assertion(assertion)
    };
    world.connect(&auth()).await.unwrap();
    // One that stays the same is sent alike.
    world.connect(&unattended(OAuthGrant::WorkloadIdentity).with_assertion("workload-jwt")).await.unwrap();
    let sent = world.seen("/token");
    assert_eq!(sent[0], sent[1]);
    let form = &world.seen("/token")[0];
    assert_eq!((form["assertion"].as_str(), form["resource"].as_str()), ("workload-jwt", &*url));
    assert!(!form.contains_key("client_id") && !form.contains_key("authorization"));
    assert!(world.seen("/register").is_empty());
    for code in ["invalid_grant", "invalid_scope", "unauthorized_client"] {
        let before = world.seen("/token").len();
        world.habits().refusals = vec![(400, json!({"error": code}))];
        let error = world.connect(&auth()).await.err().unwrap().to_string();
        assert!(error.contains(code), "{error}");
        assert_eq!(world.seen("/token").len(), before + 1);
    }
    // Another authorization server could redeem it.
    let before = world.seen("/token").len();
    let elsewhere = unattended(OAuthGrant::WorkloadIdentity).with_assertion("j").with_issuer("https://login.example");
    let error = world.connect(&elsewhere).await.err().unwrap().to_string();
    assert!(error.contains("The assertion is for https://login.example, but the server now names"), "{error}");
    assert_eq!(world.seen("/token").len(), before);
    world.habits().metadata = json!({"grant_types_supported": ["authorization_code"]});
    let before = world.seen("/token").len();
    assert!(world.connect(&auth()).await.err().unwrap().to_string().contains("jwt-bearer"));
    assert_eq!(world.seen("/token").len(), before);
}

#[tokio::test]
async fn xau_42_to_54_tokens_are_bound_to_a_key_and_nonces_are_honoured() {
    let world = World::with(|habits| {
        habits.nonces = true;
        habits.token = json!({"refresh_token": "r"});
    })
    .await;
    let store = MemoryStore::new();
    let client = world.connect(&oauth(store.clone()).with_dpop(true)).await.unwrap();
    client.list_tools().await.unwrap();
    // A nonce challenge and the repetition, once at each server.
    assert_eq!(world.seen("/token").len(), 2);
    let requests: Vec<_> =
        world.seen("/mcp").into_iter().filter(|request| !request["authorization"].is_empty()).collect();
    let initializations = requests.iter().filter(|request| request["method"] == "initialize").count();
    assert!((1..=2).contains(&initializations), "{requests:?}");
    let mut ids: Vec<_> = requests.iter().map(|request| claims(&request["dpop"])["jti"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), requests.len());
    assert!(requests.iter().all(|request| request["authorization"].starts_with("DPoP token-")));
    let proof = claims(&requests[0]["dpop"]);
    assert_eq!((&proof["htm"], &proof["htu"]), (&json!("POST"), &json!(world.url())));
    assert!(proof["ath"].is_string());
    // XAU-55
    assert!(world.seen("/authorize")[0]["dpop_jkt"].len() > 40);
    assert_eq!(world.seen("/register")[0]["dpop_bound_access_tokens"], "true");
    // A later run has the same key, and the refresh a proof, too.
    let again = world.connect(&oauth(store).with_dpop(true)).await.unwrap();
    world.habits().valid.clear();
    again.list_tools().await.unwrap();
    let last = world.seen("/token").pop().unwrap();
    assert_eq!(last["grant_type"], "refresh_token");
    assert!(last.contains_key("dpop"));
    assert_eq!(world.seen("/authorize").len(), 1);
}

/// A runtime whose wall clock jumps each time it is read.
struct Jumping(Arc<dyn Runtime>, AtomicU64);

impl Runtime for Jumping {
    fn spawn(&self, task: BoxedTask) {
        self.0.spawn(task);
    }

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn unix_time(&self) -> Duration {
        Duration::from_secs(self.1.fetch_add(600, Ordering::Relaxed))
    }

    fn sleep_until(&self, at: Instant) -> BoxedTask {
        self.0.sleep_until(at)
    }

    fn wire_log(&self) -> Option<&dyn WireLog> {
        None
    }
}

#[tokio::test]
async fn xau_46_a_proof_is_made_after_the_wait_for_its_token() {
    let (world, store) = (World::new().await, MemoryStore::new());
    let _client = world.connect(&oauth(store.clone()).with_dpop(true)).await.unwrap();
    let auth: Option<Arc<dyn ClientAuth>> = OAuth::new(oauth(store).with_dpop(true)).unwrap().into();
    let runtime = Arc::new(Jumping(TokioRuntime::current(), AtomicU64::new(600)));
    let request = OutgoingRequest::new("POST", world.url(), Arc::clone(&runtime) as Arc<dyn Runtime>);
    let headers = auth.unwrap().headers(&request).await.unwrap();
    let (_, proof) = headers.iter().find(|(name, _)| name == "dpop").unwrap();
    let latest = runtime.1.load(Ordering::Relaxed) - 600;
    assert!(latest > 600 && claims(proof)["iat"] == latest, "{latest}");
}

/// The user may have signed in for minutes, and an assertion counts for one.
#[tokio::test]
async fn xau_10_an_assertion_is_made_after_the_wait_for_the_id_token() {
    let world = provider(json!({})).await;
    let runtime = Arc::new(Jumping(TokioRuntime::current(), AtomicU64::new(600)));
    let clock = Arc::clone(&runtime);
    let signed_in = Arc::new(AtomicU64::new(0));
    let at = Arc::clone(&signed_in);
    let sign_on = TokenSource::from_fn(move |_: IdentityTokenRequest| {
        at.store(clock.1.load(Ordering::Relaxed), Ordering::Relaxed);
        async { Ok("the-id-token".to_owned()) }
    });
    let auth = enterprise(&world).with_private_key(pem()).with_identity_token(sign_on);
    let auth: Option<Arc<dyn ClientAuth>> = OAuth::new(auth).unwrap().into();
    let request = OutgoingRequest::new("POST", world.url(), Arc::clone(&runtime) as Arc<dyn Runtime>);
    let mut refusal = CredentialsRefusal::default();
    refusal.status = 401;
    assert!(auth.unwrap().refused(&request, refusal).await.unwrap());
    let issued = claims(&world.seen("/token")[1]["client_assertion"])["iat"].as_u64().unwrap();
    assert!(issued >= signed_in.load(Ordering::Relaxed), "{issued}");
}

#[tokio::test]
async fn xau_48_and_xau_49_and_xau_56_bound_and_unbound_are_not_mixed_up() {
    let world = World::with(|habits| habits.token = json!({"token_type": "Bearer"})).await;
    let error = world.connect(&oauth(MemoryStore::new()).with_dpop(true)).await.err().unwrap().to_string();
    assert!(error.contains("instead of DPoP"), "{error}");
    world.habits().metadata = json!({"dpop_signing_alg_values_supported": ["EdDSA"]});
    let error = world.connect(&oauth(MemoryStore::new()).with_dpop(true)).await.err().unwrap().to_string();
    assert!(error.contains("ES256"), "{error}");
    let (world, error) =
        World::refused(|habits| habits.resource = json!({"dpop_bound_access_tokens_required": true})).await;
    assert!(error.contains("enable DPoP"), "{error}");
    assert!(world.seen("/authorize").is_empty());
}

/// Each server of a group is asked as the client that its entry names.
#[tokio::test]
async fn servers_of_a_group_have_their_own_credentials() {
    let (one, other, machine) = (World::new().await, World::new().await, World::new().await);
    machine.habits().metadata = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
    let entry = |world: &World, auth: Value| {
        ServerEntry::from_value(&json!({"url": world.url(), "auth": auth})).map(Target::from).unwrap()
    };
    let servers = [
        ("one", entry(&one, json!({"clientId": "first"}))),
        ("other", entry(&other, json!({"CLIENT_ID": "second", "scopes": ["read"]}))),
        ("machine", entry(&machine, json!({"grant": "client_credentials", "clientId": "m", "clientSecret": "s"}))),
        ("wrong", entry(&one, json!({"clientSecret": "s"}))),
        ("typo", entry(&one, json!({"clientID": "s"}))),
    ];
    // The user interaction and the store are those of the client.
    let auth = OAuth::new(oauth(MemoryStore::new()).with_scopes(["unused".to_owned()])).unwrap();
    let options = ClientOptions::default().with_revision(RevisionChoice::Legacy).with_auth(auth);
    let group = ClientGroup::connect_with(servers, options, ()).await.unwrap();
    let tools = group.list_tools().await;
    let errors: Vec<_> =
        group.servers().into_iter().map(|server| server.error.map(|error| error.to_string())).collect();
    assert_eq!(errors[..3], [None, None, None], "{tools:?}");
    assert_eq!(errors[3].as_deref(), Some("auth.clientSecret needs `clientId`"));
    assert!(errors[4].as_ref().unwrap().contains("did you mean `clientId`"), "{errors:?}");
    let asked = |world: &World| {
        let query = world.seen("/authorize").remove(0);
        (query["client_id"].clone(), query.get("scope").cloned())
    };
    assert_eq!(asked(&one), ("first".to_owned(), None));
    assert_eq!(asked(&other), ("second".to_owned(), Some("read".to_owned())));
    assert_eq!(machine.seen("/token")[0]["client_id"], "m");
    // XAU-03
    let extensions = r#"{"io.modelcontextprotocol/oauth-client-credentials":{}}"#;
    assert_eq!(machine.seen("/mcp")[0]["extensions"], extensions);
    assert_eq!(one.seen("/mcp")[0]["extensions"], "null");
}
