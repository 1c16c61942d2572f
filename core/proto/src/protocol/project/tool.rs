//! Projection of tools and their results.

use super::content::project_tool_content;
use super::project_envelope;
use super::remove_fields;
use crate::protocol::{
    Revision, RevisionFeature,
    model::{CallToolResult, Tool},
};
use serde_json::{Map, Value, json};

/// Projects a tool of `tools/list`.
pub fn project_tool(tool: &mut Value, revision: Revision) {
    let Some(tool) = tool.as_object_mut() else { return };
    remove_fields::<Tool>(tool, revision);
    if revision.supports(RevisionFeature::AnyStructuredContent) {
        return;
    }
    if tool.get("outputSchema").is_some_and(|schema| schema.get("type") != Some(&json!("object"))) {
        tool.shift_remove("outputSchema");
    }
    for schema in ["inputSchema", "outputSchema"] {
        if let Some(properties) = tool.get_mut(schema).and_then(|schema| schema.get_mut("properties")) {
            spell_out_boolean_schemas(properties);
        }
    }
}

/// Projects a result of `tools/call`.
pub fn project_tool_result(result: &mut Value, revision: Revision) {
    let Some(result) = result.as_object_mut() else { return };
    project_tool_content(result, revision);
    remove_fields::<CallToolResult>(result, revision);
    project_envelope(result, revision);
}

/// Before 2026-07-28, the schema of a property is an object.
fn spell_out_boolean_schemas(properties: &mut Value) {
    for schema in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
        match schema {
            Value::Bool(true) => *schema = json!({}),
            Value::Bool(false) => *schema = json!({"not": {}}),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{keys, projected};
    use super::*;
    use crate::protocol::Revision::*;

    #[test]
    fn tools_keep_what_each_revision_defines_and_what_no_revision_defines() {
        let tool = json!({
            "name": "t", "title": "T", "description": "d", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"},
            "annotations": {"title": "A"}, "icons": [], "execution": {"taskSupport": "optional"}, "_meta": {}, "x-own": 1,
        });
        let fields = |revision| keys(&projected(project_tool, &tool, revision)).join(" ");
        assert_eq!(fields(V2024_11_05), "name description inputSchema x-own");
        assert_eq!(fields(V2025_03_26), "name description inputSchema annotations x-own");
        assert_eq!(fields(V2025_06_18), "name title description inputSchema outputSchema annotations _meta x-own");
        assert_eq!(
            fields(V2025_11_25),
            "name title description inputSchema outputSchema annotations icons execution _meta x-own"
        );
        assert_eq!(
            fields(V2026_07_28),
            "name title description inputSchema outputSchema annotations icons _meta x-own"
        );
    }

    #[test]
    fn tool_16_schemas_are_objects_before_2026_07_28() {
        let tool = json!({
            "name": "t",
            "inputSchema": {"type": "object", "properties": {"any": true, "none": false, "n": {"type": "integer"}}},
            "outputSchema": {"type": "array"},
        });
        let legacy = projected(project_tool, &tool, V2025_11_25);
        assert_eq!(
            legacy["inputSchema"]["properties"],
            json!({"any": {}, "none": {"not": {}}, "n": {"type": "integer"}})
        );
        assert_eq!(legacy.get("outputSchema"), None);
        assert_eq!(projected(project_tool, &tool, V2026_07_28), tool);
    }

    #[test]
    fn tool_16_structured_content_is_sent_where_the_revision_has_it() {
        let object = json!({"content": [{"type": "text", "text": "kept"}], "structuredContent": {"a": 1}});
        assert_eq!(projected(project_tool_result, &object, V2025_06_18), object);
        let text_only = json!({"content": [{"type": "text", "text": "kept"}]});
        assert_eq!(projected(project_tool_result, &object, V2025_03_26), text_only);

        let array = json!({"content": [], "structuredContent": [1, 2], "isError": false});
        assert_eq!(projected(project_tool_result, &array, V2026_07_28), array);
        let as_text = json!({"content": [{"type": "text", "text": "[1,2]"}], "isError": false});
        for revision in [V2024_11_05, V2025_06_18, V2025_11_25] {
            assert_eq!(projected(project_tool_result, &array, revision), as_text);
        }
    }
}
