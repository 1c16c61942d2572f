//! Validates a client's responses to requests for input.

use super::Form;
use crate::protocol::{
    Revision, method,
    model::{CreateMessageResult, ElicitAction, ElicitResult, ListRootsResult},
    schema::{Invalid, SchemaAuthor},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Why a response is not acceptable.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// The answer is not a response to this request at all.
    #[error("the response is malformed: {0}")]
    Malformed(String),
    /// The user accepted, but the values do not match the form. The handler may ask again.
    #[error("the submitted content does not match the form: {0}")]
    Mismatch(Invalid),
}

/// Completes and checks the host's response to a request for input with these parameters. Missing
/// fields of a form get their defaults, content is removed unless a form was accepted, and a
/// message of the model has a single block if the revision has no lists of blocks.
///
/// # Errors
///
/// As for [`check_answer`].
pub fn complete_answer(
    method: &str,
    params: &Value,
    mut answer: Value,
    revision: Revision,
) -> Result<Value, AnswerError> {
    if method == method::ELICITATION_CREATE {
        complete_content(params, &mut answer);
    }
    if method == method::SAMPLING_CREATE_MESSAGE {
        to_one_block(&mut answer, revision)?;
    }
    check(SchemaAuthor::Peer, method, params, &answer).map(|()| answer)
}

/// Before 2025-11-25, the content of a message is one block. Since then it may be a list, but the
/// official SDKs accept lists only if tools are offered, so a single block is never sent as a list.
fn to_one_block(answer: &mut Value, revision: Revision) -> Result<(), AnswerError> {
    match answer.get_mut("content") {
        Some(Value::Array(blocks)) if blocks.len() == 1 => answer["content"] = blocks.remove(0),
        Some(Value::Array(blocks)) if revision < Revision::V2025_11_25 => {
            let text =
                format!("the content has {} blocks, but a message in {revision} can only have one", blocks.len());
            return Err(AnswerError::Malformed(text));
        }
        _ => {}
    }
    Ok(())
}

fn complete_content(params: &Value, answer: &mut Value) {
    let Some(answer) = answer.as_object_mut() else { return };
    let schema = params.get("requestedSchema");
    let (Some(schema), Some("accept")) = (schema, answer.get("action").and_then(Value::as_str)) else {
        answer.shift_remove("content");
        return;
    };
    let content = answer.entry("content").or_insert(Value::Null);
    if content.is_null() {
        *content = json!({});
    }
    let (Some(content), Some(fields)) = (content.as_object_mut(), schema.get("properties").and_then(Value::as_object))
    else {
        return;
    };
    for (name, field) in fields {
        if let Some(default) = field.get("default")
            && !content.contains_key(name)
        {
            content.insert(name.clone(), default.clone());
        }
    }
}

/// Checks the response to a request of this program for input, with these parameters.
///
/// # Errors
///
/// If it is malformed, or does not match the form.
pub fn check_answer(method: &str, params: &Value, answer: &Value) -> Result<(), AnswerError> {
    check(SchemaAuthor::Own, method, params, answer)
}

fn check(asker: SchemaAuthor, method: &str, params: &Value, answer: &Value) -> Result<(), AnswerError> {
    match method {
        method::ELICITATION_CREATE => {
            let result: ElicitResult = read(answer)?;
            match params.get("requestedSchema") {
                Some(schema) if result.action == ElicitAction::Accept => {
                    let form = Form::compile(asker, schema);
                    let form = form.map_err(|invalid| AnswerError::Malformed(invalid.to_string()))?;
                    let nothing = json!({});
                    let content = answer.get("content").filter(|content| !content.is_null()).unwrap_or(&nothing);
                    form.check(content).map_err(AnswerError::Mismatch)
                }
                _ => Ok(()),
            }
        }
        method::SAMPLING_CREATE_MESSAGE => read::<CreateMessageResult>(answer).map(drop),
        method::ROOTS_LIST if answer.get("roots").is_some() => read::<ListRootsResult>(answer).map(drop),
        method::ROOTS_LIST => Err(AnswerError::Malformed("missing field `roots`".to_owned())),
        _ => Err(AnswerError::Malformed(format!("{method:?} is not a request for input"))),
    }
}

fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, AnswerError> {
    T::deserialize(answer).map_err(|error| AnswerError::Malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(method: &str, params: Value, answer: Value) -> String {
        check_answer(method, &params, &answer).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[cfg(feature = "schema-validation")]
    #[test]
    fn eli_11_eli_12_accepted_content_matches_the_form() {
        let ask = |answer: Value| {
            let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
            problem(method::ELICITATION_CREATE, json!({"message": "m", "requestedSchema": schema}), answer)
        };
        assert_eq!(ask(json!({"action": "accept", "content": {"n": 1}})), "");
        assert!(ask(json!({"action": "accept", "content": {"n": "x"}})).contains("/n: "));
        assert!(ask(json!({"action": "accept"})).contains("does not match the form"));
        for action in ["decline", "cancel"] {
            assert_eq!(ask(json!({"action": action, "content": {"n": "x"}})), "");
        }
    }

    #[cfg(feature = "schema-validation")]
    #[test]
    fn eli_10_defaults_fill_the_fields_that_were_left_out() {
        let fields = json!({"a": {"type": "string", "default": "x"}, "b": {"type": "integer", "default": 3}, "c": {"type": "string"}});
        let params = json!({"message": "m", "requestedSchema": {"type": "object", "properties": fields}});
        let complete = |answer| complete_answer(method::ELICITATION_CREATE, &params, answer, Revision::V2025_11_25);
        assert_eq!(complete(json!({"action": "accept"})).unwrap()["content"], json!({"a": "x", "b": 3}));
        let given = json!({"action": "accept", "content": {"b": 4, "c": "z"}});
        assert_eq!(complete(given).unwrap()["content"], json!({"b": 4, "c": "z", "a": "x"}));
        // MISC-11
        let declined = json!({"action": "decline", "content": {"b": 4}});
        assert_eq!(complete(declined).unwrap(), json!({"action": "decline"}));
        let wrong = json!({"action": "accept", "content": {"b": "four"}});
        assert!(matches!(complete(wrong), Err(AnswerError::Mismatch(_))), "ELI-11");
        let url = json!({"mode": "url", "message": "m", "url": "https://a.b/"});
        let answer = json!({"action": "accept", "content": {"secret": 1}});
        assert_eq!(
            complete_answer(method::ELICITATION_CREATE, &url, answer, Revision::V2025_11_25).unwrap(),
            json!({"action": "accept"})
        );
    }

    #[test]
    fn mrtr_12_malformed_answers_differ_from_answers_that_do_not_match() {
        let url = json!({"mode": "url", "message": "m", "url": "https://a.b/"});
        assert_eq!(problem(method::ELICITATION_CREATE, url.clone(), json!({"action": "accept"})), "");
        for (method, answer) in [
            (method::ELICITATION_CREATE, json!({})),
            (method::ELICITATION_CREATE, json!({"action": "yes"})),
            (method::ELICITATION_CREATE, json!({"action": "accept", "content": []})),
            (method::ELICITATION_CREATE, json!([])),
            (method::SAMPLING_CREATE_MESSAGE, json!({"role": "assistant", "content": {"type": "text", "text": "t"}})),
            (method::SAMPLING_CREATE_MESSAGE, json!(null)),
            (method::ROOTS_LIST, json!({})),
            (method::ROOTS_LIST, json!({"roots": [{}]})),
            ("ping", json!({})),
        ] {
            assert!(problem(method, url.clone(), answer.clone()).contains("malformed"), "{method}: {answer}");
        }
        let said = json!({"role": "assistant", "content": {"type": "text", "text": "t"}, "model": "m"});
        assert_eq!(problem(method::SAMPLING_CREATE_MESSAGE, json!({}), said), "");
        assert_eq!(problem(method::ROOTS_LIST, json!({}), json!({"roots": [{"uri": "file:///a"}]})), "");
    }

    #[test]
    fn smp_08_older_revisions_have_one_block_in_a_message() {
        let block = json!({"type": "text", "text": "a"});
        let complete = |content: Value, revision| {
            let answer = json!({"role": "assistant", "model": "m", "content": content});
            complete_answer(method::SAMPLING_CREATE_MESSAGE, &json!({}), answer, revision)
                .map(|answer| answer["content"].clone())
        };
        assert_eq!(complete(json!([block]), Revision::V2025_06_18), Ok(block.clone()));
        assert_eq!(complete(json!([block]), Revision::V2025_11_25), Ok(block.clone()), "alone, it is not a list");
        assert_eq!(complete(json!([block, block]), Revision::V2025_11_25), Ok(json!([block, block])));
        assert_eq!(complete(block.clone(), Revision::V2024_11_05), Ok(block.clone()));
        let error = complete(json!([block, block]), Revision::V2025_03_26).unwrap_err().to_string();
        assert!(error.contains("2 blocks") && error.contains("2025-03-26"), "{error}");
    }
}
