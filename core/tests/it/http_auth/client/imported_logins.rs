//! Logins that another program has kept, and resources that the program names.

use super::world::*;
use serde_json::{Map, Value, json};
use trunkline::{
    ClientOptions, RevisionChoice,
    auth::{MemoryStore, OAuth, OAuthOptions},
    client::{ClientGroup, ErrorKind, ServersConfig},
};

fn imported(store: &MemoryStore, login: &Value) -> OAuthOptions {
    oauth(store.clone()).with_imported_login(login.as_object().unwrap().clone())
}

/// A world in which another program has a token that counts.
async fn world() -> World {
    World::with(|habits| {
        habits.valid.push(("theirs".into(), String::new()));
        habits.rotates = true;
        habits.refresh_tokens.push("their-refresh".into());
    })
    .await
}

fn login() -> Value {
    json!({
        "client_id": "their-client",
        "redirect_uris": ["http://localhost:3334/oauth/callback"],
        "access_token": "theirs",
        "token_type": "Bearer",
        "refresh_token": "their-refresh",
        "expires_in": 3600,
    })
}

#[tokio::test]
async fn a_login_of_another_program_is_taken_over_without_a_user() {
    let (world, store) = (world().await, MemoryStore::new());
    world.settled(&imported(&store, &login())).await.close().await;
    assert!(world.seen("/authorize").is_empty() && world.seen("/register").is_empty());
    assert_eq!(world.seen("/mcp").last().unwrap()["authorization"], "Bearer theirs");
    // From now on, it is in the store.
    world.settled(&oauth(store)).await.close().await;
    assert!(world.seen("/authorize").is_empty());
}

#[tokio::test]
async fn an_expired_login_of_another_program_is_renewed_by_its_client() {
    let (world, store) = (world().await, MemoryStore::new());
    let mut login = login();
    login["expires_at"] = json!(1_000_000_000);
    login["issuer"] = world.origin.clone().into();
    world.settled(&imported(&store, &login)).await.close().await;
    let asked = &world.seen("/token")[0];
    assert_eq!((&*asked["refresh_token"], &*asked["client_id"]), ("their-refresh", "their-client"));
    assert!(world.seen("/authorize").is_empty());
}

#[tokio::test]
async fn a_login_of_another_program_is_used_once() {
    let (world, store) = (world().await, MemoryStore::new());
    let client = world.settled(&imported(&store, &login())).await;
    client.logout().await.unwrap();
    client.close().await;
    world.settled(&imported(&store, &login())).await.close().await;
    assert_eq!(world.seen("/authorize").len(), 1);
}

#[tokio::test]
async fn a_login_that_does_not_fit_is_left() {
    let world = world().await;
    let with = |name: &str, value: Value| {
        let mut login = login();
        login[name] = value;
        login
    };
    for login in [
        with("issuer", json!("https://other.example")),
        with("access_token", json!(null)),
        with("client_id", json!(1)),
        Value::Object(Map::new()),
    ] {
        let before = world.seen("/authorize").len();
        world.settled(&imported(&MemoryStore::new(), &login)).await.close().await;
        assert_eq!(world.seen("/authorize").len(), before + 1, "{login}");
    }
}

#[tokio::test]
async fn a_login_of_another_program_is_for_one_server_of_a_group() {
    let (theirs, other) = (world().await, World::new().await);
    let options = |auth| {
        let auth = OAuth::new(auth).unwrap();
        ClientOptions::default().with_revision(RevisionChoice::Legacy).with_auth(auth)
    };
    let for_all = options(imported(&MemoryStore::new(), &login()));
    let group = ClientGroup::connect_with([("a", theirs.url()), ("b", other.url())], for_all, ()).await;
    let error = group.err().expect("every server could get the login");
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("auth.importedLogin"), "{error}");
    assert!(theirs.paths().is_empty() && other.paths().is_empty());
    let servers = json!({"mcpServers": {
        "a": {"url": theirs.url(), "auth": {"importedLogin": login()}},
        "b": {"url": other.url()},
    }});
    let servers = ServersConfig::from_value(&servers).unwrap();
    let group = ClientGroup::connect_with(servers, options(oauth(MemoryStore::new())), ()).await.unwrap();
    group.list_tools().await.unwrap();
    assert_eq!((theirs.seen("/authorize").len(), other.seen("/authorize").len()), (0, 1));
    assert_eq!(theirs.seen("/mcp").last().unwrap()["authorization"], "Bearer theirs");
    assert!(other.seen("/mcp").iter().all(|request| request["authorization"] != "Bearer theirs"));
}

#[tokio::test]
async fn the_resource_is_that_of_the_program_and_keeps_its_own_credentials() {
    let (world, store) = (World::new().await, MemoryStore::new());
    for (round, resource) in [(1, "https://one.example"), (2, "urn:two"), (2, "https://one.example"), (2, "urn:two")] {
        world.settled(&oauth(store.clone()).with_resource(resource)).await.close().await;
        assert_eq!(world.seen("/authorize").len(), round, "{resource}");
    }
    for path in ["/authorize", "/token"] {
        let resources: Vec<_> = world.seen(path).into_iter().map(|asked| asked["resource"].clone()).collect();
        assert_eq!(resources, ["https://one.example", "urn:two"], "{path}");
    }
}
