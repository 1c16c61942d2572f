//! Tools: how they are registered, and what is known of them then.

use super::{
    access::{Access, access_setters},
    app,
    list::{Descriptor, Listed},
    members::{self, check_members},
    register_error::RegisterError,
};
use crate::{
    protocol::{
        model::Tool,
        project,
        schema::{self, HeaderParameter, Schema},
    },
    server::{handlers::Handler, result::CompiledOutputSchema},
};
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
    restarts_task: bool,
    access: Access,
    handler: Arc<dyn Handler>,
    explainer: Option<Arc<dyn Handler>>,
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

/// The tasks that calls of a tool may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolTasks {
    pub(crate) support: TaskSupport,
    /// On 2026-07-28 a call begins as a call.
    pub(crate) defers: bool,
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
            restarts_task: false,
            access: Access::default(),
            handler: Arc::new(handler),
            explainer: None,
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

    /// A task of the tool that was running when its process ended is run again from its start, with
    /// the same arguments, by the next worker that shares the store of the server
    /// ([`crate::server::ServerOptions::store`]): within half a minute, up to three runs in all.
    /// Without it, such a task has failed. A worker that only seemed to be gone may still run, so
    /// two runs must do no harm. Not for tools that [defer](Self::defer_task) their tasks.
    pub fn restart_task(mut self, restart: bool) -> Self {
        self.restarts_task = restart;
        self
    }

    access_setters!();

    /// Judges arguments that the input schema refuses by a validation of the handler's own: the
    /// explainer is called with them, in place of the handler. It answers
    /// [`crate::server::Outcome::InvalidArguments`] with a better text, or
    /// [`crate::server::Outcome::Value`] `true` to accept them: then the handler is called. With
    /// any other outcome, the caller gets the text of the schema.
    pub fn explained_by(mut self, explainer: impl Handler) -> Self {
        self.explainer = Some(Arc::new(explainer));
        self
    }

    /// Adds or replaces a member of the descriptor, such as `title` or `annotations`.
    pub fn with(mut self, member: &str, value: Value) -> Self {
        self.descriptor[member] = value;
        self
    }

    pub(in crate::server) fn compile(self) -> Result<RegisteredTool, RegisterError> {
        let Self { mut descriptor, wrap_output, requires, defers_task, restarts_task, access, handler, explainer } =
            self;
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
        access.check().map_err(|problem| RegisterError(format!("Tool {name}: {problem}")))?;
        // A descriptor that peers would refuse to read is refused here; a valid one stays as it was
        // given.
        members::read::<Tool>(&descriptor).map_err(|fault| RegisterError(format!("Tool {name}: {fault}")))?;
        check_members::<Tool>("tool", &name, &descriptor)?;
        let task_support = TaskSupport::of(&descriptor).map_err(|error| wrong("the descriptor", &error))?;
        if restarts_task && (defers_task || task_support == TaskSupport::Forbidden) {
            let problem = "needs execution.taskSupport optional or required, and tasks that are not deferred";
            return Err(wrong("running a task again", &problem));
        }
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
            restarts_task,
            interface,
            access,
            handler,
            explainer,
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
    pub(in crate::server) restarts_task: bool,
    /// The URI of its user interface.
    pub(in crate::server) interface: Option<String>,
    pub(in crate::server) access: Access,
    pub(in crate::server) handler: Arc<dyn Handler>,
    /// Has words of its own for arguments that the input schema refuses.
    pub(in crate::server) explainer: Option<Arc<dyn Handler>>,
}

impl RegisteredTool {
    pub(in crate::server) fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            descriptor: self.descriptor.value().clone(),
            wrap_output: self.output.as_ref().is_some_and(|output| output.wrap),
            requires: self.requires.clone(),
            defers_task: self.defers_task,
            restarts_task: self.restarts_task,
            access: self.access.clone(),
            handler: Arc::clone(&self.handler),
            explainer: self.explainer.clone(),
        }
    }
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

    fn access(&self) -> &Access {
        &self.access
    }
}
