//! Results of tools.

use super::{
    output_schema::CompiledOutputSchema,
    rpc_error::{self, lossy},
    writer::ResultWriter,
};
use crate::{
    protocol::{RawJson, Revision, RevisionFeature, RpcError, model::CallToolResult, project, push_string},
    server::handlers::Outcome,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json, value::RawValue};
use std::fmt;

const GENERIC_FAILURE: &str = "The tool failed because of an internal error.";

/// The definition that a tool's result must match.
pub(in crate::server) struct ToolOf<'a> {
    pub(in crate::server) name: &'a str,
    pub(in crate::server) output: Option<&'a CompiledOutputSchema>,
}

impl ToolOf<'_> {
    /// Why the output schema refuses a value.
    fn output_problem(&self, structured: &Value) -> Option<String> {
        self.output?.problem(structured)
    }
}

/// Converts the outcome of a tool to a result.
pub(in crate::server) fn render_tool(
    results: &ResultWriter,
    tool: &ToolOf<'_>,
    revision: Revision,
    outcome: Outcome,
) -> Result<RawJson, RpcError> {
    match outcome {
        Outcome::Text(text) => {
            let structured = tool.output.map(|output| {
                let text = Value::from(text.as_str());
                Structured::of(if output.takes_objects { json!({"result": text}) } else { text })
            });
            finish(results, tool, revision, text_content(&text), structured, false)
        }
        Outcome::Content(raw) => content(results, tool, revision, &raw),
        Outcome::Object(raw) => value(results, tool, revision, &raw, false),
        nothing @ Outcome::Value(_) if nothing.is_null() && tool.output.is_none() => {
            finish(results, tool, revision, br#"{"content":[]"#.to_vec(), None, false)
        }
        Outcome::Value(raw) => {
            let wrap = tool.output.is_some_and(|output| output.wrap || output.takes_objects);
            value(results, tool, revision, &raw, wrap)
        }
        Outcome::Result(raw) => full_result(results, tool, revision, &raw),
        Outcome::ToolError(message) => finish(results, tool, revision, text_content(&message), None, true),
        Outcome::InvalidArguments(problem) => {
            let message = invalid_arguments(tool.name, &problem);
            if revision.supports(RevisionFeature::InputErrorsAsResults) {
                finish(results, tool, revision, text_content(&message), None, true)
            } else {
                Err(RpcError::invalid_params(message))
            }
        }
        Outcome::Protocol(error) => Err(error),
        Outcome::InputRequired(_) => Err(RpcError::internal()),
        Outcome::NotFound => {
            let detail = Outcome::Internal("it reported that the feature does not exist".into());
            render_tool(results, tool, revision, detail)
        }
        Outcome::Failed(error) => render_tool(results, tool, revision, Outcome::Internal(error.detail())),
        Outcome::Internal(detail) => {
            tracing::error!(target: "trunkline::server::handlers", tool = tool.name, error = detail, "a tool failed");
            render_tool(results, tool, revision, Outcome::Reported(detail))
        }
        Outcome::Reported(detail) => {
            let text = if results.debug() { format!("{GENERIC_FAILURE} {detail}") } else { GENERIC_FAILURE.into() };
            finish(results, tool, revision, text_content(&text), None, true)
        }
    }
}

/// The error text for invalid arguments, from the schema or from the host's own checks.
pub(in crate::server) fn invalid_arguments(name: &str, problem: &dyn fmt::Display) -> String {
    format!("Invalid arguments for tool {name}: {problem}")
}

/// `{"content":[{"type":"text","text":…}]`, written directly because most calls return it.
fn text_content(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8 + 256);
    out.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
    push_string(&mut out, text);
    out.extend_from_slice(b"}]");
    out
}

/// Structured content, both parsed and as written, so that numbers are passed on exactly.
struct Structured {
    value: Value,
    text: Vec<u8>,
}

impl Structured {
    fn of(value: Value) -> Self {
        Self { text: value.to_string().into(), value }
    }

    fn read(text: &[u8]) -> serde_json::Result<Self> {
        let value = serde_json::from_slice(text)?;
        // JSON has line breaks only between tokens, where any whitespace will do. On a pipe, a line
        // is a message.
        let text = text.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
        Ok(Self { value, text })
    }

    fn wrapped(self) -> Self {
        Self { value: json!({"result": self.value}), text: [br#"{"result":"#, &self.text[..], b"}"].concat() }
    }
}

/// Fails a call whose handler returned an invalid value, which is a bug in the tool.
fn unreadable(
    results: &ResultWriter,
    tool: &ToolOf<'_>,
    revision: Revision,
    error: &dyn fmt::Display,
) -> Result<RawJson, RpcError> {
    render_tool(results, tool, revision, rpc_error::unreadable(error))
}

/// The value as text and, if there is a schema, as structured content.
fn value(
    results: &ResultWriter,
    tool: &ToolOf<'_>,
    revision: Revision,
    raw: &RawJson,
    wrap: bool,
) -> Result<RawJson, RpcError> {
    let structured = match tool.output.map(|_| Structured::read(raw.as_bytes())).transpose() {
        Ok(structured) => structured.map(|structured| if wrap { structured.wrapped() } else { structured }),
        Err(error) => return unreadable(results, tool, revision, &error),
    };
    finish(results, tool, revision, text_content(&lossy(raw)), structured, false)
}

/// Completes a result that starts with its content.
fn finish(
    results: &ResultWriter,
    tool: &ToolOf<'_>,
    revision: Revision,
    mut object: Vec<u8>,
    structured: Option<Structured>,
    is_error: bool,
) -> Result<RawJson, RpcError> {
    if let Some(structured) = structured {
        if let Some(problem) = tool.output_problem(&structured.value) {
            return output_failed(results, tool, revision, &problem);
        }
        if may_carry(revision, &structured.value) {
            object.extend_from_slice(br#","structuredContent":"#);
            object.extend_from_slice(&structured.text);
        }
    }
    if is_error {
        object.extend_from_slice(br#","isError":true"#);
    }
    Ok(results.seal(object, revision))
}

/// TOOL-16, TOOL-17: objects from 2025-06-18, anything from 2026-07-28.
fn may_carry(revision: Revision, structured: &Value) -> bool {
    revision.supports(RevisionFeature::AnyStructuredContent)
        || (structured.is_object() && revision.supports(RevisionFeature::StructuredContent))
}

/// TOOL-13: structured content that does not match the output schema is not sent.
fn output_failed(
    results: &ResultWriter,
    tool: &ToolOf<'_>,
    revision: Revision,
    problem: &str,
) -> Result<RawJson, RpcError> {
    let text = format!("The result of the tool {} does not match its output schema: {problem}", tool.name);
    tracing::error!(target: "trunkline::server::handlers", tool = tool.name, error = problem, "the result of a tool does not match its output schema");
    finish(results, tool, revision, text_content(&text), None, true)
}

fn content(results: &ResultWriter, tool: &ToolOf<'_>, revision: Revision, raw: &RawJson) -> Result<RawJson, RpcError> {
    match raw.parse() {
        Ok(Value::Array(blocks)) => complete(results, tool, revision, json!({"content": blocks}), None),
        Ok(block) => complete(results, tool, revision, json!({"content": [block]}), None),
        Err(error) => unreadable(results, tool, revision, &error),
    }
}

fn full_result(
    results: &ResultWriter,
    tool: &ToolOf<'_>,
    revision: Revision,
    raw: &RawJson,
) -> Result<RawJson, RpcError> {
    #[derive(Deserialize)]
    struct Whole<'a> {
        #[serde(borrow, default, rename = "structuredContent", deserialize_with = "present")]
        structured: Option<&'a RawValue>,
    }
    // `null` is a regular value.
    fn present<'de, D: Deserializer<'de>>(text: D) -> Result<Option<&'de RawValue>, D::Error> {
        Deserialize::deserialize(text).map(Some)
    }
    let read = || -> serde_json::Result<_> {
        let structured = raw.parse::<Whole<'_>>()?.structured;
        Ok((raw.parse()?, structured.map(|text| Structured::read(text.get().as_bytes())).transpose()?))
    };
    match read() {
        Ok((result, structured)) => {
            // Members of a remote server's results are not checked.
            if !tool.name.is_empty() {
                results.unknown.note::<CallToolResult>(tool.name, &result);
            }
            complete(results, tool, revision, result, structured)
        }
        Err(error) => unreadable(results, tool, revision, &error),
    }
}

fn complete(
    results: &ResultWriter,
    tool: &ToolOf<'_>,
    revision: Revision,
    mut result: Value,
    structured: Option<Structured>,
) -> Result<RawJson, RpcError> {
    let Some(members) = result.as_object_mut() else {
        return unreadable(results, tool, revision, &"a result must be an object");
    };
    if !members.contains_key("content") {
        // TOOL-15: structured content is repeated as text.
        let block = |given: &Structured| json!([{"type": "text", "text": String::from_utf8_lossy(&given.text)}]);
        members.insert("content".into(), structured.as_ref().map_or_else(|| json!([]), block));
    }
    let failed = members.get("isError") == Some(&Value::Bool(true));
    let problem = match &structured {
        Some(structured) => tool.output_problem(&structured.value),
        None => tool.output.map(|_| "there is no structured content, but the tool has an output schema".to_owned()),
    };
    if let Some(problem) = problem.filter(|_| !failed) {
        return output_failed(results, tool, revision, &problem);
    }
    project::project_tool_result(&mut result, revision);
    let carried = result.as_object_mut().and_then(|members| members.shift_remove("structuredContent")).and(structured);
    let sealed = results.seal_object(result, revision);
    Ok(match carried {
        Some(structured) => with_structured(&sealed, &structured),
        None => sealed,
    })
}

/// Adds structured content as written. A result always has other members.
fn with_structured(sealed: &RawJson, structured: &Structured) -> RawJson {
    let members = sealed.as_bytes().strip_suffix(b"}").unwrap_or_default();
    RawJson::trusted([members, br#","structuredContent":"#, &structured.text, b"}"].concat().into())
}

/// A result that tells the model why the tool failed.
pub(in crate::server) fn tool_error(results: &ResultWriter, revision: Revision, message: &str) -> RawJson {
    let mut object = text_content(message);
    object.extend_from_slice(br#","isError":true"#);
    results.seal(object, revision)
}
