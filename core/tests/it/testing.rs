//! Tests of programs: clients that answer from a script.

#![expect(deprecated, reason = "older revisions have it")]

use serde_json::json;
use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use trunkline::{
    Revision, Server,
    prelude::*,
    protocol::model::{
        CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Field, FormSchema, Root, SamplingMessage,
    },
    testing::{AnsweredRequest, Script},
};

async fn ask(ctx: Context) -> Result<String, CallError> {
    let form = FormSchema::new().required("name", Field::text());
    let answer = ctx.elicit(ElicitParams::form("Your name?", form)).await?;
    let name = answer.content.and_then(|content| Some(content.get("name")?.as_str()?.to_owned()));
    Ok(name.unwrap_or_else(|| "nobody".into()))
}

async fn page(ctx: Context) -> Result<String, CallError> {
    let answer = ctx.elicit(ElicitParams::url("Log in", "https://login.example/start")).await?;
    Ok(answer.action.as_str().to_owned())
}

async fn think(ctx: Context) -> Result<String, CallError> {
    let params = CreateMessageParams::new([SamplingMessage::user("2 + 2?")], 10);
    Ok(ctx.sample(params).await?.joined_text())
}

async fn roots(ctx: Context) -> Result<usize, CallError> {
    Ok(ctx.list_roots().await?.len())
}

fn server() -> Server {
    Server::builder("asking", "1.0.0")
        .tool("ask", "Ask the user.", ask)
        .tool("page", "Send the user to a page.", page)
        .tool("think", "Ask the model.", think)
        .tool("roots", "Count the roots.", roots)
        .build()
}

fn named(name: &str) -> ElicitResult {
    ElicitResult::accept(serde_json::from_value(json!({"name": name})).unwrap())
}

fn thought(text: &str) -> CreateMessageResult {
    CreateMessageResult { content: text.into(), model: "m".into(), ..CreateMessageResult::default() }
}

#[tokio::test]
async fn a_script_answers_in_its_order_on_every_revision() -> Result<(), Box<dyn Error>> {
    for revision in Revision::ALL.into_iter().filter(|revision| revision.as_str() >= "2025-11-25") {
        let script = Script::new().on_elicit(named("Ada")).on_elicit(ElicitResult::decline());
        let script = script.on_elicit_url(ElicitResult::cancel()).on_sample(thought("4"));
        let script = script.roots([Root::new("file:///a"), Root::new("file:///b")]).revision(revision);
        let client = script.connect(&server()).await?;
        assert_eq!(client.revision(), revision);
        for (tool, text) in
            [("ask", "Ada"), ("think", "4"), ("ask", "nobody"), ("page", "cancel"), ("roots", "2"), ("roots", "2")]
        {
            assert_eq!(client.call_tool(tool, json!({})).await?.joined_text(), text, "{tool}, {revision}");
        }
        let asked = client.answered_requests();
        let [
            AnsweredRequest::Elicit(form),
            AnsweredRequest::Sample(message),
            AnsweredRequest::Elicit(_),
            AnsweredRequest::ElicitUrl(page),
        ] = &asked[..]
        else {
            panic!("{asked:?}")
        };
        assert_eq!((form.message.as_str(), page.url.as_str()), ("Your name?", "https://login.example/start"));
        assert_eq!(message.max_tokens, 10);
        client.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn handlers_that_ask_run_again_from_the_top_on_every_revision() -> Result<(), Box<dyn Error>> {
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let runs = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&runs);
        let server = Server::builder("counting", "1.0.0")
            .tool("ask", "Ask.", move |ctx: Context| {
                counted.fetch_add(1, Ordering::Relaxed);
                ask(ctx)
            })
            .build();
        let client = Script::new().on_elicit(named("Ada")).revision(revision).connect(&server).await?;
        client.call_tool("ask", json!({})).await?;
        assert_eq!(runs.load(Ordering::Relaxed), 2, "{revision}");
        client.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn tests_find_answers_that_are_missing_and_those_that_are_left() -> Result<(), Box<dyn Error>> {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let script = Script::new().on_elicit(named("Ada")).on_sample(thought("4")).revision(revision);
        let client = script.connect(&server()).await?;
        client.call_tool("ask", json!({})).await?;
        let second = client.call_tool("ask", json!({})).await;
        let text = second.map_or_else(|error| error.to_string(), |result| result.joined_text());
        let missing = r#"the script has no answer left for the form "Your name?""#;
        assert!(text.contains(missing), "{revision}: {text}");
        let error = client.finish().await.unwrap_err().to_string();
        let expected = format!("{missing}; 1 answers to messages to the model were not asked for");
        assert_eq!(error, expected, "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn tests_see_the_errors_of_handlers_that_are_hidden_from_clients() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("failing", "1.0.0")
        .tool("fail", "Fail.", async || -> Result<String, CallError> { Err(std::io::Error::other("disk full"))? })
        .tool("panic", "Panic.", async || -> String { panic!("oh no") })
        .tool("refuse", "Refuse.", async || -> Result<String, ToolError> { Err(ToolError::new("no")) })
        .build();
    let client = Script::new().connect(&server).await?;
    for tool in ["fail", "panic", "refuse"] {
        let result = client.call_tool(tool, json!({})).await?;
        assert!(result.is_error && !result.joined_text().contains("disk full"));
    }
    let failures = client.failures();
    let [fail, panic] = &failures[..] else { panic!("{failures:?}") };
    let error = fail.error.internal_error().and_then(|error| error.downcast_ref::<std::io::Error>());
    assert_eq!((fail.name.as_str(), error.map(ToString::to_string).as_deref()), ("fail", Some("disk full")));
    assert!(panic.name == "panic" && panic.error.to_string().contains("oh no"), "{panic:?}");

    client.call_tool("fail", json!({})).await?;
    assert_eq!(client.finish().await.unwrap_err().to_string(), "fail failed: disk full");
    Ok(())
}
