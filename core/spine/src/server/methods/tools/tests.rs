//! Tool names and arguments: headers are checked against the received request, access against the
//! registered tool.

use crate::{
    engine::Mirror,
    protocol::{
        RawJson, Revision,
        model::{self, JsonObject},
    },
    server::{
        Call, CallError, Context, Json, MiddlewareDefinition, Next, Outcome, Page, Provider, Server, ServerOptions,
        ToolDefinition, ToolRequest,
        tests::{Peer, keeping, modern, server, text_of},
    },
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

fn echo() -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    ToolDefinition::new(json!({"name": "echo", "inputSchema": schema}), |call: Call| {
        let text = String::from_utf8_lossy(call.input().as_bytes()).into_owned();
        call.complete(Outcome::Text(text));
    })
}

fn mirror(region: &str) -> Mirror {
    let parameters = Arc::new([("region".to_owned(), Ok(region.to_owned()))].into());
    let (version, method) = (Some("2026-07-28".to_owned()), Some("tools/call".to_owned()));
    Mirror { version, method, name: Some(Ok("echo".to_owned())), parameters }
}

/// H26-36, H26-37: even if middleware changes the request or responds without calling the tool.
#[tokio::test(start_paused = true)]
async fn h26_37_headers_are_compared_with_the_body_that_came() {
    let rewrites = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move {
        let mut params = next.params().cloned().unwrap_or_default();
        params["arguments"]["region"] = "elsewhere".into();
        Ok(next.run_with(params).await?)
    });
    let answers = MiddlewareDefinition::from_fn(|_: Context, _: Next| async move {
        Ok(json!({"content": [{"type": "text", "text": "mine"}]}))
    });
    for (middleware, said) in [(rewrites, r#"{"region":"elsewhere"}"#), (answers, "mine")] {
        let server = server().add_tool(echo()).add_middleware(middleware.methods(["tools/call"])).build();
        let peer = Peer::of(&server);
        let params = modern(json!({"name": "echo", "arguments": {"region": "eu"}}), json!({}));
        let id = peer.request_with("tools/call", params.clone(), Some(&mirror("eu")));
        assert_eq!(text_of(&peer.answer(id).await), said);
        let id = peer.request_with("tools/call", params, Some(&mirror("us")));
        assert_eq!(peer.answer(id).await["error"]["code"], -32020);
    }
}

struct Provides;

impl Provider for Provides {
    type Item = model::Tool;
    type Output = String;
    type Error = CallError;

    async fn list(&self, _: Context, _: Option<String>) -> Result<Page<model::Tool>, CallError> {
        let schema = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
        Ok(Page::last([model::Tool::new("echo", "Echoes.", schema)]))
    }

    async fn get(&self, _: Context, request: ToolRequest) -> Result<Option<String>, CallError> {
        Ok(Some(Value::from(request.arguments).to_string()))
    }
}

#[tokio::test(start_paused = true)]
async fn h26_36_headers_of_a_listed_tool_of_a_provider_are_compared() {
    let peer = Peer::of(&server().provider(Provides).build());
    peer.ask("tools/list", modern(json!({}), json!({}))).await;
    let params = modern(json!({"name": "echo", "arguments": {"region": "eu"}}), json!({}));
    let id = peer.request_with("tools/call", params.clone(), Some(&mirror("eu")));
    assert_eq!(text_of(&peer.answer(id).await), r#"{"region":"eu"}"#);
    let id = peer.request_with("tools/call", params, Some(&mirror("us")));
    assert_eq!(peer.answer(id).await["error"]["code"], -32020);
}

/// A call that wants progress, and is still open.
fn slow_call() -> (Peer, u64, Call) {
    let (slow, calls) = keeping(json!({"name": "slow", "inputSchema": {"type": "object"}}));
    let peer = Peer::of(&server().add_tool(slow).build());
    let mut params = modern(json!({"name": "slow"}), json!({}));
    params["_meta"]["progressToken"] = json!("t");
    let id = peer.request("tools/call", params);
    let call = calls.lock().take().unwrap();
    (peer, id, call)
}

/// Otherwise, a handler could report more than the client can ever read.
#[tokio::test(start_paused = true)]
async fn prg_06_a_client_that_is_behind_gets_the_latest_progress() {
    let (peer, id, call) = slow_call();
    for (progress, is_behind) in [(1.0, false), (2.0, true), (3.0, true), (4.0, false), (5.0, true), (6.0, true)] {
        peer.out.is_behind.store(is_behind, Ordering::Relaxed);
        call.info().progress(progress, None, None);
    }
    call.complete(Outcome::Text("done".into()));
    assert_eq!(text_of(&peer.answer(id).await), "done");
    let came: Vec<Value> = peer.out.texts.lock().iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let reported: Vec<_> = came.iter().map(|message| message["params"]["progress"].as_f64()).collect();
    assert_eq!(reported, [Some(1.0), Some(4.0), Some(6.0), None]);
}

#[tokio::test(start_paused = true)]
async fn prg_02_prg_05_progress_of_several_threads_rises_until_the_response() {
    for _ in 0..50 {
        let (peer, _, call) = slow_call();
        peer.report_and_complete(call);
        assert!(peer.out.texts.lock().last().is_some_and(|text| text.contains("\"result\"")));
    }
}

/// Also beyond the integers of 64 bits, which a `Value` rounds.
#[tokio::test(start_paused = true)]
async fn results_of_middleware_keep_their_numbers() {
    let content = r#"{"n":123456789012345678901234567890,"m":18446744073709551617,"x":1.50,"y":1e999}"#;
    let result = raw(&format!(r#"{{"content":[],"structuredContent":{content}}}"#));
    let passes = MiddlewareDefinition::new(move |call: Call| {
        call.complete(Outcome::Result(result.clone()));
    });
    let peer = Peer::of(&server().add_tool(echo()).add_middleware(passes.methods(["tools/call"])).build());
    let id = peer.request("tools/call", modern(json!({"name": "echo", "arguments": {}}), json!({})));
    let told = peer.text_with(&format!("\"id\":{id},")).await;
    assert!(told.contains(content) && told.contains(r#""resultType":"complete""#), "{told}");
    let legacy = peer.in_session(Revision::V2025_06_18, json!({})).await;
    let id = legacy.request("tools/call", json!({"name": "echo", "arguments": {}}));
    let told = legacy.text_with(&format!("\"id\":{id},")).await;
    assert!(told.contains(content) && !told.contains("resultType"), "{told}");
}

/// Params and results are as without it, although it reads both into a `Value`.
#[tokio::test(start_paused = true)]
async fn middleware_that_changes_nothing_keeps_numbers() {
    let numbers = r#"{"n":123456789012345678901234567890,"m":18446744073709551617,"x":0.12345678901234567890}"#;
    let params = modern(json!({"name": "both", "arguments": "NUMBERS"}), json!({}));
    let params = params.to_string().replace("\"NUMBERS\"", numbers);
    for (passes_params, marks) in [(false, false), (true, false), (false, true)] {
        let outer = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move { Ok(next.run().await?) });
        let inner = MiddlewareDefinition::from_fn(move |_: Context, next: Next| async move {
            let params = next.params().cloned().unwrap_or_default();
            let mut result = if passes_params { next.run_with(params).await? } else { next.run().await? };
            if marks {
                result["_meta"]["example.com/marked"] = true.into();
            }
            Ok(result)
        });
        let both = ToolDefinition::new(json!({"name": "both", "inputSchema": {"type": "object"}}), |call: Call| {
            let arguments = String::from_utf8_lossy(call.input().as_bytes()).into_owned();
            call.complete(Outcome::Result(raw(&format!(r#"{{"content":[],"structuredContent":{arguments}}}"#))));
        });
        let server = server().add_tool(both).add_middleware(outer).add_middleware(inner).build();
        let peer = Peer::of(&server);
        peer.send_text(&format!(r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{params}}}"#), None);
        let told = peer.text_with("\"id\":77,").await;
        assert_eq!((told.contains(numbers), told.contains("marked")), (!marks, marks), "{told}");
    }
}

/// The revision of the caller lacks some members, but the others stay as they were written.
#[tokio::test(start_paused = true)]
async fn projected_results_of_middleware_keep_their_numbers() {
    let long = "18446744073709551617";
    let info = r#""io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}"#;
    let block = format!(r#"{{"type":"text","text":"t","_meta":{{"n":{long}}},"n":{long}}}"#);
    let result = raw(&format!(r#"{{"content":[{block},{block}],"_meta":{{{info},"n":{long}}}}}"#));
    let passes = MiddlewareDefinition::new(move |call: Call| {
        call.complete(Outcome::Result(result.clone()));
    });
    let server = server().add_tool(echo()).add_middleware(passes.methods(["tools/call"])).build();
    for (revision, numbers) in [(Revision::V2025_03_26, 3), (Revision::V2025_11_25, 5)] {
        let legacy = Peer::of(&server).in_session(revision, json!({})).await;
        let id = legacy.request("tools/call", json!({"name": "echo", "arguments": {}}));
        let told = legacy.text_with(&format!("\"id\":{id},")).await;
        assert_eq!((told.matches(long).count(), told.contains("serverInfo")), (numbers, false), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn results_of_handlers_keep_their_numbers() {
    let long = "-18446744073709551617";
    let block = format!("{{\"type\":\"text\",\n\"text\":\"t\",\"_meta\":{{\"n\":{long}}}}}");
    for (outcome, numbers) in [
        (Outcome::Result(raw(&format!(r#"{{"content":[{block}],"_meta":{{"n":{long},"x":[1.50,{long}]}}}}"#))), 3),
        (Outcome::Content(raw(&block)), 1),
        (Outcome::Content(raw(&format!("[{block},{block}]"))), 2),
    ] {
        let tool = json!({"name": "numbers", "inputSchema": {"type": "object"}});
        let tool = ToolDefinition::new(tool, move |call: Call| {
            call.complete(outcome.clone());
        });
        let peer = Peer::of(&server().add_tool(tool).build());
        let id = peer.request("tools/call", modern(json!({"name": "numbers", "arguments": {}}), json!({})));
        let told = peer.text_with(&format!("\"id\":{id},")).await;
        assert_eq!(told.matches(long).count(), numbers, "{told}");
        assert!(told.contains("serverInfo") && !told.contains('\n'), "{told}");
    }
}

/// The handler would never get them.
#[tokio::test(start_paused = true)]
async fn middleware_sees_no_halves_of_surrogate_pairs() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let middleware = MiddlewareDefinition::from_fn(move |_: Context, next: Next| {
        count.fetch_add(1, Ordering::Relaxed);
        async move { Ok(next.run().await?) }
    });
    let peer = Peer::of(&server().add_tool(echo()).add_middleware(middleware.methods(["tools/call"])).build());
    for (text, is_refused) in [(r"\ud83d\ude00", false), (r"\ud83d", true), (r"\ude00x", true)] {
        let params = modern(json!({"name": "echo", "arguments": {"message": "TEXT"}}), json!({}));
        let params = params.to_string().replace("TEXT", text);
        peer.send_text(&format!(r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{params}}}"#), None);
        let answer = peer.answer(77).await;
        if is_refused {
            assert_eq!(answer["error"]["code"], -32602);
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains("arguments.message") && message.contains("surrogate"), "{message}");
        }
        assert_eq!(seen.swap(0, Ordering::Relaxed), usize::from(!is_refused), "{text}");
    }
}

/// No `Value` can hold such a number. What becomes of it does not depend on middleware.
#[tokio::test(start_paused = true)]
async fn numbers_of_any_length_get_an_answer_behind_middleware_and_from_providers() {
    let same = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move { Ok(next.run().await?) });
    let plain = server().add_tool(echo()).build();
    let wrapped = server().add_tool(echo()).add_middleware(same.methods(["tools/call"])).build();
    let params = modern(json!({"name": "echo", "arguments": {"n": "LONG"}}), json!({}));
    let params = params.to_string().replace("\"LONG\"", &"9".repeat(400));
    let call = format!(r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{params}}}"#);
    let mut answers = Vec::new();
    for server in [plain, wrapped, server().provider(Provides).build()] {
        let peer = Peer::of(&server);
        peer.send_text(&call, None);
        answers.push(peer.answer(77).await);
    }
    assert_eq!(answers[0], answers[1]);
    let refused = answers[2].to_string();
    assert!(refused.contains("number out of range"), "{refused}");
}

/// AUS-10: a tool that middleware calls under another name keeps its scopes.
#[tokio::test(start_paused = true)]
async fn aus_10_an_alias_grants_nothing() {
    for (scope, is_granted) in [("granted", true), ("elsewhere", false)] {
        let alias = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move {
            let mut params = next.params().cloned().unwrap_or_default();
            params["name"] = "echo".into();
            Ok(next.run_with(params).await?)
        });
        let peer =
            Peer::of(&server().add_tool(echo().scopes([scope])).add_middleware(alias.methods(["tools/call"])).build());
        let answer = peer.ask("tools/call", modern(json!({"name": "alias", "arguments": {}}), json!({}))).await;
        assert_eq!(answer["result"].is_object(), is_granted, "{answer}");
        assert_eq!(answer["error"]["data"]["error"] == "insufficient_scope", !is_granted, "{answer}");
    }
}

/// A server with a tool that returns `outcome` and accepts any object as structured content.
fn gives(outcome: Outcome, debug: bool) -> Server {
    let descriptor = json!({"name": "gives", "outputSchema": {"type": "object"}});
    let entry = ToolDefinition::new(descriptor, move |call: Call| {
        call.complete(outcome.clone());
    });
    server().options(ServerOptions { debug, ..ServerOptions::default() }).add_tool(entry).build()
}

fn raw(text: &str) -> RawJson {
    RawJson::from_text(text.to_owned().into()).unwrap()
}

async fn call(server: &Server) -> Value {
    let peer = Peer::of(server).in_session(Revision::V2025_11_25, json!({})).await;
    peer.ask("tools/call", json!({"name": "gives"})).await["result"].take()
}

#[tokio::test(start_paused = true)]
async fn tool_13_a_tool_with_an_output_schema_gives_structured_content_or_fails() {
    let block = r#"{"type": "text", "text": "t"}"#;
    for outcome in [Outcome::Content(raw(block)), Outcome::Result(raw(&format!(r#"{{"content": [{block}]}}"#)))] {
        let result = call(&gives(outcome, false)).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("gives") && text.contains("no structured content"), "{text}");
    }
    let failed = format!(r#"{{"content": [{block}], "isError": true}}"#);
    assert_eq!(call(&gives(Outcome::Result(raw(&failed)), false)).await["content"][0]["text"], "t");
    let both = format!(r#"{{"content": [{block}], "structuredContent": {{"a": 1}}}}"#);
    assert_eq!(call(&gives(Outcome::Result(raw(&both)), false)).await["structuredContent"], json!({"a": 1}));
}

/// Numbers keep their text, even those that no machine type can represent.
#[tokio::test(start_paused = true)]
async fn structured_content_is_told_as_it_was_written() {
    let written = "{\"n\":\r\n 1000000000000000000000000000000, \"f\": 0.10000000000000000000001}";
    let told = written.replace(['\r', '\n'], " ");
    for outcome in [
        Outcome::Object(raw(written)),
        Outcome::Result(raw(&format!("{{\"structuredContent\": {written}}}"))),
        Outcome::Value(raw(written)),
    ] {
        let wrapped = matches!(outcome, Outcome::Value(_));
        let peer = Peer::of(&gives(outcome, false));
        let id = peer.request("tools/call", modern(json!({"name": "gives", "arguments": {}}), json!({})));
        let text = peer.result_text(id).await;
        let told = if wrapped { format!("{{\"result\":{told}}}") } else { told.clone() };
        assert!(text.contains(&format!("\"structuredContent\":{told}")) && !text.contains(['\r', '\n']), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_results_are_explained_and_lone_surrogates_are_replaced() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for outcome in [
        Outcome::Value(raw(&deep)),
        Outcome::Result(raw(&format!("{{\"structuredContent\": {deep}}}"))),
        Outcome::Content(raw(&deep)),
    ] {
        let result = call(&gives(outcome, true)).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("cannot be read") && text.contains("128 levels"), "{text}");
    }
    let result = call(&gives(Outcome::Object(raw(r#"{"a": "\ud83dx"}"#)), false)).await;
    assert_eq!(result["structuredContent"], json!({"a": "\u{fffd}x"}));
}

/// TOOL-15: a map becomes structured content unchanged.
#[tokio::test(start_paused = true)]
async fn tool_15_nothing_is_no_content_and_a_map_is_structured_content() {
    let server = server()
        .tool("nothing", "", async || ())
        .tool("none", "", async || None::<u8>)
        .tool("map", "", async || Json(BTreeMap::from([("a", 1)])))
        .tool("object", "", async || JsonObject::from_iter([("a".to_owned(), json!(1))]))
        .build();
    let peer = Peer::of(&server).in_session(Revision::V2025_11_25, json!({})).await;
    for (name, content, structured) in [
        ("nothing", json!([]), Value::Null),
        ("none", json!([{"type": "text", "text": "null"}]), json!({"result": null})),
        ("map", json!([{"type": "text", "text": "{\"a\":1}"}]), json!({"a": 1})),
        ("object", json!([{"type": "text", "text": "{\"a\":1}"}]), json!({"a": 1})),
    ] {
        let result = peer.ask("tools/call", json!({"name": name})).await["result"].take();
        assert_eq!((&result["content"], &result["structuredContent"]), (&content, &structured), "{name}");
        assert_eq!(result["isError"], Value::Null, "{name}");
    }
}

/// TOOL-19: refused arguments give a result on some revisions and an error on others.
#[tokio::test(start_paused = true)]
async fn tool_19_an_explainer_has_the_last_word_on_refused_arguments() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let descriptor = json!({"name": "own", "inputSchema": schema});
    let entry = ToolDefinition::new(descriptor, |call: Call| {
        call.complete(Outcome::Text("called".into()));
    });
    let entry = entry.explained_by(|call: Call| {
        let text = String::from_utf8_lossy(call.input().as_bytes()).into_owned();
        call.complete(match text.as_str() {
            "{}" => Outcome::Text("no words".into()),
            "{\"n\":\"5\"}" => Outcome::Value(RawJson::from_value(&true).unwrap()),
            _ => Outcome::InvalidArguments(format!("/n: give a whole number, not {text}")),
        });
    });
    let server = server().add_tool(entry).build();
    for (revision, is_result) in [(Revision::V2025_06_18, false), (Revision::V2025_11_25, true)] {
        let peer = Peer::of(&server).in_session(revision, json!({})).await;
        for (arguments, said) in [
            (json!({"n": 1}), "called"),
            (json!({"n": "5"}), "called"),
            (json!({"n": "x"}), "Invalid arguments for tool own: /n: give a whole number, not {\"n\":\"x\"}"),
            (json!({}), "Invalid arguments for tool own: property \"n\" is missing"),
        ] {
            let answer = peer.ask("tools/call", json!({"name": "own", "arguments": arguments})).await;
            if is_result || said == "called" {
                assert_eq!(answer["result"]["content"][0]["text"], said);
                assert_eq!(answer["result"]["isError"] == true, said != "called");
            } else {
                assert_eq!((&answer["error"]["code"], &answer["error"]["message"]), (&json!(-32602), &json!(said)));
            }
        }
    }
}

/// MISC-10: unknown members of a tool and of its results.
#[tokio::test(start_paused = true)]
async fn misc_10_unknown_members_are_sent_unchanged() {
    let vendor = json!({"deep": [1, {"null": null}]});
    let result = json!({"content": [{"type": "text", "text": "x", "x-vendor": vendor}], "x-vendor": vendor});
    let result = Outcome::Result(RawJson::from_value(&result).unwrap());
    let descriptor = json!({"name": "t", "x-vendor": vendor, "annotations": {"x-vendor": vendor}});
    let entry = ToolDefinition::new(descriptor, move |call: Call| {
        call.complete(result.clone());
    });
    let server = server().add_tool(entry).build();
    let as_they_are = |params: Value| params;
    let in_meta = |params: Value| modern(params, json!({}));
    for revision in Revision::ALL {
        let is_modern = revision == Revision::LATEST;
        let peer = Peer::of(&server);
        let (peer, params): (_, &dyn Fn(Value) -> Value) =
            if is_modern { (peer, &in_meta) } else { (peer.in_session(revision, json!({})).await, &as_they_are) };
        let listed = peer.ask("tools/list", params(json!({}))).await;
        assert_eq!(listed["result"]["tools"][0]["x-vendor"], vendor, "{revision}: {listed}");
        let called = peer.ask("tools/call", params(json!({"name": "t"}))).await;
        assert_eq!(called["result"]["x-vendor"], vendor, "{revision}: {called}");
        assert_eq!(called["result"]["content"][0]["x-vendor"], vendor, "{revision}: {called}");
    }
}
