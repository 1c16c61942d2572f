//! Typed handlers and the conveniences of the Rust client, as a program uses them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use trunkline::{
    client::{Client, ClientOptions, ErrorKind, RequestOptions},
    engine::RevisionChoice,
    protocol::Revision,
    server::{Call, CallError, Context, Json, Params, Server, ServerOptions, Tool, ToolEntry, ToolError},
};

/// Where to look.
#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The name of the city
    city: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(title = "A day")]
struct Day {
    day: u8,
}

async fn forecast(ctx: Context, Params(place): Params<Place>) -> Result<String, CallError> {
    if place.city.is_empty() {
        return Err(ToolError::new("no city has no name").into());
    }
    ctx.progress(1.0, None).await;
    ctx.progress_message(2.0, Some(2.0), "done").await;
    Ok(format!("{}: sunny", place.city))
}

fn server() -> Server {
    Server::builder("typed", "1.0.0")
        .options(ServerOptions { debug: true, ..ServerOptions::default() })
        .tool("forecast", "Forecast.", forecast)
        .tool("day", "A day.", |Params(day): Params<Day>| async move { vec![day.day] })
        .tool("broken", "Fails.", || async { Err::<(), _>(CallError::internal("no std error")) })
        .add_tool(
            Tool::new("any", "Takes anything.", |Params(value): Params<Value>| async move { value })
                .input_schema(json!({"type": "object", "$comment": "untouched"})),
        )
        .build()
}

/// A model answers in the order of the schema that it reads.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Conclusion {
    reasoning: String,
    answer: String,
}

#[tokio::test]
async fn members_keep_the_order_in_which_they_were_written() {
    let conclude = |Params(given): Params<Conclusion>| async move { Json(given) };
    let meta = json!({"com.example/second": 2, "com.example/first": 1});
    let schema =
        json!({"type": "object", "properties": {"z": {"title": "Z", "const": 1}, "y": {}, "x": {}}, "$comment": ""});
    let server = Server::builder("ordered", "1.0.0")
        .add_tool(Tool::new("typed", "Concludes.", conclude).with("_meta", meta.clone()))
        .add_tool(Tool::new("given", "Takes anything.", async |_: Params<Value>| ()).input_schema(schema.clone()))
        .build();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let options = ClientOptions { revision: RevisionChoice::Pinned(revision), ..ClientOptions::default() };
        let client = Client::connect_with(&server, options, ()).await.unwrap();
        let tools = client.list_tools().await.unwrap();
        let text = |value: &Value| value.to_string();
        let [typed, given] = &tools[..] else { panic!("{tools:?}") };
        let members = r#"{"reasoning":{"type":"string"},"answer":{"type":"string"}}"#;
        assert_eq!(text(&typed.input_schema["properties"]), members, "{revision}");
        assert_eq!(text(&typed.output_schema.as_ref().unwrap()["properties"]), members, "{revision}");
        assert_eq!(text(&json!(typed.meta)), text(&meta), "{revision}");
        assert_eq!(text(&given.input_schema), text(&schema), "{revision}");
        let result = client.call_tool("typed", json!({"answer": "42", "reasoning": "6 * 7"})).await.unwrap();
        let members = r#"{"reasoning":"6 * 7","answer":"42"}"#;
        assert_eq!(text(result.structured_content.as_ref().unwrap()), members, "{revision}");
        assert_eq!(json!(result.content)[0]["text"], members, "{revision}");
    }
}

#[tokio::test]
async fn schemas_hold_what_was_written_and_not_the_names_of_types() {
    let client = Client::connect(&server()).await.unwrap();
    let tools = client.list_tools().await.unwrap();
    let input = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().input_schema.clone();
    assert_eq!(
        input("forecast"),
        json!({
            "type": "object",
            "description": "Where to look.",
            "properties": {"city": {"type": "string", "description": "The name of the city"}},
            "required": ["city"],
        })
    );
    assert_eq!(input("day")["title"], "A day");
    assert_eq!(input("day")["properties"]["day"], json!({"type": "integer", "minimum": 0, "maximum": 255}));
    assert_eq!(input("any"), json!({"type": "object", "$comment": "untouched"}));
    let output = tools.iter().find(|tool| tool.name == "day").unwrap().output_schema.clone().unwrap();
    assert_eq!(output["properties"]["result"].get("title"), None, "{output}");
}

#[tokio::test]
async fn progress_arrives_in_order_before_the_answer() {
    let client = Client::connect(&server()).await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let options = RequestOptions::default().with_progress(move |progress, total, message| {
        sink.lock().unwrap().push((progress, total, message.map(str::to_owned)));
    });
    let result = client.call_tool_with("forecast", json!({"city": "Oslo"}), &options).await.unwrap();
    assert_eq!(result.joined_text(), "Oslo: sunny");
    assert_eq!(*seen.lock().unwrap(), [(1.0, None, None), (2.0, Some(2.0), Some("done".to_owned()))]);
}

#[tokio::test]
async fn arguments_are_an_object_or_nothing() {
    let client = Client::connect(&server()).await.unwrap();
    assert_eq!(client.call_tool("any", ()).await.unwrap().joined_text(), "{}");
    let error = client.call_tool("any", [1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("any"), "{error}");
}

#[tokio::test]
async fn failures_that_are_no_std_errors_can_be_told() {
    let client = Client::connect(&server()).await.unwrap();
    let result = client.call_tool("broken", ()).await.unwrap();
    assert!(result.is_error && result.joined_text().contains("no std error"), "{result:?}");
    let refused = client.call_tool("forecast", json!({"city": ""})).await.unwrap();
    assert!(refused.is_error);
    assert_eq!(refused.joined_text(), "no city has no name");
}

#[test]
fn sch_05_the_documented_dialects_are_the_supported_ones() {
    let documentation = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema.md");
    let text = std::fs::read_to_string(documentation).unwrap();
    let dialects: Vec<_> = text.split('`').filter(|word| word.contains("json-schema.org/draft")).collect();
    assert_eq!(dialects.len(), 5, "{dialects:?}");
    let server = Server::builder("dialects", "1").build();
    for (number, dialect) in dialects.into_iter().enumerate() {
        let definitions = if dialect.contains("draft-0") { "definitions" } else { "$defs" };
        let id = if dialect.contains("draft-04") { "id" } else { "$id" };
        let schema = json!({
            "$schema": dialect,
            "type": "object",
            "properties": {"a": {"$ref": "urn:inner"}},
            definitions: {"inner": {id: "urn:inner", "type": "integer"}},
        });
        let descriptor = json!({"name": format!("tool_{number}"), "inputSchema": schema});
        server.add_tool(ToolEntry::new(descriptor, |_: Call| {})).unwrap();
    }
}
