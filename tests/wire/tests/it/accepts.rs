//! Valid messages of all five revisions pass.

use crate::common::*;
use serde_json::{Value, json};

#[test]
fn the_handshake() {
    for revision in LEGACY {
        initialize(revision).is_pure();
        initialized(revision).is_pure();
        notification(revision, ClientToServer, "notifications/initialized", json!({})).is_pure();
        notification(revision, ClientToServer, "notifications/initialized", json!({})).without("/params").is_pure();
    }
    for revision in [V2025_06_18, V2025_11_25] {
        initialize(revision).with("/params/clientInfo/title", json!("C")).is_pure();
        initialized(revision).with("/result/capabilities/completions", json!({})).is_pure();
    }
    initialize(V2025_11_25)
        .with("/params/capabilities/elicitation", json!({"form": {}, "url": {}}))
        .with("/params/capabilities/tasks", json!({"list": {}, "requests": {"sampling": {"createMessage": {}}}}))
        .with("/params/clientInfo/icons", json!([{"src": "https://example.com/i.png", "sizes": ["any"]}]))
        .with("/params/clientInfo/websiteUrl", json!("https://example.com"))
        .is_pure();
}

#[test]
fn ping_both_ways() {
    for revision in LEGACY {
        for direction in [ClientToServer, ServerToClient] {
            request(revision, direction, "ping", json!({})).is_pure();
            request(revision, direction, "ping", json!({"_meta": {"progressToken": "p"}})).is_pure();
            request(revision, direction, "ping", json!({})).without("/params").is_pure();
            result(revision, direction, "ping", json!({})).is_pure();
        }
    }
}

#[test]
fn discovery() {
    request(V2026_07_28, ClientToServer, "server/discover", json!({})).is_pure();
    let content = json!({
        "supportedVersions": ["2026-07-28", "2025-11-25"],
        "capabilities": {
            "tools": {"listChanged": true}, "extensions": {"com.example/x": {"deep": [null, 1.5, {"a": null}]}}
        },
        "instructions": "Ask.",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1", "title": "S"}, "com.example/y": 1}
    });
    cacheable(V2026_07_28, "server/discover", content).is_pure();
}

#[test]
fn tool_lists() {
    for revision in Revision::ALL {
        request(revision, ClientToServer, "tools/list", json!({})).is_pure();
        request(revision, ClientToServer, "tools/list", json!({"cursor": "2"})).is_pure();
        tool_list(revision).is_pure();
        tool_list(revision).with("/result/nextCursor", json!("2")).is_pure();
    }
    let annotations = json!({"title": "Add", "readOnlyHint": true, "openWorldHint": false});
    for revision in [V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28] {
        tool_list(revision).with("/result/tools/0/annotations", annotations.clone()).is_pure();
    }
    for revision in [V2025_06_18, V2025_11_25, V2026_07_28] {
        tool_list(revision)
            .with("/result/tools/0/title", json!("Add"))
            .with("/result/tools/0/outputSchema", json!({"type": "object", "properties": {"sum": {"type": "number"}}}))
            .with("/result/tools/0/_meta", json!({"com.example/x": {"y": null}}))
            .is_pure();
    }
    for revision in [V2025_11_25, V2026_07_28] {
        tool_list(revision).with("/result/tools/0/icons", json!([{"src": "data:image/png;base64,AAAA"}])).is_pure();
    }
    tool_list(V2025_11_25).with("/result/tools/0/execution", json!({"taskSupport": "optional"})).is_pure();
    tool_list(V2026_07_28).with("/result/tools/0/outputSchema", json!({"type": ["array", "null"]})).is_pure();
}

#[test]
fn tool_calls_with_all_kinds_of_content() {
    let annotations = json!({"audience": ["user"], "priority": 0.5});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": annotations});
    let audio = json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
    let link = json!({"type": "resource_link", "uri": "notes://1", "name": "one", "title": "One", "size": 3});
    let embedded_text = json!({"type": "resource", "resource": {"uri": "notes://1", "text": "hello"}});
    let embedded_blob =
        json!({"type": "resource", "resource": {"uri": "notes://1", "blob": "AAAA", "mimeType": "image/png"}});
    let since: [(Revision, Value); 6] = [
        (V2024_11_05, text()),
        (V2024_11_05, image),
        (V2024_11_05, embedded_text),
        (V2024_11_05, embedded_blob),
        (V2025_03_26, audio),
        (V2025_06_18, link),
    ];
    for revision in Revision::ALL {
        let arguments = json!({"name": "add", "arguments": {"a": 1, "b": {"deep": [null]}}});
        request(revision, ClientToServer, "tools/call", arguments).is_pure();
        for (_, block) in since.iter().filter(|(first, _)| *first <= revision) {
            call_result(revision, block.clone()).is_pure();
        }
        call_result(revision, text()).with("/result/isError", json!(true)).is_pure();
        call_result(revision, text()).with("/result/_meta", json!({"com.example/x": 1})).is_pure();
    }
    for revision in [V2025_06_18, V2025_11_25, V2026_07_28] {
        call_result(revision, text()).with("/result/structuredContent", json!({"any": {"thing": null}})).is_pure();
        call_result(revision, text())
            .with("/result/content/0/annotations", json!({"lastModified": "2025-01-01"}))
            .is_pure();
        call_result(revision, text()).with("/result/content/0/_meta", json!({"com.example/x": 1})).is_pure();
    }
    call_result(V2026_07_28, text()).with("/result/structuredContent", json!([1, null])).is_pure();
}

#[test]
fn progress_and_cancellation() {
    for revision in LEGACY {
        for direction in [ClientToServer, ServerToClient] {
            let progress = json!({"progressToken": "p", "progress": 1.5, "total": 2});
            notification(revision, direction, "notifications/progress", progress).is_pure();
            let cancelled = json!({"requestId": 4, "reason": "no need"});
            notification(revision, direction, "notifications/cancelled", cancelled).is_pure();
        }
    }
    for revision in [V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28] {
        let progress = json!({"progressToken": 1, "progress": 1, "message": "half", "_meta": {"com.example/x": 1}});
        notification(revision, ServerToClient, "notifications/progress", progress).is_pure();
    }
    for direction in [ClientToServer, ServerToClient] {
        notification(V2026_07_28, direction, "notifications/cancelled", json!({"requestId": "r"})).is_pure();
    }
}

#[test]
fn list_changes() {
    for revision in Revision::ALL {
        for list in ["tools", "prompts", "resources"] {
            let method = format!("notifications/{list}/list_changed");
            notification(revision, ServerToClient, &method, json!({})).is_pure();
            notification(revision, ServerToClient, &method, json!({})).without("/params").is_pure();
        }
    }
    for revision in LEGACY {
        notification(revision, ClientToServer, "notifications/roots/list_changed", json!({})).is_pure();
    }
}

#[test]
fn subscriptions_of_the_modern_era() {
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["notes://1"]});
    request(V2026_07_28, ClientToServer, "subscriptions/listen", json!({"notifications": filter})).is_pure();
    let params = json!({"notifications": filter, "_meta": {"io.modelcontextprotocol/subscriptionId": 7}});
    notification(V2026_07_28, ServerToClient, "notifications/subscriptions/acknowledged", params).is_pure();
    let tagged = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": "seven"}});
    notification(V2026_07_28, ServerToClient, "notifications/tools/list_changed", tagged.clone()).is_pure();
    result(V2026_07_28, ServerToClient, "subscriptions/listen", tagged).is_pure();
}

#[test]
fn the_other_features() {
    for revision in Revision::ALL {
        let prompt = json!({"prompts": [{"name": "p", "arguments": [{"name": "a", "required": true}]}]});
        cacheable(revision, "prompts/list", prompt).is_pure();
        let messages = json!({"messages": [{"role": "user", "content": text()}]});
        result(revision, ServerToClient, "prompts/get", messages).is_pure();
        let contents = json!({"contents": [{"uri": "notes://1", "text": "x"}, {"uri": "notes://2", "blob": "AAAA"}]});
        cacheable(revision, "resources/read", contents).is_pure();
        let templates = json!({"resourceTemplates": [{"uriTemplate": "notes://{name}", "name": "note"}]});
        cacheable(revision, "resources/templates/list", templates).is_pure();
        let log = json!({"level": "info", "data": {"free": [1, {"x": null}]}, "logger": "l"});
        notification(revision, ServerToClient, "notifications/message", log).is_pure();
        let reference = json!({"type": "ref/prompt", "name": "p"});
        let complete = json!({"ref": reference, "argument": {"name": "a", "value": "v"}});
        request(revision, ClientToServer, "completion/complete", complete).is_pure();
        result(revision, ServerToClient, "completion/complete", json!({"completion": {"values": ["v"]}})).is_pure();
    }
    for revision in LEGACY {
        request(revision, ClientToServer, "resources/subscribe", json!({"uri": "notes://1"})).is_pure();
        result(revision, ServerToClient, "resources/subscribe", json!({})).is_pure();
        request(revision, ServerToClient, "roots/list", json!({})).is_pure();
        let roots = json!({"roots": [{"uri": "file:///home", "name": "home"}]});
        result(revision, ClientToServer, "roots/list", roots).is_pure();
        let sampling = json!({
            "messages": [{"role": "user", "content": text()}], "maxTokens": 5, "metadata": {"free": null},
            "modelPreferences": {"hints": [{"name": "m"}], "costPriority": 0.5}
        });
        request(revision, ServerToClient, "sampling/createMessage", sampling).is_pure();
        let sampled = json!({"role": "assistant", "content": text(), "model": "m", "stopReason": "endTurn"});
        result(revision, ClientToServer, "sampling/createMessage", sampled).is_pure();
    }
}

#[test]
fn elicitation() {
    let form = json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "number", "minimum": 0.5},
        "kind": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
        "sure": {"type": "boolean", "default": true}
    }, "required": ["name"]}});
    let answer = json!({"action": "accept", "content": {"name": "n", "age": 1.5, "sure": false}});
    for revision in [V2025_06_18, V2025_11_25] {
        request(revision, ServerToClient, "elicitation/create", form.clone()).is_pure();
        result(revision, ClientToServer, "elicitation/create", answer.clone()).is_pure();
    }
    let titled = json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}], "default": "a"});
    request(V2025_11_25, ServerToClient, "elicitation/create", form.clone())
        .with("/params/requestedSchema/properties/titled", titled)
        .with("/params/mode", json!("form"))
        .is_pure();
    let url = json!({"mode": "url", "message": "Go", "url": "https://example.com", "elicitationId": "e"});
    request(V2025_11_25, ServerToClient, "elicitation/create", url).is_pure();

    let asked = json!({"inputRequests": {
        "who": {"method": "elicitation/create", "params": form}, "roots": {"method": "roots/list"}
    }, "requestState": "sealed"});
    let mut asked = result(V2026_07_28, ServerToClient, "tools/call", asked);
    asked.0.message["result"]["resultType"] = json!("input_required");
    asked.is_pure();
    let retry = json!({"name": "add", "requestState": "sealed", "inputResponses": {
        "who": answer, "roots": {"roots": [{"uri": "file:///"}]}
    }});
    request(V2026_07_28, ClientToServer, "tools/call", retry).is_pure();
}

#[test]
fn tasks_of_2025_11_25() {
    let task = json!({
        "taskId": "t", "status": "working", "createdAt": "2025-11-25T10:30:00Z",
        "lastUpdatedAt": "2025-11-25T10:30:00Z", "ttl": null, "pollInterval": 5
    });
    let call = json!({"name": "add", "task": {"ttl": 1000}});
    request(V2025_11_25, ClientToServer, "tools/call", call).is_pure();
    result(V2025_11_25, ServerToClient, "tools/call", json!({"task": task})).is_pure();
    result(V2025_11_25, ServerToClient, "tasks/get", task.clone()).is_pure();
    result(V2025_11_25, ServerToClient, "tasks/result", json!({"content": [text()]})).is_pure();
    result(V2025_11_25, ServerToClient, "tasks/list", json!({"tasks": [task.clone()]})).is_pure();
    notification(V2025_11_25, ServerToClient, "notifications/tasks/status", task).is_pure();
    result(V2025_11_25, ClientToServer, "tasks/result", json!({"action": "decline"})).is_pure();
}

#[test]
fn errors_with_and_without_a_readable_id() {
    for revision in Revision::ALL {
        for direction in [ClientToServer, ServerToClient] {
            let error = json!({"code": -32602, "message": "no", "data": {"free": [null, {"x": 1}]}});
            let with_id = json!({"jsonrpc": "2.0", "id": 1, "error": error});
            let without_id = json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "not JSON"}});
            Message::new(revision, direction, Some("tools/call"), with_id.clone()).is_pure();
            Message::new(revision, direction, Some("no/such/method"), with_id).is_pure();
            Message::new(revision, direction, None, without_id).is_pure();
        }
    }
    let unsupported = json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"], "requested": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "error": unsupported});
    Message::new(V2026_07_28, ServerToClient, Some("tools/call"), message).is_pure();
    let elicitation = json!({"mode": "url", "message": "Go", "url": "https://example.com", "elicitationId": "e"});
    let required = json!({"code": -32042, "message": "go", "data": {"elicitations": [elicitation]}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "error": required});
    Message::new(V2025_11_25, ServerToClient, Some("tools/call"), message).is_pure();
}

#[test]
fn batches_of_2025_03_26() {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let changed =
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}});
    Message::new(V2025_03_26, ClientToServer, None, json!([ping, changed])).is_pure();
    let result = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [text()], "isError": false}});
    let error = json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "no"}});
    Message::new(V2025_03_26, ServerToClient, None, json!([result, error])).is_pure();
}

#[test]
fn free_places_are_free() {
    let anything = json!({"resultType": 1, "title": null, "deep": [{"structuredContent": {"$defs": true}}]});
    for revision in Revision::ALL {
        request(revision, ClientToServer, "tools/call", json!({"name": "t", "arguments": anything})).is_pure();
        tool_list(revision)
            .with("/result/tools/0/inputSchema/additionalProperties", json!(false))
            .with("/result/tools/0/inputSchema/$defs", json!({"x": {"oneOf": [{"title": "T"}]}}))
            .with("/result/tools/0/inputSchema/properties", json!({"x": {"x-mcp-header": "X", "type": "string"}}))
            .is_pure();
        call_result(revision, text()).with("/result/_meta", anything.clone()).is_pure();
    }
    for revision in LEGACY {
        initialize(revision)
            .with("/params/capabilities/experimental/mine", anything.clone())
            .with("/params/capabilities/extensions", json!({"com.example/ui": anything.clone()}))
            .with("/params/_meta", anything.clone())
            .is_pure();
    }
}
