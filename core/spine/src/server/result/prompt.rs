//! Results of prompts.

use super::{
    rpc_error::{error_of, lossy, unreadable},
    writer::ResultWriter,
};
use crate::{
    protocol::{RawJson, Revision, RpcError, model::GetPromptResult, project},
    server::handlers::Outcome,
};
use serde_json::{Value, json};

/// Converts the outcome of a prompt to a result.
pub(in crate::server) fn render_prompt(
    results: &ResultWriter,
    name: &str,
    description: Option<&str>,
    revision: Revision,
    outcome: Outcome,
) -> Result<RawJson, RpcError> {
    let text = |text: String| json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]});
    let unread = |error| error_of(results, &format!("the prompt {name}"), unreadable(error));
    let written = match &outcome {
        Outcome::Result(raw) => Some(raw.clone()),
        _ => None,
    };
    let mut result = match outcome {
        Outcome::Text(content) => text(content),
        nothing @ Outcome::Value(_) if nothing.is_null() => json!({"messages": []}),
        Outcome::Object(raw) | Outcome::Value(raw) => text(lossy(&raw)),
        Outcome::Content(raw) => match raw.parse().map_err(unread)? {
            Value::Array(messages) => json!({"messages": messages.into_iter().map(message).collect::<Vec<_>>()}),
            one => json!({"messages": [message(one)]}),
        },
        Outcome::Result(raw) => {
            let result = raw.parse().map_err(unread)?;
            results.unknown.note::<GetPromptResult>(name, &result);
            result
        }
        other => return Err(error_of(results, &format!("the prompt {name}"), other)),
    };
    if !result.get("messages").is_some_and(Value::is_array) {
        let problem = Outcome::Internal("its result has no array `messages`".into());
        return Err(error_of(results, &format!("the prompt {name}"), problem));
    }
    if let (Some(description), Some(members)) = (description, result.as_object_mut()) {
        members.entry("description").or_insert_with(|| description.into());
    }
    project::project_prompt_result(&mut result, revision);
    Ok(results.seal_result(result, written.as_ref(), revision))
}

/// A bare content block or string is a user message.
fn message(value: Value) -> Value {
    if value.get("role").is_some() {
        return value;
    }
    match value {
        Value::String(text) => json!({"role": "user", "content": {"type": "text", "text": text}}),
        block => json!({"role": "user", "content": block}),
    }
}
