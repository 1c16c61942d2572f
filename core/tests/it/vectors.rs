//! The wire vectors of `tests/vectors`, over the standard input and output of a process: the server of these tests, or the one whose
//! command the environment names (`cargo xtask test --only vectors` names the fixture servers).

use crate::{
    process::File,
    wire::{Wire, modern},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{panic::catch_unwind, path::Path, process::Command};

/// The program of another server; it gets `--stdio` as its argument.
const SERVER: &str = "TRUNKLINE_VECTOR_SERVER";

#[derive(Deserialize)]
struct Vector {
    about: String,
    requirements: Vec<String>,
    open: Option<String>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Step {
    Send(Value),
    SendText(String),
    Expect(Vec<Value>),
    ExpectInOrder(Vec<Value>),
}

#[test]
fn every_vector_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(files.len() > 15, "{files:?}");
    let mut broken = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        let vector: Vector = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!vector.about.is_empty() && !vector.requirements.is_empty(), "{name}");
        let held = catch_unwind(|| play(&name, vector)).is_ok();
        println!("vector {name}: {}", if held { "ok" } else { "FAILED" });
        broken.extend((!held).then_some(name));
    }
    assert!(broken.is_empty(), "{broken:?}");
}

fn play(name: &str, vector: Vector) {
    let file = File::new();
    let mut wire = match std::env::var_os(SERVER) {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg("--stdio");
            Wire::run(command)
        }
        None => Wire::start("server", &file),
    };
    if let Some(revision) = &vector.open {
        wire.open(revision);
    }
    for (number, step) in vector.steps.into_iter().enumerate() {
        match step {
            Step::Send(message) => wire.send(filled(message)),
            Step::SendText(text) => wire.send_text(&text),
            Step::Expect(mut patterns) => {
                for message in arrived(&mut wire, patterns.len()) {
                    let expected = take_match(&mut patterns, &message);
                    assert!(expected, "{name}, step {number}: {message} is none of {patterns:#?}");
                }
            }
            Step::ExpectInOrder(patterns) => {
                let messages = arrived(&mut wire, patterns.len());
                assert_eq!(messages.len(), patterns.len(), "{name}, step {number}: {messages:#?}");
                for (pattern, message) in patterns.iter().zip(&messages) {
                    assert!(matches(pattern, message), "{name}, step {number}: {message} is not {pattern}");
                }
            }
        }
    }
}

/// So many messages, and those that arrive beyond.
fn arrived(wire: &mut Wire, count: usize) -> Vec<Value> {
    let mut messages: Vec<_> = (0..count).map(|_| wire.next()).collect();
    messages.extend(wire.rest());
    messages
}

/// The message with the `_meta` that `"$modern"` stands for.
fn filled(mut message: Value) -> Value {
    if message["params"]["_meta"] == "$modern" {
        message["params"]["_meta"] = modern(json!({}))["_meta"].take();
    }
    message
}

/// Takes the pattern out that a message matches. The answers of a batch are in any order too.
fn take_match(patterns: &mut Vec<Value>, message: &Value) -> bool {
    let is_it = |pattern: &Value| match (pattern, message) {
        (Value::Array(batch), Value::Array(found)) => {
            let mut batch = batch.clone();
            found.iter().all(|one| take_match(&mut batch, one)) && batch.is_empty()
        }
        _ => matches(pattern, message),
    };
    let found = patterns.iter().position(is_it);
    found.map(|found| patterns.remove(found)).is_some()
}

fn matches(pattern: &Value, message: &Value) -> bool {
    match (pattern, message) {
        (Value::String(any), _) if any == "$any" => true,
        (Value::Object(members), Value::Object(found)) => members.iter().all(|(name, inner)| match found.get(name) {
            Some(found) => inner != "$absent" && matches(inner, found),
            None => inner == "$absent",
        }),
        (Value::Array(elements), Value::Array(found)) => {
            elements.len() == found.len() && elements.iter().zip(found).all(|(pattern, found)| matches(pattern, found))
        }
        // 1 and 1.0 are the same number.
        (Value::Number(pattern), Value::Number(found)) if pattern.is_f64() || found.is_f64() => {
            pattern.as_f64() == found.as_f64()
        }
        (pattern, found) => pattern == found,
    }
}
