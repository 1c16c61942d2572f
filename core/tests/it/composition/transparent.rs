//! Proxies that are shown as the server behind them, and clients that are opened by a request of a
//! proxy's caller.

use super::{LEGACY, MODERN, ROLE, connect, connect_as, soon, until};
use crate::{
    log::{Records, another_subscriber},
    process::{File, child, fixed_port},
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use trunkline::{
    ChildCommand, Client, ClientError, ClientOptions, Context, ProxyDefinition, ProxyOptions, RequestOptions, Revision,
    RevisionChoice, Server, ServerOptions,
    client::{ElicitRequest, ErrorKind, HandlerError},
    protocol::{
        RawJson, method,
        model::{
            ChangeKind, ElicitParams, ElicitResult, Field, FormSchema, Icon, Implementation, ServerCapabilities,
            SubscriptionFilter,
        },
    },
    server::{Next, TaskSupport},
    transport::{ChildStderr, Target},
};

const REVISIONS: [Revision; 5] = Revision::ALL;

/// A server that says much about itself.
fn weather() -> Server {
    let mut info = Implementation::new("weather", "1.4.0");
    info.title = Some("The weather".into());
    info.icons = Some(vec![Icon { src: "https://example.com/sun.png".into(), ..Icon::default() }]);
    let extension = json!({"example.com/map": {"scale": 7}});
    let options = ServerOptions::default().with_extensions(extension.as_object().unwrap().clone());
    Server::builder("weather", "1.4.0")
        .info(info)
        .instructions("Ask for one city at a time.")
        .options(options)
        .tool("forecast", "Forecast.", async || "sun")
        .build()
}

async fn lazy(target: impl Into<Target>, choice: RevisionChoice) -> Client {
    let options = ClientOptions::default().with_revision(choice).with_lazy(true);
    soon(Client::connect_with(target, options, ())).await.unwrap()
}

/// A server that is shown as the one behind the client.
fn shown_as(client: &Client) -> Server {
    let proxy = ProxyDefinition::new(client).transparent(true);
    Server::builder("bridge", "0.0.0").instructions("Not these.").proxy(proxy).build()
}

/// The description of a server, as JSON.
async fn described(server: &Server, revision: Revision) -> Value {
    let client = connect(server, revision).await;
    // With the modern revision pinned, the description comes in the background.
    until(|| client.server_info().is_some()).await;
    let server = client.server();
    let info: Value = server.info.as_ref().unwrap().parse().unwrap();
    let capabilities: Value = server.capabilities.parse().unwrap();
    json!({"info": info, "capabilities": capabilities, "instructions": server.instructions})
}

#[tokio::test]
async fn clients_see_the_description_of_the_server_behind_a_transparent_proxy() {
    let behind = weather();
    for old in REVISIONS {
        let far = lazy(&behind, RevisionChoice::Pinned(old)).await;
        let bridge = shown_as(&far);
        for new in REVISIONS {
            let (mut direct, mut seen) = (described(&behind, new.min(old)).await, described(&bridge, new).await);
            // A server of an older revision has not sent all that a newer one defines.
            if old == new {
                assert_eq!(seen, direct, "{old} behind {new}");
            }
            for described in [&mut direct, &mut seen] {
                let members = described["info"].as_object_mut().unwrap();
                members.retain(|name, _| ["name", "version"].contains(&&**name));
            }
            assert_eq!(seen["info"], direct["info"], "{old} behind {new}");
            assert_eq!(seen["instructions"], "Ask for one city at a time.", "{old} behind {new}");
            let capabilities: ServerCapabilities = serde_json::from_value(seen["capabilities"].clone()).unwrap();
            assert!(capabilities.tools.unwrap().list_changed && capabilities.prompts.is_none(), "{old} behind {new}");
        }
    }
}

#[tokio::test]
async fn results_name_the_server_behind_a_transparent_proxy() {
    let bridge = shown_as(&lazy(&weather(), RevisionChoice::Legacy).await);
    let client = connect(&bridge, MODERN).await;
    let result = soon(client.call_tool("forecast", json!({}))).await.unwrap();
    assert_eq!(result.joined_text(), "sun");
    let meta = serde_json::to_value(result.meta).unwrap();
    assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "weather", "{meta}");
}

/// The program may have opened the connection with a request that is not of the proxy.
#[tokio::test]
async fn a_proxy_names_and_watches_the_server_of_a_client_that_its_program_opened() {
    for behind in [LEGACY, MODERN] {
        let weather = weather();
        let far = lazy(&weather, RevisionChoice::Pinned(behind)).await;
        let bridge = shown_as(&far);
        soon(far.ping()).await.unwrap();
        let client = connect(&bridge, MODERN).await;
        let mut changes = soon(client.subscribe(SubscriptionFilter::default().with_tools(true))).await.unwrap();
        let result = soon(client.call_tool("forecast", json!({}))).await.unwrap();
        let meta = serde_json::to_value(result.meta).unwrap();
        assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "weather", "{behind}: {meta}");
        let change = async {
            // The proxy subscribes in the background.
            for number in 0.. {
                let tool = format!("tool_{number}");
                weather.add_tool(trunkline::Tool::new(tool, "More.", async || "more")).unwrap();
                if let Ok(change) = tokio::time::timeout(Duration::from_millis(100), changes.next()).await {
                    return change.unwrap().unwrap().kind;
                }
            }
            unreachable!()
        };
        assert_eq!(soon(change).await, ChangeKind::Tools, "{behind}");
    }
}

/// They could not be refused as clients of 2026-07-28 are (`http::tasks`).
#[tokio::test]
async fn tkx_05_a_caller_of_an_older_revision_waits_for_the_task_behind_a_transparent_proxy() {
    let tool = trunkline::Tool::new("report", "A long report.", async || "done").task(TaskSupport::Required);
    let behind = Server::builder("reports", "1.0.0").add_tool(tool).build();
    let params = RawJson::from_value(&json!({"name": "report", "arguments": {}})).unwrap();
    for (old, revision) in [
        (RevisionChoice::Modern, Revision::V2025_06_18),
        (RevisionChoice::Modern, LEGACY),
        (RevisionChoice::Legacy, Revision::V2025_06_18),
        (RevisionChoice::Legacy, LEGACY),
    ] {
        let bridge = shown_as(&lazy(&behind, old).await);
        let client = connect(&bridge, revision).await;
        let result = soon(client.request(method::TOOLS_CALL, Some(&params), &RequestOptions::default())).await.unwrap();
        let result: Value = result.parse().unwrap();
        assert_eq!(result["content"][0]["text"], "done", "{revision}: {result}");
    }
}

#[tokio::test]
async fn tsk_04_a_transparent_proxy_lists_the_tasks_that_its_server_requires() {
    let tool = trunkline::Tool::new("report", "A long report.", async || "done").task(TaskSupport::Required);
    let behind = Server::builder("reports", "1.0.0").add_tool(tool).build();
    for (old, support) in [(RevisionChoice::Legacy, "required"), (RevisionChoice::Modern, "optional")] {
        let bridge = shown_as(&lazy(&behind, old).await);
        let tools = soon(connect(&bridge, LEGACY).await.list_tools()).await.unwrap();
        assert_eq!(serde_json::to_value(&tools[0]).unwrap()["execution"]["taskSupport"], support);
    }
}

#[tokio::test]
async fn disc_14_the_server_behind_a_transparent_proxy_sees_what_the_caller_of_a_list_can_do() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let behind = Server::builder("weather", "1.4.0")
        .tool("forecast", "Forecast.", async || "sun")
        .middleware(move |ctx: Context, next: Next| {
            if next.method() == method::TOOLS_LIST {
                noted.lock().unwrap().push(ctx.client_capabilities().elicitation.is_some());
            }
            async move { Ok(next.run().await?) }
        })
        .build();
    let bridge = shown_as(&lazy(&behind, RevisionChoice::Modern).await);
    for builder in [Client::builder(), Client::builder().on_elicit(decline)] {
        soon(connect_as(&bridge, builder, MODERN).await.list_tools()).await.unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), [false, true]);
}

async fn decline(_: ElicitRequest) -> Result<ElicitResult, HandlerError> {
    Err(HandlerError::rejected("not asked"))
}

/// Servers answer more than they declare.
#[tokio::test]
async fn a_transparent_proxy_leaves_it_to_its_server_what_it_answers() {
    let behind = Server::builder("maps", "1.0.0")
        .resource("maps://oslo", "oslo", async || "a map")
        .middleware(async |_: Context, next: Next| match next.method() {
            method::TOOLS_LIST => Ok(json!({"tools": [{"name": "hidden", "inputSchema": {"type": "object"}}]})),
            _ => Ok(next.run().await?),
        })
        .build();
    for old in [RevisionChoice::Legacy, RevisionChoice::Modern] {
        let bridge = shown_as(&lazy(&behind, old).await);
        for new in [LEGACY, MODERN] {
            let client = connect(&bridge, new).await;
            assert!(described(&bridge, new).await["capabilities"]["tools"].is_null());
            assert!(described(&bridge, new).await["capabilities"]["completions"].is_null());
            assert_eq!(soon(client.list_tools()).await.unwrap()[0].name, "hidden");
            assert_eq!(soon(client.list_prompts()).await.unwrap_err().rpc().unwrap().code, -32601);
        }
        bridge.add_prompt(trunkline::Prompt::new("own", "Own.", async || "own")).unwrap();
        assert_eq!(soon(connect(&bridge, MODERN).await.list_prompts()).await.unwrap()[0].name, "own");
    }
}

#[tokio::test]
async fn a_transparent_proxy_declares_the_settings_of_skills_as_its_server_does() {
    let skills = json!({"io.modelcontextprotocol/skills": {"directoryRead": false}});
    let options = ServerOptions::default().with_extensions(skills.as_object().unwrap().clone());
    let behind = Server::builder("skills", "1.0.0").options(options).build();
    let bridge = shown_as(&lazy(&behind, RevisionChoice::Modern).await);
    let seen = described(&bridge, MODERN).await["capabilities"]["extensions"].clone();
    assert_eq!(seen, described(&behind, MODERN).await["capabilities"]["extensions"]);
}

/// Only the server behind a proxy knows which answers it will want.
#[tokio::test]
async fn mrtr_11_answers_that_come_before_the_question_reach_the_server_behind_a_proxy() {
    let ask = async |ctx: Context| {
        let form = FormSchema::new().required("name", Field::text());
        let answer = ctx.elicit_with_key("who", ElicitParams::form("Who?", form)).await?.content.unwrap_or_default();
        trunkline::Ok(format!("hello {}", answer["name"].as_str().unwrap()))
    };
    let behind = Server::builder("greeter", "1.0.0").tool("greet", "Greets.", ask).build();
    let bridge = shown_as(&lazy(&behind, RevisionChoice::Modern).await);
    let client = Client::builder().on_elicit(decline);
    let client = connect_as(&bridge, client, MODERN).await;
    let answer = |name: &str| json!({"action": "accept", "content": {"name": name}});
    let answers = json!({"who": answer("Ann"), "unknown": answer("Bob")});
    let params = json!({"name": "greet", "arguments": {}, "inputResponses": answers});
    let params = RawJson::from_value(&params).unwrap();
    let result = soon(client.request(method::TOOLS_CALL, Some(&params), &RequestOptions::default())).await.unwrap();
    let result: Value = result.parse().unwrap();
    assert_eq!(result["content"][0]["text"], "hello Ann", "{result}");
}

/// The features of the server itself are declared, too.
#[tokio::test]
async fn a_transparent_proxy_declares_no_less_than_its_server_has() {
    let far = lazy(&weather(), RevisionChoice::Auto).await;
    let bridge = shown_as(&far);
    bridge.add_prompt(trunkline::Prompt::new("own", "Own.", async || "own")).unwrap();
    for revision in [LEGACY, MODERN] {
        let seen = described(&bridge, revision).await;
        assert_eq!(seen["info"]["name"], "weather");
        assert_eq!(seen["capabilities"]["prompts"]["listChanged"], true, "{seen}");
        assert!(seen["capabilities"]["resources"].is_null(), "{seen}");
    }
}

#[tokio::test]
async fn only_one_server_without_a_prefix_can_be_shown() {
    let far = lazy(&weather(), RevisionChoice::Auto).await;
    let bridge = Server::builder("bridge", "0.0.0").build();
    let options = ProxyOptions::default().with_transparent(true);
    let error = bridge.proxy(ProxyDefinition::new(&far).options(options).prefix("far")).unwrap_err();
    assert!(error.to_string().contains("without a prefix"), "{error}");
    let group = soon(trunkline::ClientGroup::connect([("far", &far)])).await.unwrap();
    let error = bridge.proxy(ProxyDefinition::from_group(&group).transparent(true)).unwrap_err();
    assert!(error.to_string().contains("of one server"), "{error}");
}

/// The failure of the only request of a client, in each form of an opening.
async fn refused(bridge: &Server, choice: RevisionChoice) -> ClientError {
    let options = ClientOptions::default().with_revision(choice);
    match soon(Client::connect_with(bridge, options, ())).await {
        Ok(client) => soon(client.list_tools()).await.unwrap_err(),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_fails_the_handshake_and_is_tried_again() {
    let port = fixed_port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let bridge = shown_as(&lazy(url.as_str(), RevisionChoice::Auto).await);
    let choices = [RevisionChoice::Auto, RevisionChoice::Legacy, RevisionChoice::Pinned(MODERN)];
    for choice in choices {
        let error = refused(&bridge, choice).await;
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{text}");
        assert!(text.contains("Cannot connect to") && text.contains("check whether the server runs"), "{text}");
        assert_eq!(error.rpc().unwrap().data.as_ref().unwrap()["reason"], "refused", "{text}");
    }
    let _listener = weather().listen(("127.0.0.1", port)).await.unwrap();
    for revision in [LEGACY, MODERN] {
        let client = connect(&bridge, revision).await;
        assert_eq!(soon(client.list_tools()).await.unwrap()[0].name, "forecast", "{revision}");
    }
}

/// On a pipe, the failed handshake leaves no session: the client may try again on the same pipe.
#[tokio::test]
async fn a_failed_handshake_leaves_no_session() {
    let port = fixed_port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let bridge = shown_as(&lazy(url.as_str(), RevisionChoice::Auto).await);
    let listener = bridge.listen("127.0.0.1:0").await.unwrap();
    let here = listener.url().unwrap();
    let open = async || {
        let options = ClientOptions::default().with_revision(RevisionChoice::Legacy);
        soon(Client::connect_with(here.as_str(), options, ())).await
    };
    let error = open().await.err().unwrap();
    // Over HTTP, the caller may be anywhere.
    assert!(error.to_string().contains("cannot be reached now") && !error.to_string().contains(&port.to_string()));
    assert_eq!(bridge.load().sessions(), 0);
    let _listener = weather().listen(("127.0.0.1", port)).await.unwrap();
    let client = open().await.unwrap();
    assert_eq!(client.server_info().unwrap().name, "weather");
}

fn shell(script: &str) -> ChildCommand {
    ChildCommand::new(["sh", "-c", script]).with_stderr(ChildStderr::Keep)
}

/// R4: a caller on this machine learns how the process ended and what it wrote last, one elsewhere
/// how it ended.
#[cfg(unix)]
#[tokio::test]
async fn the_end_of_a_process_is_told_to_the_callers_of_its_proxy() {
    let dying = || shell("read line; echo 'API_KEY is not set' >&2; exit 3");
    for choice in [RevisionChoice::Auto, RevisionChoice::Legacy, RevisionChoice::Pinned(MODERN)] {
        let bridge = shown_as(&lazy(dying(), choice).await);
        let error = refused(&bridge, RevisionChoice::Legacy).await;
        let (text, rpc) = (error.to_string(), error.rpc().unwrap());
        assert!(text.contains("exited with status 3") && text.contains("API_KEY is not set"), "{text}");
        assert_eq!(rpc.data.as_ref().unwrap()["exitCode"], 3, "{text}");
        let listener = bridge.listen("127.0.0.1:0").await.unwrap();
        let options = ClientOptions::default().with_revision(RevisionChoice::Legacy);
        let there = soon(Client::connect_with(listener.url().unwrap().as_str(), options, ())).await;
        let text = there.err().unwrap().to_string();
        assert!(text.contains("exited with status 3") && !text.contains("API_KEY"), "{text}");
    }
}

/// R4, for calls in flight: those of a proxy's callers, and those of the client itself.
#[cfg(unix)]
#[tokio::test]
async fn the_calls_of_a_killed_process_fail_within_100_ms_with_the_reason() {
    for revision in [LEGACY, MODERN] {
        let file = File::new();
        let far = lazy(child(ROLE, &file), RevisionChoice::Pinned(revision)).await;
        // With one connection, there is one process.
        let proxy = ProxyDefinition::new(&far).shared(true);
        let front = connect(&Server::builder("gateway", "1.0.0").proxy(proxy).build(), LEGACY).await;
        // Other work on the machine delays some kills, and a fault delays all of them.
        let mut fastest = Duration::MAX;
        for _ in 0..5 {
            assert!(!soon(front.list_tools()).await.unwrap().is_empty(), "the next request starts it again");
            let noted = [File::new(), File::new()];
            let calls = [(&far, &noted[0]), (&front, &noted[1])].map(|(client, file)| {
                let params = json!({"name": "wait", "arguments": {}, "_meta": {"example.com/file": file.path()}});
                let (client, params) = (client.clone(), RawJson::from_value(&params).unwrap());
                let call = async move { client.request(method::TOOLS_CALL, Some(&params), &<_>::default()).await };
                tokio::spawn(async move { call.await.unwrap_err() })
            });
            until(|| noted.iter().all(|file| file.text() == "began")).await;
            let pid = far.pid().unwrap().to_string();
            assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
            let killed = Instant::now();
            for call in calls {
                let text = soon(call).await.unwrap().to_string();
                assert!(text.contains("was terminated by signal 9"), "{text}");
            }
            fastest = fastest.min(killed.elapsed());
            if fastest < Duration::from_millis(100) {
                break;
            }
        }
        assert!(fastest < Duration::from_millis(100), "{fastest:?}");
        assert!(!soon(far.list_tools()).await.unwrap().is_empty(), "the next request starts it again");
    }
}

/// R11: output that is not a message is logged, and the connection stays open.
#[cfg(unix)]
#[tokio::test]
async fn a_line_of_text_on_the_output_of_a_server_is_shown_with_a_hint() {
    let records = Records::default();
    let _other = another_subscriber();
    let _here = tracing::subscriber::set_default(records.clone());
    let file = File::new();
    let ChildCommand { command, env, .. } = child(ROLE, &file);
    let script = "echo listening on port 7; exec \"$0\" \"$@\"";
    let command = ["sh", "-c", script].into_iter().map(str::to_owned).chain(command);
    let far = lazy(ChildCommand::new(command).with_env(env), RevisionChoice::Legacy).await;
    assert!(!soon(far.list_tools()).await.unwrap().is_empty());
    let shown = format!("{:?}", records.0.lock().unwrap());
    assert!(shown.contains("listening on port 7") && shown.contains("log to its standard error"), "{shown}");
}
