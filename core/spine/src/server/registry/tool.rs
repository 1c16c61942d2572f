//! Tools and their registration.

use super::{
    access_options::{AccessOptions, definition_setters},
    app, descriptor_members,
    list::{Descriptor, listed},
    register_error::RegisterError,
};
use crate::{
    protocol::{
        model::{TaskSupport, Tool},
        project,
        schema::{self, HeaderParameter, Schema},
    },
    server::{handlers::Handler, result::CompiledOutputSchema},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

trunkline_proto::options! {
    /// Options of a tool, in addition to its descriptor.
    #[derive(Debug, Clone)]
    pub struct ToolOptions {
        /// Support for calls that run as tasks, whose results clients fetch later:
        /// `execution.taskSupport` of the descriptor. Without it, the tool has no tasks.
        @some(TaskSupport) task: Option<TaskSupport> => "task" = None,
        /// Start as a plain call on 2026-07-28, which the handler can turn into a task: after it
        /// has asked for input in rounds, for example. On 2025-11-25 the client decides.
        defer_task: bool => "deferTask" = false,
        /// Restart a task that was running when its process ended, from the beginning and with the
        /// same arguments, on the next worker that shares the server's store: within 30 seconds, up
        /// to three runs in all. By default, such a task fails. A worker presumed dead may still be
        /// running, so two concurrent runs must do no harm. A restarted task that asks its client
        /// fails. Not for tools that defer their tasks.
        restart_task: bool => "restartTask" = false,
        /// `ui://` URI of the tool's user interface (MCP Apps): `_meta.ui.resourceUri` of the
        /// descriptor.
        @some(String) ui: Option<String> => "ui" = None,
        /// Client capabilities, such as `{"sampling": {}}`, without which calls are refused before
        /// the handler runs.
        @some(Value) requires: Option<Value> => "requires" = None,
        ;
        /// Access and time limit.
        access: AccessOptions,
    }
    setters tool_setters
}

/// A tool to register: its descriptor (the Tool of the newest revision of the specification) and
/// its handler.
#[must_use = "a tool does nothing until it is added to a server"]
pub struct ToolDefinition {
    pub(in crate::server) descriptor: Value,
    pub(in crate::server) wrap_output: bool,
    pub(in crate::server) options: ToolOptions,
    pub(in crate::server) handler: Arc<dyn Handler>,
    explainer: Option<Arc<dyn Handler>>,
}

/// The task support of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolTasks {
    /// How calls become tasks.
    pub support: TaskSupport,
    /// On 2026-07-28, a call starts without a task and can become one later.
    pub defers: bool,
}

impl ToolOptions {
    /// Moves options that belong to the descriptor into it.
    fn complete(&mut self, descriptor: &mut Map<String, Value>) {
        fn object<'a>(of: &'a mut Map<String, Value>, member: &str) -> Option<&'a mut Map<String, Value>> {
            of.entry(member).or_insert_with(|| json!({})).as_object_mut()
        }
        if let Some(support) = self.task.take() {
            descriptor.insert("execution".to_owned(), json!({"taskSupport": support}));
        }
        // If `_meta` is not an object, the descriptor is refused later.
        if let Some(uri) = self.ui.take()
            && let Some(ui) = object(descriptor, "_meta").and_then(|meta| object(meta, "ui"))
        {
            ui.insert("resourceUri".to_owned(), uri.into());
        }
    }
}

impl ToolDefinition {
    /// Creates a tool from its descriptor, a Tool object. Without `inputSchema`, the input is an
    /// object without properties.
    pub fn new(descriptor: Value, handler: impl Handler) -> Self {
        Self {
            descriptor,
            wrap_output: false,
            options: ToolOptions::default(),
            handler: Arc::new(handler),
            explainer: None,
        }
    }

    /// Sets whether results have the form `{"result": value}`. An output schema that is not for
    /// objects then describes the value.
    pub fn wrap_output(mut self, wrap: bool) -> Self {
        self.wrap_output = wrap;
        self
    }

    tool_setters!(self, self.options);
    definition_setters!(self, ToolOptions, self.options.access);

    /// Sets a function that handles arguments refused by the input schema, for example to validate
    /// them itself. The explainer is called with them instead of the handler. It completes with
    /// [`crate::server::Outcome::InvalidArguments`] and a better message, or with
    /// [`crate::server::Outcome::Value`] `true` to accept them; then the handler is called. With
    /// any other outcome, the caller gets the error message of the schema.
    pub fn explained_by(mut self, explainer: impl Handler) -> Self {
        self.explainer = Some(Arc::new(explainer));
        self
    }

    pub(in crate::server) fn compile(self) -> Result<RegisteredTool, RegisterError> {
        let Self { mut descriptor, wrap_output, mut options, handler, explainer } = self;
        let Some(members) = descriptor.as_object_mut() else {
            return Err(RegisterError("A tool's descriptor must be an object".into()));
        };
        let name = match members.get("name").and_then(Value::as_str) {
            Some(name) => name.to_owned(),
            None => return Err(RegisterError("A tool needs the string member name".into())),
        };
        check_name(&name)?;
        let wrong = |what: &str, error: &dyn std::fmt::Display| RegisterError(format!("Tool {name}: {what}: {error}"));
        options.complete(members);
        // TOOL-08: a tool without parameters still has a schema.
        let input_schema = members
            .entry("inputSchema")
            .or_insert_with(|| json!({"type": "object", "properties": {}, "additionalProperties": false}));
        schema::check_input_root(input_schema).map_err(|error| wrong("inputSchema", &error))?;
        add_properties(input_schema);
        let input = Schema::compile(input_schema).map_err(|error| wrong("inputSchema", &error))?;
        let mirrored = schema::header_parameters(input_schema).map_err(|error| wrong("inputSchema", &error))?;
        let compiled = |output: &mut Value| -> Result<_, RegisterError> {
            let is_of_objects = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("object");
            if wrap_output && !is_of_objects(output) {
                *output = schema::wrapped(output.take());
            }
            let schema = Schema::compile(output).map_err(|error| wrong("outputSchema", &error))?;
            Ok(CompiledOutputSchema { takes_objects: is_of_objects(output), schema, wrap: wrap_output })
        };
        let output = members.get_mut("outputSchema").map(compiled).transpose()?;
        if options.requires.as_ref().is_some_and(|requires| !requires.is_object()) {
            return Err(wrong("requires", &"must be a ClientCapabilities object"));
        }
        // Refuse a descriptor that peers could not parse. A valid one is kept as given.
        descriptor_members::read::<Tool, ToolOptions>("Tool", &name, &descriptor, &options.access)?;
        let task_support =
            descriptor.pointer("/execution/taskSupport").map_or(Ok(TaskSupport::Forbidden), |given| {
                let problem = "execution.taskSupport must be forbidden, optional or required";
                TaskSupport::deserialize(given).map_err(|_| wrong("the descriptor", &problem))
            })?;
        if options.restart_task && (options.defer_task || task_support == TaskSupport::Forbidden) {
            let problem = "needs execution.taskSupport optional or required, and tasks that are not deferred";
            return Err(wrong("restarting tasks", &problem));
        }
        let interface = app::interface_of(&descriptor).map_err(|error| wrong("the descriptor", &error))?;
        let descriptor = Descriptor::new(descriptor, project::project_tool);
        Ok(RegisteredTool {
            name,
            descriptor,
            input,
            mirrored,
            output,
            task_support,
            interface,
            options,
            handler,
            explainer,
        })
    }
}

/// Adds `properties` to the schema of an object without: some model providers refuse a tool whose
/// schema has none, and with it all other tools of the request.
fn add_properties(schema: &mut Value) {
    if let Some(members) = schema.as_object_mut().filter(|members| !members.contains_key("properties")) {
        let after_type = members.keys().position(|name| name == "type").map_or(members.len(), |at| at + 1);
        members.shift_insert(after_type, "properties".to_owned(), json!({}));
    }
}

/// Checks a tool name (TOOL-09, TOOL-10).
fn check_name(name: &str) -> Result<(), RegisterError> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > 128 || !name.bytes().all(legal) {
        return Err(RegisterError(format!(
            "The tool name {name:?} must be 1 to 128 of the characters A-Z a-z 0-9 _ - ."
        )));
    }
    Ok(())
}

/// A registered tool.
pub(crate) struct RegisteredTool {
    pub(in crate::server) name: String,
    descriptor: Descriptor,
    pub(in crate::server) input: Schema,
    /// Parameters that are mirrored in HTTP headers.
    pub(in crate::server) mirrored: Vec<HeaderParameter>,
    pub(in crate::server) output: Option<CompiledOutputSchema>,
    pub(in crate::server) task_support: TaskSupport,
    /// The URI of its user interface.
    pub(in crate::server) interface: Option<String>,
    pub(in crate::server) options: ToolOptions,
    pub(in crate::server) handler: Arc<dyn Handler>,
    /// Handles arguments refused by the input schema.
    pub(in crate::server) explainer: Option<Arc<dyn Handler>>,
}

impl RegisteredTool {
    pub(in crate::server) fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            descriptor: self.descriptor.value().clone(),
            wrap_output: self.output.as_ref().is_some_and(|output| output.wrap),
            options: self.options.clone(),
            handler: Arc::clone(&self.handler),
            explainer: self.explainer.clone(),
        }
    }
}

listed!(RegisteredTool, "A tool", name, options.access);
