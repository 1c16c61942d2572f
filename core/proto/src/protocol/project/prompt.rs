//! Projection of prompts, their messages and the completion of their arguments.

use super::{content::project_block, each, project_envelope, project_fields, remove_fields};
use crate::protocol::{
    Revision,
    model::{CompleteParams, Completion, Prompt, PromptArgument, PromptReference},
};
use serde_json::{Value, json};

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

/// Projects the parameters of `completion/complete`.
pub fn project_complete_params(params: &mut Value, revision: Revision) {
    project_fields::<PromptReference>(params.get_mut("ref"), revision);
    project_fields::<CompleteParams>(Some(params), revision);
}

/// Projects a result of `completion/complete`, and truncates it to the number of values that every
/// revision allows.
pub fn project_complete_result(result: &mut Value, revision: Revision) {
    let Some(result) = result.as_object_mut() else { return };
    project_envelope(result, revision);
    let Some(completion) = result.get_mut("completion").and_then(Value::as_object_mut) else { return };
    let Some(values) = completion.get_mut("values").and_then(Value::as_array_mut) else { return };
    let total = values.len();
    if total > Completion::MAX_VALUES {
        values.truncate(Completion::MAX_VALUES);
        completion.insert("hasMore".to_owned(), json!(true));
        completion.entry("total").or_insert_with(|| json!(total));
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{project_result, testing::projected},
        *,
    };
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

    #[test]
    fn cmp_06_context_is_sent_where_the_revision_has_it() {
        let params = json!({"ref": {"type": "ref/prompt", "name": "p", "title": "P"}, "argument": {"name": "a", "value": ""},
            "context": {"arguments": {}}});
        let old = json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}});
        assert_eq!(projected(project_complete_params, &params, V2025_03_26), old);
        assert_eq!(projected(project_complete_params, &params, V2025_06_18), params);
    }

    #[test]
    fn cmp_02_more_than_a_hundred_values_are_cut() {
        let result = json!({"completion": {"values": vec!["v"; 101]}, "resultType": "complete"});
        for revision in Revision::ALL {
            let cut = projected(project_complete_result, &result, revision);
            assert_eq!(cut["completion"]["values"].as_array().unwrap().len(), 100);
            assert_eq!((&cut["completion"]["total"], &cut["completion"]["hasMore"]), (&json!(101), &json!(true)));
        }
        let few = json!({"completion": {"values": ["v"]}});
        assert_eq!(projected(project_complete_result, &few, V2024_11_05), few);
    }
}
