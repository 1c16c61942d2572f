//! Receivers of notifications.

use crate::{
    protocol::{
        Revision,
        model::{ElicitParams, ElicitUrlParams},
    },
    server::{
        Context, Resource, Server, ServerOptions, Tool,
        tests::{Peer, accept, modern, server, text_of},
    },
    wire_log::Transport,
};
use serde_json::{Value, json};

fn of_two() -> Server {
    let resource = |uri| Resource::new(uri, "r", || async { "text" });
    server().add_resource(resource("a:1")).add_resource(resource("a:2")).build()
}

async fn listen(peer: &Peer, uris: &[impl serde::Serialize]) -> u64 {
    let id = peer
        .request("subscriptions/listen", modern(json!({"notifications": {"resourceSubscriptions": uris}}), json!({})));
    peer.received("notifications/subscriptions/acknowledged").await;
    id
}

fn uris(told: &[Value]) -> Vec<&str> {
    told.iter().map(|message| message["params"]["uri"].as_str().unwrap_or_else(|| panic!("{message}"))).collect()
}

#[tokio::test(start_paused = true)]
async fn sub_02_a_stream_hears_of_what_changes_after_it_was_opened() {
    let server = of_two();
    let peer = Peer::of(&server);
    let id = listen(&peer, &["a:1"]).await;
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    server.resource_updated("a:1");
    listen(&peer, &["a:1", "a:2"]).await;
    server.resource_updated("a:2");
    assert_eq!(uris(&peer.rest().await), ["a:2"]);
}

/// RPC-03: an id is kept digit for digit. No number type can hold such a one.
#[tokio::test(start_paused = true)]
async fn sub_03_and_sub_06_a_stream_may_have_an_id_of_any_length() {
    let server = of_two();
    let peer = Peer::of(&server);
    let id = "9".repeat(400);
    let params = modern(json!({"notifications": {"resourceSubscriptions": ["a:1"]}}), json!({}));
    peer.send_text(
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{params}}}"#),
        None,
    );
    let tag = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
    let acknowledged = peer.text_with("notifications/subscriptions/acknowledged").await;
    assert!(acknowledged.contains(&tag), "{acknowledged}");
    server.resource_updated("a:1");
    let updated = peer.text_with("notifications/resources/updated").await;
    assert!(updated.contains(&tag) && updated.contains(r#""uri":"a:1""#), "{updated}");
    peer.connection.end_subscriptions();
    let ended = peer.text_with("complete").await;
    let tag = format!(r#""io.modelcontextprotocol/subscriptionId":{id},"#);
    assert!(
        ended.contains(&format!(r#""id":{id},"#)) && ended.contains(&tag) && ended.contains("serverInfo"),
        "{ended}"
    );
    let cancelled = peer.text_with("notifications/cancelled").await;
    assert!(cancelled.contains(&format!(r#""requestId":{id}"#)), "{cancelled}");
}

#[tokio::test(start_paused = true)]
async fn life_05_changes_that_a_session_missed_are_not_repeated_on_streams() {
    let server = of_two();
    let peer = Peer::of(&server);
    let info = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": Revision::V2025_11_25.as_str(), "capabilities": {}, "clientInfo": info});
    peer.ask("initialize", params).await;
    listen(&peer, &["a:1", "a:2"]).await;
    for uri in ["a:1", "a:2"] {
        server.resource_updated(uri);
        assert_eq!(uris(&peer.rest().await), [uri]);
    }
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(peer.rest().await, [] as [Value; 0], "it has subscribed to nothing");
}

#[tokio::test(start_paused = true)]
async fn changes_made_together_are_one_notification() {
    let server = of_two();
    let peer = Peer::of(&server);
    listen(&peer, &["a:1", "a:2"]).await;
    for uri in ["a:2", "a:1", "a:2", "a:2"] {
        server.resource_updated(uri);
    }
    assert_eq!(uris(&peer.rest().await), ["a:1", "a:2"]);
}

/// Notifications without a subscriber are not kept, however long no client can be reached.
#[tokio::test(start_paused = true)]
async fn only_what_is_watched_is_kept() {
    let server = of_two();
    let (before, after) = (Peer::of(&server), Peer::of(&server));
    let info = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": Revision::V2025_11_25.as_str(), "capabilities": {}, "clientInfo": info});
    before.ask("initialize", params).await;
    let subscribed = before.ask("resources/subscribe", json!({"uri": "a:1"})).await;
    assert!(subscribed["result"].is_object(), "{subscribed}");
    let after = after.in_session(Revision::V2025_11_25, json!({})).await;
    listen(&after, &[""; 0]).await;
    for number in 0..1000 {
        server.resource_updated(&format!("a:{number}"));
    }
    let kept = |peer: &Peer| peer.connection.session.pending.lock().resources.len();
    assert_eq!((kept(&before), kept(&after)), (1, 0));
}

/// Opens a page under the id that its argument names.
fn opens_pages() -> Server {
    let open = |ctx: Context| async move {
        let arguments: Value = ctx.arguments().parse()?;
        let page = ElicitUrlParams {
            mode: "url".to_owned(),
            message: "Sign in".to_owned(),
            url: "https://example.com/".to_owned(),
            elicitation_id: arguments["id"].as_str().map(str::to_owned),
            ..ElicitUrlParams::default()
        };
        ctx.elicit(ElicitParams::Url(page)).await?;
        crate::Ok("opened")
    };
    let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    server().add_tool(Tool::new("open", "Opens a page.", open).input_schema(schema)).build()
}

#[tokio::test(start_paused = true)]
async fn eli_28_completion_is_only_sent_to_the_clients_that_got_the_id() {
    let server = opens_pages();
    let peer = async || Peer::of(&server).in_session(Revision::V2025_11_25, json!({"elicitation": {"url": {}}})).await;
    let (bystander, one, two, other) = (peer().await, peer().await, peer().await, peer().await);
    for (peer, id) in [(&one, "shared"), (&two, "shared"), (&other, "alone")] {
        let call = peer.request("tools/call", json!({"name": "open", "arguments": {"id": id}}));
        let asked = peer.received("elicitation/create").await;
        assert_eq!(asked["params"]["elicitationId"], id);
        peer.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(json!({}))}));
        assert_eq!(text_of(&peer.answer(call).await), "opened");
    }
    let notification =
        |id| json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": id}});
    assert!(!server.elicitation_complete("unknown"));
    assert!(server.elicitation_complete("shared"));
    assert_eq!(one.rest().await, [notification("shared")]);
    assert_eq!(two.rest().await, [notification("shared")], "the first of them is not the only one");
    assert!(!server.elicitation_complete("shared"), "it is complete once");
    assert!(server.elicitation_complete("alone"));
    assert_eq!(other.rest().await, [notification("alone")]);
    for peer in [&bystander, &one, &two] {
        assert_eq!(peer.rest().await, [] as [Value; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn names_of_all_sessions_and_streams_are_bounded_together() {
    let resource = |uri| Resource::new(uri, "r", || async { "text" });
    let options = ServerOptions::default().with_max_subscription_bytes(600);
    let server = server().options(options).add_resource(resource("a:1")).add_resource(resource("a:2")).build();
    let peer = async |principal| {
        Peer::with(&server, Transport::Http, principal).in_session(Revision::V2025_11_25, json!({})).await
    };
    let subscribe = async |peer: &Peer, uri: &str| {
        let answer = peer.ask("resources/subscribe", json!({"uri": uri})).await;
        answer["error"]["data"]["reason"].as_str().map(str::to_owned)
    };
    let busy = Some("busy".to_owned());
    let (ada, again) = (peer(Some("ada")).await, peer(Some("ada")).await);
    assert_eq!(subscribe(&ada, "a:1").await, None);
    assert_eq!(subscribe(&again, "a:2").await, busy, "a quarter for one principal, whatever its sessions");
    let (one, two) = (peer(None).await, peer(None).await);
    assert_eq!(
        [subscribe(&one, "a:1").await, subscribe(&one, "a:2").await, subscribe(&two, "a:1").await],
        [None, None, None]
    );
    assert_eq!(subscribe(&two, "a:2").await, busy, "all sessions together");
    let listened = two
        .ask("subscriptions/listen", modern(json!({"notifications": {"resourceSubscriptions": ["a:2"]}}), json!({})));
    assert_eq!(listened.await["error"]["data"]["reason"], "busy", "and streams");
    drop(one);
    assert_eq!(subscribe(&two, "a:2").await, None, "a session that has ended");
}
