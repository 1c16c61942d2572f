//! Projection of elicitations.

use super::Unsupported;
use super::{remove_fields, task::remove_task};
use crate::protocol::{Revision, RevisionFeature, model::ElicitUrlParams};
use serde_json::{Map, Value, json};

/// Projects the parameters of `elicitation/create`. `new_id` creates the `elicitationId` that URLs
/// need on 2025-11-25, unless there already is one.
///
/// # Errors
///
/// If the revision cannot express the request.
pub fn project_elicit_params(
    params: &mut Value,
    revision: Revision,
    new_id: impl FnOnce() -> String,
) -> Result<(), Unsupported> {
    let Some(params) = params.as_object_mut() else { return Ok(()) };
    if !revision.supports(RevisionFeature::Elicitation) {
        return Err(Unsupported::new(format!("{revision} does not support elicitation"), json!({"elicitation": {}})));
    }
    let is_url = params.get("mode") == Some(&json!("url"));
    if is_url && !revision.supports(RevisionFeature::ElicitationModes) {
        let why = format!("{revision} supports elicitation by form only, not by URL");
        return Err(Unsupported::new(why, json!({"elicitation": {"url": {}}})));
    }
    // Forms have no others.
    remove_fields::<ElicitUrlParams>(params, revision);
    remove_task(params, revision);
    if is_url {
        if revision.supports(RevisionFeature::ElicitationIds) && !params.contains_key("elicitationId") {
            params.insert("elicitationId".to_owned(), Value::String(new_id()));
        }
    } else {
        params.shift_remove("elicitationId");
        if let Some(form) = params.get_mut("requestedSchema").and_then(Value::as_object_mut) {
            project_form(form, revision)?;
        }
    }
    Ok(())
}

fn project_form(form: &mut Map<String, Value>, revision: Revision) -> Result<(), Unsupported> {
    if revision.supports(RevisionFeature::ElicitationChoices) {
        return Ok(());
    }
    form.shift_remove("$schema");
    for (name, field) in form.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(field) = field.as_object_mut() else { continue };
        if field.get("type") == Some(&json!("array")) {
            let why = format!("{revision} does not support multiple choice, which the field \"{name}\" needs");
            return Err(Unsupported::new(why, json!({"elicitation": {"form": {}}})));
        }
        if let Some(Value::Array(choices)) = field.shift_remove("oneOf") {
            let column = |key: &str| choices.iter().filter_map(|choice| choice.get(key).cloned()).collect::<Value>();
            field.insert("enum".to_owned(), column("const"));
            field.insert("enumNames".to_owned(), column("title"));
        }
        // Only booleans have defaults in that revision.
        if field.get("type") != Some(&json!("boolean")) {
            field.shift_remove("default");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
