//! Typed handlers and the conveniences of the Rust client, as a program uses them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};
use trunkline::{
    RevisionChoice,
    client::{Client, ClientOptions, ElicitRequest, ErrorKind, HandlerError, RequestOptions},
    protocol::{
        RawJson, Revision, RpcError,
        model::{CallToolResult, ContentBlock, ElicitResult, ResourceLink},
    },
    server::{
        Call, CallError, Context, Elicited, FromContext, FromRef, Json, Params, Server, ServerOptions, State, Tool,
        ToolDefinition, ToolError,
    },
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
        .options(ServerOptions::default().with_debug(true))
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
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
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

/// Some model providers refuse a tool without `properties`, and all others in the request.
#[tokio::test]
async fn every_input_schema_has_properties() {
    let given = json!({"$comment": "", "type": "object", "required": ["a"]});
    let server = Server::builder("schemas", "1.0.0")
        .tool("nothing", "", async || ())
        .tool("map", "", async |_: Params<BTreeMap<String, i64>>| ())
        .add_tool(Tool::new("given", "", async |_: Params<Value>| ()).input_schema(given))
        .build();
    let client = Client::connect(&server).await.unwrap();
    let tools = client.list_tools().await.unwrap();
    assert!(tools.iter().all(|tool| tool.input_schema["properties"].is_object()), "{tools:?}");
    let expected = r#"{"$comment":"","type":"object","properties":{},"required":["a"]}"#;
    assert_eq!(tools[2].input_schema.to_string(), expected);
    for (name, arguments, is_refused) in [
        ("nothing", json!({"a": 1}), true),
        ("map", json!({"a": 1}), false),
        ("map", json!({"a": "b"}), true),
        ("given", json!({"a": "b"}), false),
        ("given", json!({"b": 1}), true),
    ] {
        let result = client.call_tool(name, arguments.clone()).await.unwrap();
        assert_eq!(result.is_error, is_refused, "{name} {arguments}");
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
            "additionalProperties": false,
        })
    );
    assert_eq!(input("day")["title"], "A day");
    assert_eq!(input("day")["properties"]["day"], json!({"type": "integer", "minimum": 0, "maximum": 255}));
    assert_eq!(input("any"), json!({"type": "object", "properties": {}, "$comment": "untouched"}));
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
async fn failures_that_are_not_std_errors_can_be_returned() {
    let client = Client::connect(&server()).await.unwrap();
    let result = client.call_tool("broken", ()).await.unwrap();
    assert!(result.is_error && result.joined_text().contains("no std error"), "{result:?}");
    let refused = client.call_tool("forecast", json!({"city": ""})).await.unwrap();
    assert!(refused.is_error);
    assert_eq!(refused.joined_text(), "no city has no name");
}

// Named as a type of the protocol was once told by.
#[derive(Serialize, JsonSchema)]
struct McpContentBlock {
    kind: &'static str,
}

#[derive(Debug)]
enum NoteError {
    NotFound(String),
    Disk(std::io::Error),
}

impl From<NoteError> for ToolError {
    fn from(error: NoteError) -> Self {
        match error {
            NoteError::NotFound(name) => Self::new(format!("There is no note {name}")),
            NoteError::Disk(error) => Self::internal(error),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error(transparent)]
    Told(#[from] ToolError),
    #[error("cannot load the note")]
    Load(#[source] std::io::Error),
}

/// The method, the place and the counter of a call, in an order of their own.
struct Caller(String);

impl<S: Sync> FromContext<S> for Caller {
    type Rejection = ToolError;

    async fn from_context(ctx: &Context, _: &S) -> Result<Self, ToolError> {
        let info = ctx.client_info().ok_or_else(|| ToolError::new("Say who you are"))?;
        Ok(Self(info.name))
    }
}

#[derive(Clone)]
struct App {
    greeting: &'static str,
    counter: Arc<AtomicU32>,
}

struct Greeting(&'static str);

impl FromRef<App> for Greeting {
    fn from_ref(app: &App) -> Self {
        Self(app.greeting)
    }
}

async fn greet(
    Params(place): Params<Place>,
    State(Greeting(greeting)): State<Greeting>,
    Caller(caller): Caller,
    ctx: Context,
    State(app): State<App>,
) -> String {
    let number = app.counter.fetch_add(1, Ordering::Relaxed);
    format!("{greeting} {caller} of {} by {}, call {number}", place.city, ctx.name())
}

#[tokio::test]
async fn arguments_of_handlers_come_in_any_order_and_state_is_shared() {
    let app = App { greeting: "Hello", counter: Arc::new(AtomicU32::new(1)) };
    let server = Server::builder("typed", "1.0.0")
        .tool("early", "Has no state.", async || "early")
        .with_state(app.clone())
        .tool("greet", "Greet.", greet)
        .add_tool(Tool::new("again", "Greet again.", greet).title("Again"))
        .resource("app://greeting", "greeting", async |State(Greeting(greeting)): State<Greeting>| greeting)
        .build();
    server.add_tool(Tool::new("late", "Greet late.", greet).with_state(app)).unwrap();
    let client = Client::connect(&server).await.unwrap();
    for (number, name) in ["greet", "again", "late"].into_iter().enumerate() {
        let text = client.call_tool(name, json!({"city": "Oslo"})).await.unwrap().joined_text();
        assert_eq!(text, format!("Hello trunkline of Oslo by {name}, call {}", number + 1));
    }
    assert_eq!(client.call_tool("early", ()).await.unwrap().joined_text(), "early");
    let tools = client.list_tools().await.unwrap();
    let again = tools.iter().find(|tool| tool.name == "again").unwrap();
    assert_eq!((again.title.as_deref(), &again.input_schema["required"]), (Some("Again"), &json!(["city"])));
}

#[tokio::test]
async fn types_say_what_they_return() {
    let block = || ContentBlock::text("block");
    let server = Server::builder("typed", "1.0.0")
        .tool("struct", "A struct.", async || Json(McpContentBlock { kind: "mine" }))
        .tool("maybe", "A struct, perhaps.", async || Some(Json(McpContentBlock { kind: "mine" })))
        .tool("nothing", "No struct.", async || None::<Json<McpContentBlock>>)
        .tool("map", "A map.", async || Json(BTreeMap::from([("a", 1)])))
        .tool("number", "A number.", async || 7)
        .tool("unit", "Nothing.", async || ())
        .tool("texts", "A list of texts.", async || ["a", "b"])
        .tool("text", "A text, perhaps.", async || Some("text"))
        .tool("blocks", "A list of content.", move || async move { vec![block(), block()] })
        .tool("link", "A link.", async || ResourceLink { uri: "a:b".into(), ..ResourceLink::default() })
        .tool("full", "A full result.", async || CallToolResult::error("refused"))
        .build();
    let client = Client::connect(&server).await.unwrap();
    let tools = client.list_tools().await.unwrap();
    let kind = json!({"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]});
    let output = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().output_schema.clone();
    assert_eq!(output("struct"), Some(kind));
    for name in ["text", "blocks", "link", "full"] {
        assert_eq!(output(name), None, "{name}");
    }
    for (name, structured, text) in [
        ("struct", Some(json!({"kind": "mine"})), r#"{"kind":"mine"}"#),
        ("maybe", Some(json!({"result": {"kind": "mine"}})), r#"{"kind":"mine"}"#),
        ("nothing", Some(json!({"result": null})), "null"),
        ("map", Some(json!({"a": 1})), r#"{"a":1}"#),
        ("number", Some(json!({"result": 7})), "7"),
        ("unit", None, ""),
        ("texts", Some(json!({"result": ["a", "b"]})), r#"["a","b"]"#),
        ("text", None, "text"),
        ("blocks", None, "block\nblock"),
        ("link", None, ""),
        ("full", None, "refused"),
    ] {
        let result = client.call_tool(name, ()).await.unwrap();
        assert_eq!((result.structured_content.clone(), &*result.joined_text()), (structured, text), "{name}");
        assert_eq!(result.is_error, name == "full");
    }
}

#[tokio::test]
async fn tool_13_an_object_is_what_the_output_schema_of_its_tool_describes() {
    let schema = json!({"type": "object", "properties": {"high": {"type": "integer"}}, "required": ["high"]});
    let tool = |tool: Tool| tool.output_schema(schema.clone());
    let server = Server::builder("typed", "1.0.0")
        .add_tool(tool(Tool::new("json", "A value.", async || Json(json!({"high": 21})))))
        .add_tool(tool(Tool::new("value", "A value.", async || json!({"high": 21}))))
        .add_tool(tool(Tool::new("maybe", "A map, perhaps.", async || Some(Json(BTreeMap::from([("high", 21)]))))))
        .tool("any", "A value.", async || json!({"high": 21}))
        .build();
    let client = Client::connect(&server).await.unwrap();
    for (name, structured) in [
        ("json", json!({"high": 21})),
        ("value", json!({"high": 21})),
        ("maybe", json!({"high": 21})),
        ("any", json!({"result": {"high": 21}})),
    ] {
        let result = client.call_tool(name, ()).await.unwrap();
        assert_eq!((result.structured_content.as_ref(), result.is_error), (Some(&structured), false), "{name}");
    }
}

#[tokio::test]
async fn errors_of_any_type_say_what_clients_see() {
    let disk = || std::io::Error::other("disk on fire");
    let server = Server::builder("typed", "1.0.0")
        .tool("own", "Own error.", async || Err::<(), _>(NoteError::NotFound("today".into())))
        .tool("own_internal", "Own error.", move || async move { Err::<(), _>(NoteError::Disk(disk())) })
        .tool("transparent", "Behind an enum.", async || {
            Err::<(), _>(CallError::from(AppError::from(ToolError::new("no"))))
        })
        .tool("source", "Behind an enum.", move || async move { Err::<(), _>(CallError::from(AppError::Load(disk()))) })
        .tool("anyhow", "Behind anyhow.", async || {
            let told: Result<(), ToolError> = Err(ToolError::new("no"));
            anyhow::Context::context(told, "while the note was read")?;
            trunkline::Ok(())
        })
        .tool("anyhow_internal", "Behind anyhow.", async || {
            anyhow::Context::context(Err::<(), _>(std::fmt::Error), "while the note was read")?;
            trunkline::Ok(())
        })
        .tool("rpc", "A JSON-RPC error.", async || Err::<(), _>(RpcError::new(-32000, "busy")))
        .tool("arguments", "A further check.", async || Err::<(), _>(ToolError::invalid_arguments("/city: too far")))
        .resource("a:none", "none", async || None::<String>)
        .resource("a:bytes", "bytes", async || vec![0u8, 255])
        .build();
    let client = Client::connect(&server).await.unwrap();
    let generic = "The tool failed because of an internal error.";
    for (name, text) in [
        ("own", "There is no note today"),
        ("own_internal", generic),
        ("transparent", "no"),
        ("source", generic),
        ("anyhow", "no"),
        ("anyhow_internal", generic),
        ("arguments", "Invalid arguments for tool arguments: /city: too far"),
    ] {
        let result = client.call_tool(name, ()).await.unwrap();
        assert!(result.is_error, "{name}");
        assert_eq!(result.joined_text(), text, "{name}");
    }
    assert_eq!(client.call_tool("rpc", ()).await.unwrap_err().rpc().unwrap().code, -32000);
    let read = async |uri: &str| {
        let params = RawJson::from_value(&json!({"uri": uri})).unwrap();
        client.request("resources/read", Some(&params), &RequestOptions::default()).await
    };
    let error = read("a:none").await.unwrap_err();
    assert_eq!(error.rpc().unwrap(), &RpcError::resource_not_found("a:none", client.revision()));
    let bytes: Value = read("a:bytes").await.unwrap().parse().unwrap();
    assert_eq!(bytes["contents"], json!([{"uri": "a:bytes", "blob": "AP8="}]));
}

#[tokio::test]
async fn debug_shows_the_causes_of_a_failure_and_the_text_of_a_panic() {
    let server = Server::builder("typed", "1.0.0")
        .options(ServerOptions::default().with_debug(true))
        .tool("source", "Fails.", async || {
            Err::<(), _>(CallError::from(AppError::Load(std::io::Error::other("denied"))))
        })
        .tool("panic", "Panics.", async || {
            if true {
                panic!("number {}", 7)
            }
        })
        .build();
    let client = Client::connect(&server).await.unwrap();
    let text = async |name: &str| client.call_tool(name, ()).await.unwrap().joined_text();
    assert!(text("source").await.ends_with("cannot load the note: denied"));
    assert!(text("panic").await.ends_with("the handler panicked: number 7"));
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    text: String,
    #[serde(default)]
    limit: u8,
}

/// Takes further arguments, and says so by its map.
#[derive(Deserialize, JsonSchema)]
struct OpenQuery {
    text: String,
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// Takes further arguments by its schema, and leaves them out.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct LenientQuery {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "by")]
enum Where {
    City { city: String },
    Point { latitude: f64 },
}

/// The schema of a flattened enum has its members in `oneOf`, which a closed object would refuse.
#[derive(Deserialize, JsonSchema)]
struct Wanted {
    day: u8,
    #[serde(flatten)]
    place: Where,
}

#[tokio::test]
async fn unknown_arguments_are_refused_unless_the_type_takes_them() {
    let server = Server::builder("closed", "1")
        .tool("closed", "Searches.", async |Params(query): Params<Query>| format!("{}{}", query.text, query.limit))
        .tool("open", "Searches.", async |Params(query): Params<OpenQuery>| {
            format!("{}{:?}", query.text, query.more.keys().collect::<Vec<_>>())
        })
        .tool("lenient", "Searches.", async |Params(query): Params<LenientQuery>| query.text)
        .tool("map", "Counts.", async |Params(map): Params<BTreeMap<String, u8>>| map.len().to_string())
        .tool("wanted", "Searches.", async |Params(wanted): Params<Wanted>| match wanted.place {
            Where::City { city } => format!("{} {city}", wanted.day),
            Where::Point { latitude } => format!("{} {latitude}", wanted.day),
        })
        .build();
    let client = Client::connect(&server).await.unwrap();
    let call = async |name: &str, arguments: Value| client.call_tool(name, arguments).await.unwrap();
    let refused = call("closed", json!({"text": "a", "limt": 1})).await;
    assert!(refused.is_error && refused.joined_text().contains("limt"), "{refused:?}");
    for (name, arguments, text) in [
        ("closed", json!({"text": "a", "limit": 1}), "a1"),
        ("open", json!({"text": "a", "limt": 1}), "a[\"limt\"]"),
        ("lenient", json!({"text": "a", "limt": 1}), "a"),
        ("map", json!({"a": 1, "b": 2}), "2"),
        ("wanted", json!({"day": 1, "by": "City", "city": "Oslo"}), "1 Oslo"),
        ("wanted", json!({"day": 1, "by": "Point", "latitude": 0.5}), "1 0.5"),
    ] {
        assert_eq!(call(name, arguments).await.joined_text(), text, "{name}");
    }
}

#[derive(Serialize, JsonSchema)]
struct Readings {
    celsius: Vec<Option<f64>>,
}

#[tokio::test]
async fn numbers_that_json_does_not_have_fail_the_call_with_their_path() {
    async fn nan() -> Json<Readings> {
        Json(Readings { celsius: vec![None, Some(f64::NAN)] })
    }
    let server = Server::builder("readings", "1")
        .options(ServerOptions::default().with_debug(true))
        .tool("json", "Reads.", nan)
        .tool("number", "Reads.", async || f64::INFINITY)
        .tool("none", "Reads.", async || Json(Readings { celsius: vec![None] }))
        .resource("readings://all", "all", nan)
        .build();
    let client = Client::connect(&server).await.unwrap();
    let text = async |name: &str| client.call_tool(name, ()).await.unwrap().joined_text();
    assert!(text("json").await.ends_with("$.celsius[1]: NaN cannot be represented in JSON"), "{}", text("json").await);
    assert!(text("number").await.ends_with("$: inf cannot be represented in JSON"));
    assert_eq!(text("none").await, r#"{"celsius":[null]}"#);
    let error = client.read_resource("readings://all").await.unwrap_err().to_string();
    assert!(error.contains("$.celsius[1]: NaN cannot be represented in JSON"), "{error}");
    let error = client.call_tool("none", BTreeMap::from([("a", f64::NAN)])).await.unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("$.a: NaN"), "{error}");
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Booking {
    people: u8,
    window: Option<bool>,
    seats: Option<Seats>,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Seats {
    Chairs,
    Bench,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Nested {
    #[allow(dead_code, reason = "the type is refused before")]
    booking: Booking,
}

/// The same on real requests and in rounds.
#[tokio::test]
async fn eli_12_a_form_of_a_type_gives_a_value_of_it() {
    let server = Server::builder("restaurant", "1")
        .tool("book", "Books.", async |ctx: Context| -> Result<String, CallError> {
            let first = ctx.elicit_form::<Booking>("A table?").await?;
            let second = ctx.elicit_form_with_key::<Booking>("again", "Another one?").await?;
            Ok(format!("{first:?} {second:?}"))
        })
        .tool("nested", "Fails.", async |ctx: Context| -> Result<String, CallError> {
            let answer = ctx.elicit_form::<Nested>("A table?").await?;
            Ok(format!("{:?}", answer.accepted()))
        })
        .build();
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let answer = async |request: ElicitRequest| -> Result<ElicitResult, HandlerError> {
            if request.message == "Another one?" {
                return Ok(ElicitResult::decline());
            }
            let form = serde_json::to_value(&request.requested_schema).unwrap();
            assert_eq!(form["properties"]["seats"], json!({"type": "string", "enum": ["chairs", "bench"]}));
            assert_eq!(form["required"], json!(["people"]));
            Ok(ElicitResult::accept(serde_json::from_value(json!({"people": 4, "seats": "bench"}))?))
        };
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
        let client = Client::builder().options(options).on_elicit(answer).connect(&server).await.unwrap();
        let text = client.call_tool("book", ()).await.unwrap().joined_text();
        let booking = Booking { people: 4, window: None, seats: Some(Seats::Bench) };
        assert_eq!(text, format!("{:?} Decline", Elicited::Accept(booking)), "{revision}");
        let error = client.call_tool("nested", ()).await.unwrap_err();
        assert!(error.to_string().contains("Nested.booking: a form supports only strings"), "{revision}: {error}");
    }
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
        server.add_tool(ToolDefinition::new(descriptor, |_: Call| {})).unwrap();
    }
}

/// On a runtime of one thread: the client sees reports before the handler ends.
#[tokio::test]
async fn a_handler_that_only_reports_lets_others_run() {
    let seen = Arc::new(AtomicU32::new(0));
    let at_the_end = Arc::new(AtomicU32::new(0));
    let (counted, noted) = (Arc::clone(&seen), Arc::clone(&at_the_end));
    let server = Server::builder("busy", "1.0.0")
        .tool("count", "Counts.", move |ctx: Context| {
            let (counted, noted) = (Arc::clone(&counted), Arc::clone(&noted));
            async move {
                for number in 1..=1_000 {
                    ctx.progress(f64::from(number), None).await;
                }
                noted.store(counted.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        })
        .build();
    let client = Client::connect(&server).await.unwrap();
    let counted = Arc::clone(&seen);
    let options = RequestOptions::default().with_progress(move |_, _, _| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    client.call_tool_with("count", json!({}), &options).await.unwrap();
    assert!(at_the_end.load(Ordering::Relaxed) > 0, "nobody saw a report while the handler ran");
}
