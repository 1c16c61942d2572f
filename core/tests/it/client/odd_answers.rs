//! Odd responses, of which every language makes the same: `tests/odd-answers.json`. Each is read
//! alone, in a group, and behind a proxy.

use super::*;
use crate::process::DEADLINE;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde::Deserialize;
use std::{
    fmt::{Debug, Write},
    future::Future,
};
use tokio::{
    sync::{Mutex as AsyncMutex, mpsc},
    time::timeout,
};
use tower_service::Service;
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};
use trunkline::{
    RevisionChoice, Server,
    client::{ClientGroup, ErrorKind},
    protocol::model::{CompleteArgument, CompletionReference, ContentBlock, Implementation, ResourceContents},
    transport::{Channel, ChannelConnector, HttpOptions, Target},
};

/// A response, and what a client makes of it.
#[derive(Clone, Deserialize)]
struct Row {
    what: String,
    method: String,
    result: String,
    /// The list of tools that the client reads first.
    tools: Option<String>,
    #[serde(default)]
    reads: Value,
    /// Overrides `reads` in a group.
    #[serde(default, rename = "inGroup")]
    in_group: Option<Value>,
    #[serde(default)]
    warns: Vec<String>,
    refused: Option<String>,
}

impl Row {
    fn opens(&self) -> bool {
        matches!(&*self.method, "initialize" | "server/discover")
    }
}

const HELLO: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}},"serverInfo":{"name":"odd","version":"1"}}"#;

/// A server that answers as a row says.
struct Odd {
    row: Row,
    to_client: mpsc::UnboundedSender<Bytes>,
    from_server: AsyncMutex<mpsc::UnboundedReceiver<Bytes>>,
}

impl Channel for Odd {
    async fn send(&self, message: Bytes) -> Result<(), LinkFailure> {
        let message: Value = serde_json::from_slice(&message).unwrap();
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { return Ok(()) };
        let answer = match method {
            method if method == self.row.method => Some(&*self.row.result),
            "initialize" => Some(HELLO),
            "tools/list" => self.row.tools.as_deref(),
            _ => None,
        };
        let answer = match answer {
            Some(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            None => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no {method}"}}}}"#),
        };
        self.to_client.send(answer.into()).map_err(|_| LinkFailure::Closed)
    }

    async fn receive(&self) -> Result<Option<Bytes>, LinkFailure> {
        Ok(self.from_server.lock().await.recv().await)
    }

    async fn close(&self) {}
}

fn target(row: &Row) -> Target {
    let row = row.clone();
    Target::from(ChannelConnector::new(move || {
        let row = row.clone();
        async move {
            let (to_client, from_server) = mpsc::unbounded_channel();
            Ok(Odd { row, to_client, from_server: AsyncMutex::new(from_server) })
        }
    }))
}

fn options(row: &Row) -> ClientOptions {
    // A client with a given revision needs no discovery.
    let revision = (row.method != "server/discover").then_some(RevisionChoice::Pinned(Revision::V2025_11_25));
    revision.into_iter().fold(ClientOptions::default(), ClientOptions::with_revision)
}

fn opened(server: Option<Implementation>, revision: Option<Revision>) -> Value {
    json!({"server": server.map(|server| server.name), "revision": revision.map(Revision::as_str)})
}

/// Reads a row through the client. `prefix` and `scheme` come before names and URIs.
async fn read(client: &Client, row: &Row, prefix: &str, scheme: &str) -> Result<Value, ClientError> {
    let own = |names: Vec<String>| {
        let names: Vec<_> = names.iter().map(|name| name.strip_prefix(prefix).unwrap_or(name)).collect();
        json!({"names": names})
    };
    let named = |name: &str| format!("{prefix}{name}");
    if row.tools.is_some() {
        client.list_tools().await?;
    }
    Ok(match &*row.method {
        "tools/call" => {
            let result = client.call_tool(&named("t"), json!({})).await?;
            json!({"text": result.joined_text(), "isError": result.is_error, "blocks": result.content.len()})
        }
        "tools/list" => own(client.list_tools().await?.into_iter().map(|tool| tool.name).collect()),
        "resources/list" => own(client.list_resources().await?.into_iter().map(|it| it.name).collect()),
        "resources/templates/list" => {
            own(client.list_resource_templates().await?.into_iter().map(|it| it.name).collect())
        }
        "prompts/list" => own(client.list_prompts().await?.into_iter().map(|prompt| prompt.name).collect()),
        "prompts/get" => {
            let messages = client.get_prompt(&named("p"), ()).await?.messages;
            let texts = messages.iter().map(|message| match &message.content {
                ContentBlock::Text(block) => Some(&block.text),
                _ => None,
            });
            json!({"texts": texts.collect::<Vec<_>>()})
        }
        "resources/read" => {
            let contents = client.read_resource(&format!("{scheme}a:b")).await?.contents;
            let texts = contents.iter().map(|one| match one {
                ResourceContents::Text(text) => &text.text,
                ResourceContents::Blob(blob) => &blob.blob,
            });
            json!({"texts": texts.collect::<Vec<_>>()})
        }
        "completion/complete" => {
            let argument = CompleteArgument { name: "a".into(), value: "x".into(), ..Default::default() };
            let result = client.complete(&CompletionReference::prompt(named("p")), &argument, None).await?;
            json!({"values": result.completion.values})
        }
        method => panic!("{method} has no reader"),
    })
}

/// Keeps the warnings of the library.
#[derive(Clone, Default)]
pub(super) struct Warnings(pub(super) Arc<Mutex<Vec<String>>>);

impl Warnings {
    pub(super) fn have(&self, parts: &[String]) -> bool {
        self.0.lock().unwrap().iter().any(|text| parts.iter().all(|part| text.contains(part)))
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("trunkline") && *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        write!(self.0, " {field}={value}").unwrap();
    }
}

/// Plays all rows; `read` leaves some out.
async fn play<F: Future<Output = Option<Result<Value, ClientError>>>>(how: &str, read: impl Fn(Row) -> F) {
    let rows: Vec<Row> = serde_json::from_str(include_str!("../../../../tests/odd-answers.json")).unwrap();
    assert!(rows.len() > 150);
    // With only one subscriber, `tracing` lets the first thread decide for its place in the code.
    let _other = tracing::Dispatch::new(Warnings::default());
    let mut wrong = Vec::new();
    for row in rows {
        let log = Warnings::default();
        let guard = tracing::subscriber::set_default(log.clone());
        let row = if let (true, Some(reads)) = (how == "in a group", &row.in_group) {
            Row { reads: reads.clone(), ..row }
        } else {
            row
        };
        let outcome = timeout(DEADLINE, read(row.clone())).await.expect("it does not end");
        drop(guard);
        let Some(outcome) = outcome else { continue };
        if let Err(problem) = verdict(how, &row, outcome, &log) {
            wrong.push(format!("{}: {}: {problem}: {:?}", row.method, row.what, log.0.lock().unwrap()));
        }
    }
    assert!(wrong.is_empty(), "{how}:\n{}", wrong.join("\n"));
}

fn verdict(how: &str, row: &Row, outcome: Result<Value, ClientError>, log: &Warnings) -> Result<(), String> {
    match (outcome, &row.refused) {
        // Without its list, a server is missing from that of a gateway.
        (Ok(read), Some(refused)) if read == json!({"names": []}) && log.have(std::slice::from_ref(refused)) => Ok(()),
        (Ok(read), Some(_)) => Err(format!("reads {read}")),
        // A gateway does not show its callers what is wrong with its servers, but its log does.
        (Err(error), Some(refused))
            if error.to_string().contains(refused) || log.have(std::slice::from_ref(refused)) =>
        {
            let kinds = [ErrorKind::Transport, ErrorKind::Protocol];
            if kinds.contains(&error.kind()) { Ok(()) } else { Err(format!("{:?}", error.kind())) }
        }
        (Err(error), _) => Err(error.to_string()),
        (Ok(read), None) => {
            let expected = row.reads.as_object().unwrap();
            if let Some(name) = expected.keys().find(|name| read[name.as_str()] != expected[name.as_str()]) {
                return Err(format!("{name} is {}", read[name.as_str()]));
            }
            let is_silent = log.0.lock().unwrap().is_empty();
            // Such a schema is compiled on another thread, where nothing keeps the log.
            let has_pattern = row.tools.as_ref().is_some_and(|tools| tools.contains("pattern"));
            // Alone, a server has only the name that it sends. The client of a gateway checks
            // results, too, and knows only the gateway.
            let is_unnamed = match how {
                "alone" => row.opens(),
                "in a group" => false,
                _ => row.tools.is_some(),
            };
            let named = (!is_unnamed).then(|| " server=odd".to_owned());
            let warns: Vec<_> = row.warns.iter().cloned().chain(named).collect();
            let is_warned = if row.warns.is_empty() { is_silent } else { has_pattern || log.have(&warns) };
            if is_warned { Ok(()) } else { Err("other warnings".to_owned()) }
        }
    }
}

#[tokio::test]
async fn an_odd_response_has_one_verdict() {
    play("alone", |row| async move {
        let client = Client::connect_with(target(&row), options(&row), ()).await;
        Some(match client {
            Ok(client) if row.opens() => Ok(opened(client.server_info(), Some(client.revision()))),
            Ok(client) => self::read(&client, &row, "", "").await,
            Err(error) => Err(error),
        })
    })
    .await;
}

#[tokio::test]
async fn an_odd_response_has_the_same_verdict_in_a_group() {
    play("in a group", |row| async move {
        let group = ClientGroup::connect_with([("odd", target(&row))], options(&row), ()).await.unwrap();
        if !row.opens() {
            return Some(self::read(&group, &row, "odd__", "odd+").await);
        }
        let server = group.servers().remove(0);
        Some(match server.error {
            Some(error) => Err(error),
            None => Ok(opened(server.server_info, server.revision)),
        })
    })
    .await;
}

/// Recorded messages are checked for purity, and a proxy passes on what is odd but usable. If this
/// process records, the test runs in another one that does not.
async fn is_played_unrecorded(test: &str) -> bool {
    const RECORDS: &str = "TRUNKLINE_WIRE_LOG";
    if std::env::var_os(RECORDS).is_none() {
        return false;
    }
    let mut program = tokio::process::Command::new(std::env::current_exe().unwrap());
    program.args([test, "--exact"]).env_remove(RECORDS).kill_on_drop(true);
    let ended = timeout(DEADLINE, program.output()).await.expect("it does not end").unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    true
}

#[tokio::test]
async fn an_odd_response_has_the_same_verdict_behind_a_proxy() {
    if is_played_unrecorded("client::odd_answers::an_odd_response_has_the_same_verdict_behind_a_proxy").await {
        return;
    }
    play("behind a proxy", |row| async move {
        if row.opens() {
            return None;
        }
        let client = Client::connect_with(target(&row), options(&row), ()).await.unwrap();
        let gateway = Server::builder("gateway", "1").proxy(&client).build();
        let front = Client::connect(&gateway).await.unwrap();
        Some(self::read(&front, &row, "", "").await)
    })
    .await;
}

/// A gateway reads leniently and sends strictly: what it says to a client that reads everything as
/// it was written.
#[tokio::test]
async fn a_gateway_passes_on_no_null_for_a_missing_member() {
    if is_played_unrecorded("client::odd_answers::a_gateway_passes_on_no_null_for_a_missing_member").await {
        return;
    }
    for (method, params, result, passed) in nulls() {
        let row = json!({"what": "null for a missing member", "method": method, "result": result.to_string()});
        let row: Row = serde_json::from_value(row).unwrap();
        let client = Client::connect_with(target(&row), options(&row), ()).await.unwrap();
        let gateway = Server::builder("gateway", "1").proxy(&client).build();
        let told = told(&gateway, method, &params).await;
        for (member, passed) in passed.as_object().unwrap() {
            assert_eq!(told["result"].get(member), Some(passed), "{method}: {told}");
        }
    }
}

/// The result of each kind, with `null` for members that it lacks, and what a gateway makes of it.
fn nulls() -> Vec<(&'static str, Value, Value, Value)> {
    let any = json!({});
    let tool = json!({"name": "t", "title": null, "inputSchema": {"default": null}, "outputSchema": null,
        "annotations": {"title": null, "readOnlyHint": null}, "icons": null, "_meta": null, "own": null});
    let text = json!({"type": "text", "text": "hi", "annotations": null});
    let link = json!({"type": "resource_link", "uri": "a:b", "name": "r", "size": null, "title": null});
    vec![
        (
            "tools/list",
            any.clone(),
            json!({"tools": [tool]}),
            json!({"tools": [{"name": "t", "inputSchema": {"default": null}, "annotations": {}, "own": null}]}),
        ),
        (
            "resources/list",
            any.clone(),
            json!({"resources": [{"uri": "a:b", "name": "r", "mimeType": null, "size": null}]}),
            json!({"resources": [{"uri": "a:b", "name": "r"}]}),
        ),
        (
            "resources/templates/list",
            any.clone(),
            json!({"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "r", "annotations": null}]}),
            json!({"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "r"}]}),
        ),
        (
            "prompts/list",
            any,
            json!({"prompts": [{"name": "p", "arguments": [{"name": "a", "required": null}]}]}),
            json!({"prompts": [{"name": "p", "arguments": [{"name": "a"}]}]}),
        ),
        (
            "prompts/get",
            json!({"name": "p"}),
            json!({"description": null, "messages": [{"role": "user", "content": text}]}),
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}),
        ),
        (
            "resources/read",
            json!({"uri": "a:b"}),
            json!({"contents": [{"uri": "a:b", "text": null, "blob": "aGk=", "mimeType": null}]}),
            json!({"contents": [{"uri": "a:b", "blob": "aGk="}]}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "x"}}),
            json!({"completion": {"values": ["a"], "total": null, "hasMore": null}}),
            json!({"completion": {"values": ["a"]}}),
        ),
        (
            "tools/call",
            json!({"name": "t"}),
            json!({"content": [link], "isError": null, "structuredContent": {"a": null}}),
            json!({"content": [{"type": "resource_link", "uri": "a:b", "name": "r"}], "structuredContent": {"a": null}}),
        ),
    ]
}

/// The response of a server to a legacy client, as it is written.
async fn told(server: &Server, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-11-25")
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let mut service = server.clone().into_service_with(HttpOptions::default().with_json(true).with_stateless(true));
    let response = service.call(request).await.unwrap();
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// In the form of 2025-11-25, where only `content` tells a result from a task.
#[tokio::test]
async fn a_task_that_was_not_asked_for_is_no_result() {
    let task = json!({"task": {"taskId": "t", "status": "working", "ttl": null}}).to_string();
    let row = json!({"what": "a task", "method": "tools/call", "result": task});
    let row: Row = serde_json::from_value(row).unwrap();
    let client = Client::connect_with(target(&row), options(&row), ()).await.unwrap();
    let error = client.call_tool("t", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("created a task for a call that did not ask for one"), "{error}");
}
