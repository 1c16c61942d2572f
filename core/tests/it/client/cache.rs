//! Cached results (2026-07-28): scripted servers with a test clock.

use super::*;
use std::sync::atomic::AtomicU64;
use trunkline::{
    RevisionChoice,
    client::{ClientHandlers, ElicitRequest, HandlerError, RequestOptions},
    client_auth::{AuthError, ClientAuth, CredentialsRefusal, OutgoingRequest},
    protocol::model::{ElicitResult, SubscriptionFilter},
};

const LISTEN: &str = "subscriptions/listen";

fn modern() -> ClientOptions {
    ClientOptions::default().with_revision(RevisionChoice::Pinned(Revision::V2026_07_28))
}

/// A process that answers the discovery request, with which a connection starts, and then follows a
/// script.
fn described(mut script: impl FnMut(&Peer, &Value) + Send + 'static) -> Arc<Fake> {
    let mut is_described = false;
    Fake::process(move |peer, message| {
        if std::mem::replace(&mut is_described, true) {
            script(peer, message);
        } else {
            peer.discovered(message, &["2026-07-28"]);
        }
    })
}

/// The number of messages that the server saw in addition to the discovery request.
fn asked(fake: &Fake) -> usize {
    fake.seen().len() - 1
}

/// A server that numbers its results and adds these hints.
fn serving(hints: Value) -> Arc<Fake> {
    let mut number = 0;
    described(move |peer, message| {
        if message["method"] == LISTEN {
            let params = json!({"notifications": message["params"]["notifications"]});
            return peer.say(tagged(&message["id"], "notifications/subscriptions/acknowledged", params));
        }
        number += 1;
        let mut result = match message["method"].as_str() {
            Some("tools/list") => {
                json!({"tools": [{"name": number.to_string(), "inputSchema": {"type": "object"}}]})
            }
            Some("resources/read") => {
                json!({"contents": [{"uri": message["params"]["uri"], "text": number.to_string()}]})
            }
            _ => json!({"prompts": [{"name": number.to_string()}]}),
        };
        result["resultType"] = json!("complete");
        result.as_object_mut().unwrap().extend(hints.as_object().unwrap().clone());
        peer.result(message, result);
    })
}

fn tagged(id: &Value, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id});
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn for_a_second(scope: &str) -> Value {
    json!({"ttlMs": 1000, "cacheScope": scope})
}

async fn tools(client: &Client) -> String {
    client.list_tools().await.unwrap().remove(0).name
}

async fn prompts(client: &Client) -> String {
    client.list_prompts().await.unwrap().remove(0).name
}

async fn read(client: &Client, uri: &str) -> String {
    let read = client.read_resource(uri).await.unwrap();
    serde_json::to_value(read).unwrap()["contents"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn cch_04_cch_05_a_result_is_kept_for_its_time_and_then_asked_for_when_it_is_needed() {
    let fake = serving(for_a_second("private"));
    let client = fake.connect(modern()).await;
    assert_eq!((tools(&client).await, tools(&client).await), ("1".into(), "1".into()));
    fake.clock.advance(ms(999)).await;
    assert_eq!(tools(&client).await, "1");
    fake.clock.advance(ms(1)).await;
    assert_eq!(asked(&fake), 1, "CCH-05: nothing is fetched ahead");
    assert_eq!(tools(&client).await, "2");
    let fresh = RequestOptions::default().with_fresh(true);
    client.request("tools/list", None, &fresh).await.unwrap();
    assert_eq!(tools(&client).await, "3", "the fresh result is kept");
    client.close().await;
    assert!(matches!(client.list_tools().await, Err(ClientError::Closed)));
}

#[tokio::test]
async fn cch_03_without_a_positive_time_a_result_is_stale_at_once() {
    for ttl in [json!({}), json!({"ttlMs": 0}), json!({"ttlMs": -5}), json!({"ttlMs": "5000"}), json!({"ttlMs": 0.5})] {
        let client = serving(ttl.clone()).connect(modern()).await;
        assert_eq!((tools(&client).await, tools(&client).await), ("1".into(), "2".into()), "{ttl}");
    }
    let off = serving(for_a_second("public")).connect(modern().with_cache(false)).await;
    assert_eq!((tools(&off).await, tools(&off).await), ("1".into(), "2".into()));
}

#[tokio::test]
async fn cch_07_a_result_answers_only_the_request_that_it_came_for() {
    let fake = serving(for_a_second("private"));
    let client = fake.connect(modern()).await;
    assert_eq!((read(&client, "a:1").await, read(&client, "a:2").await), ("1".into(), "2".into()));
    assert_eq!(prompts(&client).await, "3");
    client.ping().await.unwrap();
    client.ping().await.unwrap();
    assert_eq!(asked(&fake), 5, "a check of liveness is never kept");
    assert_eq!((read(&client, "a:1").await, read(&client, "a:2").await), ("1".into(), "2".into()));
}

#[tokio::test]
async fn cch_07_a_result_for_other_capabilities_is_not_used() {
    let client = serving(for_a_second("private")).connect(modern()).await;
    assert_eq!((tools(&client).await, tools(&client).await), ("1".into(), "1".into()));
    let handlers =
        ClientHandlers::default().on_elicit(async |_: ElicitRequest| Ok::<_, HandlerError>(ElicitResult::decline()));
    for _ in 0..2 {
        client.set_handlers(handlers.clone()).unwrap();
        assert_eq!(tools(&client).await, "2");
    }
}

#[tokio::test]
async fn cch_08_results_of_rounds_are_not_kept() {
    let mut answers = 0;
    let fake = described(move |peer, message| {
        answers += 1;
        if message["params"]["requestState"].is_null() {
            peer.result(message, json!({"resultType": "input_required", "requestState": "s"}));
        } else {
            let contents = json!([{"uri": "a:1", "text": answers.to_string()}]);
            let result = json!({"resultType": "complete", "contents": contents, "ttlMs": 1000, "cacheScope": "public"});
            peer.result(message, result);
        }
    });
    let client = fake.connect(modern()).await;
    assert_eq!((read(&client, "a:1").await, read(&client, "a:1").await), ("2".into(), "4".into()));
    let params = RawJson::from_value(&json!({"uri": "a:1", "requestState": "s"})).unwrap();
    for _ in 0..2 {
        client.request("resources/read", Some(&params), &RequestOptions::default()).await.unwrap();
    }
    assert_eq!(asked(&fake), 6);
}

/// Credentials of a context that the test changes; without one it is 0.
struct Contexts(AtomicU64);

impl ClientAuth for Contexts {
    fn headers(&self, _: &OutgoingRequest) -> BoxedTask<Result<Vec<(String, String)>, AuthError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn refused(&self, _: &OutgoingRequest, _: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    fn context(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|context| *context > 0)
    }
}

#[tokio::test]
async fn cch_09_private_results_stay_with_their_authorization() {
    for (scope, wanted) in [("private", "2"), ("public", "1"), ("", "2")] {
        let contexts = Arc::new(Contexts(AtomicU64::new(1)));
        let auth: Arc<dyn ClientAuth> = contexts.clone();
        let client = serving(for_a_second(scope)).connect(modern().with_auth(Some(auth))).await;
        assert_eq!((tools(&client).await, tools(&client).await), ("1".into(), "1".into()), "{scope}");
        contexts.0.store(2, Ordering::Relaxed);
        assert_eq!(tools(&client).await, wanted, "{scope}");
    }
    let unknown: Arc<dyn ClientAuth> = Arc::new(Contexts(AtomicU64::new(0)));
    let client = serving(for_a_second("private")).connect(modern().with_auth(Some(unknown))).await;
    assert_eq!((tools(&client).await, tools(&client).await), ("1".into(), "2".into()));
}

#[tokio::test]
async fn cch_11_changes_invalidate_the_affected_results() {
    let fake = serving(for_a_second("public"));
    let client = fake.connect(modern()).await;
    let filter = SubscriptionFilter { tools: true, resources: Some(vec!["a:/1".into()]), ..Default::default() };
    let _changes = client.subscribe(filter).await.unwrap();
    let id = fake.last()["id"].clone();
    assert_eq!((tools(&client).await, prompts(&client).await), ("1".into(), "2".into()));
    assert_eq!((read(&client, "a:/1/b").await, read(&client, "a:/2").await), ("3".into(), "4".into()));
    let peer = fake.peer();
    peer.say(tagged(&id, "notifications/tools/list_changed", json!({})));
    peer.say(tagged(&id, "notifications/resources/updated", json!({"uri": "a:/1"})));
    assert_eq!((tools(&client).await, prompts(&client).await), ("5".into(), "2".into()));
    assert_eq!((read(&client, "a:/1/b").await, read(&client, "a:/2").await), ("6".into(), "4".into()));
}

#[tokio::test]
async fn cch_11_a_result_from_before_a_change_is_not_kept() {
    let fake = described(|_, _| {});
    let client = fake.connect(modern()).await;
    let listing = tokio::spawn({
        let client = client.clone();
        async move { client.list_tools().await }
    });
    settle().await;
    let peer = fake.peer();
    peer.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    let old = json!({"resultType": "complete", "tools": [], "ttlMs": 1000, "cacheScope": "public"});
    peer.result(&fake.last(), old);
    assert!(listing.await.unwrap().is_ok());
    drop(tokio::spawn(async move { client.list_tools().await }));
    settle().await;
    assert_eq!(asked(&fake), 2);
}

#[tokio::test]
async fn cch_12_pages_whose_cursor_is_invalid_are_discarded_and_the_list_begins_again() {
    let mut renewed = false;
    let fake = described(move |peer, message| {
        let page = |name: &str, ttl: u64, next: Value| {
            let tools = json!([{"name": name, "inputSchema": {"type": "object"}}]);
            let mut page = json!({"resultType": "complete", "tools": tools, "ttlMs": ttl, "cacheScope": "public"});
            if !next.is_null() {
                page["nextCursor"] = next;
            }
            page
        };
        match message["params"]["cursor"].as_str() {
            None if renewed => peer.result(message, page("c", 9000, json!("new"))),
            None => peer.result(message, page("a", 9000, json!("old"))),
            Some("old") if renewed => peer.error(message, -32602, Value::Null),
            Some("old") => {
                renewed = true;
                peer.result(message, page("b", 1000, Value::Null));
            }
            _ => peer.result(message, page("d", 1000, Value::Null)),
        }
    });
    let client = fake.connect(modern()).await;
    let names =
        async || -> Vec<String> { client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect() };
    assert_eq!(names().await, ["a", "b"]);
    fake.clock.advance(ms(1000)).await;
    assert_eq!(names().await, ["c", "d"]);
    assert_eq!(asked(&fake), 5);
    assert_eq!(names().await, ["c", "d"]);
    assert_eq!(asked(&fake), 5);
}

#[tokio::test]
async fn cch_12_a_list_read_by_pages_begins_anew_after_a_cursor_was_refused() {
    let mut renewed = false;
    let fake = described(move |peer, message| match message["params"]["cursor"].as_str() {
        None => {
            let next = if std::mem::replace(&mut renewed, true) { "new" } else { "old" };
            let mut page = for_a_second("public");
            page["resultType"] = json!("complete");
            page["tools"] = json!([]);
            page["nextCursor"] = json!(next);
            peer.result(message, page);
        }
        Some(_) => peer.error(message, -32602, Value::Null),
    });
    let client = fake.connect(modern()).await;
    let next = async || client.list_tools_page(None).await.unwrap().next_cursor.unwrap();
    assert_eq!((next().await, next().await), ("old".to_owned(), "old".to_owned()));
    assert!(client.list_tools_page(Some("old")).await.is_err());
    assert_eq!(next().await, "new");
}

#[tokio::test]
async fn what_is_kept_is_bounded_in_number_and_bytes() {
    let client = serving(for_a_second("public")).connect(modern()).await;
    for number in 1..=1025 {
        assert_eq!(read(&client, &format!("a:{number}")).await, number.to_string());
    }
    assert_eq!((read(&client, "a:2").await, read(&client, "a:1").await), ("2".into(), "1026".into()));

    let small = serving(for_a_second("public")).connect(modern().with_max_cache_bytes(300)).await;
    for number in 1..=3 {
        assert_eq!(read(&small, &format!("a:{number}")).await, number.to_string());
    }
    assert_eq!((read(&small, "a:3").await, read(&small, "a:1").await), ("3".into(), "4".into()));
}

#[tokio::test]
async fn a_connection_that_was_lost_takes_what_was_kept_along() {
    let fake = serving(for_a_second("public"));
    let client = fake.connect(modern()).await;
    assert_eq!(tools(&client).await, "1");
    fake.peer().exit();
    settle().await;
    assert_eq!(tools(&client).await, "2");
    assert_eq!(fake.connections.load(Ordering::Relaxed), 2);
}
