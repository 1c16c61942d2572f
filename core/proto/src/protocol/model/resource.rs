//! Resources and their contents.

use super::{Annotations, BlobResourceContents, Icon, ResourceContents, TextResourceContents};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

json_object! {
    /// A resource that a client can read.
    pub struct Resource with meta since V2025_06_18 {
        /// URI, unique within the server.
        required uri: String = "uri",
        /// Name, for programs.
        required name: String = "name",
        /// Display name.
        optional title: String = "title" since V2025_06_18,
        /// Description, for the model.
        optional description: String = "description",
        /// MIME type.
        optional mime_type: String = "mimeType",
        /// Size of the raw contents in bytes.
        optional size: u64 = "size",
        /// Icons for a user interface.
        optional icons: Vec<Icon> = "icons" since V2025_11_25,
        /// Hints for the client: audience, priority, time of the last change.
        optional annotations: Annotations = "annotations",
    }

    /// A family of resources: all resources whose URI matches a template.
    pub struct ResourceTemplate with meta since V2025_06_18 {
        /// The template (RFC 6570), such as `file:///{+path}`.
        required uri_template: String = "uriTemplate",
        /// Name, for programs.
        required name: String = "name",
        /// Display name.
        optional title: String = "title" since V2025_06_18,
        /// Description, for the model.
        optional description: String = "description",
        /// MIME type, if all of the resources have the same.
        optional mime_type: String = "mimeType",
        /// Icons for a user interface.
        optional icons: Vec<Icon> = "icons" since V2025_11_25,
        /// Hints for the client: audience, priority, time of the last change.
        optional annotations: Annotations = "annotations",
    }

    /// The contents of a resource.
    pub struct ReadResourceResult with result {
        /// Contents; several if the resource is a collection.
        list contents: ResourceContents = "contents",
        /// How long the contents may be cached, in milliseconds (2026-07-28).
        optional ttl_ms: u64 = "ttlMs" since V2026_07_28,
        /// `private` or `public`: which callers may share cached contents (2026-07-28).
        optional cache_scope: String = "cacheScope" since V2026_07_28,
    }

    /// A page of the resources that a server offers.
    pub struct ListResourcesResult with page {
        /// The resources.
        list resources: Resource = "resources",
    }

    /// A page of the resource templates that a server offers.
    pub struct ListResourceTemplatesResult with page {
        /// The templates.
        list resource_templates: ResourceTemplate = "resourceTemplates",
    }
}

impl Resource {
    /// Creates a resource with a URI and a name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }

    /// Sets the MIME type.
    pub fn with_mime_type(self, mime_type: impl Into<String>) -> Self {
        Self { mime_type: Some(mime_type.into()), ..self }
    }

    /// Sets the description.
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }
}

impl ResourceTemplate {
    /// Creates a template with a name.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri_template: uri_template.into(), name: name.into(), ..Self::default() }
    }

    /// Sets the MIME type.
    pub fn with_mime_type(self, mime_type: impl Into<String>) -> Self {
        Self { mime_type: Some(mime_type.into()), ..self }
    }

    /// Sets the description.
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }
}

impl ResourceContents {
    /// Creates text contents.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents { uri: uri.into(), text: text.into(), ..TextResourceContents::default() })
    }

    /// Creates binary contents.
    pub fn blob(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        let blob = STANDARD.encode(bytes);
        Self::Blob(BlobResourceContents { uri: uri.into(), blob, ..BlobResourceContents::default() })
    }

    /// Sets the MIME type.
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        match &mut self {
            Self::Text(contents) => contents.mime_type = Some(mime_type.into()),
            Self::Blob(contents) => contents.mime_type = Some(mime_type.into()),
        }
        self
    }

    /// Returns the URI of the contents.
    pub fn uri(&self) -> &str {
        match self {
            Self::Text(contents) => &contents.uri,
            Self::Blob(contents) => &contents.uri,
        }
    }

    /// Returns the text of text contents.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.text),
            Self::Blob(_) => None,
        }
    }
}

impl From<ResourceContents> for ReadResourceResult {
    fn from(contents: ResourceContents) -> Self {
        Self { contents: vec![contents], ..Self::default() }
    }
}

impl FromIterator<ResourceContents> for ReadResourceResult {
    fn from_iter<I: IntoIterator<Item = ResourceContents>>(contents: I) -> Self {
        Self { contents: contents.into_iter().collect(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn resources_round_trip_with_unknown_fields() {
        let wire = json!({"resources": [{"uri": "a:b", "name": "n", "title": "T", "description": "d", "mimeType": "a/b", "size": 3,
            "icons": [{"src": "data:,"}], "annotations": {"priority": 1.0}, "_meta": {"k": 1}, "later": null}], "nextCursor": "c"});
        let read: ListResourcesResult = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), wire);
        let wire = json!({"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "n", "x": []}], "ttlMs": 0});
        let read: ListResourceTemplatesResult = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), wire);
    }

    #[test]
    fn res_11_bytes_are_base64() {
        let result = ReadResourceResult::from(ResourceContents::blob("a:b", [0u8, 255]).with_mime_type("x/y"));
        let wire = json!({"contents": [{"uri": "a:b", "mimeType": "x/y", "blob": "AP8="}]});
        assert_eq!(serde_json::to_value(&result).unwrap(), wire);
        assert_eq!(serde_json::from_value::<ReadResourceResult>(wire).unwrap(), result);
        let contents = ResourceContents::text("a:b", "t");
        assert_eq!((contents.uri(), contents.as_text()), ("a:b", Some("t")));
    }
}
