//! Results of tools.

use super::{
    as_written::may_be_rounded,
    rpc_error::{self, lossy},
    writer::ResultWriter,
};
use crate::{
    protocol::{
        RawJson, Revision, RevisionFeature, RpcError, model::CallToolResult, project, push_string, schema::Schema,
    },
    server::handlers::Outcome,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json, value::RawValue};
use std::fmt;

const GENERIC_FAILURE: &str = "The tool failed because of an internal error.";

/// A compiled output schema.
pub(in crate::server) struct CompiledOutputSchema {
    pub(in crate::server) schema: Schema,
    /// True if the schema describes `{"result": value}` rather than the value.
    pub(in crate::server) wrap: bool,
    pub(in crate::server) takes_objects: bool,
}

/// Converts the outcomes of a tool to results of a revision.
#[derive(Clone, Copy)]
pub(in crate::server) struct ToolRenderer<'a> {
    pub(in crate::server) results: &'a ResultWriter,
    pub(in crate::server) revision: Revision,
    pub(in crate::server) name: &'a str,
    pub(in crate::server) output: Option<&'a CompiledOutputSchema>,
}

impl ToolRenderer<'_> {
    pub(in crate::server) fn render(self, outcome: Outcome) -> Result<RawJson, RpcError> {
        match outcome {
            Outcome::Text(text) => {
                let structured = self.output.map(|output| {
                    let text = Value::from(text.as_str());
                    Structured::of(if output.takes_objects { json!({"result": text}) } else { text })
                });
                self.finish(text_content(&text), structured)
            }
            Outcome::Content(raw) => self.content(&raw),
            Outcome::Object(raw) => self.value(&raw, false),
            nothing @ Outcome::Value(_) if nothing.is_null() && self.output.is_none() => {
                self.finish(br#"{"content":[]"#.to_vec(), None)
            }
            Outcome::Value(raw) => {
                self.value(&raw, self.output.is_some_and(|output| output.wrap || output.takes_objects))
            }
            Outcome::Result(raw) => self.full_result(&raw),
            Outcome::ToolError(message) => Ok(self.error(&message)),
            Outcome::InvalidArguments(problem) => self.refuse(&invalid_arguments(self.name, &problem)),
            Outcome::Protocol(error) => Err(error),
            Outcome::InputRequired(_) => Err(RpcError::internal()),
            Outcome::NotFound => self.render(Outcome::Internal("it reported that the feature does not exist".into())),
            Outcome::Failed(error) => self.render(Outcome::Internal(error.detail())),
            Outcome::Internal(detail) => {
                tracing::error!(target: "trunkline::server::handlers", tool = self.name, error = detail, "a tool failed");
                self.render(Outcome::Reported(detail))
            }
            Outcome::Reported(detail) if self.results.debug => Ok(self.error(&format!("{GENERIC_FAILURE} {detail}"))),
            Outcome::Reported(_) => Ok(self.error(GENERIC_FAILURE)),
        }
    }

    /// A result that tells the model why the tool failed.
    pub(in crate::server) fn error(self, message: &str) -> RawJson {
        let mut object = text_content(message);
        object.extend_from_slice(br#","isError":true"#);
        self.results.seal(object, self.revision)
    }

    /// Refuses invalid arguments, as a result where the revision has it so.
    pub(in crate::server) fn refuse(self, problem: &str) -> Result<RawJson, RpcError> {
        match self.revision.supports(RevisionFeature::InputErrorsAsResults) {
            true => Ok(self.error(problem)),
            false => Err(RpcError::invalid_params(problem)),
        }
    }

    /// Fails a call whose handler returned an invalid value, which is a bug in the tool.
    fn unreadable(self, error: &dyn fmt::Display) -> Result<RawJson, RpcError> {
        self.render(rpc_error::unreadable(error))
    }

    /// The value as text and, if there is a schema, as structured content.
    fn value(self, raw: &RawJson, wrap: bool) -> Result<RawJson, RpcError> {
        let structured = match self.output.map(|_| Structured::read(raw.as_bytes())).transpose() {
            Ok(structured) => structured.map(|structured| if wrap { structured.wrapped() } else { structured }),
            Err(error) => return self.unreadable(&error),
        };
        self.finish(text_content(&lossy(raw)), structured)
    }

    /// Completes a result that starts with its content.
    fn finish(self, mut object: Vec<u8>, structured: Option<Structured>) -> Result<RawJson, RpcError> {
        if let Some(structured) = structured {
            if let Some(problem) = self.output_problem(&structured.value) {
                return Ok(self.output_failed(&problem));
            }
            if may_carry(self.revision, &structured.value) {
                object.extend_from_slice(br#","structuredContent":"#);
                object.extend_from_slice(&structured.text);
            }
        }
        Ok(self.results.seal(object, self.revision))
    }

    /// Why the output schema refuses a value.
    fn output_problem(self, structured: &Value) -> Option<String> {
        self.output?.schema.validate(structured).err().map(|problem| problem.to_string())
    }

    /// TOOL-13: structured content that does not match the output schema is not sent.
    fn output_failed(self, problem: &str) -> RawJson {
        tracing::error!(target: "trunkline::server::handlers", tool = self.name, error = problem, "the result of a tool does not match its output schema");
        self.error(&format!("The result of the tool {} does not match its output schema: {problem}", self.name))
    }

    fn content(self, raw: &RawJson) -> Result<RawJson, RpcError> {
        let content = match raw.parse() {
            Ok(Value::Array(blocks)) => json!({"content": blocks}),
            Ok(block) => json!({"content": [block]}),
            Err(error) => return self.unreadable(&error),
        };
        let written = may_be_rounded(&content).then(|| match raw.as_bytes().trim_ascii_start().first() {
            Some(b'[') => format!(r#"{{"content":{raw}}}"#),
            _ => format!(r#"{{"content":[{raw}]}}"#),
        });
        let written = written.map(|written| RawJson::trusted(written.into()));
        self.complete(content, written.as_ref(), None)
    }

    fn full_result(self, raw: &RawJson) -> Result<RawJson, RpcError> {
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
                if !self.name.is_empty() {
                    self.results.unknown.note::<CallToolResult>(self.name, &result);
                }
                self.complete(result, Some(raw), structured)
            }
            Err(error) => self.unreadable(&error),
        }
    }

    fn complete(
        self,
        mut result: Value,
        written: Option<&RawJson>,
        structured: Option<Structured>,
    ) -> Result<RawJson, RpcError> {
        let Some(members) = result.as_object_mut() else { return self.unreadable(&"a result must be an object") };
        if !members.contains_key("content") {
            // TOOL-15: structured content is repeated as text.
            let block = |given: &Structured| json!([{"type": "text", "text": String::from_utf8_lossy(&given.text)}]);
            members.insert("content".into(), structured.as_ref().map_or_else(|| json!([]), block));
        }
        let failed = members.get("isError") == Some(&Value::Bool(true));
        let problem = match &structured {
            Some(structured) => self.output_problem(&structured.value),
            None => self.output.map(|_| "there is no structured content, but the tool has an output schema".to_owned()),
        };
        if let Some(problem) = problem.filter(|_| !failed) {
            return Ok(self.output_failed(&problem));
        }
        project::project_tool_result(&mut result, self.revision);
        let carried =
            result.as_object_mut().and_then(|members| members.shift_remove("structuredContent")).and(structured);
        let sealed = self.results.seal_result(result, written, self.revision);
        let Some(structured) = carried else { return Ok(sealed) };
        // Added as written. A result always has other members.
        let members = sealed.as_bytes().strip_suffix(b"}").unwrap_or_default();
        Ok(RawJson::trusted([members, br#","structuredContent":"#, &structured.text, b"}"].concat().into()))
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

/// TOOL-16, TOOL-17: objects from 2025-06-18, anything from 2026-07-28.
fn may_carry(revision: Revision, structured: &Value) -> bool {
    revision.supports(RevisionFeature::AnyStructuredContent)
        || (structured.is_object() && revision.supports(RevisionFeature::StructuredContent))
}
