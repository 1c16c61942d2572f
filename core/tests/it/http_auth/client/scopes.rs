//! Scopes, and the redirect that brings them.

use super::world::{CALLBACK, World, agree, oauth};
use serde_json::json;
use trunkline::auth::{MemoryStore, OAuthOptions, RedirectHandler};

#[tokio::test]
async fn auc_40_to_42_and_auc_47_and_auc_48_scopes_are_selected() {
    for (challenge, supported, listed, scope) in [
        (r#"scope="a b""#, json!(["c"]), json!(["x"]), Some("a b")),
        ("", json!(["c", "d"]), json!(["offline_access"]), Some("c d offline_access")),
        ("", json!(["c"]), json!(["x"]), Some("c")),
        ("", json!(null), json!(null), None),
    ] {
        let world = World::with(|habits| {
            habits.challenge = challenge.into();
            habits.resource = json!({"scopes_supported": supported});
            habits.metadata = json!({"scopes_supported": listed});
        })
        .await;
        world.connect(&oauth(MemoryStore::new())).await.unwrap();
        assert_eq!(world.seen("/authorize")[0].get("scope").map(String::as_str), scope);
    }
}

#[tokio::test]
async fn auc_43_and_auc_44_a_step_up_asks_for_the_union() {
    let world = World::with(|habits| {
        habits.challenge = r#"scope="read""#.into();
        habits.call_scope = "write";
    })
    .await;
    let client = world.connect(&oauth(MemoryStore::new())).await.unwrap();
    client.call_tool("a", json!({})).await.unwrap();
    client.call_tool("a", json!({})).await.unwrap();
    let scopes: Vec<_> = world.seen("/authorize").iter().map(|query| query["scope"].clone()).collect();
    assert_eq!(scopes, ["read", "read write"]);
    // Not every authorization server lets a client ask for more than it registered for.
    let registered: Vec<_> = world.seen("/register").iter().map(|members| members["scope"].clone()).collect();
    assert_eq!(registered, [r#""read""#, r#""read write""#]);
}

#[tokio::test]
async fn auc_43_and_auc_45_steps_up_end() {
    let world = World::with(|habits| habits.call_scope = "never granted").await;
    let client = world.connect(&oauth(MemoryStore::new())).await.unwrap();
    // The user is asked once, not for each call.
    for _ in 0..3 {
        let error = client.call_tool("a", json!({})).await.unwrap_err().to_string();
        assert!(error.contains("just requested"), "{error}");
        assert_eq!(world.seen("/authorize").len(), 2);
    }
    // A server that needs another scope each time.
    world.habits().call_scope = "{round}";
    let error = client.call_tool("a", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("3 times"), "{error}");
    assert_eq!(world.seen("/authorize").len(), 5);
    // The connection continues.
    client.list_tools().await.unwrap();
}

#[tokio::test]
async fn auc_36_to_39_the_issuer_of_the_redirect_is_compared() {
    for (advertised, iss, fits) in [
        (true, Some("{url}"), true),
        (false, None, true),
        (false, Some("{url}"), true),
        (true, None, false),
        (true, Some("{url}/"), false),
        (false, Some("https://evil.example"), false),
    ] {
        let world = World::with(|habits| {
            habits.metadata = json!({"authorization_response_iss_parameter_supported": advertised});
            habits.redirect = json!({"iss": iss});
        })
        .await;
        let outcome = world.connect(&oauth(MemoryStore::new())).await;
        assert_eq!(outcome.is_ok(), fits, "{advertised} {iss:?} {:?}", outcome.err());
        assert_eq!(world.seen("/token").len(), usize::from(fits));
    }
}

#[tokio::test]
async fn auc_34_and_sec_17_foreign_and_failed_redirects_are_not_used() {
    for (redirect, why) in [
        (json!({"state": "other"}), "state"),
        (json!({"state": null}), "state"),
        (json!({"code": null, "error": "access_denied"}), "access_denied"),
        (json!({"code": null}), "no code"),
    ] {
        let (world, error) = World::refused(|habits| habits.redirect = redirect).await;
        assert!(error.contains(why), "{error}");
        assert!(world.seen("/token").is_empty());
    }
}

/// AUC-47
#[tokio::test]
async fn auc_47_offline_access_is_asked_for_where_credentials_are_kept() {
    let scope = async |auth: OAuthOptions| {
        let world = World::with(|habits| {
            habits.resource = json!({"scopes_supported": ["read"]});
            habits.metadata = json!({"scopes_supported": ["offline_access"]});
        })
        .await;
        world.connect(&auth).await.unwrap();
        let asked = world.seen("/authorize").remove(0);
        assert_eq!(asked.contains_key("prompt"), asked["scope"].contains("offline_access"));
        asked["scope"].clone()
    };
    let in_memory = || OAuthOptions::default().with_handler(RedirectHandler::new(CALLBACK, agree));
    assert_eq!(scope(in_memory()).await, "read");
    assert_eq!(scope(in_memory().with_offline_access(true)).await, "read offline_access");
    assert_eq!(scope(oauth(MemoryStore::new())).await, "read offline_access");
    assert_eq!(scope(oauth(MemoryStore::new()).with_offline_access(false)).await, "read");
}

#[tokio::test]
async fn a_user_without_offline_access_logs_in_without_it() {
    // Keycloak refuses it at the token endpoint, others in the redirect.
    let refused =
        json!({"error": "not_allowed", "error_description": "Offline tokens not allowed for the user or client"});
    for (refusals, redirect) in [(vec![(400, refused)], json!({})), (vec![], json!({"error": "invalid_scope"}))] {
        let world = World::with(|habits| {
            habits.resource = json!({"scopes_supported": ["read"]});
            habits.metadata = json!({"scopes_supported": ["offline_access"]});
            habits.refusals = refusals;
            habits.redirect_of_offline = redirect;
            habits.call_scope = "write";
        })
        .await;
        let client = world.connect(&oauth(MemoryStore::new())).await.unwrap();
        client.call_tool("a", json!({})).await.unwrap();
        let scopes: Vec<_> = world.seen("/authorize").iter().map(|query| query["scope"].clone()).collect();
        assert_eq!(scopes, ["read offline_access", "read", "read write"]);
    }
    // Any other refusal is one.
    let (world, error) = World::refused(|habits| {
        habits.metadata = json!({"scopes_supported": ["offline_access"]});
        habits.refusals = vec![(400, json!({"error": "invalid_request", "error_description": "no"}))];
    })
    .await;
    assert!(error.contains("invalid_request"), "{error}");
    assert_eq!(world.seen("/authorize").len(), 1);
}
