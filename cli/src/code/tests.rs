//! The literals and programs of each language.

use super::{literals::*, *};
use serde_json::json;
use std::collections::BTreeMap;

const LANGUAGES: [Form; 9] =
    [Form::Python, Form::Node, Form::Rust, Form::C, Form::Go, Form::Kotlin, Form::Java, Form::Ruby, Form::Swift];

#[test]
fn values_are_literals_of_each_language() {
    let value = json!({"a": [1, 2.5, null], "b": {"c": true}, "d": {}, "e": []});
    for (form, literal) in [
        (Form::Python, r#"{"a": [1, 2.5, None], "b": {"c": True}, "d": {}, "e": []}"#),
        (Form::Node, r#"{"a": [1, 2.5, null], "b": {"c": true}, "d": {}, "e": []}"#),
        (Form::Rust, r#"json!({"a": [1, 2.5, null], "b": {"c": true}, "d": {}, "e": []})"#),
        (Form::C, r#""{\"a\":[1,2.5,null],\"b\":{\"c\":true},\"d\":{},\"e\":[]}""#),
        (
            Form::Go,
            r#"map[string]any{"a": []any{1, 2.5, nil}, "b": map[string]any{"c": true}, "d": map[string]any{}, "e": []any{}}"#,
        ),
        (
            Form::Kotlin,
            r#"jsonObjectOf("a" to listOf(1, 2.5, null), "b" to mapOf("c" to true), "d" to mapOf<String, Any?>(), "e" to listOf<Any?>())"#,
        ),
        (Form::Java, r#""{\"a\":[1,2.5,null],\"b\":{\"c\":true},\"d\":{},\"e\":[]}""#),
        (Form::Ruby, r#"{ "a" => [1, 2.5, nil], "b" => { "c" => true }, "d" => {}, "e" => [] }"#),
        (Form::Swift, r#"["a": [1, 2.5, .null], "b": ["c": true], "d": [:], "e": []]"#),
    ] {
        assert_eq!(object(form, &value), literal, "{form:?}");
    }
}

#[test]
fn no_string_ends_its_literal_or_begins_an_expression() {
    let text = "a\"b\\c\n\u{1}\u{202e}#{x}${y}";
    for (form, literal) in [
        (Form::Python, r#""a\"b\\c\n\u0001\u202e#{x}${y}""#),
        (Form::Rust, r#""a\"b\\c\n\u{1}\u{202e}#{x}${y}""#),
        (Form::Kotlin, r#""a\"b\\c\n\u0001\u202e#{x}\${y}""#),
        (Form::Ruby, r#""a\"b\\c\n\u{1}\u{202e}\#{x}${y}""#),
        (Form::Swift, r#""a\"b\\c\n\u{1}\u{202e}#{x}${y}""#),
        // C has no such escapes: JSON does, whose backslash is escaped.
        (Form::C, r#""{\"a\":\"a\\\"b\\\\c\\n\\u0001\u202e#{x}${y}\"}""#),
    ] {
        let written = if form == Form::C { object(form, &json!({"a": text})) } else { string(form, text) };
        assert_eq!(written, literal, "{form:?}");
    }
}

#[test]
fn every_program_has_the_server_the_tool_and_the_arguments_and_no_mark() {
    let arguments = json!({"city": "@tool@"}).as_object().unwrap().clone();
    let url = || "https://x/mcp".to_owned();
    for (place, part) in [
        (Place::Url { url: url(), headers: BTreeMap::new() }, "https://x/mcp"),
        (Place::Url { url: url(), headers: [("X-A".to_owned(), "${A}".to_owned())].into() }, "X-A"),
        (Place::Command { command: vec!["node".into(), "server.js".into()], more: Map::new() }, "server.js"),
    ] {
        let call = Written { place, tool: "forecast", arguments: &arguments };
        for form in LANGUAGES {
            let program = programs::program(form, &call);
            for part in [part, "forecast", "city", "@tool@"] {
                assert!(program.contains(part), "{form:?}: {part} in {program}");
            }
            assert_eq!(program.matches('@').count(), if form == Form::Swift { 3 } else { 2 }, "{form:?}: {program}");
        }
    }
}

#[test]
fn a_line_of_this_program_is_quoted_for_a_shell() {
    let arguments = json!({"city": "New York", "days": 3, "note": "@x", "a.b": "c"}).as_object().unwrap().clone();
    let place = Place::Command { command: vec!["node".into(), "my server.js".into()], more: Map::new() };
    let call = Written { place, tool: "forecast", arguments: &arguments };
    let line = shell::trunkline(&call, "node");
    let words = shlex::split(&line).unwrap();
    let mut expected = vec!["trunkline", "call", "forecast"];
    let mut written = ["city=New York", "days:=3", "note:=\"@x\"", "a.b:=\"c\""];
    written.sort_unstable();
    let mut given: Vec<_> = words[3..7].iter().map(String::as_str).collect();
    given.sort_unstable();
    assert_eq!(given, written, "{line}");
    expected.extend(words[3..7].iter().map(String::as_str));
    expected.extend(["--", "node", "my server.js"]);
    assert_eq!(words, expected);
}
