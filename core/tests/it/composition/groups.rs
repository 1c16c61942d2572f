//! Groups behind another server: all of their servers at once.

use super::{
    Fragile, Heard, LEGACY, MODERN, connect, connect_as,
    proxies::{client, remote, text, user},
    soon, until,
};
use crate::process::fixed_port;
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};
use trunkline::{
    Client, ClientGroup, ClientOptions, Context, ProxyDefinition, RevisionChoice, Server, ServerBuilder, Tool,
    protocol::method, server::Next, transport::Target,
};

fn named(name: &'static str) -> ServerBuilder {
    Server::builder(name, "1.0.0").tool("whoami", "Give the name.", move || async move { name }).resource(
        "own://name",
        "name",
        move || async move { name },
    )
}

/// A group of which one server cannot be reached.
async fn group() -> ClientGroup {
    let servers = [
        ("a", Target::from(&remote())),
        ("b", Target::from(&named("b").build())),
        ("gone", Target::from("http://127.0.0.1:1/mcp")),
    ];
    soon(ClientGroup::connect(servers)).await.unwrap()
}

async fn tools(client: &Client) -> BTreeSet<String> {
    soon(client.list_tools()).await.unwrap().into_iter().map(|tool| tool.name).collect()
}

#[tokio::test]
async fn every_server_of_a_group_is_shown_and_asks_each_caller() {
    for (old, new) in [(LEGACY, MODERN), (MODERN, LEGACY), (LEGACY, LEGACY), (MODERN, MODERN)] {
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(old));
        let servers = [("a", Target::from(&remote())), ("b", Target::from(&named("b").build()))];
        let group = soon(ClientGroup::connect_with(servers, options, ())).await.unwrap();
        let gateway = Server::builder("gateway", "1.0.0").tool("own", "Own.", async || "own").proxy(&group).build();
        let (ann, bob) = (connect_as(&gateway, user("Ann"), new).await, connect_as(&gateway, user("Bob"), new).await);
        let names = tools(&ann).await;
        for name in ["own", "a__sum", "a__greet", "b__whoami"] {
            assert!(names.contains(name), "{name} is not in {names:?}, {old} behind {new}");
        }
        assert_eq!(text(&ann, "b__whoami").await, "b");
        assert_eq!(text(&ann, "own").await, "own");
        let (one, other) = tokio::join!(text(&ann, "a__greet"), text(&bob, "a__greet"));
        assert_eq!(one, "hello Ann's first name Ann's last name", "{old} behind {new}");
        assert_eq!(other, "hello Bob's first name Bob's last name", "{old} behind {new}");
        let read = soon(ann.read_resource("b+own://name")).await.unwrap();
        assert_eq!(read.contents[0].as_text(), Some("b"));
        let error = soon(ann.call_tool("c__whoami", json!({}))).await.unwrap_err();
        assert!(error.to_string().contains("c__whoami"), "{error}");
    }
}

/// Time is stopped, and jumps to the next timer as soon as nothing else can happen.
#[tokio::test(start_paused = true)]
async fn servers_that_never_send_their_lists_delay_the_others_by_one_time_limit() {
    let hanging = || {
        let hang = |_: Context, next: Next| async move {
            if next.method() == method::TOOLS_LIST {
                std::future::pending::<()>().await;
            }
            next.run().await.map_err(Into::into)
        };
        named("hanging").middleware(hang)
    };
    for revision in [LEGACY, MODERN] {
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
        let (first, last) = (named("b").build(), named("d").build());
        let (hangs, too) = (hanging().build(), hanging().build());
        let servers = [("a", &hangs), ("b", &first), ("c", &too), ("d", &last)];
        let group = ClientGroup::connect_with(servers, options, ()).await.unwrap();
        let proxied = connect(&Server::builder("gateway", "1.0.0").proxy(&group).build(), revision).await;
        let (far, too_far) = (client(&hangs, revision).await, client(&too, revision).await);
        let gateway = Server::builder("gateway", "1.0.0")
            .proxy(ProxyDefinition::new(&far).prefix("a"))
            .mount("b", &first)
            .proxy(ProxyDefinition::new(&too_far).prefix("c"))
            .mount("d", &last);
        let gateway = connect(&gateway.build(), revision).await;
        for front in [&group as &Client, &proxied, &gateway] {
            let start = tokio::time::Instant::now();
            let names: Vec<_> = front.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
            assert_eq!(names, ["b__whoami", "d__whoami"], "{revision}");
            assert!(start.elapsed() < Duration::from_secs(15), "{revision}: {:?}", start.elapsed());
        }
    }
}

#[tokio::test]
async fn servers_of_a_proxied_group_are_added_and_removed() {
    let group = group().await;
    let gateway = Server::builder("gateway", "1.0.0").build();
    let proxy = gateway.proxy(ProxyDefinition::from_group(&group).prefix("all")).unwrap();
    let heard = Heard::default();
    let front = heard.connect(&gateway, MODERN).await;
    assert!(tools(&front).await.contains("all__b__whoami"));
    let error = soon(front.call_tool("all__gone__x", json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("behind this one gave no result"), "{error}");

    let late = named("late").build();
    soon(group.add_server("late", Target::from(&late))).await.unwrap();
    until(|| heard.has(method::TOOLS_LIST_CHANGED, "")).await;
    assert_eq!(text(&front, "all__late__whoami").await, "late");
    let mut changes = soon(front.subscribe("all+late+own://name")).await.unwrap();
    late.resource_updated("own://name");
    let change = soon(changes.next()).await.unwrap().unwrap();
    assert_eq!(change.uri.as_deref(), Some("all+late+own://name"));
    late.add_tool(Tool::new("more", "More.", async || "more")).unwrap();
    until(|| heard.has(method::TOOLS_LIST_CHANGED, "")).await;
    assert_eq!(text(&front, "all__late__more").await, "more");

    soon(group.remove_server("b")).await.unwrap();
    assert!(soon(front.call_tool("all__b__whoami", json!({}))).await.is_err());
    assert!(!tools(&front).await.iter().any(|name| name.starts_with("all__b__")));
    assert_eq!(text(&front, "all__late__whoami").await, "late");
    assert!(proxy.remove());
    assert!(tools(&front).await.is_empty());
    assert_eq!(text(&group, "late__whoami").await, "late", "the group stays open");
}

#[tokio::test]
async fn a_server_of_a_proxied_group_is_connected_to_when_it_is_needed() {
    let port = fixed_port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let servers = [("far", Target::from(url.as_str())), ("b", Target::from(&named("b").build()))];
    let group = soon(ClientGroup::connect(servers)).await.unwrap();
    let gateway = Server::builder("gateway", "1.0.0").proxy(&group).build();
    let front = connect(&gateway, MODERN).await;
    assert_eq!(tools(&front).await, BTreeSet::from(["b__whoami".to_owned()]));
    let error = soon(front.call_tool("far__whoami", json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("behind this one"), "{error}");
    let _again = named("far").build().listen(("127.0.0.1", port)).await.unwrap();
    assert_eq!(text(&front, "far__whoami").await, "far");
    assert!(tools(&front).await.contains("far__whoami"));
}

/// A call of a client reconnects it, or the program that has the group.
#[tokio::test]
async fn subscriptions_survive_when_a_server_of_a_proxied_group_is_connected_again() {
    for (behind, front) in [(LEGACY, MODERN), (MODERN, LEGACY), (LEGACY, LEGACY), (MODERN, MODERN)] {
        for by_group in [false, true] {
            let far = named("far").build();
            let connections = Fragile::new(&far);
            let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(behind));
            let group = soon(ClientGroup::connect_with([("far", connections.target())], options, ())).await.unwrap();
            let gateway = Server::builder("gateway", "1.0.0").proxy(&group).build();
            let client = connect(&gateway, front).await;
            let mut changes = soon(client.subscribe("far+own://name")).await.unwrap();
            for _ in 0..2 {
                connections.cut();
                until(|| group.servers()[0].error.is_some()).await;
                if by_group {
                    soon(group.reconnect_server("far")).await.unwrap();
                } else {
                    assert_eq!(text(&client, "far__whoami").await, "far");
                }
                // Changes may have been missed.
                let change = soon(changes.next()).await.unwrap().unwrap();
                assert_eq!(change.uri.as_deref(), Some("far+own://name"), "{behind} behind {front}");
                far.resource_updated("own://name");
                assert!(soon(changes.next()).await.unwrap().is_ok(), "{behind} behind {front}");
            }
        }
    }
}

#[tokio::test]
async fn a_group_that_would_not_end_is_refused() {
    let gateway = Server::builder("gateway", "1.0.0").build();
    let circle = soon(ClientGroup::connect([("me", Target::from(&gateway))])).await.unwrap();
    let error = gateway.proxy(&circle).unwrap_err().to_string();
    assert!(error.contains("\"me\"") && error.contains("this server itself"), "{error}");
    let (inner, outer) = (group().await, soon(ClientGroup::connect([] as [(&str, Target); 0])).await.unwrap());
    soon(outer.add_server("inner", &*inner)).await.unwrap();
    let error = gateway.proxy(&outer).unwrap_err().to_string();
    assert!(error.contains("itself a group"), "{error}");
    // One that responds later is left out.
    soon(outer.remove_server("inner")).await.unwrap();
    gateway.proxy(&outer).unwrap();
    soon(outer.add_server("inner", &*inner)).await.unwrap();
    soon(outer.add_server("me", Target::from(&gateway))).await.unwrap();
    soon(outer.add_server("b", Target::from(&named("b").build()))).await.unwrap();
    let front = connect(&gateway, MODERN).await;
    assert_eq!(tools(&front).await, BTreeSet::from(["b__whoami".to_owned()]));
}
