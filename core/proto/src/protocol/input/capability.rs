//! The client capabilities that requests of a server need: before one is sent, and when a client
//! receives one.

use super::{check_elicitation, sampling_messages::check_messages};
use crate::protocol::{
    Revision, RevisionFeature, RpcError, fault::Fault, method, project::Unsupported, schema::SchemaAuthor,
};
use serde_json::{Value, json};

/// Checks that a client has declared what a request for input requires.
///
/// # Errors
///
/// If it has not; the error has the missing capabilities.
pub fn check_capability(
    method: &str,
    params: &Value,
    capabilities: &Value,
    revision: Revision,
) -> Result<(), Unsupported> {
    let declared = |path: &str| capabilities.pointer(path).is_some_and(Value::is_object);
    let (fits, what, required) = match method {
        method::ROOTS_LIST => (declared("/roots"), "roots", json!({"roots": {}})),
        method::SAMPLING_CREATE_MESSAGE => {
            let uses_tools = params.get("tools").is_some() || params.get("toolChoice").is_some();
            // In revisions without tools in sampling, no client declares them; projection handles
            // these.
            if uses_tools && revision.supports(RevisionFeature::SamplingTools) {
                (declared("/sampling/tools"), "sampling with tools", json!({"sampling": {"tools": {}}}))
            } else {
                (declared("/sampling"), "sampling", json!({"sampling": {}}))
            }
        }
        method::ELICITATION_CREATE if params.get("mode") == Some(&json!("url")) => {
            (declared("/elicitation/url"), "elicitation by URL", json!({"elicitation": {"url": {}}}))
        }
        method::ELICITATION_CREATE if revision.supports(RevisionFeature::ElicitationModes) => {
            // An empty capability means forms (ELI-03).
            let forms = declared("/elicitation/form") || !declared("/elicitation/url");
            (declared("/elicitation") && forms, "elicitation by form", json!({"elicitation": {"form": {}}}))
        }
        method::ELICITATION_CREATE => (declared("/elicitation"), "elicitation", json!({"elicitation": {}})),
        _ => return Ok(()),
    };
    if fits { Ok(()) } else { Err(Unsupported::new(format!("The client did not declare {what}"), required)) }
}

/// Removes values of `includeContext` that require an undeclared capability (SMP-13); the client
/// then includes no context.
pub(super) fn remove_undeclared_context(params: &mut Value, capabilities: &Value, revision: Revision) {
    let declared = capabilities.pointer("/sampling/context").is_some_and(Value::is_object);
    if revision.supports(RevisionFeature::SamplingTools)
        && !declared
        && let Some(params) = params.as_object_mut()
        && params.get("includeContext").is_some_and(|context| context != "none")
    {
        params.shift_remove("includeContext");
    }
}

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

    fn missing(method: &str, params: Value, capabilities: Value, revision: Revision) -> Option<Value> {
        check_capability(method, &params, &capabilities, revision).err().map(|unsupported| unsupported.required)
    }

    #[test]
    fn eli_04_only_declared_modes_are_requested() {
        let create = method::ELICITATION_CREATE;
        let (form, url) = (json!({}), json!({"mode": "url"}));
        let needs_form = Some(json!({"elicitation": {"form": {}}}));
        let needs_url = Some(json!({"elicitation": {"url": {}}}));
        for revision in [V2025_11_25, V2026_07_28] {
            for (capability, form_needs, url_needs) in [
                (json!({}), &needs_form, &needs_url),
                (json!({"elicitation": {}}), &None, &needs_url),
                (json!({"elicitation": {"form": {}}}), &None, &needs_url),
                (json!({"elicitation": {"url": {}}}), &needs_form, &None),
                (json!({"elicitation": {"form": {}, "url": {}}}), &None, &None),
                (json!({"elicitation": null}), &needs_form, &needs_url),
            ] {
                assert_eq!(&missing(create, form.clone(), capability.clone(), revision), form_needs, "{capability}");
                assert_eq!(&missing(create, url.clone(), capability.clone(), revision), url_needs, "{capability}");
            }
        }
        assert_eq!(missing(create, form.clone(), json!({"elicitation": {}}), V2025_06_18), None);
        assert_eq!(missing(create, form, json!({}), V2025_06_18), Some(json!({"elicitation": {}})));
    }

    #[test]
    fn smp_04_tools_go_only_to_clients_that_declared_them() {
        let create = method::SAMPLING_CREATE_MESSAGE;
        let plain = json!({"sampling": {}});
        for params in [json!({"tools": []}), json!({"toolChoice": {}})] {
            let needs = Some(json!({"sampling": {"tools": {}}}));
            assert_eq!(missing(create, params.clone(), plain.clone(), V2026_07_28), needs);
            assert_eq!(missing(create, params.clone(), json!({"sampling": {"tools": {}}}), V2025_11_25), None);
        }
        assert_eq!(missing(create, json!({}), plain, V2026_07_28), None);
        assert_eq!(missing(create, json!({}), json!({}), V2024_11_05), Some(json!({"sampling": {}})));
    }

    #[test]
    fn root_07_roots_are_asked_of_clients_that_declared_them() {
        assert_eq!(missing(method::ROOTS_LIST, json!({}), json!({}), V2024_11_05), Some(json!({"roots": {}})));
        assert_eq!(missing(method::ROOTS_LIST, json!({}), json!({"roots": {"listChanged": true}}), V2024_11_05), None);
    }

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
