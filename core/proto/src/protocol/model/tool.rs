//! Tools, and the results of calling them.

use super::{ContentBlock, Icon};
use crate::protocol::integers;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

crate::json_names! {
    /// Support of a tool for calls that run as tasks.
    ///
    /// ```
    /// # use trunkline_proto as trunkline;
    /// use trunkline::protocol::model::TaskSupport;
    ///
    /// assert_eq!(serde_json::to_value(TaskSupport::Required)?, "required");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub enum TaskSupport, by default Forbidden, non_exhaustive {
        /// Tasks are not supported.
        Forbidden = "forbidden",
        /// Tasks are optional.
        Optional = "optional",
        /// Tasks are required; other clients get an error.
        Required = "required",
    }
}

json_object! {
    /// A tool that a client can call.
    pub struct Tool with meta since V2025_06_18 {
        /// Name, for programs: 1 to 128 of `A-Z a-z 0-9 _ - .`.
        required name: String = "name",
        /// Display name.
        optional title: String = "title" since V2025_06_18,
        /// Description of the tool, for the model.
        optional description: String = "description",
        /// JSON Schema of the arguments, with an object at its root.
        required input_schema: Value = "inputSchema",
        /// JSON Schema of the structured result.
        optional output_schema: Value = "outputSchema" since V2025_06_18,
        /// Hints about the tool's behavior.
        optional annotations: ToolAnnotations = "annotations" since V2025_03_26,
        /// Icons for a user interface.
        optional icons: Vec<Icon> = "icons" since V2025_11_25,
        /// Execution as a task (2025-11-25 only).
        optional execution: ToolExecution = "execution" since V2025_11_25 until V2025_11_25,
    }

    /// Hints about a tool's behavior; don't trust them unless you trust the server.
    pub struct ToolAnnotations {
        /// Display name.
        optional title: String = "title",
        /// `true` if the tool changes nothing.
        optional read_only_hint: bool = "readOnlyHint",
        /// `true` if the tool may destroy something.
        optional destructive_hint: bool = "destructiveHint",
        /// `true` if repeating a call with the same arguments has no additional effect.
        optional idempotent_hint: bool = "idempotentHint",
        /// `true` if the tool interacts with an open world, such as the web.
        optional open_world_hint: bool = "openWorldHint",
    }

    /// Execution of a tool as a task (2025-11-25 only).
    pub struct ToolExecution {
        /// Support for calls as tasks; `forbidden` by default.
        optional task_support: String = "taskSupport" in ["forbidden", "optional", "required"],
    }

    /// The result of a tool call.
    pub struct CallToolResult with result {
        /// Content for the model.
        list content: ContentBlock = "content",
        /// Result as JSON that matches the tool's output schema.
        any structured_content = "structuredContent" since V2025_06_18,
        /// `true` if the tool failed; the content contains the reason.
        flag is_error = "isError",
    }

    /// A page of the tools that a server offers.
    pub struct ListToolsResult with page {
        /// The tools.
        list tools: Tool = "tools",
    }
}

impl Tool {
    /// Creates a tool with a name, a description and the schema of its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self { name: name.into(), description: Some(description.into()), input_schema, ..Self::default() }
    }
}

impl ToolAnnotations {
    /// Sets whether the tool changes nothing.
    pub fn with_read_only(self, is_read_only: bool) -> Self {
        Self { read_only_hint: Some(is_read_only), ..self }
    }

    /// Sets whether the tool may destroy something.
    pub fn with_destructive(self, is_destructive: bool) -> Self {
        Self { destructive_hint: Some(is_destructive), ..self }
    }

    /// Sets whether repeating a call with the same arguments has no additional effect.
    pub fn with_idempotent(self, is_idempotent: bool) -> Self {
        Self { idempotent_hint: Some(is_idempotent), ..self }
    }

    /// Sets whether the tool interacts with an open world.
    pub fn with_open_world(self, is_open_world: bool) -> Self {
        Self { open_world_hint: Some(is_open_world), ..self }
    }
}

impl CallToolResult {
    /// Creates a result with one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::content([ContentBlock::text(text)])
    }

    /// Creates a result with content blocks.
    pub fn content(content: impl IntoIterator<Item = ContentBlock>) -> Self {
        Self { content: content.into_iter().collect(), ..Self::default() }
    }

    /// Creates a failure, which the model sees.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Creates a structured result, which is also serialized into a text block for clients without
    /// support for structured content.
    pub fn structured(value: Value) -> Self {
        Self { structured_content: Some(value.clone()), ..Self::text(value.to_string()) }
    }

    /// Deserializes the structured content into a type.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use serde_json::json;
    /// use trunkline_proto::protocol::model::CallToolResult;
    ///
    /// #[derive(Deserialize)]
    /// struct Weather {
    ///     temperature: f64,
    /// }
    ///
    /// let result = CallToolResult::structured(json!({"temperature": 21.5}));
    /// let weather: Weather = result.into_result()?.structured_as()?;
    /// assert_eq!(weather.temperature, 21.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is none, or it cannot be deserialized into the type.
    pub fn structured_as<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        integers::from_value(self.structured_content.as_ref().unwrap_or(&Value::Null))
    }

    /// Converts a failed result into an error, for `?`.
    ///
    /// # Errors
    /// If the tool failed; the error's message is the text of the result.
    pub fn into_result(self) -> Result<Self, FailedToolCall> {
        if self.is_error { Err(FailedToolCall(Box::new(self))) } else { Ok(self) }
    }

    /// Returns the text of all text blocks, joined by newlines.
    pub fn joined_text(&self) -> String {
        self.content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n")
    }
}

/// The result of a failed tool call, as an error ([`CallToolResult::into_result`]).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the tool failed: {}", .0.joined_text())]
pub struct FailedToolCall(pub Box<CallToolResult>);

impl<T: Into<ContentBlock>> From<T> for CallToolResult {
    fn from(block: T) -> Self {
        Self::content([block.into()])
    }
}

/// Appends the JSON of a result with one text block: the common case, without building a tree.
pub fn write_text_result(out: &mut Vec<u8>, text: &str, is_error: bool) {
    out.reserve(text.len() + 64);
    out.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
    let mut writer = serde_json::Serializer::new(&mut *out);
    // Serializing a string to a vector never fails.
    let _ = text.serialize(&mut writer);
    out.extend_from_slice(if is_error { br#"}],"isError":true}"# } else { b"}]}" });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_result_is_read_as_a_type_or_fails_with_its_text() {
        let result = CallToolResult::structured(json!({"result": [1, 2]}));
        let read: std::collections::BTreeMap<String, Vec<u8>> =
            result.clone().into_result().unwrap().structured_as().unwrap();
        assert_eq!(read["result"], [1, 2]);
        assert!(result.structured_as::<Vec<u8>>().is_err());
        assert!(CallToolResult::text("none").structured_as::<Vec<u8>>().is_err());
        let failed = CallToolResult::error("no such city").into_result().unwrap_err();
        assert_eq!(failed.to_string(), "the tool failed: no such city");
    }

    #[test]
    fn tool_24_text_is_written_straight_into_bytes_like_the_model_writes_it() {
        for (text, is_error) in [("sunny", false), ("a \"b\"\n\u{1}\u{2028}ö", true), ("", false)] {
            let mut bytes = b"x".to_vec();
            write_text_result(&mut bytes, text, is_error);
            let read: CallToolResult = serde_json::from_slice(&bytes[1..]).unwrap();
            assert_eq!(read, CallToolResult { is_error, ..CallToolResult::text(text) });
            assert_eq!(bytes[1..], serde_json::to_vec(&read).unwrap());
        }
    }

    #[test]
    fn tool_17_structured_content_may_be_null_and_is_kept_apart_from_absent() {
        let null: CallToolResult = serde_json::from_value(json!({"content": [], "structuredContent": null})).unwrap();
        assert_eq!(null.structured_content, Some(Value::Null));
        assert_eq!(serde_json::to_value(&null).unwrap(), json!({"content": [], "structuredContent": null}));
        assert_eq!(serde_json::from_value::<CallToolResult>(json!({})).unwrap(), CallToolResult::default());
    }

    #[test]
    fn tool_15_structured_results_are_serialized_into_text_too() {
        let result = CallToolResult::structured(json!({"days": 3}));
        assert_eq!(result.joined_text(), r#"{"days":3}"#);
        assert_eq!(result.structured_content, Some(json!({"days": 3})));
    }

    #[test]
    fn tools_round_trip() {
        let wire = json!({
            "name": "t", "title": "T", "description": "d", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"},
            "annotations": {"readOnlyHint": false, "audience": 1}, "icons": [], "execution": {"taskSupport": "optional"},
            "_meta": {"a/b": 1}, "later": [null],
        });
        let tool: Tool = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&tool).unwrap(), wire);
        let error = serde_json::from_value::<ListToolsResult>(json!({"tools": [{"name": "t"}]})).unwrap_err();
        assert!(error.to_string().contains("inputSchema"), "{error}");
    }
}
