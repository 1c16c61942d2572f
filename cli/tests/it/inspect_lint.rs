//! `trunkline inspect`: what the page and `--once` say about faults of a server.

use crate::{inspect_page::Page, program::trunkline, roles::Role, servers::serve};
use serde_json::{Value, json};
use std::fs;
use trunkline::Server;

/// The rules that the findings of a report are about, each once.
fn rules(report: &Value) -> Vec<&str> {
    let mut rules: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
    rules.dedup();
    rules
}

#[test]
fn once_has_the_findings_that_the_page_of_the_docs_shows() {
    let words = Role::Faulty.command();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let report = trunkline(&[&["inspect", "--once"][..], &words].concat()).done().json();
    let (legacy, modern) = (&report["connections"][0], &report["connections"][1]);
    assert_eq!(modern["lint"], Value::Null, "{modern}");
    let lint = &legacy["lint"];
    assert_eq!(rules(lint), ["name-characters", "array-items", "description-missing", "list-order"]);
    let of_array = lint["findings"].as_array().unwrap().iter().find(|one| one["rule"] == "array-items").unwrap();
    let shown = fs::read_to_string("../docs/program.md").unwrap();
    let text = serde_json::to_string_pretty(of_array).unwrap();
    assert!(shown.contains(&text), "docs/program.md should have:\n{text}");
}

#[test]
fn a_tab_gets_the_findings_about_the_lists_as_they_are() {
    let page = Page::of_role(Role::Faulty, &[]);
    let tab = page.tab();
    tab.list("legacy", "tools");
    let lint = page.done("lint", &json!({"era": "legacy"}));
    assert_eq!(rules(&lint), ["name-characters", "array-items", "description-missing"]);
    assert!(lint["rules"].as_array().unwrap().iter().any(|rule| rule["id"] == "list-order" && rule["advice"] != ""));
    // The order is known by a second read.
    page.done("list", &json!({"era": "legacy", "list": "tools", "refresh": true}));
    let lint = page.done("lint", &json!({"era": "legacy"}));
    assert!(rules(&lint).contains(&"list-order"), "{lint}");
    let hosts = lint["hosts"].as_array().unwrap();
    let code = hosts.iter().find(|host| host["host"] == "vscode").unwrap();
    assert_eq!((&code["tools"], &code["dropped"]), (&json!(2), &json!(1)));
    let shown: Vec<_> = code["names"].as_array().unwrap().iter().map(|name| name["shown"].as_str().unwrap()).collect();
    assert!(shown.contains(&"mcp_weather_weather_alerts"), "{shown:?}");
    // Without a connection, there is nothing to check.
    let none = page.done("lint", &json!({"era": "modern"}));
    assert_eq!(none["findings"], json!([]));
}

#[test]
fn instructions_and_what_an_era_deprecates_are_checked() {
    let server = Server::builder("long", "1.0.0").instructions("Look closely. ".repeat(200));
    let page = Page::start(&[serve(server.tool("look", "Look.", async || "").build())]);
    let tab = page.tab();
    for (era, rules_of_era) in
        [("legacy", &["instructions-length"][..]), ("modern", &["instructions-length", "deprecated"])]
    {
        tab.list(era, "tools");
        let lint = page.done("lint", &json!({"era": era}));
        assert_eq!(rules(&lint), rules_of_era, "{era}");
    }
}
