//! The revisions in which each field of an object exists.

use crate::protocol::Revision::{self, *};
use serde_json::{Map, Value};

/// The kinds of objects with fields that some revisions lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProjectedObject {
    Tool,
    Resource,
    ResourceTemplate,
    Prompt,
    PromptArgument,
    Block,
    ResourceLink,
    ResourceContents,
    Annotations,
    Implementation,
    /// Every result of a server.
    Result,
    CallToolResult,
    CompleteParams,
    PromptReference,
    ElicitParams,
    CreateMessageParams,
    SamplingMessage,
    ServerCapabilities,
    ClientCapabilities,
    Roots,
    SamplingCapability,
    ElicitationCapability,
}

impl ProjectedObject {
    /// Returns whether a model type describes such objects.
    fn is_model(self, model: &str) -> bool {
        match self {
            Self::Block => {
                matches!(model, "TextContent" | "ImageContent" | "AudioContent" | "EmbeddedResource" | "ResourceLink")
            }
            Self::ResourceContents => matches!(model, "TextResourceContents" | "BlobResourceContents"),
            Self::Result => matches!(
                model,
                "CallToolResult"
                    | "CompleteResult"
                    | "GetPromptResult"
                    | "ListPromptsResult"
                    | "ListResourceTemplatesResult"
                    | "ListResourcesResult"
                    | "ListToolsResult"
                    | "ReadResourceResult"
            ),
            Self::ElicitParams => matches!(model, "ElicitFormParams" | "ElicitUrlParams"),
            // Servers' lists share the type, and have the field in every revision.
            Self::Roots => false,
            // The others have the name of their model type.
            _ => format!("{self:?}") == model,
        }
    }
}

/// The first and last revision that have a field of a model type; `None` if it exists wherever the
/// object does.
pub fn field_span(model: &str, field: &str) -> Option<(Revision, Revision)> {
    let row = FIELDS.iter().find(|row| row.1 == field && row.0.is_model(model));
    row.map(|(_, _, since, until)| (*since, *until))
}

/// The fields that some revisions lack, with their first and last revision (inclusive).
#[rustfmt::skip]
const FIELDS: &[(ProjectedObject, &str, Revision, Revision)] = &[
    (ProjectedObject::Tool,                  "annotations",       V2025_03_26, V2026_07_28),
    (ProjectedObject::Tool,                  "title",             V2025_06_18, V2026_07_28),
    (ProjectedObject::Tool,                  "outputSchema",      V2025_06_18, V2026_07_28),
    (ProjectedObject::Tool,                  "_meta",             V2025_06_18, V2026_07_28),
    (ProjectedObject::Tool,                  "icons",             V2025_11_25, V2026_07_28),
    (ProjectedObject::Tool,                  "execution",         V2025_11_25, V2025_11_25),
    (ProjectedObject::Resource,              "title",             V2025_06_18, V2026_07_28),
    (ProjectedObject::Resource,              "_meta",             V2025_06_18, V2026_07_28),
    (ProjectedObject::Resource,              "icons",             V2025_11_25, V2026_07_28),
    (ProjectedObject::ResourceTemplate,      "title",             V2025_06_18, V2026_07_28),
    (ProjectedObject::ResourceTemplate,      "_meta",             V2025_06_18, V2026_07_28),
    (ProjectedObject::ResourceTemplate,      "icons",             V2025_11_25, V2026_07_28),
    (ProjectedObject::Prompt,                "title",             V2025_06_18, V2026_07_28),
    (ProjectedObject::Prompt,                "_meta",             V2025_06_18, V2026_07_28),
    (ProjectedObject::Prompt,                "icons",             V2025_11_25, V2026_07_28),
    (ProjectedObject::PromptArgument,        "title",             V2025_06_18, V2026_07_28),
    (ProjectedObject::Block,                 "_meta",             V2025_06_18, V2026_07_28),
    (ProjectedObject::ResourceLink,          "icons",             V2025_11_25, V2026_07_28),
    (ProjectedObject::ResourceContents,      "_meta",             V2025_06_18, V2026_07_28),
    (ProjectedObject::Annotations,           "lastModified",      V2025_06_18, V2026_07_28),
    (ProjectedObject::Implementation,        "title",             V2025_06_18, V2026_07_28),
    (ProjectedObject::Implementation,        "description",       V2025_11_25, V2026_07_28),
    (ProjectedObject::Implementation,        "icons",             V2025_11_25, V2026_07_28),
    (ProjectedObject::Implementation,        "websiteUrl",        V2025_11_25, V2026_07_28),
    (ProjectedObject::CallToolResult,        "structuredContent", V2025_06_18, V2026_07_28),
    (ProjectedObject::Result,                "resultType",        V2026_07_28, V2026_07_28),
    (ProjectedObject::Result,                "ttlMs",             V2026_07_28, V2026_07_28),
    (ProjectedObject::Result,                "cacheScope",        V2026_07_28, V2026_07_28),
    (ProjectedObject::CompleteParams,        "context",           V2025_06_18, V2026_07_28),
    (ProjectedObject::PromptReference,       "title",             V2025_06_18, V2026_07_28),
    (ProjectedObject::ElicitParams,          "mode",              V2025_11_25, V2026_07_28),
    (ProjectedObject::ElicitParams,          "elicitationId",     V2025_11_25, V2025_11_25),
    (ProjectedObject::ElicitParams,          "task",              V2025_11_25, V2025_11_25),
    (ProjectedObject::ElicitParams,          "_meta",             V2024_11_05, V2025_11_25),
    (ProjectedObject::CreateMessageParams,   "tools",             V2025_11_25, V2026_07_28),
    (ProjectedObject::CreateMessageParams,   "toolChoice",        V2025_11_25, V2026_07_28),
    (ProjectedObject::CreateMessageParams,   "task",              V2025_11_25, V2025_11_25),
    (ProjectedObject::CreateMessageParams,   "_meta",             V2024_11_05, V2025_11_25),
    (ProjectedObject::SamplingMessage,       "_meta",             V2025_11_25, V2026_07_28),
    (ProjectedObject::ServerCapabilities,    "completions",       V2025_03_26, V2026_07_28),
    (ProjectedObject::ServerCapabilities,    "tasks",             V2025_11_25, V2025_11_25),
    (ProjectedObject::ClientCapabilities,    "elicitation",       V2025_06_18, V2026_07_28),
    (ProjectedObject::ClientCapabilities,    "tasks",             V2025_11_25, V2025_11_25),
    (ProjectedObject::Roots,                 "listChanged",       V2024_11_05, V2025_11_25),
    (ProjectedObject::SamplingCapability,    "context",           V2025_11_25, V2026_07_28),
    (ProjectedObject::SamplingCapability,    "tools",             V2025_11_25, V2026_07_28),
    (ProjectedObject::ElicitationCapability, "form",              V2025_11_25, V2026_07_28),
    (ProjectedObject::ElicitationCapability, "url",               V2025_11_25, V2026_07_28),
    // Only the newest schema has `capabilities.extensions`, but extensions are negotiated in every
    // revision (APP-09).
];

/// As [`remove_fields`], if the value is an object.
pub(super) fn project_fields(value: &mut Value, object: ProjectedObject, revision: Revision) {
    if let Some(value) = value.as_object_mut() {
        remove_fields(value, object, revision);
    }
}

/// Removes the fields of such objects that are defined in some revision, but not in this one.
pub(super) fn remove_fields(value: &mut Map<String, Value>, object: ProjectedObject, revision: Revision) {
    for (_, field, since, until) in FIELDS.iter().filter(|row| row.0 == object) {
        if revision < *since || *until < revision {
            value.shift_remove(*field);
        }
    }
}
