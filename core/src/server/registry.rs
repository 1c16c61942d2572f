//! The tools of a server, as snapshots: one request sees one snapshot, and changing the registry makes the next.

use super::handler::Handler;
use crate::protocol::{
    Feature, RawJson, Revision,
    model::Tool,
    project,
    schema::{self, HeaderParameter, Schema},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

/// A tool to register: its descriptor (the specification's Tool of the newest revision) and its handler.
pub struct ToolEntry {
    descriptor: Value,
    wrap_output: bool,
    requires: Option<Value>,
    handler: Arc<dyn Handler>,
}

/// Why something cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegisterError(pub(crate) String);

impl ToolEntry {
    /// A tool from its descriptor, a Tool object. A missing `inputSchema` means an object without properties.
    pub fn new(descriptor: Value, handler: impl Handler) -> Self {
        Self { descriptor, wrap_output: false, requires: None, handler: Arc::new(handler) }
    }

    /// The output schema describes `{"result": value}`, not the value.
    pub fn wrap_output(mut self, wrap: bool) -> Self {
        self.wrap_output = wrap;
        self
    }

    /// Client capabilities (a ClientCapabilities object) without which calls are refused before the handler sees them.
    pub fn requires(mut self, capabilities: Value) -> Self {
        self.requires = Some(capabilities);
        self
    }

    /// Adds or replaces a member of the descriptor, such as `title` or `annotations`.
    pub fn with(mut self, member: &str, value: Value) -> Self {
        self.descriptor[member] = value;
        self
    }

    pub(super) fn compile(self, number: u64) -> Result<RegisteredTool, RegisterError> {
        let Self { mut descriptor, wrap_output, requires, handler } = self;
        let Some(members) = descriptor.as_object_mut() else {
            return Err(RegisterError("A tool's descriptor must be an object".into()));
        };
        let name = match members.get("name").and_then(Value::as_str) {
            Some(name) => name.to_owned(),
            None => return Err(RegisterError("A tool needs the string member name".into())),
        };
        check_name(&name)?;
        let wrong = |what: &str, error: &dyn std::fmt::Display| RegisterError(format!("Tool {name}: {what}: {error}"));
        // TOOL-08: a tool without parameters says so.
        let input_schema = members
            .entry("inputSchema")
            .or_insert_with(|| json!({"type": "object", "properties": {}, "additionalProperties": false}));
        schema::check_input_root(input_schema).map_err(|error| wrong("inputSchema", &error))?;
        let input = Schema::compile(input_schema).map_err(|error| wrong("inputSchema", &error))?;
        let mirrored = schema::header_parameters(input_schema).map_err(|error| wrong("inputSchema", &error))?;
        let output = match members.get("outputSchema") {
            Some(output) => Some(Output {
                takes_objects: output.get("type").and_then(Value::as_str) == Some("object"),
                schema: Schema::compile(output).map_err(|error| wrong("outputSchema", &error))?,
                wrap: wrap_output,
            }),
            None => None,
        };
        if requires.as_ref().is_some_and(|requires| !requires.is_object()) {
            return Err(wrong("requires", &"must be a ClientCapabilities object"));
        }
        // What peers would refuse to read is refused here; the descriptor itself stays as it was given.
        Tool::deserialize(&descriptor).map_err(|error| wrong("the descriptor", &error))?;
        Ok(RegisteredTool {
            name,
            number,
            descriptor,
            input,
            mirrored,
            output,
            requires,
            handler,
            rendered: Default::default(),
        })
    }
}

/// TOOL-09, TOOL-10.
fn check_name(name: &str) -> Result<(), RegisterError> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > 128 || !name.bytes().all(legal) {
        return Err(RegisterError(format!(
            "The tool name {name:?} must be 1 to 128 of the characters A-Z a-z 0-9 _ - ."
        )));
    }
    Ok(())
}

/// A tool that is offered.
pub(crate) struct RegisteredTool {
    pub(super) name: String,
    number: u64,
    descriptor: Value,
    pub(super) input: Schema,
    /// Parameters that HTTP headers repeat.
    pub(super) mirrored: Vec<HeaderParameter>,
    pub(super) output: Option<Output>,
    pub(super) requires: Option<Value>,
    pub(super) handler: Arc<dyn Handler>,
    /// Its JSON for each revision, made when first listed.
    rendered: [OnceLock<RawJson>; Revision::ALL.len()],
}

pub(super) struct Output {
    schema: Schema,
    pub(super) wrap: bool,
    pub(super) takes_objects: bool,
}

impl RegisteredTool {
    /// Why the output schema refuses a value.
    pub(super) fn output_problem(&self, structured: &Value) -> Option<String> {
        self.output.as_ref()?.schema.validate(structured).err().map(|problem| problem.to_string())
    }

    fn rendered(&self, revision: Revision) -> &RawJson {
        self.rendered[revision as usize].get_or_init(|| {
            let mut descriptor = self.descriptor.clone();
            project::project_tool(&mut descriptor, revision);
            RawJson::from_value(&descriptor).unwrap_or_else(|_| RawJson::empty_object())
        })
    }
}

/// The tools at one moment, in the order of registration (TOOL-04).
#[derive(Default)]
pub(crate) struct Snapshot {
    tools: Vec<Arc<RegisteredTool>>,
    by_name: HashMap<String, usize>,
    /// The members of the first page's result for each revision: what nearly every list request asks for.
    first_page: [OnceLock<Vec<u8>>; Revision::ALL.len()],
}

impl Snapshot {
    pub(super) fn with(&self, tool: RegisteredTool) -> Result<Self, RegisterError> {
        if self.by_name.contains_key(&tool.name) {
            return Err(RegisterError(format!("A tool named {:?} is already registered", tool.name)));
        }
        let mut tools = self.tools.clone();
        tools.push(Arc::new(tool));
        Ok(Self::of(tools))
    }

    pub(super) fn without(&self, name: &str) -> Option<Self> {
        let position = *self.by_name.get(name)?;
        let mut tools = self.tools.clone();
        tools.remove(position);
        Some(Self::of(tools))
    }

    fn of(tools: Vec<Arc<RegisteredTool>>) -> Self {
        let by_name = tools.iter().enumerate().map(|(position, tool)| (tool.name.clone(), position)).collect();
        Self { tools, by_name, first_page: Default::default() }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.by_name.get(name).map(|position| &self.tools[*position])
    }

    /// The members of a list result: the page that follows `after` (0: the first).
    pub(super) fn page(&self, after: u64, size: usize, revision: Revision) -> Vec<u8> {
        match after {
            0 => self.first_page[revision as usize].get_or_init(|| self.write_page(0, size, revision)).clone(),
            after => self.write_page(after, size, revision),
        }
    }

    fn write_page(&self, after: u64, size: usize, revision: Revision) -> Vec<u8> {
        let start = self.tools.partition_point(|tool| tool.number <= after);
        let end = start.saturating_add(size.max(1)).min(self.tools.len());
        let page = &self.tools[start..end];
        let texts: Vec<_> = page.iter().map(|tool| tool.rendered(revision).as_bytes()).collect();
        let mut members = br#""tools":["#.to_vec();
        members.extend_from_slice(&texts.join(&b","[..]));
        members.push(b']');
        if let (Some(last), true) = (page.last(), end < self.tools.len()) {
            members.extend_from_slice(format!(r#","nextCursor":"{}""#, cursor(last.number)).as_bytes());
        }
        if revision.supports(Feature::CacheHints) {
            members.extend_from_slice(br#","ttlMs":0,"cacheScope":"private""#);
        }
        members
    }
}

/// A cursor names the last tool of its page by registration number, so that it stays right when tools come and go (PAG-05).
fn cursor(after: u64) -> String {
    format!("tools-{after:x}")
}

/// Reads a cursor back. `None`: it is not one of ours.
pub(super) fn parse_cursor(cursor: &str) -> Option<u64> {
    let digits = cursor.strip_prefix("tools-")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (number > 0 && format!("{number:x}") == digits).then_some(number)
}
