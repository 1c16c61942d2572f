//! A server behind a proxy that is replaced while the clients of the proxy stay connected.

use super::{
    Fragile, Heard, LEGACY, MODERN, connect, connect_as,
    proxies::{form, text, user},
    soon, until,
};
use crate::process::{File, child};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, time::timeout};
use trunkline::{
    Client, ClientError, ClientOptions, Context, ProxyDefinition, RevisionChoice, Server, Tool, Upstream,
    client::ErrorKind,
};

/// A version of a server, with a tool that waits for ever, one that asks, and one of its own.
fn version(number: usize, began: &Arc<Notify>) -> Server {
    let began = Arc::clone(began);
    let server = Server::builder("notes", format!("{number}.0.0"))
        .instructions(format!("These are of version {number}."))
        .tool("version", "The version.", move || async move { number.to_string() })
        .tool("wait", "Wait.", move |ctx: Context| {
            let began = Arc::clone(&began);
            async move {
                began.notify_one();
                ctx.cancelled().await;
                "never"
            }
        })
        .tool("ask", "Ask.", async |ctx: Context| {
            let answer = ctx.elicit(form("name")).await?.content.unwrap_or_default();
            trunkline::Ok(answer["name"].as_str().unwrap_or_default().to_owned())
        })
        .tool(format!("only_{number}"), "Only here.", async || "")
        .resource("notes://all", "all", move || async move { number.to_string() })
        .build();
    let changing = server.clone();
    let touch = Tool::new("touch", "Change the resource.", move || {
        let server = changing.clone();
        async move {
            server.resource_updated("notes://all");
            "touched"
        }
    });
    server.add_tool(touch).unwrap();
    server
}

async fn client_of(server: &Server, choice: RevisionChoice, is_lazy: bool) -> Client {
    let options = ClientOptions::default().with_revision(choice).with_lazy(is_lazy);
    soon(Client::connect_with(server, options, ())).await.unwrap()
}

/// A call in flight fails with the reason, later ones reach the new server, and each client has its
/// connection.
#[tokio::test]
async fn clients_stay_connected_and_calls_in_flight_fail_with_the_reason() {
    for behind in [RevisionChoice::Legacy, RevisionChoice::Pinned(MODERN)] {
        for is_lazy in [true, false] {
            let began = Arc::new(Notify::new());
            let shown = Server::builder("dev", "1.0.0").build();
            let first = client_of(&version(1, &began), behind, true).await;
            let upstream = Upstream::add_to(&shown, ProxyDefinition::new(&first).transparent(true)).unwrap();
            assert!(soon(upstream.open()).await.unwrap().is_empty());
            let mut clients = Vec::new();
            for revision in [LEGACY, MODERN] {
                clients.push(connect_as(&shown, user("Ann"), revision).await);
            }
            for number in 2..5 {
                for client in &clients {
                    assert_eq!(text(client, "version").await, (number - 1).to_string());
                }
                let waiting = clients[number % 2].clone();
                let waiting = tokio::spawn(async move { waiting.call_tool("wait", json!({})).await });
                soon(began.notified()).await;
                let next = client_of(&version(number, &began), behind, is_lazy).await;
                assert_eq!(soon(upstream.replace(&next)).await.unwrap(), 1);
                let error = soon(waiting).await.unwrap().unwrap_err();
                let ClientError::Protocol(told) = &error else { panic!("{error:?}") };
                assert_eq!(told.data, Some(json!({"reason": "restarted"})), "{told}");
                let changes = soon(upstream.open()).await.unwrap();
                let lines: Vec<_> = changes.iter().map(ToString::to_string).collect();
                assert_eq!(lines, [format!("- tool only_{}", number - 1), format!("+ tool only_{number}")]);
                for client in &clients {
                    assert_eq!(text(client, "version").await, number.to_string());
                    assert_eq!(text(client, "ask").await, "Ann's name");
                }
            }
            // New clients see the new server.
            let late = connect(&shown, LEGACY).await;
            assert_eq!(late.server_info().unwrap().version, "4.0.0");
            assert_eq!(late.instructions(), Some("These are of version 4."));
        }
    }
}

#[tokio::test]
async fn clients_learn_of_changed_lists_and_keep_their_subscriptions() {
    for behind in [RevisionChoice::Legacy, RevisionChoice::Pinned(MODERN)] {
        for revision in [LEGACY, MODERN] {
            let began = Arc::new(Notify::new());
            let shown = Server::builder("dev", "1.0.0").build();
            let first = client_of(&version(1, &began), behind, true).await;
            let upstream = Upstream::add_to(&shown, ProxyDefinition::new(&first).transparent(true)).unwrap();
            soon(upstream.open()).await.unwrap();
            let heard = Heard::default();
            let client = heard.connect(&shown, revision).await;
            let mut subscribed = soon(client.subscribe("notes://all")).await.unwrap();
            // The same lists: nothing to tell.
            soon(upstream.replace(&client_of(&version(1, &began), behind, true).await)).await.unwrap();
            assert!(soon(upstream.open()).await.unwrap().is_empty());
            assert!(soon(subscribed.next()).await.unwrap().is_ok());
            assert!(!heard.has("notifications/tools/list_changed", ""));
            soon(upstream.replace(&client_of(&version(2, &began), behind, true).await)).await.unwrap();
            soon(upstream.open()).await.unwrap();
            until(|| heard.has("notifications/tools/list_changed", "")).await;
            assert!(!heard.has("notifications/prompts/list_changed", ""));
            assert!(soon(subscribed.next()).await.unwrap().is_ok());
            // A change that the new server announces itself.
            text(&client, "touch").await;
            let change = soon(subscribed.next()).await.unwrap().unwrap();
            assert_eq!(change.uri.as_deref(), Some("notes://all"), "{behind:?} {revision}");
        }
    }
}

/// Requests that come while there is no server wait for it, and fail at once if there is none.
#[tokio::test]
async fn requests_wait_for_the_next_server_or_fail_with_the_reason_why_there_is_none() {
    let began = Arc::new(Notify::new());
    let shown = Server::builder("dev", "1.0.0").build();
    let first = client_of(&version(1, &began), RevisionChoice::Auto, true).await;
    let upstream = Upstream::add_to(&shown, ProxyDefinition::new(&first).transparent(true)).unwrap();
    soon(upstream.open()).await.unwrap();
    let client = connect(&shown, LEGACY).await;
    assert_eq!(soon(upstream.stop("main.py: line 3 is wrong")).await, 0);
    let error = soon(client.call_tool("version", json!({}))).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("line 3 is wrong")), (ErrorKind::Protocol, true), "{error}");
    assert!(soon(upstream.open()).await.is_err());
    let next = client_of(&version(2, &began), RevisionChoice::Auto, true).await;
    soon(upstream.replace(&next)).await.unwrap();
    // Not opened yet: the first request does it.
    assert_eq!(text(&client, "version").await, "2");
    soon(upstream.open()).await.unwrap();
    assert_eq!(soon(client.list_tools()).await.unwrap().len(), 5);
}

/// The program may stop waiting at a time limit.
#[tokio::test(start_paused = true)]
async fn a_replacement_continues_if_nobody_waits_for_it() {
    for behind in [RevisionChoice::Legacy, RevisionChoice::Pinned(MODERN)] {
        let began = Arc::new(Notify::new());
        let shown = Server::builder("dev", "1.0.0").build();
        let connections = Fragile::new(&version(1, &began));
        let options = ClientOptions::default().with_revision(behind).with_lazy(true);
        let first = soon(Client::connect_with(connections.target(), options, ())).await.unwrap();
        let upstream = Upstream::add_to(&shown, ProxyDefinition::new(&first).transparent(true)).unwrap();
        soon(upstream.open()).await.unwrap();
        let client = connect(&shown, MODERN).await;
        let mut subscribed = soon(client.subscribe("notes://all")).await.unwrap();
        for number in 2..4 {
            let next = client_of(&version(number, &began), behind, true).await;
            let replaced = timeout(Duration::from_millis(20), upstream.replace(&next)).await;
            assert_eq!(replaced.is_err(), number == 2, "only the first one has a connection to end");
        }
        let called = tokio::spawn({
            let client = client.clone();
            async move { text(&client, "version").await }
        });
        // Time jumps when nothing else can happen.
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(!called.is_finished());
        connections.may_end.add_permits(1);
        assert_eq!(soon(called).await.unwrap(), "3");
        soon(upstream.open()).await.unwrap();
        assert!(soon(subscribed.next()).await.unwrap().is_ok());
    }
}

/// A server that has crashed is the usual reason to restart it.
#[tokio::test(start_paused = true)]
async fn subscriptions_outlive_a_server_that_fails_before_it_is_replaced() {
    for behind in [RevisionChoice::Legacy, RevisionChoice::Pinned(MODERN)] {
        let began = Arc::new(Notify::new());
        let shown = Server::builder("dev", "1.0.0").build();
        let connections = Fragile::new(&version(1, &began));
        let options = ClientOptions::default().with_revision(behind);
        let first = soon(Client::connect_with(connections.target(), options, ())).await.unwrap();
        let upstream = Upstream::add_to(&shown, ProxyDefinition::new(&first).transparent(true)).unwrap();
        soon(upstream.open()).await.unwrap();
        let client = connect(&shown, MODERN).await;
        let mut subscribed = soon(client.subscribe("notes://all")).await.unwrap();
        connections.cut();
        // Time jumps when nothing else can happen.
        tokio::time::sleep(Duration::from_millis(1)).await;
        soon(upstream.replace(&client_of(&version(2, &began), behind, true).await)).await.unwrap();
        soon(upstream.open()).await.unwrap();
        assert!(soon(subscribed.next()).await.unwrap().is_ok());
        text(&client, "touch").await;
        assert!(soon(subscribed.next()).await.unwrap().is_ok());
    }
}

/// Processes of a replaced server end, those of single callers as well.
#[tokio::test]
async fn the_processes_of_a_replaced_server_have_ended() {
    let file = File::new();
    let shown = Server::builder("dev", "1.0.0").build();
    let options = || ClientOptions::default().with_revision(RevisionChoice::Legacy).with_lazy(true);
    let start = || Client::connect_with(child(super::ROLE, &file), options(), ());
    let first = soon(start()).await.unwrap();
    let upstream = Upstream::add_to(&shown, ProxyDefinition::new(&first)).unwrap();
    soon(upstream.open()).await.unwrap();
    let client = connect_as(&shown, user("Ann"), LEGACY).await;
    assert_eq!(text(&client, "greet").await, "hello Ann's first name Ann's last name");
    assert!(first.pid().is_some());
    let next = soon(start()).await.unwrap();
    soon(upstream.replace(&next)).await.unwrap();
    assert!(first.pid().is_none() && !first.is_connected());
    assert_eq!(text(&client, "greet").await, "hello Ann's first name Ann's last name");
}
