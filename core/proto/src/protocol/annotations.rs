//! Annotations of resources, templates and content: intended audience, importance, and time of the
//! last change.

use super::schema::{Invalid, Schema};
use once_cell::race::OnceBox;
use serde_json::{Value, json};

/// Checks the annotations that a server declares: `priority` from 0 to 1, `lastModified` in ISO
/// 8601, and known audiences.
///
/// # Errors
///
/// If one of them is invalid; the error names the field.
pub fn check_annotations(annotations: &Value) -> Result<(), Invalid> {
    static SCHEMA: OnceBox<Option<Schema>> = OnceBox::new();
    let schema = SCHEMA.get_or_init(|| {
        // The dialect in which `format` is an assertion.
        let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {
            "audience": {"type": "array", "items": {"enum": ["user", "assistant"]}},
            "priority": {"type": "number", "minimum": 0, "maximum": 1},
            "lastModified": {"type": "string", "anyOf": [{"format": "date-time"}, {"format": "date"}]},
        }});
        Box::new(Schema::compile(&schema).ok())
    });
    schema.as_ref().map_or(Ok(()), |schema| schema.validate(annotations))
}

#[cfg(all(test, feature = "schema-validation"))]
mod tests {
    use super::*;

    #[test]
    fn res_16_priority_lies_in_0_to_1_and_times_are_iso_8601() {
        for good in [
            json!({}),
            json!({"audience": ["user", "assistant"], "priority": 0, "lastModified": "2025-01-12T15:00:58Z", "own": 1}),
            json!({"priority": 1.0, "lastModified": "2025-01-12"}),
        ] {
            assert_eq!(check_annotations(&good), Ok(()));
        }
        for (bad, path) in [
            (json!({"priority": 1.1}), "/priority"),
            (json!({"priority": "high"}), "/priority"),
            (json!({"audience": ["robot"]}), "/audience/0"),
            (json!({"lastModified": "yesterday"}), "/lastModified"),
            (json!({"lastModified": 1736694058}), "/lastModified"),
            (json!([]), ""),
        ] {
            assert_eq!(check_annotations(&bad).unwrap_err().failures()[0].path, path, "{bad}");
        }
    }
}
