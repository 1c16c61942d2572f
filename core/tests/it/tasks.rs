//! Calls that become tasks, in both forms: the core one of 2025-11-25 and the extension of
//! 2026-07-28.

mod extension;
mod server;
mod sessions;

use crate::{
    process::{File, eventually},
    wire::{CAPABILITIES, Wire, modern},
};
use serde_json::{Value, json};

pub(crate) use server::{ROLES, serve};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

/// The id, whichever form handed it out.
fn id_of(created: &Value) -> String {
    let result = &created["result"];
    let id = result["task"].get("taskId").or(result.get("taskId")).and_then(Value::as_str);
    id.unwrap_or_else(|| panic!("no task: {created}")).to_owned()
}

/// The text with which a client answers a question.
fn given(word: &str) -> Value {
    json!({"action": "accept", "content": {"word": word}})
}

/// Checks the members that both forms of tasks have (TSK-23, TKX-27).
fn check_shape(task: &Value, ttl: &str, poll_interval: &str) {
    for time in ["createdAt", "lastUpdatedAt"] {
        let text = task[time].as_str().unwrap_or_else(|| panic!("no {time}: {task}"));
        assert!(text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T', "{text}");
    }
    assert!(task["lastUpdatedAt"].as_str() >= task["createdAt"].as_str(), "{task}");
    assert!(task[ttl].is_u64() && task[poll_interval] == 50, "{task}");
    let id = task["taskId"].as_str().unwrap();
    assert!(id.len() >= 22, "TKX-24: {task}");
}
