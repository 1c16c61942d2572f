//! Builds messages and checks them.

#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Value, json};
pub use trunkline_wire::Direction::{self, ClientToServer, ServerToClient};
pub use trunkline_wire::Revision::{self, *};
use trunkline_wire::{Checker, Record, Violation, ViolationKind};

pub const LEGACY: [Revision; 4] = [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25];

static CHECKER: LazyLock<Checker> = LazyLock::new(|| Checker::new().expect("the bundled schemas are sound"));

/// A message under test.
#[derive(Debug, Clone)]
pub struct Message(pub Record);

impl Message {
    pub fn new(revision: Revision, direction: Direction, method: Option<&str>, message: Value) -> Self {
        let method = method.map(str::to_owned);
        Self(Record { revision, direction, method, extensions: None, message })
    }

    /// The same message, from a client that declared these extensions.
    pub fn where_declared(mut self, extensions: &[&str]) -> Self {
        self.0.extensions = Some(extensions.iter().map(|id| (*id).to_owned()).collect());
        self
    }

    /// The fault in it.
    pub fn check(&self) -> Vec<Violation> {
        CHECKER.check(&self.0)
    }

    #[track_caller]
    pub fn is_pure(&self) {
        let violations = self.check();
        assert!(violations.is_empty(), "{}: {violations:#?}\n{:#}", self.0.revision, self.0.message);
    }

    /// Asserts that there is exactly one fault, with that kind and location.
    #[track_caller]
    pub fn is_caught(&self, kind: ViolationKind, pointer: &str) -> Violation {
        let violations = self.check();
        let [violation] = violations.as_slice() else {
            panic!("{}: not exactly one violation: {violations:#?}\n{:#}", self.0.revision, self.0.message);
        };
        assert_eq!((violation.kind, violation.pointer.as_str()), (kind, pointer), "{violation}");
        violation.clone()
    }

    /// Asserts that a field is reported as unknown, and nothing else.
    #[track_caller]
    pub fn has_unknown_field(&self, pointer: &str) {
        self.is_caught(ViolationKind::UnknownField, pointer);
    }

    /// The same message with a value inserted at a location.
    pub fn with(mut self, pointer: &str, value: Value) -> Self {
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer below the message");
        let name = name.replace("~1", "/").replace("~0", "~");
        match self.0.message.pointer_mut(parent) {
            Some(Value::Object(fields)) => drop(fields.insert(name, value)),
            Some(Value::Array(elements)) => elements.push(value),
            other => panic!("nothing to add to at {parent}: {other:?}"),
        }
        self
    }

    /// The same message without the field at a location.
    pub fn without(mut self, pointer: &str) -> Self {
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer below the message");
        let parent = self.0.message.pointer_mut(parent).and_then(Value::as_object_mut);
        parent.and_then(|fields| fields.shift_remove(name)).expect("the field is there");
        self
    }
}

/// The `_meta` that every request of 2026-07-28 carries.
pub fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}, "roots": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "progressToken": 1
    })
}

/// A request with the `_meta` that its revision requires.
pub fn request(revision: Revision, direction: Direction, method: &str, mut params: Value) -> Message {
    if revision == V2026_07_28 {
        params["_meta"] = modern_meta();
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Message::new(revision, direction, None, message)
}

pub fn notification(revision: Revision, direction: Direction, method: &str, params: Value) -> Message {
    Message::new(revision, direction, None, json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// A result with the `resultType` that its revision requires.
pub fn result(revision: Revision, direction: Direction, method: &str, mut result: Value) -> Message {
    if revision == V2026_07_28 {
        result["resultType"] = json!("complete");
    }
    Message::new(revision, direction, Some(method), json!({"jsonrpc": "2.0", "id": "r-1", "result": result}))
}

/// A result with cache hints, if its revision requires them.
pub fn cacheable(revision: Revision, method: &str, mut content: Value) -> Message {
    if revision == V2026_07_28 {
        content["ttlMs"] = json!(0);
        content["cacheScope"] = json!("private");
    }
    result(revision, ServerToClient, method, content)
}

/// A `tools/list` result with one tool that only has what every revision defines.
pub fn tool_list(revision: Revision) -> Message {
    let tool = json!({"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}});
    cacheable(revision, "tools/list", json!({"tools": [tool]}))
}

/// A `tools/call` result with one block of content.
pub fn call_result(revision: Revision, block: Value) -> Message {
    result(revision, ServerToClient, "tools/call", json!({"content": [block]}))
}

pub fn text() -> Value {
    json!({"type": "text", "text": "sunny"})
}

/// An `initialize` request.
pub fn initialize(revision: Revision) -> Message {
    let params = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": {"roots": {"listChanged": true}, "sampling": {}, "experimental": {"x": {"y": [1, null, 1.5]}}},
        "clientInfo": {"name": "c", "version": "1"}
    });
    request(revision, ClientToServer, "initialize", params)
}

/// An `initialize` result.
pub fn initialized(revision: Revision) -> Message {
    let content = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": {
            "tools": {"listChanged": true}, "prompts": {}, "resources": {"subscribe": true}, "logging": {},
            "experimental": {"x": {"y": 1.5}}
        },
        "serverInfo": {"name": "s", "version": "1"},
        "instructions": "Ask.",
        "_meta": {"anything": ["goes"]}
    });
    result(revision, ServerToClient, "initialize", content)
}

/// The pointers of all objects in a value.
fn objects(value: &Value, pointer: &str, found: &mut Vec<String>) {
    let mut inner = |name: &str, value: &Value| {
        let name = name.replace('~', "~0").replace('/', "~1");
        objects(value, &format!("{pointer}/{name}"), found);
    };
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| inner(name, value));
            found.push(pointer.to_owned());
        }
        Value::Array(elements) => elements.iter().enumerate().for_each(|(i, value)| inner(&i.to_string(), value)),
        _ => {}
    }
}

fn place(pointer: &str) -> String {
    let names: Vec<&str> = pointer.split('/').filter(|name| name.parse::<usize>().is_err()).collect();
    names[names.len().saturating_sub(2)..].join("/")
}

/// Where undefined fields are allowed in a valid message, as the last two names of the path.
pub fn invented_fields_that_pass(message: &Message) -> BTreeSet<String> {
    message.is_pure();
    let mut pointers = Vec::new();
    objects(&message.0.message, "", &mut pointers);
    let passes = |pointer: &&String| {
        let mut changed = message.clone();
        let object = changed.0.message.pointer_mut(pointer).unwrap();
        object["com.example/invented"] = json!({"deep": true});
        changed.check().is_empty()
    };
    // Outer objects first: anything inside a free object is free.
    pointers.sort_by_key(String::len);
    let mut free: Vec<&String> = Vec::new();
    for pointer in &pointers {
        let lies_in = |outer: &&String| pointer.strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('/'));
        if !free.iter().any(lies_in) && passes(&pointer) {
            free.push(pointer);
        }
    }
    free.into_iter().map(|pointer| place(pointer)).collect()
}
