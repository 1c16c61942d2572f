//! A server and a client of this crate, in memory: real envelopes, every revision.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use trunkline::{
    RevisionChoice,
    client::{Client, ClientError, ClientEvents, ClientOptions, ErrorKind, RequestOptions},
    protocol::{RawJson, Revision, model::ContentBlock},
    server::{
        CallError, Context, Json, Params, ResourceDefinition, ResourceTemplateDefinition, Server, ServerOptions,
        TaskSupport, Tool, ToolDefinition, ToolError,
    },
};

#[derive(Deserialize, JsonSchema)]
struct Forecast {
    city: String,
    #[serde(default = "three")]
    days: u32,
}

fn three() -> u32 {
    3
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    temperature: f64,
}

fn server() -> Server {
    Server::builder("weather", "1.0.0")
        .instructions("Ask for one city at a time.")
        .tool("forecast", "Forecast the weather of a city.", |ctx: Context, Params(f): Params<Forecast>| async move {
            for day in 1..=f.days {
                ctx.progress(f64::from(day), Some(f64::from(f.days))).await;
            }
            vec![format!("{}: sunny", f.city); f.days as usize]
        })
        .tool("now", "The weather now.", |Params(f): Params<Forecast>| async move {
            Json(Weather { city: f.city, temperature: 21.5 })
        })
        .tool("say", "A text.", || async { "sunny".to_owned() })
        .tool("blocks", "Content of several kinds.", || async {
            vec![
                ContentBlock::text("a"),
                ContentBlock::image(b"png", "image/png"),
                ContentBlock::audio(b"wav", "audio/wav"),
                ContentBlock::resource_link("file:///a", "a"),
            ]
        })
        .tool("refuse", "Fails for a reason.", || async {
            Err::<String, CallError>(ToolError::new("no such city").into())
        })
        .tool("break", "Fails inside.", || async { Err::<String, CallError>(std::io::Error::other("secret").into()) })
        .tool("panic", "Panics.", || async { if true { panic!("boom") } else { 1 } })
        .tool("forever", "Never ends.", |ctx: Context| async move {
            ctx.cancelled().await;
            0
        })
        .build()
}

struct Deaf;
impl ClientEvents for Deaf {
    fn notification(&self, _: &str, _: Option<&RawJson>) {}
    fn closed(&self, _: Option<&ClientError>) {}
}

async fn connect(server: &Server, revision: Revision) -> Client {
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
    Client::connect_with(server, options, Deaf).await.unwrap()
}

#[tokio::test]
async fn tools_on_every_revision() {
    let server = server();
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        assert_eq!(client.revision(), revision);
        let tools = client.list_tools().await.unwrap();
        assert_eq!(tools.len(), 8, "{revision}");
        let result = client.call_tool("forecast", json!({"city": "Oslo", "days": 2})).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some(r#"["Oslo: sunny","Oslo: sunny"]"#));
        let structured = result.structured_content;
        if revision < Revision::V2025_06_18 {
            assert_eq!(structured, None, "{revision}");
        } else {
            assert_eq!(structured, Some(json!({"result": ["Oslo: sunny", "Oslo: sunny"]})), "{revision}");
        }
        client.close().await;
    }
}

#[tokio::test]
async fn misc_08_instructions_reach_the_client_as_they_are() {
    let server = server();
    let negotiated = Client::connect(&server).await.unwrap();
    assert_eq!(negotiated.revision(), Revision::LATEST);
    let mut clients = vec![negotiated];
    for revision in Revision::ALL.into_iter().filter(|revision| *revision < Revision::LATEST) {
        clients.push(connect(&server, revision).await);
    }
    for client in clients {
        let instructions = &client.server().instructions;
        assert_eq!(instructions.as_deref(), Some("Ask for one city at a time."), "{}", client.revision());
    }
}

#[tokio::test]
async fn negotiation_takes_the_newest() {
    let client = Client::connect(&server()).await.unwrap();
    assert_eq!(client.revision(), Revision::LATEST);
    let info: Value = client.server().info.as_ref().unwrap().parse().unwrap();
    assert_eq!(info["name"], "weather");
    client.ping().await.unwrap();
}

#[tokio::test]
async fn the_return_mapping_and_its_projection() {
    let server = server();
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        let text = client.call_tool("say", json!({})).await.unwrap();
        assert_eq!((text.content[0].as_text(), text.structured_content), (Some("sunny"), None));
        let object = client.call_tool("now", json!({"city": "Oslo"})).await.unwrap();
        let expected = json!({"city": "Oslo", "temperature": 21.5});
        assert_eq!(serde_json::from_str::<Value>(object.content[0].as_text().unwrap()).unwrap(), expected);
        assert_eq!(object.structured_content, (revision >= Revision::V2025_06_18).then_some(expected));
        let blocks = client.call_tool("blocks", json!({})).await.unwrap().content;
        assert_eq!(matches!(blocks[2], ContentBlock::Audio(_)), revision >= Revision::V2025_03_26);
        assert_eq!(matches!(blocks[3], ContentBlock::ResourceLink(_)), revision >= Revision::V2025_06_18);
    }
}

#[tokio::test]
async fn tool_18_and_19_failures() {
    let server = server();
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        let refused = client.call_tool("refuse", json!({})).await.unwrap();
        assert_eq!((refused.is_error, refused.content[0].as_text()), (true, Some("no such city")));
        for broken in ["break", "panic"] {
            let result = client.call_tool(broken, json!({})).await.unwrap();
            assert!(result.is_error);
            assert!(!result.content[0].as_text().unwrap().contains("secret"));
        }
        let unknown = client.call_tool("nonsense", json!({})).await.unwrap_err();
        assert_eq!(unknown.rpc().unwrap().code, -32602);
        let invalid = client.call_tool("forecast", json!({"city": "Oslo", "days": "two"})).await;
        let text = if revision >= Revision::V2025_11_25 {
            invalid.unwrap().content[0].as_text().unwrap().to_owned()
        } else {
            let error = invalid.unwrap_err();
            assert_eq!(error.rpc().unwrap().code, -32602);
            error.to_string()
        };
        assert!(text.contains("/days"), "{text}");
    }
}

/// LIFE-14, LIFE-19.
#[tokio::test]
async fn timeouts_cancel_and_name_their_kind() {
    let client = Client::connect(&server()).await.unwrap();
    let options = RequestOptions::default().with_timeout(Duration::from_millis(50));
    let error = client.call_tool_with("forever", json!({}), &options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    client.ping().await.unwrap();
}

#[tokio::test]
async fn pagination_follows_cursors() {
    let options = ServerOptions::default().with_page_size(3);
    let mut builder = Server::builder("paged", "1").options(options);
    for number in 0..10 {
        builder = builder.tool(format!("tool_{number}"), "One of many.", || async { 1 });
    }
    let server = builder.build();
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        let names: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, server.names(trunkline::server::Category::Tools));
        let error = client.list_tools_page(Some("nonsense")).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code, -32602, "PAG-05");
    }
}

fn entry(descriptor: Value) -> ToolDefinition {
    ToolDefinition::new(descriptor, |_: trunkline::server::Call| {})
}

#[test]
fn tool_09_and_10_names_are_short_plain_and_unique() {
    let server = Server::builder("x", "1").build();
    for wrong in ["", "a b", "a,b", "a/b", "ä", "a\n", &"x".repeat(129)] {
        let error = server.add_tool(entry(json!({"name": wrong}))).unwrap_err().to_string();
        assert!(error.contains(&format!("{wrong:?}")), "{error}");
    }
    for right in ["a", "A", "a-b_c.9", &"x".repeat(128)] {
        server.add_tool(entry(json!({"name": right}))).unwrap();
        server.add_tool(entry(json!({"name": right}))).expect_err("names are unique, case by case");
    }
}

#[tokio::test]
async fn tool_08_a_tool_without_parameters_says_so() {
    let server = Server::builder("x", "1").add_tool(entry(json!({"name": "t"}))).build();
    for revision in Revision::ALL {
        let tools = connect(&server, revision).await.list_tools().await.unwrap();
        let schema: Value = serde_json::to_value(&tools[0].input_schema).unwrap();
        assert_eq!(schema["type"], "object", "{revision}");
        assert_eq!(schema["additionalProperties"], false, "{revision}");
    }
}

#[tokio::test]
async fn rpc_33_rpc_38_meta_reaches_the_handler_unchanged() {
    let server = Server::builder("x", "1")
        .tool("meta", "Tells the metadata of its call.", |ctx: Context| async move {
            ctx.meta().map_or_else(String::new, |meta| String::from_utf8_lossy(meta.as_bytes()).into_owned())
        })
        .build();
    let sent = json!({
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        "tracestate": "vendor=value,other=1",
        "baggage": "user=a%20b",
        "com.example/key": {"any": ["thing", null]},
        // Reserved, and nothing that we know.
        "io.modelcontextprotocol/nonsense": -1,
        "dev.mcp/x": "y",
    });
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        let params = RawJson::from_value(&json!({"name": "meta", "arguments": {}, "_meta": sent})).unwrap();
        let result = client.request("tools/call", Some(&params), &RequestOptions::default()).await.unwrap();
        let result: Value = result.parse().unwrap();
        let seen: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        for (key, value) in sent.as_object().unwrap() {
            assert_eq!(&seen[key], value, "{revision}: {key}");
        }
    }
}

#[test]
fn registration_errors_name_what_is_wrong() {
    let server = Server::builder("x", "1").build();
    for (descriptor, named) in [
        (json!({"name": "a b"}), "a b"),
        (json!({}), "name"),
        (json!({"name": "t", "inputSchema": {"type": "string"}}), "inputSchema"),
        (
            json!({"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}}}),
            "example.com",
        ),
        (json!({"name": "t", "inputSchema": {"$schema": "urn:unknown", "type": "object"}}), "urn:unknown"),
        (json!({"name": "t", "outputSchema": {"type": "nonsense"}}), "outputSchema"),
        (json!({"name": "t", "outputSchema": {"$schema": "urn:unknown"}}), "urn:unknown"),
    ] {
        let error = server.add_tool(entry(descriptor)).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
    server.add_tool(entry(json!({"name": "t"}))).unwrap();
    assert!(server.add_tool(entry(json!({"name": "t"}))).unwrap_err().to_string().contains("already"));
}

#[test]
fn res_16_annotations_that_clients_could_not_use_are_refused_at_registration() {
    let server = Server::builder("annotated", "1").build();
    let nothing = |call: trunkline::server::Call| drop(call);
    for (number, (annotations, named)) in [
        (json!({"priority": 0.5, "lastModified": "2026-07-28T12:00:00Z", "audience": ["user"]}), None),
        (json!({"priority": 2}), Some("priority")),
        (json!({"lastModified": "yesterday"}), Some("lastModified")),
        (json!({"audience": ["nobody"]}), Some("audience")),
    ]
    .into_iter()
    .enumerate()
    {
        let resource = json!({"uri": format!("a:{number}"), "name": "a", "annotations": annotations});
        let template = json!({"uriTemplate": format!("a{number}:{{b}}"), "name": "a", "annotations": annotations});
        let added = [
            server.add_resource(ResourceDefinition::new(resource, nothing)).map(drop),
            server.add_resource_template(ResourceTemplateDefinition::new(template, nothing)).map(drop),
        ];
        for added in added {
            match named {
                None => assert_eq!(added, Ok(())),
                Some(named) => assert!(added.unwrap_err().to_string().contains(named), "{annotations}"),
            }
        }
    }
}

#[tokio::test]
async fn ping_01_a_server_pings_the_client_of_a_call() {
    let server = Server::builder("pinging", "1")
        .tool("ping", "Asks whether the client is alive.", |ctx: Context| async move {
            ctx.ping().await?;
            trunkline::Ok("alive".to_owned())
        })
        .build();
    for revision in Revision::ALL {
        let result = connect(&server, revision).await.call_tool("ping", json!({})).await;
        if revision < Revision::V2026_07_28 {
            assert_eq!(result.unwrap().content[0].as_text(), Some("alive"), "{revision}");
        } else {
            // RPC-31: servers of the modern era send no requests; the handler gets an error
            // immediately.
            assert_eq!(result.unwrap_err().rpc().unwrap().code, -32601);
        }
    }
}

/// The server owns its tasks, and they do not own it: dropping it drops everything that its
/// handlers own.
#[tokio::test]
async fn a_server_that_had_tasks_can_be_dropped() {
    let owned = Arc::new(());
    let gone = Arc::downgrade(&owned);
    let job = Tool::new("job", "Is a task", move || {
        let owned = Arc::clone(&owned);
        async move {
            drop(owned);
            "done"
        }
    });
    let server = Server::builder("tasks", "1").add_tool(job.task(TaskSupport::Required)).build();
    let client = connect(&server, Revision::V2025_11_25).await;
    let call = RawJson::from_value(&json!({"name": "job", "arguments": {}, "task": {}})).unwrap();
    let created = client.request("tools/call", Some(&call), &RequestOptions::default()).await.unwrap();
    let created: Value = created.parse().unwrap();
    let task = RawJson::from_value(&json!({"taskId": created["task"]["taskId"]})).unwrap();
    client.request("tasks/result", Some(&task), &RequestOptions::default()).await.unwrap();
    client.close().await;
    drop((client, server));
    let dropped = async {
        while gone.upgrade().is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), dropped).await.expect("the server is still there");
}

struct Clumsy;
impl ClientEvents for Clumsy {
    fn notification(&self, _: &str, _: Option<&RawJson>) {
        panic!("a hook of the program")
    }
    fn closed(&self, _: Option<&ClientError>) {}
}

#[tokio::test]
async fn hooks_of_a_client_that_panic_do_not_cost_it_the_connection() {
    let server = server();
    let options = ClientOptions::default().with_revision(RevisionChoice::Legacy);
    let client = Client::connect_with(&server, options, Clumsy).await.unwrap();
    server.remove_tool("break");
    let panicking = RequestOptions::default().with_progress(|_, _, _| panic!("a hook of the program"));
    for _ in 0..3 {
        let result = client.call_tool_with("forecast", json!({"city": "Oslo"}), &panicking).await.unwrap();
        assert!(!result.is_error);
    }
    assert_eq!(client.list_tools().await.unwrap().len(), 7);
}

#[test]
fn a_client_is_closed_when_its_runtime_shuts_down() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for revision in [RevisionChoice::Legacy, RevisionChoice::Pinned(Revision::LATEST)] {
        let (first, second) = (runtime(), runtime());
        let options = ClientOptions::default().with_revision(revision);
        let client = first.block_on(Client::connect_with(&server(), options, ())).unwrap();
        let waiting = second.spawn({
            let client = client.clone();
            async move { client.call_tool("forever", json!({})).await }
        });
        // One that is in flight by then, and one after it.
        second.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
        first.shutdown_background();
        second.block_on(async {
            let in_flight = tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it hangs").unwrap();
            let later = tokio::time::timeout(Duration::from_secs(30), client.call_tool("say", json!({}))).await;
            for error in [in_flight.unwrap_err(), later.expect("it hangs").unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::Closed);
                assert!(error.to_string().contains("runtime"), "{error}");
            }
            assert!(!client.is_connected());
            tokio::time::timeout(Duration::from_secs(30), client.close()).await.expect("it hangs");
        });
    }
}
