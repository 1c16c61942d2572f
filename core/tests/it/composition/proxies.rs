//! Remote servers behind another one: every pair of eras, over every transport.

#![expect(deprecated, reason = "older revisions have it")]

use super::{Heard, LEGACY, MODERN, ROLE, connect, connect_as, soon, until};
use crate::{
    log::{Records, another_subscriber},
    process::{File, child, fixed_port},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, task::JoinHandle, time::timeout};
use trunkline::{
    CallError, Client, ClientError, ClientGroup, ClientOptions, Context, HttpOptions, Json, Listener, Params,
    ProxyDefinition, RequestOptions, Revision, RevisionChoice, RpcError, Server, ServerOptions, Tool, ToolError,
    auth::{Authorization, AuthorizationOptions, Identity, Verification},
    client::{ClientBuilder, ElicitRequest, HandlerError, SampleRequest},
    protocol::{
        RawJson, method,
        model::{
            self, CompleteArgument, CompleteParams, CompletionReference, CreateMessageParams, CreateMessageResult,
            ElicitParams, ElicitResult, Field, FormSchema, LoggingLevel, Root, SamplingMessage,
        },
    },
    schemars::JsonSchema,
    server::{CacheHints, CacheScope, CompletionTarget, Next, Page, Provider, ToolRequest},
    transport::{HttpEndpoint, Target},
};

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(serde::Serialize, JsonSchema)]
struct Total {
    total: i64,
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

pub(super) fn form(question: &str) -> ElicitParams {
    ElicitParams::form(question, FormSchema::new().required("name", Field::text()))
}

/// Does something when it is dropped.
pub(super) struct OnDrop(pub(super) Box<dyn Fn() + Send>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A server with everything that can pass a proxy.
pub(super) fn remote() -> Server {
    Server::builder("remote", "1.0.0")
        .tool("sum", "Add.", async |Params(given): Params<Sum>| Json(Total { total: given.a + given.b }))
        .tool("context", "Give the trace context of the call.", async |ctx: Context| {
            let meta: Value = ctx.meta().map(|meta| meta.parse().unwrap()).unwrap_or_default();
            json!({"traceparent": meta["traceparent"], "baggage": meta["baggage"]}).to_string()
        })
        .tool("meta", "Give the metadata of the call.", async |ctx: Context| {
            let meta: Value = ctx.meta().map(|meta| meta.parse().unwrap()).unwrap_or_default();
            meta["example.com/trace"].to_string()
        })
        .tool("fail", "Fail.", async || {
            let error = RpcError::new(4050, "no such thing").with_data(json!({"place": 7}));
            Err::<String, ToolError>(error.into())
        })
        .tool("greet", "Ask twice, and greet.", async |ctx: Context| {
            let first = ctx.elicit(form("first name")).await?.content.unwrap_or_default();
            let last = ctx.elicit(form("last name")).await?.content.unwrap_or_default();
            trunkline::Ok(format!("hello {} {}", first["name"].as_str().unwrap(), last["name"].as_str().unwrap()))
        })
        .tool("ask", "Ask the model and for the roots.", async |ctx: Context| {
            let roots = ctx.list_roots().await?;
            let message = SamplingMessage::user(roots[0].uri.as_str());
            let answer = ctx.sample(CreateMessageParams::new([message], 100)).await?;
            trunkline::Ok(serde_json::to_string(&answer.content)?)
        })
        .tool("count", "Count, and report it.", async |ctx: Context| {
            for step in 1..=3 {
                ctx.progress(f64::from(step), Some(3.0)).await;
            }
            ctx.log(LoggingLevel::Warning, "counted");
            "counted"
        })
        .tool("wait", "Wait for the end.", async |ctx: Context| {
            // Reports the cancellation by ending.
            let name = ctx.meta().and_then(|meta| meta.parse::<Value>().ok()).unwrap_or_default();
            if let Some(file) = name["example.com/file"].as_str().map(str::to_owned) {
                std::fs::write(&file, "began").unwrap();
                let _end = OnDrop(Box::new(move || std::fs::write(&file, "ended").unwrap()));
                ctx.cancelled().await;
            } else {
                ctx.cancelled().await;
            }
            "never"
        })
        .resource("remote://map", "map", async || "a map")
        .resource_template("remote://city/{city}", "city", async |Params(given): Params<City>| given.city)
        .prompt("packing", "What to pack.", async |Params(given): Params<City>| format!("boots for {}", given.city))
        .completion(CompletionTarget::Prompt("packing".into()), "city", async |asked: CompleteParams| {
            vec![format!("{}slo", asked.argument.value)]
        })
        .build()
}

/// The path to the remote server.
#[derive(Debug, Clone, Copy)]
enum Way {
    Memory,
    Stdio,
    Http,
}

/// A remote server reached over one transport in one revision, and its guard.
struct Behind {
    client: Client,
    _listener: Option<Listener>,
    _file: File,
}

async fn behind(way: Way, revision: Revision) -> Behind {
    let (file, mut listener) = (File::new(), None);
    let target: Target = match way {
        Way::Memory => (&remote()).into(),
        Way::Stdio => child(ROLE, &file).into(),
        Way::Http => {
            let opened = remote().listen("127.0.0.1:0").await.unwrap();
            let url = opened.url().unwrap();
            listener = Some(opened);
            url.as_str().into()
        }
    };
    Behind { client: client(target, revision).await, _listener: listener, _file: file }
}

pub(super) async fn client(target: impl Into<Target>, revision: Revision) -> Client {
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
    soon(Client::connect_with(target, options, ())).await.unwrap()
}

/// A server with nothing but the remote one.
fn gateway(client: &Client) -> Server {
    Server::builder("gateway", "1.0.0").proxy(client).build()
}

/// Answers everything, in the name of one user.
pub(super) fn user(name: &'static str) -> ClientBuilder {
    Client::builder()
        .on_elicit(move |asked: ElicitRequest| async move {
            let content = json!({"name": format!("{name}'s {}", asked.message)});
            Ok::<_, HandlerError>(ElicitResult::accept(content.as_object().unwrap().clone()))
        })
        .on_sample(async |asked: SampleRequest| {
            let heard = serde_json::to_value(&asked.params.messages[0].content).unwrap();
            let text = heard.get("text").or_else(|| heard[0].get("text")).unwrap().as_str().unwrap().to_owned();
            Ok::<_, HandlerError>(CreateMessageResult {
                model: "model".into(),
                content: format!("seen {text}").as_str().into(),
                ..CreateMessageResult::default()
            })
        })
        .roots([Root::new(format!("file:///{name}"))])
}

pub(super) async fn text(client: &Client, tool: &str) -> String {
    soon(client.call_tool(tool, json!({}))).await.unwrap().joined_text()
}

#[tokio::test]
async fn every_pair_of_eras_works_over_every_transport() {
    for way in [Way::Memory, Way::Stdio, Way::Http] {
        for (old, new) in [(LEGACY, MODERN), (MODERN, LEGACY), (Revision::V2025_06_18, MODERN), (MODERN, MODERN)] {
            let behind = behind(way, old).await;
            let front = connect_as(&gateway(&behind.client), user("Ann"), new).await;
            everything_passes(&front, &format!("{way:?}, {old} behind {new}")).await;
        }
    }
}

/// As in a group: the server is missing, and its neighbors are there.
#[tokio::test]
async fn pag_04_a_remote_list_that_does_not_end_costs_the_others_nothing() {
    struct Endless(AtomicUsize, bool);

    impl Provider for Endless {
        type Item = model::Tool;
        type Output = String;
        type Error = CallError;

        async fn list(&self, _: Context, cursor: Option<String>) -> Result<Page<model::Tool>, CallError> {
            if self.1 && cursor.is_some() {
                return Err(RpcError::invalid_params("Invalid cursor").into());
            }
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            let schema = json!({"type": "object"});
            let tools = (0..500).map(|each| model::Tool::new(format!("t{number}-{each}"), "A tool.", schema.clone()));
            Ok(Page::with_next_cursor(tools, if self.1 { "refused".to_owned() } else { number.to_string() }))
        }

        async fn get(&self, _: Context, _: ToolRequest) -> Result<Option<String>, CallError> {
            Ok(None)
        }
    }

    for refuses_cursors in [false, true] {
        for revision in [LEGACY, MODERN] {
            let endless =
                Server::builder("endless", "1.0.0").provider(Endless(AtomicUsize::new(0), refuses_cursors)).build();
            let (endless, good) = (client(&endless, revision).await, client(&remote(), revision).await);
            let server = Server::builder("gateway", "1.0.0");
            let bad = ProxyDefinition::new(&endless).prefix("bad");
            let server = server.proxy(bad).proxy(ProxyDefinition::new(&good).prefix("good"));
            let caller = connect(&server.build(), revision).await;
            let tools = timeout(Duration::from_secs(60), caller.list_tools()).await.unwrap().unwrap();
            assert!(tools.iter().any(|tool| tool.name == "good__sum"), "{revision}");
            assert!(tools.iter().all(|tool| tool.name.starts_with("good__")), "{revision}");
        }
    }
}

#[tokio::test]
async fn cch_13_contents_without_hints_are_not_kept_like_the_lists_of_the_gateway() {
    let shared = CacheHints::default().with_ttl(Duration::from_secs(60)).with_scope(CacheScope::Public);
    for revision in [LEGACY, MODERN] {
        let behind = client(&remote(), revision).await;
        let options = ServerOptions::default().with_cache(shared);
        let gateway = Server::builder("gateway", "1.0.0").options(options).proxy(&behind).build();
        let front = connect(&gateway, MODERN).await;
        let hints = async |method: &str, params: Value| {
            let params = RawJson::from_value(&params).unwrap();
            let result = soon(front.request(method, Some(&params), &RequestOptions::default())).await.unwrap();
            let result: Value = result.parse().unwrap();
            (result["ttlMs"].clone(), result["cacheScope"].clone())
        };
        let read = hints(method::RESOURCES_READ, json!({"uri": "remote://map"})).await;
        assert_eq!(read, (json!(0), json!("private")), "{revision}");
        assert_eq!(hints(method::RESOURCES_LIST, json!({})).await, (json!(60_000), json!("public")), "{revision}");
    }
}

async fn everything_passes(front: &Client, pair: &str) {
    let tools = soon(front.list_tools()).await.unwrap();
    assert_eq!(tools[0].name, "sum", "{pair}");
    assert!(tools[0].output_schema.is_some(), "{pair}");
    let sum = soon(front.call_tool("sum", json!({"a": 1, "b": 2}))).await.unwrap();
    assert_eq!(sum.structured_content, Some(json!({"total": 3})), "{pair}");
    assert_eq!(text(front, "greet").await, "hello Ann's first name Ann's last name", "{pair}");
    assert!(text(front, "ask").await.contains("seen file:///Ann"), "{pair}");
    let error = soon(front.call_tool("fail", json!({}))).await.unwrap_err();
    let error = error.rpc().unwrap();
    assert_eq!(
        (error.code, &*error.message, &error.data),
        (4050, "no such thing", &Some(json!({"place": 7}))),
        "{pair}"
    );
    let wrong = soon(front.call_tool("sum", json!({"a": "x"}))).await;
    assert!(wrong.is_err() || wrong.unwrap().is_error, "{pair}");
    assert_eq!(soon(front.call_tool("nothing", json!({}))).await.unwrap_err().rpc().unwrap().code, -32602, "{pair}");

    assert_eq!(soon(front.read_resource("remote://map")).await.unwrap().contents[0].as_text(), Some("a map"), "{pair}");
    assert_eq!(soon(front.list_resources()).await.unwrap()[0].uri, "remote://map");
    assert_eq!(soon(front.list_resource_templates()).await.unwrap()[0].uri_template, "remote://city/{city}");
    let read = soon(front.read_resource("remote://city/Rome")).await.unwrap();
    assert_eq!(read.contents[0].as_text(), Some("Rome"), "{pair}");
    assert_eq!(soon(front.list_prompts()).await.unwrap()[0].name, "packing");
    let filled = soon(front.get_prompt("packing", json!({"city": "Oslo"}))).await.unwrap();
    assert!(serde_json::to_string(&filled).unwrap().contains("boots for Oslo"), "{pair}");
    let argument = CompleteArgument { name: "city".into(), value: "O".into(), ..CompleteArgument::default() };
    let completed = soon(front.complete(&CompletionReference::prompt("packing"), &argument, None)).await.unwrap();
    assert_eq!(completed.completion.values, ["Oslo"], "{pair}");

    let steps = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&steps);
    let hook = move |params: &RawJson| kept.lock().unwrap().push(params.parse::<Value>().unwrap()["progress"].clone());
    let options = RequestOptions::default().with_on_progress(Some(Arc::new(hook)));
    soon(front.call_tool_with("count", json!({}), &options)).await.unwrap();
    assert_eq!(*steps.lock().unwrap(), [json!(1), json!(2), json!(3)], "{pair}");

    let params = json!({"name": "meta", "arguments": {}, "_meta": {"example.com/trace": [1]}});
    let options = RequestOptions::default();
    let params = RawJson::from_value(&params).unwrap();
    let result: Value =
        soon(front.request(method::TOOLS_CALL, Some(&params), &options)).await.unwrap().parse().unwrap();
    assert_eq!(result["content"][0]["text"], "[1]", "{pair}");
    // The baggage of a caller is not for the server behind.
    let params = json!({"name": "context", "arguments": {}, "_meta": {"traceparent": TRACE, "baggage": "user=eve"}});
    let params = RawJson::from_value(&params).unwrap();
    let result: Value =
        soon(front.request(method::TOOLS_CALL, Some(&params), &options)).await.unwrap().parse().unwrap();
    assert_eq!(result["content"][0]["text"], json!({"traceparent": TRACE, "baggage": null}).to_string(), "{pair}");
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

#[tokio::test]
async fn can_04_a_cancelled_call_is_cancelled_at_the_remote_server() {
    for (way, old, new) in [(Way::Stdio, LEGACY, MODERN), (Way::Stdio, MODERN, LEGACY), (Way::Http, MODERN, LEGACY)] {
        let (behind, file) = (behind(way, old).await, File::new());
        let front = connect(&gateway(&behind.client), new).await;
        let params = json!({"name": "wait", "arguments": {}, "_meta": {"example.com/file": file.path()}});
        let params = RawJson::from_value(&params).unwrap();
        let calling = tokio::spawn({
            let front = front.clone();
            async move { front.request(method::TOOLS_CALL, Some(&params), &RequestOptions::default()).await }
        });
        until(|| file.text() == "began").await;
        calling.abort();
        until(|| file.text() == "ended").await;
    }
}

#[tokio::test]
async fn two_users_at_once_are_each_asked_for_their_own_calls() {
    for (old, new) in [(LEGACY, LEGACY), (LEGACY, MODERN), (MODERN, LEGACY), (MODERN, MODERN)] {
        for way in [Way::Stdio, Way::Http] {
            let behind = behind(way, old).await;
            let server = gateway(&behind.client);
            let (ann, bob) = (connect_as(&server, user("Ann"), new).await, connect_as(&server, user("Bob"), new).await);
            let calls = (0..8).map(|number| {
                let (client, name) = if number % 2 == 0 { (ann.clone(), "Ann") } else { (bob.clone(), "Bob") };
                tokio::spawn(async move { (text(&client, "greet").await, name) })
            });
            for call in calls.collect::<Vec<_>>() {
                let (greeted, name) = soon(call).await.unwrap();
                assert_eq!(
                    greeted,
                    format!("hello {name}'s first name {name}'s last name"),
                    "{way:?}, {old} behind {new}"
                );
            }
        }
    }
}

#[tokio::test]
async fn users_over_http_are_also_distinguished() {
    // 2026-07-28 has no sessions, and these callers have no names: each call is alone.
    let behind = behind(Way::Stdio, LEGACY).await;
    let listener = gateway(&behind.client).listen_with(HttpOptions::default().with_port(0)).await.unwrap();
    let url = listener.url().unwrap();
    for revision in [MODERN, LEGACY] {
        let mut calls = Vec::new();
        for name in ["Ann", "Bob", "Cyd"] {
            let options = user(name).into_options().with_revision(RevisionChoice::Pinned(revision));
            let client = soon(Client::connect_with(url.as_str(), options, ())).await.unwrap();
            calls.push(tokio::spawn(async move { (text(&client, "greet").await, name) }));
        }
        for call in calls {
            let (greeted, name) = soon(call).await.unwrap();
            assert_eq!(greeted, format!("hello {name}'s first name {name}'s last name"), "{revision}");
        }
    }
}

#[tokio::test]
async fn an_unidentified_caller_is_not_asked_what_a_call_of_another_one_needs() {
    let file = File::new();
    let behind = client(child("script heedless", &file), Revision::V2025_06_18).await;
    let listener = gateway(&behind).listen_with(HttpOptions::default().with_port(0)).await.unwrap();
    let url = listener.url().unwrap();
    let caller = async |name| {
        let options = user(name).into_options().with_revision(RevisionChoice::Pinned(MODERN));
        soon(Client::connect_with(url.as_str(), options, ())).await.unwrap()
    };
    let (ann, bob) = (caller("Ann").await, caller("Bob").await);
    let paying = tokio::spawn(async move { ann.call_tool("pay", json!({})).await });
    until(|| file.text().contains("tools/call")).await;
    paying.abort();
    until(|| file.text().contains("notifications/cancelled")).await;
    assert_eq!(text(&bob, "other").await, "answered: false");
    // The connection of the cancelled call is closed. The other one serves the next call.
    until(|| file.text().contains(" ends")).await;
    assert_eq!(text(&bob, "other").await, "answered: false");
    let diary = file.text();
    let calls: Vec<_> = diary.lines().filter(|line| line.ends_with("tools/call")).collect();
    assert_eq!((calls.len(), calls.iter().collect::<HashSet<_>>().len()), (3, 2), "{diary}");
    assert_eq!(diary.matches(" ends").count(), 1, "{diary}");
    soon(behind.close()).await;
}

#[tokio::test]
async fn a_caller_of_2026_07_28_drives_the_rounds_and_the_old_server_runs_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let old = Server::builder("old", "1.0.0")
        .tool("buy", "Buy, once.", move |ctx: Context| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                let answer = ctx.elicit(form("sure?")).await?;
                trunkline::Ok(answer.content.unwrap_or_default()["name"].to_string())
            }
        })
        .build();
    let front = connect_as(&gateway(&client(&old, LEGACY).await), user("Ann"), MODERN).await;
    let options = RequestOptions::default().with_manual_input(true);
    let error = soon(front.call_tool_with("buy", json!({}), &options)).await.unwrap_err();
    let ClientError::InputRequired(required) = error else { panic!("{error}") };
    let asked: Vec<_> = required.requests().map(|(key, request)| (key.to_owned(), request.method.clone())).collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].1, method::ELICITATION_CREATE);
    let answer = RawJson::from_value(&json!({"action": "accept", "content": {"name": "yes"}})).unwrap();
    let again =
        options.clone().with_input_responses((*required).clone().answer([(asked[0].0.clone(), answer.clone())]));
    let result = soon(front.call_tool_with("buy", json!({}), &again)).await.unwrap();
    assert_eq!((result.joined_text().as_str(), calls.load(Ordering::SeqCst)), ("\"yes\"", 1));
    // The same answers once more find no call that waits for them.
    let error = soon(front.call_tool_with("buy", json!({}), &again)).await.unwrap_err();
    assert!(error.rpc().is_some(), "{error}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn what_an_old_server_asks_at_the_same_time_shares_a_round() {
    let old = Server::builder("old", "1.0.0")
        .tool("buy", "Asks again and again.", async |ctx: Context| {
            let after = async |delay: u64| {
                tokio::time::sleep(Duration::from_millis(delay)).await;
                ctx.elicit(form("sure?")).await
            };
            let answers = tokio::try_join!(after(0), after(5), after(40), after(80))?;
            trunkline::Ok(format!("{:?}", answers.0.action))
        })
        .build();
    let front = connect_as(&gateway(&client(&old, LEGACY).await), user("Ann"), MODERN).await;
    let options = RequestOptions::default().with_manual_input(true);
    let error = soon(front.call_tool_with("buy", json!({}), &options)).await.unwrap_err();
    let ClientError::InputRequired(required) = error else { panic!("{error}") };
    assert_eq!(required.requests().count(), 3);
}

#[tokio::test]
async fn what_a_caller_cannot_be_asked_is_refused_to_the_server() {
    for (old, new) in [(LEGACY, MODERN), (MODERN, LEGACY), (LEGACY, LEGACY)] {
        let behind = behind(Way::Memory, old).await;
        let front = connect(&gateway(&behind.client), new).await;
        let outcome = soon(front.call_tool("greet", json!({}))).await;
        let refused = match &outcome {
            Ok(result) => result.is_error,
            Err(error) => error.rpc().is_some(),
        };
        assert!(refused, "{old} behind {new}: {outcome:?}");
        assert_eq!(text(&front, "count").await, "counted");
    }
}

#[tokio::test]
async fn changes_at_the_remote_server_reach_those_who_want_them() {
    for (old, new) in [(LEGACY, MODERN), (MODERN, LEGACY)] {
        let behind = remote();
        let server = Server::builder("gateway", "1.0.0")
            .proxy(ProxyDefinition::new(&client(&behind, old).await).prefix("far"))
            .build();
        let heard = Heard::default();
        let front = heard.connect(&server, new).await;
        let mut changes = soon(front.subscribe("far+remote://map")).await.unwrap();
        behind.resource_updated("remote://map");
        let change = soon(changes.next()).await.unwrap().unwrap();
        assert_eq!(change.uri.as_deref(), Some("far+remote://map"), "{old} behind {new}");
        until(|| {
            let _ = behind.remove_tool("late");
            behind.add_tool(Tool::new("late", "Comes later.", async || "late")).unwrap();
            heard.has(method::TOOLS_LIST_CHANGED, "")
        })
        .await;
        assert_eq!(text(&front, "far__late").await, "late");
    }
}

#[tokio::test]
async fn a_subscription_to_a_resource_of_the_gateway_does_not_ask_the_remote_server() {
    let behind = client(&remote(), LEGACY).await;
    let server = Server::builder("gateway", "1.0.0")
        .resource_template("own://{city}", "own", async |Params(given): Params<City>| given.city)
        .proxy(ProxyDefinition::new(&behind))
        .build();
    let front = connect(&server, LEGACY).await;
    let mut changes = soon(front.subscribe("own://oslo")).await.unwrap();
    server.resource_updated("own://oslo");
    assert_eq!(soon(changes.next()).await.unwrap().unwrap().uri.as_deref(), Some("own://oslo"));
}

/// SUB-06: a server that shuts down ends its streams.
#[tokio::test]
async fn changes_still_arrive_after_the_remote_server_was_restarted() {
    let (first, port) = (remote(), fixed_port());
    let listener = first.listen(("127.0.0.1", port)).await.unwrap();
    let url = listener.url().unwrap();
    let server = gateway(&client(url.as_str(), MODERN).await);
    let heard = Heard::default();
    let front = heard.connect(&server, MODERN).await;
    let mut changes = soon(front.subscribe("remote://map")).await.unwrap();
    let mut arrives = async |behind: &Server| {
        let change = soon(async {
            loop {
                behind.resource_updated("remote://map");
                if let Ok(change) = timeout(Duration::from_millis(10), changes.next()).await {
                    return change;
                }
            }
        });
        assert_eq!(change.await.unwrap().unwrap().uri.as_deref(), Some("remote://map"));
    };
    arrives(&first).await;
    listener.close(Duration::ZERO).await;
    let again = remote();
    let _listener = again.listen(("127.0.0.1", port)).await.unwrap();
    // The first one says that changes may have been missed.
    arrives(&again).await;
    arrives(&again).await;
    until(|| {
        let _ = again.remove_tool("late");
        again.add_tool(Tool::new("late", "Comes later.", async || "late")).unwrap();
        heard.has(method::TOOLS_LIST_CHANGED, "")
    })
    .await;
}

#[tokio::test]
async fn log_messages_reach_the_caller_at_its_level() {
    for (old, new) in [(LEGACY, MODERN), (MODERN, LEGACY), (LEGACY, LEGACY)] {
        let behind = behind(Way::Stdio, old).await;
        let logged = Arc::new(Notify::new());
        let noted = Arc::clone(&logged);
        let builder = user("Ann").on_log(move |_| noted.notify_one());
        let front = connect_as(&gateway(&behind.client), builder, new).await;
        soon(front.set_log_level(LoggingLevel::Info)).await.unwrap();
        text(&front, "count").await;
        soon(logged.notified()).await;
    }
}

/// The messages of a pipe name no request.
#[tokio::test]
async fn log_04_a_log_message_is_for_the_only_caller_that_wants_any() {
    let (behind, file) = (behind(Way::Stdio, MODERN).await, File::new());
    let server = gateway(&behind.client);
    let quiet = connect(&server, MODERN).await;
    let params = json!({"name": "wait", "arguments": {}, "_meta": {"example.com/file": file.path()}});
    let params = RawJson::from_value(&params).unwrap();
    let waiting =
        tokio::spawn(async move { quiet.request(method::TOOLS_CALL, Some(&params), &RequestOptions::default()).await });
    until(|| file.text() == "began").await;
    let logged = Arc::new(Notify::new());
    let noted = Arc::clone(&logged);
    let loud = connect_as(&server, user("Ann").on_log(move |_| noted.notify_one()), MODERN).await;
    soon(loud.set_log_level(LoggingLevel::Info)).await.unwrap();
    text(&loud, "count").await;
    soon(logged.notified()).await;
    waiting.abort();
}

#[tokio::test]
async fn a_dead_server_fails_its_calls_and_is_restarted() {
    let port = fixed_port();
    let listener = remote().listen(("127.0.0.1", port)).await.unwrap();
    let url = listener.url().unwrap();
    for revision in [MODERN, LEGACY] {
        let far = client(url.as_str(), revision).await;
        let server = Server::builder("gateway", "1.0.0")
            .tool("own", "Own.", async || "own")
            .proxy(ProxyDefinition::new(&far).prefix("far"))
            .build();
        let front = connect(&server, MODERN).await;
        assert_eq!(text(&front, "far__count").await, "counted");
        if revision == MODERN {
            listener.close(Duration::ZERO).await;
            let error = soon(front.call_tool("far__count", json!({}))).await.unwrap_err();
            assert!(error.to_string().contains("behind this one"), "{error}");
            let tools = soon(front.list_tools()).await.unwrap();
            assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["own"]);
            assert_eq!(text(&front, "own").await, "own");
            let again = remote().listen(("127.0.0.1", port)).await.unwrap();
            assert_eq!(text(&front, "far__count").await, "counted", "the client connects anew");
            std::mem::forget(again);
        }
    }
}

#[tokio::test]
async fn one_caller_leaves_capacity_for_the_others() {
    let behind = remote();
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(MODERN)).with_max_in_flight(6);
    let far = soon(Client::connect_with(&behind, options, ())).await.unwrap();
    let server = gateway(&far);
    let (ann, bob) = (connect(&server, MODERN).await, connect(&server, MODERN).await);
    let flood: Vec<_> = (0..20)
        .map(|_| {
            let ann = ann.clone();
            tokio::spawn(async move { ann.call_tool("wait", json!({})).await })
        })
        .collect();
    let refused = || flood.iter().filter(|call| call.is_finished()).count();
    until(|| refused() >= 14).await;
    assert_eq!(text(&bob, "count").await, "counted");
    for call in flood {
        if call.is_finished() {
            let error = call.await.unwrap().unwrap_err();
            assert!(error.to_string().contains("maxInFlight"), "{error}");
        } else {
            call.abort();
        }
    }
}

/// A call that lasts until it is cancelled.
struct WaitingCall {
    file: File,
    call: JoinHandle<()>,
}

impl WaitingCall {
    async fn start(client: &Client) -> Self {
        let (client, file) = (client.clone(), File::new());
        let params = json!({"name": "wait", "arguments": {}, "_meta": {"example.com/file": file.path()}});
        let params = RawJson::from_value(&params).unwrap();
        let call = tokio::spawn(async move {
            drop(client.request(method::TOOLS_CALL, Some(&params), &RequestOptions::default()).await);
        });
        until(|| file.text() == "began").await;
        Self { file, call }
    }

    async fn end(self) {
        self.call.abort();
        until(|| self.file.text() == "ended").await;
    }
}

/// A listener whose callers are identified: each token is a name.
async fn identifying(server: &Server) -> Listener {
    let verifier = |verification: Verification| {
        let identity = Identity::default().with_subject(verification.token());
        verification.complete(Ok(identity));
    };
    let options = AuthorizationOptions::new("https://gateway.example/mcp");
    let options = options.with_authorization_servers(["https://login.example"]);
    let authorization = Authorization::new(options, Arc::new(verifier)).unwrap();
    server.listen_with(HttpOptions::default().with_port(0).with_auth(Some(authorization))).await.unwrap()
}

/// A new session of a caller.
async fn session(listener: &Listener, name: &str) -> Client {
    let url = listener.url().unwrap();
    let target = HttpEndpoint::new(&url).with_header("Authorization", format!("Bearer {name}"));
    client(target, LEGACY).await
}

async fn refused(client: &Client, why: &str) {
    let error = soon(client.call_tool("count", json!({}))).await.unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
}

#[tokio::test]
async fn the_sessions_of_one_principal_leave_connections_for_others() {
    let behind = behind(Way::Memory, LEGACY).await;
    let server =
        Server::builder("gateway", "1.0.0").proxy(ProxyDefinition::new(&behind.client).max_connections(4)).build();
    let listener = identifying(&server).await;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(session(&listener, "ada").await);
    }
    assert_eq!(text(&sessions[2], "count").await, "counted");
    let (first, second) = (WaitingCall::start(&sessions[0]).await, WaitingCall::start(&sessions[1]).await);
    // One of them has an idle connection already.
    refused(&sessions[2], "reserved for others").await;
    refused(&sessions[3], "reserved for others").await;
    assert_eq!(text(&sessions[0], "count").await, "counted", "on the same connection");
    let bob = session(&listener, "bob").await;
    assert_eq!(text(&bob, "count").await, "counted");
    first.end().await;
    assert_eq!(text(&sessions[2], "count").await, "counted");
    second.end().await;
}

#[tokio::test]
async fn the_sessions_of_one_principal_leave_requests_for_others() {
    let behind = remote();
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(MODERN)).with_max_in_flight(4);
    let far = soon(Client::connect_with(&behind, options, ())).await.unwrap();
    let listener = identifying(&gateway(&far)).await;
    // A dropped client could not cancel its call.
    let clients = (session(&listener, "ada").await, session(&listener, "ada").await);
    let (first, second) = (WaitingCall::start(&clients.0).await, WaitingCall::start(&clients.1).await);
    refused(&session(&listener, "ada").await, "maxInFlight").await;
    assert_eq!(text(&session(&listener, "bob").await, "count").await, "counted");
    first.end().await;
    second.end().await;
}

#[tokio::test]
async fn the_subscriptions_of_one_principal_leave_resources_for_others() {
    let behind = behind(Way::Memory, LEGACY).await;
    let listener = identifying(&gateway(&behind.client)).await;
    let (ada, bob) = (session(&listener, "ada").await, session(&listener, "bob").await);
    let request = async |client: &Client, method, number: usize| {
        let params = RawJson::from_value(&json!({"uri": format!("remote://city/{number}")})).unwrap();
        soon(client.request(method, Some(&params), &RequestOptions::default())).await
    };
    for number in 0..512 {
        request(&ada, method::RESOURCES_SUBSCRIBE, number).await.unwrap();
    }
    let error = request(&ada, method::RESOURCES_SUBSCRIBE, 512).await.unwrap_err();
    assert!(error.to_string().contains("reserved for others"), "{error}");
    request(&bob, method::RESOURCES_SUBSCRIBE, 512).await.unwrap();
    for number in 0..2 {
        request(&ada, method::RESOURCES_UNSUBSCRIBE, number).await.unwrap();
    }
    request(&ada, method::RESOURCES_SUBSCRIBE, 0).await.unwrap();
}

#[tokio::test]
async fn connections_of_callers_are_bounded() {
    let behind = behind(Way::Memory, LEGACY).await;
    let server =
        Server::builder("gateway", "1.0.0").proxy(ProxyDefinition::new(&behind.client).max_connections(1)).build();
    let (ann, bob) = (connect_as(&server, user("Ann"), LEGACY).await, connect_as(&server, user("Bob"), LEGACY).await);
    let waiting = WaitingCall::start(&ann).await;
    let error = soon(bob.call_tool("count", json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("raise its number of connections"), "{error}");
    waiting.end().await;
    // Ann's connection is free now, and makes room.
    assert_eq!(text(&bob, "greet").await, "hello Bob's first name Bob's last name");
}

#[tokio::test]
async fn what_cannot_be_a_proxy_is_refused() {
    let server = Server::builder("gateway", "1.0.0").build();
    let own = client(&server, MODERN).await;
    assert!(server.proxy(&own).unwrap_err().to_string().contains("this server itself"));
    let group = soon(ClientGroup::connect([("a", Target::from(&remote()))])).await.unwrap();
    let error = server.proxy(&*group).unwrap_err().to_string();
    assert!(error.contains("pass the group itself"), "{error}");
    let one = soon(group.server_client("a")).await.unwrap();
    server.proxy(ProxyDefinition::new(&one).prefix("a")).unwrap();
    let front = connect(&server, LEGACY).await;
    assert_eq!(text(&front, "a__count").await, "counted");
}

/// One stream can name 10,000 resources, and a proxy watches 1,024 of them.
#[tokio::test(start_paused = true)]
async fn sub_01_a_stream_of_many_remote_resources_does_not_ask_all_clients_about_each() {
    let (open, most, all) =
        (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (most_seen, all_seen) = (Arc::clone(&most), Arc::clone(&all));
    let behind = Server::builder("behind", "1")
        .resource_template("far:{+path}", "far", async || "text")
        .middleware(move |_: Context, next: Next| {
            let (open, most, all) = (Arc::clone(&open), Arc::clone(&most), Arc::clone(&all));
            async move {
                if next.method() != "resources/subscribe" {
                    return Ok(next.run().await?);
                }
                all.fetch_add(1, Ordering::Relaxed);
                most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(1)).await;
                open.fetch_sub(1, Ordering::Relaxed);
                Ok(next.run().await?)
            }
        })
        .build();
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(LEGACY));
    let remote = Client::connect_with(&behind, options, ()).await.unwrap();
    let gateway = Server::builder("gateway", "1").proxy(&remote).build();
    let client = connect(&gateway, MODERN).await;
    let records = Records::default();
    let _other = another_subscriber();
    let _here = tracing::subscriber::set_default(records.clone());
    let searches = || {
        let records = records.0.lock().unwrap();
        let is_search = |fields: &BTreeMap<_, String>| fields["message"] == "looking for their subscribers";
        records.iter().filter(|(_, fields)| is_search(fields)).count()
    };
    let named = |from: usize| (from..from + 3000).map(|number| format!("far:{number}")).collect::<Vec<_>>();

    let first = client.subscribe(named(0)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (most, before) = (most_seen.load(Ordering::Relaxed), searches());
    assert_eq!(all_seen.load(Ordering::Relaxed), 1024);
    assert!((1..=16).contains(&most), "{most} at once");
    assert!((1..=3).contains(&before), "{before} searches");
    // Nor do many streams, when there is no room for them.
    let mut more = Vec::new();
    for number in 0..100 {
        more.push(client.subscribe([format!("far:more/{number}")]).await.unwrap());
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(all_seen.load(Ordering::Relaxed), 1024);
    assert!(searches() - before <= 20, "{} searches", searches());
    // The resources of an ended stream make room, even for a stream that follows at once.
    drop(first);
    let _second = client.subscribe(named(3000)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(all_seen.load(Ordering::Relaxed), 2048);
}
