//! Typed definitions: a handler, and everything that clients and the server need to know about its
//! feature.

use super::{
    AsyncHandler, HandlerArguments, IntoCompletionResult, IntoDecision, IntoPromptResult, IntoResourceResult,
    IntoToolResult, schema::arguments_schema, serve_async::serve,
};
use crate::{
    protocol::{
        RawJson,
        model::{Annotations, ClientCapabilities, Icon, ToolAnnotations},
        schema::{SchemaMember, members},
    },
    server::{
        CacheHints, CompletionDefinition, CompletionTarget, Outcome, PromptDefinition, ResourceDefinition,
        ResourceTemplateDefinition, TaskSupport, ToolDefinition,
    },
};
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use std::{future::Future, time::Duration};

/// A definition that can be registered on a server with the state `S`: a typed one such as
/// [`Tool`], or one in JSON.
pub trait IntoDefinition<S, Entry> {
    /// Binds the state that the handler receives.
    fn into_entry(self, state: S) -> Entry;
}

macro_rules! entries {
    ($($entry:ty),*) => {
        $(impl<S> IntoDefinition<S, $entry> for $entry {
            fn into_entry(self, _: S) -> $entry {
                self
            }
        })*
    };
}

entries!(ToolDefinition, ResourceDefinition, ResourceTemplateDefinition, PromptDefinition, CompletionDefinition);

/// A descriptor, and the entry built from it once the state of its handler is known.
struct Draft<S, Entry> {
    descriptor: Value,
    bind: Box<dyn FnOnce(Value, S) -> Entry + Send>,
    /// The settings outside of the descriptor.
    settings: Vec<Box<dyn FnOnce(Entry) -> Entry + Send>>,
}

impl<S, Entry: 'static> Draft<S, Entry> {
    fn new(descriptor: Value, bind: impl FnOnce(Value, S) -> Entry + Send + 'static) -> Self {
        Self { descriptor, bind: Box::new(bind), settings: Vec::new() }
    }

    /// Sets a part of the entry that is not in its descriptor.
    fn tune(&mut self, setting: impl FnOnce(Entry) -> Entry + Send + 'static) {
        self.settings.push(Box::new(setting));
    }

    fn set(&mut self, member: &str, value: impl Serialize) {
        self.descriptor[member] = serde_json::to_value(value).unwrap_or_default();
    }

    fn add_icon(&mut self, icon: &Icon) {
        let icon = serde_json::to_value(icon).unwrap_or_default();
        match self.descriptor["icons"].as_array_mut() {
            Some(icons) => icons.push(icon),
            None => self.descriptor["icons"] = json!([icon]),
        }
    }

    fn with_state(self, state: S) -> Draft<(), Entry>
    where
        S: Send + 'static,
    {
        let Self { descriptor, bind, settings } = self;
        let bind: Box<dyn FnOnce(Value, ()) -> Entry + Send> = Box::new(move |descriptor, ()| bind(descriptor, state));
        Draft { descriptor, bind, settings }
    }

    fn into_entry(self, state: S) -> Entry {
        let entry = (self.bind)(self.descriptor, state);
        self.settings.into_iter().fold(entry, |entry, setting| setting(entry))
    }
}

/// Settings shared by all four kinds.
macro_rules! common_members {
    () => {
        /// The display name.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.draft.set("title", title.into());
            self
        }

        /// Adds an icon for user interfaces.
        pub fn icon(mut self, icon: Icon) -> Self {
            self.draft.add_icon(&icon);
            self
        }

        /// Adds a member of `_meta`.
        pub fn meta(mut self, key: &str, value: impl Into<Value>) -> Self {
            self.draft.descriptor["_meta"][key] = value.into();
            self
        }

        /// Scopes that the caller's access token must grant. Lists omit the feature for callers
        /// without them, unless [`crate::ServerOptions::list_out_of_scope`] is set. If no tokens
        /// are verified, none are needed.
        pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
            let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
            self.draft.tune(|entry| entry.scopes(scopes));
            self
        }

        /// Decides per request who can see and call the feature: an async function that returns a
        /// `bool`, or a `Result` of one. To other callers the feature does not exist; an error is
        /// logged and counts as `false`. Lists run it for each feature that has one.
        pub fn visible<M, H>(mut self, hook: H) -> Self
        where
            H: AsyncHandler<M, Arguments: HandlerArguments<()>> + Send + Sync + 'static,
            H::Future: Future<Output: IntoDecision> + Send + 'static,
        {
            let hook = serve(hook, (), whole_input, IntoDecision::into_decision);
            self.draft.tune(|entry| entry.visible(hook));
            self
        }

        /// Maximum time for one run of the handler, including the time it waits for its client.
        /// Then the call fails and the handler is cancelled.
        pub fn timeout(mut self, timeout: Duration) -> Self {
            self.draft.tune(move |entry| entry.timeout(timeout));
            self
        }

        /// Sets any other member of the descriptor, replacing an existing one.
        pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
            self.draft.set(member, value.into());
            self
        }
    };
}

/// Completions declared by prompts and resource templates.
macro_rules! complete_member {
    () => {
        /// Suggests values for one of its arguments or variables while a user types. The handler
        /// takes [`crate::protocol::model::CompleteParams`] and returns strings, best match first;
        /// see [`IntoCompletionResult`]. Registering the definition fails if the argument does not
        /// exist.
        pub fn complete<M, H>(mut self, argument: impl Into<String>, handler: H) -> Self
        where
            H: AsyncHandler<M, Arguments: HandlerArguments<S>> + Send + Sync + 'static,
            H::Future: Future<Output: IntoCompletionResult> + Send + 'static,
            S: Clone + Send + Sync + 'static,
        {
            let (argument, bind) = (argument.into(), self.draft.bind);
            self.draft.bind = Box::new(move |descriptor, state: S| {
                let completer =
                    serve(handler, state.clone(), whole_input, IntoCompletionResult::into_completion_result);
                bind(descriptor, state).complete(argument, completer)
            });
            self
        }
    };
}

/// Settings shared by resources and resource templates.
macro_rules! resource_members {
    () => {
        /// The description, for the model.
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.draft.set("description", description.into());
            self
        }

        /// The MIME type of the contents.
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.draft.set("mimeType", mime_type.into());
            self
        }

        /// The audience, the priority and the time of the last change.
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.draft.set("annotations", annotations);
            self
        }

        /// Time for which clients may cache the contents.
        pub fn cache(mut self, hints: CacheHints) -> Self {
            self.draft.tune(move |entry| entry.cache(hints));
            self
        }
    };
}

/// A tool: a name, a description for the model, an async function, and its other settings.
///
/// ```
/// use trunkline::{Server, Tool, protocol::model::ToolAnnotations, server::TaskSupport};
///
/// let report = Tool::new("report", "Write the report of a year.", async || "Nothing happened.")
///     .title("Yearly report")
///     .annotations(ToolAnnotations::default().with_read_only(true))
///     .scopes(["reports:read"])
///     .task(TaskSupport::Optional);
/// let server = Server::builder("reports", "1.0.0").add_tool(report).build();
/// ```
#[must_use = "a tool does nothing until it is added to a server"]
pub struct Tool<S = ()> {
    draft: Draft<S, ToolDefinition>,
}

impl<S> Tool<S> {
    /// Creates a tool. The handler's [`super::Params`] define the input schema, and its return type
    /// the output schema. Unknown arguments are refused, unless the schema allows them: with a
    /// flattened map, or `#[schemars(extend("additionalProperties" = true))]`.
    pub fn new<M, H>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: AsyncHandler<M, Arguments: HandlerArguments<S>> + Send + Sync + 'static,
        H::Future: Future<Output: IntoToolResult> + Send + 'static,
        S: Send + Sync + 'static,
    {
        let mut descriptor = json!({"name": name.into(), "description": description.into()});
        if let Some(schema) = H::Arguments::input_schema() {
            descriptor["inputSchema"] = arguments_schema(schema);
        }
        let mut wrap_output = false;
        if let Some(output) = <<H::Future as Future>::Output as IntoToolResult>::output_schema() {
            let (schema, wrapped) = output.into_parts();
            descriptor["outputSchema"] = schema;
            wrap_output = wrapped;
        }
        let into_outcome: fn(_) -> Outcome = if wrap_output {
            |value: <H::Future as Future>::Output| match value.into_tool_result() {
                // The schema marks this as an ordinary value.
                Outcome::Object(raw) => Outcome::Value(raw),
                outcome => outcome,
            }
        } else {
            IntoToolResult::into_tool_result
        };
        let draft = Draft::new(descriptor, move |descriptor, state| {
            ToolDefinition::new(descriptor, serve(handler, state, whole_input, into_outcome)).wrap_output(wrap_output)
        });
        Self { draft }
    }

    common_members!();

    /// Hints about its behavior.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.draft.set("annotations", annotations);
        self
    }

    /// The input schema, instead of that of [`super::Params`].
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.draft.set("inputSchema", schema);
        self
    }

    /// The output schema, instead of that of the return type. It describes the structured content,
    /// an object.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.draft.set("outputSchema", schema);
        self.draft.tune(|entry| entry.wrap_output(false));
        self
    }

    /// Client capabilities without which calls are refused before the handler runs.
    pub fn requires(mut self, capabilities: ClientCapabilities) -> Self {
        if let Ok(capabilities) = serde_json::to_value(capabilities) {
            self.draft.tune(|entry| entry.requires(capabilities));
        }
        self
    }

    /// Sets whether the tool may or must run as a task.
    pub fn task(mut self, support: TaskSupport) -> Self {
        self.draft.set("execution", json!({"taskSupport": support.as_str()}));
        self
    }

    /// Starts as a plain call on 2026-07-28, which the handler can turn into a task with
    /// [`crate::Context::start_task`]. On 2025-11-25 the client decides.
    pub fn defer_task(mut self, defer: bool) -> Self {
        self.draft.tune(move |entry| entry.defer_task(defer));
        self
    }

    /// Restarts a task that was running when its process ended, on the next worker that shares the
    /// server's store. See [`crate::server::ToolDefinition::restart_task`].
    pub fn restart_task(mut self, restart: bool) -> Self {
        self.draft.tune(move |entry| entry.restart_task(restart));
        self
    }

    /// Binds the state, to register the tool on a running [`crate::Server`].
    pub fn with_state(self, state: S) -> Tool
    where
        S: Send + 'static,
    {
        Tool { draft: self.draft.with_state(state) }
    }
}

impl<S> IntoDefinition<S, ToolDefinition> for Tool<S> {
    fn into_entry(self, state: S) -> ToolDefinition {
        self.draft.into_entry(state)
    }
}

/// A resource: a URI, a name, an async function that reads it, and its other settings.
///
/// ```
/// use trunkline::{Resource, Server};
///
/// let motd = Resource::new("motd://today", "motd", async || std::fs::read_to_string("/etc/motd"))
///     .description("The message of the day")
///     .mime_type("text/plain");
/// let server = Server::builder("motd", "1.0.0").add_resource(motd).build();
/// ```
#[must_use = "a resource does nothing until it is added to a server"]
pub struct Resource<S = ()> {
    draft: Draft<S, ResourceDefinition>,
}

impl<S> Resource<S> {
    /// Creates a resource that is read by an async function without [`super::Params`].
    pub fn new<M, H>(uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        H: AsyncHandler<M, Arguments: HandlerArguments<S>> + Send + Sync + 'static,
        H::Future: Future<Output: IntoResourceResult> + Send + 'static,
        S: Send + Sync + 'static,
    {
        let descriptor = json!({"uri": uri.into(), "name": name.into()});
        let draft = Draft::new(descriptor, move |descriptor, state| {
            ResourceDefinition::new(
                descriptor,
                serve(handler, state, whole_input, IntoResourceResult::into_resource_result),
            )
        });
        Self { draft }
    }

    common_members!();
    resource_members!();

    /// The size of the contents in bytes.
    pub fn size(mut self, bytes: u64) -> Self {
        self.draft.set("size", bytes);
        self
    }

    /// Binds the state, to register the resource on a running [`crate::Server`].
    pub fn with_state(self, state: S) -> Resource
    where
        S: Send + 'static,
    {
        Resource { draft: self.draft.with_state(state) }
    }
}

impl<S> IntoDefinition<S, ResourceDefinition> for Resource<S> {
    fn into_entry(self, state: S) -> ResourceDefinition {
        self.draft.into_entry(state)
    }
}

/// The resources of a URI template (RFC 6570): an async function whose [`super::Params`] are the
/// variables of the template.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use trunkline::{Params, ResourceTemplate, Server};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Note {
///     name: String,
/// }
///
/// let notes = ResourceTemplate::new("notes://{name}", "notes", async |Params(note): Params<Note>| {
///     (note.name == "today").then_some("Nothing to do.") // `None`: there is no such note
/// });
/// let server = Server::builder("notes", "1.0.0").add_resource_template(notes.mime_type("text/plain")).build();
/// ```
#[must_use = "a resource template does nothing until it is added to a server"]
pub struct ResourceTemplate<S = ()> {
    draft: Draft<S, ResourceTemplateDefinition>,
}

impl<S> ResourceTemplate<S> {
    /// Creates a template. The async function receives the variables as its [`super::Params`]:
    /// strings, or numbers, booleans and enums parsed from them. A variable with several values,
    /// such as that of `{/path*}`, is a list. Registering a template with a field of any other type
    /// fails.
    pub fn new<M, H>(uri_template: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        H: AsyncHandler<M, Arguments: HandlerArguments<S>> + Send + Sync + 'static,
        H::Future: Future<Output: IntoResourceResult> + Send + 'static,
        S: Send + Sync + 'static,
    {
        let descriptor = json!({"uriTemplate": uri_template.into(), "name": name.into()});
        let draft = Draft::new(descriptor, move |descriptor, state| {
            let handler = serve(handler, state, variables, IntoResourceResult::into_resource_result);
            let entry = ResourceTemplateDefinition::new(descriptor, handler);
            H::Arguments::input_schema().into_iter().fold(entry, ResourceTemplateDefinition::variables_schema)
        });
        Self { draft }
    }

    common_members!();
    resource_members!();
    complete_member!();

    /// Allows values of variables that could lead out of a folder they are appended to. By default,
    /// a URI is treated as not found if a decoded value has a `..` segment or a NUL, or looks like
    /// an absolute path.
    pub fn unsafe_paths(mut self, unsafe_paths: bool) -> Self {
        self.draft.tune(move |entry| entry.unsafe_paths(unsafe_paths));
        self
    }

    /// Binds the state, to register the template on a running [`crate::Server`].
    pub fn with_state(self, state: S) -> ResourceTemplate
    where
        S: Send + 'static,
    {
        ResourceTemplate { draft: self.draft.with_state(state) }
    }
}

impl<S> IntoDefinition<S, ResourceTemplateDefinition> for ResourceTemplate<S> {
    fn into_entry(self, state: S) -> ResourceTemplateDefinition {
        self.draft.into_entry(state)
    }
}

/// A prompt: a name, a description, an async function that creates its messages, and its other
/// settings.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use trunkline::{Params, Prompt, Server};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Review {
///     /// The code to review
///     code: String,
/// }
///
/// let review = Prompt::new("review", "Review code.", async |Params(review): Params<Review>| {
///     format!("Review this code:\n{}", review.code)
/// });
/// let server = Server::builder("review", "1.0.0").add_prompt(review.title("Code review")).build();
/// ```
#[must_use = "a prompt does nothing until it is added to a server"]
pub struct Prompt<S = ()> {
    draft: Draft<S, PromptDefinition>,
}

impl<S> Prompt<S> {
    /// Creates a prompt whose arguments are the fields of the handler's [`super::Params`]. Clients
    /// send strings, which are parsed into numbers, booleans and enums; registering a prompt with a
    /// field of any other type, such as a list, fails.
    pub fn new<M, H>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: AsyncHandler<M, Arguments: HandlerArguments<S>> + Send + Sync + 'static,
        H::Future: Future<Output: IntoPromptResult> + Send + 'static,
        S: Send + Sync + 'static,
    {
        let mut descriptor = json!({"name": name.into(), "description": description.into()});
        let schema = H::Arguments::input_schema();
        let argument = |member: SchemaMember<'_>| {
            let mut argument = json!({"name": member.name, "required": member.is_required});
            for keyword in ["title", "description"] {
                if let Some(text) = member.schemas.iter().find_map(|schema| schema.get(keyword)) {
                    argument[keyword] = text.clone();
                }
            }
            argument
        };
        if let Some(schema) = &schema {
            descriptor["arguments"] = members(schema).into_iter().map(argument).collect();
        }
        let draft = Draft::new(descriptor, move |descriptor, state| {
            let handler = serve(handler, state, whole_input, IntoPromptResult::into_prompt_result);
            let entry = PromptDefinition::new(descriptor, handler);
            schema.into_iter().fold(entry, PromptDefinition::arguments_schema)
        });
        Self { draft }
    }

    common_members!();
    complete_member!();

    /// Binds the state, to register the prompt on a running [`crate::Server`].
    pub fn with_state(self, state: S) -> Prompt
    where
        S: Send + 'static,
    {
        Prompt { draft: self.draft.with_state(state) }
    }
}

impl<S> IntoDefinition<S, PromptDefinition> for Prompt<S> {
    fn into_entry(self, state: S) -> PromptDefinition {
        self.draft.into_entry(state)
    }
}

/// Completes an argument with an async function.
pub(in crate::server) fn completion<S, M, H>(
    target: CompletionTarget,
    argument: impl Into<String>,
    handler: H,
    state: S,
) -> CompletionDefinition
where
    H: AsyncHandler<M, Arguments: HandlerArguments<S>> + Send + Sync + 'static,
    H::Future: Future<Output: IntoCompletionResult> + Send + 'static,
    S: Send + Sync + 'static,
{
    CompletionDefinition::new(
        target,
        argument,
        serve(handler, state, whole_input, IntoCompletionResult::into_completion_result),
    )
}

pub(super) fn whole_input(input: &RawJson) -> Result<RawJson, Outcome> {
    Ok(input.clone())
}

/// The variables of a URI template.
fn variables(input: &RawJson) -> Result<RawJson, Outcome> {
    #[derive(serde::Deserialize)]
    struct Matched<'a> {
        #[serde(borrow)]
        variables: &'a RawValue,
    }
    let matched: Matched<'_> = input.parse().map_err(|error| Outcome::Internal(error.to_string()))?;
    Ok(RawJson::slice_of(input.buffer(), matched.variables))
}
