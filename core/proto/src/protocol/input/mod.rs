//! Requests from a server to its client: elicitation, sampling and roots. A request is validated
//! and projected before it is sent, and its response is validated. This applies both to JSON-RPC
//! requests (legacy) and to entries of `inputRequests` (2026-07-28).

mod answer;
mod capability;
mod compiled_form;
mod form_schema;
mod sampling_messages;

pub use answer::{AnswerError, check_answer, complete_answer};
pub use capability::{check_capability, check_received};
pub use compiled_form::Form;
pub use form_schema::{flattened_form, form_schema};
pub use sampling_messages::check_messages;

use super::{
    Revision,
    fault::Fault,
    method,
    project::{Unsupported, project_elicit_params, project_sampling_params},
    schema::SchemaAuthor,
    uri,
};
use serde_json::Value;

/// Why a request for input cannot be sent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(transparent)]
pub enum InputError {
    /// The client, or its revision, lacks a capability.
    Unsupported(#[from] Unsupported),
    /// The request is invalid, which is the caller's fault.
    Invalid(#[from] Fault),
}

/// Checks a request for input and projects its parameters: first its form, then the client's
/// capabilities, then the revision. `new_id` creates an `elicitationId` if one is needed.
///
/// # Errors
///
/// If the request is invalid, or the client does not support it.
pub fn prepare(
    method: &str,
    params: &mut Value,
    capabilities: &Value,
    revision: Revision,
    new_id: impl FnOnce() -> String,
) -> Result<(), InputError> {
    match method {
        method::ELICITATION_CREATE => check_elicitation(SchemaAuthor::Own, params)?,
        method::SAMPLING_CREATE_MESSAGE => check_messages(params)?,
        method::ROOTS_LIST => {}
        _ => {
            let known = method::INPUT_REQUESTS.join(", ");
            let problem = format!("{method:?} is not a request for input; use one of {known}");
            return Err(Fault::new("", problem).into());
        }
    }
    check_capability(method, params, capabilities, revision)?;
    match method {
        method::ELICITATION_CREATE => project_elicit_params(params, revision, new_id)?,
        method::SAMPLING_CREATE_MESSAGE => {
            capability::remove_undeclared_context(params, capabilities, revision);
            project_sampling_params(params, revision)?;
        }
        _ => {}
    }
    Ok(())
}

fn check_elicitation(author: SchemaAuthor, params: &Value) -> Result<(), Fault> {
    if !params.get("message").is_some_and(Value::is_string) {
        return Err(Fault::new("/message", "must be a string that says why the user is asked"));
    }
    match params.get("mode").map(Value::as_str) {
        None | Some(Some("form")) => match params.get("requestedSchema") {
            Some(schema) => {
                Form::compile(author, schema).map(drop).map_err(|invalid| invalid.below("/requestedSchema"))
            }
            None => Err(Fault::new("/requestedSchema", "is missing: a form needs the schema of its fields")),
        },
        Some(Some("url")) => match params.get("url").and_then(Value::as_str) {
            Some(url) => uri::check_url(url).map_err(|error| Fault::new("/url", error.to_string())),
            None => Err(Fault::new("/url", "must be a string")),
        },
        Some(_) => Err(Fault::new("/mode", "must be \"form\" or \"url\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn prepared(method: &str, params: Value, capabilities: Value, revision: Revision) -> Result<Value, InputError> {
        let mut params = params;
        prepare(method, &mut params, &capabilities, revision, || "new".to_owned())?;
        Ok(params)
    }

    fn invalid(method: &str, params: Value) -> String {
        match prepared(method, params, json!({}), Revision::LATEST) {
            Err(InputError::Invalid(invalid)) => invalid.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn eli_07_urls_and_forms_are_complete() {
        let create = method::ELICITATION_CREATE;
        assert!(invalid(create, json!({"mode": "url", "url": "https://a.b/"})).starts_with("/message: "));
        assert!(invalid(create, json!({"mode": "url", "message": "m"})).starts_with("/url: "));
        assert!(invalid(create, json!({"mode": "url", "message": "m", "url": "a b"})).starts_with("/url: "));
        assert!(invalid(create, json!({"mode": "form", "message": "m"})).starts_with("/requestedSchema: "));
        assert!(invalid(create, json!({"mode": 1, "message": "m"})).starts_with("/mode: "));
        let nested = json!({"type": "object", "properties": {"a": {"type": "object"}}});
        let text = invalid(create, json!({"message": "m", "requestedSchema": nested}));
        assert!(text.starts_with("/requestedSchema/properties/a/type: "), "{text}");
    }

    #[test]
    fn mrtr_03_only_three_methods_ask_for_input() {
        assert!(invalid("tools/call", json!({})).contains("roots/list"));
        assert_eq!(prepared("roots/list", json!({}), json!({"roots": {}}), Revision::LATEST), Ok(json!({})));
    }

    #[test]
    fn a_request_is_checked_then_held_against_the_capabilities_then_projected() {
        let url = json!({"mode": "url", "message": "m", "url": "https://a.b/"});
        let both = json!({"elicitation": {"form": {}, "url": {}}});
        let create = method::ELICITATION_CREATE;
        assert_eq!(prepared(create, url.clone(), both.clone(), Revision::V2025_11_25).unwrap()["elicitationId"], "new");
        assert_eq!(prepared(create, url.clone(), both, Revision::LATEST), Ok(url.clone()));
        assert!(matches!(
            prepared(create, url, json!({"elicitation": {}}), Revision::LATEST),
            Err(InputError::Unsupported(_))
        ));
    }

    #[test]
    fn smp_13_context_is_included_only_where_the_client_declared_it() {
        let params = json!({"messages": [], "maxTokens": 1, "includeContext": "allServers"});
        let at = |capability: Value, revision| {
            let capabilities = json!({"sampling": capability});
            prepared(method::SAMPLING_CREATE_MESSAGE, params.clone(), capabilities, revision).unwrap()
        };
        assert_eq!(at(json!({}), Revision::LATEST).get("includeContext"), None);
        assert_eq!(at(json!({"context": {}}), Revision::LATEST), params);
        assert_eq!(at(json!({}), Revision::V2025_06_18), params);
    }
}
