//! Custom requests from clients of every revision.

use crate::{
    Context, Json, Params,
    protocol::{RawJson, Revision, RpcError, meta},
    server::{
        Call, CallError, MiddlewareDefinition, Next, OnDuplicate, Outcome, RequestHandlerDefinition, Server,
        ServerOptions, ToolError,
        tests::{Peer, modern, server},
    },
    wire_log::Transport,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Terms {
    terms: Vec<i64>,
}

#[derive(Serialize)]
struct Sum {
    sum: i64,
}

async fn sum(ctx: Context, Params(given): Params<Terms>) -> Json<Sum> {
    ctx.progress(1.0, Some(1.0)).await;
    Json(Sum { sum: given.terms.iter().sum() })
}

fn stateless(params: Value) -> Value {
    modern(params, json!({}))
}

const SUM: &str = "com.acme/sum";

/// Returns a peer, and a function that adds to params what the revision requires.
async fn peer(server: &Server, revision: Revision, principal: Option<&str>) -> (Peer, fn(Value) -> Value) {
    let peer = Peer::with(server, Transport::Stdio, principal);
    if revision == Revision::LATEST { (peer, stateless) } else { (peer.in_session(revision, json!({})).await, |it| it) }
}

#[tokio::test(start_paused = true)]
async fn ext_10_a_request_beyond_the_protocol_has_a_handler_in_every_revision() {
    let server = server().request_handler(SUM, sum).build();
    for revision in Revision::ALL {
        let (peer, with) = peer(&server, revision, None).await;
        let mut params = with(json!({"terms": [1, 2, 39]}));
        params["_meta"]["progressToken"] = json!("t");
        let answer = peer.ask(SUM, params).await;
        assert_eq!(answer["result"]["sum"], 42, "{revision}: {answer}");
        let is_modern = revision == Revision::LATEST;
        assert_eq!(answer["result"]["resultType"] == "complete", is_modern, "{answer}");
        assert_eq!(answer["result"]["_meta"][meta::SERVER_INFO]["name"] == "tested", is_modern);
        let progress = peer.received("notifications/progress").await;
        assert_eq!(progress["params"]["progressToken"], "t");
        for (params, says) in [(json!({"terms": "x"}), "/terms"), (json!({}), "terms")] {
            let error = peer.ask(SUM, with(params)).await["error"].take();
            let text = error["message"].as_str().unwrap();
            assert!(error["code"] == -32602 && text.contains(SUM) && text.contains(says), "{error}");
        }
        let unknown = peer.ask("com.acme/other", with(json!({}))).await;
        assert_eq!(unknown["error"]["code"], -32601, "EXT-03: {unknown}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_is_an_object_and_values_keep_their_text() {
    let value = |text: &'static str| {
        move |call: Call| {
            call.complete(Outcome::Value(RawJson::from_text(text.as_bytes().into()).unwrap()));
        }
    };
    let echo = |call: Call| {
        let params = call.input().clone();
        call.complete(Outcome::Value(params));
    };
    let server = server()
        .add_request_handler(RequestHandlerDefinition::new("com.acme/echo", echo))
        .add_request_handler(RequestHandlerDefinition::new("com.acme/nothing", value("null")))
        .add_request_handler(RequestHandlerDefinition::new("com.acme/empty", value("{ }")))
        .add_request_handler(RequestHandlerDefinition::new("com.acme/own", value(r#"{"_meta": {"a": 1}, "b": 2}"#)))
        .add_request_handler(RequestHandlerDefinition::new("com.acme/number", value("7")))
        .add_request_handler(RequestHandlerDefinition::new("com.acme/text", |call: Call| {
            call.complete(Outcome::Text("text".into()));
        }))
        .request_handler("com.acme/unit", async || ())
        .request_handler("com.acme/told", async || Err::<(), _>(ToolError::new("out of paper")))
        .request_handler("com.acme/error", async || -> Result<Value, CallError> {
            Err(RpcError::new(-31_000, "closed").with_data(json!({"until": 8})).into())
        })
        .build();
    for revision in [Revision::V2025_06_18, Revision::LATEST] {
        let (peer, with) = peer(&server, revision, None).await;
        let big = "123456789012345678901234567890";
        let params: Value = with(json!({"z": 1, "a": [null]}));
        let text = params.to_string().replacen("\"z\":1", &format!("\"z\":{big}"), 1);
        let request = format!(r#"{{"jsonrpc":"2.0","id":"big","method":"com.acme/echo","params":{text}}}"#);
        peer.send_text(&request, None);
        peer.first("the answer to big", |message| message["id"] == "big").await;
        let written = peer.out.texts.lock().last().unwrap().clone();
        assert!(written.contains(&format!(r#""result":{{"z":{big},"a":[null]"#)), "{written}");
        for method in ["com.acme/nothing", "com.acme/empty", "com.acme/unit"] {
            let result = peer.ask(method, with(json!({}))).await["result"].take();
            assert!(result.is_object(), "{method}: {result}");
        }
        let own = peer.ask("com.acme/own", with(json!({}))).await["result"].take();
        assert_eq!((&own["_meta"]["a"], &own["b"]), (&json!(1), &json!(2)));
        for method in ["com.acme/number", "com.acme/text"] {
            let error = peer.ask(method, with(json!({}))).await["error"].take();
            assert_eq!(error["code"], -32603, "{method}: {error}");
        }
        let error = peer.ask("com.acme/told", with(json!({}))).await["error"].take();
        assert_eq!(error["message"], "out of paper");
        let error = peer.ask("com.acme/error", with(json!({}))).await["error"].take();
        assert_eq!(error, json!({"code": -31_000, "message": "closed", "data": {"until": 8}}));
    }
}

#[tokio::test(start_paused = true)]
async fn middleware_wraps_it_and_scopes_and_visibility_guard_it() {
    let twice = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move {
        let mut result = next.run().await?;
        result["twice"] = json!(2 * result["sum"].as_i64().unwrap());
        Ok(result)
    });
    let admins = |call: Call| {
        let auth: Value = call.info().request_info().auth.as_ref().map_or(Value::Null, |auth| auth.parse().unwrap());
        let is_admin = RawJson::from_value(&(auth["principal"] == "admin")).unwrap();
        call.complete(Outcome::Value(is_admin));
    };
    let server = server()
        .add_middleware(twice.methods([SUM]))
        .request_handler(SUM, sum)
        .add_request_handler(RequestHandlerDefinition::from_fn("com.acme/closed", async || ()).scopes(["absent"]))
        .add_request_handler(RequestHandlerDefinition::from_fn("com.acme/open", async || ()).scopes(["granted"]))
        .add_request_handler(RequestHandlerDefinition::from_fn("com.acme/admin", async || ()).visible(admins))
        .build();
    for revision in [Revision::V2025_11_25, Revision::LATEST] {
        let (user, with) = peer(&server, revision, Some("user")).await;
        let result = user.ask(SUM, with(json!({"terms": [4]}))).await["result"].take();
        assert_eq!((&result["sum"], &result["twice"]), (&json!(4), &json!(8)));
        let refused = user.ask("com.acme/closed", with(json!({}))).await["error"].take();
        assert_eq!(refused["data"]["error"], "insufficient_scope", "{refused}");
        assert!(user.ask("com.acme/open", with(json!({}))).await["result"].is_object());
        assert_eq!(user.ask("com.acme/admin", with(json!({}))).await["error"]["code"], -32601);
        let (admin, with) = peer(&server, revision, Some("admin")).await;
        assert!(admin.ask("com.acme/admin", with(json!({}))).await["result"].is_object());
    }
}

#[tokio::test(start_paused = true)]
async fn names_of_the_protocol_are_refused_and_handlers_come_and_go() {
    let strict = server().build();
    let add = |server: &Server, method: &str| {
        server.add_request_handler(RequestHandlerDefinition::from_fn(method, async || ()))
    };
    for (method, says) in [
        ("tools/call", "is a method of the protocol"),
        ("ping", "is a method of the protocol"),
        ("tools/sum", "the prefix \"tools\" is reserved by the protocol"),
        ("sum", "needs a prefix"),
    ] {
        let problem = add(&strict, method).unwrap_err().to_string();
        assert!(problem.contains(says), "{problem}");
    }
    let wrong = RequestHandlerDefinition::from_fn(SUM, async || ()).params_schema(json!({"type": "nonsense"}));
    assert!(strict.add_request_handler(wrong).unwrap_err().to_string().contains("the schema of the params"));
    let added = add(&strict, SUM).unwrap();
    assert!(add(&strict, SUM).unwrap_err().to_string().contains("already registered"));
    let peer = Peer::of(&strict);
    assert!(peer.ask(SUM, stateless(json!({}))).await["result"].is_object());
    assert!(added.remove() && !added.remove());
    assert_eq!(peer.ask(SUM, stateless(json!({}))).await["error"]["code"], -32601);
    let replacing = server().options(ServerOptions::default().with_on_duplicate(OnDuplicate::Replace)).build();
    let old = add(&replacing, SUM).unwrap();
    replacing.add_request_handler(RequestHandlerDefinition::from_fn(SUM, sum)).unwrap();
    assert!(!old.remove(), "it was replaced");
    let peer = Peer::of(&replacing);
    assert_eq!(peer.ask(SUM, stateless(json!({"terms": [1]}))).await["result"]["sum"], 1);
}
