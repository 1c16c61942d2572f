//! Slow patterns do not delay others (SCH-10).

use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use trunkline::{Client, Params, Server, Tool};

fn schema(pattern: &str) -> Value {
    json!({"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}})
}

fn server(pattern: &str) -> Server {
    let checked = Tool::new("checked", "Takes anything.", async |_: Params<Value>| "").input_schema(schema(pattern));
    Server::builder("s", "1").add_tool(checked).tool("quick", "Answers.", async || "quick").build()
}

// On one thread: anything that runs there blocks everything else.
#[tokio::test]
async fn sch_10_a_bystander_is_answered_while_arguments_are_checked() {
    let server = server(r"(?=(a+))\1b");
    let (client, bystander) = (Client::connect(&server).await.unwrap(), Client::connect(&server).await.unwrap());
    let is_checked = AtomicBool::new(false);
    let call = async {
        let refused = client.call_tool("checked", json!({"x": "a".repeat(2_040)})).await.unwrap();
        is_checked.store(true, Ordering::Relaxed);
        assert!(refused.is_error);
    };
    let other = async {
        assert_eq!(bystander.call_tool("quick", json!({})).await.unwrap().joined_text(), "quick");
        assert!(!is_checked.load(Ordering::Relaxed), "it waited for the check");
    };
    tokio::join!(call, other);
    assert!(!client.call_tool("checked", json!({"x": "aab"})).await.unwrap().is_error);
}

#[tokio::test]
async fn sch_10_a_pattern_that_looks_around_takes_short_strings() {
    let server = server(r"(?=.*\d)[a-z]+\d");
    let client = Client::connect(&server).await.unwrap();
    for (letters, digits, problem) in [
        (2_000, 1, ""),
        (2_000, 0, "/x: \"aaa"),
        (2_000, 0, "does not match"),
        (60_000, 1, "has 60001 bytes"),
        (
            60_000,
            1,
            r#"but the pattern "(?=.*\\d)[a-z]+\\d" can only check strings of up to 2048 bytes: shorten the string"#,
        ),
    ] {
        let text = "a".repeat(letters) + &"1".repeat(digits);
        let result = client.call_tool("checked", json!({"x": text})).await.unwrap();
        assert_eq!(result.is_error, !problem.is_empty());
        assert!(problem.is_empty() || result.joined_text().contains(problem), "{}", result.joined_text());
    }
}

#[tokio::test]
async fn patterns_for_names_may_look_around_too() {
    let schema = json!({
        "type": "object",
        "patternProperties": {"^(?!x-)": {"type": "integer"}, "^(?=.*_at$)": {"minimum": 1}, "^[a-z]{3}$": {"maximum": 9}},
        "additionalProperties": false,
    });
    let tool = Tool::new("t", "Takes anything.", async |_: Params<Value>| "").input_schema(schema);
    let server = Server::builder("s", "1").add_tool(tool).build();
    let client = Client::connect(&server).await.unwrap();
    for (arguments, problem) in [
        (json!({"a": 1, "made_at": 2, "abc": 9}), None),
        (json!({"a": "1"}), Some("/a: \"1\" is not of type \"integer\"")),
        (json!({"made_at": 0}), Some("/made_at: 0 is less than the minimum of 1")),
        (json!({"abc": 10}), Some("/abc: 10 is greater than the maximum of 9")),
        (json!({"x-a": 1}), Some("property \"x-a\" is not allowed")),
    ] {
        let result = client.call_tool("t", arguments).await.unwrap();
        match problem {
            None => assert!(!result.is_error, "{}", result.joined_text()),
            Some(problem) => assert!(result.joined_text().contains(problem), "{}", result.joined_text()),
        }
    }
}
