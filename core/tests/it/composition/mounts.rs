//! Servers of one process under the names of one.

#![expect(deprecated, reason = "older revisions have it")]

use super::{Heard, LEGACY, MODERN, connect, connect_as, soon, until};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::Notify;
use trunkline::{
    Client, ClientError, Context, Params, RequestOptions, Revision, Server, ServerBuilder, ServerOptions, Tool,
    client::{ElicitRequest, HandlerError, LoadedSkill},
    protocol::{
        RawJson, method,
        model::{
            CompleteArgument, CompleteParams, CompletionReference, ContentBlock, ElicitParams, ElicitResult, Field,
            FormSchema, Icon, LoggingLevel, TaskStatus,
        },
    },
    schemars::JsonSchema,
    server::{CacheHints, CompletionTarget, Next, SkillDefinition, SkillFile, TaskSupport},
};

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

fn weather() -> ServerBuilder {
    Server::builder("weather", "1.0.0")
        .tool("forecast", "Forecast.", async |Params(given): Params<City>| format!("{}: sun", given.city))
        .add_tool(
            Tool::new("get.map", "A name that models do not take.", async || {
                ContentBlock::resource_link("weather://map", "map")
            })
            .icon(Icon::new("https://example.com/map.png"))
            .meta("example.com/kept", json!([1])),
        )
        .resource("weather://map", "map", async || "a map")
        .resource_template("weather://city/{city}", "city", async |Params(given): Params<City>| given.city)
        .prompt("packing", "What to pack.", async |Params(given): Params<City>| {
            format!("an umbrella for {}", given.city)
        })
        .completion(CompletionTarget::Prompt("packing".into()), "city", async |asked: CompleteParams| {
            vec![format!("{}slo", asked.argument.value)]
        })
        .completion(CompletionTarget::Resource("weather://city/{city}".into()), "city", async |_: CompleteParams| {
            vec!["Rome"]
        })
}

fn outer(prefix: &str, other: &Server) -> Server {
    Server::builder("all", "1.0.0").tool("own", "Own.", async || "own").mount(prefix, other).build()
}

async fn tools(client: &Client) -> Vec<String> {
    soon(client.list_tools()).await.unwrap().into_iter().map(|tool| tool.name).collect()
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    soon(client.call_tool(tool, arguments)).await.unwrap().joined_text()
}

#[tokio::test]
async fn a_mount_shows_everything_under_its_name_in_every_revision() {
    let server = outer("weather", &weather().build());
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        let listed = soon(client.list_tools()).await.unwrap();
        assert_eq!((listed.len(), &*listed[0].name, &*listed[1].name), (3, "own", "weather__forecast"), "{revision}");
        let map = &listed[2];
        assert!(map.name.starts_with("weather__get-map_"), "a name that does not fit is shortened: {}", map.name);
        if revision >= Revision::V2025_11_25 {
            assert_eq!(map.icons.as_ref().unwrap()[0].src, "https://example.com/map.png");
        }
        if revision >= Revision::V2025_06_18 {
            assert_eq!(map.meta.as_ref().unwrap()["example.com/kept"], json!([1]));
        }
        assert_eq!(text(&client, "weather__forecast", json!({"city": "Oslo"})).await, "Oslo: sun");
        let linked = soon(client.call_tool(&map.name, json!({}))).await.unwrap();
        if revision >= Revision::V2025_06_18 {
            assert_eq!(serde_json::to_value(&linked.content[0]).unwrap()["uri"], "weather+weather://map");
        }
        let uris: Vec<_> = soon(client.list_resources()).await.unwrap().into_iter().map(|it| it.uri).collect();
        assert_eq!(uris, ["weather+weather://map"]);
        let read = soon(client.read_resource("weather+weather://map")).await.unwrap();
        assert_eq!((read.contents[0].as_text(), read.contents[0].uri()), (Some("a map"), "weather+weather://map"));
        let templates = soon(client.list_resource_templates()).await.unwrap();
        assert_eq!(templates[0].uri_template, "weather+weather://city/{city}");
        let read = soon(client.read_resource("weather+weather://city/Rome")).await.unwrap();
        assert_eq!(read.contents[0].as_text(), Some("Rome"));
        assert_eq!(soon(client.list_prompts()).await.unwrap()[0].name, "weather__packing");
        let filled = soon(client.get_prompt("weather__packing", json!({"city": "Oslo"}))).await.unwrap();
        assert!(serde_json::to_string(&filled).unwrap().contains("an umbrella for Oslo"));
        let argument =
            |value: &str| CompleteArgument { name: "city".into(), value: value.into(), ..Default::default() };
        let prompt = CompletionReference::prompt("weather__packing");
        let completed = soon(client.complete(&prompt, &argument("O"), None)).await.unwrap();
        assert_eq!(completed.completion.values, ["Oslo"]);
        let template = CompletionReference::resource("weather+weather://city/{city}");
        assert_eq!(soon(client.complete(&template, &argument(""), None)).await.unwrap().completion.values, ["Rome"]);
        let completed = client.complete_resource("weather+weather://city/{city}", "city", "");
        assert_eq!(soon(completed).await.unwrap().values, ["Rome"]);
    }
}

#[tokio::test]
async fn errors_of_a_mount_are_those_of_its_features() {
    let server = outer("weather", &weather().build());
    let client = connect(&server, MODERN).await;
    for (tool, arguments) in [("weather__nothing", json!({})), ("rain__forecast", json!({})), ("nothing", json!({}))] {
        let error = soon(client.call_tool(tool, arguments)).await.unwrap_err();
        assert_eq!(error.rpc().map(|error| error.code), Some(-32602), "{tool}: {error}");
        assert!(error.to_string().contains(&format!("Unknown tool: {tool}")), "{error}");
    }
    let wrong = soon(client.call_tool("weather__forecast", json!({"city": 5}))).await.unwrap();
    assert!(wrong.is_error);
    let error = soon(client.read_resource("weather+weather://nothing")).await.unwrap_err();
    assert!(error.to_string().contains("weather://nothing"), "{error}");
    let unknown = CompletionReference::prompt("weather__nothing");
    let argument = CompleteArgument { name: "city".into(), value: String::new(), ..Default::default() };
    assert!(soon(client.complete(&unknown, &argument, None)).await.is_err());
}

#[tokio::test]
async fn a_mount_is_live_and_can_be_removed() {
    for revision in [LEGACY, MODERN] {
        let inner = weather().build();
        let server = Server::builder("all", "1.0.0").tool("own", "Own.", async || "own").build();
        let mounted = server.mount("weather", &inner).unwrap();
        let heard = Heard::default();
        let client = heard.connect(&server, revision).await;
        inner.add_tool(Tool::new("late", "Comes later.", async || "late")).unwrap();
        until(|| heard.has(method::TOOLS_LIST_CHANGED, "")).await;
        assert_eq!(text(&client, "weather__late", json!({})).await, "late");
        let mut changes = soon(client.subscribe("weather+weather://map")).await.unwrap();
        inner.resource_updated("weather://map");
        let change = soon(changes.next()).await.unwrap().unwrap();
        assert_eq!(change.uri.as_deref(), Some("weather+weather://map"), "{revision}");
        assert!(inner.remove_tool("late"));
        assert!(!tools(&client).await.contains(&"weather__late".to_owned()));
        assert!(mounted.remove() && !mounted.remove());
        assert_eq!(tools(&client).await, ["own"]);
        assert!(soon(client.call_tool("weather__forecast", json!({"city": "Oslo"}))).await.is_err());
        // Nothing of the mount is left: the same server can be mounted again.
        server.mount("rain", &inner).unwrap();
        assert_eq!(text(&client, "rain__forecast", json!({"city": "Oslo"})).await, "Oslo: sun");
    }
}

#[tokio::test]
async fn what_would_be_ambiguous_or_endless_is_refused() {
    let (a, b, c) = (weather().build(), weather().build(), weather().build());
    let refused = |outer: &Server, prefix: &str, inner: &Server| outer.mount(prefix, inner).unwrap_err().to_string();
    a.mount("b", &b).unwrap();
    assert!(refused(&a, "again", &b).contains("already mounted there"));
    assert!(refused(&a, "b", &c).contains("already mounted as \"b\""));
    assert!(refused(&a, "a", &a).contains("in itself"));
    b.mount("c", &c).unwrap();
    assert!(refused(&c, "a", &a).contains("mounting would form a cycle"));
    for prefix in ["a b", "a__b", "a_", "é", &"x".repeat(33)] {
        assert!(refused(&c, prefix, &weather().build()).contains("prefix"), "{prefix}");
    }
    c.mount("", &weather().build()).unwrap();
    assert!(refused(&c, "", &weather().build()).contains("give this one a prefix"));
    // However the chain is built, it has an end.
    let chain: Vec<_> = (0..20).map(|_| Server::builder("link", "1.0.0").build()).collect();
    let refusals = chain.windows(2).filter(|pair| pair[0].mount("x", &pair[1]).is_err()).count();
    assert!(refusals > 0);
}

#[tokio::test]
async fn middleware_of_the_outer_server_runs_before_that_of_the_mounted_one() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let order = Arc::clone(&order);
        move |_: Context, next: Next| {
            let order = Arc::clone(&order);
            async move {
                order.lock().unwrap().push(format!("{name} {}", next.method()));
                Ok(next.run().await?)
            }
        }
    };
    let inner = weather().middleware(note("inner")).build();
    let server = Server::builder("all", "1.0.0")
        .tool("own", "Own.", async || "own")
        .middleware(note("outer"))
        .mount("weather", &inner)
        .build();
    let client = connect(&server, LEGACY).await;
    text(&client, "weather__forecast", json!({"city": "Oslo"})).await;
    assert_eq!(*order.lock().unwrap(), ["outer tools/call", "inner tools/call"]);
    order.lock().unwrap().clear();
    text(&client, "own", json!({})).await;
    assert_eq!(*order.lock().unwrap(), ["outer tools/call"], "what is not its own, it does not see");
}

#[tokio::test]
async fn the_values_of_a_request_are_those_of_every_server_that_it_passes() {
    let inner = Server::builder("inner", "1.0.0")
        .tool("number", "The number of the request.", async |ctx: Context| {
            let number = ctx.vars().get::<u8>();
            ctx.vars().insert("from the handler");
            format!("{number:?}")
        })
        .build();
    let middle = Server::builder("middle", "1.0.0").mount("inner", &inner).build();
    let left = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&left);
    let server = Server::builder("all", "1.0.0")
        .middleware(move |ctx: Context, next: Next| {
            let seen = Arc::clone(&seen);
            async move {
                ctx.vars().insert(7_u8);
                let result = next.run().await?;
                seen.lock().unwrap().push(ctx.vars().get::<&str>());
                Ok(result)
            }
        })
        .mount("middle", &middle)
        .build();
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        left.lock().unwrap().clear();
        assert_eq!(text(&client, "middle__inner__number", json!({})).await, "Some(7)", "{revision}");
        assert_eq!(*left.lock().unwrap(), [Some("from the handler")], "{revision}");
    }
}

/// Asks for a name, from middleware and from the handler, and reports progress and a log message.
fn asking() -> Server {
    let form = || ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()));
    Server::builder("asking", "1.0.0")
        .tool("greet", "Greet.", move |ctx: Context| async move {
            ctx.progress(1.0, Some(2.0)).await;
            ctx.log(LoggingLevel::Warning, "asking");
            let answer = ctx.elicit(form()).await?;
            trunkline::Ok(format!("hello {}", answer.content.unwrap_or_default()["name"]))
        })
        .middleware(move |ctx: Context, next: Next| async move {
            if next.method() == method::TOOLS_CALL {
                ctx.elicit(form()).await?;
            }
            Ok(next.run().await?)
        })
        .build()
}

#[tokio::test]
async fn calls_through_mounts_ask_the_client_and_report_to_it() {
    let middle = Server::builder("middle", "1.0.0").mount("asking", &asking()).build();
    let form = || ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()));
    let server = Server::builder("all", "1.0.0")
        .middleware(move |ctx: Context, next: Next| async move {
            if next.method() == method::TOOLS_CALL {
                ctx.elicit(form()).await?;
            }
            Ok(next.run().await?)
        })
        .mount("middle", &middle)
        .build();
    for revision in [Revision::V2025_06_18, LEGACY, MODERN] {
        let (asked, logged) = (Arc::new(Mutex::new(0)), Arc::new(Notify::new()));
        let (counted, noted) = (Arc::clone(&asked), Arc::clone(&logged));
        let builder = Client::builder()
            .on_elicit(move |_: ElicitRequest| {
                *counted.lock().unwrap() += 1;
                let name = format!("Ann {}", *counted.lock().unwrap());
                async move {
                    Ok::<_, HandlerError>(ElicitResult::accept(json!({"name": name}).as_object().unwrap().clone()))
                }
            })
            .on_log(move |_| noted.notify_one());
        let client = connect_as(&server, builder, revision).await;
        soon(client.set_log_level(LoggingLevel::Info)).await.unwrap();
        let progress = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&progress);
        let options =
            RequestOptions::default().with_on_progress(Some(Arc::new(move |_| *counted.lock().unwrap() += 1)));
        let result = soon(client.call_tool_with("middle__asking__greet", json!({}), &options)).await.unwrap();
        assert_eq!(result.joined_text(), "hello \"Ann 3\"", "{revision}: each link of the chain has its own answer");
        assert!(*progress.lock().unwrap() > 0);
        soon(logged.notified()).await;
    }
}

#[tokio::test]
async fn mrtr_01_the_caller_may_drive_the_rounds_of_a_mounted_tool() {
    let inner = Server::builder("asking", "1.0.0")
        .tool("greet", "Greet.", async |ctx: Context| {
            let answer =
                ctx.elicit(ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()))).await?;
            trunkline::Ok(answer.content.unwrap_or_default()["name"].to_string())
        })
        .build();
    let builder = Client::builder().on_elicit(async |_: ElicitRequest| Ok::<_, HandlerError>(ElicitResult::cancel()));
    let client = connect_as(&outer("asking", &inner), builder, MODERN).await;
    let options = RequestOptions::default().with_manual_input(true);
    let error = soon(client.call_tool_with("asking__greet", json!({}), &options)).await.unwrap_err();
    let ClientError::InputRequired(required) = error else { panic!("{error}") };
    let answer = json!({"action": "accept", "content": {"name": "Ann"}});
    let keys: Vec<String> = required.requests().map(|(key, _)| key.to_owned()).collect();
    let answers = keys.into_iter().map(|key| (key, RawJson::from_value(&answer).unwrap()));
    let options = options.with_input_responses(required.answer(answers));
    let result = soon(client.call_tool_with("asking__greet", json!({}), &options)).await.unwrap();
    assert_eq!(result.joined_text(), "\"Ann\"");
}

#[tokio::test]
async fn can_04_cancelling_a_call_cancels_the_mounted_handler() {
    let (began, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begin, end) = (Arc::clone(&began), Arc::clone(&ended));
    let inner = Server::builder("slow", "1.0.0")
        .tool("wait", "Wait.", move |ctx: Context| {
            let (begin, end) = (Arc::clone(&begin), Arc::clone(&end));
            async move {
                // Notifies when the call is dropped.
                struct Ended(Arc<Notify>);
                impl Drop for Ended {
                    fn drop(&mut self) {
                        self.0.notify_one();
                    }
                }
                let _ended = Ended(end);
                begin.notify_one();
                ctx.cancelled().await;
                "never"
            }
        })
        .build();
    let client = connect(&outer("slow", &inner), LEGACY).await;
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("slow__wait", json!({})).await }
    });
    soon(began.notified()).await;
    calling.abort();
    soon(ended.notified()).await;
}

#[tokio::test]
async fn tasks_of_mounted_tools_are_tasks_of_the_server() {
    let map = ContentBlock::resource_link("slow://map", "map");
    let inner = Server::builder("slow", "1.0.0")
        .add_tool(
            Tool::new("render", "Render.", move || {
                let map = map.clone();
                async move { map }
            })
            .task(TaskSupport::Required),
        )
        .build();
    for revision in [LEGACY, MODERN] {
        let client = connect(&outer("slow", &inner), revision).await;
        let task = soon(client.start_task("slow__render", json!({}))).await.unwrap();
        let result = soon(task.result()).await.unwrap();
        let shown = serde_json::to_value(&result.content[0]).unwrap();
        assert_eq!(shown["uri"], "slow+slow://map", "{revision}: the result has the names that the client knows");
        assert_eq!(task.state().unwrap().status, TaskStatus::Completed);
    }
}

#[tokio::test]
async fn skl_02_skl_04_skills_of_a_mount_are_listed_loaded_and_walked() {
    let files = [
        SkillFile::new("SKILL.md", "---\nname: reports\ndescription: Reads reports.\n---\nFrom the top.\n"),
        SkillFile::new("more/notes.txt", "notes"),
    ];
    let inner = Server::builder("office", "1.0.0").add_skill(SkillDefinition::new(files)).build();
    let client = connect(&outer("office", &inner), MODERN).await;
    let entries = soon(client.list_skills()).await.unwrap();
    assert_eq!(entries[0].uri, "skill://office+reports/SKILL.md");
    let loaded: LoadedSkill = soon(client.load_skill(entries[0].clone())).await.unwrap();
    assert!(loaded.text().contains("From the top."));
    assert_eq!(soon(loaded.read("more/notes.txt")).await.unwrap(), b"notes");
    let one = soon(client.get_skill("skill://office+reports/SKILL.md")).await.unwrap();
    assert_eq!(one.skill, entries[0]);
    let params = RawJson::from_value(&json!({"uri": "skill://office+reports"})).unwrap();
    let options = RequestOptions::default();
    let folder = client.request(method::RESOURCES_DIRECTORY_READ, Some(&params), &options);
    let folder: Value = soon(folder).await.unwrap().parse().unwrap();
    assert_eq!(folder["resources"][0]["uri"], "skill://office+reports/SKILL.md");
}

#[tokio::test]
async fn pag_05_pages_continue_with_the_next_server_within_the_page_size() {
    let with = |name: &'static str, number: usize| {
        let server = Server::builder(name, "1.0.0").build();
        for number in 0..number {
            server.add_tool(Tool::new(format!("tool{number}"), "A tool.", async || "ok")).unwrap();
        }
        server
    };
    let server = Server::builder("all", "1.0.0")
        .options(ServerOptions::default().with_page_size(3))
        .tool("own", "Own.", async || "own")
        .mount("a", &with("a", 2))
        .mount("b", &with("b", 4))
        .mount("c", &with("c", 1))
        .build();
    let client = connect(&server, LEGACY).await;
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let page = soon(client.list_tools_page(cursor.as_deref())).await.unwrap();
        pages.push(page.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>());
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(
        pages,
        [vec!["own", "a__tool0", "a__tool1"], vec!["b__tool0", "b__tool1", "b__tool2"], vec!["b__tool3", "c__tool0"]]
    );
}

#[tokio::test]
async fn without_a_prefix_names_stay_and_what_is_registered_here_wins() {
    let inner = weather().tool("own", "The other one.", async || "other").build();
    let server = Server::builder("all", "1.0.0").tool("own", "Own.", async || "own").mount("", &inner).build();
    let client = connect(&server, MODERN).await;
    assert_eq!(tools(&client).await, ["own", "forecast", "get.map"]);
    assert_eq!(text(&client, "own", json!({})).await, "own");
    assert_eq!(text(&client, "forecast", json!({"city": "Oslo"})).await, "Oslo: sun");
    assert_eq!(soon(client.read_resource("weather://map")).await.unwrap().contents[0].as_text(), Some("a map"));
}

#[tokio::test]
async fn a_list_skips_a_mounted_server_that_refuses_it() {
    let closed = weather()
        .middleware(async |_: Context, next: Next| {
            if next.method() == method::TOOLS_LIST {
                return Err(trunkline::RpcError::invalid_request("not for you").into());
            }
            Ok(next.run().await?)
        })
        .build();
    let client = connect(&outer("closed", &closed), LEGACY).await;
    assert_eq!(tools(&client).await, ["own"]);
    assert_eq!(text(&client, "closed__forecast", json!({"city": "Oslo"})).await, "Oslo: sun");
    let cache = CacheHints::default().with_ttl(Duration::from_secs(60));
    let server = Server::builder("all", "1.0.0").options(ServerOptions::default().with_cache(cache));
    let client = connect(&server.mount("closed", &closed).build(), MODERN).await;
    for (list, time) in [(method::TOOLS_LIST, 0), (method::RESOURCES_LIST, 60_000)] {
        let listed = soon(client.request(list, None, &RequestOptions::default())).await.unwrap();
        assert_eq!(listed.parse::<Value>().unwrap()["ttlMs"], time, "{list}");
    }
}
