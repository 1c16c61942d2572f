//! Calls from the page of `trunkline inspect`: progress, questions, cancelling, large results, the
//! wire, and what there is besides tools.

use crate::{
    inspect_page::{Page, Tab},
    inspected::{FLOOD, LARGE, NO_ID, NO_MESSAGE, server, without_method},
    program::DEADLINE,
    roles::{Role, resident_bytes, until},
    servers::serve,
};
use serde_json::{Value, json};
use std::time::Duration;
use trunkline::{
    ResourceTemplate, Server, Tool,
    protocol::model::{CompleteParams, TaskSupport},
};

fn opened(flags: &[&str]) -> (Page, Tab) {
    Page::of_role(Role::Inspected, flags).with_tools()
}

#[test]
fn a_call_has_progress_a_result_and_its_rows_on_the_wire() {
    let (page, tab) = opened(&[]);
    for era in ["modern", "legacy"] {
        let id = page.done("call", &json!({"era": era, "name": "steps", "arguments": {}}))["call"].clone();
        let progress = tab.until(|event| event["event"] == "progress");
        assert_eq!((&progress["call"], &progress["progress"]["message"]), (&id, &json!("half")));
        let call = tab.end_of(id.as_u64().unwrap());
        assert_eq!((&call["state"], &call["era"]), (&json!("done"), &json!(era)));
        assert_eq!(call["result"]["json"]["content"][0]["text"], "both");
        assert_eq!(call["about"], "steps");
        assert!(call["ms"].as_f64().unwrap() > 0.0 && call["result"]["bytes"].as_u64().unwrap() > 20, "{call}");
        let rows = page.done("wire", &json!({"before": u64::MAX}))["rows"].clone();
        let rows = rows.as_array().unwrap();
        let find = |kind: &str| {
            let is_it = |row: &&Value| row["era"] == era && row["method"] == "tools/call" && row["kind"] == kind;
            rows.iter().rev().find(is_it).unwrap_or_else(|| panic!("no {kind} in {rows:?}"))
        };
        let (request, result) = (find("request"), find("result"));
        assert_eq!((&request["about"], &request["direction"]), (&json!("steps"), &json!("sent")));
        assert_eq!((&result["answers"], &result["rpcId"]), (&request["id"], &request["rpcId"]));
        let body = page.done("body", &json!({"row": request["id"]}));
        let message: Value = serde_json::from_str(body["text"].as_str().unwrap()).unwrap();
        assert_eq!(message["params"]["name"], "steps");
    }
    let exported = page.done("export", &json!({"form": "jsonl"}));
    let lines: Vec<Value> =
        exported["text"].as_str().unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The server's test harness prints lines that are no messages.
    let messages: Vec<&Value> = lines.iter().filter(|line| line["kind"] != "error").collect();
    assert!(messages.len() > 10 && messages.iter().all(|line| line["message"]["jsonrpc"] == "2.0"), "{exported}");
}

#[test]
fn arguments_are_checked_by_the_library_and_sent_as_they_are() {
    let (page, tab) = opened(&[]);
    let check =
        |arguments: Value| page.done("check", &json!({"era": "modern", "name": "echo", "arguments": arguments}));
    assert_eq!(check(json!({"text": "a"})), json!({"problem": null}));
    let problem = check(json!({}))["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("text (string) is missing"), "{problem}");
    // A preview sends nothing. Other lists may still arrive.
    let sent = || {
        let rows = page.done("wire", &json!({"before": 1_000_000}))["rows"].take();
        rows.as_array().unwrap().iter().filter(|row| row["method"] == "tools/call").count()
    };
    let before = sent();
    let preview = page.done("preview", &json!({"name": "echo", "arguments": {"text": "a"}}));
    let requests: Value = serde_json::from_str(preview["text"].as_str().unwrap()).unwrap();
    for revision in ["2025-11-25", "2026-07-28"] {
        let request = &requests[revision];
        assert_eq!((&request["method"], &request["params"]["arguments"]["text"]), (&json!("tools/call"), &json!("a")));
    }
    assert_eq!(sent(), before);
    // The page shows what the server says to a wrong call.
    let call = page.call(&tab, "echo", &json!({"text": 5}));
    assert!(call["result"]["json"]["isError"] == true || call["problem"]["rpc"]["code"].is_number(), "{call}");
    let call = page.call(&tab, "no-such-tool", &json!({}));
    assert_eq!((&call["state"], &call["problem"]["rpc"]["code"]), (&json!("failed"), &json!(-32602)), "{call}");
    let send = json!({"era": "legacy", "method": "tools/list", "params": {"cursor": "wrong"}});
    let sent = page.done("send", &send)["call"].as_u64().unwrap();
    assert!(tab.end_of(sent)["problem"]["rpc"]["message"].is_string());
}

#[test]
fn a_form_is_answered_in_the_call_that_it_belongs_to() {
    let (page, tab) = opened(&[]);
    for era in ["modern", "legacy"] {
        let id = page.done("call", &json!({"era": era, "name": "ask", "arguments": {}}))["call"].clone();
        let round = tab.round();
        assert_eq!((&round["call"], &round["kind"], &round["message"]), (&id, &json!("form"), &json!("Who?")));
        assert_eq!(round["params"]["requestedSchema"]["required"], json!(["name"]));
        // A second tab shows it as well.
        assert_eq!(page.tab().next().unwrap()["rounds"][0]["id"], round["id"]);
        let answer = |content: Value| json!({"round": round["id"], "action": "accept", "content": content});
        let problem = page.refused("answer", &answer(json!({"name": 5})));
        assert!(problem["what"].as_str().unwrap().contains("name"), "{problem}");
        page.done("answer", &answer(json!({"name": "Ada"})));
        let ended = tab.until(|event| event["event"] == "roundEnded");
        assert_eq!((&ended["round"], &ended["by"]), (&round["id"], &json!("answer")));
        let call = tab.end_of(id.as_u64().unwrap());
        assert_eq!(call["result"]["json"]["content"][0]["text"], "Ada");
        page.refused("answer", &answer(json!({"name": "Ada"})));
    }
}

#[test]
fn pages_models_and_roots_are_answered_too() {
    let (page, tab) = opened(&[]);
    for era in ["modern", "legacy"] {
        let begin = |tool: &str| {
            page.done("call", &json!({"era": era, "name": tool, "arguments": {}}))["call"].as_u64().unwrap()
        };
        let text = |id: u64| tab.end_of(id)["result"]["json"]["content"][0]["text"].clone();
        let visit = begin("visit");
        let round = tab.round();
        assert_eq!((&round["kind"], &round["params"]["url"]), (&json!("url"), &json!("https://example.com/terms")));
        page.done("answer", &json!({"round": round["id"], "action": "decline"}));
        assert_eq!(text(visit), "decline");
        let model = begin("model");
        let round = tab.round();
        assert_eq!(round["kind"], "sampling");
        let message = json!({"role": "assistant", "content": {"type": "text", "text": "Hi!"}, "model": "me"});
        page.done("answer", &json!({"round": round["id"], "action": "accept", "content": message}));
        assert_eq!(text(model), "Hi!");
        let model = begin("model");
        page.done("answer", &json!({"round": tab.round()["id"], "action": "decline"}));
        let ended = tab.end_of(model).to_string();
        assert!(ended.contains("The user declined"), "{ended}");
        page.done("roots", &json!({"roots": [{"uri": "file:///work", "name": "work"}]}));
        assert_eq!(tab.until(|event| event["event"] == "roots")["roots"][0]["name"], "work");
        assert_eq!(text(begin("roots")), "file:///work");
    }
    page.refused("roots", &json!({"roots": [{"uri": "https://example.com"}]}));
    // A response of this side has the method of its request.
    let rows = page.done("wire", &json!({"before": u64::MAX}))["rows"].clone();
    let is_it = |row: &Value| row["direction"] == "sent" && row["kind"] == "result" && row["method"] == "roots/list";
    assert!(rows.as_array().unwrap().iter().any(is_it), "{rows}");
}

#[test]
fn a_call_is_cancelled_and_its_questions_go_with_it() {
    let (page, tab) = opened(&[]);
    for era in ["modern", "legacy"] {
        for (tool, begun) in [("wait", "progress"), ("ask", "round")] {
            let id = page.done("call", &json!({"era": era, "name": tool, "arguments": {}}))["call"].clone();
            tab.until(|event| event["event"] == begun);
            page.done("cancel", &json!({"call": id}));
            assert_eq!(tab.end_of(id.as_u64().unwrap())["state"], "cancelled");
            page.refused("cancel", &json!({"call": id}));
            if tool == "ask" {
                until(|| page.tab().next().unwrap()["rounds"] == json!([]));
            }
        }
    }
}

#[test]
fn a_request_that_is_sent_again_is_about_the_same() {
    let (page, tab) = opened(&[]);
    for era in ["modern", "legacy"] {
        for (method, params, about) in [
            ("tools/call", json!({"name": "ask", "arguments": {}}), json!("ask")),
            ("prompts/get", json!({"name": "review", "arguments": {"code": "x"}}), json!("review")),
            ("resources/read", json!({"uri": "note://one"}), json!("note://one")),
            ("tools/list", json!({}), Value::Null),
        ] {
            page.done("send", &json!({"era": era, "method": method, "params": params}));
            let call = tab.until(|event| event["event"] == "call")["call"].take();
            assert_eq!((&call["method"], &call["about"]), (&json!(method), &about));
            let id = call["id"].as_u64().unwrap();
            if method == "tools/call" {
                let round = tab.round();
                assert_eq!(round["call"], call["id"]);
                let content = json!({"name": "Ada"});
                page.done("answer", &json!({"round": round["id"], "action": "accept", "content": content}));
            }
            tab.end_of(id);
        }
    }
}

#[test]
fn a_question_during_several_calls_belongs_to_none() {
    let (page, tab) = opened(&[]);
    for era in ["modern", "legacy"] {
        let begin = |tool: &str| page.done("call", &json!({"era": era, "name": tool, "arguments": {}}))["call"].clone();
        let waiting = begin("wait");
        tab.until(|event| event["event"] == "progress");
        let asking = begin("ask");
        assert_eq!(tab.round()["call"], Value::Null);
        for id in [waiting, asking] {
            page.done("cancel", &json!({"call": id}));
            tab.end_of(id.as_u64().unwrap());
        }
    }
}

#[test]
fn responses_belong_to_the_requests_of_their_connection() {
    let pause = async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        ""
    };
    let page = Page::start(&[serve(Server::builder("slow", "1.0.0").tool("pause", "Pause.", pause).build())]);
    let tab = page.tab();
    ["modern", "legacy"].iter().for_each(|era| drop(tab.list(era, "tools")));
    // Both number their requests from the same number on.
    let calls = (0..5).flat_map(|_| ["modern", "legacy"]);
    let begin = |era: &str| page.done("call", &json!({"era": era, "name": "pause", "arguments": {}}))["call"].clone();
    let calls: Vec<Value> = calls.map(begin).collect();
    for id in calls {
        until(|| {
            let shown = page.tab().next().unwrap()["calls"].take();
            shown.as_array().unwrap().iter().any(|call| call["id"] == id && call["state"] == "done")
        });
    }
    let rows = page.done("wire", &json!({"before": u64::MAX}))["rows"].take();
    let rows = rows.as_array().unwrap();
    let results = rows.iter().filter(|row| row["kind"] == "result" && row["method"] == "tools/call");
    let mut answered = 0;
    for result in results {
        let request = rows.iter().find(|row| row["id"] == result["answers"]).unwrap();
        assert_eq!((&request["era"], &request["rpcId"]), (&result["era"], &result["rpcId"]));
        answered += 1;
    }
    assert_eq!(answered, 10);
}

#[test]
fn broken_messages_are_on_the_wire_as_they_came() {
    let page = Page::of_role(Role::Garbling, &["--era", "legacy"]);
    let tab = page.tab();
    tab.list("legacy", "tools");
    for tool in ["no version", "no error"] {
        let call = json!({"era": "legacy", "name": tool, "arguments": {}});
        assert_eq!(tab.end_of(page.done("call", &call)["call"].as_u64().unwrap())["state"], "failed");
    }
    let rows = page.done("wire", &json!({"before": u64::MAX}))["rows"].take();
    let rows = rows.as_array().unwrap();
    let requests = |method: &str| -> Vec<&Value> {
        rows.iter().filter(|row| row["method"] == method && row["kind"] == "request").collect()
    };
    let broken = |is_it: &dyn Fn(&Value) -> bool| {
        let is_broken = |row: &&Value| row["direction"] == "received" && row["kind"] == "error" && is_it(row);
        rows.iter().find(is_broken).unwrap_or_else(|| panic!("not in {rows:?}"))
    };
    let [list] = requests("tools/list")[..] else { panic!("{rows:?}") };
    for text in [NO_MESSAGE, NO_ID, &without_method(&list["rpcId"])] {
        assert_eq!(broken(&|row| row["text"] == text)["answers"], Value::Null);
    }
    for call in requests("tools/call") {
        assert_eq!(broken(&|row| row["answers"] == call["id"])["method"], "tools/call");
    }
    assert!(rows.iter().any(|row| row["kind"] == "result" && row["answers"] == list["id"]), "{rows:?}");
}

#[test]
fn a_large_result_crosses_in_part_and_whole_on_demand() {
    let (page, tab) = opened(&[]);
    let call = page.call(&tab, "large", &json!({}));
    let result = &call["result"];
    assert!(result["bytes"].as_u64().unwrap() >= LARGE as u64 && result["json"].is_null(), "{}", result["bytes"]);
    let part = result["part"].as_str().unwrap();
    assert!(part.len() <= 100_000 && part.len() > 99_000, "{}", part.len());
    let body = page.done("body", &json!({"call": call["id"]}));
    let whole: Value = serde_json::from_str(body["text"].as_str().unwrap()).unwrap();
    assert_eq!(whole["content"][0]["text"].as_str().unwrap().len(), LARGE);
    assert!(body["text"].as_str().unwrap().starts_with(part));
    let rows = page.done("wire", &json!({"before": u64::MAX}))["rows"].clone();
    let row = rows.as_array().unwrap().iter().find(|row| row["bytes"].as_u64() > Some(LARGE as u64)).unwrap().clone();
    assert!(row["cut"] == true && row["text"].as_str().unwrap().len() <= 2_048);
    assert!(page.done("body", &json!({"row": row["id"]}))["bytes"].as_u64().unwrap() > LARGE as u64);
    // A new tab gets no more than the part.
    let snapshot = page.tab().next().unwrap().to_string();
    assert!(snapshot.len() < 2_000_000, "{}", snapshot.len());
}

#[test]
fn a_flood_does_not_wait_for_a_slow_tab() {
    let (page, tab) = opened(&[]);
    let slow = page.tab();
    let before = resident_bytes(page.process.id());
    let call = page.call(&tab, "flood", &json!({}));
    assert_eq!(call["result"]["json"]["content"][0]["text"], "done");
    // Nothing was read there so far. What the socket holds comes first.
    slow.until(|event| event["event"] == "gap");
    let snapshot = slow.next().unwrap();
    assert_eq!(snapshot["event"], "snapshot");
    let ended = slow.until(|event| {
        let calls = event["calls"].as_array().map_or(&[][..], Vec::as_slice);
        let is_over = |call: &Value| call["about"] == "flood" && call["state"] == "done";
        calls.iter().any(is_over) || is_over(&event["call"])
    });
    assert!(ended["sequence"].as_u64() > Some(u64::from(FLOOD)));
    let grown = resident_bytes(page.process.id()).saturating_sub(before);
    assert!(grown < 60 << 20, "{grown} bytes more");
    page.done("ping", &json!({"era": "modern"}));
}

#[test]
fn resources_prompts_and_completions_are_there() {
    let (page, tab) = opened(&[]);
    for era in ["modern", "legacy"] {
        let end = |started: Value| tab.end_of(started["call"].as_u64().unwrap());
        let read = end(page.done("read", &json!({"era": era, "uri": "note://one"})));
        assert_eq!(read["result"]["json"]["contents"][0]["text"], "the first note");
        let prompt = json!({"era": era, "name": "review", "arguments": {"code": "x"}});
        let prompt = end(page.done("prompt", &prompt));
        assert_eq!(prompt["result"]["json"]["messages"][0]["content"]["text"], "Look at x.");
        let complete = json!({
            "era": era,
            "ref": {"type": "ref/resource", "uri": "note://{+name}"},
            "argument": {"name": "name", "value": "t"},
        });
        assert_eq!(page.done("complete", &complete)["values"], json!(["two"]));
        page.done("ping", &json!({"era": era}));
        page.done("logLevel", &json!({"era": era, "level": "debug"}));
        page.done("call", &json!({"era": era, "name": "log", "arguments": {}}));
        let log = tab.until(|event| event["event"] == "log")["log"].clone();
        assert_eq!((&log["level"], &log["text"]), (&json!("warning"), &json!(r#"{"disk":"full"}"#)));
    }
    let names = page.done("variables", &json!({"template": "note://{+name}"}));
    assert_eq!(names, json!({"names": ["name"]}));
    let expanded = page.done("expand", &json!({"template": "note://{+name}", "values": {"name": "a b"}}));
    assert_eq!(expanded, json!({"uri": "note://a%20b"}));
    page.refused("expand", &json!({"template": "note://{", "values": {}}));
}

#[test]
fn a_completion_knows_the_other_values() {
    let template = ResourceTemplate::new("note://{folder}/{name}", "note", async || "a note");
    let names = async |asked: CompleteParams| {
        let others = asked.context.and_then(|context| context.arguments).unwrap_or_default();
        vec![format!("{}-1", others.get("folder").map_or("nowhere", String::as_str))]
    };
    let server = Server::builder("notes", "1.0.0").add_resource_template(template.complete("name", names)).build();
    let page = Page::start(&[serve(server)]);
    let tab = page.tab();
    for era in ["modern", "legacy"] {
        tab.connection(era, "open");
        for (context, value) in [(json!({"folder": "work"}), "work-1"), (json!({}), "nowhere-1")] {
            let complete = json!({
                "era": era,
                "ref": {"type": "ref/resource", "uri": "note://{folder}/{name}"},
                "argument": {"name": "name", "value": ""},
                "context": context,
            });
            assert_eq!(page.done("complete", &complete)["values"], json!([value]));
        }
    }
}

#[test]
fn a_subscription_counts_updates() {
    let server = server();
    let page = Page::start(&[serve(server.clone())]);
    let tab = page.tab();
    for era in ["modern", "legacy"] {
        tab.connection(era, "open");
        let one = json!({"era": era, "uri": "note://one"});
        page.done("subscribe", &one);
        tab.until(|event| event["event"] == "subscription" && event["open"] == true);
        server.resource_updated("note://one");
        let updated = tab.until(|event| event["event"] == "subscription")["subscription"].clone();
        assert_eq!(
            (&updated["uri"], &updated["updates"], &updated["era"]),
            (&json!("note://one"), &json!(1), &json!(era))
        );
        page.done("unsubscribe", &one);
        tab.until(|event| event["event"] == "subscription" && event["open"] == false);
    }
    // The lists follow the server.
    let version = tab.list("modern", "tools")["version"].clone();
    server.add_tool(Tool::new("late", "Late.", async || "")).unwrap();
    tab.until(|event| event["event"] == "list" && event["list"] == "tools" && event["state"]["count"] == 13);
    server.add_resource_template(ResourceTemplate::new("late://{name}", "late", async || "")).unwrap();
    let is_late = |event: &Value| event["list"] == "resourceTemplates" && event["state"]["count"] == 2;
    tab.until(|event| event["event"] == "list" && is_late(event));
    assert_eq!(version, 1);
}

#[test]
fn a_call_runs_as_a_task() {
    let (page, tab) = opened(&[]);
    for era in ["modern", "legacy"] {
        let call = json!({"era": era, "name": "slow", "arguments": {}, "task": true});
        let id = page.done("call", &call)["call"].as_u64().unwrap();
        let task = tab.until(|event| event["call"]["id"] == id && event["call"]["task"].is_string());
        let task = task["call"]["task"].clone();
        assert_eq!(tab.end_of(id)["result"]["json"]["content"][0]["text"], "rested");
        let state = page.done("task", &json!({"era": era, "action": "get", "task": task}));
        assert_eq!((&state["tasks"][0]["taskId"], &state["tasks"][0]["status"]), (&task, &json!("completed")));
        let again = page.done("taskResult", &json!({"era": era, "task": task}))["call"].as_u64().unwrap();
        assert_eq!(tab.end_of(again)["result"]["json"]["content"][0]["text"], "rested");
    }
    let tasks = page.done("task", &json!({"era": "legacy", "action": "list"}));
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_task_is_cancelled_alone_and_with_its_call() {
    let rest = Tool::new("rest", "A long task.", async || {
        tokio::time::sleep(DEADLINE).await;
        ""
    });
    let rest = rest.task(TaskSupport::Optional);
    let page = Page::start(&[serve(Server::builder("restful", "1.0.0").add_tool(rest).build())]);
    let tab = page.tab();
    for era in ["modern", "legacy"] {
        tab.connection(era, "open");
        let begin = || {
            let call = json!({"era": era, "name": "rest", "arguments": {}, "task": true});
            let id = page.done("call", &call)["call"].as_u64().unwrap();
            let task = tab.until(|event| event["call"]["id"] == id && event["call"]["task"].is_string());
            (id, task["call"]["task"].clone())
        };
        let ask = |action: &str, task: &Value| {
            page.done("task", &json!({"era": era, "action": action, "task": task}))["tasks"][0]["status"].clone()
        };
        let (id, task) = begin();
        assert_eq!(ask("get", &task), "working");
        assert_eq!(ask("cancel", &task), "cancelled");
        tab.end_of(id);
        let (id, task) = begin();
        page.done("cancel", &json!({"call": id}));
        assert_eq!(tab.end_of(id)["state"], "cancelled");
        assert_eq!(ask("get", &task), "cancelled");
    }
}

#[test]
fn a_call_is_code_in_every_form() {
    let page = Page::start(&[serve(server())]);
    let tab = page.tab();
    let forms = tab.next().unwrap()["codeForms"].as_array().unwrap().clone();
    assert_eq!(forms.len(), 11);
    tab.connection("modern", "open");
    for form in &forms {
        let code = json!({"era": "modern", "form": form["form"], "name": "echo", "arguments": {"text": "it's"}});
        let text = page.done("code", &code)["text"].as_str().unwrap().to_owned();
        assert!(text.contains("echo") && text.contains("it"), "{form}: {text}");
    }
    let (page, _) = opened(&[]);
    assert_eq!(page.tab().next().unwrap()["codeForms"].as_array().unwrap().len(), 10, "there is no URL for curl");
}
