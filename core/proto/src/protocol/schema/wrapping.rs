//! Structured content is an object: other values are its member `result`.

use super::keywords::change_subschemas;
use serde_json::{Value, json};

/// Returns the schema of `{"result": value}` for the schema of a value.
pub fn wrapped(mut value: Value) -> Value {
    let mut root = json!({"type": "object", "properties": {}, "required": ["result"]});
    let mut shared = vec!["$schema"];
    // References inside a schema with an `$id` are relative to it, wherever the schema is.
    if value.get("$id").is_none() {
        relocate(&mut value);
        shared.push(DEFINITIONS);
    }
    for keyword in shared {
        if let Some(found) = value.as_object_mut().and_then(|members| members.shift_remove(keyword)) {
            root[keyword] = found;
        }
    }
    root["properties"]["result"] = value;
    root
}

/// Stays at the root, and so do references to it.
const DEFINITIONS: &str = "$defs";

/// Lets local references follow a schema from the root to `/properties/result`.
fn relocate(schema: &mut Value) {
    if let Some(Value::String(reference)) = schema.get_mut("$ref")
        && let Some(path) = reference.strip_prefix('#')
        && (path.is_empty() || path.starts_with('/'))
        && path.split('/').nth(1) != Some(DEFINITIONS)
    {
        *reference = format!("#/properties/result{path}");
    }
    change_subschemas(schema, relocate);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_follow_what_they_refer_to() {
        let tree = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "array",
            "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/leaf"}, {"$ref": "#/contains"}, {"$ref": "#named"}]},
            "contains": {"const": {"$ref": "#"}},
            "$defs": {"leaf": {"properties": {"default": {"$ref": "#/items"}}}},
        });
        assert_eq!(
            wrapped(tree),
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"result": {
                    "type": "array",
                    "items": {"anyOf": [
                        {"$ref": "#/properties/result"},
                        {"$ref": "#/$defs/leaf"},
                        {"$ref": "#/properties/result/contains"},
                        {"$ref": "#named"},
                    ]},
                    "contains": {"const": {"$ref": "#"}},
                }},
                "required": ["result"],
                "$defs": {"leaf": {"properties": {"default": {"$ref": "#/properties/result/items"}}}},
            })
        );
    }

    #[test]
    fn a_schema_with_an_id_stays_as_it_is() {
        let schema = json!({"$id": "https://example.com/a", "$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}});
        let object = wrapped(schema.clone());
        assert_eq!(object["properties"]["result"], schema);
        assert_eq!(object.get("$defs"), None);
    }

    #[cfg(feature = "schema-validation")]
    #[test]
    fn wrapped_values_are_checked_like_the_values() {
        let tree = wrapped(json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]}));
        let tree = super::super::Schema::compile(&tree).unwrap();
        assert!(tree.validate(&json!({"result": [1, [2]]})).is_ok());
        assert!(tree.validate(&json!({"result": [1, ["2"]]})).is_err());
    }
}
