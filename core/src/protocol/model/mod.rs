//! The values that the protocol carries, as one superset model: the newest revision's shape, with unknown fields kept.
//!
//! Values are made for an older revision by [`crate::protocol::project`], never by building them differently.

#[macro_use]
mod object;
mod capabilities;
mod content;
mod implementation;
mod tool;

pub use capabilities::{
    ClientCapabilities, ElicitationCapability, ListChangedCapability, ResourcesCapability, SamplingCapability,
    ServerCapabilities,
};
pub use content::{
    Annotations, AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, ImageContent, ResourceContents,
    ResourceLink, Role, TextContent, TextResourceContents,
};
pub use implementation::{Icon, Implementation};
pub use tool::{CallToolResult, ListToolsResult, Tool, ToolAnnotations, ToolExecution, write_text_result};

/// A JSON object.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
