//! Resources, prompts, completion and logging over the wire, in every revision.

mod samples;
mod server;

use crate::{
    process::{File, eventually},
    wire::{CAPABILITIES, SUBSCRIPTION, VERSION, Wire, modern, text_of},
};
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) use server::{ROLE, serve};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

/// A server, with a session of the revision if that has any.
fn start(revision: &str) -> (Wire, fn(Value) -> Value) {
    let mut wire = Wire::start(ROLE, &File::new());
    if revision == MODERN {
        return (wire, modern);
    }
    wire.open(revision);
    (wire, |params| params)
}

fn every_revision() -> impl Iterator<Item = &'static str> {
    LEGACY.into_iter().chain([MODERN])
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

/// The capabilities in the form of the revision.
fn capabilities(role: &str, revision: &str) -> Value {
    let mut wire = Wire::start(role, &File::new());
    if revision == MODERN {
        return wire.ask(1, "server/discover", modern(json!({})))["result"]["capabilities"].take();
    }
    let info = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info});
    wire.ask(1, "initialize", params)["result"]["capabilities"].take()
}

#[test]
fn res_01_prm_01_cmp_01_log_01_what_is_offered_is_declared() {
    for revision in every_revision() {
        let full = capabilities(ROLE, revision);
        assert!(full["resources"].is_object() && full["prompts"].is_object(), "{revision}: {full}");
        assert_eq!(full["completions"].is_object(), revision > "2024-11-05", "{revision}: {full}");
        let only_tools = capabilities("server", revision);
        for absent in ["resources", "prompts", "completions"] {
            assert_eq!(only_tools.get(absent), None, "{revision}: {only_tools}");
        }
        // A server that may log declares it.
        assert!(full["logging"].is_object(), "{revision}: {full}");
    }
}

/// PRM-07, CMP-03: what was not declared is not there.
#[test]
fn what_is_not_offered_is_an_unknown_method() {
    for revision in every_revision() {
        let mut wire = Wire::start("server", &File::new());
        let params: fn(Value) -> Value = if revision == MODERN {
            modern
        } else {
            wire.open(revision);
            |params| params
        };
        for (method, given) in [
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": "test://text"})),
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "plain"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}),
            ),
        ] {
            assert_eq!(code(&wire.ask(method, method, params(given))), -32601, "{revision}: {method}");
        }
    }
}

/// All pages of a list.
fn listed(wire: &mut Wire, method: &str, member: &str, params: fn(Value) -> Value) -> (Vec<Value>, Vec<Value>) {
    let (mut items, mut pages, mut given) = (Vec::new(), Vec::new(), json!({}));
    loop {
        let page = wire.ask("list", method, params(given))["result"].take();
        items.extend(page[member].as_array().unwrap().iter().cloned());
        let cursor = page.get("nextCursor").cloned();
        pages.push(page);
        match cursor {
            Some(cursor) => given = json!({"cursor": cursor}),
            None => return (items, pages),
        }
    }
}

#[test]
fn res_02_prm_02_and_cch_01_02_10_lists_are_the_same_for_all_and_have_cache_hints() {
    let mut seen: Option<Vec<Vec<Value>>> = None;
    for revision in every_revision() {
        let (mut wire, params) = start(revision);
        let mut names = Vec::new();
        for (method, member) in [
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            let (items, pages) = listed(&mut wire, method, member, params);
            names.push(items.iter().map(|item| item["name"].clone()).collect::<Vec<_>>());
            for page in &pages {
                let hints = (page.get("ttlMs").and_then(Value::as_u64), page.get("cacheScope"));
                if revision == MODERN {
                    assert!(hints.0.is_some(), "{page}");
                    assert_eq!(hints.1, pages[0].get("cacheScope"), "CCH-10");
                    assert!(["public", "private"].contains(&hints.1.unwrap().as_str().unwrap()), "{page}");
                } else {
                    assert_eq!(hints, (None, None), "{revision}: {page}");
                }
            }
            let wrong = wire.ask("wrong", method, params(json!({"cursor": "nonsense"})));
            assert_eq!(code(&wrong), -32602, "PAG-05: {method}");
        }
        assert_eq!(names[0], ["text", "bytes", "broken", "ask"]);
        assert_eq!(*seen.get_or_insert(names.clone()), names, "{revision}");
    }
}

#[test]
fn res_05_06_08_and_09_unreadable_resources_are_errors_with_a_reason() {
    for revision in every_revision() {
        let (mut wire, params) = start(revision);
        let mut read = |uri: &str| wire.ask(uri, "resources/read", params(json!({"uri": uri})));
        for missing in ["test://nothing", "test://item/a/b", "nonsense", ""] {
            let answer = read(missing);
            assert_eq!(code(&answer), if revision == MODERN { -32602 } else { -32002 }, "{revision}: {missing}");
            assert_eq!(answer["error"]["data"]["uri"], missing, "{answer}");
        }
        let broken = read("test://broken");
        assert_eq!(code(&broken), -32603, "{revision}");
        assert!(!broken.to_string().contains("secret"), "{broken}");
        let nothing = wire.ask("none", "resources/read", params(json!({})));
        assert_eq!(code(&nothing), -32602, "{revision}");
    }
}

#[test]
fn res_11_res_15_and_misc_03_texts_bytes_and_variables_of_templates() {
    for revision in every_revision() {
        let (mut wire, params) = start(revision);
        let mut read = |uri: &str| {
            let result = wire.ask(uri, "resources/read", params(json!({"uri": uri})))["result"].take();
            assert_eq!(result.get("ttlMs").is_some(), revision == MODERN, "CCH-01: {result}");
            assert_eq!(result["contents"].as_array().unwrap().len(), 1);
            result["contents"][0].clone()
        };
        assert_eq!(read("test://text"), json!({"uri": "test://text", "mimeType": "text/plain", "text": "A text"}));
        let bytes = json!({"uri": "test://bytes", "mimeType": "application/octet-stream", "blob": "AAEC/w=="});
        assert_eq!(read("test://bytes"), bytes);
        for (uri, id) in [("test://item/7", "7"), ("test://item/a%20b%2Fc", "a b/c"), ("test://item/%C3%A4", "ä")] {
            let contents = read(uri);
            assert_eq!((&contents["uri"], &contents["text"]), (&json!(uri), &json!(id)), "{revision}");
        }
    }
}

#[test]
fn res_03_res_04_and_prm_03_sessions_get_the_changes_they_subscribed_to() {
    for revision in LEGACY {
        let (mut wire, _) = start(revision);
        assert_eq!(wire.ask(1, "resources/subscribe", json!({"uri": "test://text"}))["result"], json!({}));
        assert_eq!(code(&wire.ask(2, "resources/subscribe", json!({"uri": "test://nothing"}))), -32002);
        for what in ["test://text", "test://bytes", "resources", "prompts"] {
            assert_eq!(wire.call(what, "change", json!({"what": what})), "changed");
        }
        let updated = wire.told("notifications/resources/updated");
        assert_eq!(updated["params"], json!({"uri": "test://text"}));
        wire.told("notifications/resources/list_changed");
        wire.told("notifications/prompts/list_changed");
        assert_eq!(wire.rest(), [] as [Value; 0], "{revision}: nobody subscribed to the other, and each is told once");
        assert_eq!(wire.ask(3, "resources/unsubscribe", json!({"uri": "test://text"}))["result"], json!({}));
        wire.call(4, "change", json!({"what": "test://text"}));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(wire.rest(), [] as [Value; 0], "{revision}");
    }
}

#[test]
fn prm_03_sub_01_to_03_streams_get_the_changes_they_requested() {
    let mut wire = Wire::start(ROLE, &File::new());
    for gone in ["resources/subscribe", "resources/unsubscribe", "logging/setLevel"] {
        assert_eq!(code(&wire.ask(gone, gone, modern(json!({"uri": "test://text", "level": "info"})))), -32601);
    }
    let filter = json!({"resourcesListChanged": true, "resourceSubscriptions": ["test://text"]});
    wire.request("a", "subscriptions/listen", modern(json!({"notifications": filter})));
    assert_eq!(wire.receive()["params"]["notifications"], filter);
    wire.request("b", "subscriptions/listen", modern(json!({"notifications": {"promptsListChanged": true}})));
    assert_eq!(wire.receive()["params"]["_meta"][SUBSCRIPTION], "b");
    for what in ["test://text", "test://bytes", "resources", "prompts"] {
        wire.ask(what, "tools/call", modern(json!({"name": "change", "arguments": {"what": what}})));
    }
    for (method, stream) in [
        ("notifications/resources/updated", "a"),
        ("notifications/resources/list_changed", "a"),
        ("notifications/prompts/list_changed", "b"),
    ] {
        assert_eq!(wire.told(method)["params"]["_meta"][SUBSCRIPTION], stream, "{method}");
    }
    assert_eq!(wire.rest(), [] as [Value; 0]);
}

#[test]
fn prm_04_and_05_prompts_are_filled_in_or_refused() {
    for revision in every_revision() {
        let (mut wire, params) = start(revision);
        let mut get = |given: Value| wire.ask("get", "prompts/get", params(given));
        let good = get(json!({"name": "greet", "arguments": {"name": "Ada"}}));
        let message = &good["result"]["messages"][0];
        assert_eq!((&message["role"], &message["content"]["text"]), (&json!("user"), &json!("Greet Ada kindly")));
        assert_eq!(get(json!({"name": "plain"}))["result"]["messages"][0]["content"]["text"], "Plain");
        for (wrong, named) in [
            (json!({"name": "nobody"}), "nobody"),
            (json!({"name": "greet"}), "name"),
            (json!({"name": "greet", "arguments": {"tone": "loudly"}}), "name"),
            (json!({"name": "greet", "arguments": {"name": 5}}), "name"),
            (json!({"name": "greet", "arguments": []}), "arguments"),
            (json!({}), "name"),
        ] {
            let refused = get(wrong);
            assert_eq!(code(&refused), -32602, "{revision}");
            assert!(refused["error"]["message"].as_str().unwrap().contains(named), "{refused}");
        }
    }
}

#[test]
fn cmp_02_cmp_03_and_misc_07_completions_are_bounded_and_their_references_checked() {
    let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
    for revision in every_revision() {
        let (mut wire, params) = start(revision);
        let mut complete = |reference: Value, argument: Value| {
            wire.ask("c", "completion/complete", params(json!({"ref": reference, "argument": argument})))
        };
        let argument = |name: &str| json!({"name": name, "value": "n"});
        let found = complete(prompt("greet"), argument("name"));
        let completion = &found["result"]["completion"];
        assert_eq!(completion["values"].as_array().unwrap().len(), 100, "{revision}");
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
        // An argument that exists but has no completion has no suggestions.
        for (reference, name) in
            [(prompt("greet"), "tone"), (json!({"type": "ref/resource", "uri": "test://item/{id}"}), "id")]
        {
            assert_eq!(complete(reference, argument(name))["result"]["completion"]["values"], json!([]), "{revision}");
        }
        for (reference, argument) in [
            (prompt("nobody"), argument("name")),
            (prompt("greet"), argument("nothing")),
            (json!({"type": "ref/resource", "uri": "test://nothing/{id}"}), argument("id")),
            (json!({"type": "ref/tool", "name": "log"}), argument("name")),
            (json!({"type": "ref/prompt"}), argument("name")),
            (prompt("greet"), json!({"name": "name"})),
            (prompt("greet"), json!({"name": "name", "value": 5})),
            (json!("greet"), argument("name")),
        ] {
            assert_eq!(code(&complete(reference.clone(), argument)), -32602, "{revision}: {reference}");
        }
    }
}

/// The levels that arrive before the answer of the tool.
fn logged(wire: &mut Wire, params: Value) -> Vec<String> {
    wire.request("log", "tools/call", params);
    let mut levels = Vec::new();
    loop {
        let message = wire.receive();
        if message.get("method").is_none() {
            assert_eq!(text_of(&message), "logged");
            return levels;
        }
        assert_eq!(message["method"], "notifications/message");
        assert_eq!(message["params"]["logger"], "test");
        assert_eq!(message["params"]["data"], message["params"]["level"]);
        levels.push(message["params"]["level"].as_str().unwrap().to_owned());
    }
}

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

#[test]
fn log_02_log_03_misc_05_and_06_a_session_gets_messages_from_its_level_on() {
    for revision in LEGACY {
        let (mut wire, _) = start(revision);
        let call = || json!({"name": "log", "arguments": {}});
        assert_eq!(logged(&mut wire, call()), LEVELS[1..], "{revision}: before it has said what it wants");
        for (position, level) in LEVELS.iter().enumerate() {
            assert_eq!(wire.ask(1, "logging/setLevel", json!({"level": level}))["result"], json!({}));
            assert_eq!(logged(&mut wire, call()), LEVELS[position..], "{revision}: {level}");
        }
        for wrong in [json!({"level": "loud"}), json!({"level": "Info"}), json!({"level": 3}), json!({})] {
            assert_eq!(code(&wire.ask(2, "logging/setLevel", wrong)), -32602, "{revision}");
        }
        assert_eq!(logged(&mut wire, call()), LEVELS[7..], "a refused level changes nothing");
    }
}

#[test]
fn log_04_to_06_a_request_gets_what_it_asked_for_and_nothing_else() {
    let mut wire = Wire::start(ROLE, &File::new());
    let call = |level: Option<Value>| {
        let mut meta = json!({VERSION: MODERN, CAPABILITIES: {}});
        if let Some(level) = level {
            meta["io.modelcontextprotocol/logLevel"] = level;
        }
        json!({"name": "log", "arguments": {}, "_meta": meta})
    };
    // LOG-05: streams of changes get none of it.
    wire.request("s", "subscriptions/listen", modern(json!({"notifications": {"toolsListChanged": true}})));
    wire.told("notifications/subscriptions/acknowledged");
    assert_eq!(logged(&mut wire, call(None)), [] as [&str; 0]);
    for (position, level) in LEVELS.iter().enumerate() {
        assert_eq!(logged(&mut wire, call(Some(json!(level)))), LEVELS[position..]);
    }
    assert_eq!(logged(&mut wire, call(None)), [] as [&str; 0], "what was asked before counts for nothing");
    for wrong in [json!("loud"), json!(3), json!(null)] {
        assert_eq!(code(&wire.ask("w", "tools/call", call(Some(wrong.clone())))), -32602, "{wrong}");
    }
    assert_eq!(wire.rest(), [] as [Value; 0]);
}

#[test]
fn rpc_19_and_cch_14_a_result_that_asks_for_input_is_not_for_keeping() {
    let mut wire = Wire::start(ROLE, &File::new());
    let mut params = modern(json!({"uri": "test://ask"}));
    params["_meta"][CAPABILITIES] = json!({"elicitation": {}});
    let asked = wire.ask(1, "resources/read", params.clone())["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!((asked.get("ttlMs"), asked.get("cacheScope")), (None, None), "{asked}");
    params["inputResponses"] = json!({"word": {"action": "accept", "content": {"word": "yes"}}});
    params["requestState"] = asked["requestState"].clone();
    let answered = wire.ask(2, "resources/read", params)["result"].take();
    assert_eq!((&answered["resultType"], &answered["contents"][0]["text"]), (&json!("complete"), &json!("yes")));
}

#[test]
fn misc_04_what_a_link_points_to_is_read_though_no_list_shows_it() {
    for revision in every_revision().filter(|revision| *revision >= "2025-06-18") {
        let (mut wire, params) = start(revision);
        let called = wire.ask(1, "tools/call", params(json!({"name": "link"})));
        let link = called["result"]["content"][0].clone();
        assert_eq!((&link["type"], &link["uri"]), (&json!("resource_link"), &json!("test://item/linked")));
        let (listed, _) = listed(&mut wire, "resources/list", "resources", params);
        assert!(listed.iter().all(|resource| resource["uri"] != link["uri"]), "{revision}");
        let read = wire.ask(2, "resources/read", params(json!({"uri": link["uri"]})));
        assert_eq!(read["result"]["contents"][0]["text"], "linked", "{revision}");
    }
}

/// Nothing reads, so notifications are dropped; the rest arrives in order, with the response at the
/// end.
#[test]
fn log_08_prg_06_unread_notifications_are_not_buffered() {
    let end = File::new();
    let mut wire = Wire::start_unread(ROLE, &end);
    let meta =
        json!({VERSION: MODERN, CAPABILITIES: {}, "progressToken": "t", "io.modelcontextprotocol/logLevel": "info"});
    wire.request(1, "tools/call", json!({"name": "flood", "_meta": meta}));
    eventually("everything is said", || std::path::Path::new(end.path()).exists());
    wire.read();
    let (mut told, mut progress, mut logged) = (0, 0, 0);
    let answer = loop {
        let message = wire.receive();
        let (last, now) = match message["method"].as_str() {
            None => break message,
            Some("notifications/progress") => (&mut progress, message["params"]["progress"].as_f64().unwrap() as u64),
            Some(_) => (&mut logged, message["params"]["data"]["step"].as_u64().unwrap()),
        };
        assert!(now > *last, "{message}");
        *last = now;
        told += 1;
    };
    assert_eq!(text_of(&answer), "flooded");
    assert!(told > 0 && told < 2 * server::FLOOD_STEPS, "{told} messages");
}
