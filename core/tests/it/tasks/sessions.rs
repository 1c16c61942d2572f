//! 2025-11-25: clients say which calls shall be tasks, and fetch the results with `tasks/result`.

use super::*;
use crate::wire::text_of;
use std::time::{Duration, Instant};

const REVISION: &str = "2025-11-25";

fn session_of(role: &str, file: &File) -> Wire {
    let mut wire = Wire::start(role, file);
    let info = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": REVISION, "capabilities": {"elicitation": {}}, "clientInfo": info});
    assert_eq!(wire.ask("open", "initialize", params)["result"]["protocolVersion"], REVISION);
    wire.tell("notifications/initialized", json!({}));
    wire
}

fn session() -> Wire {
    session_of(ROLES[0], &File::new())
}

fn as_task(tool: &str) -> Value {
    json!({"name": tool, "arguments": {}, "task": {}})
}

fn start(wire: &mut Wire, tool: &str) -> String {
    id_of(&wire.ask(tool, "tools/call", as_task(tool)))
}

fn about(wire: &mut Wire, method: &str, task: &str) -> Value {
    wire.ask(format!("{method} {task}"), method, json!({"taskId": task}))
}

fn status(wire: &mut Wire, task: &str) -> String {
    about(wire, "tasks/get", task)["result"]["status"].as_str().unwrap().to_owned()
}

fn reaches(wire: &mut Wire, task: &str, wanted: &str) {
    eventually(wanted, || status(wire, task) == wanted);
}

#[test]
fn tsk_01_tkx_51_tasks_are_declared_by_who_has_them_and_the_extension_is_not() {
    let mut wire = Wire::start(ROLES[0], &File::new());
    let info = json!({"name": "raw", "version": "1"});
    let offers = json!({"extensions": {EXTENSION: {}}});
    let params = json!({"protocolVersion": REVISION, "capabilities": offers, "clientInfo": info});
    let declared = wire.ask(1, "initialize", params)["result"]["capabilities"].take();
    assert_eq!(declared["tasks"], json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}));
    assert_eq!(declared.get("extensions"), None, "{declared}");
    // The extension's declaration counts for nothing: a call is a call.
    let called = wire.ask(2, "tools/call", json!({"name": "echo", "arguments": {"word": "hi"}}));
    assert_eq!((text_of(&called), called["result"].get("task")), ("hi".to_owned(), None));
    assert_eq!(code(&wire.ask(3, "tasks/update", json!({"taskId": "x", "inputResponses": {}}))), -32601);

    // Nor are tasks there where no tool is one, or before they existed (TSK-08).
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", REVISION] {
        let (role, argument) = if revision == REVISION { ("server", "message") } else { (ROLES[0], "word") };
        let mut wire = Wire::start(role, &File::new());
        wire.open(revision);
        let arguments = json!({argument: "hi"});
        let called = wire.ask(1, "tools/call", json!({"name": "echo", "arguments": arguments, "task": {"ttl": 5}}));
        if revision == REVISION {
            assert_eq!(text_of(&called), "hi", "{revision}");
        } else {
            assert!(called["result"].get("task").is_none(), "{revision}: {called}");
        }
        for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"] {
            assert_eq!(code(&wire.ask(method, method, json!({"taskId": "x"}))), -32601, "{revision}: {method}");
        }
    }
}

#[test]
fn tsk_05_tsk_07_tools_say_whether_they_may_or_must_be_tasks() {
    let mut wire = session();
    let (mut listed, mut params) = (Vec::new(), json!({}));
    loop {
        let page = wire.ask("list", "tools/list", params)["result"].take();
        listed.extend(page["tools"].as_array().unwrap().clone());
        let Some(cursor) = page.get("nextCursor") else { break };
        params = json!({"cursor": cursor});
    }
    let support = |name: &str| {
        let tool = listed.iter().find(|tool| tool["name"] == name).unwrap();
        tool["execution"]["taskSupport"].as_str().unwrap_or("absent").to_owned()
    };
    assert_eq!([support("plain"), support("echo"), support("only")], ["absent", "optional", "required"]);
    let forbidden = wire.ask(1, "tools/call", as_task("plain"));
    let required = wire.ask(2, "tools/call", json!({"name": "only"}));
    for (refused, named) in [(forbidden, "plain"), (required, "only")] {
        assert_eq!(code(&refused), -32601);
        assert!(refused["error"]["message"].as_str().unwrap().contains(named), "{refused}");
    }
    assert_eq!(wire.call(3, "echo", json!({"word": "without"})), "without");
    for malformed in [json!(true), json!("x"), json!([]), json!({"ttl": "x"}), json!({"ttl": -1}), json!({"ttl": 1.5})]
    {
        let params = json!({"name": "echo", "arguments": {"word": "x"}, "task": malformed});
        assert_eq!(code(&wire.ask(4, "tools/call", params)), -32602, "{malformed}");
    }
}

#[test]
fn tsk_10_to_13_tsk_18_to_24_a_task_from_its_beginning_to_its_result() {
    let gate = File::new();
    let mut wire = session_of(ROLES[0], &gate);
    let created = wire.ask(1, "tools/call", json!({"name": "work", "arguments": {}, "task": {"ttl": 30_000}}));
    let task = &created["result"]["task"];
    check_shape(task, "ttl", "pollInterval");
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(30_000)), "TSK-10, TSK-12, TSK-24");
    let id = id_of(&created);
    // TSK-16: what is about tasks needs no pointer to one.
    assert_eq!(task.get("_meta"), None);
    let shown = about(&mut wire, "tasks/get", &id);
    assert_eq!((&shown["result"]["taskId"], &shown["result"]["status"]), (&json!(id), &json!("working")));
    assert!(shown["result"].get("_meta").is_none_or(|meta| meta.get(RELATED).is_none()), "{shown}");

    // TSK-20: asked for before there is any, the result comes when it is there.
    wire.request("early", "tasks/result", json!({"taskId": id}));
    assert!(wire.rest().iter().all(|message| message.get("id").is_none()), "nothing is answered yet");
    gate.create();
    let result = wire.answer("early");
    assert_eq!(text_of(&result), "worked");
    assert_eq!(result["result"]["_meta"][RELATED], json!({"taskId": id}), "TSK-18");
    assert_eq!(status(&mut wire, &id), "completed");
    // Fetched again, it is the same.
    assert_eq!(about(&mut wire, "tasks/result", &id)["result"], result["result"]);

    // TSK-24: the time that was asked for is cut to what the server gives.
    let long = wire.ask(2, "tools/call", json!({"name": "only", "task": {"ttl": 999_999_999}}));
    assert_eq!(long["result"]["task"]["ttl"], 60_000);
    let unsaid = wire.ask(3, "tools/call", as_task("only"));
    assert_eq!(unsaid["result"]["task"]["ttl"], 60_000);
    let unlimited = wire.ask(4, "tools/call", json!({"name": "only", "task": {"ttl": null}}));
    assert_eq!(unlimited["result"]["task"]["ttl"], 60_000);
    // TSK-11
    assert_ne!(id_of(&long), id_of(&unsaid));
}

#[test]
fn tsk_21_and_22_the_result_of_a_task_is_that_of_its_call() {
    let mut wire = session();
    for (tool, ends) in
        [("exact", "completed"), ("fail", "failed"), ("panic", "failed"), ("drop", "failed"), ("refuse", "failed")]
    {
        let called = wire.ask("call", "tools/call", json!({"name": tool, "arguments": {}}));
        let id = start(&mut wire, tool);
        let mut fetched = about(&mut wire, "tasks/result", &id);
        assert_eq!(status(&mut wire, &id), ends, "{tool}");
        assert_eq!(called.get("error"), fetched.get("error"), "{tool}");
        if let Some(result) = fetched.get_mut("result").and_then(Value::as_object_mut) {
            let meta = result["_meta"].as_object_mut().unwrap();
            assert_eq!(meta.shift_remove(RELATED), Some(json!({"taskId": id})), "TSK-18: {tool}");
            if meta.is_empty() {
                result.shift_remove("_meta");
            }
        }
        assert_eq!(called.get("result"), fetched.get("result"), "{tool}");
    }
    assert_eq!(code(&wire.ask("refused", "tools/call", json!({"name": "refuse"}))), 4050);
    // Invalid arguments make no task.
    let params = json!({"name": "echo", "arguments": {"word": 5}, "task": {}});
    assert_eq!(wire.ask(1, "tools/call", params)["result"]["isError"], true);
    let params = json!({"name": "nobody", "arguments": {}, "task": {}});
    assert_eq!(code(&wire.ask(2, "tools/call", params)), -32602);
}

#[test]
fn tsk_14_tsk_15_tsk_19_a_task_asks_on_the_stream_of_its_result() {
    let mut wire = session();
    let id = start(&mut wire, "ask");
    reaches(&mut wire, &id, "input_required");
    assert!(wire.rest().iter().all(|message| message["method"] != "elicitation/create"), "nobody fetches yet");
    wire.request("fetch", "tasks/result", json!({"taskId": id}));
    for (message, answer) in [("First?", "one"), ("Second?", "two")] {
        let question = wire.told("elicitation/create");
        assert_eq!(question["params"]["message"], message);
        assert_eq!(question["params"]["_meta"][RELATED], json!({"taskId": id}), "TSK-15");
        assert_eq!(status(&mut wire, &id), "input_required");
        wire.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": given(answer)}));
    }
    assert_eq!(text_of(&wire.answer("fetch")), "one two");
    // TSK-14: and back to work in between, as the notifications tell; the first may have been read
    // already.
    let mut told: Vec<_> = wire
        .rest()
        .into_iter()
        .filter(|message| message["method"] == "notifications/tasks/status")
        .map(|message| {
            assert_eq!(message["params"]["taskId"], id);
            assert_eq!(message["params"].get("_meta"), None, "TSK-16");
            message["params"]["status"].as_str().unwrap().to_owned()
        })
        .collect();
    // A status may be repeated: it is read when the notification is sent.
    told.dedup();
    let first = told.iter().take_while(|status| *status == "input_required").count();
    assert_eq!(told[first..], ["working", "input_required", "working", "completed"]);
}

/// A question that was on its way when its stream was given up goes out on the next.
#[test]
fn questions_outlive_the_request_that_carried_them() {
    let mut wire = session();
    let id = start(&mut wire, "ask_both");
    wire.request("first", "tasks/result", json!({"taskId": id}));
    let lost: Vec<_> = (0..2).map(|_| wire.told("elicitation/create")["params"]["message"].clone()).collect();
    wire.request("second", "tasks/result", json!({"taskId": id}));
    wire.tell("notifications/cancelled", json!({"requestId": "first", "reason": "patience"}));
    let again: Vec<_> = (0..2).map(|_| wire.told("elicitation/create")).collect();
    let mut messages: Vec<_> = again.iter().map(|question| question["params"]["message"].clone()).collect();
    messages.sort_by_key(Value::to_string);
    assert_eq!(messages, ["Left?", "Right?"]);
    assert_eq!(lost.len(), 2);
    for question in again {
        let message = question["params"]["message"].as_str().unwrap();
        wire.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": given(message)}));
    }
    assert_eq!(text_of(&wire.answer("second")), "Left? Right?");
}

#[test]
fn tsk_13_tsk_29_and_30_a_cancelled_task_is_over_and_its_handler_is_notified() {
    let note = File::new();
    let mut wire = session_of(ROLES[0], &note);
    let id = start(&mut wire, "wait");
    wire.request("fetch", "tasks/result", json!({"taskId": id}));
    let cancelled = about(&mut wire, "tasks/cancel", &id);
    assert_eq!((&cancelled["result"]["taskId"], &cancelled["result"]["status"]), (&json!(id), &json!("cancelled")));
    assert!(wire.answer("fetch")["error"].is_object(), "who waits for the result hears of it");
    eventually("the handler took note", || note.text() == "true");
    assert_eq!(status(&mut wire, &id), "cancelled", "TSK-13");
    assert_eq!(code(&about(&mut wire, "tasks/cancel", &id)), -32602, "TSK-29");
    for tool in ["only", "refuse"] {
        let id = start(&mut wire, tool);
        about(&mut wire, "tasks/result", &id);
        assert_eq!(code(&about(&mut wire, "tasks/cancel", &id)), -32602, "TSK-29: {tool}");
    }
}

/// TSK-17 too: the parameter names the task, whatever the metadata points to.
#[test]
fn tsk_31_what_is_unknown_or_malformed_is_refused() {
    let mut wire = session();
    let id = start(&mut wire, "only");
    let meta = json!({RELATED: {"taskId": "another"}});
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        for unknown in [json!("nothing"), json!(""), json!(5), json!(null), json!({"x": 1})] {
            let params = json!({"taskId": unknown, "_meta": {RELATED: {"taskId": id}}});
            assert_eq!(code(&wire.ask(method, method, params)), -32602, "{method}: {unknown}");
        }
        assert_eq!(code(&wire.ask(method, method, json!({}))), -32602, "{method}");
    }
    for method in ["tasks/result", "tasks/get"] {
        let answer = wire.ask(method, method, json!({"taskId": id, "_meta": meta}));
        assert!(answer["result"].is_object(), "TSK-17: {answer}");
        if method == "tasks/result" {
            assert_eq!(answer["result"]["_meta"][RELATED]["taskId"], id, "TSK-17, TSK-18");
        }
    }
    for cursor in ["nothing", "tasks-", "tasks-00", "tasks-zz"] {
        assert_eq!(code(&wire.ask("list", "tasks/list", json!({"cursor": cursor}))), -32602, "{cursor}");
    }
    assert_eq!(code(&wire.ask("list", "tasks/list", json!({"cursor": 5}))), -32602);
    // Internal faults are not the client's.
    let mut wire = session_of(ROLES[3], &File::new());
    let id = start(&mut wire, "wait");
    let broken = about(&mut wire, "tasks/cancel", &id);
    assert_eq!(code(&broken), -32603);
    assert!(!broken.to_string().contains("secret"), "{broken}");
}

#[test]
fn tsk_27_and_28_lists_of_tasks_are_paged_and_contain_every_task() {
    let mut wire = session();
    assert_eq!(wire.ask("none", "tasks/list", json!({}))["result"]["tasks"], json!([]));
    let mut made: Vec<_> = (0..5).map(|_| start(&mut wire, "only")).collect();
    made.push(start(&mut wire, "wait"));
    let (mut listed, mut params, mut pages) = (Vec::new(), json!({}), 0);
    loop {
        let page = wire.ask("page", "tasks/list", params)["result"].take();
        pages += 1;
        let tasks = page["tasks"].as_array().unwrap();
        assert!(tasks.len() <= 2);
        tasks.iter().for_each(|task| check_shape(task, "ttl", "pollInterval"));
        listed.extend(tasks.iter().map(|task| task["taskId"].as_str().unwrap().to_owned()));
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!((listed, pages), (made.clone(), 3));
    for id in made {
        assert!(about(&mut wire, "tasks/get", &id)["result"].is_object());
    }
}

#[test]
fn prg_07_can_04_the_token_of_the_call_is_used_until_its_task_is_over() {
    let gate = File::new();
    let mut wire = session_of(ROLES[0], &gate);
    wire.ask("level", "logging/setLevel", json!({"level": "debug"}));
    let mut params = as_task("work");
    params["_meta"]["progressToken"] = "token".into();
    let id = id_of(&wire.ask(1, "tools/call", params));
    let told = wire.told("notifications/progress");
    assert_eq!((&told["params"]["progressToken"], &told["params"]["progress"]), (&json!("token"), &json!(1)));
    assert_eq!(told["params"]["_meta"][RELATED], json!({"taskId": id}), "TSK-15");
    assert_eq!(wire.told("notifications/message")["params"]["_meta"][RELATED], json!({"taskId": id}), "TSK-15");
    let status = wire.told("notifications/tasks/status");
    assert_eq!(status["params"]["statusMessage"], "half way");
    // CAN-04: the call was answered with its task, so a notification cancels nothing any more.
    wire.tell("notifications/cancelled", json!({"requestId": 1}));
    assert_eq!(self::status(&mut wire, &id), "working");
    gate.create();
    assert_eq!(wire.told("notifications/progress")["params"]["progress"], 2.0);
    about(&mut wire, "tasks/result", &id);
    assert!(wire.rest().iter().all(|message| message["method"] != "notifications/progress"), "PRG-05");
}

#[test]
fn tsk_35_tasks_are_bounded_in_number_and_time() {
    let mut wire = session_of(ROLES[2], &File::new());
    let kept = [start(&mut wire, "wait"), start(&mut wire, "only")];
    let refused = wire.ask(1, "tools/call", as_task("only"));
    assert_eq!((code(&refused), &refused["error"]["data"]["reason"]), (-32603, &json!("busy")));
    assert_eq!(wire.call(2, "echo", json!({"word": "calls go on"})), "calls go on");
    assert!(kept.iter().all(|id| about(&mut wire, "tasks/get", id)["result"].is_object()));

    let note = File::new();
    let mut wire = session_of(ROLES[1], &note);
    let started = Instant::now();
    let running = start(&mut wire, "wait");
    assert_eq!(status(&mut wire, &running), "working");
    wire.request("fetch", "tasks/result", json!({"taskId": running}));
    assert!(wire.answer("fetch")["error"].is_object(), "its time is over before it is");
    assert!(started.elapsed() >= server::SHORT_TTL - Duration::from_millis(1));
    eventually("the handler was told", || note.text() == "true");
    eventually("it is forgotten", || about(&mut wire, "tasks/get", &running)["error"]["code"] == -32602);
    assert_eq!(wire.ask("list", "tasks/list", json!({}))["result"]["tasks"], json!([]));
    // A client may ask for less time still.
    let brief = id_of(&wire.ask(3, "tools/call", json!({"name": "only", "task": {"ttl": 1}})));
    eventually("it is forgotten", || about(&mut wire, "tasks/get", &brief)["error"]["code"] == -32602);
}

#[test]
fn middleware_sees_the_task_and_hands_it_on() {
    let mut wire = session_of(ROLES[3], &File::new());
    for tool in ["exact", "only", "fail", "drop"] {
        let created = wire.ask(tool, "tools/call", as_task(tool));
        assert_eq!(created["result"]["_meta"]["com.example/wrapped"], true, "{created}");
        // The middleware can ask nothing more: the client waits for the task, and would not know
        // whom to answer.
        let asked = created["result"]["_meta"]["com.example/asked"].as_str().unwrap();
        assert!(asked.contains("has become a task"), "{asked}");
        let id = id_of(&created);
        let result = about(&mut wire, "tasks/result", &id);
        assert_eq!(result["result"]["_meta"][RELATED]["taskId"], id, "{result}");
        assert_eq!(result["result"]["_meta"].get("com.example/wrapped"), None, "it wrapped the request, not the task");
    }
}

/// Nothing waits for the tasks of a session that ends.
#[test]
fn a_session_ends_though_tasks_run() {
    let mut wire = session();
    for tool in ["wait", "ask", "work"] {
        start(&mut wire, tool);
    }
    let started = Instant::now();
    let (_, status, _) = wire.close();
    assert!(status.success() && started.elapsed() < Duration::from_secs(10));
}
