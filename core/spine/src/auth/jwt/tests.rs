use super::*;
use crate::{
    auth::{
        tests::{Key, request},
        verification::ask,
    },
    runtime::BoxedTask,
};
use http::Response;
use serde_json::json;
use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};

const NOW: u64 = 1_800_000_000;
const ISSUER: &str = "https://auth.example";
const RESOURCE: &str = "https://mcp.example/mcp";

/// A network of documents.
#[derive(Default)]
struct Web {
    documents: Mutex<HashMap<String, Value>>,
    asked: Mutex<Vec<String>>,
    delay: Duration,
}

impl Web {
    /// An authorization server with these keys.
    fn of(keys: &[Value]) -> Arc<Self> {
        let web = Self::default();
        let metadata = json!({"issuer": ISSUER, "jwks_uri": "https://auth.example/keys"});
        web.put("https://auth.example/.well-known/openid-configuration", metadata);
        web.put("https://auth.example/keys", json!({"keys": keys}));
        Arc::new(web)
    }

    fn put(&self, url: &str, document: Value) {
        self.documents.lock().insert(url.to_owned(), document);
    }

    fn asked_for_keys(&self) -> usize {
        self.asked.lock().iter().filter(|url| url.ends_with("/keys")).count()
    }
}

impl Fetch for Arc<Web> {
    fn fetch(&self, request: Request<Bytes>) -> BoxedTask<Result<Response<Bytes>, FetchError>> {
        let web = Arc::clone(self);
        Box::pin(async move {
            let url = request.uri().to_string();
            web.asked.lock().push(url.clone());
            tokio::time::sleep(web.delay).await;
            Ok(match web.documents.lock().get(&url) {
                Some(document) => Response::new(document.to_string().into()),
                None => Response::builder().status(404).body(Bytes::new()).unwrap(),
            })
        })
    }
}

fn claims(changes: Value) -> Value {
    let mut claims = json!({"iss": ISSUER, "sub": "alice", "aud": RESOURCE, "exp": NOW + 300, "scope": "mcp"});
    claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    claims
}

fn token(key: &Key, id: &str) -> String {
    key.sign(&json!({"alg": key.alg(), "kid": id, "typ": "at+jwt"}), &claims(json!({})))
}

fn verifier(web: &Arc<Web>) -> JwtVerifier {
    JwtVerifier::new(JwtOptions::new(ISSUER), Arc::new(Arc::clone(web))).unwrap()
}

async fn verify(verifier: &JwtVerifier, token: &str) -> Result<Identity, Refusal> {
    ask(verifier, request(token, RESOURCE, NOW)).await
}

#[tokio::test(start_paused = true)]
async fn aus_07_keys_are_found_by_discovery_and_kept() {
    for key in [Key::es256(), Key::ed25519()] {
        let web = Web::of(&[key.listed("a")]);
        let verifier = verifier(&web);
        for _ in 0..3 {
            let identity = verify(&verifier, &token(&key, "a")).await.unwrap();
            assert_eq!(identity.subject.as_deref(), Some("alice"));
        }
        assert_eq!(
            *web.asked.lock(),
            [
                "https://auth.example/.well-known/oauth-authorization-server",
                "https://auth.example/.well-known/openid-configuration",
                "https://auth.example/keys"
            ]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn many_tokens_at_once_cost_one_fetch() {
    let key = Key::es256();
    let mut web = Arc::into_inner(Web::of(&[key.listed("a")])).unwrap();
    web.delay = Duration::from_secs(1);
    let web = Arc::new(web);
    let verifier = verifier(&web);
    let token = token(&key, "a");
    let all: Vec<_> = (0..20).map(|_| ask(&verifier, request(&token, RESOURCE, NOW))).collect();
    for outcome in all {
        assert!(outcome.await.is_ok());
    }
    assert_eq!(web.asked_for_keys(), 1);
}

#[tokio::test(start_paused = true)]
async fn new_keys_are_fetched_when_a_token_names_one_but_not_for_every_token() {
    let (old, new) = (Key::es256(), Key::es256());
    let web = Web::of(&[old.listed("old")]);
    let verifier = verifier(&web);
    assert!(verify(&verifier, &token(&old, "old")).await.is_ok());
    web.put("https://auth.example/keys", json!({"keys": [old.listed("old"), new.listed("new")]}));
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(verify(&verifier, &token(&new, "new")).await.is_ok());
    assert_eq!(web.asked_for_keys(), 2);
    for id in 0..50 {
        let outcome = verify(&verifier, &token(&new, &format!("invented-{id}"))).await;
        assert!(matches!(outcome, Err(Refusal::InvalidToken(_))), "{outcome:?}");
    }
    assert_eq!(web.asked_for_keys(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_replaced_without_another_id_is_fetched() {
    let (old, new) = (Key::es256(), Key::es256());
    let web = Web::of(&[old.listed("a")]);
    let verifier = verifier(&web);
    assert!(verify(&verifier, &token(&old, "a")).await.is_ok());
    web.put("https://auth.example/keys", json!({"keys": [new.listed("a")]}));
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(verify(&verifier, &token(&new, "a")).await.is_ok());
    for _ in 0..50 {
        let outcome = verify(&verifier, &token(&old, "a")).await;
        assert!(matches!(outcome, Err(Refusal::InvalidToken(_))), "{outcome:?}");
    }
    assert_eq!(web.asked_for_keys(), 2);
}

#[tokio::test(start_paused = true)]
async fn when_no_keys_are_to_be_had_nobody_is_blamed_and_nobody_waits_long() {
    let key = Key::es256();
    let web = Arc::new(Web { delay: Duration::from_secs(3600), ..Web::default() });
    let verifier = verifier(&web);
    let before = tokio::time::Instant::now();
    let outcome = verify(&verifier, &token(&key, "a")).await;
    assert!(matches!(outcome, Err(Refusal::Unavailable(_))), "{outcome:?}");
    assert!(before.elapsed() <= DEADLINE + Duration::from_secs(1));
    // The next one fails immediately.
    assert!(matches!(verify(&verifier, &token(&key, "a")).await, Err(Refusal::Unavailable(_))));
    assert_eq!(web.asked.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_issuer_may_take_its_time_for_each_document() {
    let (key, issuer) = (Key::es256(), "https://auth.example/tenant");
    let web = Arc::new(Web { delay: Duration::from_millis(4900), ..Web::default() });
    let metadata = json!({"issuer": issuer, "jwks_uri": "https://auth.example/keys"});
    web.put("https://auth.example/tenant/.well-known/openid-configuration", metadata);
    web.put("https://auth.example/keys", json!({"keys": [key.listed("a")]}));
    let verifier = JwtVerifier::new(JwtOptions::new(issuer), Arc::new(Arc::clone(&web))).unwrap();
    let token = key.sign(&json!({"alg": key.alg(), "kid": "a"}), &claims(json!({"iss": issuer})));
    assert!(verify(&verifier, &token).await.is_ok());
    assert_eq!(web.asked.lock().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn metadata_of_another_issuer_leads_nowhere() {
    let key = Key::es256();
    let web = Web::of(&[key.listed("a")]);
    let metadata = json!({"issuer": "https://evil.example", "jwks_uri": "https://auth.example/keys"});
    web.put("https://auth.example/.well-known/openid-configuration", metadata);
    let outcome = verify(&verifier(&web), &token(&key, "a")).await;
    assert!(matches!(outcome, Err(Refusal::Unavailable(_))), "{outcome:?}");
    assert_eq!(web.asked_for_keys(), 0);
}

#[tokio::test(start_paused = true)]
async fn keys_are_bounded_in_bytes() {
    let key = Key::es256();
    let web = Web::of(&[]);
    let padded = |bytes: usize| json!({"keys": [key.listed("a")], "x": "x".repeat(bytes)});
    web.put("https://auth.example/keys", padded(MAX_DOCUMENT));
    let outcome = verify(&verifier(&web), &token(&key, "a")).await;
    assert!(matches!(outcome, Err(Refusal::Unavailable(_))), "{outcome:?}");
    web.put("https://auth.example/keys", padded(MAX_DOCUMENT / 2));
    assert!(verify(&verifier(&web), &token(&key, "a")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn aus_07_forged_tokens_are_refused() {
    let (key, other) = (Key::es256(), Key::es256());
    let web = Web::of(&[key.listed("a"), Key::ed25519().listed("b")]);
    let verifier = verifier(&web);
    let header = json!({"alg": "ES256", "kid": "a"});
    let signed = |header: &Value, claims: &Value| key.sign(header, claims);
    let good = signed(&header, &claims(json!({})));
    assert!(verify(&verifier, &good).await.is_ok());
    let (head, rest) = good.split_once('.').unwrap();
    let none = format!("{}.{}.", encode(&json!({"alg": "none"})), encode(&claims(json!({}))));
    let swapped = format!("{head}.{}.{}", encode(&claims(json!({"sub": "bob"}))), rest.split_once('.').unwrap().1);
    for token in [
        "opaque".to_owned(),
        none,
        swapped,
        token(&other, "a"),
        signed(&json!({"alg": "HS256", "kid": "a"}), &claims(json!({}))),
        signed(&json!({"alg": "EdDSA", "kid": "a"}), &claims(json!({}))),
        signed(&json!({"alg": "ES256", "kid": "b"}), &claims(json!({}))),
        // A key inside the token proves nothing.
        other.sign(&json!({"alg": "ES256", "jwk": other.public()}), &claims(json!({}))),
        signed(&json!({"alg": "ES256", "kid": "a", "typ": "dpop+jwt"}), &claims(json!({}))),
        signed(&json!({"alg": "ES256", "kid": "a", "typ": "oauth-id-jag+jwt"}), &claims(json!({}))),
        signed(&header, &claims(json!({"aud": "https://other.example"}))),
        signed(&header, &claims(json!({"exp": NOW - 3600}))),
        signed(&header, &claims(json!({"iss": "https://evil.example"}))),
    ] {
        let outcome = verify(&verifier, &token).await;
        assert!(matches!(outcome, Err(Refusal::InvalidToken(_))), "{token} {outcome:?}");
    }
}

fn encode(value: &Value) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test(start_paused = true)]
async fn options_narrow_what_is_accepted() {
    let key = Key::es256();
    let web = Web::of(&[]);
    let given = json!({"keys": [key.listed("a")]});
    let with = |options: JwtOptions| JwtVerifier::new(options, Arc::new(Arc::clone(&web))).unwrap();
    let base = JwtOptions::new("not a url").with_jwks(given);
    let signed = |changes: Value| key.sign(&json!({"alg": "ES256"}), &claims(changes));
    let token = signed(json!({"iss": "not a url", "aud": ["my-api"]}));
    let audiences = base.clone().with_audience(["my-api"]);
    assert!(verify(&with(audiences.clone()), &token).await.is_ok());
    assert!(verify(&with(base), &token).await.is_err());
    let algorithms = audiences.with_algorithms([Algorithm::Rs256]);
    assert!(verify(&with(algorithms), &token).await.is_err());
    assert!(web.asked.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn aus_07_a_strict_verifier_only_accepts_tokens_of_the_access_token_type() {
    let key = Key::es256();
    let web = Web::of(&[key.listed("a")]);
    for strict in [false, true] {
        let options = JwtOptions::new(ISSUER).with_strict_type(strict);
        let verifier = JwtVerifier::new(options, Arc::new(Arc::clone(&web))).unwrap();
        for (typ, says_so) in
            [(json!("at+jwt"), true), (json!("application/AT+JWT"), true), (json!("JWT"), false), (json!(null), false)]
        {
            let token = key.sign(&json!({"alg": "ES256", "kid": "a", "typ": typ}), &claims(json!({})));
            assert_eq!(verify(&verifier, &token).await.is_ok(), says_so || !strict, "{typ} {strict}");
        }
    }
}

#[test]
fn wrong_options_are_named() {
    let web: Arc<dyn Fetch> = Arc::new(Web::of(&[]));
    let error = |options| JwtVerifier::new(options, Arc::clone(&web)).err().unwrap().in_json();
    let base = || JwtOptions::new(ISSUER);
    assert!(error(JwtOptions::default()).starts_with("auth.issuer"));
    assert!(error(JwtOptions::new("http://auth.example")).starts_with("auth.issuer"));
    assert!(error(base().with_algorithms([])).starts_with("auth.algorithms"));
    assert!(error(base().with_jwks_uri("http://evil")).starts_with("auth.jwksUri"));
    assert!(error(base().with_jwks(json!({"keys": []}))).starts_with("auth.jwks"));
    let two = base().with_issuer([ISSUER, "https://b.example"]);
    assert!(error(two.with_jwks_uri("https://a/keys")).contains("a single issuer"));
    let both = base().with_jwks(json!({})).with_jwks_uri("https://a/keys");
    assert!(error(both).contains("are mutually exclusive"));
}

#[tokio::test]
async fn a_verifier_notices_a_dropped_request() {
    let kept = Arc::new(Mutex::new(None));
    let told = Arc::new(AtomicUsize::new(0));
    let (keeper, counter) = (Arc::clone(&kept), Arc::clone(&told));
    let verifier = move |verification: Verification| {
        let counter = Arc::clone(&counter);
        verification.on_cancel(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        *keeper.lock() = Some(verification);
    };
    let outcome = ask(&verifier, request("t", RESOURCE, NOW));
    drop(outcome);
    assert_eq!(told.load(Ordering::SeqCst), 1);
    let verification = kept.lock().take().unwrap();
    assert!(!verification.complete(Err(Refusal::Missing)));
    // A dropped verification refuses the request without blaming the token.
    let outcome = ask(&verifier, request("t", RESOURCE, NOW));
    drop(kept.lock().take());
    assert!(matches!(outcome.await, Err(Refusal::Unavailable(_))));
    let outcome = ask(&verifier, request("t", RESOURCE, NOW));
    assert!(kept.lock().take().unwrap().complete(Ok(Identity::default())));
    assert!(outcome.await.is_ok());
    assert_eq!(told.load(Ordering::SeqCst), 1);
}
