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
