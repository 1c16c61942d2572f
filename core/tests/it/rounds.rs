//! Handlers that need input of the client: one piece of code, asked with real requests in the
//! legacy era and in rounds on 2026-07-28.

#![expect(deprecated, reason = "older revisions have it")]

use crate::{
    process::File,
    wire::{CAPABILITIES, Wire, modern, text_of},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use trunkline::{
    protocol::model::{CreateMessageParams, ElicitParams, ElicitResult, Field, FormSchema, SamplingMessage},
    server::{CompletionTarget, Context, Params, Server, ServerBuilder, ServerOptions, StateKey},
};

/// The servers of these tests, as roles of this binary: one that is started several times with the
/// same key, and others with another key, with states that expire soon, with another name, with
/// more rounds, and with handlers that run again on every revision.
pub(crate) const ROLES: [&str; 6] = [
    "asking server",
    "asking server of another key",
    "asking server that forgets",
    "asking server of another name",
    "asking server of many rounds",
    "asking server that runs handlers again",
];

#[derive(Deserialize, JsonSchema)]
struct Order {
    item: String,
}

pub(crate) fn serve(role: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { server(role).serve_stdio().await.unwrap() });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

fn question(field: &str) -> ElicitParams {
    ElicitParams::form(format!("Which {field}?"), FormSchema::new().required(field, Field::text()))
}

fn word(answer: &ElicitResult, field: &str) -> String {
    let content = answer.content.as_ref();
    content.and_then(|content| content.get(field)?.as_str()).unwrap_or("nothing").to_owned()
}

/// A tool that asks two things, in another order each run.
fn turns(builder: ServerBuilder, name: &str, has_keys: bool) -> ServerBuilder {
    let runs = Arc::new(AtomicU32::new(0));
    builder.tool(name, "Asks two things, in another order each run", move |ctx: Context| {
        let runs = Arc::clone(&runs);
        async move {
            let fields = ["name", "color"];
            let first = usize::try_from(runs.fetch_add(1, Ordering::Relaxed) % 2).unwrap_or_default();
            let mut words = [String::new(), String::new()];
            for at in [first, 1 - first] {
                let asked = question(fields[at]);
                let answer = match has_keys {
                    true => ctx.elicit_with_key(fields[at], asked).await?,
                    false => ctx.elicit(asked).await?,
                };
                words[at] = word(&answer, fields[at]);
            }
            trunkline::Ok(words.join(" in "))
        }
    })
}

fn questions_without_keys(builder: ServerBuilder) -> ServerBuilder {
    let prices = Arc::new(AtomicU32::new(0));
    builder
        .tool("price", "Asks about a price that changes, without a key", move |ctx: Context| {
            let prices = Arc::clone(&prices);
            async move {
                let price = prices.fetch_add(1, Ordering::Relaxed).min(1);
                let form = FormSchema::new().required("name", Field::text());
                let answer = ctx.elicit(ElicitParams::form(format!("Buy for {price}?"), form)).await?;
                trunkline::Ok(format!("{price}: {}", word(&answer, "name")))
            }
        })
        .tool("twice", "Asks the same thing eleven times, without keys", |ctx: Context| async move {
            let mut words = Vec::new();
            for _ in 0..11 {
                words.push(word(&ctx.elicit(question("name")).await?, "name"));
            }
            trunkline::Ok(words.join(" "))
        })
}

fn server(role: &str) -> Server {
    let state_keys = vec![StateKey::new(if role == ROLES[1] { [8; 32] } else { [7; 32] })];
    let max_rounds = if role == ROLES[4] { 16 } else { 4 };
    let state_lifetime = Duration::from_millis(if role == ROLES[2] { 50 } else { 60_000 });
    let payments = Arc::new(AtomicU32::new(0));
    let builder = Server::builder(if role == ROLES[3] { "other" } else { "asking" }, "1.0.0");
    turns(turns(questions_without_keys(builder), "turns", false), "turns_with_keys", true)
        .options(
            ServerOptions::default()
                .with_state_keys(state_keys)
                .with_state_lifetime(state_lifetime)
                .with_max_rounds(max_rounds)
                .with_rerun_handlers(role == ROLES[5]),
        )
        .tool(
            "order",
            "Asks two things, one after the other",
            |ctx: Context, Params(order): Params<Order>| async move {
                let name = ctx.elicit_with_key("name", question("name")).await?;
                let color = ctx.elicit_with_key("color", question("color")).await?;
                trunkline::Ok(format!("{} for {} in {}", order.item, word(&name, "name"), word(&color, "color")))
            },
        )
        .tool("decide", "Tells what the user did", |ctx: Context| async move {
            let answer = ctx.elicit_with_key("name", question("name")).await?;
            trunkline::Ok(format!("{:?} {}", answer.action, word(&answer, "name")))
        })
        .tool("pay", "Pays once the user has said so, and tells how often", move |ctx: Context| {
            let payments = Arc::clone(&payments);
            async move {
                ctx.elicit_with_key("name", question("name")).await?;
                let paid = || async move { trunkline::Ok(payments.fetch_add(1, Ordering::Relaxed) + 1) };
                trunkline::Ok(format!("paid {} times", ctx.once("payment", paid).await?))
            }
        })
        .tool("model", "Asks the client's model", |ctx: Context| async move {
            let params = CreateMessageParams::new(vec![SamplingMessage::user("Say something")], 100);
            trunkline::Ok(ctx.sample_with_key("said", params).await?.joined_text())
        })
        .tool("roots", "Asks for the roots", |ctx: Context| async move {
            let roots: Vec<_> = ctx.list_roots().await?.into_iter().map(|root| root.uri).collect();
            trunkline::Ok(roots.join(" "))
        })
        .tool("endless", "Is never done", |ctx: Context| async move {
            for round in 0_u32.. {
                ctx.elicit_with_key(&format!("again {round}"), question("name")).await?;
            }
            trunkline::Ok("never")
        })
        .prompt("plain", "With an argument", |Params(order): Params<Order>| async move { order.item })
        .completion(CompletionTarget::Prompt("plain".into()), "item", |ctx: Context| async move {
            ctx.elicit_with_key("name", question("name")).await?;
            trunkline::Ok(vec!["never".to_owned()])
        })
        .build()
}

fn all() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

fn start(role: &str) -> Wire {
    Wire::start(role, &File::new())
}

fn session(revision: &str, capabilities: &Value) -> Wire {
    session_of(ROLES[0], revision, capabilities)
}

fn session_of(role: &str, revision: &str, capabilities: &Value) -> Wire {
    let mut wire = start(role);
    let info = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info});
    assert_eq!(wire.ask("open", "initialize", params)["result"]["protocolVersion"], revision);
    wire.tell("notifications/initialized", json!({}));
    wire
}

fn call(tool: &str, arguments: Value) -> Value {
    let mut params = modern(json!({"name": tool, "arguments": arguments}));
    params["_meta"][CAPABILITIES] = all();
    params
}

/// The same request, one round later.
fn retry(mut params: Value, state: &Value, responses: Value) -> Value {
    params["requestState"] = state.clone();
    params["inputResponses"] = responses;
    params
}

fn given(field: &str, value: &str) -> Value {
    json!({"action": "accept", "content": {field: value}})
}

fn asked(answer: &Value) -> (Vec<String>, Value) {
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let requests = result["inputRequests"].as_object().unwrap();
    (requests.keys().cloned().collect(), result["requestState"].clone())
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[test]
fn mrtr_20_in_the_handshake_era_a_handler_asks_while_its_call_is_open() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut wire = session(revision, &all());
        wire.request(1, "tools/call", json!({"name": "order", "arguments": {"item": "Hat"}}));
        for (field, value) in [("name", "Ada"), ("color", "red")] {
            let request = wire.told("elicitation/create");
            assert_eq!(request["params"]["message"], format!("Which {field}?"));
            wire.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": given(field, value)}));
        }
        assert_eq!(text_of(&wire.answer(1)), "Hat for Ada in red");
        assert_eq!(wire.rest(), [] as [Value; 0], "{revision}: nothing is asked without a call");
    }
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = session(revision, &all());
        wire.request(1, "tools/call", json!({"name": "model"}));
        let request = wire.told("sampling/createMessage");
        assert_eq!(request["params"]["maxTokens"], 100);
        let said = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Something"}});
        wire.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": said}));
        assert_eq!(text_of(&wire.answer(1)), "Something", "{revision}");
        wire.request(2, "tools/call", json!({"name": "roots"}));
        let request = wire.told("roots/list");
        let roots = json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]});
        wire.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": roots}));
        assert_eq!(text_of(&wire.answer(2)), "file:///a file:///b", "{revision}");
    }
}

/// LIFE-19, ROOT-07: in the legacy era too, what the client did not declare is not asked for.
#[test]
fn what_a_session_did_not_declare_is_not_asked_for() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = session(revision, &json!({}));
        for tool in ["decide", "model", "roots"] {
            let refused = wire.ask(tool, "tools/call", json!({"name": tool}));
            let is_error = refused["error"].is_object() || refused["result"]["isError"] == true;
            assert!(is_error, "{revision}: {refused}");
        }
        assert_eq!(wire.rest(), [] as [Value; 0], "{revision}");
    }
}

#[test]
fn mrtr_02_mrtr_03_and_disc_20_rounds_carry_everything_with_them() {
    let mut wire = start(ROLES[0]);
    let first = call("order", json!({"item": "Hat"}));
    let answer = wire.ask(1, "tools/call", first.clone());
    let request = &answer["result"]["inputRequests"]["name"];
    assert_eq!(
        (&request["method"], &request["params"]["message"]),
        (&json!("elicitation/create"), &json!("Which name?"))
    );
    let (keys, state) = asked(&answer);
    assert_eq!(keys, ["name"]);
    let (keys, next) =
        asked(&wire.ask(2, "tools/call", retry(first.clone(), &state, json!({"name": given("name", "Ada")}))));
    assert_eq!(keys, ["color"]);
    assert_ne!(next, state);
    // The order of members means nothing, and `_meta` may differ.
    let mut last = retry(first, &next, json!({"color": given("color", "red")}));
    last["_meta"]["progressToken"] = "t".into();
    let done = wire.ask(3, "tools/call", last);
    assert_eq!((text_of(&done), &done["result"]["resultType"]), ("Hat for Ada in red".to_owned(), &json!("complete")));
    assert_eq!(wire.rest(), [] as [Value; 0], "STD-08");
}

/// Only the key is shared: any process that has it can continue the round of another.
#[test]
fn disc_18_another_process_continues_the_round() {
    let first = call("decide", json!({}));
    let (_, state) = asked(&start(ROLES[0]).ask(1, "tools/call", first.clone()));
    let second = retry(first, &state, json!({"name": given("name", "Ada")}));
    assert_eq!(text_of(&start(ROLES[0]).ask(1, "tools/call", second.clone())), "Accept Ada");
    assert_eq!(code(&start(ROLES[1]).ask(1, "tools/call", second.clone())), -32602, "it has another key");
    assert_eq!(code(&start(ROLES[3]).ask(1, "tools/call", second)), -32602, "it is another server with the same key");
}

#[test]
fn mrtr_05_to_07_a_state_that_was_changed_or_belongs_elsewhere_or_is_old_is_refused() {
    let mut wire = start(ROLES[0]);
    let first = call("order", json!({"item": "Hat"}));
    let (_, state) = asked(&wire.ask(1, "tools/call", first.clone()));
    let text = state.as_str().unwrap().to_owned();
    let responses = || json!({"name": given("name", "Ada")});
    let mut changed: Vec<Value> = (0..text.len())
        .step_by(7)
        .map(|position| {
            let other = if text.as_bytes()[position] == b'A' { "B" } else { "A" };
            json!(format!("{}{other}{}", &text[..position], &text[position + 1..]))
        })
        .collect();
    changed.extend([
        json!(""),
        json!("nonsense"),
        json!(text[..text.len() / 2]),
        json!(format!("{text}AAAA")),
        json!(5),
        json!({}),
    ]);
    for state in changed {
        assert_eq!(
            code(&wire.ask("changed", "tools/call", retry(first.clone(), &state, responses()))),
            -32602,
            "{state}"
        );
    }
    for other in [call("order", json!({"item": "Coat"})), call("decide", json!({}))] {
        assert_eq!(code(&wire.ask("other", "tools/call", retry(other, &state, responses()))), -32602);
    }
    assert_eq!(asked(&wire.ask("good", "tools/call", retry(first, &state, responses()))).0, ["color"]);

    let mut wire = start(ROLES[2]);
    let first = call("decide", json!({}));
    let (_, state) = asked(&wire.ask(1, "tools/call", first.clone()));
    std::thread::sleep(Duration::from_millis(60));
    let late = wire.ask(2, "tools/call", retry(first, &state, responses()));
    // SEC-06: it has expired.
    assert_eq!(code(&late), -32602);
    assert!(late["error"]["message"].as_str().unwrap().contains("expired"), "{late}");
}

/// A client whose connection broke before the answer sends the same retry again.
#[test]
fn mrtr_08_a_repeated_retry_does_not_repeat_an_effect() {
    let mut wire = start(ROLES[0]);
    let first = call("pay", json!({}));
    let (_, state) = asked(&wire.ask(1, "tools/call", first.clone()));
    let again = retry(first.clone(), &state, json!({"name": given("name", "Ada")}));
    for id in 2..5 {
        assert_eq!(text_of(&wire.ask(id, "tools/call", again.clone())), "paid 1 times");
    }
    let (_, state) = asked(&wire.ask(5, "tools/call", first.clone()));
    let other = retry(first, &state, json!({"name": given("name", "Ada")}));
    assert_eq!(text_of(&wire.ask(6, "tools/call", other)), "paid 2 times", "another request of its own");
}

#[test]
fn mrtr_10_to_12_answers_that_are_missing_are_asked_for_and_malformed_ones_refused() {
    let mut wire = start(ROLES[0]);
    let first = call("order", json!({"item": "Hat"}));
    let (_, state) = asked(&wire.ask(1, "tools/call", first.clone()));
    for lacking in [json!({}), json!({"nonsense": given("name", "Ada")}), json!({"color": given("color", "red")})] {
        assert_eq!(asked(&wire.ask(2, "tools/call", retry(first.clone(), &state, lacking))).0, ["name"]);
    }
    let extra = json!({"name": given("name", "Ada"), "nonsense": {"any": "thing"}});
    assert_eq!(asked(&wire.ask(3, "tools/call", retry(first.clone(), &state, extra))).0, ["color"]);
    let mut unasked = first.clone();
    unasked["inputResponses"] = json!({"name": given("name", "Ada"), "nonsense": given("any", "thing")});
    assert_eq!(asked(&wire.ask(3, "tools/call", unasked)).0, ["color"], "a client may know the question already");
    for malformed in [json!([]), json!("x"), json!({"name": 5}), json!({"name": null}), json!({"name": []})] {
        assert_eq!(
            code(&wire.ask(4, "tools/call", retry(first.clone(), &state, malformed.clone()))),
            -32602,
            "{malformed}"
        );
    }
}

/// Plays the rounds of a call: `reply` answers a message.
fn played(wire: &mut Wire, tool: &str, mut reply: impl FnMut(&str) -> Value) -> String {
    let mut params = call(tool, json!({}));
    loop {
        let answer = wire.ask("round", "tools/call", params);
        if answer["result"]["resultType"] != "input_required" {
            return text_of(&answer);
        }
        let (_, state) = asked(&answer);
        let requests = answer["result"]["inputRequests"].as_object().unwrap();
        let responses = requests
            .iter()
            .map(|(key, request)| (key.clone(), reply(request["params"]["message"].as_str().unwrap())))
            .collect();
        params = retry(call(tool, json!({})), &state, responses);
    }
}

#[test]
fn mrtr_10_an_answer_follows_its_question_when_the_order_changes() {
    for tool in ["turns", "turns_with_keys"] {
        let mut asked = Vec::new();
        let said = played(&mut start(ROLES[0]), tool, |message| {
            asked.push(message.to_owned());
            if message == "Which name?" { given("name", "Ada") } else { given("color", "red") }
        });
        assert_eq!((said.as_str(), asked.len()), ("Ada in red", 2), "{tool}: {asked:?}");
    }
}

#[test]
fn mrtr_20_the_same_holds_for_a_handler_that_runs_again_in_the_handshake_era() {
    for tool in ["turns", "turns_with_keys"] {
        let mut wire = session_of(ROLES[5], "2025-11-25", &all());
        wire.request(1, "tools/call", json!({"name": tool}));
        for (field, value) in [("name", "Ada"), ("color", "red")] {
            let request = wire.told("elicitation/create");
            assert_eq!(request["params"]["message"], format!("Which {field}?"), "{tool}");
            wire.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": given(field, value)}));
        }
        assert_eq!(text_of(&wire.answer(1)), "Ada in red", "{tool}");
    }
}

#[test]
fn mrtr_10_a_question_that_changed_is_asked_again() {
    let mut asked = Vec::new();
    let said = played(&mut start(ROLES[0]), "price", |message| {
        asked.push(message.to_owned());
        given("name", if message == "Buy for 0?" { "yes to 0" } else { "yes to 1" })
    });
    assert_eq!(said, "1: yes to 1");
    assert_eq!(asked, ["Buy for 0?", "Buy for 1?"]);
}

#[test]
fn mrtr_10_equal_questions_have_answers_of_their_own() {
    let mut count = 0;
    let said = played(&mut start(ROLES[4]), "twice", |_| {
        count += 1;
        given("name", &count.to_string())
    });
    assert_eq!(said, "1 2 3 4 5 6 7 8 9 10 11");
}

#[test]
fn mrtr_04_only_declared_capabilities_are_used() {
    let mut wire = start(ROLES[0]);
    for (tool, needed) in [("decide", "elicitation"), ("model", "sampling"), ("roots", "roots")] {
        let mut lacking = call(tool, json!({}));
        lacking["_meta"][CAPABILITIES].as_object_mut().unwrap().shift_remove(needed);
        let refused = wire.ask(tool, "tools/call", lacking);
        assert_eq!(code(&refused), -32021, "{tool}");
        assert!(refused["error"]["data"]["requiredCapabilities"][needed].is_object(), "{refused}");
        assert_eq!(asked(&wire.ask(tool, "tools/call", call(tool, json!({})))).0.len(), 1, "{tool}");
    }
}

#[test]
fn mrtr_01_only_tools_prompts_and_resources_ask() {
    let mut wire = start(ROLES[0]);
    let mut params =
        modern(json!({"ref": {"type": "ref/prompt", "name": "plain"}, "argument": {"name": "item", "value": ""}}));
    params["_meta"][CAPABILITIES] = all();
    let refused = wire.ask(1, "completion/complete", params.clone());
    assert!(refused["error"].is_object(), "{refused}");
    // Nor does it continue rounds.
    params["inputResponses"] = json!({"name": given("name", "Ada")});
    let refused = wire.ask(2, "completion/complete", params);
    assert!(refused["error"].is_object(), "{refused}");
}

/// ELI-12 too: the user's actions are distinguished.
#[test]
fn eli_13_users_may_decline_and_cancel() {
    let mut wire = start(ROLES[0]);
    for (response, said) in [
        (given("name", "Ada"), "Accept Ada"),
        (json!({"action": "decline"}), "Decline nothing"),
        (json!({"action": "cancel"}), "Cancel nothing"),
    ] {
        let (_, state) = asked(&wire.ask(1, "tools/call", call("decide", json!({}))));
        let answer = wire.ask(2, "tools/call", retry(call("decide", json!({})), &state, json!({"name": response})));
        assert_eq!(text_of(&answer), said);
    }
}

#[test]
fn mrtr_09_a_client_that_never_returns_costs_nothing_and_rounds_are_bounded() {
    let mut wire = start(ROLES[0]);
    for id in 0..500 {
        asked(&wire.ask(id, "tools/call", call("decide", json!({}))));
    }
    let mut params = call("endless", json!({}));
    for round in 0.. {
        let answer = wire.ask("round", "tools/call", params);
        if answer["result"]["resultType"] == "complete" || answer["error"].is_object() {
            assert_eq!((round, answer.to_string().contains("limit")), (4, true), "{answer}");
            break;
        }
        let (keys, state) = asked(&answer);
        params = retry(call("endless", json!({})), &state, json!({keys[0].as_str(): given("name", "x")}));
    }
    let (last, status, _) = wire.close();
    assert!(last.is_empty() && status.success(), "nobody is waited for");
}
