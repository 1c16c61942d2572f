//! Validates requests for input that a client receives.

use super::{capability::check_capability, check_elicitation, sampling_messages::check_messages};
use crate::protocol::{Revision, RpcError, fault::Fault, method, schema::SchemaAuthor};
use serde_json::Value;

/// Checks a server's request against the capabilities that the client declared to it. An undeclared
/// request is refused as an unknown method; an undeclared mode or use of tools, and malformed
/// parameters, are refused as invalid parameters.
///
/// # Errors
/// If the request is refused; the error is the response in the legacy era.
pub fn check_received(method: &str, params: &Value, capabilities: &Value, revision: Revision) -> Result<(), RpcError> {
    let capability = match method {
        method::ELICITATION_CREATE => "elicitation",
        method::SAMPLING_CREATE_MESSAGE => "sampling",
        method::ROOTS_LIST => "roots",
        _ => return Err(RpcError::method_not_found(method)),
    };
    if !capabilities.get(capability).is_some_and(Value::is_object) {
        let text = format!("{method} (the client did not declare the capability {capability})");
        return Err(RpcError::method_not_found(&text));
    }
    match method {
        method::ELICITATION_CREATE => check_elicitation(SchemaAuthor::Peer, params),
        method::SAMPLING_CREATE_MESSAGE => check_messages(params),
        _ => Ok(()),
    }
    .map_err(|Fault { path, problem }| RpcError::invalid_params(format!("params{path}: {problem}")))?;
    check_capability(method, params, capabilities, revision)
        .map_err(|unsupported| RpcError::invalid_params(unsupported.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Revision::*, error::code};
    use serde_json::json;

    fn refusal(method: &str, params: Value, capabilities: Value) -> Option<i64> {
        check_received(method, &params, &capabilities, V2025_11_25).err().map(|error| error.code)
    }

    #[test]
    fn root_04_undeclared_requests_are_unknown_methods() {
        assert_eq!(refusal(method::ROOTS_LIST, json!({}), json!({})), Some(code::METHOD_NOT_FOUND));
        assert_eq!(refusal(method::ROOTS_LIST, json!({}), json!({"roots": {}})), None);
        assert_eq!(refusal("tasks/get", json!({}), json!({"roots": {}})), Some(code::METHOD_NOT_FOUND));
    }

    #[test]
    fn eli_05_and_eli_06_undeclared_modes_are_invalid_parameters() {
        let form = json!({"message": "m", "requestedSchema": {"type": "object", "properties": {}}});
        let url = json!({"mode": "url", "message": "m", "url": "https://a.b/", "elicitationId": "e"});
        let create = method::ELICITATION_CREATE;
        assert_eq!(refusal(create, form.clone(), json!({"elicitation": {}})), None);
        assert_eq!(refusal(create, url.clone(), json!({"elicitation": {}})), Some(code::INVALID_PARAMS));
        assert_eq!(refusal(create, form, json!({"elicitation": {"url": {}}})), Some(code::INVALID_PARAMS));
        assert_eq!(refusal(create, url, json!({"elicitation": {"url": {}}})), None);
        let broken =
            json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}});
        assert_eq!(refusal(create, broken, json!({"elicitation": {}})), Some(code::INVALID_PARAMS));
    }

    #[test]
    fn smp_05_tools_need_their_capability_and_smp_08_results_of_tools_stand_alone() {
        let create = method::SAMPLING_CREATE_MESSAGE;
        let plain = json!({"maxTokens": 1, "messages": [{"role": "user", "content": {"type": "text", "text": "t"}}]});
        assert_eq!(refusal(create, plain.clone(), json!({"sampling": {}})), None);
        for member in ["tools", "toolChoice"] {
            let mut params = plain.clone();
            params[member] = json!({});
            assert_eq!(refusal(create, params.clone(), json!({"sampling": {}})), Some(code::INVALID_PARAMS));
            assert_eq!(refusal(create, params, json!({"sampling": {"tools": {}}})), None);
        }
        let result = json!({"type": "tool_result", "toolUseId": "1", "content": []});
        let mixed =
            json!({"maxTokens": 1, "messages": [{"role": "user", "content": [result, {"type": "text", "text": "t"}]}]});
        assert_eq!(refusal(create, mixed, json!({"sampling": {"tools": {}}})), Some(code::INVALID_PARAMS));
    }
}
