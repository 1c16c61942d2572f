//! Content blocks: what tools and prompts return to a model.

use super::{Icon, JsonObject};
use crate::protocol::describe::{Described, Type, Union, Values};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

json_union! {
    /// A piece of content.
    ///
    /// ```
    /// # use trunkline_proto as trunkline;
    /// use trunkline::protocol::model::ContentBlock;
    ///
    /// let block = ContentBlock::text("12 degrees");
    /// assert_eq!(block.as_text(), Some("12 degrees"));
    /// ```
    pub enum ContentBlock by "type", by default Text, else "a content block needs a `type` that is a string" {
        /// Text.
        Text(TextContent) = "text",
        /// An image.
        Image(ImageContent) = "image",
        /// Audio.
        Audio(AudioContent) = "audio",
        /// A resource with its contents.
        Resource(EmbeddedResource) = "resource",
        /// A link to a resource.
        ResourceLink(ResourceLink) = "resource_link",
        ;
        /// A block of an unknown type, as received.
        Unknown,
    }
}

json_object! {
    /// Text.
    pub struct TextContent as "text" with meta since V2025_06_18 {
        /// The text.
        required text: String = "text",
        /// Hints for the client: audience, priority, time of the last change.
        optional annotations: Annotations = "annotations",
    }

    /// An image.
    pub struct ImageContent as "image" with meta since V2025_06_18 {
        /// The data, in base64.
        required data: String = "data",
        /// MIME type.
        required mime_type: String = "mimeType",
        /// Hints for the client: audience, priority, time of the last change.
        optional annotations: Annotations = "annotations",
    }

    /// Audio.
    pub struct AudioContent as "audio" with meta since V2025_06_18 {
        /// The data, in base64.
        required data: String = "data",
        /// MIME type.
        required mime_type: String = "mimeType",
        /// Hints for the client: audience, priority, time of the last change.
        optional annotations: Annotations = "annotations",
    }

    /// A resource with its contents.
    pub struct EmbeddedResource as "resource" with meta since V2025_06_18 {
        /// The contents.
        required resource: ResourceContents = "resource",
        /// Hints for the client: audience, priority, time of the last change.
        optional annotations: Annotations = "annotations",
    }

    /// A link to a resource that can be read.
    pub struct ResourceLink as "resource_link" with meta since V2025_06_18 {
        /// The URI of the resource.
        required uri: String = "uri",
        /// Name, for programs.
        required name: String = "name",
        /// Display name.
        optional title: String = "title",
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

    /// A resource with text contents.
    pub struct TextResourceContents with meta since V2025_06_18 {
        /// The URI of the resource.
        required uri: String = "uri",
        /// MIME type.
        optional mime_type: String = "mimeType",
        /// The text.
        required text: String = "text",
    }

    /// A resource with binary contents.
    pub struct BlobResourceContents with meta since V2025_06_18 {
        /// The URI of the resource.
        required uri: String = "uri",
        /// MIME type.
        optional mime_type: String = "mimeType",
        /// The data, in base64.
        required blob: String = "blob",
    }

    /// Hints about who the content is for and how important it is.
    pub struct Annotations {
        /// Intended readers.
        optional audience: Vec<Role> = "audience",
        /// Importance, from 0 (least) to 1 (most).
        optional priority: f64 = "priority",
        /// Time of the last change (ISO 8601).
        optional last_modified: String = "lastModified" since V2025_06_18,
    }
}

/// The contents of a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Binary data.
    Blob(BlobResourceContents),
}

/// A reader of content, or the sender of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Role {
    /// The user.
    #[default]
    User,
    /// The model.
    Assistant,
    /// An unknown role.
    Other(String),
}

impl ContentBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into(), ..TextContent::default() })
    }

    /// Creates an image block from its bytes.
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::image_base64(STANDARD.encode(bytes), mime_type)
    }

    /// Creates an image block from base64.
    pub fn image_base64(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent { data: data.into(), mime_type: mime_type.into(), ..ImageContent::default() })
    }

    /// Creates an audio block from its bytes.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::audio_base64(STANDARD.encode(bytes), mime_type)
    }

    /// Creates an audio block from base64.
    pub fn audio_base64(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent { data: data.into(), mime_type: mime_type.into(), ..AudioContent::default() })
    }

    /// Creates an embedded resource with text.
    pub fn resource_text(uri: impl Into<String>, mime_type: impl Into<String>, text: impl Into<String>) -> Self {
        let resource = ResourceContents::text(uri, text).with_mime_type(mime_type);
        Self::Resource(EmbeddedResource { resource, ..EmbeddedResource::default() })
    }

    /// Creates an embedded resource with binary data.
    pub fn resource_blob(uri: impl Into<String>, mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        let resource = ResourceContents::blob(uri, bytes).with_mime_type(mime_type);
        Self::Resource(EmbeddedResource { resource, ..EmbeddedResource::default() })
    }

    /// Creates a link to a resource.
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ResourceLink(ResourceLink { uri: uri.into(), name: name.into(), ..ResourceLink::default() })
    }

    /// Returns the same block with annotations; a block of unknown type is unchanged.
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        match &mut self {
            Self::Text(block) => block.annotations = Some(annotations),
            Self::Image(block) => block.annotations = Some(annotations),
            Self::Audio(block) => block.annotations = Some(annotations),
            Self::Resource(block) => block.annotations = Some(annotations),
            Self::ResourceLink(block) => block.annotations = Some(annotations),
            Self::Unknown(_) => {}
        }
        self
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl Described for ResourceContents {
    const TYPE: Type = Type::Union(&Union {
        name: "ResourceContents",
        doc: &[" The contents of a resource."],
        tag: None,
        variants: &[("text", TextResourceContents::TYPE), ("blob", BlobResourceContents::TYPE)],
        open: false,
    });
}

impl Default for ResourceContents {
    fn default() -> Self {
        Self::Text(TextResourceContents::default())
    }
}

impl From<TextResourceContents> for ResourceContents {
    fn from(contents: TextResourceContents) -> Self {
        Self::Text(contents)
    }
}

impl From<BlobResourceContents> for ResourceContents {
    fn from(contents: BlobResourceContents) -> Self {
        Self::Blob(contents)
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = JsonObject::deserialize(deserializer)?;
        if fields.contains_key("blob") {
            BlobResourceContents::deserialize(fields).map(Self::Blob).map_err(D::Error::custom)
        } else if fields.contains_key("text") {
            TextResourceContents::deserialize(fields).map(Self::Text).map_err(D::Error::custom)
        } else {
            Err(D::Error::custom("the contents of a resource need `text` or `blob`"))
        }
    }
}

impl Described for Role {
    const TYPE: Type = Type::Values(&Values {
        name: "Role",
        doc: &[" A reader of content, or the sender of a message."],
        values: &[("user", &[" The user."]), ("assistant", &[" The model."])],
        open: true,
    });
}

impl Role {
    /// Returns the protocol name, such as `user`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Other(name) => name,
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match String::deserialize(deserializer)? {
            name if name == "user" => Self::User,
            name if name == "assistant" => Self::Assistant,
            name => Self::Other(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_kind_of_block_round_trips_with_unknown_fields() {
        for wire in [
            json!({"type": "text", "text": "a", "annotations": {"audience": ["user", "robot"], "priority": 0.5, "x": 1}}),
            json!({"type": "image", "data": "AA==", "mimeType": "image/png", "_meta": {"k": 1}}),
            json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav", "later": true}),
            json!({"type": "resource", "resource": {"uri": "a:b", "text": "t", "mimeType": "text/plain", "z": []}}),
            json!({"type": "resource", "resource": {"uri": "a:b", "blob": "AA=="}}),
            json!({"type": "resource_link", "uri": "a:b", "name": "n", "size": 3, "icons": [{"src": "data:,"}]}),
            json!({"type": "hologram", "depth": 3, "text": null}),
        ] {
            let block: ContentBlock = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(matches!(block, ContentBlock::Unknown(_)), wire["type"] == "hologram");
            assert_eq!(serde_json::to_value(&block).unwrap(), wire);
            let again: ContentBlock = serde_json::from_str(&wire.to_string()).unwrap();
            assert_eq!(again, block);
        }
    }

    #[test]
    fn tool_24_bytes_become_base64_with_a_mime_type() {
        let block = serde_json::to_value(ContentBlock::image([0u8, 255], "image/png")).unwrap();
        assert_eq!(block, json!({"type": "image", "data": "AP8=", "mimeType": "image/png"}));
        let block = serde_json::to_value(ContentBlock::audio([0u8, 255], "audio/wav")).unwrap();
        assert_eq!(block, json!({"type": "audio", "data": "AP8=", "mimeType": "audio/wav"}));
        let block = serde_json::to_value(ContentBlock::resource_blob("a:b", "x/y", [0u8])).unwrap();
        assert_eq!(block["resource"], json!({"uri": "a:b", "mimeType": "x/y", "blob": "AA=="}));
    }

    #[test]
    fn malformed_blocks_are_errors_that_say_what_is_wrong() {
        let error = |wire: Value| serde_json::from_value::<ContentBlock>(wire).unwrap_err().to_string();
        assert!(error(json!({"text": "a"})).contains("`type`"));
        assert!(error(json!({"type": "text"})).contains("`text`"));
        assert!(error(json!({"type": "resource", "resource": {"uri": "a:b"}})).contains("`text` or `blob`"));
        assert!(error(json!("text")).contains("map"));
    }
}
