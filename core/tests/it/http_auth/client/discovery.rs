//! From the server to its authorization server, and the client's identity there.

use super::world::{CALLBACK, World, oauth};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use trunkline::auth::{AuthError, FileStore, MemoryStore, OAuth, OAuthOptions, RedirectHandler, UrlOpener};

async fn connects(change: impl FnOnce(&mut super::world::Habits)) -> World {
    let world = World::with(change).await;
    world.connect(&oauth(MemoryStore::new())).await.unwrap();
    world
}

/// AUC-01, AUC-02, AUC-03, AUC-26, AUC-28, AUC-29, AUC-31, AUC-34, AUC-35: the whole flow, with all
/// of its parameters.
#[tokio::test]
async fn auc_01_to_03_and_auc_26_to_35_a_client_is_authorized() {
    let world = connects(|_| {}).await;
    let resource = world.url();
    let asked = &world.seen("/authorize")[0];
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "registered-1"),
        ("redirect_uri", CALLBACK),
        ("code_challenge_method", "S256"),
        ("resource", resource.as_str()),
    ] {
        assert_eq!(asked[name], value);
    }
    assert!(asked["state"].len() >= 32 && !asked.contains_key("scope"));
    let token = &world.seen("/token")[0];
    for (name, value) in [
        ("grant_type", "authorization_code"),
        ("code", "the-code"),
        ("client_id", "registered-1"),
        ("redirect_uri", CALLBACK),
        ("resource", resource.as_str()),
    ] {
        assert_eq!(token[name], value);
    }
    let challenge = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, token["code_verifier"].as_bytes());
    assert_eq!(asked["code_challenge"], super::super::server::encode(challenge));
    let requests = world.seen("/mcp");
    assert_eq!(requests[0]["authorization"], "");
    assert!(requests[1..].iter().all(|request| request["authorization"] == "Bearer token-1"), "{requests:?}");
}

/// Programs of Windows write it.
#[tokio::test]
async fn a_byte_order_mark_before_each_document_is_ignored() {
    let world = connects(|habits| habits.is_marked = true).await;
    assert_eq!(world.seen("/token").len(), 1);
}

/// AUC-13: documents are asked for with the revision.
#[tokio::test]
async fn auc_06_to_08_and_auc_13_metadata_is_found_at_each_well_known_url() {
    for (resource, metadata, issuer) in [
        ("/.well-known/oauth-protected-resource/mcp", "/.well-known/openid-configuration", "{url}"),
        ("/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server/tenant", "{url}/tenant"),
        ("/.well-known/oauth-protected-resource", "/.well-known/openid-configuration/tenant", "{url}/tenant"),
        ("/.well-known/oauth-protected-resource", "/tenant/.well-known/openid-configuration", "{url}/tenant"),
    ] {
        let world = World::with(|habits| {
            habits.resource_path = resource;
            habits.metadata_path = metadata;
            habits.metadata = json!({"issuer": issuer});
        })
        .await;
        let issuer = issuer.replace("{url}", &world.origin);
        world.habits().resource = json!({"authorization_servers": [issuer]});
        world.connect(&oauth(MemoryStore::new())).await.unwrap();
        assert_eq!(world.seen(metadata)[0]["revision"], "2025-11-25");
    }
}

#[tokio::test]
async fn auc_03_the_metadata_url_of_the_challenge_is_tried_first() {
    let world = connects(|habits| {
        habits.challenge = r#"resource_metadata="{url}/elsewhere""#.into();
        habits.resource_path = "/elsewhere";
    })
    .await;
    assert!(!world.paths().iter().any(|path| path.contains("protected-resource")));
}

#[tokio::test]
async fn auc_05_and_auc_11_servers_of_2025_03_26_have_their_metadata_at_the_root() {
    let world = connects(|habits| {
        habits.resource_path = "";
        habits.metadata = json!({"token_endpoint": "{url}/token"});
    })
    .await;
    assert_eq!(world.seen("/authorize")[0]["resource"], world.url());
}

#[tokio::test]
async fn auc_12_without_any_metadata_the_endpoints_have_known_names() {
    let world = connects(|habits| (habits.resource_path, habits.metadata_path) = ("", "")).await;
    assert_eq!(world.seen("/register").len(), 1);
    assert_eq!(world.seen("/token").len(), 1);
}

#[tokio::test]
async fn auc_12_a_server_that_is_busy_is_not_taken_for_one_without_metadata() {
    let (world, error) = World::refused(|habits| habits.is_busy = true).await;
    assert!(error.contains("is not available (HTTP 503)"), "{error}");
    assert!(world.seen("/register").is_empty() && world.seen("/authorize").is_empty());
}

#[tokio::test]
async fn auc_01_and_auc_06_members_that_are_null_count_as_missing() {
    let world = World::with(|habits| {
        habits.metadata_path = "/.well-known/oauth-authorization-server/tenant";
        habits.metadata = json!({"issuer": "{url}/tenant", "scopes_supported": "{null}",
            "client_id_metadata_document_supported": "{null}",
            "authorization_response_iss_parameter_supported": "{null}"});
        habits.resource = json!({"scopes_supported": "{null}", "dpop_bound_access_tokens_required": "{null}"});
    })
    .await;
    world.habits().resource["authorization_servers"] = json!([format!("{}/tenant", world.origin)]);
    world.connect(&oauth(MemoryStore::new())).await.unwrap();
    // The documents are used, rather than guesses without them.
    let documents: Vec<_> = world.paths().into_iter().filter(|path| path.contains("well-known")).collect();
    assert_eq!(
        documents,
        ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server/tenant"]
    );
}

/// Connects where the resource or the authorization server has these changes in its metadata, and
/// expects that text in the error.
async fn refuses(cases: impl IntoIterator<Item = (Value, Value, &str)>) {
    for (resource, metadata, why) in cases {
        let (world, error) = World::refused(|habits| {
            habits.resource = resource.clone();
            habits.metadata = metadata.clone();
        })
        .await;
        assert!(error.contains(why), "{resource} {metadata}: {error}");
        assert!(world.seen("/token").is_empty());
        // One refusal, and no second attempt in another era.
        assert_eq!(world.seen("/mcp").len(), 1);
    }
}

#[tokio::test]
async fn auc_09_and_auc_10_and_auc_30_and_auc_33_foreign_metadata_is_not_used() {
    refuses([
        (json!({"resource": "https://evil.example/mcp"}), json!({}), "another resource"),
        (json!({"resource": null}), json!({}), "another resource"),
        (json!({"authorization_servers": []}), json!({}), "lists no authorization server"),
        (json!({}), json!({"issuer": "https://evil.example"}), "is for"),
        (json!({}), json!({"issuer": "{url}//"}), "is for"),
        (json!({}), json!({"issuer": "{url}/x"}), "is for"),
        (json!({}), json!({"code_challenge_methods_supported": null}), "PKCE"),
        (json!({}), json!({"code_challenge_methods_supported": ["plain"]}), "PKCE"),
        (json!({}), json!({"token_endpoint": null}), "token_endpoint"),
        (json!({"scopes_supported": "a b"}), json!({}), "is malformed"),
        (json!({}), json!({"token_endpoint": 7}), "is malformed"),
    ])
    .await;
}

#[tokio::test]
async fn sec_12_and_sec_15_endpoints_without_https_get_no_request() {
    refuses([
        (json!({}), json!({"authorization_endpoint": "javascript:alert(1)"}), "https"),
        (json!({}), json!({"authorization_endpoint": "http://auth.example/authorize"}), "https"),
        (json!({}), json!({"registration_endpoint": "http://auth.example/register"}), "https"),
        (json!({}), json!({"token_endpoint": "http://auth.example/token"}), "https"),
        (json!({"authorization_servers": ["http://auth.example"]}), json!({}), "https"),
    ])
    .await;
}

#[tokio::test]
async fn auc_18_to_20_and_auc_47_the_registration_describes_the_client() {
    let world = connects(|_| {}).await;
    let asked = &world.seen("/register")[0];
    for (name, value) in [
        ("application_type", r#""native""#),
        ("grant_types", r#"["authorization_code","refresh_token"]"#),
        ("redirect_uris", r#"["http://127.0.0.1:9/callback"]"#),
        ("token_endpoint_auth_method", r#""none""#),
    ] {
        assert_eq!(asked[name], value);
    }
}

/// RFC 8252 section 7.3: not every authorization server lets the port vary.
#[tokio::test]
async fn auc_18_and_auc_35_a_client_that_registered_itself_reuses_its_port() {
    let world = World::new().await;
    let browser = UrlOpener::new(async |url| {
        reqwest::Client::builder().no_proxy().build().unwrap().get(url).send().await.unwrap();
        Ok(())
    });
    let auth = OAuthOptions::default().with_store(MemoryStore::new()).with_handler(browser);
    let log_in = async || {
        world.habits().valid.clear();
        world.connect(&auth).await.unwrap();
        world.seen("/authorize").pop().unwrap()["redirect_uri"].clone()
    };
    let first = log_in().await;
    assert_eq!(log_in().await, first);
    assert_eq!(world.seen("/register").len(), 1);
    // While another program has the port, the client registers itself with the one that it gets.
    let address = first.strip_prefix("http://").unwrap().split_once('/').unwrap().0;
    let held = tokio::net::TcpListener::bind(address).await.unwrap();
    let second = log_in().await;
    assert_ne!(second, first);
    assert_eq!(world.seen("/register").len(), 2);
    drop(held);
    assert_eq!(log_in().await, second);
    assert_eq!(world.seen("/register").len(), 2);
}

/// A client that needs more scopes for another server registers again; its earlier refresh tokens
/// belong to the earlier registration.
#[tokio::test]
async fn auc_23_a_new_registration_leaves_earlier_tokens_theirs() {
    let of_one = json!({"scopes_supported": ["a"]});
    let world = World::with(|habits| {
        habits.rotates = true;
        habits.resource_path = "/.well-known/oauth-protected-resource";
        habits.resource = of_one.clone();
        habits.metadata = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
        habits.registered = json!({"client_secret": "secret-1"});
    })
    .await;
    let store = MemoryStore::new();
    let one = world.connect(&oauth(store.clone())).await.unwrap();
    world.habits().resource = json!({"resource": "{url}/mcp/two", "scopes_supported": ["b"]});
    world.habits().registered = json!({"client_secret": "secret-2"});
    let two = world.connect_to("/mcp/two", &oauth(store.clone())).await.unwrap();
    assert_eq!(world.seen("/register").len(), 2);
    two.list_tools().await.unwrap();
    world.habits().resource = of_one;
    world.habits().valid.clear();
    one.list_tools().await.unwrap();
    let renewal = world.seen("/token").pop().unwrap();
    for (name, value) in [("grant_type", "refresh_token"), ("client_id", "registered-1"), ("client_secret", "secret-1")]
    {
        assert_eq!(renewal[name], value);
    }
    // The next program as well.
    world.habits().valid.clear();
    world.connect(&oauth(store)).await.unwrap();
    assert_eq!(world.seen("/authorize").len(), 2);
}

#[tokio::test]
async fn auc_23_logins_at_the_same_time_share_a_registration() {
    let folder = std::env::temp_dir().join(format!("trunkline-registrations-{}", std::process::id()));
    let world = World::with(|habits| habits.registration_delay = Duration::from_millis(300)).await;
    let memory = MemoryStore::new();
    let in_memory = || oauth(memory.clone());
    let of_files = || oauth(FileStore::new(&folder));
    for (registered, one, other) in [(1, of_files(), of_files()), (2, in_memory(), in_memory())] {
        let (first, second) = tokio::join!(world.connect(&one), world.connect(&other));
        first.unwrap();
        second.unwrap();
        assert_eq!(world.seen("/register").len(), registered);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn auc_21_a_refused_registration_is_reported() {
    let (_, error) = World::refused(|habits| {
        habits.registered = json!({"error": "invalid_redirect_uri", "error_description": "not\u{1b}[31m here"});
    })
    .await;
    assert!(error.contains("invalid_redirect_uri: not[31m here") && error.contains(CALLBACK), "{error}");
    assert!(!error.contains("client id"), "{error}");
}

/// Okta lists the endpoint, but only administrators may register clients there.
#[tokio::test]
async fn auc_21_a_registration_that_needs_a_token_is_refused_with_advice() {
    let (_, error) = World::refused(|habits| {
        habits.registered = json!({"error": "invalid_token"});
        habits.registration_refusal = 401;
    })
    .await;
    assert!(error.contains("(invalid_token): register a client there, and set its client id"), "{error}");
}

/// The user is not asked for a login that the client cannot complete.
#[tokio::test]
async fn auc_21_a_registration_for_an_unknown_key_is_not_used() {
    let store = MemoryStore::new();
    let world =
        World::with(|habits| habits.registered = json!({"token_endpoint_auth_method": "private_key_jwt"})).await;
    let error = world.connect(&oauth(store.clone())).await.err().unwrap().to_string();
    assert!(error.contains("private_key_jwt") && world.seen("/authorize").is_empty(), "{error}");
    world.habits().registered = json!({});
    world.connect(&oauth(store)).await.unwrap();
    assert_eq!(world.seen("/authorize")[0]["client_id"], "registered-2");
}

#[tokio::test]
async fn auc_14_to_17_and_auc_22_clients_that_are_known_are_not_registered() {
    let document = "https://agent.example/client.json";
    let id = |auth: OAuthOptions| auth.with_client_metadata_url(document);
    for (auth, supported, client) in [
        (id(oauth(MemoryStore::new())), true, document),
        (id(oauth(MemoryStore::new())), false, "registered-1"),
        (id(oauth(MemoryStore::new())).with_client_id("given"), true, "given"),
    ] {
        let world =
            World::with(|habits| habits.metadata = json!({"client_id_metadata_document_supported": supported})).await;
        world.connect(&auth).await.unwrap();
        assert_eq!(world.seen("/authorize")[0]["client_id"], client);
        assert_eq!(world.seen("/register").is_empty(), client != "registered-1");
    }
    for url in ["http://agent.example/client.json", "https://agent.example", "https://agent.example/", "x"] {
        let error = OAuth::new(oauth(MemoryStore::new()).with_client_metadata_url(url)).err().unwrap().to_string();
        assert!(error.starts_with("auth.client_metadata_url"), "{url}: {error}");
    }
}

#[tokio::test]
async fn auc_25_a_given_client_is_not_shown_to_another_issuer() {
    let world = World::new().await;
    let auth = oauth(MemoryStore::new()).with_client_id("given").with_issuer("https://auth.example");
    let error = world.connect(&auth).await.err().unwrap().to_string();
    assert!(error.contains("https://auth.example") && error.contains("given"), "{error}");
    assert!(world.seen("/authorize").is_empty() && world.seen("/token").is_empty());
}

#[tokio::test]
async fn auc_23_and_auc_24_the_client_registers_again_at_a_new_authorization_server() {
    let world = World::with(|habits| habits.token = json!({"refresh_token": "r"})).await;
    let auth = oauth(MemoryStore::new());
    let client = world.connect(&auth).await.unwrap();
    {
        let mut habits = world.habits();
        habits.valid.clear();
        habits.metadata_path = "/.well-known/oauth-authorization-server/new";
        habits.metadata = json!({"issuer": "{url}/new"});
        habits.resource = json!({"authorization_servers": [format!("{}/new", world.origin)]});
    }
    client.list_tools().await.unwrap();
    let clients: Vec<_> = world.seen("/authorize").iter().map(|query| query["client_id"].clone()).collect();
    assert_eq!(clients, ["registered-1", "registered-2"]);
    assert!(world.seen("/token").iter().all(|form| form["grant_type"] == "authorization_code"));
}

#[tokio::test]
async fn auc_25_a_given_client_logs_in_at_its_own_issuer_of_several() {
    let world = World::new().await;
    world.habits().resource = json!({"authorization_servers": ["https://auth.example", world.origin]});
    let auth = oauth(MemoryStore::new()).with_client_id("given").with_issuer(world.origin.as_str());
    world.connect(&auth).await.unwrap();
    assert_eq!(world.seen("/authorize")[0]["client_id"], "given");
}

#[tokio::test]
async fn auc_24_an_authorization_server_that_is_still_listed_is_kept() {
    for auth in [oauth(MemoryStore::new()), oauth(MemoryStore::new()).with_client_id("given")] {
        let world = World::new().await;
        let client = world.connect(&auth).await.unwrap();
        world.habits().valid.clear();
        world.habits().resource = json!({"authorization_servers": ["https://auth.example", world.origin]});
        client.list_tools().await.unwrap();
        let clients: Vec<_> = world.seen("/authorize").iter().map(|query| query["client_id"].clone()).collect();
        assert_eq!(clients.len(), 2);
        assert_eq!(clients[0], clients[1]);
    }
}

/// AUC-09: a root can be written with or without a slash.
#[tokio::test]
async fn auc_09_an_issuer_may_differ_by_the_slash_of_its_root() {
    for (listed, issuer) in [("{url}/", "{url}"), ("{url}", "{url}/"), ("{url}/", "{url}/")] {
        let world = World::with(|habits| habits.metadata = json!({"issuer": issuer})).await;
        let listed = listed.replace("{url}", &world.origin);
        world.habits().resource = json!({"authorization_servers": [listed]});
        for given in [world.origin.clone(), format!("{}/", world.origin)] {
            let auth = oauth(MemoryStore::new()).with_client_id("given").with_issuer(given);
            world.connect(&auth).await.unwrap();
        }
    }
}

#[tokio::test]
async fn auc_03_and_auc_06_a_document_that_is_of_no_use_is_not_the_last_one() {
    let openid = "/.well-known/openid-configuration";
    for first in [
        json!({"code_challenge_methods_supported": null}),
        json!({"authorization_endpoint": null}),
        json!({"token_endpoint": null}),
        json!({"issuer": "https://other.example"}),
        json!({"scopes_supported": "a b"}),
    ] {
        let world = connects(|habits| {
            habits.metadata = first.clone();
            habits.more_metadata = vec![(openid, json!({}))];
        })
        .await;
        assert_eq!(world.seen(openid).len(), 1, "{first}");
    }
    // A challenge that leads nowhere, next to a document at its well-known URL.
    connects(|habits| habits.challenge = r#"resource_metadata="{url}/nowhere""#.into()).await;
    // Any document is better than none: errors are about the first one.
    let (_, error) = World::refused(|habits| {
        habits.metadata = json!({"code_challenge_methods_supported": null});
        habits.more_metadata = vec![(openid, json!({"issuer": "https://other.example"}))];
    })
    .await;
    assert!(error.contains("PKCE"), "{error}");
}

/// The authorization server of the Python SDK registers a client for the first method that it asks
/// for, and looks up clients by the body only.
#[tokio::test]
async fn auc_22_a_registered_client_prefers_to_send_its_secret_in_the_body() {
    let both = json!({"token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"]});
    for registered in [
        json!({"client_secret": "s3cret", "token_endpoint_auth_method": "client_secret_post"}),
        json!({"client_secret": "s3cret"}),
    ] {
        let world = connects(|habits| {
            habits.metadata = both.clone();
            habits.registered = registered.clone();
        })
        .await;
        assert_eq!(world.seen("/register")[0]["token_endpoint_auth_method"], r#""client_secret_post""#);
        let form = &world.seen("/token")[0];
        assert_eq!((&*form["client_id"], &*form["client_secret"]), ("registered-1", "s3cret"));
        assert!(!form.contains_key("authorization"));
    }
}

#[tokio::test]
async fn auc_22_a_refused_secret_is_sent_once_more_with_the_other_method_that_is_listed() {
    let refusal = || (401, json!({"error": "invalid_client"}));
    for (listed, refusals, requests) in [
        (json!(["client_secret_basic", "client_secret_post"]), vec![refusal()], 2),
        (json!(["client_secret_basic", "client_secret_post"]), vec![refusal(), refusal()], 2),
        (json!(["client_secret_basic"]), vec![refusal()], 1),
        (json!(null), vec![refusal()], 1),
        (json!(["client_secret_basic", "client_secret_post"]), vec![(400, json!({"error": "invalid_grant"}))], 1),
    ] {
        let is_enough = refusals.len() < requests;
        let world = World::with(|habits| {
            habits.metadata = json!({"token_endpoint_auth_methods_supported": listed});
            habits.refusals = refusals;
            habits.token = json!({"refresh_token": "r"});
        })
        .await;
        let auth = oauth(MemoryStore::new()).with_client_id("given").with_client_secret("s3cret");
        let connected = world.connect(&auth).await;
        let forms = world.seen("/token");
        assert_eq!((connected.is_ok(), forms.len()), (is_enough, requests), "{listed}");
        // Also with the header, which some servers read only after they have found the client.
        assert!(forms.iter().all(|form| form["client_id"] == "given"));
        assert!(forms[0].contains_key("authorization") && !forms[0].contains_key("client_secret"));
        if let Ok(client) = connected {
            // The authentication that worked is kept for renewals.
            world.habits().valid.clear();
            client.list_tools().await.unwrap();
            let renewal = world.seen("/token").pop().unwrap();
            assert_eq!((&*renewal["grant_type"], &*renewal["client_secret"]), ("refresh_token", "s3cret"));
        }
    }
}

/// As Microsoft Entra ID and Amazon Cognito: no PKCE in the metadata, and no parameter `resource`.
#[tokio::test]
async fn auc_30_options_for_authorization_servers_that_are_not_of_the_standard() {
    let world = World::with(|habits| {
        habits.metadata = json!({"code_challenge_methods_supported": null});
        habits.token = json!({"refresh_token": "r"});
    })
    .await;
    let auth = || oauth(MemoryStore::new()).with_client_id("given").with_issuer(world.origin.as_str());
    let client = world.connect(&auth().with_assume_pkce(true).with_send_resource(false)).await.unwrap();
    world.habits().valid.clear();
    client.list_tools().await.unwrap();
    assert_eq!(world.seen("/authorize")[0]["code_challenge_method"], "S256");
    let forms = [world.seen("/authorize"), world.seen("/token")].concat();
    assert_eq!(forms.len(), 3);
    assert!(forms.iter().all(|form| !form.contains_key("resource")));
    world.connect(&auth().with_assume_pkce(true)).await.unwrap();
    assert_eq!(world.seen("/token").pop().unwrap()["resource"], world.url());
    let error = world.connect(&auth()).await.err().unwrap().to_string();
    assert!(error.contains("set assume_pkce (assumePkce)"), "{error}");
}

#[tokio::test]
async fn auc_26_without_a_resource_another_origin_is_trusted_only_by_name() {
    let own = World::new().await;
    own.connect(&oauth(MemoryStore::new()).with_send_resource(false)).await.unwrap();
    assert!(own.seen("/token").iter().all(|form| !form.contains_key("resource")));

    let (server, elsewhere) = (World::new().await, World::new().await);
    server.habits().resource = json!({"authorization_servers": [elsewhere.origin]});
    let auth = || oauth(MemoryStore::new()).with_send_resource(false);
    let error = server.connect(&auth()).await.err().unwrap().to_string();
    assert!(error.contains(&format!("set issuer to {}", elsewhere.origin)), "{error}");
    assert!(elsewhere.seen("/register").is_empty() && elsewhere.seen("/authorize").is_empty());
    // The server does not know the tokens of the other one, but the user was asked.
    server.connect(&auth().with_issuer(elsewhere.origin.as_str())).await.err().unwrap();
    assert_eq!(elsewhere.seen("/token").len(), 1);
}

#[tokio::test]
async fn auc_25_a_client_without_an_id_logs_in_only_at_the_given_issuer() {
    let world = World::new().await;
    let auth = oauth(MemoryStore::new()).with_issuer("https://auth.example");
    let error = world.connect(&auth).await.err().unwrap().to_string();
    assert!(error.contains("The login is for https://auth.example, but the server now names"), "{error}");
    assert!(world.seen("/register").is_empty());
    world.connect(&oauth(MemoryStore::new()).with_issuer(world.origin.as_str())).await.unwrap();
}

/// As Google, which issues refresh tokens for `access_type`.
#[tokio::test]
async fn auc_30_a_login_page_gets_the_parameters_of_the_program() {
    let world = World::with(|habits| {
        habits.resource = json!({"scopes_supported": ["read"]});
        habits.metadata = json!({"scopes_supported": ["offline_access"]});
    })
    .await;
    let parameters = |given: &[(&str, &str)]| {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
    };
    for (given, prompt) in [
        (parameters(&[("access_type", "offline")]), "consent"),
        (parameters(&[("access_type", "offline"), ("prompt", "select_account")]), "select_account"),
    ] {
        let auth = oauth(MemoryStore::new()).with_offline_access(true).with_authorization_parameters(given);
        world.connect(&auth).await.unwrap();
        let asked = world.seen("/authorize").pop().unwrap();
        assert_eq!((&*asked["access_type"], &*asked["prompt"]), ("offline", prompt));
        assert!(!world.seen("/token").iter().any(|form| form.contains_key("access_type")));
    }
}

/// The code of RFC 8707, and that of Microsoft Entra ID in its earlier refusals.
#[tokio::test]
async fn auc_26_a_refused_resource_is_reported_with_the_option_for_it() {
    let advice = "set send_resource (sendResource) to false";
    let refused = |error: &str, why: &str| json!({"code": null, "error": error, "error_description": why});
    let unsupported = "AADSTS901002: The 'resource' request parameter is not supported.";
    for (error, why, is_advised) in [
        ("invalid_target", "unknown", true),
        ("invalid_request", unsupported, true),
        ("invalid_scope", "The resource has no default scopes", false),
    ] {
        let world = World::with(|habits| habits.redirect = refused(error, why)).await;
        let auth = oauth(MemoryStore::new()).with_client_id("given").with_issuer(world.origin.as_str());
        let message = world.connect(&auth).await.err().unwrap().to_string();
        assert_eq!((message.contains(why), message.contains(advice)), (true, is_advised), "{message}");
        let message = world.connect(&auth.with_send_resource(false)).await.err().unwrap().to_string();
        assert!(!message.contains(advice), "{message}");
    }
    let refusal = (400, json!({"error": "invalid_target"}));
    let (_, error) = World::refused(|habits| habits.refusals = vec![refusal]).await;
    assert!(error.contains(advice), "{error}");
}

/// A server that does not know the client shows a page, and does not redirect.
#[tokio::test]
async fn auc_18_a_kept_registration_is_forgotten_when_a_login_ends_without_a_code() {
    let refused = |error: &str| json!({"code": null, "error": error});
    for (redirect, dead_page, registrations) in [
        (json!({}), true, 2),
        (refused("unauthorized_client"), false, 2),
        // The server knows the client, and has asked the user.
        (refused("access_denied"), false, 1),
    ] {
        let (world, store) = (World::new().await, MemoryStore::new());
        world.connect(&oauth(store.clone())).await.unwrap();
        {
            let mut habits = world.habits();
            habits.valid.clear();
            habits.redirect = redirect.clone();
        }
        let page = RedirectHandler::new(CALLBACK, async |_| Err(AuthError("the page shows an error".into())));
        let auth = oauth(store.clone());
        let auth = if dead_page { auth.with_handler(page) } else { auth };
        assert!(world.connect(&auth).await.is_err());
        world.habits().redirect = json!({});
        world.connect(&oauth(store)).await.unwrap();
        assert_eq!(world.seen("/register").len(), registrations, "{redirect}");
    }
}
