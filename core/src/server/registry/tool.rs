//! Tools: how they are registered, and what is known of them then.

use super::{
    app,
    error::RegisterError,
    list::{Descriptor, Listed},
};
use crate::{
    http::scope::is_scope,
    protocol::{
        model::Tool,
        project,
        schema::{self, HeaderParameter, Schema},
    },
    server::{handlers::Handler, result::CompiledOutputSchema},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A tool to register: its descriptor (the specification's Tool of the newest revision) and its
/// handler.
#[must_use = "a tool does nothing until it is added to a server"]
pub struct ToolDefinition {
    descriptor: Value,
    wrap_output: bool,
    requires: Option<Value>,
    defers_task: bool,
    scopes: Vec<String>,
    handler: Arc<dyn Handler>,
}

/// `true` if a tool may run as a task: `execution.taskSupport` of its descriptor, on every revision
/// that has tasks.
///
/// ```
/// use trunkline::{Tool, server::TaskSupport};
///
/// let tool: Tool = Tool::new("render", "Renders a film.", async || "done".to_owned()).task(TaskSupport::Optional);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskSupport {
    /// Never.
    #[default]
    Forbidden,
    /// If the client can.
    Optional,
    /// Only; clients that cannot are refused.
    Required,
}

impl TaskSupport {
    fn of(descriptor: &Value) -> Result<Self, &'static str> {
        match descriptor.get("execution").and_then(|execution| execution.get("taskSupport")).map(Value::as_str) {
            None | Some(Some("forbidden")) => Ok(Self::Forbidden),
            Some(Some("optional")) => Ok(Self::Optional),
            Some(Some("required")) => Ok(Self::Required),
            Some(_) => Err("execution.taskSupport must be forbidden, optional or required"),
        }
    }

    pub(in crate::server) fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

impl ToolDefinition {
    /// A tool from its descriptor, a Tool object. A missing `inputSchema` means an object without
    /// properties.
    pub fn new(descriptor: Value, handler: impl Handler) -> Self {
        Self {
            descriptor,
            wrap_output: false,
            requires: None,
            defers_task: false,
            scopes: Vec::new(),
            handler: Arc::new(handler),
        }
    }

    /// The output schema describes `{"result": value}`, not the value.
    pub fn wrap_output(mut self, wrap: bool) -> Self {
        self.wrap_output = wrap;
        self
    }

    /// Client capabilities (a ClientCapabilities object) without which calls are refused before the
    /// handler sees them.
    pub fn requires(mut self, capabilities: Value) -> Self {
        self.requires = Some(capabilities);
        self
    }

    /// Returns whether the tool may run as a task.
    pub fn task(self, support: TaskSupport) -> Self {
        self.with("execution", json!({"taskSupport": support.as_str()}))
    }

    /// On 2026-07-28 a call begins as a call, and becomes a task when its handler says so with
    /// [`crate::server::CallInfo::start_task`]: after it has asked for input in rounds, say. On
    /// 2025-11-25 the client decides.
    pub fn defer_task(mut self, defer: bool) -> Self {
        self.defers_task = defer;
        self
    }

    /// Scopes that the access token of a call must grant, beside those that the endpoint needs.
    /// Calls without them are refused (over HTTP with 403), and told all that is needed (AUS-10,
    /// AUS-11). Where a transport verifies no tokens, nothing is needed.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Adds or replaces a member of the descriptor, such as `title` or `annotations`.
    pub fn with(mut self, member: &str, value: Value) -> Self {
        self.descriptor[member] = value;
        self
    }

    pub(in crate::server) fn compile(self) -> Result<RegisteredTool, RegisterError> {
        let Self { mut descriptor, wrap_output, requires, defers_task, scopes, handler } = self;
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
            Some(output) => Some(CompiledOutputSchema {
                takes_objects: output.get("type").and_then(Value::as_str) == Some("object"),
                schema: Schema::compile(output).map_err(|error| wrong("outputSchema", &error))?,
                wrap: wrap_output,
            }),
            None => None,
        };
        if requires.as_ref().is_some_and(|requires| !requires.is_object()) {
            return Err(wrong("requires", &"must be a ClientCapabilities object"));
        }
        if let Some(scope) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(wrong("scopes", &format!("{scope:?} is not a scope (RFC 6749 section 3.3)")));
        }
        // AUS-13: a challenge would ask for it.
        if scopes.iter().any(|scope| scope == "offline_access") {
            return Err(wrong("scopes", &"offline_access is a matter between a client and its authorization server"));
        }
        // A descriptor that peers would refuse to read is refused here; a valid one stays as it was
        // given.
        Tool::deserialize(&descriptor).map_err(|error| wrong("the descriptor", &error))?;
        let task_support = TaskSupport::of(&descriptor).map_err(|error| wrong("the descriptor", &error))?;
        let interface = app::interface_of(&descriptor).map_err(|error| wrong("the descriptor", &error))?;
        let descriptor = Descriptor::new(descriptor, project::project_tool);
        Ok(RegisteredTool {
            name,
            descriptor,
            input,
            mirrored,
            output,
            requires,
            task_support,
            defers_task,
            interface,
            scopes,
            handler,
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
    pub(in crate::server) name: String,
    descriptor: Descriptor,
    pub(in crate::server) input: Schema,
    /// Parameters that HTTP headers repeat.
    pub(in crate::server) mirrored: Vec<HeaderParameter>,
    pub(in crate::server) output: Option<CompiledOutputSchema>,
    pub(in crate::server) requires: Option<Value>,
    pub(in crate::server) task_support: TaskSupport,
    pub(in crate::server) defers_task: bool,
    /// The URI of its user interface.
    pub(in crate::server) interface: Option<String>,
    /// The scopes that the caller's access token must grant.
    pub(in crate::server) scopes: Vec<String>,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

impl Listed for RegisteredTool {
    const MEMBER: &'static str = "tools";
    const NOUN: &'static str = "A tool";

    fn key(&self) -> &str {
        &self.name
    }

    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }
}
