//! A server whose every string tries to take over the terminal.

use crate::{
    program::{Folder, Ran, trunkline},
    servers::serve,
};
use serde_json::{Value, json};
use trunkline::{Params, Prompt, Resource, Server, Tool, ToolError};

/// Clears the screen, sets the title, reverses the text, and more.
pub(crate) const EVIL: &str = "safe\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}\u{2066}\u{61c}\r\u{8}\u{7f}end";

pub(crate) fn hostile() -> String {
    let schema = json!({"type": "object", "properties": {"a\u{1b}[31m": {"type": "string", "description": EVIL}}, "required": ["a\u{1b}[31m"]});
    let server = Server::builder("evil\u{1b}[2J", "1\u{202e}")
        .instructions(EVIL)
        .add_tool(Tool::new("tool", EVIL, async |_: Params<Value>| EVIL).input_schema(schema))
        .tool("text", EVIL, async || EVIL)
        .tool("fails", EVIL, async || Err::<(), _>(ToolError::new(EVIL)))
        .add_resource(Resource::new("evil://x", EVIL, async || EVIL).description(EVIL))
        .add_prompt(Prompt::new("prompt", EVIL, async || EVIL))
        .build();
    serve(server)
}

#[track_caller]
fn is_safe(text: &str) {
    let is_evil = |character: &char| {
        (character.is_control() && *character != '\n')
            || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(text.chars().find(is_evil), None, "{text:?}");
}

#[test]
fn nothing_of_a_server_reaches_a_terminal_as_it_is() {
    let url = hostile();
    for words in [
        &["list"][..],
        &["list", "--json"],
        &["list", "tools", "--schema"],
        &["ping"],
        &["ping", "--json"],
        &["call", "tool"],
        &["call", "tool", "--json"],
        &["call", "toool"],
        &["call", "text", "--json"],
        &["call", "fails", "--json"],
        &["read", "evil://x", "--json"],
        &["read", "evil://y"],
        &["prompt", "prompt", "--json"],
        &["prompt", "promt"],
    ] {
        let (name, rest) = words.split_first().unwrap();
        let ran = trunkline(&[&[*name, &url], rest].concat());
        is_safe(&ran.stdout);
        is_safe(&ran.stderr);
    }
    let json = trunkline(&["call", &url, "text", "--json"]).done().json();
    assert_eq!(json["content"][0]["text"], EVIL, "the value is the same");
    assert_eq!(trunkline(&["call", &url, "text"]).done().stdout.trim_end_matches('\n'), EVIL, "a pipe is no terminal");
}

/// `script` runs the program in a terminal, which echoes line ends as CR LF.
#[cfg(target_os = "linux")]
#[test]
fn the_text_of_a_result_is_made_printable_for_a_terminal() {
    let url = hostile();
    let home = Folder::new();
    for (name, rest) in [("call", "text"), ("call", "fails"), ("read", "evil://x"), ("prompt", "prompt")] {
        let line = format!("'{}' --no-color --quiet {name} '{url}' {rest}", env!("CARGO_BIN_EXE_trunkline"));
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env("HOME", &home.path).stdin(std::process::Stdio::null());
        let Ran { stdout, .. } = crate::program::ran(&mut script);
        let shown = stdout.replace("\r\n", "\n");
        assert!(shown.contains("safeend"), "{shown:?}");
        is_safe(shown.trim_end_matches(['\u{4}', '\u{8}']));
    }
}
