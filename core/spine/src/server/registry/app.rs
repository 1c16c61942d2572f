//! User interfaces of tools (the MCP Apps extension), which are validated at registration.

use crate::protocol::{app::MIME_TYPE, uri};
use serde_json::Value;

const SCHEME: &str = "ui://";

/// APP-10: a resource is under `ui://` if and only if it has the media type of user interfaces.
pub(in crate::server) fn check_resource(uri: &str, mime_type: Option<&str>) -> Result<(), String> {
    match (uri.starts_with(SCHEME), mime_type == Some(MIME_TYPE)) {
        (true, false) => Err(format!("mimeType: a resource under {SCHEME} is a user interface and needs {MIME_TYPE}")),
        (false, true) => Err(format!("uri: a user interface ({MIME_TYPE}) must be under {SCHEME}")),
        _ => Ok(()),
    }
}

/// Returns the URI of a tool's user interface, if it has one (APP-02, APP-14, APP-17).
pub(in crate::server) fn interface_of(tool: &Value) -> Result<Option<String>, String> {
    let Some(meta) = tool.get("_meta") else { return Ok(None) };
    let ui = meta.get("ui");
    if ui.is_some_and(|ui| !ui.is_object()) {
        return Err("_meta.ui must be an object".into());
    }
    if let Some(visibility) = ui.and_then(|ui| ui.get("visibility")) {
        let known = |one: &Value| matches!(one.as_str(), Some("model" | "app"));
        if !visibility.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(known)) {
            return Err("_meta.ui.visibility must be a list of \"model\" and \"app\"".into());
        }
    }
    let named = ui.and_then(|ui| Some(("_meta.ui.resourceUri", ui.get("resourceUri")?)));
    let Some((member, named)) = named.or_else(|| Some(("_meta[\"ui/resourceUri\"]", meta.get("ui/resourceUri")?)))
    else {
        return Ok(None);
    };
    match named.as_str().filter(|text| text.starts_with(SCHEME) && uri::check(text).is_ok()) {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(format!("{member} must be the URI of a user interface, which begins with {SCHEME}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{
        Call, Category, ProviderDefinition, ResourceDefinition, ResourceTemplateDefinition, Server, ToolDefinition,
    };
    use serde_json::json;

    #[test]
    fn app_10_interfaces_are_known_by_their_uri_and_their_type_together() {
        assert_eq!(check_resource("ui://a", Some(MIME_TYPE)), Ok(()));
        assert_eq!(check_resource("test://a", None), Ok(()));
        for (uri, mime_type) in [("ui://a", None), ("ui://a", Some("text/html")), ("test://a", Some(MIME_TYPE))] {
            check_resource(uri, mime_type).unwrap_err();
        }
    }

    /// APP-11: needs both the tool and the resource.
    #[test]
    fn interfaces_that_nobody_serves_are_found() {
        let tool = |name: &str, uri: &str| {
            ToolDefinition::new(json!({"name": name, "_meta": {"ui": {"resourceUri": uri}}}), drop::<Call>)
        };
        let server = Server::builder("s", "1").add_tool(tool("a", "ui://a")).add_tool(tool("b", "ui://b/x")).build();
        assert_eq!(server.snapshot().missing_interfaces(), [("a", "ui://a"), ("b", "ui://b/x")]);
        let page = json!({"uri": "ui://a", "name": "a", "mimeType": MIME_TYPE});
        let page = server.add_resource(ResourceDefinition::new(page, drop::<Call>)).unwrap();
        let pages = json!({"uriTemplate": "ui://b/{page}", "name": "b", "mimeType": MIME_TYPE});
        server.add_resource_template(ResourceTemplateDefinition::new(pages, drop::<Call>)).unwrap();
        assert_eq!(server.snapshot().missing_interfaces(), []);
        page.remove();
        assert_eq!(server.snapshot().missing_interfaces(), [("a", "ui://a")]);
        server.add_provider(ProviderDefinition::new(Category::Resources, drop::<Call>)).unwrap();
        assert_eq!(server.snapshot().missing_interfaces(), [], "it may serve anything");
    }

    #[test]
    fn app_02_app_14_app_17_what_a_tool_says_of_its_interface() {
        let named = Ok(Some("ui://a/b".to_owned()));
        assert_eq!(interface_of(&json!({"_meta": {"ui": {"resourceUri": "ui://a/b", "visibility": ["app"]}}})), named);
        assert_eq!(interface_of(&json!({"_meta": {"ui/resourceUri": "ui://a/b"}})), named);
        for none in [json!({}), json!({"_meta": {"ui": {"visibility": ["model", "app"], "more": 1}, "x": 1}})] {
            assert_eq!(interface_of(&none), Ok(None));
        }
        for wrong in [
            json!({"ui": "ui://a"}),
            json!({"ui": {"resourceUri": "https://a"}}),
            json!({"ui": {"resourceUri": 5}}),
            json!({"ui": {"resourceUri": "ui://a b"}}),
            json!({"ui": {"visibility": "app"}}),
            json!({"ui": {"visibility": []}}),
            json!({"ui": {"visibility": ["user"]}}),
            json!({"ui/resourceUri": "file:///a"}),
        ] {
            interface_of(&json!({"_meta": wrong})).unwrap_err();
        }
    }
}
