//! The names by which the typed handlers of Rust servers know the model types.
//!
//! A schema of these types would tell clients nothing.

use super::{CallToolResult, ContentBlock, GetPromptResult, PromptMessage, ReadResourceResult, ResourceContents};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::borrow::Cow;

macro_rules! known_by_name {
    ($($model:ty = $name:literal),*) => {
        $(impl JsonSchema for $model {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schemars::json_schema!({"type": "object"})
            }
        })*
    };
}

known_by_name!(
    ContentBlock = "McpContentBlock",
    CallToolResult = "McpCallToolResult",
    ResourceContents = "McpResourceContents",
    ReadResourceResult = "McpReadResourceResult",
    PromptMessage = "McpPromptMessage",
    GetPromptResult = "McpGetPromptResult"
);
