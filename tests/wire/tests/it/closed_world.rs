//! Every message type of every revision, generated from its own schema: it passes, and an invented
//! field in any of its objects is caught, except where fields are free.

use std::collections::BTreeSet;

use crate::common::*;
use serde_json::{Map, Value, json};

/// Where invented fields are allowed, as the last two names of the path. `*` stands for the keys of
/// maps.
const FREE: &[&str] = &[
    "*/_meta",
    "capabilities/completions",
    "capabilities/elicitation",
    "capabilities/experimental",
    "capabilities/extensions",
    "capabilities/logging",
    "capabilities/sampling",
    "content/_meta",
    "content/input",
    "content/structuredContent",
    "contents/_meta",
    "elicitation/create",
    "elicitation/form",
    "elicitation/url",
    "messages/_meta",
    "params/_meta",
    "params/arguments",
    "params/data",
    "params/metadata",
    "prompts/_meta",
    "resource/_meta",
    "resourceTemplates/_meta",
    "resources/_meta",
    "result/_meta",
    "result/structuredContent",
    "roots/_meta",
    "sampling/context",
    "sampling/createMessage",
    "sampling/tools",
    "tasks/cancel",
    "tasks/list",
    "tools/_meta",
    "tools/call",
    "tools/inputSchema",
    "tools/outputSchema",
];

/// Maximum branches of a union: example number `n` uses branch `n` of every union.
const EXAMPLES: usize = 8;

struct Definitions(Map<String, Value>);

impl Definitions {
    fn of(revision: Revision) -> Self {
        let path = format!("{}/schemas/{revision}.json", env!("CARGO_MANIFEST_DIR"));
        let mut schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let keyword = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
        let Value::Object(definitions) = schema[keyword].take() else { panic!("{revision} has no definitions") };
        Self(definitions)
    }

    fn union(&self, name: &str) -> Vec<&str> {
        let last =
            |reference: &'_ Value| -> Option<String> { Some(reference.as_str()?.rsplit('/').next()?.to_owned()) };
        let Some(union) = self.0.get(name) else {
            return Vec::new();
        };
        let branches = union["anyOf"].as_array().cloned().unwrap_or_else(|| vec![union.clone()]);
        let names = branches.iter().filter_map(|branch| last(&branch["$ref"]));
        names.filter_map(|name| self.0.get_key_value(&name)).map(|(name, _)| name.as_str()).collect()
    }

    /// A value of the type, with all of its fields.
    fn example(&self, schema: &Value, number: usize) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap();
            // Any JSON value: an object, to test that it is free.
            return if name == "JSONValue" { json!({}) } else { self.example(&self.0[name], number) };
        }
        if let Some(branches) = schema["anyOf"].as_array() {
            return self.example(&branches[number % branches.len()], number);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let mut whole = Map::new();
            for part in parts {
                whole.extend(self.example(part, number).as_object().unwrap().clone());
            }
            return Value::Object(whole);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(values) = schema["enum"].as_array() {
            return values[number % values.len()].clone();
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
        match (kind, schema["format"].as_str()) {
            (Some("string"), Some("uri" | "uri-template")) => json!("https://example.com/x"),
            (Some("string"), _) => json!("AAAA"),
            (Some("integer" | "number"), _) => json!(1),
            (Some("boolean"), _) => json!(true),
            (Some("array"), _) => json!([self.example(&schema["items"], number)]),
            _ => {
                let mut object = Map::new();
                for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                    object.insert(name.clone(), self.example(property, number));
                }
                let values =
                    schema.get("additionalProperties").filter(|values| values.is_object() && object.is_empty());
                if let Some(values) = values {
                    object.insert("*".into(), self.example(values, number));
                }
                Value::Object(object)
            }
        }
    }

    fn call(&self, name: &str, number: usize) -> Value {
        let mut message = self.example(&self.0[name], number);
        message["jsonrpc"] = json!("2.0");
        if name.ends_with("Request") {
            message["id"] = json!(number);
        }
        message
    }
}

#[test]
fn every_type_is_closed_but_for_the_free_places() {
    let mut free = BTreeSet::new();
    let mut types = 0;
    for revision in Revision::ALL {
        let definitions = Definitions::of(revision);
        for (direction, party) in [(ClientToServer, "Client"), (ServerToClient, "Server")] {
            for name in definitions.union(&format!("{party}Request")) {
                types += 2;
                let method = definitions.0[name]["properties"]["method"]["const"].as_str().unwrap();
                let result = name.replace("Request", "Result");
                let result = if definitions.0.contains_key(&result) {
                    &definitions.0[&result]
                } else {
                    &definitions.0["EmptyResult"]
                };
                for number in 0..EXAMPLES {
                    let request = Message::new(revision, direction, None, definitions.call(name, number));
                    free.append(&mut invented_fields_that_pass(&request));
                    let mut result = definitions.example(result, number);
                    if method == "tasks/result" {
                        let payload = if direction == ClientToServer { "CallToolResult" } else { "ElicitResult" };
                        result = definitions.example(&definitions.0[payload], number);
                    }
                    let response = json!({"jsonrpc": "2.0", "id": number, "result": result});
                    let response = Message::new(revision, direction.opposite(), Some(method), response);
                    free.append(&mut invented_fields_that_pass(&response));
                }
            }
            for name in definitions.union(&format!("{party}Notification")) {
                types += 1;
                for number in 0..EXAMPLES {
                    let notification = Message::new(revision, direction, None, definitions.call(name, number));
                    free.append(&mut invented_fields_that_pass(&notification));
                }
            }
        }
    }
    assert!(types > 150, "{types} message types only");
    let free: Vec<&str> = free.iter().map(String::as_str).collect();
    assert_eq!(free, FREE);
}
