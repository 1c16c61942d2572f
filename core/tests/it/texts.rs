//! Arguments of prompts and variables of resource templates: strings, which become what the type of
//! the handler's arguments says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline::{
    Client, Params, Server, ServerBuilder,
    protocol::model::{CallToolResult, GetPromptResult},
    server::PromptDefinition,
};

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    /// Of the world
    Metric,
    Imperial,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Goal {
    goal: i32,
    #[schemars(range(max = 1.0))]
    share: f64,
    urgent: bool,
    unit: Unit,
    week: Option<u8>,
    note: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { r: f64 },
    Square { a: f64 },
}

fn builder() -> ServerBuilder {
    Server::builder("texts", "1.0.0")
}

fn texts(of: &GetPromptResult) -> &str {
    of.messages[0].content.as_text().unwrap()
}

#[tokio::test]
async fn prm_05_arguments_of_prompts_are_converted_by_their_types() {
    let server = builder()
        .prompt("goal", "", async |Params(goal): Params<Goal>| format!("{goal:?}"))
        .prompt("shape", "", async |Params(shape): Params<Shape>| format!("{shape:?}"))
        .build();
    let client = Client::connect(&server).await.unwrap();
    let listed = client.list_prompts().await.unwrap();
    let arguments = |prompt: usize| {
        let all = listed[prompt].arguments.iter().flatten();
        all.map(|argument| (&*argument.name, argument.required)).collect::<Vec<_>>()
    };
    let required =
        [("goal", true), ("share", true), ("urgent", true), ("unit", true), ("week", false), ("note", false)];
    assert_eq!(arguments(0), required);
    assert_eq!(arguments(1), [("kind", true), ("r", false), ("a", false)]);

    let given = json!({"goal": "20", "share": "0.5", "urgent": "true", "unit": "imperial", "week": "7"});
    let read = "Goal { goal: 20, share: 0.5, urgent: true, unit: Imperial, week: Some(7), note: None }";
    assert_eq!(texts(&client.get_prompt("goal", &given).await.unwrap()), read);
    let goal = Goal { goal: 20, share: 0.5, urgent: true, unit: Unit::Imperial, week: Some(7), note: None };
    assert_eq!(texts(&client.get_prompt("goal", goal).await.unwrap()), read);
    let note =
        client.get_prompt("goal", json!({"goal": 1, "share": 1, "urgent": false, "unit": "metric", "note": "20"}));
    assert!(texts(&note.await.unwrap()).ends_with(r#"note: Some("20") }"#));
    let circle = client.get_prompt("shape", json!({"kind": "circle", "r": "2"})).await.unwrap();
    assert_eq!(texts(&circle), "Circle { r: 2.0 }");

    for (argument, value, problem) in [
        ("goal", "twenty", r#"Prompt goal: /goal: "twenty" is not of type "integer""#),
        ("goal", "99999999999", "goal: must be an integer from -2147483648 to 2147483647, not 99999999999"),
        ("share", "2", "Prompt goal: /share: 2 is greater than the maximum of 1.0"),
        ("urgent", "maybe", r#"Prompt goal: /urgent: "maybe" is not of type "boolean""#),
        ("unit", "feet", "Prompt goal: /unit: "),
        ("week", "300", "Prompt goal: /week: "),
    ] {
        let mut wrong = given.clone();
        wrong[argument] = value.into();
        let error = client.get_prompt("goal", wrong).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code, -32602, "{error}");
        assert!(error.to_string().starts_with(problem), "{error}");
    }
    for wrong in [json!({"goal": [1]}), json!(1)] {
        assert!(client.get_prompt("goal", wrong).await.unwrap_err().to_string().contains("prompt goal"));
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its text is of interest")]
struct Row {
    table: String,
    ids: Option<Vec<u32>>,
    page: Option<u8>,
}

#[tokio::test]
async fn variables_of_templates_are_converted_by_their_types() {
    let server = builder()
        .resource_template("x://{table}{/ids*}{?page}", "x", async |Params(row): Params<Row>| format!("{row:?}"))
        .build();
    let client = Client::connect(&server).await.unwrap();
    for (uri, read) in [
        ("x://7/1/2?page=3", r#"Row { table: "7", ids: Some([1, 2]), page: Some(3) }"#),
        ("x://7", r#"Row { table: "7", ids: None, page: None }"#),
    ] {
        assert_eq!(client.read_resource(uri).await.unwrap().contents[0].as_text(), Some(read));
    }
    let error = client.read_resource("x://7?page=two").await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32602);
    assert!(error.to_string().starts_with(r#"Resource x://7?page=two: /page: "two" is not of type"#), "{error}");
}

/// A change of one thing keeps the types of the arguments.
#[tokio::test]
async fn a_changed_prompt_converts_as_before() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let given =
        PromptDefinition::new(json!({"name": "n", "arguments": [{"name": "n"}]}), |call: trunkline::server::Call| {
            let input = call.input().clone();
            call.complete(trunkline::server::Outcome::Text(String::from_utf8_lossy(input.as_bytes()).into()));
        });
    let server = builder().add_prompt(given.arguments_schema(schema)).build();
    server.find_prompt("n").unwrap().update(|prompt| prompt.with("title", "N".into())).unwrap();
    let client = Client::connect(&server).await.unwrap();
    assert_eq!(texts(&client.get_prompt("n", json!({"n": "3"})).await.unwrap()), r#"{"n":3}"#);
}

#[test]
fn types_that_strings_cannot_become_are_refused_when_they_are_registered() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Tagged {
        tags: Vec<String>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Nested {
        row: Row,
    }
    let problem = |builder: ServerBuilder| builder.try_build().err().unwrap().to_string();
    for (builder, expected) in [
        (
            builder().prompt("plan", "", async |_: Params<Tagged>| ""),
            "Prompt plan: tags in the handler's arguments is of type array, but given as a string",
        ),
        (
            builder().prompt("plan", "", async |_: Params<Nested>| ""),
            "Prompt plan: row in the handler's arguments is of type object, but given as a string",
        ),
        (
            builder().prompt("plan", "", async |_: Params<String>| ""),
            r#"Prompt plan: the handler's arguments are of type "string", but given as an object"#,
        ),
        (
            builder().resource_template("x://{tags}", "x", async |_: Params<Tagged>| ""),
            "Resource template x://{tags}: tags in the handler's arguments is of type array, but given as a string",
        ),
        (
            builder().resource_template("x://{table*}", "x", async |_: Params<Row>| ""),
            "Resource template x://{table*}: table in the handler's arguments is of type string, but given as a list of strings",
        ),
        (
            builder().resource_template("x://{goal}", "x", async |_: Params<Row>| ""),
            "Resource template x://{goal}: table in the handler's arguments is required, but never given",
        ),
    ] {
        assert_eq!(problem(builder), expected);
    }
}

/// TOOL-07: the root says that it is an object.
#[tokio::test]
async fn an_enum_with_a_tag_is_the_arguments_of_a_tool() {
    let server = builder().tool("area", "", async |Params(shape): Params<Shape>| match shape {
        Shape::Circle { r } => r * r * std::f64::consts::PI,
        Shape::Square { a } => a * a,
    });
    let client = Client::connect(&server.build()).await.unwrap();
    let schema = client.list_tools().await.unwrap().remove(0).input_schema;
    assert_eq!(schema["type"], "object", "{schema}");
    assert_eq!(schema["oneOf"].as_array().unwrap().len(), 2, "{schema}");
    let call = async |arguments| -> CallToolResult { client.call_tool("area", arguments).await.unwrap() };
    assert_eq!(call(json!({"kind": "square", "a": 3})).await.joined_text(), "9.0");
    assert!(call(json!({"kind": "square", "r": 3})).await.is_error);
    assert!(call(json!({"kind": "line"})).await.is_error);
}
