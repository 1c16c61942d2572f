//! Projection of content blocks, annotations, resources, templates and their contents.

use super::{project_fields, project_list, remove_fields};
use crate::protocol::{
    Revision, RevisionFeature,
    model::{Annotations, Resource, ResourceLink, ResourceTemplate, TextContent, TextResourceContents},
};
use serde_json::{Map, Value, json};

/// Projects a content block; `index` is its position in the list.
pub(super) fn project_block(block: &mut Value, index: usize, revision: Revision) {
    let Some(fields) = block.as_object_mut() else { return };
    // Of a block of any type, known or not.
    remove_fields::<TextContent>(fields, revision);
    project_fields::<Annotations>(fields.get_mut("annotations"), revision);
    match fields.get("type").and_then(Value::as_str) {
        Some("resource") => project_fields::<TextResourceContents>(fields.get_mut("resource"), revision),
        Some("resource_link") if !revision.supports(RevisionFeature::ResourceLink) => link_to_text(fields),
        Some("resource_link") => remove_fields::<ResourceLink>(fields, revision),
        Some("audio") if !revision.supports(RevisionFeature::AudioContent) => audio_to_resource(fields, index),
        _ => {}
    }
}

fn link_to_text(link: &mut Map<String, Value>) {
    let field = |key: &str| link.get(key).and_then(Value::as_str).unwrap_or_default();
    let text = format!("{}: {}", field("name"), field("uri"));
    for key in ["uri", "name", "title", "description", "mimeType", "size", "icons"] {
        link.shift_remove(key);
    }
    link.insert("type".to_owned(), json!("text"));
    link.insert("text".to_owned(), Value::String(text));
}

fn audio_to_resource(audio: &mut Map<String, Value>, index: usize) {
    let mut resource = Map::new();
    // Nothing can be read at this URI; it only distinguishes the blocks of one result.
    resource.insert("uri".to_owned(), Value::String(format!("audio:{}", index + 1)));
    resource.extend(audio.shift_remove("mimeType").map(|mime_type| ("mimeType".to_owned(), mime_type)));
    resource.insert("blob".to_owned(), audio.shift_remove("data").unwrap_or_default());
    audio.insert("type".to_owned(), json!("resource"));
    audio.insert("resource".to_owned(), Value::Object(resource));
}

/// Projects the contents of a resource.
pub fn project_resource_contents(contents: &mut Value, revision: Revision) {
    // Binary contents have the same ones.
    project_fields::<TextResourceContents>(Some(contents), revision);
}

/// Projects the blocks of a tool's result. Structured content that the revision does not support
/// remains visible: in the existing text, or in a new text block if there is none.
pub(super) fn project_tool_content(result: &mut Map<String, Value>, revision: Revision) {
    let kind = match result.get("structuredContent") {
        Some(Value::Object(_)) => RevisionFeature::StructuredContent,
        _ => RevisionFeature::AnyStructuredContent,
    };
    let structured = if revision.supports(kind) { None } else { result.shift_remove("structuredContent") };
    if let Some(content) = result.get_mut("content").and_then(Value::as_array_mut) {
        for (index, block) in content.iter_mut().enumerate() {
            project_block(block, index, revision);
        }
        if let (Some(value), true) = (structured, content.is_empty()) {
            content.push(json!({"type": "text", "text": value.to_string()}));
        }
    }
}

/// Projects a resource of `resources/list`.
pub fn project_resource(resource: &mut Value, revision: Revision) {
    project_fields::<Annotations>(resource.get_mut("annotations"), revision);
    project_fields::<Resource>(Some(resource), revision);
}

/// Projects a template of `resources/templates/list`.
pub fn project_resource_template(template: &mut Value, revision: Revision) {
    project_fields::<Annotations>(template.get_mut("annotations"), revision);
    project_fields::<ResourceTemplate>(Some(template), revision);
}

/// Projects a result of `resources/read`.
pub fn project_read_result(result: &mut Value, revision: Revision) {
    project_list(result, "contents", revision, project_resource_contents);
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            project_result, project_tool_result,
            testing::{keys, projected},
        },
        *,
    };
    use crate::protocol::Revision::*;
    use serde_json::json;

    #[test]
    fn blocks_that_a_revision_lacks_are_converted() {
        let result = json!({"content": [
            {"type": "resource_link", "uri": "a:b", "name": "n", "title": "T", "icons": [], "size": 1,
             "annotations": {"priority": 1, "lastModified": "2025-01-01T00:00:00Z"}, "_meta": {}},
            {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "t", "_meta": {}}},
            {"type": "hologram", "depth": 1},
        ]});
        let at = |revision| projected(project_tool_result, &result, revision)["content"].take();
        let link = json!({"type": "text", "text": "n: a:b", "annotations": {"priority": 1}});
        let resource = json!({"type": "resource", "resource": {"uri": "a:b", "text": "t"}});
        let sound =
            json!({"type": "resource", "resource": {"uri": "audio:2", "mimeType": "audio/wav", "blob": "AA=="}});
        assert_eq!(at(V2024_11_05), json!([link, sound, resource, {"type": "hologram", "depth": 1}]));
        assert_eq!(at(V2025_03_26)[0], link);
        assert_eq!(at(V2025_03_26)[1], result["content"][1]);
        let mut without_icons = result["content"][0].clone();
        without_icons.as_object_mut().unwrap().shift_remove("icons");
        assert_eq!(at(V2025_06_18)[0], without_icons);
        assert_eq!(at(V2025_11_25), result["content"]);
    }

    #[test]
    fn resources_keep_what_each_revision_defines() {
        let resource = json!({"uri": "a:b", "name": "n", "title": "T", "description": "d", "mimeType": "a/b", "size": 1, "icons": [],
            "annotations": {"priority": 1, "lastModified": "2025-01-01T00:00:00Z"}, "_meta": {}, "x-own": 1});
        let at = |revision| projected(project_resource, &resource, revision);
        for revision in [V2024_11_05, V2025_03_26] {
            assert_eq!(keys(&at(revision)).join(" "), "uri name description mimeType size annotations x-own");
            assert_eq!(at(revision)["annotations"], json!({"priority": 1}));
        }
        assert_eq!(
            keys(&at(V2025_06_18)).join(" "),
            "uri name title description mimeType size annotations _meta x-own"
        );
        assert_eq!(at(V2025_06_18)["annotations"], resource["annotations"]);
        assert_eq!(at(V2025_11_25), resource);
        assert_eq!(at(V2026_07_28), resource);
        let list = json!({"resources": [resource], "nextCursor": "c", "ttlMs": 0, "cacheScope": "private"});
        assert_eq!(
            projected(|list, at| project_result("resources/list", list, at), &list, V2024_11_05),
            json!({"resources": [at(V2024_11_05)], "nextCursor": "c"})
        );
    }

    #[test]
    fn templates_keep_what_each_revision_defines() {
        let template =
            json!({"uriTemplate": "a:{b}", "name": "n", "title": "T", "icons": [], "_meta": {}, "annotations": {}});
        let list = json!({"resourceTemplates": [template], "resultType": "complete"});
        let at = |revision| projected(|list, at| project_result("resources/templates/list", list, at), &list, revision);
        assert_eq!(keys(&at(V2025_03_26)["resourceTemplates"][0]).join(" "), "uriTemplate name annotations");
        assert_eq!(
            keys(&at(V2025_06_18)["resourceTemplates"][0]).join(" "),
            "uriTemplate name title _meta annotations"
        );
        assert_eq!(at(V2025_11_25), json!({"resourceTemplates": [template]}));
        assert_eq!(at(V2026_07_28), list);
    }

    #[test]
    fn contents_lose_hints_and_metadata_that_a_revision_lacks() {
        let result = json!({"contents": [{"uri": "a:b", "text": "t", "_meta": {"ui": {}}}], "ttlMs": 5, "cacheScope": "public",
            "resultType": "complete"});
        let at = |revision| projected(project_read_result, &result, revision);
        assert_eq!(at(V2025_03_26), json!({"contents": [{"uri": "a:b", "text": "t"}]}));
        assert_eq!(at(V2025_11_25), json!({"contents": result["contents"]}));
        assert_eq!(at(V2026_07_28), result);
    }
}
