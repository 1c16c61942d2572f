//! Projection of completion.

use super::project_envelope;
use super::project_fields;
use crate::protocol::{
    Revision,
    model::{CompleteParams, Completion, PromptReference},
};
use serde_json::{Value, json};

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
    use super::super::testing::projected;
    use super::*;
    use crate::protocol::Revision::*;

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
