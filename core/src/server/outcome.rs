//! What a handler returns, and the one mapping of it to a result (DESIGN: the same in every language).

use super::{Server, registry::RegisteredTool};
use crate::protocol::{Feature, RawJson, Revision, RpcError, project};
use serde_json::{Value, json};
use std::fmt;

/// What came of a call.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// One text block.
    Text(String),
    /// Content blocks: one, or an array of them.
    Content(RawJson),
    /// A JSON object: its text, and the object as structured content.
    Object(RawJson),
    /// Any JSON value: its text, and `{"result": value}` as structured content.
    Value(RawJson),
    /// A full result.
    Result(RawJson),
    /// The tool failed, and says why to the model.
    ToolError(String),
    /// The arguments pass the schema but not what the host checks beyond it; says what is wrong, and where.
    InvalidArguments(String),
    /// A JSON-RPC error.
    Protocol(RpcError),
    /// Something broke; the detail is for the log.
    Internal(String),
}

/// A failure of the tool itself, told to the model in a result with `isError` (TOOL-18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    message: String,
}

impl ToolError {
    /// A failure that says why.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// The text for the model.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

impl From<ToolError> for Outcome {
    fn from(error: ToolError) -> Self {
        Self::ToolError(error.message)
    }
}

const GENERIC_FAILURE: &str = "The tool failed because of an internal error.";

/// Turns an outcome into a result for a revision.
pub(super) fn render(
    server: &Server,
    tool: &RegisteredTool,
    revision: Revision,
    outcome: Outcome,
) -> Result<RawJson, RpcError> {
    match outcome {
        Outcome::Text(text) => {
            let structured = tool.output.as_ref().map(|output| {
                let text = Value::from(text.as_str());
                if output.takes_objects { json!({"result": text}) } else { text }
            });
            finish(server, tool, revision, text_block(&text), structured, false)
        }
        Outcome::Content(raw) => content(server, tool, revision, &raw),
        Outcome::Object(raw) => {
            let structured = parsed_if(tool.output.is_some(), &raw)?;
            finish(server, tool, revision, text_block(&lossy(&raw)), structured, false)
        }
        Outcome::Value(raw) => {
            let wrap = tool.output.as_ref().is_some_and(|output| output.wrap || output.takes_objects);
            let structured = parsed_if(tool.output.is_some(), &raw)?;
            let structured = structured.map(|value| if wrap { json!({"result": value}) } else { value });
            finish(server, tool, revision, text_block(&lossy(&raw)), structured, false)
        }
        Outcome::Result(raw) => full_result(server, tool, revision, &raw),
        Outcome::ToolError(message) => finish(server, tool, revision, text_block(&message), None, true),
        Outcome::InvalidArguments(problem) => {
            let message = invalid_arguments(tool, &problem);
            if revision.supports(Feature::InputErrorsAsResults) {
                finish(server, tool, revision, text_block(&message), None, true)
            } else {
                Err(RpcError::invalid_params(message))
            }
        }
        Outcome::Protocol(error) => Err(error),
        Outcome::Internal(detail) => {
            tracing::error!(target: "trunkline", "the tool {} failed: {detail}", tool.name);
            let text =
                if server.options().debug { format!("{GENERIC_FAILURE} {detail}") } else { GENERIC_FAILURE.into() };
            finish(server, tool, revision, text_block(&text), None, true)
        }
    }
}

/// What is said of arguments that do not fit, whoever checked them.
pub(super) fn invalid_arguments(tool: &RegisteredTool, problem: &dyn fmt::Display) -> String {
    format!("Invalid arguments for tool {}: {problem}", tool.name)
}

/// `[{"type":"text","text":…}]`: what most calls answer, so it is written straight.
fn text_block(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 32);
    out.extend_from_slice(br#"[{"type":"text","text":"#);
    if serde_json::to_writer(&mut out, text).is_err() {
        out.extend_from_slice(b"\"\"");
    }
    out.extend_from_slice(b"}]");
    out
}

fn lossy(raw: &RawJson) -> String {
    String::from_utf8_lossy(raw.as_bytes()).into_owned()
}

fn parsed_if(needed: bool, raw: &RawJson) -> Result<Option<Value>, RpcError> {
    if !needed {
        return Ok(None);
    }
    raw.parse().map(Some).map_err(|_| RpcError::internal())
}

fn finish(
    server: &Server,
    tool: &RegisteredTool,
    revision: Revision,
    content: Vec<u8>,
    structured: Option<Value>,
    is_error: bool,
) -> Result<RawJson, RpcError> {
    let mut members = Vec::with_capacity(content.len() + 256);
    members.extend_from_slice(br#""content":"#);
    members.extend_from_slice(&content);
    if let Some(structured) = structured {
        if let Some(problem) = tool.output_problem(&structured) {
            return output_failed(server, tool, revision, &problem);
        }
        if may_carry(revision, &structured) {
            members.extend_from_slice(br#","structuredContent":"#);
            serde_json::to_writer(&mut members, &structured).map_err(|_| RpcError::internal())?;
        }
    }
    if is_error {
        members.extend_from_slice(br#","isError":true"#);
    }
    Ok(server.seal(members, revision))
}

/// TOOL-16, TOOL-17: objects from 2025-06-18, anything from 2026-07-28.
fn may_carry(revision: Revision, structured: &Value) -> bool {
    revision.supports(Feature::AnyStructuredContent)
        || (structured.is_object() && revision.supports(Feature::StructuredContent))
}

/// TOOL-13: what does not conform to the output schema is not sent.
fn output_failed(
    server: &Server,
    tool: &RegisteredTool,
    revision: Revision,
    problem: &str,
) -> Result<RawJson, RpcError> {
    tracing::error!(target: "trunkline", "the tool {} returned what its output schema refuses: {problem}", tool.name);
    let text = format!("The tool {} returned what its output schema refuses: {problem}", tool.name);
    finish(server, tool, revision, text_block(&text), None, true)
}

fn content(server: &Server, tool: &RegisteredTool, revision: Revision, raw: &RawJson) -> Result<RawJson, RpcError> {
    let blocks: Value = raw.parse().map_err(|_| RpcError::internal())?;
    let blocks = if blocks.is_array() { blocks } else { Value::Array(vec![blocks]) };
    full_result_value(server, tool, revision, json!({"content": blocks}))
}

fn full_result(server: &Server, tool: &RegisteredTool, revision: Revision, raw: &RawJson) -> Result<RawJson, RpcError> {
    full_result_value(server, tool, revision, raw.parse().map_err(|_| RpcError::internal())?)
}

fn full_result_value(
    server: &Server,
    tool: &RegisteredTool,
    revision: Revision,
    mut result: Value,
) -> Result<RawJson, RpcError> {
    let Some(members) = result.as_object_mut() else { return Err(RpcError::internal()) };
    if !members.contains_key("content") {
        // TOOL-15: structured content is also told as text.
        let blocks = members.get("structuredContent").map(|value| json!([{"type": "text", "text": value.to_string()}]));
        members.insert("content".into(), blocks.unwrap_or_else(|| json!([])));
    }
    let failed = members.get("isError") == Some(&Value::Bool(true));
    if !failed
        && let Some(structured) = members.get("structuredContent")
        && let Some(problem) = tool.output_problem(structured)
    {
        return output_failed(server, tool, revision, &problem);
    }
    project::project_tool_result(&mut result, revision);
    Ok(server.seal_object(result, revision))
}
