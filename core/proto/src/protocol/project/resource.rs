//! Projection of resources, templates and contents.

use super::content::project_resource_contents;
use super::project_fields;
use super::project_list;
use crate::protocol::{
    Revision,
    model::{Annotations, Resource, ResourceTemplate},
};
use serde_json::Value;

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
    use super::super::{
        project_result,
        testing::{keys, projected},
    };
    use super::*;
    use crate::protocol::Revision::*;
    use serde_json::json;

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
