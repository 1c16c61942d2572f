//! The wire vectors of `tests/vectors`, over the standard input and output of a process.

use crate::{
    process::File,
    wire::{Wire, modern},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

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
}

#[test]
fn every_vector_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(files.len() > 15, "{files:?}");
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        let vector: Vector = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!vector.about.is_empty() && !vector.requirements.is_empty(), "{name}");
        play(&name, vector);
    }
}

fn play(name: &str, vector: Vector) {
    let mut wire = Wire::start("server", &File::new());
    if let Some(revision) = &vector.open {
        wire.open(revision);
    }
    for (number, step) in vector.steps.into_iter().enumerate() {
        match step {
            Step::Send(message) => wire.send(filled(message)),
            Step::SendText(text) => wire.send_text(&text),
            Step::Expect(mut patterns) => {
                let mut messages: Vec<_> = patterns.iter().map(|_| wire.next()).collect();
                messages.extend(wire.rest());
                for message in messages {
                    let expected = take_match(&mut patterns, &message);
                    assert!(expected, "{name}, step {number}: {message} is none of {patterns:#?}");
                }
            }
        }
    }
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
        (pattern, found) => pattern == found,
    }
}
