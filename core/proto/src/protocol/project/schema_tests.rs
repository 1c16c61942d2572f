//! Validates everything that can be projected, with all fields of all revisions, against the schema
//! of each revision.

use super::*;
use crate::protocol::Era;
use serde_json::json;
use std::sync::OnceLock;
use trunkline_wire::{Checker, Direction, Record};

/// The schema violations of a server's message.
fn violations(message: Value, method: Option<&str>, revision: Revision) -> Vec<trunkline_wire::Violation> {
    static CHECKER: OnceLock<Checker> = OnceLock::new();
    let record = Record {
        revision: trunkline_wire::Revision::parse(revision.as_str()).unwrap(),
        direction: Direction::ServerToClient,
        method: method.map(str::to_owned),
        extensions: None,
        message,
    };
    CHECKER.get_or_init(|| Checker::new().unwrap()).check(&record)
}

fn check(message: Value, method: Option<&str>, revision: Revision) {
    let violations = violations(message.clone(), method, revision);
    assert!(violations.is_empty(), "{revision}: {message}\n{violations:?}");
}

fn check_result(method: &str, result: &Value) {
    let unprojected = json!({"jsonrpc": "2.0", "id": 1, "result": result});
    assert!(!violations(unprojected, Some(method), Revision::V2024_11_05).is_empty(), "nothing to project in {result}");
    for revision in Revision::ALL {
        let mut result = result.clone();
        project_result(method, &mut result, revision);
        check(json!({"jsonrpc": "2.0", "id": 1, "result": result}), Some(method), revision);
    }
}

/// Checks a server's request, or on 2026-07-28 the equivalent input request in a result. Returns
/// the revisions that have it.
fn check_request(
    method: &str,
    params: &Value,
    project: impl Fn(&mut Value, Revision) -> Result<(), Unsupported>,
) -> Vec<Revision> {
    let mut had = Vec::new();
    for revision in Revision::ALL {
        let mut params = params.clone();
        if project(&mut params, revision).is_err() {
            continue;
        }
        had.push(revision);
        let request = json!({"method": method, "params": params});
        match revision.era() {
            Era::Legacy => {
                let mut message = request;
                message["jsonrpc"] = json!("2.0");
                message["id"] = json!(1);
                check(message, None, revision);
            }
            Era::Modern => {
                let result = json!({"resultType": "input_required", "inputRequests": {"a": request}});
                check(json!({"jsonrpc": "2.0", "id": 1, "result": result}), Some(method::TOOLS_CALL), revision);
            }
        }
    }
    had
}

fn annotations() -> Value {
    json!({"audience": ["user"], "priority": 0.5, "lastModified": "2025-01-01T00:00:00Z"})
}

fn icons() -> Value {
    json!([{"src": "https://a.b/c.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}])
}

fn blocks() -> Value {
    json!([
        {"type": "text", "text": "t", "annotations": annotations(), "_meta": {"a/b": 1}},
        {"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": annotations(), "_meta": {"a/b": 1}},
        {"type": "audio", "data": "AA==", "mimeType": "audio/wav", "annotations": annotations(), "_meta": {"a/b": 1}},
        {"type": "resource", "resource": {"uri": "a:b", "text": "t", "mimeType": "a/b", "_meta": {"a/b": 1}}, "_meta": {"a/b": 1}},
        {"type": "resource_link", "uri": "a:b", "name": "n", "title": "T", "description": "d", "mimeType": "a/b", "size": 1,
            "icons": icons(), "annotations": annotations(), "_meta": {"a/b": 1}},
    ])
}

fn cacheable(mut result: Value) -> Value {
    result["ttlMs"] = json!(5);
    result["cacheScope"] = json!("private");
    complete(result)
}

fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result["_meta"] = json!({SERVER_INFO: {"name": "n", "version": "1"}});
    result
}

#[test]
fn icon_res_prm_cmp_results_are_pure_on_every_revision() {
    let described = json!({"name": "n", "title": "T", "description": "d", "icons": icons(), "_meta": {"a/b": 1}});
    let with = |fields: Value| {
        let mut value = described.clone();
        value.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        value
    };
    let resource = with(json!({"uri": "a:b", "mimeType": "a/b", "size": 1, "annotations": annotations()}));
    check_result(method::RESOURCES_LIST, &cacheable(json!({"resources": [resource], "nextCursor": "c"})));
    let template = with(json!({"uriTemplate": "a:{b}", "mimeType": "a/b", "annotations": annotations()}));
    check_result(method::RESOURCES_TEMPLATES_LIST, &cacheable(json!({"resourceTemplates": [template]})));
    let contents =
        json!([{"uri": "a:b", "text": "t", "mimeType": "a/b", "_meta": {"a/b": 1}}, {"uri": "a:c", "blob": "AA=="}]);
    check_result(method::RESOURCES_READ, &cacheable(json!({"contents": contents})));
    let argument = json!({"name": "a", "title": "A", "description": "d", "required": true});
    check_result(method::PROMPTS_LIST, &cacheable(json!({"prompts": [with(json!({"arguments": [argument]}))]})));
    let messages: Value =
        blocks().as_array().unwrap().iter().map(|block| json!({"role": "user", "content": block})).collect();
    check_result(method::PROMPTS_GET, &complete(json!({"description": "d", "messages": messages})));
    check_result(method::COMPLETION_COMPLETE, &complete(json!({"completion": {"values": vec!["v"; 120]}})));
    check_result(method::TOOLS_CALL, &complete(json!({"content": blocks(), "structuredContent": [1]})));
    let tool =
        with(json!({"inputSchema": {"type": "object", "properties": {"a": true}}, "outputSchema": {"type": "object"},
        "annotations": {"title": "A"}, "execution": {"taskSupport": "optional"}}));
    check_result(method::TOOLS_LIST, &cacheable(json!({"tools": [tool]})));
}

#[test]
fn smp_requests_are_pure_on_every_revision_that_has_them() {
    let block = |block: Value| json!({"role": "user", "content": block, "_meta": {"a/b": 1}});
    let blocks = blocks();
    let plain = json!({
        "messages": [block(blocks[0].clone()), block(json!([blocks[0], blocks[1]]))], "maxTokens": 1, "systemPrompt": "s",
        "includeContext": "none", "temperature": 0.5, "stopSequences": ["x"], "metadata": {"p": 1},
        "modelPreferences": {"hints": [{"name": "m"}], "costPriority": 0.5}, "_meta": {"a/b": 1}, "toolChoice": {"mode": "none"},
    });
    assert_eq!(check_request(method::SAMPLING_CREATE_MESSAGE, &plain, project_sampling_params), Revision::ALL);
    let mut sound = plain.clone();
    sound["messages"][0]["content"] = blocks[2].clone();
    assert_eq!(check_request(method::SAMPLING_CREATE_MESSAGE, &sound, project_sampling_params), Revision::ALL[1..]);
    let mut tools = plain;
    tools["tools"] =
        json!([{"name": "t", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "forbidden"}}]);
    let uses = json!({"role": "assistant", "content": {"type": "tool_use", "id": "1", "name": "t", "input": {"a": 1}}});
    let results = json!([{"type": "tool_result", "toolUseId": "1", "content": blocks, "structuredContent": [1], "isError": false}]);
    tools["messages"] = json!([block(blocks[0].clone()), uses, block(results)]);
    assert_eq!(check_request(method::SAMPLING_CREATE_MESSAGE, &tools, project_sampling_params), Revision::ALL[3..]);
}

#[test]
fn eli_requests_are_pure_on_every_revision_that_has_them() {
    let project = |params: &mut Value, revision| project_elicit_params(params, revision, || "1".to_owned());
    let titled = json!([{"const": "a", "title": "A"}]);
    let form = json!({"mode": "form", "message": "m", "_meta": {"a/b": 1}, "requestedSchema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["a"], "properties": {
            "a": {"type": "string", "title": "T", "description": "d", "minLength": 1, "maxLength": 2, "format": "email", "default": "x"},
            "b": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
            "c": {"type": "integer", "default": 1},
            "d": {"type": "boolean", "default": true},
            "e": {"type": "string", "enum": ["a"], "default": "a"},
            "f": {"type": "string", "oneOf": titled, "default": "a"},
            "g": {"type": "string", "enum": ["a"], "enumNames": ["A"]},
    }}});
    assert_eq!(check_request(method::ELICITATION_CREATE, &form, project), Revision::ALL[2..]);
    let mut several = form.clone();
    several["requestedSchema"]["properties"]["h"] =
        json!({"type": "array", "items": {"anyOf": titled}, "minItems": 1, "maxItems": 1, "default": ["a"]});
    several["requestedSchema"]["properties"]["i"] =
        json!({"type": "array", "items": {"type": "string", "enum": ["a"]}});
    assert_eq!(check_request(method::ELICITATION_CREATE, &several, project), Revision::ALL[3..]);
    let url = json!({"mode": "url", "message": "m", "url": "https://a.b/", "_meta": {"a/b": 1}});
    assert_eq!(check_request(method::ELICITATION_CREATE, &url, project), Revision::ALL[3..]);
}

#[test]
fn tsk_23_24_tasks_are_pure_on_2025_11_25() {
    let task = json!({"taskId": "t", "status": "completed", "statusMessage": "m", "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": 500, "result": {}, "inputRequests": {}});
    let revision = Revision::V2025_11_25;
    let created = created_task(task.clone(), revision);
    check(json!({"jsonrpc": "2.0", "id": 1, "result": created}), Some(method::TOOLS_CALL), revision);
    let mut got = task;
    project_task(&mut got, revision);
    for method in [method::TASKS_GET, method::TASKS_CANCEL] {
        check(json!({"jsonrpc": "2.0", "id": 1, "result": got}), Some(method), revision);
    }
    let status = json!({"jsonrpc": "2.0", "method": method::TASKS_STATUS, "params": got});
    check(status, None, revision);
    check(json!({"jsonrpc": "2.0", "id": 1, "result": {"tasks": [got]}}), Some(method::TASKS_LIST), revision);
}

#[test]
fn eli_30_the_error_of_required_urls_is_pure() {
    let revision = Revision::V2025_11_25;
    let mut url = json!({"mode": "url", "message": "m", "url": "https://a.b/"});
    project_elicit_params(&mut url, revision, || "1".to_owned()).unwrap();
    let error = RpcError::url_elicitation_required(vec![url]);
    check(json!({"jsonrpc": "2.0", "id": 1, "error": error}), Some(method::TOOLS_CALL), revision);
}
