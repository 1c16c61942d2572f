//! 2026-07-28: the extension. Clients declare it request by request, the server decides what
//! becomes a task, and everything is polled.

use super::*;
use crate::wire::{SUBSCRIPTION, text_of};

fn start_server() -> Wire {
    Wire::start(ROLES[0], &File::new())
}

/// The parameters of a request that declares the extension.
fn declaring(params: Value) -> Value {
    let mut params = modern(params);
    params["_meta"][CAPABILITIES] = json!({"elicitation": {}, "extensions": {EXTENSION: {}}});
    params
}

fn call(tool: &str) -> Value {
    declaring(json!({"name": tool, "arguments": {}}))
}

fn start(wire: &mut Wire, tool: &str) -> String {
    let created = wire.ask(tool, "tools/call", call(tool));
    assert_eq!(created["result"]["resultType"], "task", "TKX-06: {created}");
    id_of(&created)
}

fn about(wire: &mut Wire, method: &str, task: &str) -> Value {
    wire.ask(format!("{method} {task}"), method, declaring(json!({"taskId": task})))
}

fn shown(wire: &mut Wire, task: &str) -> Value {
    let mut answer = about(wire, "tasks/get", task);
    assert_eq!(answer["result"]["resultType"], "complete", "TKX-07: {answer}");
    let task = answer["result"].take();
    check_shape(&task, "ttlMs", "pollIntervalMs");
    assert_eq!(task.get("requestState"), None, "TKX-31");
    task
}

fn becomes(wire: &mut Wire, task: &str, wanted: &str) -> Value {
    let mut last = Value::Null;
    eventually(wanted, || {
        last = shown(wire, task);
        last["status"] == wanted
    });
    last
}

fn answer_with(wire: &mut Wire, task: &str, responses: Value) -> Value {
    let params = declaring(json!({"taskId": task, "inputResponses": responses}));
    wire.ask("update", "tasks/update", params)
}

/// An empty acknowledgement (TKX-17).
fn is_empty(answer: &Value) {
    let members: Vec<_> = answer["result"].as_object().unwrap().keys().filter(|name| *name != "_meta").collect();
    assert_eq!(members, ["resultType"], "{answer}");
    assert_eq!(answer["result"]["resultType"], "complete", "TKX-07");
}

#[test]
fn tkx_01_tkx_48_ext_05_the_extension_is_declared_in_its_own_form_by_who_has_tasks() {
    let mut wire = start_server();
    let declared = wire.ask(1, "server/discover", modern(json!({})))["result"]["capabilities"].take();
    assert_eq!(declared["extensions"], json!({EXTENSION: {}}));
    assert_eq!(declared.get("tasks"), None, "TKX-48: {declared}");
    let mut page = declaring(json!({}));
    loop {
        let listed = wire.ask("list", "tools/list", page.clone())["result"].take();
        assert!(listed["tasks"].is_null() && !listed.to_string().contains("taskSupport"), "{listed}");
        let Some(cursor) = listed.get("nextCursor") else { break };
        page["cursor"] = cursor.clone();
    }
    // EXT-05: without such tools there is none of it.
    let mut wire = Wire::start("server", &File::new());
    let declared = wire.ask(1, "server/discover", modern(json!({})))["result"]["capabilities"].take();
    assert_eq!((declared.get("extensions"), declared.get("tasks")), (None, None), "{declared}");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(code(&about(&mut wire, method, "x")), -32601, "{method}");
    }
    // Nor does it acknowledge what it will never send.
    let filter = json!({"toolsListChanged": true, "taskIds": ["x"]});
    wire.request("s", "subscriptions/listen", declaring(json!({"notifications": filter})));
    assert_eq!(wire.receive()["params"]["notifications"], json!({"toolsListChanged": true}));
}

/// EXT-03, EXT-09: the rest of the server serves clients without the extension; what cannot do
/// without refuses them properly.
#[test]
fn tkx_02_tkx_05_tkx_26_tkx_47_tkx_49_only_who_declares_the_extension_gets_tasks() {
    let mut wire = start_server();
    let legacy = json!({"tasks": {"requests": {"tools": {"call": {}}}, "cancel": {}, "list": {}}});
    for capabilities in [json!({}), legacy, json!({"extensions": {}}), json!({"extensions": {"com.example/x": {}}})] {
        let undeclared = |params: Value| {
            let mut params = modern(params);
            params["_meta"][CAPABILITIES] = capabilities.clone();
            params
        };
        let echo = json!({"name": "echo", "arguments": {"word": "hi"}, "task": {"ttl": 1000}});
        let called = wire.ask(1, "tools/call", undeclared(echo));
        assert_eq!((text_of(&called), &called["result"]["resultType"]), ("hi".to_owned(), &json!("complete")));
        let refused = wire.ask(2, "tools/call", undeclared(json!({"name": "only"})));
        assert_eq!(code(&refused), -32021, "TKX-05");
        assert_eq!(refused["error"]["data"]["requiredCapabilities"], json!({"extensions": {EXTENSION: {}}}), "TKX-26");
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let refused = wire.ask(3, method, undeclared(json!({"taskId": "x", "inputResponses": {}})));
            // A task of the earlier form may still be got (TKX-50), and nothing else.
            assert_eq!(code(&refused), -32021, "TKX-21: {method}");
            assert!(refused["error"]["data"]["requiredCapabilities"]["extensions"][EXTENSION].is_object());
        }
        for ids in [json!(["x"]), json!([])] {
            let filter = undeclared(json!({"notifications": {"taskIds": ids}}));
            assert_eq!(code(&wire.ask(4, "subscriptions/listen", filter)), -32021, "TKX-21");
        }
    }
    // TKX-47: nor does the older parameter change anything for who declares it.
    let mut params = call("plain");
    params["task"] = json!({"ttl": "nonsense"});
    assert_eq!(text_of(&wire.ask(5, "tools/call", params)), "plain");
    let mut params = call("only");
    params["task"] = json!({"ttl": 1});
    let created = wire.ask(6, "tools/call", params);
    assert_eq!(created["result"]["ttlMs"], 60_000);
}

#[test]
fn tkx_06_to_08_tkx_10_tkx_27_tkx_28_tkx_30_tkx_31_a_task_is_readable_from_the_first_moment_to_the_last() {
    let gate = File::new();
    let mut wire = Wire::start(ROLES[0], &gate);
    let created = wire.ask(1, "tools/call", call("work"));
    check_shape(&created["result"], "ttlMs", "pollIntervalMs");
    assert_eq!(created["result"]["status"], "working");
    let id = id_of(&created);
    assert_eq!(shown(&mut wire, &id)["status"], "working");
    gate.create();
    let done = becomes(&mut wire, &id, "completed");
    assert_eq!(done["result"]["content"][0]["text"], "worked");
    assert!(done["result"]["_meta"].get(RELATED).is_none(), "TKX-31: {done}");
    assert_eq!(shown(&mut wire, &id), done, "TKX-28: it changes no more");

    // TKX-08: many at once, each readable as soon as it is known.
    for number in 0..50 {
        let id = start(&mut wire, "only");
        assert_eq!(becomes(&mut wire, &id, "completed")["taskId"], id, "{number}");
    }
}

#[test]
fn tkx_11_tkx_30_what_a_call_would_have_given_is_in_its_task() {
    let mut wire = start_server();
    for tool in ["exact", "fail", "panic", "drop"] {
        let called = wire.ask("call", "tools/call", modern(json!({"name": tool, "arguments": {}})));
        let id = start(&mut wire, tool);
        let done = becomes(&mut wire, &id, "completed");
        assert_eq!(done["result"], called["result"], "{tool}");
        assert_eq!(done["result"]["isError"], json!(tool != "exact"), "TKX-11");
        assert_eq!(done.get("error"), None);
    }
    let id = start(&mut wire, "refuse");
    let failed = becomes(&mut wire, &id, "failed");
    assert_eq!(failed["error"], json!({"code": 4050, "message": "Refused", "data": {"why": "so"}}));
    assert_eq!((failed.get("result"), &failed["statusMessage"]), (None, &json!("Refused")));
    // A call that never started is not a task.
    let wrong = wire.ask("wrong", "tools/call", declaring(json!({"name": "echo", "arguments": {"word": 5}})));
    assert_eq!((&wrong["result"]["resultType"], &wrong["result"]["isError"]), (&json!("complete"), &json!(true)));
}

#[test]
fn tkx_12_tkx_17_tkx_18_a_task_asks_through_what_it_shows() {
    let mut wire = start_server();
    let id = start(&mut wire, "ask");
    let first = becomes(&mut wire, &id, "input_required")["inputRequests"].take();
    assert_eq!(first.as_object().unwrap().keys().collect::<Vec<_>>(), ["word"]);
    let question = &first["word"];
    assert_eq!((&question["method"], &question["params"]["message"]), (&json!("elicitation/create"), &json!("First?")));
    assert!(question["params"].get("_meta").is_none(), "TKX-31: {question}");
    // TKX-18: neither keys that are not open nor what is not an answer at all count.
    for ignored in [json!({}), json!({"nobody": given("x")}), json!({"word": {"roots": []}})] {
        is_empty(&answer_with(&mut wire, &id, ignored));
        assert_eq!(shown(&mut wire, &id)["inputRequests"], first);
    }
    is_empty(&answer_with(&mut wire, &id, json!({"word": given("one"), "nobody": given("x")})));
    // TKX-12: the handler asks under the same name, the client sees another key.
    let second = becomes(&mut wire, &id, "input_required")["inputRequests"].take();
    let (key, question) = second.as_object().unwrap().iter().next().unwrap();
    assert_eq!((second.as_object().unwrap().len(), &question["params"]["message"]), (1, &json!("Second?")));
    assert_ne!(key, "word");
    // The old key is no longer answered.
    is_empty(&answer_with(&mut wire, &id, json!({"word": given("late")})));
    is_empty(&answer_with(&mut wire, &id, json!({key.as_str(): given("two")})));
    let done = becomes(&mut wire, &id, "completed");
    assert_eq!((&done["result"]["content"][0]["text"], done.get("inputRequests")), (&json!("one two"), None));
    // TKX-18: and then there is nothing to answer.
    is_empty(&answer_with(&mut wire, &id, json!({"word": given("late")})));
    assert_eq!(shown(&mut wire, &id), done);
}

#[test]
fn tkx_10_tkx_34_open_questions_are_all_shown_and_answered_one_by_one() {
    let mut wire = start_server();
    let id = start(&mut wire, "ask_both");
    let keys = |task: &Value| task["inputRequests"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    eventually("both are asked", || keys(&becomes(&mut wire, &id, "input_required")) == ["left", "right"]);
    is_empty(&answer_with(&mut wire, &id, json!({"right": given("r")})));
    let partly = shown(&mut wire, &id);
    assert_eq!((keys(&partly), &partly["status"]), (vec!["left".to_owned()], &json!("input_required")), "TKX-34");
    is_empty(&answer_with(&mut wire, &id, json!({"left": given("l")})));
    assert_eq!(becomes(&mut wire, &id, "completed")["result"]["content"][0]["text"], "l r");
}

#[test]
fn tkx_09_tkx_35_input_rounds_precede_the_task_and_are_separate_from_it() {
    let mut wire = start_server();
    let first = call("defer");
    let asked = wire.ask(1, "tools/call", first.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "TKX-09");
    let mut retry = first.clone();
    retry["requestState"] = asked["result"]["requestState"].clone();
    retry["inputResponses"] = json!({"word": given("before")});
    let created = wire.ask(2, "tools/call", retry);
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    let id = id_of(&created);
    // TKX-35: the answer to the earlier question of that name is not taken for one to this.
    let question = becomes(&mut wire, &id, "input_required")["inputRequests"]["word"].take();
    assert_eq!(question["params"]["message"], "After?");
    is_empty(&answer_with(&mut wire, &id, json!({"word": given("after")})));
    assert_eq!(becomes(&mut wire, &id, "completed")["result"]["content"][0]["text"], "before after");

    // A client that declares no tasks gets the call, with rounds to its end.
    let undeclared = |mut params: Value| {
        params["_meta"][CAPABILITIES] = json!({"elicitation": {}});
        params
    };
    let mut params = undeclared(first);
    let mut rounds = 0;
    let done = loop {
        let answer = wire.ask("round", "tools/call", params.clone());
        if answer["result"]["resultType"] == "complete" {
            break answer;
        }
        rounds += 1;
        let (key, _) = answer["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
        params["requestState"] = answer["result"]["requestState"].clone();
        params["inputResponses"] = json!({key.as_str(): given("said")});
        assert!(rounds < 5, "{answer}");
    };
    assert!(text_of(&done).starts_with("said "), "{done}");
}

#[test]
fn tkx_17_tkx_36_cancelling_is_acknowledged_and_final() {
    let note = File::new();
    let mut wire = Wire::start(ROLES[0], &note);
    let id = start(&mut wire, "wait");
    // A notification cancels requests, not tasks.
    wire.tell("notifications/cancelled", json!({"requestId": "wait"}));
    assert_eq!(shown(&mut wire, &id)["status"], "working");
    is_empty(&about(&mut wire, "tasks/cancel", &id));
    let over = shown(&mut wire, &id);
    assert_eq!((&over["status"], over.get("result"), over.get("error")), (&json!("cancelled"), None, None));
    eventually("the handler took note", || note.text() == "true");
    is_empty(&about(&mut wire, "tasks/cancel", &id));
    assert_eq!(shown(&mut wire, &id), over, "TKX-28");
    let done = start(&mut wire, "only");
    let before = becomes(&mut wire, &done, "completed");
    is_empty(&about(&mut wire, "tasks/cancel", &done));
    assert_eq!(shown(&mut wire, &done), before, "TKX-36");
    // One that waits for its client can be cancelled too.
    let asking = start(&mut wire, "ask");
    becomes(&mut wire, &asking, "input_required");
    is_empty(&about(&mut wire, "tasks/cancel", &asking));
    assert_eq!(shown(&mut wire, &asking).get("inputRequests"), None);
}

/// EXT-08: what arrives is not believed.
#[test]
fn tkx_20_tkx_44_tkx_46_what_is_unknown_malformed_or_of_the_older_form_is_refused() {
    let mut wire = start_server();
    let id = start(&mut wire, "only");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for wrong in [json!("nothing"), json!(""), json!(5), json!(null), json!([id.as_str()])] {
            let params = declaring(json!({"taskId": wrong, "inputResponses": {}}));
            assert_eq!(code(&wire.ask(method, method, params)), -32602, "{method}: {wrong}");
        }
        assert_eq!(code(&wire.ask(method, method, declaring(json!({})))), -32602, "{method}");
    }
    for wrong in [json!([]), json!("x"), json!(5)] {
        assert_eq!(code(&answer_with(&mut wire, &id, wrong.clone())), -32602, "{wrong}");
    }
    for older in ["tasks/result", "tasks/list"] {
        assert_eq!(code(&about(&mut wire, older, &id)), -32601, "TKX-46");
    }
    for wrong in [json!("x"), json!([5]), json!({})] {
        let filter = declaring(json!({"notifications": {"taskIds": wrong}}));
        assert_eq!(code(&wire.ask("listen", "subscriptions/listen", filter)), -32602);
    }
    // TKX-44
    let mut wire = Wire::start(ROLES[3], &File::new());
    let id = start(&mut wire, "wait");
    let broken = about(&mut wire, "tasks/cancel", &id);
    assert_eq!(code(&broken), -32603);
    assert!(!broken.to_string().contains("secret"), "{broken}");
}

#[test]
fn tkx_22_tkx_42_tkx_43_streams_tell_of_the_tasks_they_asked_for_and_nothing_else() {
    let gate = File::new();
    let mut wire = Wire::start(ROLES[0], &gate);
    let [heard, unheard] = [0, 1].map(|_| start(&mut wire, "ask"));
    let filter = declaring(json!({"notifications": {"taskIds": [heard, "nothing"]}}));
    wire.request("stream", "subscriptions/listen", filter);
    let acknowledged = wire.told("notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds": [heard]}), "TKX-42");
    for id in [&heard, &unheard] {
        becomes(&mut wire, id, "input_required");
    }
    wire.rest();
    // TKX-43: each says what tasks/get says.
    let bare = |mut task: Value| {
        let members = task.as_object_mut().unwrap();
        members.shift_remove("_meta");
        members.shift_remove("resultType");
        task
    };
    let news = |wire: &mut Wire, like: &Value| loop {
        let told = wire.told("notifications/tasks")["params"].take();
        assert_eq!(
            (&told["taskId"], &told["_meta"][SUBSCRIPTION]),
            (&json!(heard), &json!("stream")),
            "TKX-42: {told}"
        );
        if told["status"] == like["status"] && told["inputRequests"] == like["inputRequests"] {
            return told;
        }
    };
    for id in [&heard, &unheard] {
        answer_with(&mut wire, id, json!({"word": given("one")}));
    }
    eventually("the second question", || shown(&mut wire, &heard)["inputRequests"].to_string().contains("Second?"));
    let asks = shown(&mut wire, &heard);
    assert_eq!(bare(news(&mut wire, &asks)), bare(asks));
    for id in [&unheard, &heard] {
        is_empty(&about(&mut wire, "tasks/cancel", id));
    }
    let over = shown(&mut wire, &heard);
    assert_eq!(bare(news(&mut wire, &over)), bare(over));

    // TKX-22: progress and log messages of a task go nowhere, though they were asked for.
    let mut params = call("work");
    params["_meta"]["progressToken"] = "token".into();
    params["_meta"]["io.modelcontextprotocol/logLevel"] = "debug".into();
    let id = id_of(&wire.ask("work", "tools/call", params));
    let mut filter = declaring(json!({"notifications": {"taskIds": [id]}}));
    filter["_meta"]["io.modelcontextprotocol/logLevel"] = "debug".into();
    wire.request("second", "subscriptions/listen", filter);
    gate.create();
    becomes(&mut wire, &id, "completed");
    let methods: Vec<_> =
        wire.rest().iter().map(|message| message["method"].as_str().unwrap_or("answer").to_owned()).collect();
    assert!(
        methods.iter().all(|method| method.ends_with("acknowledged") || method == "notifications/tasks"),
        "{methods:?}"
    );
}

#[test]
fn tkx_38_a_task_is_there_until_its_time_is_over() {
    let note = File::new();
    let mut wire = Wire::start(ROLES[1], &note);
    let created = wire.ask(1, "tools/call", call("only"));
    assert_eq!(created["result"]["ttlMs"], u64::try_from(server::SHORT_TTL.as_millis()).unwrap());
    let done = id_of(&created);
    becomes(&mut wire, &done, "completed");
    let running = start(&mut wire, "wait");
    for id in [done, running] {
        eventually("it is forgotten", || about(&mut wire, "tasks/get", &id)["error"]["code"] == -32602);
    }
    eventually("the handler was told", || note.text() == "true");

    let mut wire = Wire::start(ROLES[2], &File::new());
    let kept = [start(&mut wire, "wait"), start(&mut wire, "only")];
    let refused = wire.ask(1, "tools/call", call("only"));
    assert_eq!((code(&refused), &refused["error"]["data"]["reason"]), (-32603, &json!("busy")));
    kept.iter().for_each(|id| assert_eq!(shown(&mut wire, id)["taskId"], *id));
}

#[test]
fn middleware_sees_the_task_and_hands_it_on() {
    let mut wire = Wire::start(ROLES[3], &File::new());
    for tool in ["exact", "only", "fail", "drop", "ask"] {
        let created = wire.ask(tool, "tools/call", call(tool));
        assert_eq!(created["result"]["resultType"], "task", "{created}");
        assert_eq!(created["result"]["_meta"]["com.example/wrapped"], true, "{created}");
        // The middleware can ask nothing more: the client waits for the task, and would not know
        // whom to answer.
        let asked = created["result"]["_meta"]["com.example/asked"].as_str().unwrap();
        assert!(asked.contains("has become a task"), "{asked}");
        let task = becomes(&mut wire, &id_of(&created), if tool == "ask" { "input_required" } else { "completed" });
        assert_eq!(task["result"]["_meta"].get("com.example/wrapped"), None, "{task}");
    }
}

/// TKX-50: tasks of the older form outlive the change of the protocol; everything else needs the
/// extension.
#[test]
fn tkx_50_a_client_of_the_older_form_may_ask_for_what_it_made() {
    let mut wire = start_server();
    let own = start(&mut wire, "wait");
    wire.open("2025-11-25");
    let older = id_of(&wire.ask(1, "tools/call", json!({"name": "wait", "arguments": {}, "task": {}})));
    let mut params = modern(json!({"taskId": older}));
    params["_meta"][CAPABILITIES] = json!({"tasks": {"cancel": {}}});
    assert_eq!(code(&wire.ask(2, "tasks/update", params.clone())), -32021);
    let mut other = params.clone();
    other["taskId"] = own.into();
    assert_eq!(code(&wire.ask(3, "tasks/get", other)), -32021);
    let mut nothing = params.clone();
    nothing["_meta"][CAPABILITIES] = json!({});
    assert_eq!(code(&wire.ask(4, "tasks/get", nothing)), -32021);
    assert_eq!(wire.ask(5, "tasks/get", params.clone())["result"]["status"], "working");
    is_empty(&wire.ask(6, "tasks/cancel", params));
    assert_eq!(wire.ask(7, "tasks/get", json!({"taskId": older}))["result"]["status"], "cancelled");
}
