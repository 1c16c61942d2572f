//! Typed definitions: a handler, and everything that clients and the server need to know about the
//! feature that it serves.

use super::{
    AsyncHandler, HandlerArguments, IntoCompletionResult, IntoDecision, IntoPromptResult, IntoResourceResult,
    IntoToolResult, schema::arguments_schema, serve::serve,
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

/// A definition that can be registered where the state is an `S`: a typed one such as [`Tool`], or
/// one of JSON.
pub trait IntoDefinition<S, Entry> {
    /// The definition with the state that its handler gets.
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

/// A descriptor, and the entry that becomes of it with the state of its handler.
struct Draft<S, Entry> {
    descriptor: Value,
    bind: Box<dyn FnOnce(Value, S) -> Entry + Send>,
    /// The settings beside the descriptor.
    settings: Vec<Box<dyn FnOnce(Entry) -> Entry + Send>>,
}

impl<S, Entry: 'static> Draft<S, Entry> {
    fn new(descriptor: Value, bind: impl FnOnce(Value, S) -> Entry + Send + 'static) -> Self {
        Self { descriptor, bind: Box::new(bind), settings: Vec::new() }
    }

    /// Sets something of the entry that its descriptor does not hold.
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

/// The members that all four kinds have.
macro_rules! common_members {
    () => {
        /// The name for people.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.draft.set("title", title.into());
            self
        }

        /// One more picture for a user interface.
        pub fn icon(mut self, icon: Icon) -> Self {
            self.draft.add_icon(&icon);
            self
        }

        /// A member of `_meta`.
        pub fn meta(mut self, key: &str, value: impl Into<Value>) -> Self {
            self.draft.descriptor["_meta"][key] = value.into();
            self
        }

        /// Scopes that the caller's access token must grant. Lists leave out what
        /// the caller lacks scopes for, unless [`crate::ServerOptions::list_out_of_scope`] says
        /// otherwise. Where no tokens are verified, none are needed.
        pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
            let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
            self.draft.tune(|entry| entry.scopes(scopes));
            self
        }

        /// Decides for each request who sees and calls it: an async function that gives a `bool`,
        /// or a `Result` of one. For others it is not there; an error, which is logged, counts as
        /// `false`. Lists run it for each feature that has one.
        pub fn visible<M, H>(mut self, hook: H) -> Self
        where
            H: AsyncHandler<M, Arguments: HandlerArguments<()>> + Send + Sync + 'static,
            H::Future: Future<Output: IntoDecision> + Send + 'static,
        {
            let hook = serve(hook, (), whole_input, IntoDecision::into_decision);
            self.draft.tune(|entry| entry.visible(hook));
            self
        }

        /// The longest time of one run of the handler, the time in which it waits for its client
        /// included. Then the call fails and the handler is cancelled.
        pub fn timeout(mut self, timeout: Duration) -> Self {
            self.draft.tune(move |entry| entry.timeout(timeout));
            self
        }

        /// Any other member of the descriptor. One that is there is replaced.
        pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
            self.draft.set(member, value.into());
            self
        }
    };
}

/// The completions that prompts and resource templates declare.
macro_rules! complete_member {
    () => {
        /// Suggests values for one of its arguments or variables while a user types. The handler
        /// takes [`crate::protocol::model::CompleteParams`] and gives texts, best first; see
        /// [`IntoCompletionResult`]. An argument that is not there is refused when this is added.
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

/// The members that resources and resource templates have.
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

        /// The time for which clients may keep the contents.
        pub fn cache(mut self, hints: CacheHints) -> Self {
            self.draft.tune(move |entry| entry.cache(hints));
            self
        }
    };
}

/// A tool: a name, a description for the model, an async function, and everything else that is
/// known of it.
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
    /// A tool whose handler's [`super::Params`] give the input schema, and whose return type the
    /// output schema. Arguments that the type does not have are refused, unless its schema says
    /// more: by a flattened map, or `#[schemars(extend("additionalProperties" = true))]`.
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
                // The schema says that this is a value like any other.
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

    /// Hints about its behaviour.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.draft.set("annotations", annotations);
        self
    }

    /// The input schema, in place of that of [`super::Params`].
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.draft.set("inputSchema", schema);
        self
    }

    /// The output schema, in place of that of the return type. It describes the structured content,
    /// an object.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.draft.set("outputSchema", schema);
        self.draft.tune(|entry| entry.wrap_output(false));
        self
    }

    /// The client capabilities without which calls are refused before the handler runs.
    pub fn requires(mut self, capabilities: ClientCapabilities) -> Self {
        if let Ok(capabilities) = serde_json::to_value(capabilities) {
            self.draft.tune(|entry| entry.requires(capabilities));
        }
        self
    }

    /// Returns whether the tool may run as a task.
    pub fn task(mut self, support: TaskSupport) -> Self {
        self.draft.set("execution", json!({"taskSupport": support.as_str()}));
        self
    }

    /// Returns whether a call begins as a call on 2026-07-28, and becomes a task where its handler
    /// says so with [`crate::Context::start_task`]. On 2025-11-25 the client decides.
    pub fn defer_task(mut self, defer: bool) -> Self {
        self.draft.tune(move |entry| entry.defer_task(defer));
        self
    }

    /// Lets a task that was running when its process ended be run again from its start, by the next
    /// worker that shares the store of the server. See
    /// [`crate::server::ToolDefinition::restart_task`].
    pub fn restart_task(mut self, restart: bool) -> Self {
        self.draft.tune(move |entry| entry.restart_task(restart));
        self
    }

    /// The tool with the state of its handler, for a [`crate::Server`] that runs already.
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

/// A resource: a URI, a name, an async function that reads it, and everything else that is known of
/// it.
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
    /// A resource that an async function without [`super::Params`] reads.
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

    /// The resource with the state of its handler, for a [`crate::Server`] that runs already.
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
    /// A template whose variables an async function gets as its [`super::Params`]: strings, and the
    /// numbers, booleans and enums that are made of them. A variable with several values, such as
    /// that of `{/path*}`, is a list. A member of another type is refused when the template is
    /// added.
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

    /// Values of variables may lead out of a folder that they are appended to. Otherwise a URI is
    /// not found if a value, decoded, has a segment `..` or a NUL, or begins like an
    /// absolute path.
    pub fn unsafe_paths(mut self, unsafe_paths: bool) -> Self {
        self.draft.tune(move |entry| entry.unsafe_paths(unsafe_paths));
        self
    }

    /// The template with the state of its handler, for a [`crate::Server`] that runs already.
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

/// A prompt: a name, a description, an async function that makes its messages, and everything else
/// that is known of it.
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
    /// A prompt whose arguments are the members of the handler's [`super::Params`]. Clients fill
    /// them in with strings, of which numbers, booleans and enums are made; a member of another
    /// type, such as a list, is refused when the prompt is added.
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

    /// The prompt with the state of its handler, for a [`crate::Server`] that runs already.
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

/// The completion of an argument by an async function.
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
