//! What a tool's outcome becomes.

use super::{Outcome, lossy};
use crate::{
    protocol::{Feature, RawJson, Revision, RpcError, project},
    server::{Server, catalog::Output},
};
use serde_json::{Value, json};
use std::fmt;

const GENERIC_FAILURE: &str = "The tool failed because of an internal error.";

/// What a tool's result has to fit.
pub(in crate::server) struct ToolOf<'a> {
    pub(in crate::server) name: &'a str,
    pub(in crate::server) output: Option<&'a Output>,
}

impl ToolOf<'_> {
    /// Why the output schema refuses a value.
    fn output_problem(&self, structured: &Value) -> Option<String> {
        self.output?.problem(structured)
    }
}

/// Turns the outcome of a tool into a result for a revision.
pub(in crate::server) fn render_tool(
    server: &Server,
    tool: &ToolOf<'_>,
    revision: Revision,
    outcome: Outcome,
) -> Result<RawJson, RpcError> {
    match outcome {
        Outcome::Text(text) => {
            let structured = tool.output.map(|output| {
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
            let wrap = tool.output.is_some_and(|output| output.wrap || output.takes_objects);
            let structured = parsed_if(tool.output.is_some(), &raw)?;
            let structured = structured.map(|value| if wrap { json!({"result": value}) } else { value });
            finish(server, tool, revision, text_block(&lossy(&raw)), structured, false)
        }
        Outcome::Result(raw) => full_result(server, tool, revision, &raw),
        Outcome::ToolError(message) => finish(server, tool, revision, text_block(&message), None, true),
        Outcome::InvalidArguments(problem) => {
            let message = invalid_arguments(tool.name, &problem);
            if revision.supports(Feature::InputErrorsAsResults) {
                finish(server, tool, revision, text_block(&message), None, true)
            } else {
                Err(RpcError::invalid_params(message))
            }
        }
        Outcome::Protocol(error) => Err(error),
        Outcome::InputRequired { .. } => Err(RpcError::internal()),
        Outcome::Internal(detail) => {
            tracing::error!(target: "trunkline", "the tool {} failed: {detail}", tool.name);
            let text =
                if server.options().debug { format!("{GENERIC_FAILURE} {detail}") } else { GENERIC_FAILURE.into() };
            finish(server, tool, revision, text_block(&text), None, true)
        }
    }
}

/// What is said of arguments that do not fit, whoever checked them.
pub(in crate::server) fn invalid_arguments(name: &str, problem: &dyn fmt::Display) -> String {
    format!("Invalid arguments for tool {name}: {problem}")
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

fn parsed_if(needed: bool, raw: &RawJson) -> Result<Option<Value>, RpcError> {
    if !needed {
        return Ok(None);
    }
    raw.parse().map(Some).map_err(|_| RpcError::internal())
}

fn finish(
    server: &Server,
    tool: &ToolOf<'_>,
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
fn output_failed(server: &Server, tool: &ToolOf<'_>, revision: Revision, problem: &str) -> Result<RawJson, RpcError> {
    tracing::error!(target: "trunkline", "the tool {} returned what its output schema refuses: {problem}", tool.name);
    let text = format!("The tool {} returned what its output schema refuses: {problem}", tool.name);
    finish(server, tool, revision, text_block(&text), None, true)
}

fn content(server: &Server, tool: &ToolOf<'_>, revision: Revision, raw: &RawJson) -> Result<RawJson, RpcError> {
    let blocks: Value = raw.parse().map_err(|_| RpcError::internal())?;
    let blocks = if blocks.is_array() { blocks } else { Value::Array(vec![blocks]) };
    full_result_value(server, tool, revision, json!({"content": blocks}))
}

fn full_result(server: &Server, tool: &ToolOf<'_>, revision: Revision, raw: &RawJson) -> Result<RawJson, RpcError> {
    full_result_value(server, tool, revision, raw.parse().map_err(|_| RpcError::internal())?)
}

fn full_result_value(
    server: &Server,
    tool: &ToolOf<'_>,
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

/// A result that says to the model why the tool failed.
pub(in crate::server) fn tool_error(server: &Server, revision: Revision, message: &str) -> RawJson {
    let mut members = br#""content":"#.to_vec();
    members.extend_from_slice(&text_block(message));
    members.extend_from_slice(br#","isError":true"#);
    server.seal(members, revision)
}
