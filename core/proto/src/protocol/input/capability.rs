//! The client capabilities that each request of a server requires.

use crate::protocol::{Revision, RevisionFeature, method, project::Unsupported};
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Revision::*;

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
}
