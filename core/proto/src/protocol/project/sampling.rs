//! Projection of sampling requests.

use super::content::{project_block, project_tool_content};
use super::remove_fields;
use super::{Unsupported, each, project_tool, task::remove_task};
use crate::protocol::{
    Revision, RevisionFeature,
    model::{CreateMessageParams, SamplingMessage},
};
use serde_json::{Map, Value, json};

/// Projects the parameters of `sampling/createMessage`.
///
/// # Errors
///
/// If the revision cannot express the request: it lacks tools in sampling, or audio.
pub fn project_sampling_params(params: &mut Value, revision: Revision) -> Result<(), Unsupported> {
    let Some(params) = params.as_object_mut() else { return Ok(()) };
    let has_tools = params.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    if has_tools && !revision.supports(RevisionFeature::SamplingTools) {
        return Err(no_tools(revision));
    }
    remove_fields::<CreateMessageParams>(params, revision);
    remove_task(params, revision);
    each(params, "tools", |tool| project_tool(tool, revision));
    if let Some(messages) = params.get_mut("messages").and_then(Value::as_array_mut) {
        let mut projected = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            project_message(message, revision, &mut projected)?;
        }
        *messages = projected;
    }
    Ok(())
}

/// Before 2025-11-25 a message has one block, so several blocks become several messages of the same
/// role.
fn project_message(mut message: Value, revision: Revision, out: &mut Vec<Value>) -> Result<(), Unsupported> {
    let Some(fields) = message.as_object_mut() else {
        out.push(message);
        return Ok(());
    };
    remove_fields::<SamplingMessage>(fields, revision);
    match fields.get_mut("content") {
        Some(Value::Array(blocks)) if revision.supports(RevisionFeature::SamplingTools) => {
            blocks.iter_mut().try_for_each(|block| project_sampling_block(block, revision))?;
        }
        Some(Value::Array(blocks)) => {
            for mut block in std::mem::take(blocks) {
                project_sampling_block(&mut block, revision)?;
                let mut one: Map<String, Value> = fields.clone();
                one.insert("content".to_owned(), block);
                out.push(Value::Object(one));
            }
            return Ok(());
        }
        Some(block) => project_sampling_block(block, revision)?,
        None => {}
    }
    out.push(message);
    Ok(())
}

fn project_sampling_block(block: &mut Value, revision: Revision) -> Result<(), Unsupported> {
    match block.get("type").and_then(Value::as_str) {
        Some("tool_use" | "tool_result") if !revision.supports(RevisionFeature::SamplingTools) => {
            return Err(no_tools(revision));
        }
        // There is no replacement: a message cannot contain resources.
        Some("audio") if !revision.supports(RevisionFeature::AudioContent) => {
            let why = format!("{revision} does not support audio in sampling");
            return Err(Unsupported::new(why, json!({"sampling": {}})));
        }
        Some("tool_result") => {
            if let Some(result) = block.as_object_mut() {
                project_tool_content(result, revision);
            }
        }
        Some("tool_use") => {}
        _ => project_block(block, 0, revision),
    }
    Ok(())
}

fn no_tools(revision: Revision) -> Unsupported {
    Unsupported::new(format!("{revision} does not support tools in sampling"), json!({"sampling": {"tools": {}}}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Revision::*;

    fn at(params: &Value, revision: Revision) -> Result<Value, Unsupported> {
        let mut params = params.clone();
        project_sampling_params(&mut params, revision)?;
        Ok(params)
    }

    #[test]
    fn smp_04_tools_are_refused_before_2025_11_25() {
        let params = json!({"messages": [], "maxTokens": 1, "tools": [{"name": "t", "title": "T", "inputSchema": {"type": "object"},
            "execution": {}}], "toolChoice": {"mode": "auto"}});
        for revision in [V2024_11_05, V2025_03_26, V2025_06_18] {
            assert_eq!(at(&params, revision).unwrap_err().required, json!({"sampling": {"tools": {}}}));
        }
        assert_eq!(at(&params, V2025_11_25).unwrap(), params);
        assert_eq!(at(&params, V2026_07_28).unwrap()["tools"][0].get("execution"), None);
        let none = json!({"messages": [], "maxTokens": 1, "tools": []});
        assert_eq!(at(&none, V2025_06_18).unwrap(), json!({"messages": [], "maxTokens": 1}));
        let used = json!({"messages": [{"role": "assistant", "content": {"type": "tool_use", "id": "1", "name": "t", "input": {}}}]});
        assert!(at(&used, V2025_06_18).unwrap_err().why.contains("does not support tools"));
    }

    #[test]
    fn several_blocks_are_several_messages_before_2025_11_25() {
        let params = json!({"messages": [{"role": "user", "_meta": {}, "content": [
            {"type": "text", "text": "a"}, {"type": "image", "data": "", "mimeType": "a/b", "_meta": {}}]}], "maxTokens": 1, "_meta": {}});
        assert_eq!(
            at(&params, V2025_03_26).unwrap()["messages"],
            json!([
                {"role": "user", "content": {"type": "text", "text": "a"}},
                {"role": "user", "content": {"type": "image", "data": "", "mimeType": "a/b"}},
            ])
        );
        assert_eq!(at(&params, V2025_11_25).unwrap(), params);
        assert_eq!(at(&params, V2026_07_28).unwrap().get("_meta"), None);
    }

    #[test]
    fn sound_is_refused_where_it_cannot_be_sent() {
        let params =
            json!({"messages": [{"role": "user", "content": {"type": "audio", "data": "", "mimeType": "a/b"}}]});
        assert!(at(&params, V2024_11_05).unwrap_err().why.contains("does not support audio"));
        assert_eq!(at(&params, V2025_03_26).unwrap(), params);
    }

    #[test]
    fn results_of_tools_follow_the_revision() {
        let params = json!({"messages": [{"role": "user", "content": [
            {"type": "tool_result", "toolUseId": "1", "content": [], "structuredContent": [1]}]}]});
        let block = |revision| at(&params, revision).unwrap()["messages"][0]["content"][0].take();
        assert_eq!(block(V2026_07_28)["structuredContent"], json!([1]));
        assert_eq!(block(V2025_11_25).get("structuredContent"), None);
        assert_eq!(block(V2025_11_25)["content"], json!([{"type": "text", "text": "[1]"}]));
    }
}
