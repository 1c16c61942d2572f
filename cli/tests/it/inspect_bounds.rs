//! Bounds of `trunkline inspect`: of requests, connections, calls, questions, subscriptions and
//! texts.

use crate::{
    inspect_page::{Page, Tab},
    program::DEADLINE,
    roles::Role,
    servers::{dead, serve},
};
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    time::Duration,
};
use trunkline::{
    Context, Server,
    protocol::model::{ElicitParams, Field, FormSchema, LoggingLevel},
};

/// Connections, streams, calls and subscriptions at once.
const CONNECTIONS: usize = 256;
const STREAMS: usize = 4;
const CALLS: usize = 64;
const SUBSCRIPTIONS: usize = 100;

fn form(message: &str) -> ElicitParams {
    ElicitParams::form(message, FormSchema::new().required("name", Field::text()))
}

/// A server whose texts are too long.
#[expect(deprecated, reason = "older revisions have log messages")]
fn loud() -> Server {
    Server::builder("loud", "1.0.0")
        .instructions("é".repeat(75_000))
        .tool("log", "Log.", async |ctx: Context| {
            ctx.log(LoggingLevel::Warning, json!("é".repeat(10_000)));
            ""
        })
        .tool("progress", "Report progress.", async |ctx: Context| {
            ctx.progress_message(1.0, None, &"é".repeat(1_000)).await;
            ""
        })
        .tool("ask", "Ask much.", async |ctx: Context| match ctx.elicit(form(&"é".repeat(60_000))).await {
            Ok(_) => "asked".to_owned(),
            Err(error) => error.to_string(),
        })
        .build()
}

fn opened(server: Server) -> (Page, Tab) {
    Page::start(&[serve(server)]).with_tools()
}

#[test]
fn a_command_of_more_than_64_mb_is_refused() {
    let page = Page::start(&[dead()]);
    let response = page.post("ping", &page.authorization(), &json!("x".repeat(64 << 20)));
    assert_eq!(response.status, 413, "{}", response.head);
    assert_eq!(page.post("ping", &page.authorization(), &json!("x".repeat(1 << 20))).status, 400);
}

#[test]
fn further_connections_wait() {
    let page = Page::start(&[dead()]);
    let held = || {
        let mut stream = Page::connect(page.port);
        write!(stream, "GET / HTTP/1.1\r\n").unwrap();
        stream
    };
    let connections: Vec<_> = (0..CONNECTIONS).map(|_| held()).collect();
    let mut late = Page::connect(page.port);
    write!(late, "GET / HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", page.port).unwrap();
    let mut start = [0; 4];
    late.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    assert!(late.read_exact(&mut start).is_err(), "{CONNECTIONS} connections are no bound");
    drop(connections);
    late.set_read_timeout(Some(DEADLINE)).unwrap();
    late.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP");
}

#[test]
fn the_oldest_of_five_tabs_falls_asleep() {
    let page = Page::start(&[dead()]);
    let tabs: Vec<Tab> = (0..=STREAMS).map(|_| page.tab()).collect();
    tabs[0].until(|event| event["event"] == "asleep");
    assert_eq!(tabs[0].next(), None);
    page.done("roots", &json!({"roots": [{"uri": "file:///work"}]}));
    for tab in &tabs[1..] {
        tab.until(|event| event["event"] == "roots");
    }
}

#[test]
fn a_quiet_tab_is_kept_and_a_silent_connection_is_not() {
    let page = Page::start(&[dead()]);
    let tab = page.tab();
    let mut silent = Page::connect(page.port);
    write!(silent, "GET / HTTP/1.1\r\n").unwrap();
    tab.is_kept_alive();
    silent.read_to_end(&mut Vec::new()).expect("it is closed");
}

#[test]
fn no_more_than_64_calls_run_and_the_last_20_are_kept() {
    let page = Page::of_role(Role::Inspected, &[]);
    let tab = page.tab();
    tab.list("modern", "tools");
    let running: Vec<u64> = (0..CALLS).map(|_| page.begin("wait", &json!({}))).collect();
    let call = json!({"era": "modern", "name": "echo", "arguments": {"text": "a"}});
    assert_eq!(page.refused("call", &call)["code"], "busy");
    for id in &running[1..] {
        page.done("cancel", &json!({"call": id}));
        tab.end_of(*id);
    }
    let last = page.call(&tab, "echo", &json!({"text": "a"}))["id"].as_u64().unwrap();
    let calls = page.tab().next().unwrap()["calls"].clone();
    let kept: Vec<u64> = calls.as_array().unwrap().iter().map(|call| call["id"].as_u64().unwrap()).collect();
    // Calls that are running stay.
    let expected: Vec<u64> =
        [running[0]].into_iter().chain(running[CALLS - 19..].iter().copied()).chain([last]).collect();
    assert_eq!(kept, expected);
}

#[test]
fn no_more_than_64_questions_of_a_server_wait() {
    let page = Page::of_role(Role::Crowd, &[]);
    let tab = page.tab();
    tab.list("legacy", "tools");
    let call = json!({"era": "legacy", "name": "ask", "arguments": {}});
    let call = page.done("call", &call)["call"].as_u64().unwrap();
    let text = tab.end_of(call)["result"]["json"]["content"][0]["text"].clone();
    assert!(text.as_str().unwrap().contains("64 requests from the server are already pending"), "{text}");
}

#[test]
fn a_page_has_100_subscriptions_and_each_once() {
    let page = Page::of_role(Role::Inspected, &[]);
    let tab = page.tab();
    tab.connection("legacy", "open");
    let subscribe = |number: usize| json!({"era": "legacy", "uri": format!("note://{number}")});
    for number in (0..SUBSCRIPTIONS).chain([0]) {
        page.done("subscribe", &subscribe(number));
    }
    let problem = page.refused("subscribe", &subscribe(SUBSCRIPTIONS));
    assert!(problem["what"].as_str().unwrap().contains("100 subscriptions"), "{problem}");
    assert_eq!(page.tab().next().unwrap()["subscriptions"].as_array().map(Vec::len), Some(SUBSCRIPTIONS));
    page.done("unsubscribe", &subscribe(0));
    page.done("subscribe", &subscribe(SUBSCRIPTIONS));
}

#[test]
fn long_texts_are_cut() {
    let (page, tab) = opened(loud());
    for era in ["modern", "legacy"] {
        let connection = tab.connection(era, "open");
        let length = connection["instructions"].as_str().map(str::len);
        assert_eq!((length, &connection["instructionsBytes"]), (Some(100_000), &json!(150_000)));
        page.done("logLevel", &json!({"era": era, "level": "debug"}));
        let call = |tool: &str, arguments: Value| {
            page.done("call", &json!({"era": era, "name": tool, "arguments": arguments}))["call"].as_u64().unwrap()
        };
        call("log", json!({}));
        let log = tab.until(|event| event["event"] == "log")["log"]["text"].clone();
        assert_eq!(log.as_str().map(str::len), Some(10_000));
        call("progress", json!({}));
        let progress = tab.until(|event| event["event"] == "progress")["progress"]["message"].clone();
        assert_eq!(progress.as_str().map(str::len), Some(1_000));
        // Refused instead: the person could not read it.
        let ended = tab.end_of(call("ask", json!({}))).to_string();
        assert!(ended.contains("A question of more than 100000 bytes"), "{ended}");
        let id = call("log", json!({"more": "x".repeat(200_000)}));
        assert_eq!(tab.end_of(id)["params"], Value::Null);
    }
}
