//! Logins of several processes at once, logins with a code, and their steps.

use super::world::{CALLBACK, World, agree, oauth};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;
use std::{
    future::{pending, ready},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use trunkline::{
    auth::{
        AuthError, AuthObserver, FileStore, LoginPage, MemoryStore, OAuthGrant, OAuthOptions, RedirectHandler,
        StoreLock, TokenStore, UrlOpener,
    },
    runtime::BoxedTask,
};

/// A folder of credentials that processes share. Each process has a store of its own, which takes
/// part in counting those that want to log in.
struct Shared {
    folder: PathBuf,
    waiting: Arc<AtomicUsize>,
}

impl Shared {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("trunkline-logins-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::SeqCst));
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        Self { folder, waiting: Arc::default() }
    }

    fn store(&self) -> CountedStore {
        CountedStore { store: FileStore::new(&self.folder), waiting: Arc::clone(&self.waiting) }
    }

    /// The options of a process whose user waits until so many processes want to log in.
    fn patient(&self, wanted: usize) -> OAuthOptions {
        let waiting = Arc::clone(&self.waiting);
        let visit = move |url| {
            let waiting = Arc::clone(&waiting);
            async move {
                while waiting.load(Ordering::SeqCst) < wanted {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                agree(url).await
            }
        };
        OAuthOptions::default().with_store(self.store()).with_handler(RedirectHandler::new(CALLBACK, visit))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

struct CountedStore {
    store: FileStore,
    waiting: Arc<AtomicUsize>,
}

impl TokenStore for CountedStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        self.store.get(key)
    }

    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>> {
        self.store.set(key, value)
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>> {
        self.store.remove(key)
    }

    fn lock(&self, key: &str) -> BoxedTask<Result<StoreLock, AuthError>> {
        self.store.lock(key)
    }

    fn lock_for_login(&self, key: &str, limit: Duration) -> BoxedTask<Result<StoreLock, AuthError>> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.store.lock_for_login(key, limit)
    }
}

/// How five processes that start at once end.
async fn outcomes_of_five(world: &Arc<World>, shared: &Shared) -> Vec<Result<(), String>> {
    let processes: Vec<_> = (0..5)
        .map(|_| {
            let (world, options) = (Arc::clone(world), shared.patient(5));
            tokio::spawn(async move { world.connect(&options).await.map(drop).map_err(|error| error.to_string()) })
        })
        .collect();
    let mut outcomes = Vec::new();
    for process in processes {
        outcomes.push(process.await.unwrap());
    }
    outcomes
}

#[tokio::test]
async fn r2_five_processes_that_start_at_once_ask_the_user_once() {
    let (world, shared) = (Arc::new(World::new().await), Shared::new());
    let outcomes = outcomes_of_five(&world, &shared).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let count = |path| world.seen(path).len();
    assert_eq!((count("/authorize"), count("/register"), count("/token")), (1, 1, 1));
}

#[tokio::test]
async fn r5_a_user_who_refuses_is_not_asked_again_by_those_that_waited() {
    let (world, shared) = (Arc::new(World::new().await), Shared::new());
    world.habits().redirect = json!({"code": null, "error": "access_denied"});
    let outcomes = outcomes_of_five(&world, &shared).await;
    let is_refused =
        |outcome: &Result<(), String>| outcome.as_ref().is_err_and(|error| error.contains("access_denied"));
    assert!(outcomes.iter().all(is_refused), "{outcomes:?}");
    assert_eq!(world.seen("/authorize").len(), 1);
    // A later process asks again.
    world.habits().redirect = json!({});
    world.connect(&shared.patient(0)).await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 2);
}

#[tokio::test]
async fn r7_the_login_of_a_process_that_ends_is_taken_over() {
    let (world, shared) = (Arc::new(World::new().await), Shared::new());
    let visits = Arc::new(AtomicUsize::new(0));
    let visited = Arc::clone(&visits);
    let lost = RedirectHandler::new(CALLBACK, move |_| {
        visited.fetch_add(1, Ordering::SeqCst);
        pending()
    });
    let (there, options) = (Arc::clone(&world), shared.patient(0).with_handler(lost));
    let first = tokio::spawn(async move { there.connect(&options).await.map(drop) });
    while visits.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (there, options) = (Arc::clone(&world), shared.patient(0));
    let second = tokio::spawn(async move { there.connect(&options).await.map(drop) });
    while shared.waiting.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!second.is_finished() && world.seen("/authorize").is_empty());
    first.abort();
    second.await.unwrap().unwrap();
    assert_eq!(world.seen("/authorize").len(), 1);
}

/// A user who looks at pages with codes.
fn with_code(pages: &Arc<Mutex<Vec<LoginPage>>>) -> OAuthOptions {
    let pages = Arc::clone(pages);
    let show = UrlOpener::of_pages(move |page| {
        pages.lock().unwrap().push(page);
        ready(Ok(()))
    });
    OAuthOptions::default().with_grant(OAuthGrant::DeviceCode).with_handler(show)
}

#[tokio::test]
async fn rfc_8628_a_user_logs_in_with_a_code_in_a_browser_elsewhere() {
    let world = World::with(|habits| {
        habits.metadata = json!({"device_authorization_endpoint": "{url}/device", "authorization_endpoint": null});
        habits.challenge = r#"scope="run""#.into();
        habits.refusals = vec![
            (400, json!({"error": "authorization_pending"})),
            (503, json!({})),
            (400, json!({"error": "authorization_pending"})),
        ];
    })
    .await;
    let pages = Arc::default();
    world.connect(&with_code(&pages)).await.unwrap();
    let [page] = &pages.lock().unwrap()[..] else { panic!("{pages:?}") };
    assert_eq!((&*page.url, page.user_code.as_deref()), (&*format!("{}/activate", world.origin), Some("WDJB-MJHT")));
    let registered = &world.seen("/register")[0];
    assert!(registered["grant_types"].contains("urn:ietf:params:oauth:grant-type:device_code"), "{registered:?}");
    assert_eq!(registered["redirect_uris"], "[]");
    let asked = &world.seen("/device")[0];
    assert_eq!((&*asked["client_id"], &*asked["scope"], &*asked["resource"]), ("registered-1", "run", &*world.url()));
    let polls = world.seen("/token");
    assert_eq!(polls.len(), 4, "{polls:?}");
    for form in polls {
        assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:device_code");
        assert_eq!((&*form["device_code"], &*form["client_id"]), ("the-device-code", "registered-1"));
    }
    assert!(world.seen("/authorize").is_empty());
}

#[tokio::test]
async fn rfc_8628_section_3_5_the_reason_of_a_failed_login_with_a_code_is_told() {
    for (metadata, refusal, options, reason) in [
        (
            json!({"device_authorization_endpoint": "{url}/device"}),
            "access_denied",
            with_code(&Arc::default()),
            "access_denied",
        ),
        (
            json!({"device_authorization_endpoint": "{url}/device"}),
            "expired_token",
            with_code(&Arc::default()),
            "expired_token",
        ),
        (json!({}), "", with_code(&Arc::default()), "no device_authorization_endpoint"),
        (
            json!({"device_authorization_endpoint": "{url}/device"}),
            "",
            with_code(&Arc::default()).with_handler(UrlOpener::new(|_| ready(Ok(())))),
            "cannot show the code WDJB-MJHT",
        ),
    ] {
        let world = World::with(|habits| {
            habits.metadata = metadata;
            if !refusal.is_empty() {
                habits.refusals = vec![(400, json!({"error": refusal}))];
            }
        })
        .await;
        let error = world.connect(&options).await.err().expect("the login succeeded").to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// An unsigned ID token.
fn id_token() -> String {
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.c2ln", part(json!({"alg": "RS256"})), part(json!({"sub": "ann", "exp": 4_000_000_000_u64})))
}

/// OpenID Connect Core section 3.1.3.3.
#[tokio::test]
async fn the_id_token_is_sent_where_a_server_wants_it() {
    let world = World::with(|habits| {
        habits.token = json!({"id_token": id_token(), "expires_in": 1});
        habits.valid.push((id_token(), String::new()));
    })
    .await;
    let store = MemoryStore::new();
    world.connect(&oauth(store.clone()).with_use_id_token(true)).await.unwrap();
    assert_eq!(world.seen("/authorize")[0]["scope"], "openid");
    assert_eq!(world.seen("/mcp").last().unwrap()["authorization"], format!("Bearer {}", id_token()));
    // Tokens of both kinds are apart in the store.
    world.connect(&oauth(store)).await.unwrap();
    assert_eq!(world.seen("/mcp").last().unwrap()["authorization"], "Bearer token-2");
    let world = World::new().await;
    let error = world.connect(&oauth(MemoryStore::new()).with_use_id_token(true)).await.err().unwrap().to_string();
    assert!(error.contains("returned no ID token"), "{error}");
}

#[tokio::test]
async fn a_given_token_endpoint_counts_more_than_the_metadata() {
    for (metadata, metadata_path) in [
        (
            json!({"token_endpoint": "http://127.0.0.1:9/token",
                "token_endpoint_auth_methods_supported": ["client_secret_basic"]}),
            "/.well-known/oauth-authorization-server",
        ),
        (json!({}), "/nowhere"),
    ] {
        let world = World::with(|habits| (habits.metadata, habits.metadata_path) = (metadata, metadata_path)).await;
        let options = OAuthOptions::default()
            .with_grant(OAuthGrant::ClientCredentials)
            .with_client_id("id")
            .with_client_secret("s")
            .with_issuer(&*world.origin)
            .with_token_endpoint(format!("{}/token", world.origin));
        world.connect(&options).await.unwrap();
        assert_eq!(world.seen("/token").len(), 1);
    }
}

#[tokio::test]
async fn an_observer_sees_each_step_of_a_login_and_no_secret() {
    let world = World::with(|habits| {
        habits.challenge = r#"resource_metadata="{url}/.well-known/oauth-protected-resource/mcp""#.into();
        habits.token = json!({"refresh_token": "r-secret"});
    })
    .await;
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&steps);
    let observer = AuthObserver::new(move |step| seen.lock().unwrap().push(step));
    world.connect(&oauth(MemoryStore::new()).with_observer(observer)).await.unwrap();
    let steps = steps.lock().unwrap();
    let clauses: Vec<_> = steps.iter().map(|step| (step.status, step.clause)).collect();
    let expected = [
        (Some(401), "RFC 9728 section 5.1"),
        (Some(200), "RFC 9728 section 3.2"),
        (Some(200), "RFC 8414 section 3.2"),
        (Some(201), "RFC 7591 section 3.2.1"),
        (None, "RFC 7636 section 4.3, RFC 8707 section 2"),
        (None, "RFC 6749 section 4.1.2, RFC 9207 section 2"),
        (Some(200), "RFC 6749 section 5.1"),
    ];
    assert_eq!(clauses, expected, "{steps:?}");
    let shown = format!("{steps:?}");
    assert!(shown.contains("code_challenge_method = S256") && shown.contains("state = as sent"), "{shown}");
    assert!(["token-1", "r-secret", "the-code"].iter().all(|secret| !shown.contains(secret)), "{shown}");
}
