//! User interfaces of tools (the MCP Apps extension, `io.modelcontextprotocol/ui`): what a server
//! declares reaches the client unchanged.

use crate::{
    process::File,
    wire::{CAPABILITIES, Wire, modern, text_of},
};
use serde_json::{Value, json};
use std::time::Duration;
use trunkline::{
    protocol::{RawJson, extension},
    server::{
        Call, Category, Outcome, ProviderDefinition, ResourceDefinition, ResourceTemplateDefinition, Server,
        ServerOptions, ToolDefinition,
    },
};

/// The server of these tests, as a role of this binary.
pub(crate) const ROLE: &str = "apps server";

const EXTENSION: &str = "io.modelcontextprotocol/ui";
const HTML: &str = "text/html;profile=mcp-app";
const PAGE: &str = "<!DOCTYPE html><html><head><title>Chart</title></head><body></body></html>";
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { server().serve_stdio().await.unwrap() });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

/// Everything that a resource can declare about its interface (APP-13), and unknown members
/// (APP-05).
fn looks() -> Value {
    json!({"ui": {
        "csp": {
            "connectDomains": ["https://api.example.com"], "resourceDomains": ["https://cdn.example.com"],
            "frameDomains": ["https://frame.example.com"], "baseUriDomains": ["https://base.example.com"]
        },
        "permissions": {"camera": {}, "microphone": {}, "geolocation": {}, "clipboardWrite": {}},
        "domain": "chart.example.com", "prefersBorder": true, "later": [1, null]
    }, "com.example/more": {"deep": [true]}})
}

fn contents() -> Value {
    json!({"uri": "ui://chart/main.html", "mimeType": HTML, "text": PAGE, "_meta": looks()})
}

fn chart_meta() -> Value {
    json!({"ui": {"resourceUri": "ui://chart/main.html", "visibility": ["model", "app"], "later": {}}, "com.example/more": 1})
}

fn tool(name: &str, meta: Value) -> ToolDefinition {
    let answer = |call: Call| {
        let result = json!({
            "content": [{"type": "text", "text": "Sales rose by 3 %"}], "structuredContent": {"rise": 3},
            "_meta": {"com.example/points": [1, 2]}
        });
        call.complete(Outcome::Result(RawJson::from_value(&result).unwrap()));
    };
    ToolDefinition::new(json!({"name": name, "description": "Shows sales", "_meta": meta}), answer)
}

fn page(uri: &str, descriptor: Value) -> ResourceDefinition {
    let uri = uri.to_owned();
    let handler = move |call: Call| {
        let mut contents = contents();
        contents["uri"] = uri.as_str().into();
        call.complete(Outcome::Content(RawJson::from_value(&contents).unwrap()));
    };
    ResourceDefinition::new(descriptor, handler)
}

fn interface() -> ResourceDefinition {
    let uri = "ui://chart/main.html";
    page(uri, json!({"uri": uri, "name": "chart", "mimeType": HTML, "_meta": looks()}))
}

/// Lists a tool with an interface to clients that can show it, and the same without one to others
/// (APP-16).
fn tools_for(call: Call) {
    let shows = |capabilities: &Value| {
        let types = capabilities["extensions"][EXTENSION]["mimeTypes"].as_array();
        types.is_some_and(|types| types.iter().any(|one| one == HTML))
    };
    let capabilities: Value = call.info().request_info().client_capabilities.parse().unwrap();
    let mut tool = json!({"name": "provided", "inputSchema": {"type": "object"}});
    if shows(&capabilities) {
        tool["_meta"] = json!({"ui": {"resourceUri": "ui://hidden"}});
    }
    let input: Value = call.input().parse().unwrap();
    let answer = if input.get("list").is_some() { json!({"items": [tool]}) } else { Value::Null };
    call.complete(Outcome::Value(RawJson::from_value(&answer).unwrap()));
}

/// Serves an interface that no list shows (APP-12).
fn hidden(call: Call) {
    let input: Value = call.input().parse().unwrap();
    let outcome = if input["get"]["uri"] == "ui://hidden" {
        let contents = json!({"uri": "ui://hidden", "mimeType": HTML, "blob": "PCFET0NUWVBFIGh0bWw+"});
        Outcome::Content(RawJson::from_value(&contents).unwrap())
    } else {
        let answer = if input.get("list").is_some() { json!({"items": []}) } else { Value::Null };
        Outcome::Value(RawJson::from_value(&answer).unwrap())
    };
    call.complete(outcome);
}

fn server() -> Server {
    let mut options = ServerOptions::default();
    options.extensions.insert(EXTENSION.into(), json!({"mimeTypes": [HTML]}));
    options.experimental.insert("com.example/speed".into(), json!({"max": 3}));
    let template = json!({"uriTemplate": "ui://pages/{name}", "name": "pages", "mimeType": HTML});
    Server::builder("apps", "1.0.0")
        .options(options)
        .add_tool(tool("chart", chart_meta()))
        .add_tool(tool("refresh", json!({"ui": {"visibility": ["app"]}})))
        .add_tool(tool("old", json!({"ui/resourceUri": "ui://chart/main.html"})))
        .add_resource(interface())
        .add_resource_template(ResourceTemplateDefinition::new(template, |call: Call| {
            call.complete(Outcome::Text(PAGE.into()));
        }))
        .add_provider(ProviderDefinition::new(Category::Tools, tools_for))
        .add_provider(ProviderDefinition::new(Category::Resources, hidden))
        .build()
}

fn start(revision: &str) -> (Wire, fn(Value) -> Value) {
    let mut wire = Wire::start(ROLE, &File::new());
    if LEGACY.contains(&revision) {
        wire.open(revision);
        return (wire, |params| params);
    }
    (wire, modern)
}

fn every_revision() -> impl Iterator<Item = &'static str> {
    LEGACY.into_iter().chain(["2026-07-28"])
}

fn tool_of(wire: &mut Wire, mut params: Value, name: &str) -> Value {
    loop {
        let page = wire.ask("tools", "tools/list", params.clone())["result"].take();
        let found = page["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name);
        match (found, page.get("nextCursor")) {
            (Some(tool), _) => return tool.clone(),
            (None, Some(cursor)) => params["cursor"] = cursor.clone(),
            (None, None) => panic!("no tool {name}"),
        }
    }
}

#[test]
fn app_02_app_05_app_14_app_17_the_interface_of_a_tool_arrives_unchanged() {
    for revision in every_revision() {
        let (mut wire, params) = start(revision);
        for (name, meta) in [
            ("chart", chart_meta()),
            ("refresh", json!({"ui": {"visibility": ["app"]}})),
            // APP-17: nothing is added to what its author wrote, and nothing taken away.
            ("old", json!({"ui/resourceUri": "ui://chart/main.html"})),
        ] {
            let found = tool_of(&mut wire, params(json!({})), name);
            let expected = (revision >= "2025-06-18").then_some(&meta);
            assert_eq!(found.get("_meta"), expected, "{revision}");
        }
    }
}

#[test]
fn app_05_app_10_app_11_app_13_an_interface_is_listed_and_read_as_it_is() {
    for revision in every_revision() {
        let (mut wire, params) = start(revision);
        let has_meta = revision >= "2025-06-18";
        let listed = wire.ask(1, "resources/list", params(json!({})))["result"]["resources"].take();
        let mut expected = json!({"uri": "ui://chart/main.html", "name": "chart", "mimeType": HTML, "_meta": looks()});
        let mut read_as = contents();
        if !has_meta {
            for object in [&mut expected, &mut read_as] {
                object.as_object_mut().unwrap().shift_remove("_meta");
            }
        }
        // APP-12: the other interface is in no list.
        assert_eq!(listed, json!([expected]), "{revision}");
        let mut read = |uri: &str| {
            let answer = wire.ask(uri, "resources/read", params(json!({"uri": uri})));
            answer["result"]["contents"][0].clone()
        };
        assert_eq!(read("ui://chart/main.html"), read_as, "APP-11: {revision}");
        assert_eq!(read("ui://pages/one"), json!({"uri": "ui://pages/one", "mimeType": HTML, "text": PAGE}));
        let hidden = json!({"uri": "ui://hidden", "mimeType": HTML, "blob": "PCFET0NUWVBFIGh0bWw+"});
        assert_eq!(read("ui://hidden"), hidden, "APP-12: {revision}");
    }
}

#[test]
fn app_03_app_15_a_tool_with_an_interface_answers_in_text_too() {
    for revision in every_revision() {
        let (mut wire, params) = start(revision);
        let called = wire.ask(1, "tools/call", params(json!({"name": "chart"})));
        assert_eq!(text_of(&called), "Sales rose by 3 %", "{revision}");
        assert_eq!(called["result"]["_meta"]["com.example/points"], json!([1, 2]), "APP-05: {revision}");
        // A tool for apps only is the client's to hide: a server serves both.
        assert_eq!(text_of(&wire.ask(2, "tools/call", params(json!({"name": "refresh"})))), "Sales rose by 3 %");
    }
}

/// EXT-09: a provider sees what the client of each request can show.
#[test]
fn app_16_interfaces_are_offered_to_who_can_show_them() {
    let showing = json!({"extensions": {EXTENSION: {"mimeTypes": [HTML]}}});
    for (capabilities, is_shown) in [
        (showing.clone(), true),
        (json!({"extensions": {EXTENSION: {"mimeTypes": ["text/plain"]}}}), false),
        (json!({"extensions": {EXTENSION: {}}}), false),
        (json!({}), false),
    ] {
        let mut wire = Wire::start(ROLE, &File::new());
        let mut params = modern(json!({}));
        params["_meta"][CAPABILITIES] = capabilities.clone();
        let found = tool_of(&mut wire, params, "provided");
        assert_eq!(found.get("_meta").is_some(), is_shown, "{capabilities}");
        // The declaration of one request does not apply to the next.
        let mut other = modern(json!({}));
        other["_meta"][CAPABILITIES] = if is_shown { json!({}) } else { showing.clone() };
        assert_eq!(tool_of(&mut wire, other, "provided").get("_meta").is_some(), !is_shown, "{capabilities}");

        let mut wire = Wire::start(ROLE, &File::new());
        let info = json!({"name": "raw", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        wire.ask("open", "initialize", params);
        wire.tell("notifications/initialized", json!({}));
        assert_eq!(tool_of(&mut wire, json!({}), "provided").get("_meta").is_some(), is_shown, "{capabilities}");
    }
}

#[test]
fn ext_01_ext_05_ext_10_only_the_authors_extensions_are_declared() {
    let mut wire = Wire::start(ROLE, &File::new());
    let declared = wire.ask(1, "server/discover", modern(json!({})))["result"]["capabilities"].take();
    assert_eq!(declared["extensions"], json!({EXTENSION: {"mimeTypes": [HTML]}}));
    assert_eq!(declared["experimental"], json!({"com.example/speed": {"max": 3}}), "EXT-10");
    for revision in LEGACY {
        let mut wire = Wire::start(ROLE, &File::new());
        let info = json!({"name": "raw", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info});
        let declared = wire.ask(1, "initialize", params)["result"]["capabilities"].take();
        assert_eq!(declared["experimental"], json!({"com.example/speed": {"max": 3}}), "EXT-10: {revision}");
        let mut plain = Wire::start("server", &File::new());
        let params =
            json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "r", "version": "1"}});
        let declared = plain.ask(1, "initialize", params)["result"]["capabilities"].take();
        assert_eq!((declared.get("extensions"), declared.get("experimental")), (None, None), "EXT-05: {revision}");
    }
}

#[test]
fn ext_04_ext_06_the_documentation_lists_every_extension_and_what_happens_without_it() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/extensions.md")).unwrap();
    for extension in [&extension::TASKS, &extension::SKILLS, &extension::APPS] {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}`", extension.id)));
        assert_eq!(row.map(|row| row.matches(" | ").count()), Some(3), "{}", extension.id);
    }
}

fn problem(server: trunkline::server::ServerBuilder) -> String {
    server.try_build().err().expect("it must be refused").to_string()
}

#[test]
fn app_10_ext_02_invalid_interfaces_and_extensions_are_refused_at_registration() {
    let builder = || Server::builder("apps", "1.0.0");
    for (descriptor, why) in [
        (json!({"uri": "ui://a", "name": "a"}), HTML),
        (json!({"uri": "ui://a", "name": "a", "mimeType": "text/html"}), HTML),
        (json!({"uri": "test://a", "name": "a", "mimeType": HTML}), "ui://"),
    ] {
        let said = problem(builder().add_resource(page("ui://a", descriptor)));
        assert!(said.contains("Resource ") && said.contains(why), "{said}");
    }
    let template = json!({"uriTemplate": "ui://a/{b}", "name": "a"});
    let said = problem(builder().add_resource_template(ResourceTemplateDefinition::new(template, drop::<Call>)));
    assert!(said.contains("Resource template ui://a/{b}") && said.contains(HTML), "{said}");
    for (meta, why) in [
        (json!({"ui": {"resourceUri": "https://example.com"}}), "_meta.ui.resourceUri"),
        (json!({"ui": {"visibility": ["everyone"]}}), "_meta.ui.visibility"),
    ] {
        let said = problem(builder().add_tool(tool("chart", meta)));
        assert!(said.contains("Tool chart") && said.contains(why), "{said}");
    }
    for (id, settings, why) in [("speed", json!({}), "com.example/name"), ("com.example/x", json!(true), "object")] {
        let mut options = ServerOptions::default();
        options.extensions.insert(id.into(), settings);
        let said = problem(builder().options(options));
        assert!(said.contains("extensions") && said.contains(why), "EXT-02: {said}");
    }
}
