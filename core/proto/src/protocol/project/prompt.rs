//! Projection of prompts and their messages.

use super::content::project_block;
use super::{each, project_envelope};
use super::{project_fields, remove_fields};
use crate::protocol::{
    Revision,
    model::{Prompt, PromptArgument},
};
use serde_json::Value;

/// Projects a prompt of `prompts/list`.
pub fn project_prompt(prompt: &mut Value, revision: Revision) {
    let Some(prompt) = prompt.as_object_mut() else { return };
    remove_fields::<Prompt>(prompt, revision);
    each(prompt, "arguments", |argument| project_fields::<PromptArgument>(Some(argument), revision));
}

/// Projects a result of `prompts/get`, including its messages.
pub fn project_prompt_result(result: &mut Value, revision: Revision) {
    let Some(result) = result.as_object_mut() else { return };
    project_envelope(result, revision);
    let messages = result.get_mut("messages").and_then(Value::as_array_mut);
    for (index, message) in messages.into_iter().flatten().enumerate() {
        if let Some(content) = message.get_mut("content") {
            project_block(content, index, revision);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{project_result, testing::projected};
    use super::*;
    use crate::protocol::Revision::*;
    use serde_json::json;

    #[test]
    fn prompts_keep_what_each_revision_defines() {
        let prompt = json!({"name": "n", "title": "T", "description": "d", "icons": [], "_meta": {}, "own": 1,
            "arguments": [{"name": "a", "title": "A", "required": true}]});
        let list = json!({"prompts": [prompt], "ttlMs": 0});
        let at = |revision| {
            projected(|list, at| project_result("prompts/list", list, at), &list, revision)["prompts"][0].take()
        };
        let oldest = json!({"name": "n", "description": "d", "own": 1, "arguments": [{"name": "a", "required": true}]});
        assert_eq!(at(V2024_11_05), oldest);
        assert_eq!(at(V2025_03_26), oldest);
        assert_eq!(at(V2025_06_18).get("icons"), None);
        assert_eq!(at(V2025_06_18)["arguments"], prompt["arguments"]);
        assert_eq!(at(V2025_11_25), prompt);
        assert_eq!(at(V2026_07_28), prompt);
    }

    #[test]
    fn prm_09_messages_are_said_in_the_words_of_the_revision() {
        let result = json!({"description": "d", "resultType": "complete", "messages": [
            {"role": "user", "content": {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}},
            {"role": "assistant", "content": {"type": "resource_link", "uri": "a:b", "name": "n"}},
        ]});
        let at = |revision| projected(project_prompt_result, &result, revision);
        assert_eq!(
            at(V2024_11_05),
            json!({"description": "d", "messages": [
                {"role": "user", "content": {"type": "resource",
                    "resource": {"uri": "audio:1", "mimeType": "audio/wav", "blob": "AA=="}}},
                {"role": "assistant", "content": {"type": "text", "text": "n: a:b"}},
            ]})
        );
        assert_eq!(at(V2025_11_25)["messages"], result["messages"]);
        assert_eq!(at(V2026_07_28), result);
    }
}
