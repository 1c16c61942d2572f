//! Requests to clients and their answers.

#![expect(deprecated, reason = "older revisions have it")]

use crate::{
    protocol::{
        Revision,
        envelope::Frame,
        model::{ElicitParams, Field, FormSchema},
    },
    server::{
        CallError, ClientRequestError, Context, InputRequest, InputRequired, Outbound, Server, ServerOptions,
        tests::{Out, Peer, accept, modern, server, text_of},
    },
};
use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

fn amount() -> ElicitParams {
    ElicitParams::form("How much?", FormSchema::new().required("amount", Field::integer()))
}

fn said(answer: &crate::protocol::model::ElicitResult) -> i64 {
    answer.content.as_ref().and_then(|content| content.get("amount")?.as_i64()).unwrap_or(-1)
}

fn call(tool: &str) -> Value {
    modern(json!({"name": tool, "arguments": {}}), json!({"elicitation": {}}))
}

fn retry(tool: &str, asked: &Value, responses: Value) -> Value {
    let mut params = call(tool);
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = responses;
    params
}

fn keys(asked: &Value) -> Vec<&str> {
    let requests = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("nothing asked: {asked}"));
    requests.keys().map(String::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn mrtr_05_mrtr_06_sealed_answers_cannot_be_changed() {
    let server = server()
        .tool("transfer", "Asks, checks, asks for a confirmation, and pays", |ctx: Context| async move {
            let paid = said(&ctx.elicit_with_key("amount", amount()).await?);
            let within = ctx.once("limit", || async { Ok::<_, CallError>(paid <= 100) }).await?;
            ctx.elicit_with_key("confirm", amount()).await?;
            crate::Ok(if within { format!("paid {paid}") } else { "refused".to_owned() })
        })
        .build();
    let peer = Peer::of(&server);
    let first = peer.ask("tools/call", call("transfer")).await;
    let second =
        peer.ask("tools/call", retry("transfer", &first, json!({"amount": accept(json!({"amount": 5}))}))).await;
    assert_eq!(keys(&second), ["confirm"]);
    let changed = json!({"amount": accept(json!({"amount": 1_000_000})), "confirm": accept(json!({"amount": 1}))});
    assert_eq!(text_of(&peer.ask("tools/call", retry("transfer", &second, changed)).await), "paid 5");
}

/// A tool that returns what it needs, and tells what it got.
fn returns_a_form() -> Server {
    let form = |ctx: Context| async move {
        let (given, problems) = (ctx.input_responses(), ctx.input_problems());
        if given.is_empty() && problems.is_empty() {
            return Err(InputRequired::new().ask("n", InputRequest::elicit(&amount())).into());
        }
        Ok::<_, CallError>(json!({"given": given, "problems": problems}).to_string())
    };
    server().tool("form", "Needs a number", form).build()
}

#[tokio::test(start_paused = true)]
async fn eli_11_answers_to_a_returned_form_are_checked_in_both_eras() {
    let (right, wrong) = (accept(json!({"amount": 1})), accept(json!({"amount": "much"})));
    let check = |answer: &Value, right: bool| {
        let told: Value = serde_json::from_str(text_of(answer)).unwrap();
        assert_eq!(told["given"].get("n").is_some(), right, "{told}");
        assert_eq!(told["problems"]["n"].as_str().is_some_and(|problem| problem.contains("/amount")), !right, "{told}");
    };
    for (answer, is_right) in [(&right, true), (&wrong, false)] {
        let peer = Peer::of(&returns_a_form());
        let asked = peer.ask("tools/call", call("form")).await;
        check(&peer.ask("tools/call", retry("form", &asked, json!({"n": answer, "other": right}))).await, is_right);

        let peer = Peer::of(&returns_a_form()).in_session(Revision::V2025_11_25, json!({"elicitation": {}})).await;
        let id = peer.request("tools/call", json!({"name": "form"}));
        let asked = peer.received("elicitation/create").await;
        peer.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
        check(&peer.answer(id).await, is_right);
    }
}

#[tokio::test(start_paused = true)]
async fn mrtr_11_an_unsolicited_input_response_is_ignored() {
    let peer = Peer::of(&returns_a_form());
    let unasked = json!({"n": accept(json!({"amount": 1}))});
    let mut params = call("form");
    params["inputResponses"] = unasked.clone();
    let asked = peer.ask("tools/call", params).await;
    assert_eq!(keys(&asked), ["n"], "nothing was asked before");
    // MRTR-10: nor does what answers something else count.
    let again = peer.ask("tools/call", retry("form", &asked, json!({"n": {"roots": []}}))).await;
    assert_eq!(keys(&again), ["n"]);
}

#[tokio::test(start_paused = true)]
async fn a_reused_key_identifies_another_question() {
    let server = server()
        .tool("insists", "Asks until it is told a number", |ctx: Context| async move {
            loop {
                match ctx.elicit_with_key("amount", amount()).await {
                    Err(ClientRequestError::Invalid(_)) => {}
                    answer => return crate::Ok(said(&answer?).to_string()),
                }
            }
        })
        .build();
    let peer = Peer::of(&server);
    let mut asked = peer.ask("tools/call", call("insists")).await;
    for key in ["amount", "amount-2"] {
        assert_eq!(keys(&asked), [key]);
        asked = peer.ask("tools/call", retry("insists", &asked, json!({key: accept(json!({"amount": "x"}))}))).await;
    }
    let last = json!({"amount-3": accept(json!({"amount": 7}))});
    assert_eq!(text_of(&peer.ask("tools/call", retry("insists", &asked, last)).await), "7");
}

/// The call can be cancelled like any other, and its client requests are bounded.
#[tokio::test]
async fn a_handler_that_asks_forever_blocks_no_thread() {
    let refused = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refused);
    let server = server()
        .tool("deaf", "Does not hear", move |ctx: Context| {
            let count = Arc::clone(&count);
            async move {
                loop {
                    match ctx.elicit(amount()).await {
                        Ok(_) => return crate::Ok("heard"),
                        Err(ClientRequestError::Refused(_)) => {
                            count.fetch_add(1, Ordering::Relaxed);
                            tokio::task::yield_now().await;
                        }
                        Err(_) => {}
                    }
                }
            }
        })
        .tool("other", "Is quick", || async { "here" })
        .build();
    let peer = Peer::of(&server);
    let id = peer.request("tools/call", call("deaf"));
    assert_eq!(text_of(&peer.ask("tools/call", call("other")).await), "here");
    while refused.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    assert_eq!(peer.rest().await, [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_answered_keeps_nothing() {
    let server = server()
        .options(ServerOptions { input_timeout: Duration::from_secs(600), ..ServerOptions::default() })
        .tool("twice", "Asks twice", |ctx: Context| async move {
            ctx.elicit(amount()).await?;
            ctx.elicit(amount()).await?;
            crate::Ok("done")
        })
        .build();
    let peer = Peer::of(&server).in_session(Revision::V2025_11_25, json!({"elicitation": {}})).await;
    let stream = Arc::new(Out::default());
    let reply: Arc<dyn Outbound> = stream.clone();
    let text = json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": {"name": "twice"}}).to_string();
    let _ = peer.connection.receive(Frame::parse(&Bytes::from(text), server.options().limits.frame()), None, &reply);
    drop(reply);
    let (mut seen, alive) = (0, || tokio::runtime::Handle::current().metrics().num_alive_tasks());
    let before = alive();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let asked = stream.came.lock().pop_front();
        if let Some(asked) = asked.filter(|asked| asked["method"] == "elicitation/create") {
            let result = accept(json!({"amount": 1}));
            peer.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
            seen += 1;
        }
    }
    // Long before the time of the requests is over, nobody holds the stream but this test, and
    // nothing waits for their timeout. (The call itself was running before.)
    assert_eq!((seen, Arc::strong_count(&stream), alive()), (2, 1, before - 1));
}

#[tokio::test(start_paused = true)]
async fn disc_15_all_capabilities_that_are_missing_are_named() {
    let form = |_: Context| async move {
        let sampling = InputRequest::new("sampling/createMessage", json!({"messages": [], "maxTokens": 1}))?;
        let requests = InputRequired::new().ask("a", InputRequest::elicit(&amount())).ask("b", InputRequest::roots());
        Err::<String, CallError>(requests.ask("c", sampling).into())
    };
    let peer = Peer::of(&server().tool("form", "Needs much", form).build());
    let refused = peer.ask("tools/call", modern(json!({"name": "form", "arguments": {}}), json!({"roots": {}}))).await;
    assert_eq!(refused["error"]["code"], -32021);
    let required = refused["error"]["data"]["requiredCapabilities"].as_object().unwrap();
    assert_eq!(required.keys().collect::<Vec<_>>(), ["elicitation", "sampling"], "{refused}");
}
