//! Typed definitions: a handler, and everything that clients and the server need to know about its
//! feature.

use super::{
    HandlerArguments, HandlerOf, IntoResult,
    derived_schema::arguments_schema,
    serve_async::{serve, serve_with},
};
use crate::{
    protocol::{
        RawJson,
        model::{
            Annotations, CallToolResult, CompleteResult, GetPromptResult, Icon, ReadResourceResult, ToolAnnotations,
        },
        schema::{SchemaMember, members},
    },
    server::{
        CacheHints, Call, CompletionDefinition, CompletionTarget, Outcome, PromptDefinition, ResourceDefinition,
        ResourceTemplateDefinition, TaskSupport, ToolDefinition,
        registry::{access_setters, template_setters, tool_setters},
    },
};
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use std::{future::Future, sync::Arc};

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

/// Attaches handlers that need the state to a definition.
type Bind<S, Entry> = Box<dyn FnOnce(Entry, S) -> Entry + Send>;

fn set(descriptor: &mut Value, member: &str, value: impl Serialize) {
    descriptor[member] = serde_json::to_value(value).unwrap_or_default();
}

/// Defines feature definitions whose handlers need a state.
macro_rules! bound {
    ($($feature:ident: $entry:ty,)*) => {
        $(
            impl<S> $feature<S> {
                /// Binds the state, to register the definition on a running [`crate::Server`].
                pub fn with_state(self, state: S) -> $feature
                where
                    S: Send + 'static,
                {
                    let Self { entry, bind } = self;
                    $feature { entry, bind: Box::new(move |entry, ()| bind(entry, state)) }
                }
            }

            impl<S> IntoDefinition<S, $entry> for $feature<S> {
                fn into_entry(self, state: S) -> $entry {
                    (self.bind)(self.entry, state)
                }
            }
        )*
    };
}

bound! {
    Tool: ToolDefinition,
    Resource: ResourceDefinition,
    ResourceTemplate: ResourceTemplateDefinition,
    Prompt: PromptDefinition,
}

/// Settings shared by all four kinds; `$access` is the expression for their access options.
macro_rules! common_members {
    ($this:ident, $access:expr) => {
        access_setters!($this, $access);

        /// The display name.
        pub fn title(mut $this, title: impl Into<String>) -> Self {
            set(&mut $this.entry.descriptor, "title", title.into());
            $this
        }

        /// Adds an icon for user interfaces.
        pub fn icon(mut $this, icon: Icon) -> Self {
            let icon = serde_json::to_value(icon).unwrap_or_default();
            match $this.entry.descriptor["icons"].as_array_mut() {
                Some(icons) => icons.push(icon),
                None => $this.entry.descriptor["icons"] = json!([icon]),
            }
            $this
        }

        /// Adds a member of `_meta`.
        pub fn meta(mut $this, key: &str, value: impl Into<Value>) -> Self {
            $this.entry.descriptor["_meta"][key] = value.into();
            $this
        }

        /// Decides per request who can see and call the feature: an async function that returns a
        /// `bool`, or a `Result` of one. To other callers the feature does not exist; an error is
        /// logged and counts as `false`. Lists run it for each feature that has one.
        pub fn visible<M>(mut $this, hook: impl HandlerOf<bool, M, ()>) -> Self {
            $access.visible = Some(Arc::new(serve(hook, ())));
            $this
        }

        /// Sets any other member of the descriptor, replacing an existing one.
        pub fn with(mut $this, member: &str, value: impl Into<Value>) -> Self {
            set(&mut $this.entry.descriptor, member, value.into());
            $this
        }
    };
}

/// Completions declared by prompts and resource templates.
macro_rules! complete_member {
    () => {
        /// Suggests values for one of its arguments or variables while a user types. The handler
        /// takes [`crate::protocol::model::CompleteParams`] and returns strings, best match first;
        /// see [`IntoResult`]. Registering the definition fails if the argument does not
        /// exist.
        pub fn complete<M, H: HandlerOf<CompleteResult, M, S>>(
            mut self,
            argument: impl Into<String>,
            handler: H,
        ) -> Self
        where
            S: Clone + Send + Sync + 'static,
        {
            let (argument, bind) = (argument.into(), self.bind);
            self.bind = Box::new(move |entry, state: S| {
                let completer = serve(handler, state.clone());
                bind(entry, state).complete(argument, completer)
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
            set(&mut self.entry.descriptor, "description", description.into());
            self
        }

        /// The MIME type of the contents.
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            set(&mut self.entry.descriptor, "mimeType", mime_type.into());
            self
        }

        /// The audience, the priority and the time of the last change.
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            set(&mut self.entry.descriptor, "annotations", annotations);
            self
        }

        /// Time for which clients may cache the contents.
        pub fn cache(mut self, hints: CacheHints) -> Self {
            self.entry = self.entry.cache(hints);
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
    entry: ToolDefinition,
    bind: Bind<S, ToolDefinition>,
}

impl<S> Tool<S> {
    /// Creates a tool. The handler's [`super::Params`] define the input schema, and its return type
    /// the output schema. Unknown arguments are refused, unless the schema allows them: with a
    /// flattened map, or `#[schemars(extend("additionalProperties" = true))]`.
    pub fn new<M, H: HandlerOf<CallToolResult, M, S>>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: H,
    ) -> Self
    where
        S: Send + Sync + 'static,
    {
        let mut descriptor = json!({"name": name.into(), "description": description.into()});
        if let Some(schema) = H::Arguments::input_schema() {
            descriptor["inputSchema"] = arguments_schema(schema);
        }
        let mut wrap_output = false;
        if let Some(output) = <<H::Future as Future>::Output as IntoResult<CallToolResult>>::output_schema() {
            let (schema, wrapped) = output.into_parts();
            descriptor["outputSchema"] = schema;
            wrap_output = wrapped;
        }
        let bind = Box::new(move |mut entry: ToolDefinition, state| {
            let adjust: fn(Outcome) -> Outcome = match entry.wrap_output {
                // The output schema shows that this is an ordinary value.
                true => |outcome| match outcome {
                    Outcome::Object(raw) => Outcome::Value(raw),
                    outcome => outcome,
                },
                false => |outcome| outcome,
            };
            entry.handler = Arc::new(serve_with(handler, state, |input| Ok(input.clone()), adjust));
            entry
        });
        Self { entry: ToolDefinition::new(descriptor, drop::<Call>).wrap_output(wrap_output), bind }
    }

    tool_setters!(self, self.entry.options);
    common_members!(self, self.entry.options.access);

    /// Hints about its behavior.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        set(&mut self.entry.descriptor, "annotations", annotations);
        self
    }

    /// The input schema, instead of that of [`super::Params`].
    pub fn input_schema(mut self, schema: Value) -> Self {
        set(&mut self.entry.descriptor, "inputSchema", schema);
        self
    }

    /// The output schema, instead of that of the return type. It describes the structured content,
    /// an object: the one that the handler returns, or `{"result": value}` for any other value.
    pub fn output_schema(mut self, schema: Value) -> Self {
        set(&mut self.entry.descriptor, "outputSchema", schema);
        self.entry.wrap_output = false;
        self
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
    entry: ResourceDefinition,
    bind: Bind<S, ResourceDefinition>,
}

impl<S> Resource<S> {
    /// Creates a resource that is read by an async function without [`super::Params`].
    pub fn new<M, H: HandlerOf<ReadResourceResult, M, S>>(
        uri: impl Into<String>,
        name: impl Into<String>,
        handler: H,
    ) -> Self
    where
        S: Send + Sync + 'static,
    {
        let descriptor = json!({"uri": uri.into(), "name": name.into()});
        let bind = Box::new(move |mut entry: ResourceDefinition, state| {
            entry.handler = Arc::new(serve(handler, state));
            entry
        });
        Self { entry: ResourceDefinition::new(descriptor, drop::<Call>), bind }
    }

    common_members!(self, self.entry.options.access);
    resource_members!();

    /// The size of the contents in bytes.
    pub fn size(mut self, bytes: u64) -> Self {
        set(&mut self.entry.descriptor, "size", bytes);
        self
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
    entry: ResourceTemplateDefinition,
    bind: Bind<S, ResourceTemplateDefinition>,
}

impl<S> ResourceTemplate<S> {
    /// Creates a template. The async function receives the variables as its [`super::Params`]:
    /// strings, or numbers, booleans and enums parsed from them. A variable with several values,
    /// such as that of `{/path*}`, is a list. Registering a template with a field of any other type
    /// fails.
    pub fn new<M, H: HandlerOf<ReadResourceResult, M, S>>(
        uri_template: impl Into<String>,
        name: impl Into<String>,
        handler: H,
    ) -> Self
    where
        S: Send + Sync + 'static,
    {
        let descriptor = json!({"uriTemplate": uri_template.into(), "name": name.into()});
        let entry = ResourceTemplateDefinition::new(descriptor, drop::<Call>);
        let entry = H::Arguments::input_schema().into_iter().fold(entry, ResourceTemplateDefinition::variables_schema);
        let bind = Box::new(move |mut entry: ResourceTemplateDefinition, state| {
            entry.handler = Arc::new(serve_with(handler, state, variables, |outcome| outcome));
            entry
        });
        Self { entry, bind }
    }

    template_setters!(self, self.entry.options);
    common_members!(self, self.entry.options.resource.access);
    resource_members!();
    complete_member!();
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
    entry: PromptDefinition,
    bind: Bind<S, PromptDefinition>,
}

impl<S> Prompt<S> {
    /// Creates a prompt whose arguments are the fields of the handler's [`super::Params`]. Clients
    /// send strings, which are parsed into numbers, booleans and enums; registering a prompt with a
    /// field of any other type, such as a list, fails.
    pub fn new<M, H: HandlerOf<GetPromptResult, M, S>>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: H,
    ) -> Self
    where
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
        let entry = PromptDefinition::new(descriptor, drop::<Call>);
        let bind = Box::new(move |mut entry: PromptDefinition, state| {
            entry.handler = Arc::new(serve(handler, state));
            entry
        });
        Self { entry: schema.into_iter().fold(entry, PromptDefinition::arguments_schema), bind }
    }

    common_members!(self, self.entry.options.access);
    complete_member!();
}

/// Completes an argument with an async function.
pub(in crate::server) fn completion<M, S: Send + Sync + 'static>(
    target: CompletionTarget,
    argument: impl Into<String>,
    handler: impl HandlerOf<CompleteResult, M, S>,
    state: S,
) -> CompletionDefinition {
    CompletionDefinition::new(target, argument, serve(handler, state))
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
