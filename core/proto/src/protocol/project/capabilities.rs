//! Projection of names and capabilities.

use super::project_fields;
use crate::protocol::{
    Era, Revision, RevisionFeature,
    model::{ClientCapabilities, ElicitationCapability, Implementation, SamplingCapability, ServerCapabilities},
};
use serde_json::Value;

/// Projects the name of a client or server.
pub fn project_implementation(implementation: &mut Value, revision: Revision) {
    project_fields::<Implementation>(Some(implementation), revision);
}

/// Projects the capabilities of a server.
pub fn project_server_capabilities(capabilities: &mut Value, revision: Revision) {
    project_fields::<ServerCapabilities>(Some(capabilities), revision);
}

/// Projects the capabilities of a client.
pub fn project_client_capabilities(capabilities: &mut Value, revision: Revision) {
    project_fields::<ClientCapabilities>(Some(&mut *capabilities), revision);
    let Some(capabilities) = capabilities.as_object_mut() else { return };
    // Before modes existed, the capability meant forms, so a client that only opens URLs does not
    // have it.
    let url_only = |modes: &Value| modes.get("url").is_some() && modes.get("form").is_none();
    if !revision.supports(RevisionFeature::ElicitationModes) && capabilities.get("elicitation").is_some_and(url_only) {
        capabilities.shift_remove("elicitation");
    }
    project_fields::<SamplingCapability>(capabilities.get_mut("sampling"), revision);
    project_fields::<ElicitationCapability>(capabilities.get_mut("elicitation"), revision);
    // Servers' lists share the type, and have the member in every revision.
    if let Some(Value::Object(roots)) = capabilities.get_mut("roots")
        && revision.era() == Era::Modern
    {
        roots.shift_remove("listChanged");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{keys, projected};
    use super::*;
    use crate::protocol::Revision::*;
    use serde_json::json;

    #[test]
    fn names_and_capabilities_follow_the_revision() {
        let name =
            json!({"name": "n", "version": "1", "title": "T", "description": "d", "icons": [], "websiteUrl": "u"});
        assert_eq!(keys(&projected(project_implementation, &name, V2025_03_26)), ["name", "version"]);
        assert_eq!(keys(&projected(project_implementation, &name, V2025_06_18)), ["name", "version", "title"]);
        assert_eq!(projected(project_implementation, &name, V2025_11_25), name);

        let server =
            json!({"tools": {}, "completions": {}, "tasks": {}, "extensions": {"a/b": {}}, "experimental": {}});
        let server_at = |revision| projected(project_server_capabilities, &server, revision);
        assert_eq!(keys(&server_at(V2024_11_05)), ["tools", "extensions", "experimental"]);
        assert_eq!(server_at(V2025_11_25), server);
        assert_eq!(keys(&server_at(V2026_07_28)), ["tools", "completions", "extensions", "experimental"]);

        let client = json!({
            "roots": {"listChanged": true}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}, "tasks": {},
        });
        let client_at = |revision| projected(project_client_capabilities, &client, revision);
        assert_eq!(client_at(V2025_03_26), json!({"roots": {"listChanged": true}, "sampling": {}}));
        assert_eq!(client_at(V2025_06_18), json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}}));
        assert_eq!(client_at(V2025_11_25), client);
        assert_eq!(client_at(V2026_07_28)["roots"], json!({}));
        let url_only = json!({"elicitation": {"url": {}}});
        assert_eq!(projected(project_client_capabilities, &url_only, V2025_06_18), json!({}));
    }
}
