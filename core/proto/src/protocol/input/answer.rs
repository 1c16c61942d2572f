//! Answers of a client.

use super::Form;
use crate::protocol::{
    method,
    model::{CreateMessageResult, ElicitAction, ElicitResult, ListRootsResult},
    schema::Invalid,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt;

/// Why an answer cannot be taken as it is.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerError {
    /// It is no answer to this request at all (MRTR-12).
    Malformed(String),
    /// The user accepted, but what was filled in does not match the form (ELI-11). The handler may ask again.
    Mismatch(Invalid),
}

/// Checks the answer to a request for input, whose parameters were these.
///
/// # Errors
///
/// It is malformed, or does not match the form.
pub fn check_answer(method: &str, params: &Value, answer: &Value) -> Result<(), AnswerError> {
    match method {
        method::ELICITATION_CREATE => {
            let result: ElicitResult = read(answer)?;
            match params.get("requestedSchema") {
                Some(schema) if result.action == ElicitAction::Accept => {
                    let form = Form::compile(schema).map_err(|invalid| AnswerError::Malformed(invalid.to_string()))?;
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
        _ => Err(AnswerError::Malformed(format!("{method:?} asks for no input"))),
    }
}

fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, AnswerError> {
    T::deserialize(answer).map_err(|error| AnswerError::Malformed(error.to_string()))
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(problem) => write!(f, "the answer is malformed: {problem}"),
            Self::Mismatch(invalid) => write!(f, "what the user filled in does not match the form: {invalid}"),
        }
    }
}

impl std::error::Error for AnswerError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(method: &str, params: Value, answer: Value) -> String {
        check_answer(method, &params, &answer).map_or_else(|error| error.to_string(), |()| String::new())
    }

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

    #[test]
    fn mrtr_12_malformed_answers_are_told_from_answers_that_do_not_match() {
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
}
