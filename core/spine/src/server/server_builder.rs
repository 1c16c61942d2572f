//! The server builder.

#[cfg(feature = "directories")]
use super::DirectoryDefinition;
use super::{
    CallError, CallInfo, CompletionDefinition, CompletionTarget, Context, HandlerOf, IntoDefinition,
    MiddlewareDefinition, Next, Prompt, PromptDefinition, Provider, ProviderDefinition, RegisterError,
    RequestHandlerDefinition, Resource, ResourceDefinition, ResourceTemplate, ResourceTemplateDefinition, Server,
    ServerOptions, Tool, ToolDefinition, ToolError,
    lifespan::LifespanFunctions,
    server_hooks::{ErrorHook, ServerHooks},
    typed,
};
use crate::{
    protocol::{
        RawJson,
        model::{CallToolResult, CompleteResult, GetPromptResult, Implementation, JsonObject, ReadResourceResult},
        option_names::OptionNames,
    },
    telemetry,
};
use std::{future::Future, sync::Arc};

/// Builds a [`Server`]. `S` is the state that handlers receive as [`super::State`].
///
/// Short forms such as [`Self::tool`] take the minimum; full forms such as [`Self::add_tool`] take
/// a definition with every setting. [`Server`] has the same full forms, to add features at run
/// time.
///
/// ```
/// use trunkline::{Server, ServerOptions, Tool};
///
/// let server = Server::builder("time", "1.0.0")
///     .instructions("Ask for the time rather than guess it.")
///     .options(ServerOptions::default().with_page_size(50))
///     .tool("now", "Tell the time in seconds.", async || {
///         std::time::UNIX_EPOCH.elapsed().map(|time| time.as_secs()).unwrap_or_default()
///     })
///     .add_tool(Tool::new("zone", "Tell the time zone.", async || "UTC").title("Time zone"))
///     .build();
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct ServerBuilder<S = ()> {
    draft: ServerDraft,
    state: S,
}

/// The parts of a server that is being built.
#[derive(Default)]
struct ServerDraft {
    info: Implementation,
    instructions: Option<String>,
    options: ServerOptions,
    additions: Vec<BuilderAddition>,
    lifespan: Option<LifespanFunctions>,
    on_error: Vec<ErrorHook>,
}

type BuilderAddition = Box<dyn FnOnce(&Server) -> Result<(), RegisterError> + Send>;

impl Server {
    /// Starts building a server.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        let info = Implementation::new(name, version);
        ServerBuilder { draft: ServerDraft { info, ..ServerDraft::default() }, state: () }
    }
}

impl<S: Clone + Send + Sync + 'static> ServerBuilder<S> {
    /// Sets the state of the handlers added from here on, which they receive as an argument
    /// [`super::State`]. It is cloned for each handler; share it with an `Arc`.
    pub fn with_state<T>(self, state: T) -> ServerBuilder<T> {
        ServerBuilder { draft: self.draft, state }
    }

    /// Sets the instructions: how to use the server well. Clients often pass them to the model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.draft.instructions = Some(instructions.into());
        self
    }

    /// Describes the server beyond its name and version.
    pub fn info(mut self, info: Implementation) -> Self {
        self.draft.info = info;
        self
    }

    /// Sets the limits and behavior.
    pub fn options(mut self, options: ServerOptions) -> Self {
        self.draft.options = options;
        self
    }

    /// Adds a tool. The handler's [`super::Params`] define its input schema, and the return type
    /// the output schema; see [`HandlerOf`] and [`IntoResult`](super::IntoResult).
    pub fn tool<M>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl HandlerOf<CallToolResult, M, S>,
    ) -> Self {
        self.add_tool(Tool::new(name, description, handler))
    }

    /// Adds a tool with all settings: a [`Tool`], or a [`ToolDefinition`] in JSON.
    pub fn add_tool(self, tool: impl IntoDefinition<S, ToolDefinition>) -> Self {
        let entry = tool.into_entry(self.state.clone());
        self.adding(|server| server.add_tool(entry).map(drop))
    }

    /// Adds a resource. The handler returns its contents; see [`IntoResult`](super::IntoResult).
    pub fn resource<M>(
        self,
        uri: impl Into<String>,
        name: impl Into<String>,
        handler: impl HandlerOf<ReadResourceResult, M, S>,
    ) -> Self {
        self.add_resource(Resource::new(uri, name, handler))
    }

    /// Adds a resource with all settings: a [`Resource`], or a [`ResourceDefinition`] in JSON.
    pub fn add_resource(self, resource: impl IntoDefinition<S, ResourceDefinition>) -> Self {
        let entry = resource.into_entry(self.state.clone());
        self.adding(|server| server.add_resource(entry).map(drop))
    }

    /// Adds the resources of a URI template (RFC 6570). The handler's [`super::Params`] are the
    /// variables of the template.
    pub fn resource_template<M>(
        self,
        uri_template: impl Into<String>,
        name: impl Into<String>,
        handler: impl HandlerOf<ReadResourceResult, M, S>,
    ) -> Self {
        self.add_resource_template(ResourceTemplate::new(uri_template, name, handler))
    }

    /// Adds a resource template with all settings: a [`ResourceTemplate`], or a
    /// [`ResourceTemplateDefinition`] in JSON.
    pub fn add_resource_template(self, template: impl IntoDefinition<S, ResourceTemplateDefinition>) -> Self {
        let entry = template.into_entry(self.state.clone());
        self.adding(|server| server.add_resource_template(entry).map(drop))
    }

    /// Adds a prompt. The fields of the handler's [`super::Params`] are its arguments: strings, or
    /// numbers, booleans and enums parsed from them; see [`IntoResult`](super::IntoResult).
    pub fn prompt<M>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl HandlerOf<GetPromptResult, M, S>,
    ) -> Self {
        self.add_prompt(Prompt::new(name, description, handler))
    }

    /// Adds a prompt with all settings: a [`Prompt`], or a [`PromptDefinition`] in JSON.
    pub fn add_prompt(self, prompt: impl IntoDefinition<S, PromptDefinition>) -> Self {
        let entry = prompt.into_entry(self.state.clone());
        self.adding(|server| server.add_prompt(entry).map(drop))
    }

    /// Completes an argument of a prompt, or a variable of a resource template, that was added
    /// before. The handler takes [`crate::protocol::model::CompleteParams`] and returns strings,
    /// best match first; see [`IntoResult`](super::IntoResult).
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use trunkline::{Params, Server, protocol::model::CompleteParams, server::CompletionTarget};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Trip {
    ///     city: String,
    /// }
    ///
    /// let server = Server::builder("weather", "1.0.0")
    ///     .prompt("packing", "What to pack for a city.", async |Params(trip): Params<Trip>| {
    ///         format!("Pack an umbrella for {}.", trip.city)
    ///     })
    ///     .completion(CompletionTarget::Prompt("packing".into()), "city", async |asked: CompleteParams| {
    ///         let known = ["Oslo", "Osaka", "Rome"].into_iter();
    ///         known.filter(|city| city.starts_with(&asked.argument.value)).collect::<Vec<_>>()
    ///     })
    ///     .build();
    /// ```
    pub fn completion<M>(
        self,
        target: CompletionTarget,
        argument: impl Into<String>,
        handler: impl HandlerOf<CompleteResult, M, S>,
    ) -> Self {
        let entry = typed::completion(target, argument, handler, self.state.clone());
        self.add_completion(entry)
    }

    /// Adds a completion in its core form.
    pub fn add_completion(self, entry: CompletionDefinition) -> Self {
        self.adding(|server| server.add_completion(entry).map(drop))
    }

    /// Adds a provider of features that are not registered.
    pub fn provider(self, provider: impl Provider) -> Self {
        self.add_provider(ProviderDefinition::from_provider(provider))
    }

    /// Adds a provider in its core form.
    pub fn add_provider(self, entry: ProviderDefinition) -> Self {
        self.adding(|server| server.add_provider(entry).map(drop))
    }

    /// Serves the files of a folder as resources; see [`DirectoryDefinition`].
    #[cfg(feature = "directories")]
    pub fn directory(self, uri: impl Into<String>, path: impl Into<std::path::PathBuf>) -> Self {
        self.add_directory(DirectoryDefinition::new(uri, path))
    }

    /// Serves the files of a folder as resources, with all settings.
    #[cfg(feature = "directories")]
    pub fn add_directory(self, entry: DirectoryDefinition) -> Self {
        self.adding(|server| server.add_directory(entry).map(drop))
    }

    /// Wraps all requests in an async function, inside the middleware added before; see
    /// [`MiddlewareDefinition::from_fn`].
    pub fn middleware<F, Fut>(self, wrap: F) -> Self
    where
        F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<serde_json::Value, CallError>> + Send + 'static,
    {
        self.add_middleware(MiddlewareDefinition::from_fn(wrap))
    }

    /// Adds middleware that wraps specific methods, inside the middleware added before.
    pub fn add_middleware(self, entry: MiddlewareDefinition) -> Self {
        self.adding(|server| server.add_middleware(entry).map(drop))
    }

    /// Handles a custom method that is not part of the protocol, such as `com.acme/sum`. The
    /// handler takes the same arguments as a tool handler, where [`super::Params`] are the params
    /// of the request, and returns the result; see [`IntoResult`](super::IntoResult).
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::{Deserialize, Serialize};
    /// use trunkline::{Json, Params, Server};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Terms {
    ///     terms: Vec<i64>,
    /// }
    ///
    /// #[derive(Serialize)]
    /// struct Sum {
    ///     sum: i64,
    /// }
    ///
    /// let server = Server::builder("sums", "1.0.0")
    ///     .request_handler("com.acme/sum", async |Params(given): Params<Terms>| {
    ///         Json(Sum { sum: given.terms.iter().sum() })
    ///     })
    ///     .build();
    /// ```
    pub fn request_handler<M>(self, method: impl Into<String>, handler: impl HandlerOf<JsonObject, M, S>) -> Self {
        let entry = typed::request_handler(method, handler, self.state.clone());
        self.add_request_handler(entry)
    }

    /// Handles a custom method, with all settings.
    pub fn add_request_handler(self, entry: RequestHandlerDefinition) -> Self {
        self.adding(|server| server.add_request_handler(entry).map(drop))
    }

    /// Sets the lifespan: opens something that calls need, such as a database connection, before
    /// the first call, and closes it after the last. Handlers receive the value as
    /// [`super::Lifespan`], or from [`Context::lifespan`].
    ///
    /// [`Server::serve_stdio`], [`Server::listen`] and in-memory clients open it before they serve;
    /// otherwise the first request does. If opening fails, so does that listener, client or
    /// request, and the next one tries again. It closes when the last listener, service and
    /// in-memory client has ended: [`crate::Listener::close`],
    /// [`crate::transport::HttpService::close`] and [`crate::Client::close`] wait for that. For a
    /// server mounted in another one, the outer server's use counts.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use trunkline::{Server, server::Lifespan};
    ///
    /// struct Database;
    ///
    /// impl Database {
    ///     async fn connect() -> std::io::Result<Self> {
    ///         Ok(Self)
    ///     }
    ///     async fn disconnect(&self) {}
    /// }
    ///
    /// let server = Server::builder("orders", "1.0.0")
    ///     .lifespan(Database::connect, async |database: Arc<Database>| database.disconnect().await)
    ///     .tool("count", "Count the orders.", async |Lifespan(_database): Lifespan<Database>| 7)
    ///     .build();
    /// ```
    pub fn lifespan<T, E, Opening, Closing>(
        mut self,
        open: impl Fn() -> Opening + Send + Sync + 'static,
        close: impl Fn(Arc<T>) -> Closing + Send + Sync + 'static,
    ) -> Self
    where
        T: Send + Sync + 'static,
        E: Into<ToolError>,
        Opening: Future<Output = Result<T, E>> + Send + 'static,
        Closing: Future<Output = ()> + Send + 'static,
    {
        self.draft.lifespan = Some(LifespanFunctions::new(open, close));
        self
    }

    /// Calls a function with each handler failure whose details are hidden from the client:
    /// internal errors and panics, to report them to an error tracker. They are logged as well. The
    /// function runs where the handler ran and must not block.
    ///
    /// ```
    /// use trunkline::{Context, Server, ToolError};
    ///
    /// let server = Server::builder("orders", "1.0.0")
    ///     .on_error(|error: &ToolError, ctx: &Context| eprintln!("{} failed: {error}", ctx.name()))
    ///     .build();
    /// ```
    pub fn on_error(mut self, hook: impl Fn(&ToolError, &Context) + Send + Sync + 'static) -> Self {
        let hook = move |error: &ToolError, call: &CallInfo, input: &RawJson| {
            hook(error, &Context::new(call.clone(), input.clone()));
        };
        self.draft.on_error.push(Box::new(hook));
        self
    }

    /// Mounts another server of this process; see [`Server::mount`].
    pub fn mount(self, prefix: impl Into<String>, other: &Server) -> Self {
        let (prefix, other) = (prefix.into(), other.clone());
        self.adding(move |server| server.mount(&prefix, &other).map(drop))
    }

    /// Adds an agent skill.
    #[cfg(feature = "skills")]
    pub fn add_skill(self, entry: super::SkillDefinition) -> Self {
        self.adding(|server| server.add_skill(entry).map(drop))
    }

    #[doc(hidden)]
    pub fn adding(mut self, addition: impl FnOnce(&Server) -> Result<(), RegisterError> + Send + 'static) -> Self {
        self.draft.additions.push(Box::new(addition));
        self
    }

    /// Builds the server.
    ///
    /// # Panics
    /// If a registration is invalid, which is a bug in the program: the message names it.
    pub fn build(self) -> Server {
        self.try_build().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Builds the server.
    ///
    /// # Errors
    /// If a name is invalid or already in use, a schema does not compile, or a declared extension
    /// is invalid.
    pub fn try_build(self) -> Result<Server, RegisterError> {
        let ServerDraft { info, instructions, options, additions, lifespan, on_error } = self.draft;
        options.check().map_err(|error| RegisterError(OptionNames::Snake.text(&error.0)))?;
        let info = serde_json::to_value(&info).unwrap_or_default();
        let receiver = telemetry::or_of_program(options.telemetry, options.telemetry_receiver.clone());
        let options = options.with_telemetry_receiver(receiver);
        let server = Server::with_hooks(info, instructions, options, ServerHooks::new(lifespan, on_error));
        for addition in additions {
            addition(&server)?;
        }
        Ok(server)
    }
}
