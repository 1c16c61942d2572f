//! Ends of `trunkline inspect`: of the server, of the last tab, of the program, and of a login.

use crate::{
    inspect_page::Page,
    login_server::{Desk, LoginServer, visit},
    program::Folder,
    roles::{FILE, File, ROLE, Role, children_of, runs, until},
    servers::serve,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, Read},
    process::Command,
    time::Duration,
};

#[test]
fn a_server_that_dies_says_why_and_is_started_again() {
    let page = Page::of_role(Role::Inspected, &[]);
    let tab = page.tab();
    let before = tab.connection("modern", "open");
    tab.list("modern", "tools");
    let call = page.call(&tab, "die", &json!({}));
    assert_eq!(call["state"], "failed");
    assert_eq!(call["problem"]["lines"], json!(["the database is locked"]));
    let closed = tab.connection("modern", "closed");
    let problem = &closed["problem"];
    assert_eq!((&problem["code"], &problem["lines"]), (&json!("exited"), &json!(["the database is locked"])));
    assert_eq!(closed["pid"], Value::Null);
    // The page keeps what it knows, and the other connection lives.
    assert_eq!((&closed["serverInfo"], &closed["lists"]["tools"]["count"]), (&before["serverInfo"], &json!(12)));
    tab.connection("legacy", "open");
    let refused = page.refused("call", &json!({"era": "modern", "name": "echo", "arguments": {"text": "a"}}));
    assert_eq!(&refused, problem);
    page.done("reconnect", &json!({"era": "modern"}));
    let again = tab.connection("modern", "open");
    assert_eq!((&again["openings"], &again["problem"]), (&json!(2), &json!(null)));
    assert_ne!(again["pid"], before["pid"]);
    assert_eq!(page.call(&tab, "echo", &json!({"text": "back"}))["result"]["json"]["content"][0]["text"], "back");
}

#[test]
fn servers_end_with_the_last_tab_and_start_with_the_next() {
    let page = Page::of_role(Role::Inspected, &["--linger", "3s"]);
    let program = page.process.id();
    let tab = page.tab();
    tab.connection("modern", "open");
    tab.connection("legacy", "open");
    assert_eq!(children_of(program), 2);
    drop(tab);
    // A reload is no end.
    let tab = page.tab();
    std::thread::sleep(Duration::from_millis(3_500));
    assert_eq!(children_of(program), 2);
    drop(tab);
    until(|| children_of(program) == 0);
    let tab = page.tab();
    assert_eq!(tab.connection("modern", "open")["openings"], 2);
    tab.connection("legacy", "open");
}

#[test]
fn a_tab_of_one_server_keeps_all_servers() {
    let folder = Folder::new();
    let words = Role::Host.command();
    let entry = json!({"command": words[0], "args": words[1..], "env": {(ROLE): "inspected"}});
    let file = folder.write("mcp.json", &json!({"mcpServers": {"one": entry, "two": entry}}).to_string());
    let page = Page::start(&["--linger", "1s", "--config", &file].map(str::to_owned));
    let tab = page.tab_of("/api/events?server=one");
    let program = page.process.id();
    until(|| children_of(program) == 4);
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(children_of(program), 4);
    drop(tab);
    until(|| children_of(program) == 0);
}

#[test]
fn a_server_that_never_answers_ends_with_the_last_tab() {
    let words = ["--linger", "1s", "--connect-timeout", "1h", "--", "sh", "-c"].map(str::to_owned);
    let silent = "while :; do sleep 1; done # plays_a_role".to_owned();
    let page = Page::start(&[&words[..], &[silent]].concat());
    let program = page.process.id();
    let tab = page.tab();
    until(|| children_of(program) > 0);
    drop(tab);
    until(|| children_of(program) == 0);
}

#[test]
fn a_reconnect_keeps_the_roots_and_ends_the_subscriptions() {
    let page = Page::of_role(Role::Inspected, &[]);
    let tab = page.tab();
    page.done("roots", &json!({"roots": [{"uri": "file:///work"}]}));
    for era in ["modern", "legacy"] {
        tab.connection(era, "open");
        page.done("subscribe", &json!({"era": era, "uri": "note://one"}));
        page.done("reconnect", &json!({"era": era}));
        tab.until(|event| event["event"] == "subscription" && event["open"] == false);
        while tab.connection(era, "open")["openings"] != 2 {
            tab.next();
        }
        let call = json!({"era": era, "name": "roots", "arguments": {}});
        let ended = tab.end_of(page.done("call", &call)["call"].as_u64().unwrap());
        assert_eq!(ended["result"]["json"]["content"][0]["text"], "file:///work", "{ended}");
    }
    assert_eq!(page.tab().next().unwrap()["subscriptions"], json!([]));
}

#[test]
fn a_reconnect_forgets_a_list_that_is_no_longer_declared() {
    let file = File::new();
    let words = ["--era".to_owned(), "legacy".to_owned(), "--env".to_owned(), format!("{FILE}={}", file.path())];
    let page = Page::start(&[&words[..], &Role::Forgetful.command()].concat());
    let tab = page.tab();
    assert_eq!(tab.list("legacy", "prompts")["count"], 1);
    let prompts = || page.done("list", &json!({"era": "legacy", "list": "prompts"}));
    let first = prompts();
    assert_eq!(first["items"][0]["name"], "once");
    page.done("reconnect", &json!({"era": "legacy"}));
    while tab.connection("legacy", "open")["openings"] != 2 {
        tab.next();
    }
    let then = prompts();
    let state = &then["state"];
    assert_eq!((&then["items"], &state["count"], &state["state"]), (&json!([]), &json!(0), &json!("absent")));
    assert!(state["version"].as_u64() > first["state"]["version"].as_u64(), "{state}");
}

#[test]
fn ctrl_c_ends_everything_and_prints_the_last_call() {
    let interrupt = |page: &Page| {
        assert!(Command::new("kill").args(["-INT", &page.process.id().to_string()]).status().unwrap().success());
    };
    for (era, flag) in [("modern", ""), ("legacy", " --era legacy")] {
        let mut page = Page::of_role(Role::Inspected, &[]);
        let tab = page.tab();
        let pid = tab.connection("modern", "open")["pid"].to_string();
        tab.connection("legacy", "open");
        let call = json!({"era": era, "name": "echo", "arguments": {"text": "it's"}});
        tab.end_of(page.done("call", &call)["call"].as_u64().unwrap());
        interrupt(&page);
        let end = tab.until(|event| event["event"] == "end");
        assert_eq!(tab.next(), None, "something follows");
        let mut printed = String::new();
        page.lines.read_to_string(&mut printed).unwrap();
        assert!(printed.starts_with(&format!(r"trunkline call{flag} echo 'text=it'\''s' -- ")), "{printed}");
        assert_eq!(end["command"], printed.trim_end());
        assert!(page.process.wait().unwrap().success());
        until(|| !runs(&pid));
    }
    // Without a call, the page itself is repeated.
    let mut page = Page::start(&["--header".to_owned(), "X: secret".to_owned(), serve(crate::inspected::server())]);
    interrupt(&page);
    let mut line = String::new();
    page.lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("trunkline inspect --header 'X: …' http://"), "{line}");
}

#[test]
fn no_server_outlives_a_killed_program() {
    let mut page = Page::of_role(Role::Inspected, &[]);
    let tab = page.tab();
    let pids = ["modern", "legacy"].map(|era| tab.connection(era, "open")["pid"].to_string());
    page.process.kill().unwrap();
    page.process.wait().unwrap();
    pids.iter().for_each(|pid| until(|| !runs(pid)));
}

#[test]
fn a_login_is_a_question_and_its_steps_are_a_ladder() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    let page = Page::run(&mut desk.trunkline(&["inspect", &server.url()]));
    let tab = page.tab();
    let round = tab.round();
    assert_eq!((&round["kind"], &round["call"]), (&json!("login"), &json!(null)));
    visit(round["params"]["url"].as_str().unwrap());
    tab.until(|event| event["event"] == "roundEnded");
    let open = tab.connection("legacy", "open");
    assert_eq!(open["serverInfo"]["name"], "closed", "{open}");
    tab.connection("modern", "unsupported");
    let ladder = page.tab().next().unwrap()["exchanges"].as_array().unwrap().clone();
    let clauses: Vec<&str> = ladder.iter().map(|step| step["clause"].as_str().unwrap()).collect();
    assert!(clauses[0] == "RFC 9728 section 5.1" && clauses.contains(&"RFC 6749 section 5.1"), "{clauses:?}");
    assert!(ladder.iter().all(|step| step["pass"] == true), "{ladder:?}");
    let text = serde_json::to_string(&ladder).unwrap();
    assert!(!text.contains("token-1"), "{text}");
    let exported = page.done("export", &json!({"form": "har"}));
    let har: Value = serde_json::from_str(exported["text"].as_str().unwrap()).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["request"]["url"].as_str().unwrap().ends_with("/register")), "{har}");
    assert!(!har.to_string().contains("token-1"), "{har}");
    // A step is repeated with what the steps before it gave, unless that is valid once.
    for step in &ladder {
        let (id, clause) = (&step["id"], &step["clause"]);
        let repeated = page.post("repeat", &page.authorization(), &json!({"exchange": id}));
        let is_repeated = ["RFC 9728 section 3.2", "RFC 8414 section 3.2", "RFC 7591 section 3.2.1"];
        if is_repeated.iter().any(|it| clause == it) {
            assert_eq!(repeated.status, 200, "{step}: {repeated:?}");
            let again = tab.until(|event| event["event"] == "exchange" && event["exchange"]["id"] == step["id"]);
            assert_eq!((&again["exchange"]["pass"], &again["exchange"]["clause"]), (&json!(true), clause));
        } else {
            assert_eq!(repeated.status, 400, "{step}: {repeated:?}");
            let what = repeated.json()["error"]["what"].as_str().unwrap().to_owned();
            assert!(what.contains("log in again"), "{what}");
            assert_eq!(
                what.contains("valid once (RFC 6749 section 4.1.2)"),
                clause == "RFC 6749 section 5.1",
                "{what}"
            );
        }
    }
    // Cancelling the login leaves the connection closed, and the next one starts a new ladder.
    page.done("login", &json!({"era": "legacy"}));
    tab.until(|event| event["event"] == "ladder");
    let round = tab.round();
    page.done("answer", &json!({"round": round["id"], "action": "cancel"}));
    assert_eq!(tab.connection("legacy", "failed")["problem"]["code"], "cancelled");
}

#[test]
fn each_era_has_its_own_login_after_the_other() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    let page = Page::run(&mut desk.trunkline(&["inspect", &server.url()]));
    let tab = page.tab();
    let first = tab.round();
    assert_eq!(first["era"], "modern");
    let snapshot = page.tab().next().unwrap();
    let challenges = snapshot["exchanges"].as_array().unwrap().iter();
    assert_eq!(challenges.filter(|step| step["clause"] == "RFC 9728 section 5.1").count(), 1);
    page.done("answer", &json!({"round": first["id"], "action": "cancel"}));
    let second = tab.until(|event| event["event"] == "round")["round"].take();
    assert_eq!(second["era"], "legacy");
    visit(second["params"]["url"].as_str().unwrap());
    tab.list("legacy", "tools");
    // A person who cancels says nothing about the revisions of the server.
    let modern = page.tab().connection("modern", "failed");
    assert_eq!(modern["problem"]["code"], "cancelled");
}

#[test]
fn a_refused_login_is_a_broken_rung() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    server.habits().refuses = true;
    let page = Page::run(&mut desk.trunkline(&["inspect", "--era", "legacy", &server.url()]));
    let tab = page.tab();
    visit(tab.round()["params"]["url"].as_str().unwrap());
    tab.connection("legacy", "failed");
    let ladder = page.tab().next().unwrap()["exchanges"].take();
    let broken: Vec<&Value> = ladder.as_array().unwrap().iter().filter(|step| step["pass"] == false).collect();
    assert_eq!(broken.len(), 1, "{ladder}");
    assert!(broken[0]["members"].to_string().contains("error = access_denied"), "{ladder}");
}

#[test]
fn a_login_that_a_call_needs_is_cancelled_with_that_call() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    {
        let mut habits = server.habits();
        (habits.steps_up, habits.is_modern) = (Some("tools/call"), true);
    }
    let page = Page::run(&mut desk.trunkline(&["inspect", &server.url()]));
    let tab = page.tab();
    visit(tab.round()["params"]["url"].as_str().unwrap());
    for era in ["modern", "legacy"] {
        tab.list(era, "tools");
    }
    // Of either era, whichever was opened last.
    for era in ["modern", "legacy"] {
        let begin = |command: &str, body: Value| page.done(command, &body)["call"].as_u64().unwrap();
        let look = || begin("call", json!({"era": era, "name": "look", "arguments": {}}));
        let asked = || tab.until(|event| event["event"] == "round")["round"].take();
        let call = look();
        let round = asked();
        assert_eq!(
            (&round["kind"], &round["era"], &round["call"]),
            (&json!("login"), &json!(era), &json!(call)),
            "{round}"
        );
        // The end of another call is not that of the login.
        tab.end_of(begin("send", json!({"era": era, "method": "tools/list"})));
        assert_eq!(page.tab().next().unwrap()["rounds"][0]["id"], round["id"]);
        page.done("answer", &json!({"round": round["id"], "action": "cancel"}));
        assert_eq!(tab.end_of(call)["state"], "cancelled");
        page.done("ping", &json!({"era": era}));
        let snapshot = page.tab().next().unwrap();
        assert_eq!(snapshot["rounds"], json!([]));
        assert!(snapshot["connections"].as_array().unwrap().iter().all(|one| one["state"] == "open"), "{snapshot}");
        // The next call asks again.
        let call = look();
        page.done("answer", &json!({"round": asked()["id"], "action": "cancel"}));
        assert_eq!(tab.end_of(call)["state"], "cancelled");
    }
    let call = page.begin("look", &json!({}));
    visit(tab.until(|event| event["event"] == "round")["round"]["params"]["url"].as_str().unwrap());
    assert_eq!(tab.end_of(call)["result"]["json"]["content"][0]["text"], "seen");
    assert_eq!(page.tab().next().unwrap()["rounds"], json!([]));
}

#[test]
fn a_login_that_no_call_needs_is_cancelled_with_the_connection() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    let page = Page::run(&mut desk.trunkline(&["inspect", "--era", "legacy", &server.url()]));
    let tab = page.tab();
    visit(tab.round()["params"]["url"].as_str().unwrap());
    tab.list("legacy", "tools");
    server.habits().steps_up = Some("tools/list");
    let list = || page.refused("list", &json!({"era": "legacy", "list": "tools", "refresh": true}));
    std::thread::scope(|scope| {
        let listing = scope.spawn(list);
        let round = tab.until(|event| event["event"] == "round")["round"].take();
        assert_eq!(round["call"], Value::Null);
        page.done("answer", &json!({"round": round["id"], "action": "cancel"}));
        assert_eq!(tab.connection("legacy", "closed")["problem"]["code"], "cancelled");
        listing.join().unwrap();
    });
}
