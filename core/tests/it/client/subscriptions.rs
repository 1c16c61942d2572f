//! Subscriptions: one call on every revision, over scripted servers and a server of this process.

use super::*;
use trunkline::{
    RevisionChoice,
    client::{ErrorKind, RequestOptions, Subscription},
    protocol::model::{Change, ChangeKind, SubscriptionFilter},
    server::Server,
};

const LISTEN: &str = "subscriptions/listen";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

fn choose(revision: RevisionChoice) -> ClientOptions {
    ClientOptions::default().with_revision(revision)
}

fn declared() -> Value {
    json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true}, "tasks": {}})
}

/// A server of one era that declares these capabilities; the rest is up to `script`.
fn fake(capabilities: Value, mut script: impl FnMut(&Peer, &Value) + Send + 'static) -> Arc<Fake> {
    Fake::process(move |peer, message| match message["method"].as_str() {
        Some("initialize") => {
            let (revision, info) = (&message["params"]["protocolVersion"], json!({"name": "fake", "version": "1"}));
            peer.result(
                message,
                json!({"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info}),
            );
        }
        Some("server/discover") => peer.result(
            message,
            json!({"resultType": "complete",
            "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"}),
        ),
        _ => script(peer, message),
    })
}

/// Takes every subscription of the legacy era.
fn legacy() -> Arc<Fake> {
    fake(declared(), |peer, message| {
        if message["id"].is_number() {
            peer.result(message, json!({}));
        }
    })
}

fn tagged(id: &Value, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({SUBSCRIPTION_ID: id});
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn acknowledge(peer: &Peer, message: &Value, honoured: &Value) {
    let acknowledged = "notifications/subscriptions/acknowledged";
    peer.say(tagged(&message["id"], acknowledged, json!({"notifications": honoured})));
}

/// Acknowledges every stream as requested.
fn modern() -> Arc<Fake> {
    fake(declared(), |peer, message| {
        if message["method"] == LISTEN {
            acknowledge(peer, message, &message["params"]["notifications"]);
        }
    })
}

fn updated(uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
}

fn resource(uri: &str) -> Change {
    Change { uri: Some(uri.to_owned()), ..ChangeKind::Resource.into() }
}

async fn next(changes: &mut Subscription) -> Change {
    let next = tokio::time::timeout(Duration::from_secs(20), changes.next()).await.expect("no change came");
    next.expect("the subscription ended").unwrap()
}

/// The methods about subscriptions that the server saw, with their URIs.
fn asked(fake: &Fake) -> Vec<String> {
    let seen = fake.seen.lock().unwrap();
    let about = seen.iter().filter(|(_, message)| message["params"]["uri"].is_string());
    about.map(|(_, message)| format!("{} {}", message["method"], message["params"]["uri"]).replace('"', "")).collect()
}

fn listens(fake: &Fake) -> Vec<Value> {
    let seen = fake.seen.lock().unwrap();
    seen.iter().filter(|(_, message)| message["method"] == LISTEN).map(|(_, message)| message.clone()).collect()
}

#[tokio::test]
async fn one_call_on_every_revision() {
    let server = Server::builder("notes", "1")
        .tool("a", "A tool.", || async { "a" })
        .prompt("p", "A prompt.", || async { "p" })
        .resource("a:1", "one", || async { "1" })
        .build();
    for revision in Revision::ALL {
        let client = Client::connect_with(&server, choose(RevisionChoice::Pinned(revision)), ()).await.unwrap();
        let everything = SubscriptionFilter::from(["a:1"]).with_tools(true).with_prompts(true).with_resource_list(true);
        let mut all = client.subscribe(everything.clone()).await.unwrap();
        let mut one = client.subscribe("a:1").await.unwrap();
        assert_eq!(all.filter(), &everything, "{revision}");
        server.resource_updated("a:2");
        server.resource_updated("a:1");
        assert_eq!((next(&mut all).await, next(&mut one).await), (resource("a:1"), resource("a:1")), "{revision}");
        server.add_tool(trunkline::Tool::new("b", "Another.", || async { "b" })).unwrap();
        server.remove_tool("b");
        assert_eq!(next(&mut all).await, ChangeKind::Tools.into(), "{revision}");
        one.close();
        server.resource_updated("a:1");
        assert_eq!(next(&mut all).await, resource("a:1"), "{revision}");
        client.close().await;
        let end = tokio::time::timeout(Duration::from_secs(20), all.next()).await.expect("the stream has not ended");
        assert_eq!(end, None, "{revision}");
        assert_eq!(client.subscribe("a:1").await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn subscribers_of_one_uri_share_one_subscription_of_the_legacy_era() {
    let fake = legacy();
    let client = fake.connect(choose(RevisionChoice::Legacy)).await;
    let mut first = client.subscribe(["a:1", "a:1", "a:2"]).await.unwrap();
    let mut second = client.subscribe("a:1").await.unwrap();
    assert_eq!(asked(&fake), ["resources/subscribe a:1", "resources/subscribe a:2"]);
    for uri in ["a:1", "a:1/part", "a:2", "a:3", "a:1"] {
        fake.peer().say(updated(uri));
    }
    assert_eq!((next(&mut second).await, next(&mut second).await), (resource("a:1"), resource("a:1/part")));
    for uri in ["a:1", "a:1/part", "a:2"] {
        assert_eq!(next(&mut first).await, resource(uri));
    }
    first.close();
    settle().await;
    assert_eq!(asked(&fake)[2..], ["resources/unsubscribe a:2"], "the other one is still in use");
    drop(second);
    settle().await;
    assert_eq!(asked(&fake)[3..], ["resources/unsubscribe a:1"]);
    let again = client.subscribe("a:1").await.unwrap();
    assert_eq!(asked(&fake)[4..], ["resources/subscribe a:1"]);
    again.close();
}

#[tokio::test]
async fn a_refused_uri_fails_every_subscriber_and_leaves_nothing_behind() {
    let fake = fake(declared(), |peer, message| match message["params"]["uri"].as_str() {
        Some("a:none") => peer.error(message, -32002, Value::Null),
        Some(_) => peer.result(message, json!({})),
        None => {}
    });
    let client = fake.connect(choose(RevisionChoice::Legacy)).await;
    let (one, two) = tokio::join!(client.subscribe(["a:1", "a:none"]), client.subscribe("a:none"));
    for error in [one.unwrap_err(), two.unwrap_err()] {
        assert_eq!(error.rpc().unwrap().code, -32002, "{error}");
    }
    settle().await;
    let asked = asked(&fake);
    assert_eq!(asked, ["resources/subscribe a:1", "resources/subscribe a:none", "resources/unsubscribe a:1"]);
}

#[tokio::test]
async fn a_subscription_that_is_not_waited_for_is_given_back() {
    for (server, choice) in
        [(fake(declared(), |_, _| {}), RevisionChoice::Legacy), (fake(declared(), |_, _| {}), RevisionChoice::Modern)]
    {
        let client = server.connect(choose(choice)).await;
        let subscribing = tokio::spawn({
            let client = client.clone();
            async move { client.subscribe("a:1").await.map(drop) }
        });
        settle().await;
        let asked = server.last();
        subscribing.abort();
        settle().await;
        if choice == RevisionChoice::Legacy {
            server.peer().result(&asked, json!({}));
            settle().await;
            assert_eq!(server.last()["method"], "resources/unsubscribe", "it was subscribed meanwhile");
        } else {
            let cancelled = server.last();
            assert_eq!(
                (&cancelled["method"], &cancelled["params"]["requestId"]),
                (&json!("notifications/cancelled"), &asked["id"])
            );
        }
    }
}

/// STD-09.
#[tokio::test]
async fn sub_05_every_subscription_has_a_stream_and_changes_go_where_they_belong() {
    let fake = modern();
    let client = fake.connect(choose(RevisionChoice::Modern)).await;
    let mut one = client.subscribe("a:1").await.unwrap();
    let mut two = client.subscribe(SubscriptionFilter::from("a:1").with_tools(true)).await.unwrap();
    let [first, second] = &listens(&fake)[..] else { panic!("{:?}", fake.seen()) };
    assert_eq!(first["params"]["notifications"], json!({"resourceSubscriptions": ["a:1"]}));
    assert_eq!(second["params"]["notifications"], json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]}));
    fake.peer().say(tagged(&second["id"], "notifications/tools/list_changed", json!({})));
    fake.peer().say(tagged(&first["id"], "notifications/tools/list_changed", json!({})));
    fake.peer().say(tagged(&first["id"], "notifications/resources/updated", json!({"uri": "a:1"})));
    fake.peer().say(tagged(&json!("1"), "notifications/resources/updated", json!({"uri": "a:1"})));
    assert_eq!(next(&mut two).await, ChangeKind::Tools.into());
    assert_eq!(next(&mut one).await, resource("a:1"), "what it did not ask for is left out");
    one.close();
    settle().await;
    let cancelled = fake.last();
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &first["id"])
    );
    assert_eq!(asked(&fake), [""; 0], "resources/subscribe is of the other era");
    // SUB-06: the server ends the other one.
    fake.peer().result(second, json!({"resultType": "complete", "_meta": {SUBSCRIPTION_ID: second["id"]}}));
    assert_eq!(two.next().await, None);
}

#[tokio::test]
async fn can_11_a_subscription_that_the_server_cancels_has_ended() {
    let fake = modern();
    let client = fake.connect(choose(RevisionChoice::Modern).with_listen(true)).await;
    let mut changes = client.subscribe("a:1").await.unwrap();
    for listen in listens(&fake) {
        let params = json!({"requestId": listen["id"], "reason": "shutting down"});
        fake.peer().say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }
    let end = tokio::time::timeout(Duration::from_secs(20), changes.next()).await.expect("the stream has not ended");
    assert_eq!(end, None);
    fake.clock.advance(ms(500)).await;
    assert_eq!(listens(&fake).len(), 3, "the stream of the option `listen` is opened again");
}

#[tokio::test]
async fn sub_04_the_acknowledged_filter_is_compared_with_the_wanted_one() {
    for (honoured, kept) in [
        (json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["a:2"]}), Some("a:2")),
        (json!({"promptsListChanged": true}), None),
        (json!({}), None),
    ] {
        let fake = fake(declared(), move |peer, message| {
            if message["method"] == LISTEN {
                acknowledge(peer, message, &honoured);
            }
        });
        let client = fake.connect(choose(RevisionChoice::Modern)).await;
        let wanted = SubscriptionFilter::from(["a:1", "a:2"]).with_tools(true);
        match (client.subscribe(wanted).await, kept) {
            (Ok(changes), Some(uri)) => {
                assert_eq!(changes.filter(), &SubscriptionFilter::from(uri).with_tools(true));
            }
            (Err(error), None) => {
                assert_eq!(error.to_string(), "subscribe: the server accepted no part of the filter");
                settle().await;
                assert_eq!(fake.last()["method"], "notifications/cancelled");
            }
            (outcome, _) => panic!("{outcome:?}"),
        }
    }
}

#[tokio::test]
async fn prm_07_what_the_server_does_not_announce_is_refused_at_once() {
    for choice in [RevisionChoice::Legacy, RevisionChoice::Modern] {
        let fake = fake(json!({"tools": {}, "resources": {"subscribe": true}}), |_, _| {});
        let client = fake.connect(choose(choice)).await;
        settle().await;
        let before = fake.seen().len();
        let lists = SubscriptionFilter::default().with_tools(true).with_prompts(true).with_resource_list(true);
        let tasks = SubscriptionFilter::default().with_tasks(vec!["t".to_owned()]);
        let (unsupported, invalid) = (ErrorKind::Unsupported, ErrorKind::InvalidArgument);
        let all = "tools (tools.listChanged), prompts (prompts.listChanged), resourceList (resources.listChanged)";
        for (filter, kind, text) in [
            (lists, unsupported, all),
            (tasks, unsupported, "changes of tasks"),
            (SubscriptionFilter::default(), invalid, "the filter is empty"),
            (SubscriptionFilter::from([""]), invalid, "resources contains an empty string"),
            (serde_json::from_value(json!({"tool": true})).unwrap(), invalid, "tool: unknown field"),
        ] {
            let error = client.subscribe(filter).await.unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().contains(text), "{error}");
        }
        settle().await;
        assert_eq!(fake.seen().len(), before, "nothing was sent");
    }
}

#[tokio::test]
async fn prm_07_the_announced_part_of_a_filter_is_subscribed_to() {
    let fake = fake(json!({"tools": {"listChanged": true}}), |_, _| {});
    let client = fake.connect(choose(RevisionChoice::Legacy)).await;
    let wanted = SubscriptionFilter::from(["a:1"]).with_tools(true).with_prompts(true);
    let subscription = client.subscribe(wanted).await.unwrap();
    assert_eq!(*subscription.filter(), SubscriptionFilter::default().with_tools(true));
}

#[tokio::test]
async fn sub_07_a_lost_stream_is_opened_again_and_says_what_it_may_have_missed() {
    let fake = modern();
    let client = fake.connect(choose(RevisionChoice::Modern)).await;
    let mut changes = client.subscribe("a:1").await.unwrap();
    let lost = || RequestId::from_json(&listens(&fake).last().unwrap()["id"].to_string()).unwrap();
    for pause in [500, 1_000, 2_000] {
        fake.peer().inbox.failed(&lost(), LinkFailure::Broken("the stream broke".into()));
        let before = listens(&fake).len();
        fake.clock.advance(ms(pause - 1)).await;
        assert_eq!(listens(&fake).len(), before, "the pause is {pause} ms");
        fake.clock.advance(ms(1)).await;
        assert_eq!(listens(&fake).len(), before + 1);
        assert_eq!(next(&mut changes).await, ChangeKind::Missed.into());
    }
    fake.clock.advance(ms(31_000)).await;
    fake.peer().inbox.failed(&lost(), LinkFailure::Broken("the stream broke".into()));
    let before = listens(&fake).len();
    fake.clock.advance(ms(500)).await;
    assert_eq!(listens(&fake).len(), before + 1, "a stream that lived starts the pauses anew");
    changes.close();
}

/// A server that takes every subscription, except while there are no credentials for it.
fn guarded(locked: &Arc<AtomicBool>) -> Arc<Fake> {
    let is_locked = Arc::clone(locked);
    fake(declared(), move |peer, message| match message["method"].as_str() {
        Some(LISTEN | "resources/subscribe") if is_locked.load(Ordering::Relaxed) => peer.unauthorized(message, None),
        Some(LISTEN) => acknowledge(peer, message, &message["params"]["notifications"]),
        Some("resources/subscribe") => peer.result(message, json!({})),
        _ => {}
    })
}

#[tokio::test]
async fn subscriptions_return_with_the_credentials_and_ask_nobody_for_them() {
    for choice in [RevisionChoice::Legacy, RevisionChoice::Modern] {
        let locked = Arc::new(AtomicBool::new(false));
        let fake = guarded(&locked);
        let client = fake.connect(choose(choice).with_max_timeout(ms(20_000))).await;
        let mut changes = client.subscribe("a:1").await.unwrap();
        let lose = || match listens(&fake).last() {
            Some(listen) => {
                let id = RequestId::from_json(&listen["id"].to_string()).unwrap();
                fake.peer().inbox.failed(&id, LinkFailure::Broken("the stream broke".into()));
            }
            None => drop(fake.peer().inbox.session_renewed()),
        };
        let attended = || {
            let attended = fake.attended.lock().unwrap();
            attended.iter().filter(|method| matches!(&***method, LISTEN | "resources/subscribe")).count()
        };
        let attempts = || asked(&fake).len() + listens(&fake).len();
        locked.store(true, Ordering::Relaxed);
        lose();
        for _ in 0..5 {
            fake.clock.advance(ms(1_000)).await;
        }
        let before = attempts();
        assert!(before > 2, "{choice:?}: {before}");
        locked.store(false, Ordering::Relaxed);
        fake.clock.advance(ms(10_000)).await;
        assert_eq!(next(&mut changes).await, ChangeKind::Missed.into(), "{choice:?}");
        assert_eq!(attempts(), before + 1, "{choice:?}");
        // Not for ever: its owner learns why there are no changes.
        locked.store(true, Ordering::Relaxed);
        lose();
        for _ in 0..60 {
            fake.clock.advance(ms(1_000)).await;
        }
        let end = async {
            loop {
                match changes.next().await.unwrap() {
                    Ok(change) => assert_eq!(change, ChangeKind::Missed.into()),
                    Err(error) => return error.kind(),
                }
            }
        };
        let end = tokio::time::timeout(Duration::from_secs(20), end).await.expect("the subscription did not end");
        assert_eq!((end, attended()), (ErrorKind::AuthorizationRequired, 1), "{choice:?}");
    }
}

#[tokio::test]
async fn the_lists_of_a_proxy_are_followed_again_however_long_the_credentials_were_missing() {
    let locked = Arc::new(AtomicBool::new(false));
    let fake = guarded(&locked);
    let behind = fake.connect(choose(RevisionChoice::Modern).with_max_timeout(ms(10_000))).await;
    let server = Server::builder("gateway", "1.0.0").proxy(&behind).build();
    let front = Client::connect_with(&server, choose(RevisionChoice::Modern), ()).await.unwrap();
    let mut lists = front.subscribe(SubscriptionFilter::default().with_tools(true)).await.unwrap();
    while listens(&fake).is_empty() {
        settle().await;
    }
    settle().await;
    locked.store(true, Ordering::Relaxed);
    let id = RequestId::from_json(&listens(&fake)[0]["id"].to_string()).unwrap();
    fake.peer().inbox.failed(&id, LinkFailure::Broken("the stream broke".into()));
    for _ in 0..30 {
        fake.clock.advance(ms(1_000)).await;
    }
    locked.store(false, Ordering::Relaxed);
    fake.clock.advance(ms(30_000)).await;
    assert_eq!(next(&mut lists).await, ChangeKind::Tools.into());
}

#[tokio::test]
async fn a_proxy_whose_first_streams_fail_opens_them_later() {
    let away = Arc::new(AtomicBool::new(true));
    let is_away = Arc::clone(&away);
    let fake = fake(declared(), move |peer, message| match message["method"].as_str() {
        Some(LISTEN) if is_away.load(Ordering::Relaxed) => {
            let id = RequestId::from_json(&message["id"].to_string()).unwrap();
            peer.inbox.failed(&id, LinkFailure::Broken("nobody is there".into()));
        }
        Some(LISTEN) => acknowledge(peer, message, &message["params"]["notifications"]),
        _ => {}
    });
    let behind = fake.connect(choose(RevisionChoice::Modern)).await;
    let server = Server::builder("gateway", "1.0.0").proxy(&behind).build();
    let front = Client::connect_with(&server, choose(RevisionChoice::Modern), ()).await.unwrap();
    let (mut lists, mut map) = (
        front.subscribe(SubscriptionFilter::default().with_tools(true)).await.unwrap(),
        front.subscribe("a:1").await.unwrap(),
    );
    while listens(&fake).len() < 2 {
        settle().await;
    }
    away.store(false, Ordering::Relaxed);
    fake.clock.advance(ms(500)).await;
    assert_eq!(next(&mut lists).await, ChangeKind::Tools.into());
    assert_eq!(next(&mut map).await, resource("a:1"));
}

#[tokio::test]
async fn a_proxy_hears_changes_after_a_server_of_the_legacy_era_was_away_for_long() {
    let away = Arc::new(AtomicBool::new(false));
    let is_away = Arc::clone(&away);
    let fake = Fake::process(move |peer, message| {
        if message["method"] == "initialize" && !is_away.load(Ordering::Relaxed) {
            let (revision, info) = (&message["params"]["protocolVersion"], json!({"name": "fake", "version": "1"}));
            let capabilities = json!({"tools": {"listChanged": true}});
            peer.result(
                message,
                json!({"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info}),
            );
        }
    });
    let short = choose(RevisionChoice::Legacy).with_timeout(ms(1_000)).with_max_timeout(ms(1_000));
    let behind = fake.connect(short.with_connect_timeout(ms(1_000))).await;
    let server = Server::builder("gateway", "1.0.0").proxy(&behind).build();
    let front = Client::connect_with(&server, choose(RevisionChoice::Modern), ()).await.unwrap();
    let mut lists = front.subscribe(SubscriptionFilter::default().with_tools(true)).await.unwrap();
    let mut own = behind.subscribe(SubscriptionFilter::default().with_tools(true)).await.unwrap();
    away.store(true, Ordering::Relaxed);
    fake.peer().exit();
    for _ in 0..20 {
        fake.clock.advance(ms(1_000)).await;
    }
    let error = own.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    away.store(false, Ordering::Relaxed);
    for _ in 0..20 {
        fake.clock.advance(ms(1_000)).await;
    }
    assert_eq!(next(&mut lists).await, ChangeKind::Tools.into());
}

#[tokio::test]
async fn a_stream_that_cannot_be_opened_again_ends_with_the_error() {
    let streams = AtomicUsize::new(0);
    let fake = fake(declared(), move |peer, message| match message["method"].as_str() {
        Some(LISTEN) if streams.fetch_add(1, Ordering::Relaxed) == 0 => {
            acknowledge(peer, message, &message["params"]["notifications"]);
        }
        Some(LISTEN) => peer.error(message, -32603, Value::Null),
        _ => {}
    });
    let client = fake.connect(choose(RevisionChoice::Modern)).await;
    let mut changes = client.subscribe("a:1").await.unwrap();
    let id = RequestId::from_json(&listens(&fake)[0]["id"].to_string()).unwrap();
    fake.peer().inbox.failed(&id, LinkFailure::Broken("the stream broke".into()));
    fake.clock.advance(ms(500)).await;
    assert_eq!(changes.next().await.unwrap().unwrap_err().rpc().unwrap().code, -32603);
    assert_eq!(changes.next().await, None);
}

#[tokio::test]
async fn a_stream_without_an_acknowledgement_fails_in_time_and_is_cancelled() {
    let fake = fake(declared(), |_, _| {});
    let client = fake.connect(choose(RevisionChoice::Modern).with_timeout(ms(1_000))).await;
    let subscribing = tokio::spawn(async move { client.subscribe("a:1").await.map(drop) });
    fake.clock.advance(ms(999)).await;
    assert!(!subscribing.is_finished());
    fake.clock.advance(ms(1)).await;
    let error = subscribing.await.unwrap().unwrap_err();
    assert_eq!(error, ClientError::Timeout("The server did not acknowledge subscriptions/listen within 1s".into()));
    assert_eq!(fake.last()["method"], "notifications/cancelled");
}

#[tokio::test]
async fn without_reconnecting_subscriptions_end_with_the_reason() {
    for (fake, choice) in [(legacy(), RevisionChoice::Legacy), (modern(), RevisionChoice::Modern)] {
        let client = fake.connect(choose(choice).with_reconnect(false)).await;
        let mut changes = client.subscribe(SubscriptionFilter::default().with_tools(true)).await.unwrap();
        fake.peer().exit();
        let error = changes.next().await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the server process exited with status 3", "{choice:?}");
        assert_eq!(changes.next().await, None);
    }
}

/// STD-15.
#[tokio::test]
async fn the_subscriptions_of_a_lost_connection_are_opened_again_by_themselves() {
    for (fake, choice) in [(legacy(), RevisionChoice::Legacy), (modern(), RevisionChoice::Modern)] {
        let client = fake.connect(choose(choice)).await;
        let mut changes = client.subscribe("a:1").await.unwrap();
        let opened = |fake: &Arc<Fake>| asked(fake).len() + listens(fake).len();
        let before = opened(&fake);
        fake.peer().exit();
        settle().await;
        fake.clock.advance(Duration::from_secs(1)).await;
        assert_eq!(next(&mut changes).await, ChangeKind::Missed.into());
        settle().await;
        assert_eq!(opened(&fake), before + 1, "{choice:?}");
    }
}

#[tokio::test]
async fn a_subscription_survives_a_connection_that_is_lost_again_at_once() {
    let silent = Arc::new(AtomicBool::new(false));
    let is_silent = Arc::clone(&silent);
    let fake = fake(declared(), move |peer, message| {
        if message["id"].is_number() && !is_silent.load(Ordering::Relaxed) {
            peer.result(message, json!({}));
        }
    });
    let client = fake.connect(choose(RevisionChoice::Legacy)).await;
    let mut changes = client.subscribe("a:1").await.unwrap();
    silent.store(true, Ordering::Relaxed);
    for connection in 2..4 {
        fake.peer().exit();
        fake.clock.advance(ms(10_000)).await;
        let subscribed = || fake.seen().contains(&(connection, "resources/subscribe".to_owned()));
        assert!(subscribed(), "{connection}: {:?}", fake.seen());
    }
    silent.store(false, Ordering::Relaxed);
    fake.peer().say(updated("a:1"));
    assert_eq!(next(&mut changes).await, ChangeKind::Missed.into());
    assert_eq!(next(&mut changes).await, resource("a:1"));
}

#[tokio::test]
async fn a_subscription_survives_a_server_that_ends_right_after_the_handshake() {
    let fake = Fake::process(|peer, message| match message["method"].as_str() {
        Some("initialize") => {
            let (revision, info) = (&message["params"]["protocolVersion"], json!({"name": "fake", "version": "1"}));
            let result = json!({"protocolVersion": revision, "capabilities": declared(), "serverInfo": info});
            peer.result(message, result);
            if peer.number == 2 {
                peer.exit();
            }
        }
        _ if message["id"].is_number() => peer.result(message, json!({})),
        _ => {}
    });
    let client = fake.connect(choose(RevisionChoice::Legacy)).await;
    let mut changes = client.subscribe("a:1").await.unwrap();
    fake.peer().exit();
    settle().await;
    assert_eq!(fake.connections.load(Ordering::Relaxed), 2);
    fake.clock.advance(ms(10_000)).await;
    assert_eq!(fake.connections.load(Ordering::Relaxed), 3);
    assert_eq!(next(&mut changes).await, ChangeKind::Missed.into());
}

#[tokio::test]
async fn a_new_connection_hears_nothing_of_subscriptions_that_have_ended() {
    let fake = legacy();
    let client = fake.connect(choose(RevisionChoice::Legacy)).await;
    let changes = client.subscribe("a:1").await.unwrap();
    fake.peer().exit();
    drop(changes);
    settle().await;
    client.ping().await.unwrap();
    assert_eq!((fake.connections.load(Ordering::Relaxed), asked(&fake)), (2, vec!["resources/subscribe a:1".into()]));

    let is_away = Arc::new(AtomicBool::new(false));
    let away = Arc::clone(&is_away);
    let fake = Fake::process(move |peer, message| match message["method"].as_str() {
        Some("initialize") if away.load(Ordering::Relaxed) => peer.exit(),
        Some("initialize") => {
            let (revision, info) = (&message["params"]["protocolVersion"], json!({"name": "fake", "version": "1"}));
            let result = json!({"protocolVersion": revision, "capabilities": declared(), "serverInfo": info});
            peer.result(message, result);
        }
        _ if message["id"].is_number() => peer.result(message, json!({})),
        _ => {}
    });
    let options = choose(RevisionChoice::Legacy).with_timeout(ms(1_000)).with_max_timeout(ms(1_000));
    let client = fake.connect(options).await;
    let mut changes = client.subscribe("a:1").await.unwrap();
    is_away.store(true, Ordering::Relaxed);
    fake.peer().exit();
    for _ in 0..20 {
        fake.clock.advance(ms(1_000)).await;
    }
    assert_eq!(changes.next().await.unwrap().unwrap_err().kind(), ErrorKind::Transport);
    is_away.store(false, Ordering::Relaxed);
    let patient = RequestOptions::default().with_timeout(ms(60_000));
    let ping = tokio::spawn(async move { client.ping_with(&patient).await });
    fake.clock.advance(ms(10_000)).await;
    ping.await.unwrap().unwrap();
    assert_eq!(asked(&fake), ["resources/subscribe a:1"]);
}

/// A server that refuses requests while `busy` is set.
fn sometimes_busy(busy: &Arc<AtomicBool>) -> Arc<Fake> {
    let is_busy = Arc::clone(busy);
    fake(declared(), move |peer, message| match message["id"].is_number() {
        true if is_busy.load(Ordering::Relaxed) => peer.error(message, -32603, json!({"reason": "busy"})),
        true => peer.result(message, json!({})),
        false => {}
    })
}

#[tokio::test]
async fn a_new_session_that_is_busy_is_subscribed_again_later() {
    let busy = Arc::new(AtomicBool::new(false));
    let fake = sometimes_busy(&busy);
    let options = choose(RevisionChoice::Legacy).with_max_timeout(ms(10_000));
    let client = fake.connect(options).await;
    let mut changes = client.subscribe("a:1").await.unwrap();
    busy.store(true, Ordering::Relaxed);
    fake.peer().inbox.session_renewed();
    fake.clock.advance(ms(499)).await;
    assert_eq!(asked(&fake).len(), 2);
    busy.store(false, Ordering::Relaxed);
    fake.clock.advance(ms(1)).await;
    assert_eq!(asked(&fake), ["resources/subscribe a:1"; 3]);
    fake.peer().say(updated("a:1"));
    assert_eq!(next(&mut changes).await, ChangeKind::Missed.into());
    assert_eq!(next(&mut changes).await, resource("a:1"));
    busy.store(true, Ordering::Relaxed);
    fake.peer().inbox.session_renewed();
    for _ in 0..20 {
        fake.clock.advance(ms(1_000)).await;
    }
    assert_eq!(next(&mut changes).await, ChangeKind::Missed.into());
    assert_eq!(changes.next().await.unwrap().unwrap_err().kind(), ErrorKind::Busy);
}

#[tokio::test]
async fn a_later_subscriber_that_fails_does_not_end_an_earlier_one() {
    let busy = Arc::new(AtomicBool::new(false));
    let fake = sometimes_busy(&busy);
    let client = fake.connect(choose(RevisionChoice::Legacy)).await;
    let mut changes = client.subscribe("a:1").await.unwrap();
    busy.store(true, Ordering::Relaxed);
    fake.peer().inbox.session_renewed();
    settle().await;
    let later = tokio::spawn(async move { client.subscribe("a:1").await.map(drop) });
    fake.clock.advance(ms(500)).await;
    assert_eq!(later.await.unwrap().unwrap_err().kind(), ErrorKind::Busy);
    busy.store(false, Ordering::Relaxed);
    fake.clock.advance(ms(500)).await;
    fake.peer().say(updated("a:1"));
    assert_eq!(next(&mut changes).await, ChangeKind::Missed.into());
    assert_eq!(next(&mut changes).await, resource("a:1"));
}

#[tokio::test]
async fn a_new_session_is_subscribed_again() {
    let fake = legacy();
    let client = fake.connect(choose(RevisionChoice::Legacy)).await;
    let mut changes = client.subscribe("a:1").await.unwrap();
    fake.peer().inbox.session_renewed();
    settle().await;
    assert_eq!(asked(&fake), ["resources/subscribe a:1", "resources/subscribe a:1"]);
    assert_eq!(next(&mut changes).await, ChangeKind::Missed.into());
    fake.peer().inbox.missed();
    assert_eq!(next(&mut changes).await, ChangeKind::Missed.into());
}

#[tokio::test]
async fn the_option_listen_is_a_subscription_to_the_lists_that_are_announced() {
    let fake = modern();
    let events = Heard::default();
    let client =
        fake.open_with(choose(RevisionChoice::Modern).with_listen(true), events.clone()).await.unwrap().unwrap();
    let listen = listens(&fake).remove(0);
    let lists = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    assert_eq!(listen["params"]["notifications"], lists);
    fake.peer().say(tagged(&listen["id"], "notifications/prompts/list_changed", json!({})));
    assert_eq!(events.all(), ["notifications/prompts/list_changed"]);
    let changes = client.subscribe(SubscriptionFilter::default().with_tools(true)).await.unwrap();
    fake.peer().say(tagged(&listens(&fake)[1]["id"], "notifications/tools/list_changed", json!({})));
    assert_eq!(events.all().len(), 1, "the changes of a subscription go to it alone");
    changes.close();
    let id = RequestId::from_json(&listen["id"].to_string()).unwrap();
    fake.peer().inbox.failed(&id, LinkFailure::Broken("the stream broke".into()));
    fake.clock.advance(ms(500)).await;
    let methods = ["prompts", "tools", "prompts", "resources"].map(|list| format!("notifications/{list}/list_changed"));
    assert_eq!(events.all(), methods, "all lists may have changed meanwhile");
}

#[tokio::test]
async fn sub_06_the_option_listen_goes_on_when_a_server_restarts_however_long_that_takes() {
    let away = Arc::new(AtomicBool::new(false));
    let is_away = Arc::clone(&away);
    let fake = fake(declared(), move |peer, message| {
        if message["method"] == LISTEN && !is_away.load(Ordering::Relaxed) {
            acknowledge(peer, message, &message["params"]["notifications"]);
        }
    });
    let events = Heard::default();
    let options = choose(RevisionChoice::Modern).with_listen(true).with_timeout(ms(1_000)).with_max_timeout(ms(1_000));
    let client = fake.open_with(options, events.clone()).await.unwrap().unwrap();
    let mut changes = client.subscribe("a:1").await.unwrap();
    away.store(true, Ordering::Relaxed);
    for listen in listens(&fake) {
        fake.peer().result(&listen, json!({"resultType": "complete"}));
    }
    assert_eq!(changes.next().await, None, "that of the program ends");
    for _ in 0..100 {
        fake.clock.advance(ms(1_000)).await;
    }
    assert_eq!(events.all(), [""; 0]);
    away.store(false, Ordering::Relaxed);
    for _ in 0..31 {
        fake.clock.advance(ms(1_000)).await;
    }
    let methods = ["tools", "prompts", "resources"].map(|list| format!("notifications/{list}/list_changed"));
    assert_eq!(events.all(), methods, "all lists may have changed meanwhile");
    client.close().await;
}
