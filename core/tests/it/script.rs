//! Server processes that behave as badly as real ones. They write down what they see.

use serde_json::{Value, json};
use std::{
    io::{BufRead, Write, stdin},
    path::Path,
};

/// Plays a script:
/// - `fragile` exits on anything before `initialize`;
/// - `mortal` serves, and dies of its first call of a tool, with a reason;
/// - `mute` takes everything and answers nothing;
/// - `heedless` ignores cancellation: at the next call, it still asks for what the first one needs.
pub(crate) fn play(script: &str, file: &Path) {
    let mut diary = Diary::open(file);
    diary.note("starts");
    let mut is_paying = false;
    for line in stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let method = message["method"].as_str().unwrap_or("an answer");
        diary.note(method);
        match (script, method) {
            ("mute", "server/discover") => eprintln!("still loading"),
            ("mute", _) => {}
            ("fragile", "server/discover") => {
                eprintln!("what is this?");
                std::process::exit(3);
            }
            ("mortal", "tools/call") => {
                (1..30).for_each(|line| eprintln!("line {line}"));
                eprint!("fatal: out of cheese");
                std::process::exit(7);
            }
            ("mortal", "server/discover") => {
                say(&json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}))
            }
            ("heedless", "tools/call") if message["params"]["name"] == "pay" => is_paying = true,
            ("heedless", "tools/call") if is_paying => {
                let schema = json!({"type": "object", "properties": {}});
                let params = json!({"message": "Pay?", "requestedSchema": schema});
                say(&json!({"jsonrpc": "2.0", "id": message["id"], "method": "elicitation/create", "params": params}));
            }
            ("heedless", "tools/call" | "an answer") => {
                let content = json!([{"type": "text", "text": format!("answered: {}", method == "an answer")}]);
                say(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}));
            }
            (_, "initialize") => {
                let info = json!({"name": script, "version": "1"});
                let capabilities = if script == "heedless" { json!({"tools": {}}) } else { json!({}) };
                let result = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info});
                say(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            }
            _ => {}
        }
    }
    diary.note("ends");
}

fn say(message: &Value) {
    println!("{message}");
}

struct Diary(std::fs::File);

impl Diary {
    fn open(path: &Path) -> Self {
        Self(std::fs::File::options().create(true).append(true).open(path).unwrap())
    }

    fn note(&mut self, what: &str) {
        self.0.write_all(format!("{} {what}\n", std::process::id()).as_bytes()).unwrap();
    }
}
