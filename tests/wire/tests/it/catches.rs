//! Fields and methods that a revision does not define are caught, although its open-world schema
//! accepts them.

use crate::common::*;
use serde_json::{Value, json};
use trunkline_wire::ViolationKind::{NoMessage, Schema, UnknownMethod};

fn before(first: Revision) -> impl Iterator<Item = Revision> {
    Revision::ALL.into_iter().filter(move |revision| *revision < first)
}

#[test]
fn fields_of_a_later_tool() {
    let icons = json!([{"src": "https://example.com/i.png"}]);
    let later = [
        (V2025_03_26, "annotations", json!({"readOnlyHint": true})),
        (V2025_06_18, "title", json!("Add")),
        (V2025_06_18, "outputSchema", json!({"type": "object"})),
        (V2025_06_18, "_meta", json!({})),
        (V2025_11_25, "icons", icons),
        (V2025_11_25, "execution", json!({"taskSupport": "optional"})),
    ];
    for (first, field, value) in later {
        let pointer = format!("/result/tools/0/{field}");
        for revision in before(first) {
            tool_list(revision).with(&pointer, value.clone()).has_unknown_field(&pointer);
        }
    }
    let removed = "/result/tools/0/execution";
    tool_list(V2026_07_28).with(removed, json!({"taskSupport": "optional"})).has_unknown_field(removed);
}

#[test]
fn the_violation_names_field_type_and_revision() {
    let message = tool_list(V2025_03_26).with("/result/tools/0/title", json!("Add"));
    let violation = message.check().remove(0);
    assert_eq!(violation.to_string(), "/result/tools/0/title: \"title\" is not defined by Tool in 2025-03-26");
}

#[test]
fn result_fields_of_a_later_revision() {
    for revision in before(V2025_06_18) {
        let pointer = "/result/structuredContent";
        call_result(revision, text()).with(pointer, json!({})).has_unknown_field(pointer);
    }
    for revision in LEGACY {
        call_result(revision, text())
            .with("/result/resultType", json!("complete"))
            .has_unknown_field("/result/resultType");
        let empty = result(revision, ServerToClient, "ping", json!({}));
        empty.with("/result/resultType", json!("complete")).has_unknown_field("/result/resultType");
        for field in ["ttlMs", "cacheScope"] {
            let pointer = format!("/result/{field}");
            tool_list(revision).with(&pointer, json!(0)).has_unknown_field(&pointer);
        }
        initialized(revision)
            .with("/result/supportedVersions", json!([]))
            .has_unknown_field("/result/supportedVersions");
    }
}

#[test]
fn kinds_of_content_of_a_later_revision() {
    let link = json!({"type": "resource_link", "uri": "notes://1", "name": "one"});
    let audio = json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
    for (first, block) in [(V2025_06_18, link), (V2025_03_26, audio)] {
        for revision in before(first) {
            call_result(revision, block.clone()).is_caught(Schema, "/result/content/0");
            let messages = json!({"messages": [{"role": "user", "content": block}]});
            result(revision, ServerToClient, "prompts/get", messages).is_caught(Schema, "/result/messages/0/content");
        }
    }
    let violation = call_result(V2025_03_26, json!({"type": "resource_link"})).check().remove(0);
    assert!(
        violation.problem.contains("not one of TextContent, ImageContent, AudioContent, EmbeddedResource"),
        "{violation}"
    );
}

#[test]
fn methods_of_another_revision() {
    for revision in LEGACY {
        let probe = request(revision, ClientToServer, "server/discover", json!({}));
        let violation = probe.is_caught(UnknownMethod, "/method");
        assert!(violation.problem.contains("only 2026-07-28 do"), "{violation}");
        request(revision, ClientToServer, "subscriptions/listen", json!({})).is_caught(UnknownMethod, "/method");
        notification(revision, ServerToClient, "notifications/subscriptions/acknowledged", json!({}))
            .is_caught(UnknownMethod, "/method");
    }
    for method in ["ping", "initialize", "logging/setLevel", "resources/subscribe", "tasks/get"] {
        request(V2026_07_28, ClientToServer, method, json!({})).is_caught(UnknownMethod, "/method");
    }
    for method in ["notifications/initialized", "notifications/progress", "notifications/roots/list_changed"] {
        notification(V2026_07_28, ClientToServer, method, json!({})).is_caught(UnknownMethod, "/method");
    }
    for revision in before(V2025_06_18) {
        request(revision, ServerToClient, "elicitation/create", json!({})).is_caught(UnknownMethod, "/method");
    }
    request(V2025_06_18, ClientToServer, "tasks/get", json!({})).is_caught(UnknownMethod, "/method");
    request(V2025_06_18, ClientToServer, "no/such/method", json!({})).is_caught(UnknownMethod, "/method");
    request(V2025_06_18, ClientToServer, "com.example/search", json!({"text": "x"})).is_pure();
}

#[test]
fn methods_in_the_wrong_direction() {
    for revision in Revision::ALL {
        request(revision, ServerToClient, "tools/call", json!({"name": "t"})).is_caught(UnknownMethod, "/method");
        notification(revision, ClientToServer, "notifications/message", json!({"level": "info", "data": 1}))
            .is_caught(UnknownMethod, "/method");
        result(revision, ClientToServer, "tools/call", json!({"content": []})).is_caught(UnknownMethod, "/result");
    }
    for method in ["ping", "roots/list", "sampling/createMessage", "elicitation/create"] {
        request(V2026_07_28, ServerToClient, method, json!({})).is_caught(UnknownMethod, "/method");
    }
}

#[test]
fn what_the_modern_revision_demands() {
    call_result(V2026_07_28, text()).without("/result/resultType").is_caught(Schema, "/result");
    tool_list(V2026_07_28).without("/result/ttlMs").is_caught(Schema, "/result");
    request(V2026_07_28, ClientToServer, "tools/list", json!({})).without("/params/_meta").is_caught(Schema, "/params");
    request(V2026_07_28, ClientToServer, "tools/list", json!({})).without("/params").is_caught(Schema, "");
    let listen = json!({"notifications": {}, "_meta": {}});
    notification(V2026_07_28, ServerToClient, "notifications/subscriptions/acknowledged", listen)
        .without("/params/notifications")
        .is_caught(Schema, "/params");
    let roots = "/params/_meta/io.modelcontextprotocol~1clientCapabilities/roots/listChanged";
    request(V2026_07_28, ClientToServer, "tools/list", json!({})).with(roots, json!(true)).has_unknown_field(roots);
}

#[test]
fn defined_keys_of_meta_have_their_types() {
    let list = || request(V2026_07_28, ClientToServer, "tools/list", json!({}));
    let version = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
    list().with(version, json!(7)).is_caught(Schema, version);
    let info = "/params/_meta/io.modelcontextprotocol~1clientInfo";
    list().with(&format!("{info}/homepage"), json!("x")).has_unknown_field(&format!("{info}/homepage"));
    let tasks = "/params/_meta/io.modelcontextprotocol~1clientCapabilities/tasks";
    list().with(tasks, json!({})).has_unknown_field(tasks);
    let token = "/params/_meta/progressToken";
    for revision in LEGACY {
        request(revision, ClientToServer, "tools/list", json!({"_meta": {"progressToken": 1.5}}))
            .is_caught(Schema, token);
    }
    let changed = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": {}}});
    notification(V2026_07_28, ServerToClient, "notifications/tools/list_changed", changed)
        .is_caught(Schema, "/params/_meta/io.modelcontextprotocol~1subscriptionId");
}

#[test]
fn unknown_fields_deep_inside() {
    let annotated = json!({"type": "text", "text": "x", "annotations": {"priority": 1}});
    for revision in Revision::ALL {
        for pointer in ["/result/content/0/extra", "/result/content/0/annotations/extra", "/result/extra", "/extra"] {
            call_result(revision, annotated.clone()).with(pointer, json!(1)).has_unknown_field(pointer);
        }
        let embedded = json!({"type": "resource", "resource": {"uri": "notes://1", "text": "x"}});
        let pointer = "/result/content/0/resource/extra";
        call_result(revision, embedded.clone()).with(pointer, json!({"x": 1})).has_unknown_field(pointer);
        call_result(revision, embedded)
            .with("/result/content/0/resource/blob", json!("AAAA"))
            .is_caught(trunkline_wire::ViolationKind::UnknownField, "/result/content/0/resource/blob");
        for pointer in ["/params/extra", "/extra"] {
            request(revision, ClientToServer, "tools/call", json!({"name": "t"}))
                .with(pointer, json!(1))
                .has_unknown_field(pointer);
            request(revision, ClientToServer, "tools/list", json!({}))
                .with(pointer, json!(1))
                .has_unknown_field(pointer);
        }
        let progress = json!({"progressToken": 1, "progress": 1});
        notification(revision, ServerToClient, "notifications/progress", progress)
            .with("/params/extra", json!(1))
            .has_unknown_field("/params/extra");
        notification(revision, ServerToClient, "notifications/tools/list_changed", json!({"extra": 1}))
            .has_unknown_field("/params/extra");
    }
    for revision in LEGACY {
        for place in ["/params/capabilities/extra", "/params/capabilities/roots/extra", "/params/clientInfo/extra"] {
            initialize(revision).with(place, json!({})).has_unknown_field(place);
        }
        for place in ["/result/capabilities/extra", "/result/capabilities/tools/extra", "/result/serverInfo/extra"] {
            initialized(revision).with(place, json!({})).has_unknown_field(place);
        }
        request(revision, ClientToServer, "ping", json!({"extra": 1})).has_unknown_field("/params/extra");
        let changed = request(revision, ServerToClient, "roots/list", json!({"extra": 1}));
        changed.has_unknown_field("/params/extra");
    }
    let info = "/result/_meta/io.modelcontextprotocol~1serverInfo";
    call_result(V2026_07_28, text())
        .with("/result/_meta", json!({"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}))
        .with(&format!("{info}/extra"), json!(1))
        .has_unknown_field(&format!("{info}/extra"));
}

#[test]
fn fields_of_a_later_revision_elsewhere() {
    let cases: Vec<(Revision, Message, &str, Value)> = LEGACY
        .into_iter()
        .flat_map(|revision| {
            let progress = json!({"progressToken": 1, "progress": 1});
            let progress = notification(revision, ServerToClient, "notifications/progress", progress);
            let complete = json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}});
            let complete = request(revision, ClientToServer, "completion/complete", complete);
            let icons = json!([{"src": "https://example.com/i.png"}]);
            [
                (V2025_03_26, progress, "/params/message", json!("half")),
                (V2025_03_26, initialized(revision), "/result/capabilities/completions", json!({})),
                (V2025_06_18, complete, "/params/context", json!({"arguments": {}})),
                (V2025_06_18, initialize(revision), "/params/clientInfo/title", json!("C")),
                (V2025_06_18, initialize(revision), "/params/capabilities/elicitation", json!({})),
                (V2025_06_18, call_result(revision, text()), "/result/content/0/_meta", json!({})),
                (V2025_11_25, initialize(revision), "/params/clientInfo/icons", icons.clone()),
                (V2025_11_25, initialized(revision), "/result/serverInfo/icons", icons),
                (V2025_11_25, initialized(revision), "/result/serverInfo/description", json!("d")),
                (V2025_11_25, initialized(revision), "/result/capabilities/tasks", json!({})),
            ]
        })
        .collect();
    for (first, message, pointer, value) in cases {
        let message = message.with(pointer, value);
        if message.0.revision < first {
            message.has_unknown_field(pointer);
        } else {
            message.is_pure();
        }
    }
    let link = json!({"type": "resource_link", "uri": "notes://1", "name": "n", "icons": []});
    call_result(V2025_06_18, link).has_unknown_field("/result/content/0/icons");
    let titled = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {
        "x": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}
    }}});
    request(V2025_06_18, ServerToClient, "elicitation/create", titled)
        .has_unknown_field("/params/requestedSchema/properties/x/oneOf");
}

#[test]
fn wrong_errors() {
    let error = |revision, error: Value| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "error": error});
        Message::new(revision, ServerToClient, Some("tools/call"), message)
    };
    for revision in Revision::ALL {
        error(revision, json!({"code": 1.5, "message": "no"})).is_caught(Schema, "/error/code");
        error(revision, json!({"code": 1, "message": null})).is_caught(Schema, "/error/message");
        error(revision, json!({"code": 1, "message": "no", "reason": 1})).has_unknown_field("/error/reason");
        error(revision, json!({"code": 1, "message": "no"})).with("/extra", json!(1)).has_unknown_field("/extra");
        error(revision, json!({"code": 1, "message": "no"})).with("/id", Value::Null).is_caught(Schema, "/id");
    }
    error(V2026_07_28, json!({"code": -32022, "message": "no", "data": {}})).check().iter().for_each(|violation| {
        assert_eq!((violation.kind, violation.pointer.as_str()), (Schema, "/error/data"), "{violation}");
    });
    assert!(!error(V2026_07_28, json!({"code": -32022, "message": "no", "data": {}})).check().is_empty());
}

#[test]
fn what_is_no_message() {
    for revision in Revision::ALL {
        let message = |value| Message::new(revision, ClientToServer, None, value);
        message(json!("hello")).is_caught(NoMessage, "");
        message(json!({"jsonrpc": "2.0", "id": 1})).is_caught(NoMessage, "");
        message(json!({"jsonrpc": "2.0", "id": 1, "method": 7})).is_caught(NoMessage, "/method");
        request(revision, ClientToServer, "tools/list", json!({})).with("/id", Value::Null).is_caught(Schema, "/id");
        request(revision, ClientToServer, "tools/list", json!({})).without("/jsonrpc").is_caught(Schema, "");
        result(revision, ServerToClient, "completion/complete", json!({"completion": {"values": []}}))
            .with("/error", json!({}))
            .has_unknown_field("/error");
    }
}

#[test]
fn batches() {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for revision in Revision::ALL.into_iter().filter(|revision| *revision != V2025_03_26) {
        Message::new(revision, ClientToServer, None, json!([list])).is_caught(NoMessage, "");
    }
    let batch = |messages| Message::new(V2025_03_26, ClientToServer, None, messages);
    batch(json!([])).is_caught(NoMessage, "");
    batch(json!([list, 7])).check().iter().for_each(|violation| assert_eq!(violation.kind, NoMessage));
    batch(json!([list, initialize(V2025_03_26).0.message])).is_caught(NoMessage, "/1");
    batch(json!([list, {"jsonrpc": "2.0", "id": 1, "result": {}}])).is_caught(NoMessage, "");
    batch(json!([list, {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"extra": 1}}]))
        .has_unknown_field("/1/params/extra");
    let pure = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [text()]}});
    let impure = json!({"jsonrpc": "2.0", "id": 2, "result": {"content": [text()], "structuredContent": {}}});
    Message::new(V2025_03_26, ServerToClient, None, json!([pure, impure]))
        .has_unknown_field("/1/result/structuredContent");
}

#[test]
fn results_whose_request_is_not_known() {
    for revision in LEGACY {
        let mut message = call_result(revision, text()).with("/result/resultType", json!("complete"));
        message.0.method = None;
        message.has_unknown_field("/result/resultType");
    }
}

#[test]
fn a_task_payload_is_the_result_of_the_task() {
    let payload = json!({"content": [text()], "extra": 1});
    result(V2025_11_25, ServerToClient, "tasks/result", payload).has_unknown_field("/result/extra");
}
