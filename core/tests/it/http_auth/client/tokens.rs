//! Tokens that are stored, renewed and refused.

use super::world::{CALLBACK, World, agree, oauth};
use axum::body::Bytes;
use http::{Request, Response};
use serde_json::json;
use std::{
    collections::HashSet,
    future::{Ready, ready},
    net::IpAddr,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Semaphore;
use trunkline::{
    Client, ClientEvents, ClientOptions, RevisionChoice, Server,
    auth::{
        AccessToken, AuthError, AuthNetwork, FetchError, FileStore, HttpNetwork, MemoryStore, NetworkAccess, OAuth,
        OAuthOptions, RedirectHandler, RequestHeaders, StoreLock, TokenStore,
    },
    client::{ClientGroup, ErrorKind},
    protocol::{RawJson, method},
    runtime::BoxedTask,
    transport::{HttpEndpoint, Target},
};

#[tokio::test]
async fn auc_46_tokens_of_an_earlier_run_are_used() {
    let (world, store) = (World::new().await, MemoryStore::new());
    world.connect(&oauth(store.clone())).await.unwrap();
    world.connect(&oauth(store)).await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 1);
    assert_eq!(world.seen("/mcp").iter().filter(|request| request["authorization"].is_empty()).count(), 1);
}

#[tokio::test]
async fn tokens_are_renewed_before_they_end_and_once_for_all_requests() {
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r1", "expires_in": 10})).await;
    let client = world.connect(&oauth(MemoryStore::new())).await.unwrap();
    // `initialized` and what follows find a token that ends soon, and renew it.
    world.habits().token = json!({"expires_in": 3600});
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.list_tools().await.unwrap() })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    let renewals: Vec<_> =
        world.seen("/token").into_iter().filter(|form| form["grant_type"] == "refresh_token").collect();
    assert!((1..=2).contains(&renewals.len()), "{renewals:?}");
    assert_eq!((renewals[0]["refresh_token"].as_str(), renewals[0]["resource"].as_str()), ("r1", &*world.url()));
    assert_eq!(world.seen("/authorize").len(), 1);
}

#[tokio::test]
async fn a_refused_token_is_renewed_and_only_a_void_refresh_token_leads_to_a_login() {
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r1"})).await;
    let store = MemoryStore::new();
    let client = world.connect(&oauth(store.clone())).await.unwrap();
    world.habits().valid.clear();
    client.list_tools().await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 1);
    // A temporary error: nothing is discarded, and the user is not asked.
    {
        let mut habits = world.habits();
        habits.valid.clear();
        habits.refusals = vec![(503, json!({"error": "temporarily_unavailable"}))];
    }
    let error = client.list_tools().await.unwrap_err().to_string();
    assert!(error.contains("temporarily_unavailable"), "{error}");
    assert_eq!(world.seen("/authorize").len(), 1);
    client.list_tools().await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 1);
    // Not every server says that a refresh token is void in the words of the standard.
    let void = [
        (400, json!({"error": "invalid_grant"})),
        (400, json!({"error": "invalid_request"})),
        (403, json!({"error": "refresh_token_expired"})),
        (400, json!({"code": 400, "msg": "Refresh Token Not Found"})),
        (404, json!({})),
    ];
    for (logins, refusal) in (2..).zip(void) {
        {
            let mut habits = world.habits();
            habits.valid.clear();
            habits.refusals = vec![refusal.clone()];
        }
        client.list_tools().await.unwrap();
        assert_eq!(world.seen("/authorize").len(), logins, "{refusal:?}");
    }
    for refusal in [(429, json!({"error": "slow_down"})), (403, json!({})), (400, json!({"error": "server_error"}))] {
        {
            let mut habits = world.habits();
            habits.valid.clear();
            habits.refusals = vec![refusal.clone()];
        }
        assert!(client.list_tools().await.is_err(), "{refusal:?}");
        assert_eq!(world.seen("/authorize").len(), 6, "{refusal:?}");
    }
}

/// The keys of a world's first endpoint in a store.
fn keys(world: &World) -> [String; 3] {
    let (origin, url) = (&world.origin, world.url());
    [format!("tokens {origin} {url}"), format!("server {url}"), format!("client {origin}")]
}

/// RFC 7009
#[tokio::test]
async fn logging_out_forgets_what_a_login_has_brought_and_revokes_it() {
    for (metadata, status, expires_in, revoked) in [
        (json!({"revocation_endpoint": "{url}/revoke"}), 200, 3600, &["r1 refresh_token", "token-1 access_token"][..]),
        (json!({"revocation_endpoint": "{url}/revoke"}), 503, 3600, &["r1 refresh_token", "token-1 access_token"]),
        (json!({"revocation_endpoint": "{url}/revoke"}), 200, 0, &["r1 refresh_token"]),
        (json!({"revocation_endpoint": "http://127.0.0.1:9/revoke"}), 200, 3600, &[]),
        (json!({"revocation_endpoint": "{null}"}), 200, 3600, &[]),
        (json!({}), 200, 3600, &[]),
    ] {
        let world = World::with(|habits| {
            habits.token = json!({"refresh_token": "r1", "expires_in": 3600});
            (habits.metadata, habits.revocation) = (metadata.clone(), status);
        })
        .await;
        let store = MemoryStore::new();
        let client = world.settled(&oauth(store.clone())).await;
        let [tokens, ..] = keys(&world);
        if expires_in == 0 {
            // Another process has logged in since, some time ago.
            let kept = store.get(&tokens).await.unwrap().unwrap();
            let mut kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
            kept["expires_at"] = 1.into();
            store.set(&tokens, &kept.to_string()).await.unwrap();
            let other = OAuth::new(oauth(store.clone())).unwrap();
            other.logout(&world.url()).await.unwrap();
        } else {
            client.logout().await.unwrap();
        }
        for key in keys(&world) {
            assert_eq!(store.get(&key).await.unwrap(), None, "{key}");
        }
        let seen = world.seen("/revoke");
        let said: Vec<_> = seen.iter().map(|form| format!("{} {}", form["token"], form["token_type_hint"])).collect();
        assert_eq!(said, revoked, "{metadata}");
        assert!(seen.iter().all(|form| form["client_id"] == "registered-1"), "{seen:?}");
        // The connection stays open, and logs in again. A second logout has nothing to revoke.
        client.logout().await.unwrap();
        client.list_tools().await.unwrap();
        assert_eq!((world.seen("/authorize").len(), world.seen("/register").len()), (2, 2), "{metadata}");
        assert_eq!(world.seen("/mcp").last().unwrap()["authorization"], "Bearer token-2");
    }
}

#[tokio::test]
async fn logging_out_reaches_credentials_that_are_sent_with_other_headers() {
    let world = World::with(|habits| habits.metadata = json!({"revocation_endpoint": "{url}/revoke"})).await;
    let store = MemoryStore::new();
    let traced = RequestHeaders::from_fn(async |request| Ok([("x-target".to_owned(), request.url)]));
    let auth = traced.with_auth(OAuth::new(oauth(store.clone())).unwrap());
    let options = ClientOptions::default().with_revision(RevisionChoice::Legacy).with_auth(auth);
    let client = Client::connect_with(world.url(), options, ()).await.unwrap();
    client.list_tools().await.unwrap();
    client.logout().await.unwrap();
    for key in keys(&world) {
        assert_eq!(store.get(&key).await.unwrap(), None, "{key}");
    }
    assert_eq!(world.seen("/revoke").len(), 1);
}

#[tokio::test]
async fn logging_out_leaves_what_belongs_to_others() {
    let world = World::with(|habits| habits.metadata = json!({"revocation_endpoint": "{url}/revoke"})).await;
    let store = MemoryStore::new();
    let client = world.settled(&oauth(store.clone()).with_client_id("mine")).await;
    let two = OAuth::new(oauth(store.clone())).unwrap();
    let of_others = ["client ".to_owned() + &world.origin, format!("tokens {} {}", world.origin, world.url())];
    for key in &of_others {
        store.set(key, "another's").await.unwrap();
    }
    client.logout().await.unwrap();
    for key in &of_others {
        assert_eq!(store.get(key).await.unwrap().as_deref(), Some("another's"), "{key}");
    }
    assert_eq!(store.get(&format!("tokens {} {} mine", world.origin, world.url())).await.unwrap(), None);
    assert!(world.seen("/revoke").iter().all(|form| form["client_id"] == "mine"));
    // A server that was never logged in at.
    two.logout("https://elsewhere.example/mcp").await.unwrap();
    // Logout keeps a token that the program supplies itself.
    let options = ClientOptions::default().with_revision(RevisionChoice::Legacy).with_auth(AccessToken::new("fixed"));
    world.habits().valid.push(("fixed".into(), String::new()));
    let client = Client::connect_with(world.url(), options, ()).await.unwrap();
    client.logout().await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!(world.seen("/mcp").last().unwrap()["authorization"], "Bearer fixed");
}

#[tokio::test]
async fn a_group_logs_out_of_all_its_servers() {
    let (one, two, store) = (World::new().await, World::new().await, MemoryStore::new());
    let options = ClientOptions::default().with_auth(OAuth::new(oauth(store.clone())).unwrap());
    let options = options.with_revision(RevisionChoice::Legacy);
    let group = ClientGroup::connect_with([("one", one.url()), ("two", two.url())], options, ()).await.unwrap();
    group.list_tools().await.unwrap();
    group.logout().await.unwrap();
    for key in keys(&one).into_iter().chain(keys(&two)) {
        assert_eq!(store.get(&key).await.unwrap(), None, "{key}");
    }
}

/// Counts the changes of tool lists.
#[derive(Clone, Default)]
struct ListChanges(Arc<AtomicUsize>);

impl ClientEvents for ListChanges {
    fn notification(&self, method: &str, _: Option<&RawJson>) {
        self.0.fetch_add(usize::from(method == method::TOOLS_LIST_CHANGED), Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_login_at_one_server_of_a_group_does_not_hold_up_its_lists() {
    let (world, may_log_in) = (World::new().await, Arc::new(Semaphore::new(1)));
    let gate = Arc::clone(&may_log_in);
    let handler = RedirectHandler::new(CALLBACK, move |url| {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            agree(url).await
        }
    });
    let auth = OAuthOptions::default().with_store(MemoryStore::new()).with_handler(handler);
    let options = ClientOptions::default().with_auth(OAuth::new(auth).unwrap()).with_revision(RevisionChoice::Legacy);
    let near = Server::builder("near", "1.0.0").tool("own", "Own.", async || "own").build();
    let (servers, changes) =
        ([("far", Target::from(world.url().as_str())), ("near", Target::from(&near))], ListChanges::default());
    let options = options.with_timeout(Duration::from_secs(1));
    let group = ClientGroup::connect_with(servers, options, changes.clone()).await.unwrap();
    group.list_tools().await.unwrap();
    world.habits().valid.clear();
    let tools = group.list_tools().await.unwrap();
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["near__own"]);
    // The user has more time than the list, and the host learns when to list again.
    let before = changes.0.load(Ordering::SeqCst);
    may_log_in.add_permits(1);
    let learned = async {
        while changes.0.load(Ordering::SeqCst) == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), learned).await.unwrap();
    group.list_tools().await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 2);
}

#[tokio::test]
async fn tokens_are_renewed_at_the_endpoint_that_their_server_names_now() {
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r1"})).await;
    let store = MemoryStore::new();
    world.settled(&oauth(store.clone())).await;
    let (key, endpoint) = (format!("tokens {} {}", world.origin, world.url()), format!("{}/token", world.origin));
    // Nothing listens at the one that issued them.
    let tokens = store.get(&key).await.unwrap().unwrap().replace(&endpoint, "http://127.0.0.1:9/token");
    assert!(!tokens.contains(&endpoint));
    store.set(&key, &tokens).await.unwrap();
    world.habits().valid.clear();
    world.settled(&oauth(store.clone())).await;
    assert_eq!(world.seen("/authorize").len(), 1);
    assert!(store.get(&key).await.unwrap().unwrap().contains(&endpoint));
}

/// AUC-18: the authorization server has forgotten a client that registered itself.
#[tokio::test]
async fn auc_18_a_forgotten_client_registers_and_logs_in_again() {
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r1"})).await;
    let (store, forgotten) = (MemoryStore::new(), || vec![(401, json!({"error": "invalid_client"}))]);
    let client = world.settled(&oauth(store.clone())).await;
    world.habits().valid.clear();
    world.habits().refusals = forgotten();
    client.list_tools().await.unwrap();
    // The next program finds the new registration and the new tokens.
    world.connect(&oauth(store)).await.unwrap();
    let clients: Vec<_> = world.seen("/authorize").iter().map(|query| query["client_id"].clone()).collect();
    assert_eq!(clients, ["registered-1", "registered-2"]);
    // Credentials that the program has given are wrong: only the user can correct them.
    let given = world.settled(&oauth(MemoryStore::new()).with_client_id("given")).await;
    world.habits().valid.clear();
    world.habits().refusals = forgotten();
    let error = given.list_tools().await.unwrap_err().to_string();
    assert!(error.contains("invalid_client"), "{error}");
    assert_eq!(world.seen("/authorize").len(), 3);
}

/// RFC 7591 section 3.2.1.
#[tokio::test]
async fn auc_18_a_client_whose_secret_has_expired_registers_again() {
    let world = World::with(|habits| {
        habits.token = json!({"refresh_token": "r1"});
        habits.metadata = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
        habits.registered = json!({"client_secret": "s", "client_secret_expires_at": 1});
    })
    .await;
    let client = world.settled(&oauth(MemoryStore::new())).await;
    world.habits().valid.clear();
    client.list_tools().await.unwrap();
    assert_eq!(world.seen("/register").len(), 2);
    assert!(world.seen("/token").iter().all(|form| form["grant_type"] == "authorization_code"));
}

/// AUC-26: tokens are for one resource.
#[tokio::test]
async fn auc_26_tokens_for_an_earlier_resource_are_replaced_by_a_login() {
    let world = World::with(|habits| {
        habits.token = json!({"refresh_token": "r1"});
        habits.resource = json!({"resource": "{url}"});
    })
    .await;
    let store = MemoryStore::new();
    world.connect(&oauth(store.clone())).await.unwrap();
    world.habits().valid.clear();
    world.habits().resource = json!({});
    world.connect(&oauth(store.clone())).await.unwrap();
    world.connect(&oauth(store)).await.unwrap();
    let resources: Vec<_> = world.seen("/authorize").iter().map(|query| query["resource"].clone()).collect();
    assert_eq!(resources, [world.origin.clone(), world.url()]);
    assert!(world.seen("/token").iter().all(|form| form["grant_type"] == "authorization_code"));
}

#[tokio::test]
async fn a_renewed_token_that_is_also_refused_leads_to_one_login() {
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r1"})).await;
    let client = world.settled(&oauth(MemoryStore::new())).await;
    world.habits().valid.clear();
    world.habits().renewals_count = false;
    client.list_tools().await.unwrap();
    let grants: Vec<_> = world.seen("/token").iter().map(|form| form["grant_type"].clone()).collect();
    assert_eq!(grants, ["authorization_code", "refresh_token", "authorization_code"]);
    assert_eq!(world.seen("/authorize").len(), 2);
}

/// As GitHub does.
#[tokio::test]
async fn errors_with_the_status_200_are_errors() {
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r1"})).await;
    let client = world.settled(&oauth(MemoryStore::new())).await;
    world.habits().valid.clear();
    world.habits().refusals = vec![(200, json!({"error": "bad_refresh_token"}))];
    client.list_tools().await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 2);
    let refusal = json!({"error": "incorrect_client_credentials", "error_description": "the secret is wrong"});
    let (_, error) = World::refused(|habits| habits.refusals = vec![(200, refusal)]).await;
    assert!(error.contains("refused to issue a token (incorrect_client_credentials: the secret is wrong)"), "{error}");
}

#[tokio::test]
async fn a_call_that_is_cancelled_does_not_lose_the_renewed_tokens() {
    let world = World::with(|habits| habits.rotates = true).await;
    let client = world.settled(&oauth(MemoryStore::new())).await;
    world.habits().valid.clear();
    world.habits().token_delay = Duration::from_millis(300);
    let renews = async {
        while world.seen("/token").len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        biased;
        answer = client.list_tools() => panic!("not cancelled: {answer:?}"),
        () = renews => {}
    }
    world.habits().token_delay = Duration::ZERO;
    client.list_tools().await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 1);
    assert_eq!(world.seen("/token").len(), 2);
}

#[tokio::test]
async fn many_refused_requests_lead_to_one_login() {
    let world = World::new().await;
    let client = world.connect(&oauth(MemoryStore::new())).await.unwrap();
    world.habits().valid.clear();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.list_tools().await.unwrap() })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(world.seen("/authorize").len(), 2);
}

/// A token that another process has renewed is taken over.
#[tokio::test]
async fn processes_that_share_a_store_renew_a_token_once() {
    let folder = std::env::temp_dir().join(format!("trunkline-tokens-{}", std::process::id()));
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r1"})).await;
    let (one, other) = (oauth(FileStore::new(&folder)), oauth(FileStore::new(&folder)));
    let one = world.connect(&one).await.unwrap();
    let other = world.connect(&other).await.unwrap();
    world.habits().valid.clear();
    let (first, second) = tokio::join!(one.list_tools(), other.list_tools());
    first.unwrap();
    second.unwrap();
    let renewals = world.seen("/token").into_iter().filter(|form| form["grant_type"] == "refresh_token").count();
    assert_eq!(renewals, 1);
    assert_eq!(world.seen("/authorize").len(), 1);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn clients_that_share_a_store_without_locks_use_a_refresh_token_once() {
    let (world, store) = (World::with(|habits| habits.rotates = true).await, MemoryStore::new());
    let one = world.settled(&oauth(store.clone())).await;
    let other = world.settled(&oauth(store)).await;
    world.habits().valid.clear();
    world.habits().token_delay = Duration::from_millis(300);
    let (first, second) = tokio::join!(one.list_tools(), other.list_tools());
    first.unwrap();
    second.unwrap();
    assert_eq!(world.seen("/token").len(), 2, "one login and one renewal");
}

/// The newest refresh token is used, although the tokens that belong to it end soon as well.
#[tokio::test]
async fn processes_that_share_a_store_use_a_refresh_token_once() {
    let (world, store) = (World::with(|habits| habits.rotates = true).await, MemoryStore::new());
    let one = world.settled(&oauth(store.clone())).await;
    let other = world.settled(&oauth(store.clone())).await;
    world.habits().token = json!({"expires_in": 10});
    world.habits().valid.clear();
    for client in [&one, &other, &one, &one, &other] {
        client.list_tools().await.unwrap();
    }
    assert_eq!(world.seen("/authorize").len(), 1);
    let used: Vec<_> = world.seen("/token").iter().filter_map(|form| form.get("refresh_token").cloned()).collect();
    assert!(used.len() > 4, "{used:?}");
    assert_eq!(used.iter().collect::<HashSet<_>>().len(), used.len(), "{used:?}");
}

/// A store that stops working.
#[derive(Clone, Default)]
struct BrokenStore {
    kept: MemoryStore,
    refuses_writes: Arc<AtomicBool>,
    panics: Arc<AtomicBool>,
}

impl TokenStore for BrokenStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        self.kept.get(key)
    }

    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>> {
        if self.refuses_writes.load(Ordering::SeqCst) {
            return Box::pin(ready(Err(AuthError("the disk is full".to_owned()))));
        }
        self.kept.set(key, value)
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>> {
        self.kept.remove(key)
    }

    fn lock(&self, _: &str) -> BoxedTask<Result<StoreLock, AuthError>> {
        assert!(!self.panics.load(Ordering::SeqCst), "on purpose");
        Box::pin(ready(Ok(StoreLock::default())))
    }
}

/// OAuth 2.1 section 4.3.1: the refresh token in the store is void, and using it revokes the new
/// one.
#[tokio::test]
async fn renewed_tokens_are_used_although_they_cannot_be_stored() {
    let (world, store) = (World::with(|habits| habits.rotates = true).await, BrokenStore::default());
    let client = world.settled(&oauth(store.clone())).await;
    store.refuses_writes.store(true, Ordering::SeqCst);
    for ends in [3600, 10, 10, 3600] {
        world.habits().token = json!({"expires_in": ends});
        world.habits().valid.clear();
        client.list_tools().await.unwrap();
    }
    store.refuses_writes.store(false, Ordering::SeqCst);
    world.habits().valid.clear();
    client.list_tools().await.unwrap();
    world.settled(&oauth(store)).await;
    assert_eq!(world.seen("/authorize").len(), 1);
    let used: Vec<_> = world.seen("/token").iter().filter_map(|form| form.get("refresh_token").cloned()).collect();
    assert!(used.len() > 4, "{used:?}");
    assert_eq!(used.iter().collect::<HashSet<_>>().len(), used.len(), "{used:?}");
}

#[tokio::test]
async fn a_login_whose_tokens_cannot_be_stored_need_not_be_repeated() {
    let (world, store) = (World::new().await, BrokenStore::default());
    store.refuses_writes.store(true, Ordering::SeqCst);
    let auth = OAuth::new(oauth(store)).unwrap();
    let connect = || {
        let options = ClientOptions::default().with_revision(RevisionChoice::Legacy).with_auth(auth.clone());
        Client::connect_with(world.url(), options, ())
    };
    let error = connect().await.err().unwrap().to_string();
    assert!(error.contains("the disk is full"), "{error}");
    connect().await.unwrap();
    assert_eq!((world.seen("/register").len(), world.seen("/authorize").len()), (1, 1));
}

#[tokio::test]
async fn requests_that_wait_for_a_renewal_share_its_failure() {
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r1", "expires_in": 0})).await;
    let client = world.settled(&oauth(MemoryStore::new())).await;
    {
        let mut habits = world.habits();
        habits.refusals = vec![(503, json!({})); 100];
        habits.token_delay = Duration::from_millis(300);
        habits.seen.clear();
    }
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.list_tools().await.unwrap_err() })
        })
        .collect();
    for call in calls {
        assert!(call.await.unwrap().to_string().contains("HTTP 503"));
    }
    assert!(world.seen("/token").len() < 3, "{}", world.seen("/token").len());
}

#[tokio::test]
async fn requests_during_a_login_share_its_failure() {
    // Without a login so far.
    let world = World::with(|habits| habits.valid.push((String::new(), String::new()))).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let refuses = RedirectHandler::new(CALLBACK, move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            Err(AuthError("no".into()))
        }
    });
    let client = world.settled(&OAuthOptions::default().with_handler(refuses)).await;
    world.habits().valid.clear();
    let during = async {
        while asked.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        client.list_tools().await
    };
    let (first, second) = tokio::join!(client.list_tools(), during);
    for outcome in [first, second] {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::AuthorizationRequired);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// DISC-22.
#[tokio::test]
async fn a_user_who_refuses_is_not_asked_again_because_the_era_is_known() {
    let world = World::new().await;
    let connect = async |auth: OAuthOptions| {
        let options = ClientOptions::default().with_auth(OAuth::new(auth).unwrap());
        Client::connect_with(world.url(), options, ()).await
    };
    connect(oauth(MemoryStore::new())).await.unwrap().close().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let refuses = RedirectHandler::new(CALLBACK, move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        ready(Err(AuthError("no".into())))
    });
    let error = connect(OAuthOptions::default().with_handler(refuses)).await.err().unwrap();
    assert_eq!((error.kind(), asked.load(Ordering::SeqCst)), (ErrorKind::AuthorizationRequired, 1), "{error}");
}

#[tokio::test]
async fn a_store_that_panics_fails_the_request_that_needs_it() {
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r1"})).await;
    let store = BrokenStore::default();
    let client = world.settled(&oauth(store.clone())).await;
    store.panics.store(true, Ordering::SeqCst);
    world.habits().valid.clear();
    let failing = tokio::time::timeout(Duration::from_secs(20), client.list_tools());
    let error = failing.await.expect("the request waits").unwrap_err().to_string();
    assert!(error.contains("The token store panicked"), "{error}");
    store.panics.store(false, Ordering::SeqCst);
    client.list_tools().await.unwrap();
}

#[tokio::test]
async fn code_that_supplies_a_token_and_panics_fails_the_request() {
    let world = World::new().await;
    let auth = AccessToken::from_fn(|_| -> Ready<Result<String, AuthError>> { panic!("on purpose") });
    let connecting = Client::connect_with(world.url(), ClientOptions::default().with_auth(auth), ());
    let connected = tokio::time::timeout(Duration::from_secs(5), connecting).await.expect("the request waits");
    let error = connected.err().unwrap().to_string();
    assert!(error.contains("the code that supplies them panicked"), "{error}");
}

#[tokio::test]
async fn tokens_of_a_login_during_a_failing_renewal_stay() {
    let world = World::with(|habits| habits.rotates = true).await;
    let (store, elsewhere) = (MemoryStore::new(), MemoryStore::new());
    let client = world.settled(&oauth(store.clone())).await;
    world.settled(&oauth(elsewhere.clone())).await;
    {
        let mut habits = world.habits();
        habits.valid.retain(|(token, _)| token == "token-2");
        habits.refresh_tokens.clear();
        habits.token_delay = Duration::from_millis(300);
    }
    let logs_in = async {
        while world.seen("/token").len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let key = format!("tokens {} {}", world.origin, world.url());
        store.set(&key, &elsewhere.get(&key).await.unwrap().unwrap()).await.unwrap();
    };
    let (answer, ()) = tokio::join!(client.list_tools(), logs_in);
    answer.unwrap();
    world.connect(&oauth(store.clone())).await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 2);
}

#[tokio::test]
async fn tokens_of_a_login_during_a_renewal_stay() {
    let world = World::with(|habits| habits.rotates = true).await;
    let (store, elsewhere) = (MemoryStore::new(), MemoryStore::new());
    let client = world.settled(&oauth(store.clone())).await;
    world.settled(&oauth(elsewhere.clone())).await;
    {
        let mut habits = world.habits();
        habits.valid.retain(|(token, _)| token == "token-2");
        habits.token_delay = Duration::from_millis(300);
    }
    let [key, ..] = keys(&world);
    let of_login = elsewhere.get(&key).await.unwrap().unwrap();
    // As in a process that takes no lock.
    let logs_in = async {
        while world.seen("/token").len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        store.set(&key, &of_login).await.unwrap();
    };
    let (answer, ()) = tokio::join!(client.list_tools(), logs_in);
    answer.unwrap();
    assert_eq!(store.get(&key).await.unwrap(), Some(of_login));
    assert_eq!(world.seen("/mcp").last().unwrap()["authorization"], "Bearer token-2");
}

#[tokio::test]
async fn tokens_of_a_login_wait_for_a_renewal_that_would_overwrite_them() {
    let (world, store) = (World::new().await, MemoryStore::new());
    let [key, ..] = keys(&world);
    let renewal = store.lock(&key).await.unwrap();
    let auth = oauth(store.clone());
    let mut login = pin!(world.settled(&auth));
    assert!(tokio::time::timeout(Duration::from_millis(500), &mut login).await.is_err());
    assert_eq!(store.get(&key).await.unwrap(), None);
    drop(renewal);
    login.await;
    assert!(store.get(&key).await.unwrap().is_some());
}

#[tokio::test]
async fn a_server_that_refuses_the_new_token_does_not_ask_the_user_forever() {
    let (world, error) = World::refused(|habits| habits.token = json!({"access_token": "other"})).await;
    assert!(error.contains("just issued"), "{error}");
    assert_eq!(world.seen("/authorize").len(), 1);
}

#[tokio::test]
async fn tokens_that_no_header_carries_and_other_types_are_refused() {
    for (token, why) in [
        (json!({"access_token": "a\r\nX: y"}), "cannot be sent in a header"),
        (json!({"access_token": ""}), "cannot be sent in a header"),
        (json!({"token_type": "mac"}), "instead of Bearer"),
        (json!({"access_token": null}), "an invalid token response"),
    ] {
        let (_, error) = World::refused(|habits| habits.token = token).await;
        assert!(error.contains(why), "{error}");
    }
}

/// AUC-32: in the header, as every token.
#[tokio::test]
async fn auc_31_and_auc_32_tokens_of_the_program_are_sent() {
    let world = World::with(|habits| habits.valid = vec![("mine-2".into(), String::new())]).await;
    let count = std::sync::atomic::AtomicUsize::new(1);
    let asked = AccessToken::from_fn(move |request| {
        if request.refused {
            count.store(2, std::sync::atomic::Ordering::SeqCst);
        }
        let token = format!("mine-{}", count.load(std::sync::atomic::Ordering::SeqCst));
        async move { if request.url.ends_with("/mcp") { Ok(token) } else { Err(AuthError(request.url)) } }
    });
    let client = Client::connect_with(world.url(), ClientOptions::default().with_auth(asked), ()).await.unwrap();
    client.list_tools().await.unwrap();
    let fixed = ClientOptions::default().with_auth(AccessToken::new("mine-2"));
    Client::connect_with(world.url(), fixed, ()).await.unwrap();
    let wrong = ClientOptions::default().with_auth(AccessToken::new("wrong"));
    assert!(Client::connect_with(world.url(), wrong, ()).await.is_err());
    assert!(world.paths().iter().all(|path| path == "/mcp"));
}

#[tokio::test]
async fn what_a_store_holds_of_others_or_in_pieces_is_not_used() {
    let (world, store) = (World::new().await, MemoryStore::new());
    store.set(&format!("server {}", world.url()), "{").await.unwrap();
    world.connect(&oauth(store.clone())).await.unwrap();
    world.connect(&oauth(store).with_client_id("another")).await.unwrap();
    let clients: Vec<_> = world.seen("/authorize").iter().map(|query| query["client_id"].clone()).collect();
    assert_eq!(clients, ["registered-1", "another"]);
}

#[tokio::test]
async fn a_login_in_another_process_is_noticed() {
    let (world, store) = (World::new().await, MemoryStore::new());
    // Without a login so far, both have read an empty store.
    world.habits().valid.push((String::new(), String::new()));
    let one = world.settled(&oauth(store.clone())).await;
    let other = world.settled(&oauth(store)).await;
    assert_eq!(world.seen("/authorize").len(), 0);
    for logins in 1..=3 {
        world.habits().valid.clear();
        one.list_tools().await.unwrap();
        other.list_tools().await.unwrap();
        assert_eq!(world.seen("/authorize").len(), logins);
    }
    world.habits().call_scope = "write";
    one.call_tool("a", json!({})).await.unwrap();
    other.call_tool("a", json!({})).await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 4);
}

#[tokio::test]
async fn programs_with_their_own_clients_share_a_store() {
    let (world, store) = (World::new().await, MemoryStore::new());
    let given = |client: &str| oauth(store.clone()).with_client_id(client);
    for client in ["a", "b", "a", "b"] {
        world.connect(&given(client)).await.unwrap();
    }
    world.connect(&oauth(store.clone())).await.unwrap();
    let clients: Vec<_> = world.seen("/authorize").iter().map(|query| query["client_id"].clone()).collect();
    assert_eq!(clients, ["a", "b", "registered-1"]);
}

#[tokio::test]
async fn a_request_to_an_authorization_server_has_the_time_of_the_option() {
    let world = World::with(|habits| habits.token_delay = Duration::from_secs(3600)).await;
    let auth = oauth(MemoryStore::new()).with_request_timeout(Duration::from_millis(500));
    let error = world.connect(&auth).await.err().unwrap().to_string();
    assert!(error.contains(&format!("Could not fetch {}/", world.origin)), "{error}");
    assert!(error.ends_with(": timed out after 500ms"), "{error}");
    assert_eq!(OAuthOptions::default().request_timeout, Duration::from_secs(30));
}

/// SEC-14: the connection decides where the server is; its name may lead elsewhere by now.
#[tokio::test]
async fn sec_14_the_address_that_answered_decides_what_may_be_asked() {
    #[derive(Clone, Default)]
    struct Recording(Arc<Mutex<Vec<Option<IpAddr>>>>);

    impl AuthNetwork for Recording {
        fn fetch(&self, _: Request<Bytes>, access: NetworkAccess) -> BoxedTask<Result<Response<Bytes>, FetchError>> {
            Box::pin(std::future::ready(Err(FetchError(format!("{access:?}")))))
        }

        fn access_of(&self, url: &str, peer: Option<IpAddr>) -> NetworkAccess {
            self.0.lock().unwrap().push(peer);
            HttpNetwork::default().access_of(url, peer)
        }
    }

    let world = World::new().await;
    let network = Recording::default();
    let attempt = async |endpoint: HttpEndpoint| {
        let auth = OAuth::with_network(oauth(MemoryStore::new()), network.clone()).unwrap();
        let options = ClientOptions::default().with_auth(auth);
        Client::connect_with(endpoint, options, ()).await.err().unwrap().to_string()
    };
    let here: IpAddr = "127.0.0.1".parse().unwrap();
    let error = attempt(HttpEndpoint::new(world.url())).await;
    assert!(error.ends_with("Anywhere"), "{error}");
    assert_eq!(network.0.lock().unwrap().pop(), Some(Some(here)));
    // The address of a proxy says nothing about the server.
    let behind = HttpEndpoint::new("http://mcp.example/mcp").with_proxy(world.origin.clone());
    let error = attempt(behind).await;
    assert_eq!(network.0.lock().unwrap().pop(), Some(None));
    assert!(error.contains("its address behind the proxy is unknown"), "{error}");
}
