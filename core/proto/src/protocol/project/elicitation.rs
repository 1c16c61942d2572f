//! Projection of elicitations.

use super::Unsupported;
use super::fields::{ProjectedObject, remove_fields};
use crate::protocol::{Revision, RevisionFeature};
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
    remove_fields(params, ProjectedObject::ElicitParams, revision);
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
mod tests {
    use super::*;
    use crate::protocol::Revision::*;

    fn at(params: &Value, revision: Revision) -> Result<Value, Unsupported> {
        let mut params = params.clone();
        project_elicit_params(&mut params, revision, || "new".to_owned())?;
        Ok(params)
    }

    #[test]
    fn what_is_removed_leaves_the_order_of_the_other_members() {
        let params: Value = serde_json::from_str(
            r#"{"mode":"form","elicitationId":"e","requestedSchema":{"$schema":"s","type":"object","properties":
                {"reasoning":{"default":"d","type":"string","title":"R","description":"D"},"answer":{"type":"string"}}},
                "message":"m","z":1,"a":2}"#,
        )
        .unwrap();
        let text = r#"{"requestedSchema":{"type":"object","properties":{"reasoning":{"type":"string","title":"R","description":"D"},"answer":{"type":"string"}}},"message":"m","z":1,"a":2}"#;
        assert_eq!(at(&params, V2025_06_18).unwrap().to_string(), text);
    }

    #[test]
    fn eli_04_revisions_without_elicitation_or_urls_refuse_them() {
        let form = json!({"message": "m", "requestedSchema": {"type": "object", "properties": {}}});
        let url = json!({"mode": "url", "message": "m", "url": "https://a.b/"});
        for revision in [V2024_11_05, V2025_03_26] {
            assert_eq!(at(&form, revision).unwrap_err().required, json!({"elicitation": {}}));
            assert_eq!(at(&url, revision).unwrap_err().required, json!({"elicitation": {}}));
        }
        let error = at(&url, V2025_06_18).unwrap_err();
        assert_eq!(error.required, json!({"elicitation": {"url": {}}}));
        assert!(error.to_string().contains("not by URL"));
        assert_eq!(crate::protocol::RpcError::from(error).code, -32021);
    }

    #[test]
    fn eli_28_eli_33_urls_have_an_id_on_2025_11_25_only() {
        let url = json!({"mode": "url", "message": "m", "url": "https://a.b/", "_meta": {}});
        assert_eq!(at(&url, V2025_11_25).unwrap()["elicitationId"], "new");
        let mut with_id = url.clone();
        with_id["elicitationId"] = json!("mine");
        assert_eq!(at(&with_id, V2025_11_25).unwrap(), with_id);
        assert_eq!(at(&with_id, V2026_07_28).unwrap(), json!({"mode": "url", "message": "m", "url": "https://a.b/"}));
    }

    #[test]
    fn eli_09_titled_choices_have_their_older_spelling_on_2025_06_18() {
        let form = json!({"mode": "form", "message": "m", "requestedSchema": {"$schema": "s", "type": "object", "properties": {
            "unit": {"type": "string", "oneOf": [{"const": "c", "title": "C"}, {"const": "f", "title": "F"}], "default": "c"},
            "days": {"type": "integer", "default": 3},
            "sure": {"type": "boolean", "default": true},
        }, "required": ["unit"]}});
        assert_eq!(
            at(&form, V2025_06_18).unwrap(),
            json!({"message": "m", "requestedSchema": {"type": "object", "properties": {
                "unit": {"type": "string", "enum": ["c", "f"], "enumNames": ["C", "F"]},
                "days": {"type": "integer"},
                "sure": {"type": "boolean", "default": true},
            }, "required": ["unit"]}})
        );
        for revision in [V2025_11_25, V2026_07_28] {
            assert_eq!(at(&form, revision).unwrap(), form);
        }
    }

    #[test]
    fn eli_09_several_choices_are_refused_on_2025_06_18() {
        let form = json!({"message": "m", "requestedSchema": {"type": "object", "properties": {
            "days": {"type": "array", "items": {"type": "string", "enum": ["a"]}}}}});
        assert!(at(&form, V2025_06_18).unwrap_err().why.contains("\"days\""));
        assert_eq!(at(&form, V2025_11_25).unwrap(), form);
    }
}
