//! Pages and their cursors.

use super::*;
use crate::{
    protocol::{Revision, model},
    server::{
        Call, CallError, Context, Page, Provider, ProviderDefinition, Server, ServerOptions, ToolDefinition,
        ToolRequest,
        tests::{Peer, server},
    },
};
use std::thread;

fn of_pages_of(page_size: usize) -> Server {
    server().options(ServerOptions { page_size, ..ServerOptions::default() }).build()
}

fn tool(name: String) -> ToolDefinition {
    ToolDefinition::new(json!({"name": name}), |call: Call| {
        call.complete(Outcome::Text(String::new()));
    })
}

async fn page(peer: &Peer, cursor: Option<&Value>) -> (Vec<String>, Option<Value>) {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
    let result = peer.ask("tools/list", params).await["result"].take();
    let tools = result["tools"].as_array().unwrap_or_else(|| panic!("{result}"));
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    (names, result.get("nextCursor").cloned())
}

async fn opened(server: &Server) -> Peer {
    Peer::of(server).in_session(Revision::V2025_11_25, json!({})).await
}

#[tokio::test(start_paused = true)]
async fn pag_05_tool_04_what_is_registered_at_once_is_listed_once() {
    const PER_THREAD: usize = 50;
    let server = of_pages_of(7);
    thread::scope(|scope| {
        for thread in 0..8 {
            let server = &server;
            scope.spawn(move || {
                (0..PER_THREAD).for_each(|count| drop(server.add_tool(tool(format!("t{thread}-{count}"))).unwrap()))
            });
        }
    });
    let peer = opened(&server).await;
    let (mut all, mut next) = page(&peer, None).await;
    while let Some(cursor) = next {
        let more = page(&peer, Some(&cursor)).await;
        all.extend(more.0);
        next = more.1;
    }
    assert_eq!(all, server.names(Category::Tools));
    assert_eq!(all.len(), 8 * PER_THREAD);
}

#[tokio::test(start_paused = true)]
async fn pag_05_cursors_are_the_same_whatever_else_a_server_did() {
    let (quiet, busy) = (of_pages_of(1), of_pages_of(1));
    let (first, second) = (opened(&quiet).await, opened(&busy).await);
    for name in ["a", "b", "c"] {
        quiet.add_tool(tool(name.to_owned())).unwrap();
        opened(&busy).await;
        busy.add_tool(tool(name.to_owned())).unwrap();
    }
    let (_, cursor) = page(&first, None).await;
    assert_eq!(page(&second, None).await.1, cursor);
    busy.remove_tool("a");
    assert_eq!(page(&second, cursor.as_ref()).await.0, ["b"]);
}

/// A provider with two pages of one tool each.
struct Twice(&'static str);

impl Provider for Twice {
    type Item = model::Tool;
    type Output = Outcome;
    type Error = CallError;

    async fn list(&self, _: Context, cursor: Option<String>) -> Result<Page<model::Tool>, CallError> {
        let number = if cursor.is_none() { 1 } else { 2 };
        let tools = [model::Tool::new(format!("{}{number}", self.0), "Does nothing.", json!({"type": "object"}))];
        Ok(if cursor.is_none() { Page::with_next_cursor(tools, "more") } else { Page::last(tools) })
    }

    async fn get(&self, _: Context, _: ToolRequest) -> Result<Option<Outcome>, CallError> {
        Ok(None)
    }
}

#[tokio::test(start_paused = true)]
async fn pag_05_a_cursor_of_a_provider_is_that_providers() {
    let server = of_pages_of(10);
    let add = |name| server.add_provider(ProviderDefinition::from_provider(Twice(name))).unwrap();
    let registered = ["a", "b", "c"].map(add);
    let peer = opened(&server).await;
    let (mut names, mut cursors, mut next) = (Vec::new(), Vec::new(), None);
    loop {
        let (page, following) = page(&peer, next.as_ref()).await;
        names.extend(page);
        cursors.push(next);
        next = following;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(names, ["a1", "a2", "b1", "b2", "c1", "c2"]);
    assert!(registered[0].remove());
    assert_eq!(page(&peer, cursors[3].as_ref()).await.0, ["b2"]);
    assert_eq!(peer.ask("tools/list", json!({"cursor": cursors[1]})).await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn pag_05_a_cursor_that_a_mounted_server_refuses_is_invalid() {
    let (server, mounted) = (of_pages_of(1), of_pages_of(1));
    for name in ["a", "b"] {
        mounted.add_tool(tool(name.to_owned())).unwrap();
    }
    server.mount("m", &mounted).unwrap();
    let peer = opened(&server).await;
    let (names, cursor) = page(&peer, None).await;
    assert_eq!(names, ["m__a"]);
    let cursor = cursor.unwrap();
    let wrong = json!({"cursor": format!("{}-", cursor.as_str().unwrap())});
    assert_eq!(peer.ask("tools/list", wrong).await["error"]["code"], -32602);
    assert_eq!(page(&peer, Some(&cursor)).await.0, ["m__b"]);
}
