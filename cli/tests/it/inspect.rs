//! `trunkline inspect`: the page, its secret, its state, and both eras.

use crate::{
    hostile::{EVIL, hostile},
    inspect_page::{Page, Response},
    inspected::server,
    program::{Folder, trunkline},
    roles::Role,
    servers::{dead, serve},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    net::{TcpListener, TcpStream},
    time::Duration,
};
use trunkline::{Server, ServerOptions, server::CacheHints};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; frame-src ";

#[track_caller]
fn is_guarded(response: &Response, status: u16) {
    assert_eq!(response.status, status, "{response:?}");
    assert!(response.header("content-security-policy").unwrap().starts_with(POLICY), "{response:?}");
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(response.header(name), Some(value), "{response:?}");
    }
}

#[test]
fn only_the_person_with_the_url_is_served() {
    let page = Page::of_role(Role::Inspected, &[]);
    let (none, port) = (json!({}), page.port);
    // The page itself has no secret.
    is_guarded(&page.get("/", ""), 200);
    is_guarded(&page.get("/nothing", ""), 404);
    is_guarded(&page.get("/../Cargo.toml", ""), 404);
    for wrong in ["", "Authorization: Bearer \r\n", "Authorization: Bearer x\r\n"] {
        let refused = page.get("/api/events", wrong);
        is_guarded(&refused, 401);
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        is_guarded(&page.post("ping", wrong, &none), 401);
    }
    let shortened = format!("Authorization: Bearer {}\r\n", &page.token[1..]);
    is_guarded(&page.post("ping", &shortened, &none), 401);
    let authorized = page.authorization();
    for foreign in ["http://evil.example", "null", "https://localhost:1", "http://127.0.0.1:1"] {
        is_guarded(&page.post("ping", &format!("{authorized}Origin: {foreign}\r\n"), &none), 403);
        is_guarded(&page.get("/", &format!("Origin: {foreign}\r\n")), 403);
    }
    for foreign in ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1"] {
        let request = format!("GET /api/events HTTP/1.0\r\nHost: {foreign}\r\n{authorized}\r\n");
        is_guarded(&page.raw(&request), 403);
    }
    is_guarded(&page.raw(&format!("GET / HTTP/1.0\r\n{authorized}\r\n")), 403);
    let own = format!("{authorized}Origin: http://127.0.0.1:{port}\r\n");
    is_guarded(&page.post("variables", &own, &json!({"template": "a://{b}"})), 200);
    // The port that `ssh -L` forwards.
    let forwarded = "GET / HTTP/1.0\r\nHost: localhost:4000\r\nOrigin: http://localhost:4000\r\n\r\n";
    is_guarded(&page.raw(forwarded), 200);
    is_guarded(&page.get("/api/ping", &authorized), 405);
    is_guarded(&page.post("events", &authorized, &none), 405);
    is_guarded(&page.post("shutdown", &authorized, &none), 404);
    is_guarded(&page.post("ping", &authorized, &json!({"era": "stone"})), 400);
    is_guarded(&page.post("call", &authorized, &json!([])), 400);
}

#[test]
fn the_page_is_compressed_unless_the_client_reads_nothing_of_the_kind() {
    let page = Page::of_role(Role::Inspected, &[]);
    let plain = page.get("/", "");
    let text = String::from_utf8(plain.body.clone()).unwrap();
    assert!(text.to_ascii_lowercase().starts_with("<!doctype html>"), "{text}");
    assert_eq!((plain.header("content-encoding"), plain.header("cache-control")), (None, Some("no-store")));
    assert_eq!(plain.header("vary"), Some("accept-encoding"));
    let is_built = !text.contains("not part of this build");
    for accepted in ["gzip, br", "br;q=0, gzip;q=0.5"] {
        let packed = page.get("/", &format!("Accept-Encoding: {accepted}\r\n"));
        assert_eq!(packed.header("content-encoding"), is_built.then_some("gzip"), "{accepted}");
        assert!(!is_built || packed.body.len() < plain.body.len());
    }
    for accepted in ["gzip;q=0", "br"] {
        let unpacked = page.get("/", &format!("Accept-Encoding: {accepted}\r\n"));
        assert_eq!((unpacked.header("content-encoding"), &unpacked.body), (None, &plain.body), "{accepted}");
    }
}

#[test]
fn a_tab_gets_all_at_once_from_a_server_of_both_eras() {
    for page in [Page::of_role(Role::Inspected, &[]), Page::start(&[serve(server())])] {
        let tab = page.tab();
        for (era, revision) in [("modern", "2026-07-28"), ("legacy", "2025-11-25")] {
            let connection = tab.connection(era, "open");
            assert_eq!(connection["revision"], revision);
            assert_eq!(connection["serverInfo"]["name"], "inspected");
            assert_eq!(connection["instructions"], "Look closely.");
            assert!(connection["capabilities"]["tools"].is_object(), "{connection}");
            assert_eq!(tab.list(era, "tools")["count"], 12);
            assert_eq!(tab.list(era, "resourceTemplates")["count"], 1);
            assert_eq!(tab.list(era, "prompts")["count"], 1);
        }
        let list = page.done("list", &json!({"era": "legacy", "list": "prompts"}));
        assert_eq!(list["items"][0]["name"], "review");
        let refreshed = page.done("list", &json!({"era": "modern", "list": "tools", "refresh": true}));
        assert_eq!(refreshed["items"].as_array().unwrap().len(), 12);
        assert_eq!(refreshed["state"]["version"], 2);
        // A second tab begins with what the first one has seen.
        let snapshot = page.tab().next().unwrap();
        assert_eq!(snapshot["event"], "snapshot");
        let states: Vec<&Value> = snapshot["connections"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
        assert_eq!(states, ["open", "open"]);
        let sent: Vec<_> =
            snapshot["wire"].as_array().unwrap().iter().map(|row| (&row["era"], &row["method"])).collect();
        for row in [
            ("legacy", "initialize"),
            ("modern", "server/discover"),
            ("legacy", "tools/list"),
            ("modern", "tools/list"),
        ] {
            assert!(sent.contains(&(&json!(row.0), &json!(row.1))), "{row:?} in {sent:?}");
        }
        if snapshot["target"]["transport"] == "http" {
            let exchanges = snapshot["wire"].as_array().unwrap().iter().filter(|row| row["kind"] == "http");
            let eras: BTreeSet<&str> = exchanges.filter_map(|row| row["era"].as_str()).collect();
            assert_eq!(eras, BTreeSet::from(["legacy", "modern"]));
        }
    }
}

#[test]
fn the_other_era_of_a_narrow_server_is_unsupported() {
    for (role, spoken, other) in [(Role::Old, "legacy", "modern"), (Role::New, "modern", "legacy")] {
        let page = Page::of_role(role, &[]);
        let tab = page.tab();
        let connection = tab.connection(spoken, "open");
        assert_eq!(connection["serverInfo"]["name"], "narrow");
        let tools = tab.list(spoken, "tools");
        assert_eq!(tools["count"], 1);
        let hints = if spoken == "modern" { (json!(0), json!("public")) } else { (Value::Null, Value::Null) };
        assert_eq!((&tools["ttlMs"], &tools["cacheScope"]), (&hints.0, &hints.1));
        while tab.connection(spoken, "open")["lists"]["prompts"]["state"] != "failed" {
            tab.next();
        }
        let problem = &tab.connection(spoken, "open")["lists"]["prompts"]["problem"];
        assert_eq!(problem["rpc"]["code"], -32601, "{problem}");
        let refused = tab.connection(other, "unsupported");
        assert!(refused["problem"]["what"].as_str().is_some_and(|what| !what.is_empty()), "{refused}");
        let problem = page.refused("call", &json!({"era": other, "name": "only", "arguments": {}}));
        assert_eq!(problem["what"], refused["problem"]["what"]);
    }
}

#[test]
fn a_list_that_changes_while_it_is_read_is_read_again() {
    let page = Page::of_role(Role::Changing, &[]);
    let tab = page.tab();
    tab.until(|event| event["event"] == "list" && event["state"]["count"] == 2 && event["state"]["state"] == "ready");
}

#[test]
fn a_refresh_asks_the_server_although_the_list_may_be_cached() {
    let hints = CacheHints::default().with_ttl(Duration::from_secs(3600));
    let options = ServerOptions::default().with_cache(hints);
    let server = Server::builder("cached", "1.0.0").options(options).tool("one", "One.", async || "").build();
    let page = Page::start(&[serve(server)]);
    let tab = page.tab();
    assert_eq!(tab.list("modern", "tools")["ttlMs"], 3_600_000);
    let reads = || {
        let rows = page.done("wire", &json!({"before": u64::MAX}))["rows"].take();
        let is_read =
            |row: &&Value| row["era"] == "modern" && row["kind"] == "request" && row["method"] == "tools/list";
        rows.as_array().unwrap().iter().filter(is_read).count()
    };
    assert_eq!(reads(), 1);
    page.done("list", &json!({"era": "modern", "list": "tools", "refresh": true}));
    assert_eq!(reads(), 2);
}

#[test]
fn only_this_machine_reaches_the_page() {
    let page = Page::start(&[dead()]);
    TcpStream::connect(("127.0.0.1", page.port)).unwrap();
    // On Linux, the whole network is of this machine.
    assert!(!cfg!(target_os = "linux") || TcpStream::connect(("127.0.0.2", page.port)).is_err());
}

#[test]
fn a_chosen_revision_is_the_only_one() {
    let page = Page::start(&["--revision".to_owned(), "2025-06-18".to_owned(), serve(server())]);
    let tab = page.tab();
    assert_eq!(tab.connection("legacy", "open")["revision"], "2025-06-18");
    tab.connection("modern", "idle");
    let page = Page::start(&["--revision".to_owned(), "2026-07-28".to_owned(), serve(server())]);
    let tab = page.tab();
    assert_eq!(tab.connection("modern", "open")["serverInfo"]["version"], "1.2.3");
    tab.connection("legacy", "idle");
}

#[test]
fn the_page_shows_why_a_target_does_not_start() {
    for (words, code) in [
        (vec!["--".to_owned(), "no-such-program".to_owned()], "notStarted"),
        (vec![dead()], "refused"),
        (
            vec!["--".to_owned(), "sh".to_owned(), "-c".to_owned(), "echo no $((1 + 1)) >&2; exit 3".to_owned()],
            "exited",
        ),
    ] {
        let page = Page::start(&words);
        let tab = page.tab();
        for era in ["legacy", "modern"] {
            while tab.connection(era, "failed")["problem"]["code"] != code {
                tab.next();
            }
            let problem = tab.connection(era, "failed")["problem"].clone();
            assert!(problem["hint"].is_string() && problem["where"].is_string(), "{problem}");
            if code == "exited" {
                assert_eq!(problem["lines"], json!(["no 2"]));
                assert!(!problem["what"].as_str().unwrap().contains("no 2"), "{problem}");
            }
        }
    }
}

#[test]
fn a_taken_port_is_an_error_that_says_who_has_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let ran = trunkline(&["inspect", "--port", &port, &dead()]);
    let text = ran.failed(2);
    assert!(text.contains(&format!("--port: {port} is taken")), "{text}");
    if cfg!(target_os = "linux") {
        assert!(text.contains(&format!("(process {})", std::process::id())), "{text}");
    }
}

#[test]
fn once_prints_what_the_page_would_show() {
    let report = trunkline(&["inspect", "--once", &serve(server())]).done().json();
    assert_eq!(report["target"]["transport"], "http");
    for (index, era) in ["legacy", "modern"].into_iter().enumerate() {
        let connection = &report["connections"][index];
        assert_eq!((&connection["era"], &connection["state"]), (&json!(era), &json!("open")));
        assert_eq!(connection["items"]["tools"].as_array().unwrap().len(), 12);
        assert_eq!(connection["items"]["prompts"][0]["name"], "review");
        assert_eq!(connection["lists"]["resources"]["count"], 1);
    }
    let ran = trunkline(&["inspect", "--once", "--json", &dead()]);
    assert_eq!((ran.code, &*ran.stderr), (Some(4), ""), "{ran:?}");
    assert_eq!(ran.json()["connections"][0]["problem"]["code"], "refused");
    assert_eq!(trunkline(&["inspect", "--once", "--port", "1", &dead()]).code, Some(2));
    trunkline(&["inspect", &dead(), "more"]).failed(2);
}

#[test]
fn several_servers_have_one_page() {
    let folder = Folder::new();
    let file = folder.path.join("mcp.json");
    let config = json!({"mcpServers": {"one": {"url": serve(server())}, "two": {"url": dead()}}});
    fs::write(&file, config.to_string()).unwrap();
    let file = file.to_str().unwrap().to_owned();
    let page = Page::start(&[serve(server()), "--config".to_owned(), file.clone()]);
    let tab = page.tab();
    tab.connection("modern", "open");
    tab.connection("legacy", "open");
    tab.list("modern", "tools");
    let snapshot = page.tab().next().unwrap();
    let servers = snapshot["servers"].as_array().unwrap();
    let ids: Vec<&str> = servers.iter().map(|server| server["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), &ids[1..], &servers[1]["label"]), (3, &["one", "two"][..], &json!("one")));
    let second = page.tab_of("/api/events?server=one");
    second.connection("modern", "open");
    second.connection("legacy", "open");
    second.list("modern", "tools");
    let listed = page.done("list?server=one", &json!({"era": "modern", "list": "tools"}));
    assert_eq!(listed["items"].as_array().unwrap().len(), 12);
    // Each has its own wire.
    let (first, second) = (page.tab().next().unwrap(), page.tab_of("/api/events?server=one").next().unwrap());
    let methods = |snapshot: &Value| {
        let rows = snapshot["wire"].as_array().unwrap().iter();
        rows.filter(|row| row["method"] == "initialize" && row["kind"] == "request").count()
    };
    assert_eq!((methods(&first), methods(&second)), (1, 1));
    assert_ne!(first["target"]["label"], second["target"]["label"]);
    page.tab_of("/api/events?server=two").connection("modern", "failed");
    assert_eq!(page.post("ping?server=three", &page.authorization(), &json!({"era": "modern"})).status, 404);
    for (flag, value) in [("--header", "X-Key: s3cret"), ("--header-file", "headers"), ("--bearer-env", "KEY")] {
        let refused = trunkline(&["inspect", flag, value, "--config", &file]);
        assert!(refused.failed(2).contains(&format!("{flag} would be sent to all 2 servers")), "{refused:?}");
    }
    trunkline(&["inspect", "--once", "--config", &file]).failed(2);
}

#[test]
fn the_wire_is_recorded_in_a_file_as_well() {
    let folder = Folder::new();
    trunkline(&["inspect", "--once", "--wire", folder.path.to_str().unwrap(), &serve(server())]).done();
    let files: Vec<_> = fs::read_dir(&folder.path).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let recorded = fs::read_to_string(file).unwrap();
    assert!(recorded.contains("\"method\":\"initialize\"") && recorded.contains("server/discover"), "{recorded}");
}

#[test]
fn hostile_strings_stay_strings() {
    let page = Page::start(&[hostile()]);
    let tab = page.tab();
    tab.list("modern", "tools");
    let list = page.done("list", &json!({"era": "modern", "list": "tools"}));
    assert_eq!(list["items"][0]["description"], EVIL);
    let called = page.call(&tab, "text", &json!({}));
    assert_eq!(called["result"]["json"]["content"][0]["text"], EVIL);
    let snapshot = page.post("wire", &page.authorization(), &json!({"before": u64::MAX}));
    // JSON has no control characters, so that not even a line can be forged.
    assert!(snapshot.body.iter().all(|byte| *byte >= 0x20), "a control character crosses as it is");
    let report = trunkline(&["inspect", "--once", &hostile()]).done();
    let printed = report.stdout.trim_end();
    assert!(!printed.contains(|one: char| one.is_control() || ('\u{202a}'..='\u{202e}').contains(&one)), "{printed:?}");
}
