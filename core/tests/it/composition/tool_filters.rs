//! Proxies that offer some of the tools of their servers.

use super::{LEGACY, MODERN, connect, soon};
use serde_json::json;
use trunkline::{ClientGroup, ProxyDefinition, ProxyOptions, Server, transport::Target};

fn issues() -> Server {
    Server::builder("issues", "1.0.0")
        .tool("get_issue", "Get.", async || "got")
        .tool("get_secret", "Get.", async || "got")
        .tool("delete_issue", "Delete.", async || "deleted")
        .build()
}

fn options(allow: &[&str], deny: &[&str]) -> ProxyOptions {
    ProxyOptions::default().with_allow_tools(allow.to_vec()).with_deny_tools(deny.to_vec())
}

/// Checks the tools that a server lists, and that it calls exactly these.
async fn offers(server: &Server, prefix: &str, expected: &[&str]) {
    for revision in [LEGACY, MODERN] {
        let client = connect(server, revision).await;
        let tools = soon(client.list_tools()).await.unwrap();
        let mut names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{revision}");
        for tool in ["get_issue", "get_secret", "delete_issue"].map(|tool| format!("{prefix}{tool}")) {
            let called = soon(client.call_tool(&tool, json!({}))).await;
            match called {
                Ok(_) => assert!(expected.contains(&&*tool), "{revision}: {tool} was called"),
                Err(error) => {
                    assert!(!expected.contains(&&*tool), "{revision}: {error}");
                    assert!(error.to_string().contains(&format!("Unknown tool: {tool}")), "{revision}: {error}");
                }
            }
        }
        client.close().await;
    }
}

#[tokio::test]
async fn tools_that_a_proxy_does_not_offer_are_neither_listed_nor_called() {
    let behind = issues();
    for (allow, deny, expected) in [
        (&[][..], &[][..], &["delete_issue", "get_issue", "get_secret"][..]),
        (&["get_*"], &[], &["get_issue", "get_secret"]),
        (&[], &["*delete*", "get_secret"], &["get_issue"]),
        (&["get_*", "delete_issue"], &["*secret"], &["delete_issue", "get_issue"]),
        (&["nothing"], &[], &[]),
    ] {
        for revision in [LEGACY, MODERN] {
            let client = connect(&behind, revision).await;
            for transparent in [true, false] {
                let proxy = ProxyDefinition::new(&client).options(options(allow, deny).with_transparent(transparent));
                let server = Server::builder("gateway", "1.0.0").proxy(proxy).build();
                offers(&server, "", expected).await;
            }
            let proxy = ProxyDefinition::new(&client).options(options(allow, deny).with_prefix("far"));
            let server = Server::builder("gateway", "1.0.0").proxy(proxy).build();
            let expected: Vec<_> = expected.iter().map(|name| format!("far__{name}")).collect();
            offers(&server, "far__", &expected.iter().map(String::as_str).collect::<Vec<_>>()).await;
        }
    }
}

#[tokio::test]
async fn the_patterns_of_a_group_name_its_servers() {
    let behind = issues();
    let servers = ["one", "two"].map(|name| (name, Target::from(&behind)));
    let group = soon(ClientGroup::connect(servers)).await.unwrap();
    let proxy = ProxyDefinition::from_group(&group).options(options(&["one__*", "*__get_issue"], &["one__delete*"]));
    let server = Server::builder("gateway", "1.0.0").proxy(proxy).build();
    offers(&server, "one__", &["one__get_issue", "one__get_secret", "two__get_issue"]).await;
    offers(&server, "two__", &["one__get_issue", "one__get_secret", "two__get_issue"]).await;
}

/// A list shows only the shortened name, so that is what a program copies into a pattern.
#[tokio::test]
async fn the_patterns_of_a_group_match_shortened_and_full_names() {
    const SHORT: &str = "weather__get-forecast_7a67d702";
    let behind = Server::builder("weather", "1.0.0")
        .tool("get.forecast", "Get.", async || "got")
        .tool("get_alert", "Get.", async || "got")
        .build();
    let group = soon(ClientGroup::connect([("weather", Target::from(&behind))])).await.unwrap();
    for (allow, deny, expected) in [
        (&[][..], &[][..], &[SHORT, "weather__get_alert"][..]),
        (&[], &[SHORT], &["weather__get_alert"]),
        (&[], &["weather__get.forecast"], &["weather__get_alert"]),
        (&[], &["*_7a67d702"], &["weather__get_alert"]),
        (&["weather__get-*"], &[], &[SHORT]),
        (&["weather__get.*"], &[], &[SHORT]),
        (&["weather__get.*"], &["weather__get-*"], &[]),
    ] {
        let proxy = ProxyDefinition::from_group(&group).options(options(allow, deny));
        let server = Server::builder("gateway", "1.0.0").proxy(proxy).build();
        for revision in [LEGACY, MODERN] {
            let client = connect(&server, revision).await;
            let tools = soon(client.list_tools()).await.unwrap();
            let mut names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, expected, "{revision} {allow:?} {deny:?}");
            for tool in [SHORT, "weather__get.forecast", "weather__get_alert"] {
                let is_offered = expected.contains(&tool) || expected.contains(&SHORT) && tool.contains('.');
                let called = soon(client.call_tool(tool, json!({}))).await;
                assert_eq!(called.is_ok(), is_offered, "{revision} {allow:?} {deny:?}: {tool}: {called:?}");
            }
        }
    }
}
