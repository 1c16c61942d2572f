//! `trunkline inspect`: apps on their own origin, the program as their host, and skills.

use crate::{
    inspect_page::{Page, Response, Tab},
    roles::Role,
};
use serde_json::{Value, json};
use trunkline::{
    Server,
    protocol::{RawJson, app::MIME_TYPE},
    server::{Call, Outcome, ResourceDefinition, SkillDefinition, SkillFile, ToolDefinition},
};

const HTML: &str = "<!doctype html><title>Chart</title>";
const SKILL: &str = "---\nname: packing\ndescription: How to pack.\nlicense: MIT\n---\nAsk for the forecast.\n";

/// Serves standard input and output, with an app and a skill.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { server().serve_stdio().await.unwrap() });
}

fn server() -> Server {
    let tool = |name: &str, ui: Value| {
        let descriptor = json!({"name": name, "inputSchema": {"type": "object"}, "_meta": {"ui": ui}});
        ToolDefinition::new(descriptor, |call: Call| {
            call.complete(Outcome::Text("3 %".into()));
        })
    };
    let interface = |name: &str, mime_type: Value, of_list: Value, of_content: Value| {
        let uri = format!("ui://{name}");
        let descriptor = json!({"uri": uri, "name": name, "mimeType": mime_type, "_meta": of_list});
        let contents = json!({"uri": uri, "mimeType": mime_type, "text": HTML, "_meta": of_content});
        ResourceDefinition::new(descriptor, move |call: Call| {
            call.complete(Outcome::Content(RawJson::from_value(&contents).unwrap()));
        })
    };
    let csp = |domain: &str| json!({"ui": {"csp": {"connectDomains": [domain]}}});
    Server::builder("apps", "1.0.0")
        .add_tool(tool("chart", json!({"resourceUri": "ui://chart"})))
        .add_tool(tool("refresh", json!({"resourceUri": "ui://listed", "visibility": ["app"]})))
        .add_tool(tool("delete", json!({"visibility": ["model"]})))
        .add_resource(interface("chart", MIME_TYPE.into(), csp("https://list.example"), csp("https://read.example")))
        .add_resource(interface("listed", MIME_TYPE.into(), csp("https://list.example"), json!({})))
        .add_skill(SkillDefinition::new([
            SkillFile::new("SKILL.md", SKILL),
            SkillFile::new("scripts/pack.sh", "echo packed\n"),
        ]))
        .build()
}

/// A page, its tab, and an app of it.
struct Shown {
    page: Page,
    _tab: Tab,
    opened: Value,
}

impl Shown {
    fn new(uri: &str) -> Self {
        let page = Page::of_role(Role::Apps, &[]);
        let tab = page.tab();
        for list in ["tools", "resources", "skills"] {
            tab.list("modern", list);
        }
        let opened = page.done("app", &json!({"era": "modern", "uri": uri, "origin": origin(page.port)}));
        Self { page, _tab: tab, opened }
    }

    /// Requests something from the origin of apps.
    fn get(&self, path: &str, host: &str, headers: &str) -> Response {
        let port = self.opened["port"].as_u64().unwrap();
        let request = format!("GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\n{headers}\r\n");
        Page::raw_at(u16::try_from(port).unwrap(), &request)
    }

    fn run(&self) -> Running<'_> {
        let wanted = json!({
            "era": "modern", "app": self.opened["app"], "tool": "chart",
            "arguments": {"year": 2026}, "context": {"theme": "dark"},
        });
        Running { shown: self, run: self.page.done("appRun", &wanted)["run"].as_u64().unwrap() }
    }
}

fn origin(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// An app that runs.
struct Running<'a> {
    shown: &'a Shown,
    run: u64,
}

impl Running<'_> {
    fn says(&self, message: &Value) {
        let mut whole = json!({"jsonrpc": "2.0"});
        whole.as_object_mut().unwrap().extend(message.as_object().unwrap().clone());
        self.shown.page.done("appSaid", &json!({"run": self.run, "text": whole.to_string()}));
    }

    /// Reads until something is true of the messages to the app and of what is shown.
    fn until(&self, is_it: impl Fn(&[Value], &Value) -> bool) -> (Vec<Value>, Value) {
        let (mut messages, mut seen) = (Vec::new(), json!(0));
        loop {
            let next = self.shown.page.done("appNext", &json!({"run": self.run, "seen": seen}));
            let texts = next["messages"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
            messages.extend(texts.map(|text| serde_json::from_str::<Value>(text).unwrap()));
            if is_it(&messages, &next["shown"]) {
                return (messages, next["shown"].clone());
            }
            seen = next["version"].clone();
        }
    }

    /// Sends a request, and waits for the response.
    fn asks(&self, id: u64, method: &str, params: &Value) -> Value {
        self.says(&json!({"id": id, "method": method, "params": params}));
        let (messages, _) = self.until(|messages, _| messages.iter().any(|message| message["id"] == id));
        messages.into_iter().find(|message| message["id"] == id).unwrap()
    }

    fn decide(&self, number: &Value, action: &str) {
        self.shown.page.done("appLeave", &json!({"run": self.run, "number": number, "action": action}));
    }
}

#[test]
fn an_app_is_served_on_another_origin_and_under_its_policy() {
    let shown = Shown::new("ui://chart");
    let (page, opened) = (&shown.page, &shown.opened);
    let (port, token) = (opened["port"].as_u64().unwrap(), opened["token"].as_str().unwrap());
    assert_ne!(port, u64::from(page.port));
    assert_ne!(token, page.token);
    assert_eq!((&opened["bytes"], &opened["allow"], &opened["refused"]), (&json!(HTML.len()), &json!(""), &json!([])));
    let policy = page.get("/", "").header("content-security-policy").unwrap().to_owned();
    assert!(policy.ends_with(&format!("; frame-src http://127.0.0.1:{port}")), "{policy}");

    // By whatever name the page was reached.
    let named = page.raw(&format!("GET / HTTP/1.0\r\nHost: localhost:{}\r\n\r\n", page.port));
    let policy = named.header("content-security-policy").unwrap();
    assert!(policy.ends_with(&format!("; frame-src http://localhost:{port}")), "{policy}");

    let app = shown.get(&format!("/{token}/app"), "127.0.0.1", "");
    assert_eq!(app.header("origin-agent-cluster"), Some("?1"));
    let html = String::from_utf8_lossy(&app.body);
    // With the way out of it before its own scripts.
    assert!(app.status == 200 && html.starts_with("<!doctype html><script>") && html.ends_with("<title>Chart</title>"));
    let policy = app.header("content-security-policy").unwrap();
    assert_eq!(json!(policy), opened["policy"]);
    // The metadata of the content replaces that of the list.
    let ancestors = format!("frame-ancestors {} {};", origin(page.port), origin(u16::try_from(port).unwrap()));
    for directive in
        ["connect-src https://read.example;", "default-src 'none';", "sandbox allow-scripts allow-forms", &ancestors]
    {
        assert!(policy.contains(directive), "{directive} in {policy}");
    }
    assert!(!policy.contains("allow-same-origin"));
    let around = shown.get(&format!("/{token}/"), "127.0.0.1", "");
    let policy = format!(
        "default-src 'none'; script-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {}",
        origin(page.port)
    );
    assert_eq!(around.header("content-security-policy"), Some(&*policy));
    assert_eq!(shown.get(&format!("/{token}/sandbox.js"), "localhost", "").status, 200);
    for (path, host, headers, status) in [
        ("/app", "127.0.0.1", "", 404),
        ("/wrong/app", "127.0.0.1", "", 404),
        (&*format!("/{token}/other"), "127.0.0.1", "", 404),
        ("/api/events", "127.0.0.1", &page.authorization(), 404),
        (&*format!("/{token}/app"), "evil.example", "", 403),
        (&*format!("/{token}/app"), "127.0.0.1", "Origin: null\r\n", 403),
        (&*format!("/{token}/app"), "127.0.0.1", &format!("Origin: {}\r\n", origin(page.port)), 403),
    ] {
        let response = shown.get(path, host, headers);
        assert_eq!(response.status, status, "{path} {host} {headers}");
        assert_eq!(response.header("content-security-policy"), Some("default-src 'none'; frame-ancestors 'none'"));
    }
    // An app has an opaque origin, whose requests the page refuses.
    assert_eq!(page.get("/", "Origin: null\r\n").status, 403);
}

#[test]
fn only_interfaces_of_the_server_are_served_and_only_to_the_page() {
    let shown = Shown::new("ui://listed");
    assert!(shown.opened["policy"].as_str().unwrap().contains("connect-src https://list.example;"));
    let open = |uri: &str, origin: &str| json!({"era": "modern", "uri": uri, "origin": origin});
    let own = origin(shown.page.port);
    let problem = shown.page.refused("app", &open("ui://missing", &own));
    assert!(problem["where"].as_str().unwrap().contains("reading ui://missing"), "{problem}");
    for foreign in ["http://evil.example", "null", "http://localhost:1 https://evil.example"] {
        shown.page.refused("app", &open("ui://chart", foreign));
    }
    shown.page.refused("appNext", &json!({"run": 999, "seen": 0}));
}

#[test]
fn the_program_is_the_host_of_an_app() {
    let shown = Shown::new("ui://chart");
    let app = shown.run();
    let welcome = app.asks(1, "ui/initialize", &json!({"protocolVersion": "2026-01-26"}))["result"].clone();
    assert_eq!(welcome["protocolVersion"], "2026-01-26");
    assert_eq!(welcome["hostContext"]["theme"], "dark");
    assert_eq!(welcome["hostContext"]["toolInfo"]["tool"]["name"], "chart");
    let sandbox = &welcome["hostCapabilities"]["sandbox"];
    assert_eq!(sandbox["csp"]["connectDomains"], json!(["https://read.example"]));

    app.says(&json!({"method": "ui/notifications/initialized"}));
    let is_result = |message: &Value| message["method"] == "ui/notifications/tool-result";
    let (messages, state) = app.until(|messages, _| messages.iter().any(is_result));
    assert_eq!(state["state"], "ready");
    assert_eq!(messages[0]["method"], "ui/notifications/tool-input");
    assert_eq!(messages[0]["params"]["arguments"], json!({"year": 2026}));
    assert_eq!(messages[1]["params"]["content"][0]["text"], "3 %");

    for (height, shown) in [(300.2, 301.0), (1e9, 900.0), (-5.0, 60.0)] {
        app.says(&json!({"method": "ui/notifications/size-changed", "params": {"height": height}}));
        assert_eq!(app.until(|_, _| true).1["height"], shown);
    }
    assert_eq!(app.asks(2, "ping", &json!({}))["result"], json!({}));
    assert_eq!(app.asks(3, "ui/request-display-mode", &json!({"mode": "pip"}))["result"], json!({"mode": "inline"}));
    assert_eq!(app.asks(4, "sampling/createMessage", &json!({}))["error"]["code"], -32601);

    app.says(&json!({"method": "ui/notifications/request-teardown"}));
    let (messages, _) = app.until(|messages, _| !messages.is_empty());
    assert_eq!(messages[0]["method"], "ui/resource-teardown");
    app.says(&json!({"id": messages[0]["id"], "result": {}}));
    assert_eq!(app.until(|_, _| true).1["state"], "closed");
    // For good.
    app.says(&json!({"method": "ui/notifications/initialized"}));
    assert_eq!(app.until(|_, _| true).1["state"], "closed");

    let rows = shown.page.done("wire", &json!({"before": 1_000_000}))["rows"].take();
    let of_app: Vec<_> =
        rows.as_array().unwrap().iter().filter(|row| row["direction"].as_str().unwrap().ends_with("App")).collect();
    assert_eq!((&of_app[0]["direction"], &of_app[0]["method"]), (&json!("fromApp"), &json!("ui/initialize")));
    assert_eq!((&of_app[1]["direction"], &of_app[1]["answers"]), (&json!("toApp"), &of_app[0]["id"]));
    assert_eq!((&of_app[1]["kind"], &of_app[1]["method"]), (&json!("result"), &json!("ui/initialize")));
}

#[test]
fn an_app_gets_what_the_person_allows() {
    let shown = Shown::new("ui://chart");
    let app = shown.run();
    let call =
        |id: u64, tool: &str| json!({"id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
    let is_asking = |_: &[Value], shown: &Value| !shown["asked"].as_array().unwrap().is_empty();
    let answer = |id: u64| {
        let (messages, _) = app.until(|messages, _| messages.iter().any(|message| message["id"] == id));
        messages.into_iter().find(|message| message["id"] == id).unwrap()
    };
    app.says(&call(1, "refresh"));
    let (messages, state) = app.until(is_asking);
    assert_eq!((messages.len(), &state["asked"][0]["params"]["name"]), (0, &json!("refresh")));
    app.decide(&state["asked"][0]["number"], "allow");
    assert_eq!(answer(1)["result"]["content"][0]["text"], "3 %");
    assert_eq!(app.until(|_, _| true).1["calls"].as_array().unwrap().len(), 2);

    app.says(&call(2, "refresh"));
    let (_, state) = app.until(is_asking);
    app.decide(&state["asked"][0]["number"], "refuse");
    assert!(answer(2)["error"]["message"].as_str().unwrap().contains("refused"));

    // The model's tools are not for apps, whatever the person says.
    app.says(&call(3, "delete"));
    assert!(answer(3)["error"]["message"].as_str().unwrap().contains("visibility"));

    app.says(&json!({"id": 4, "method": "ui/open-link", "params": {"url": "https://example.com"}}));
    let (_, state) = app.until(is_asking);
    app.says(&call(5, "refresh"));
    let (_, later) = app.until(|_, shown| shown["asked"].as_array().unwrap().len() == 2);
    app.decide(&later["asked"][1]["number"], "always");
    assert!(answer(5)["result"].is_object());
    app.decide(&state["asked"][0]["number"], "allow");
    assert_eq!(answer(4)["result"], json!({}));
    app.says(&call(6, "refresh"));
    assert!(answer(6)["result"].is_object());
    app.says(&call(9, "delete"));
    assert!(answer(9)["error"]["message"].as_str().unwrap().contains("visibility"));
    app.says(&json!({"id": 7, "method": "resources/read", "params": {"uri": "ui://nothing"}}));
    assert!(answer(7)["error"]["code"].as_i64().unwrap() < -32000);
    // Such trust is for the server: each link is still asked for.
    app.says(&json!({"id": 8, "method": "ui/open-link", "params": {"url": "https://example.com"}}));
    app.until(is_asking);
}

#[test]
fn an_app_has_bounds() {
    let shown = Shown::new("ui://chart");
    let app = shown.run();
    for id in 0..22 {
        app.says(&json!({"id": id, "method": "ui/open-link", "params": {"url": "https://example.com"}}));
    }
    let (messages, state) = app.until(|messages, _| messages.len() == 2);
    assert_eq!(state["asked"].as_array().unwrap().len(), 20);
    assert_eq!((&messages[0]["id"], &messages[1]["id"]), (&json!(20), &json!(21)));
    app.says(&json!({"id": 22, "method": "tools/call", "params": {"name": "x".repeat(200_000)}}));
    let (messages, _) = app.until(|messages, _| !messages.is_empty());
    assert!(messages[0]["error"]["message"].as_str().unwrap().contains("bytes"), "{messages:?}");
    // Shown on the wire only, because this is no JSON-RPC.
    app.says(&json!({"jsonrpc": "1.0"}));
    let (_, state) = app.until(|_, shown| shown["state"] == "silent");
    assert_eq!(state["why"], Value::Null);
    shown.page.done("appSaid", &json!({"run": app.run, "text": "too much", "stopped": true}));
    let (_, state) = app.until(|_, shown| shown["state"] == "closed");
    assert_eq!(state["why"], "too much");
}

#[test]
fn the_last_20_apps_are_kept() {
    let shown = Shown::new("ui://chart");
    let open = json!({"era": "modern", "uri": "ui://chart", "origin": origin(shown.page.port)});
    let first = shown.run();
    let status =
        |opened: &Value| shown.get(&format!("/{}/app", opened["token"].as_str().unwrap()), "127.0.0.1", "").status;
    let second = shown.page.done("app", &open);
    (0..19).for_each(|_| drop(shown.page.done("app", &open)));
    assert_eq!((status(&shown.opened), status(&second)), (404, 200));
    let wanted = json!({"era": "modern", "app": second["app"], "tool": "chart", "arguments": {}, "context": {}});
    (0..19).for_each(|_| drop(shown.page.done("appRun", &wanted)));
    first.until(|_, _| true);
    shown.page.done("appRun", &wanted);
    shown.page.refused("appNext", &json!({"run": first.run, "seen": 0}));
}

#[test]
fn the_first_and_the_last_49_calls_of_an_app_are_kept() {
    let shown = Shown::new("ui://chart");
    let app = shown.run();
    let call = |id: u64| json!({"id": id, "method": "tools/call", "params": {"name": "refresh", "arguments": {}}});
    app.says(&call(0));
    let (_, state) = app.until(|_, shown| !shown["asked"].as_array().unwrap().is_empty());
    app.decide(&state["asked"][0]["number"], "always");
    (1..=50).for_each(|id| app.says(&call(id)));
    let calls = app.until(|_, _| true).1["calls"].clone();
    let calls: Vec<u64> = calls.as_array().unwrap().iter().map(|call| call.as_u64().unwrap()).collect();
    assert_eq!((calls.len(), calls[0]), (50, state["calls"][0].as_u64().unwrap()));
    assert!(calls.is_sorted(), "{calls:?}");
}

#[test]
fn apps_are_declared_to_servers() {
    let page = Page::of_role(Role::Apps, &[]);
    let tab = page.tab();
    for (era, method) in [("legacy", "initialize"), ("modern", "server/discover")] {
        tab.connection(era, "open");
        let rows = page.done("wire", &json!({"before": 1_000_000}))["rows"].take();
        let row = rows.as_array().unwrap().iter().find(|row| row["method"] == method).unwrap();
        let text = page.done("body", &json!({"row": row["id"]}))["text"].as_str().unwrap().to_owned();
        let declared = format!(r#""extensions":{{"io.modelcontextprotocol/ui":{{"mimeTypes":["{MIME_TYPE}"]}}}}"#);
        assert!(text.contains(&declared), "{text}");
    }
}

#[test]
fn skills_are_listed_and_their_files_are_checked() {
    let page = Page::of_role(Role::Apps, &[]);
    let tab = page.tab();
    assert_eq!(tab.list("modern", "skills")["count"], 1);
    assert_eq!(tab.connection("legacy", "open")["lists"]["skills"]["state"], "absent");
    let skills = page.done("list", &json!({"era": "modern", "list": "skills"}))["items"].take();
    assert_eq!(skills[0]["frontmatter"], json!({"name": "packing", "description": "How to pack.", "license": "MIT"}));
    let uri = &skills[0]["uri"];
    let file = |skill: &Value, file: &str| json!({"era": "modern", "skill": skill, "file": file});
    let read = page.done("skillFile", &file(uri, uri.as_str().unwrap()));
    assert_eq!((&read["text"], &read["bytes"]), (&json!(SKILL), &json!(SKILL.len())));
    let script = skills[0]["resources"][1]["uri"].as_str().unwrap();
    assert_eq!(page.done("skillFile", &file(uri, script))["text"], "echo packed\n");
    for (skill, name, said) in [
        (uri, "skill://packing/other", "does not list it"),
        (uri, "ui://chart", "inside the skill"),
        (&json!("skill://none/SKILL.md"), "skill://none/SKILL.md", "lists no skill"),
    ] {
        let problem = page.refused("skillFile", &file(skill, name));
        assert!(problem["what"].as_str().unwrap().contains(said), "{problem}");
    }
}

#[test]
fn files_that_differ_from_the_entry_of_their_skill_are_refused() {
    let page = Page::of_role(Role::Liar, &[]);
    let tab = page.tab();
    tab.list("modern", "skills");
    for (file, said) in [("SKILL.md", "its frontmatter differs"), ("a.txt", "its digest differs"), ("b.txt", "6 bytes")]
    {
        let file = format!("skill://liar/{file}");
        let wanted = json!({"era": "modern", "skill": "skill://liar/SKILL.md", "file": file});
        let problem = page.refused("skillFile", &wanted);
        assert!(problem["what"].as_str().unwrap().contains(said), "{problem}");
    }
}
