//! Scopes, and the redirect that brings them.

use super::world::{World, oauth};
use serde_json::json;
use trunkline::auth::MemoryStore;

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
}

#[tokio::test]
async fn auc_43_and_auc_45_steps_up_end() {
    let world = World::with(|habits| habits.call_scope = "never granted").await;
    let client = world.connect(&oauth(MemoryStore::new())).await.unwrap();
    let error = client.call_tool("a", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("just now"), "{error}");
    assert_eq!(world.seen("/authorize").len(), 2);
    // A server that needs another scope each time.
    world.habits().call_scope = "{round}";
    let error = client.call_tool("a", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("3 times"), "{error}");
    assert_eq!(world.seen("/authorize").len(), 5);
    // The connection goes on.
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
