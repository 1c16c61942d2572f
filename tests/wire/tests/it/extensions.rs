//! Extensions of 2026-07-28 with their own messages are as closed as the revision, and absent
//! unless negotiated.

use std::collections::BTreeSet;

use crate::common::*;
use serde_json::{Value, json};
use trunkline_wire::ViolationKind::{Schema, UnknownMethod};

const TASKS: &str = "io.modelcontextprotocol/tasks";
const FOREIGN: &str = "com.example/mine";

/// A request whose client declares the tasks extension.
fn declaring(method: &str, params: Value) -> Message {
    let capabilities = "/params/_meta/io.modelcontextprotocol~1clientCapabilities/extensions";
    request(V2026_07_28, ClientToServer, method, params).with(capabilities, json!({TASKS: {}}))
}

fn answer(method: &str, content: Value) -> Message {
    result(V2026_07_28, ServerToClient, method, content).where_declared(&[TASKS])
}

fn task(status: &str) -> Value {
    let times = ["2026-07-28T12:00:00Z", "2026-07-28T12:00:01Z"];
    json!({
        "taskId": "t", "status": status, "statusMessage": "So far so good", "createdAt": times[0], "lastUpdatedAt": times[1],
        "ttlMs": 60_000, "pollIntervalMs": 500
    })
}

fn with(mut task: Value, field: &str, value: Value) -> Value {
    task[field] = value;
    task
}

/// A task in each of its forms.
fn detailed_tasks() -> Vec<Value> {
    let elicitation = json!({
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}
    });
    let outcome = json!({"resultType": "complete", "content": [text()], "isError": true});
    vec![
        task("working"),
        with(task("input_required"), "inputRequests", json!({"name": elicitation})),
        with(task("completed"), "result", outcome),
        with(task("failed"), "error", json!({"code": -32603, "message": "No", "data": {"x": 1}})),
        with(task("cancelled"), "ttlMs", json!(null)),
    ]
}

fn created() -> Message {
    answer("tools/call", task("working")).with("/result/resultType", json!("task"))
}

fn listen() -> Message {
    declaring("subscriptions/listen", json!({"notifications": {"toolsListChanged": true, "taskIds": ["t"]}}))
}

fn acknowledged() -> Message {
    let params = json!({"notifications": {"taskIds": ["t"]}, "_meta": {"io.modelcontextprotocol/subscriptionId": 1}});
    notification(V2026_07_28, ServerToClient, "notifications/subscriptions/acknowledged", params)
        .where_declared(&[TASKS])
}

fn told(task: Value) -> Message {
    let params = with(task, "_meta", json!({"io.modelcontextprotocol/subscriptionId": 1}));
    notification(V2026_07_28, ServerToClient, "notifications/tasks", params).where_declared(&[TASKS])
}

fn messages_of_tasks() -> Vec<Message> {
    let mut messages = vec![
        declaring("tasks/get", json!({"taskId": "t"})),
        declaring("tasks/cancel", json!({"taskId": "t"})),
        declaring(
            "tasks/update",
            json!({"taskId": "t", "inputResponses": {"name": {"action": "accept", "content": {"name": "Ada"}}}}),
        ),
        answer("tasks/update", json!({"_meta": {}})),
        answer("tasks/cancel", json!({})),
        created(),
        listen(),
        acknowledged(),
    ];
    messages.extend(detailed_tasks().into_iter().map(|task| answer("tasks/get", task)));
    messages.extend(detailed_tasks().into_iter().map(told));
    messages
}

fn skill() -> Value {
    let file = json!({"uri": "skill://refunds/SKILL.md", "digest": format!("sha256:{}", "0a".repeat(32)), "size": 12});
    json!({
        "uri": "skill://refunds/SKILL.md",
        "frontmatter": {"name": "refunds", "description": "Pays back", "metadata": {"anything": [1, {"x": null}]}},
        "resources": [file]
    })
}

fn listed_skills() -> Message {
    cacheable(V2026_07_28, "skills/list", json!({"skills": [skill()], "nextCursor": "2"}))
}

fn messages_of_skills() -> Vec<Message> {
    let ask = |method: &str, params: Value| request(V2026_07_28, ClientToServer, method, params);
    let child = json!({"uri": "skill://refunds/a", "name": "a", "mimeType": "inode/directory"});
    vec![
        ask("skills/list", json!({"cursor": "1"})),
        ask("skills/get", json!({"uri": "skill://refunds/SKILL.md"})),
        ask("resources/directory/read", json!({"uri": "skill://refunds", "cursor": "1"})),
        listed_skills(),
        cacheable(V2026_07_28, "skills/get", json!({"skill": skill()})),
        answer("resources/directory/read", json!({"resources": [child], "nextCursor": "2"})),
    ]
}

#[test]
fn what_the_extensions_have_is_pure_and_closed() {
    let mut free = BTreeSet::new();
    for message in messages_of_tasks().iter().chain(&messages_of_skills()) {
        free.append(&mut invented_fields_that_pass(message));
    }
    let free: Vec<&str> = free.iter().map(String::as_str).collect();
    let places = ["error/data", "params/_meta", "result/_meta", "skill/frontmatter", "skills/frontmatter"];
    assert_eq!(free, places);
}

#[test]
fn one_kind_of_skill_has_no_list_of_files() {
    listed_skills().with("/result/skills/0/resources", json!("dynamic")).is_pure();
    for wrong in [json!("none"), json!([{}]), json!({}), json!(null)] {
        let violations = listed_skills().with("/result/skills/0/resources", wrong.clone()).check();
        assert!(!violations.is_empty(), "{wrong}");
    }
    listed_skills().without("/result/skills/0/resources").is_caught(Schema, "/result/skills/0");
    listed_skills().without("/result/skills/0/frontmatter/name").is_caught(Schema, "/result/skills/0/frontmatter");
    let file = "/result/skills/0/resources/0";
    for (field, wrong) in [("digest", json!("sha256:0A")), ("size", json!(-1)), ("uri", json!("no uri"))] {
        let violations = listed_skills().with(&format!("{file}/{field}"), wrong).check();
        assert_eq!(violations.len(), 1, "{field}: {violations:#?}");
    }
}

/// SKL-38, SKL-44, SKL-61
#[test]
fn listings_of_skills_have_cache_hints_and_directories_do_not() {
    listed_skills().without("/result/ttlMs").is_caught(Schema, "/result");
    let directory = answer("resources/directory/read", json!({"resources": []}));
    directory.with("/result/ttlMs", json!(0)).has_unknown_field("/result/ttlMs");
}

#[test]
fn tkx_02_a_task_answers_only_who_declared_the_extension() {
    created().is_pure();
    assert!(!created().where_declared(&[]).check().is_empty());
    assert!(!created().where_declared(&["io.modelcontextprotocol/ui"]).check().is_empty());
    // Nothing but a call becomes a task.
    let mut other = created();
    other.0.method = Some("prompts/get".into());
    assert!(!other.check().is_empty());
    // Its form is that of the extension, not that of 2025-11-25.
    let nested = answer("tools/call", json!({"task": task("working")})).with("/result/resultType", json!("task"));
    assert!(!nested.check().is_empty());
    assert!(!created().without("/result/ttlMs").check().is_empty(), "TKX-27");
    assert!(!created().with("/result/status", json!("submitted")).check().is_empty(), "TKX-28");
}

#[test]
fn tkx_21_methods_and_filters_of_tasks_are_not_there_without_it() {
    for (method, params) in [
        ("tasks/get", json!({"taskId": "t"})),
        ("tasks/cancel", json!({"taskId": "t"})),
        ("tasks/update", json!({"taskId": "t", "inputResponses": {}})),
    ] {
        let violation =
            request(V2026_07_28, ClientToServer, method, params.clone()).is_caught(UnknownMethod, "/method");
        assert!(violation.problem.contains("2026-07-28 with io.modelcontextprotocol/tasks"), "{violation}");
        // The request decides, not the conversation.
        request(V2026_07_28, ClientToServer, method, params)
            .where_declared(&[TASKS])
            .is_caught(UnknownMethod, "/method");
        answer(method, json!({})).where_declared(&[]).is_caught(UnknownMethod, "/result");
    }
    // TKX-50: in the older form, a client may only access what it created.
    answer("tasks/get", task("working")).where_declared(&["tasks"]).is_pure();
    answer("tasks/cancel", json!({})).where_declared(&["tasks"]).is_pure();
    answer("tasks/update", json!({})).where_declared(&["tasks"]).is_caught(UnknownMethod, "/result");
    assert!(!created().where_declared(&["tasks"]).check().is_empty());
    told(task("working")).where_declared(&["tasks"]).is_caught(UnknownMethod, "/method");
    told(task("working")).where_declared(&[]).is_caught(UnknownMethod, "/method");
    acknowledged().where_declared(&[]).has_unknown_field("/params/notifications/taskIds");
    request(V2026_07_28, ClientToServer, "subscriptions/listen", json!({"notifications": {"taskIds": []}}))
        .has_unknown_field("/params/notifications/taskIds");
}

/// TKX-46
#[test]
fn methods_of_the_older_tasks_are_not_in_the_extension() {
    for method in ["tasks/list", "tasks/result"] {
        declaring(method, json!({"taskId": "t"})).is_caught(UnknownMethod, "/method");
    }
    notification(V2026_07_28, ServerToClient, "notifications/tasks/status", task("working"))
        .is_caught(UnknownMethod, "/method");
}

#[test]
fn tkx_10_a_task_has_what_belongs_to_its_status() {
    for (status, lacking) in [("input_required", "inputRequests"), ("completed", "result"), ("failed", "error")] {
        for message in [answer("tasks/get", task(status)), told(task(status))] {
            let violations = message.check();
            assert!(!violations.is_empty(), "a {status} task without {lacking} passes");
        }
    }
    for (status, extra) in [("working", "result"), ("cancelled", "error"), ("working", "requestState")] {
        let field = format!("/result/{extra}");
        answer("tasks/get", task(status)).with(&field, json!({"x": 1})).has_unknown_field(&field);
    }
    // TKX-30: the result is that of the call.
    let completed = || answer("tasks/get", detailed_tasks()[2].clone());
    completed().with("/result/result/extra", json!(1)).has_unknown_field("/result/result/extra");
    completed().without("/result/result/content").is_caught(Schema, "/result/result");
    completed().with("/result/result/content/0/type", json!("song")).is_caught(Schema, "/result/result/content/0");
}

#[test]
fn tkx_06_and_07_result_types_are_fixed() {
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let content = if method == "tasks/get" { task("working") } else { json!({}) };
        answer(method, content.clone()).is_pure();
        assert!(!answer(method, content).with("/result/resultType", json!("task")).check().is_empty(), "{method}");
    }
    // TKX-17: only the receipt is acknowledged.
    for method in ["tasks/cancel", "tasks/update"] {
        answer(method, json!({})).with("/result/taskId", json!("t")).has_unknown_field("/result/taskId");
    }
}

/// Before 2026-07-28 there are no extensions, whatever was declared (TKX-51).
#[test]
fn handshake_revisions_have_no_extensions() {
    for revision in LEGACY {
        for method in ["skills/list", "skills/get", "resources/directory/read", "tasks/update"] {
            request(revision, ClientToServer, method, json!({}))
                .where_declared(&[TASKS])
                .is_caught(UnknownMethod, "/method");
        }
        let flat = result(revision, ServerToClient, "tools/call", task("working")).where_declared(&[TASKS]);
        assert!(!flat.check().is_empty(), "{revision}");
    }
}

#[test]
fn where_nothing_tells_what_was_negotiated_everything_may_have_been() {
    for mut message in messages_of_tasks() {
        if message.0.message.get("id").is_none() || message.0.method.is_some() {
            message.0.extensions = None;
            message.is_pure();
        }
    }
}

#[test]
fn of_extensions_that_nothing_is_known_of_only_the_envelope_is_checked() {
    let mine = || request(V2026_07_28, ClientToServer, "example/do", json!({"anything": 1}));
    let result = || answer("tools/call", json!({"anything": 1})).with("/result/resultType", json!("com.example/mine"));
    for message in [mine(), result()] {
        assert!(!message.clone().check().is_empty());
        message.clone().where_declared(&[FOREIGN]).is_pure();
        // Extensions of the protocol itself are all known.
        assert!(!message.where_declared(&["io.modelcontextprotocol/ui"]).check().is_empty());
    }
    mine().where_declared(&[FOREIGN]).with("/extra", json!(1)).has_unknown_field("/extra");
}

/// 2025-11-25 has its own tasks, which are checked like the rest of the revision.
#[test]
fn tasks_of_2025_11_25_are_closed() {
    let task = || {
        json!({
            "taskId": "t", "status": "working", "statusMessage": "m", "createdAt": "2025-11-25T10:30:00Z",
            "lastUpdatedAt": "2025-11-25T10:40:00Z", "ttl": null, "pollInterval": 5
        })
    };
    let related = json!({"io.modelcontextprotocol/related-task": {"taskId": "t"}});
    let told = |method: &str, content: Value| result(V2025_11_25, ServerToClient, method, content);
    let ask = |direction, method: &str, params: Value| request(V2025_11_25, direction, method, params);
    let mut messages = vec![
        ask(ClientToServer, "tools/call", json!({"name": "add", "arguments": {}, "task": {"ttl": 1000}})),
        ask(ClientToServer, "tasks/get", json!({"taskId": "t"})),
        ask(ClientToServer, "tasks/result", json!({"taskId": "t"})),
        ask(ClientToServer, "tasks/cancel", json!({"taskId": "t"})),
        ask(ClientToServer, "tasks/list", json!({"cursor": "1"})),
        told("tools/call", json!({"task": task()})),
        told("tasks/get", task()),
        told("tasks/cancel", task()),
        told("tasks/list", json!({"tasks": [task()], "nextCursor": "2"})),
        // TSK-15
        told("tasks/result", json!({"content": [text()], "_meta": related.clone()})),
        ask(
            ServerToClient,
            "elicitation/create",
            json!({"message": "m", "requestedSchema": {"type": "object", "properties": {}}, "_meta": related}),
        ),
        notification(V2025_11_25, ServerToClient, "notifications/tasks/status", task()),
    ];
    let mut free = BTreeSet::new();
    for message in &mut messages {
        message.0.extensions = Some(vec![TASKS.into()]);
        free.append(&mut invented_fields_that_pass(message));
    }
    let free: Vec<&str> = free.iter().map(String::as_str).collect();
    assert_eq!(free, ["params/_meta", "params/arguments", "result/_meta"]);
    for (field, value) in [("ttlMs", json!(5)), ("result", json!({})), ("pollIntervalMs", json!(5))] {
        let field = format!("/result/{field}");
        told("tasks/get", task()).with(&field, value).has_unknown_field(&field);
    }
    told("tasks/get", task()).with("/result/status", json!("submitted")).is_caught(Schema, "/result/status");
}
