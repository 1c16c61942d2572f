//! A server: its features, its conversations and its tasks.

#[cfg(feature = "directories")]
use super::directory::DirectoryDefinition;
use super::{
    feature_handle::FeatureHandle,
    lifespan::{LifespanFunctions, LifespanUse},
    methods,
    registry::{
        Addition, Category, CompletionDefinition, MiddlewareDefinition, MountSource, PromptDefinition,
        ProviderDefinition, RegisterError, RegisteredMount, RemoteServer, RequestHandlerDefinition, ResourceDefinition,
        ResourceTemplateDefinition, SkillDefinition, Snapshot, ToolDefinition,
    },
    request::{self, ActiveRequest, Services},
    server_hooks::ServerHooks,
    server_options::ServerOptions,
    session::{
        AllowedResources, Announce, Announcement, Connection, ConversationSetup, ConversationStart, Dispatch,
        LocalMount, PendingNotifications, ServedRequest, ServerState, StartedCall,
    },
    typed::IntoDefinition,
};
use crate::{
    connection_state::ConnectionState,
    engine::RequestInfo,
    protocol::{
        RpcError,
        envelope::{Frame, Request},
        method,
    },
    runtime::{BoxedTask, Runtime},
    store::{StoreError, StoreGuard},
    telemetry::{ServerLoad, Telemetry},
};
use serde_json::Value;
use std::{
    any::Any,
    collections::{BTreeSet, HashSet},
    io,
    sync::{Arc, Weak},
};

/// A server with its features, independent of any transport. Cheap to clone; clones are the same
/// server.
///
/// The same server serves every revision, on every transport, at the same time.
///
/// ```
/// use trunkline::{Server, Tool};
///
/// let server = Server::builder("clock", "1.0.0").build();
/// let noon = server.add_tool(Tool::new("noon", "The time of lunch.", async || "12:00".to_owned()))?;
/// noon.update(|tool| tool.with("title", "Lunch".into()))?;
/// assert!(noon.remove());
/// # Ok::<(), trunkline::server::RegisterError>(())
/// ```
#[derive(Clone)]
pub struct Server {
    inner: Arc<ServerInner>,
}

/// A weak reference to a server, for objects that it outlives.
#[derive(Clone)]
pub struct WeakServer(Weak<ServerInner>);

impl WeakServer {
    #[doc(hidden)]
    pub fn upgrade(&self) -> Option<Server> {
        Some(Server { inner: self.0.upgrade()? })
    }
}

struct ServerInner {
    state: Arc<ServerState>,
    services: Arc<Services>,
}

impl Server {
    #[doc(hidden)]
    pub fn new(info: Value, instructions: Option<String>, options: ServerOptions) -> Self {
        Self::with_hooks(info, instructions, options, ServerHooks::default())
    }

    pub(super) fn with_hooks(
        info: Value,
        instructions: Option<String>,
        options: ServerOptions,
        hooks: ServerHooks,
    ) -> Self {
        let services = Services::new(&options.state_keys);
        let state = ServerState::new(info, instructions, options, hooks);
        Self { inner: Arc::new(ServerInner { state: Arc::new(state), services: Arc::new(services) }) }
    }

    /// Registers a tool. Connected clients are notified that the list has changed, with a single
    /// notification for changes in quick succession.
    ///
    /// # Errors
    /// If the name is invalid or already in use, or a schema does not compile.
    pub fn add_tool(
        &self,
        tool: impl IntoDefinition<(), ToolDefinition>,
    ) -> Result<FeatureHandle<ToolDefinition>, RegisterError> {
        self.add(Addition::Tool(Arc::new(tool.into_entry(()).compile()?)))
    }

    /// Registers a resource; see [`Self::add_tool`].
    ///
    /// # Errors
    /// If the URI is invalid or already in use, or the descriptor is an invalid Resource.
    pub fn add_resource(
        &self,
        resource: impl IntoDefinition<(), ResourceDefinition>,
    ) -> Result<FeatureHandle<ResourceDefinition>, RegisterError> {
        self.add(Addition::Resource(Arc::new(resource.into_entry(()).compile()?)))
    }

    /// Registers a resource template; see [`Self::add_tool`]. A resource with the same URI takes
    /// precedence; among templates, the first match does.
    ///
    /// # Errors
    /// If the template is invalid (RFC 6570) or already in use, or the descriptor is an invalid
    /// ResourceTemplate.
    pub fn add_resource_template(
        &self,
        template: impl IntoDefinition<(), ResourceTemplateDefinition>,
    ) -> Result<FeatureHandle<ResourceTemplateDefinition>, RegisterError> {
        self.add(Addition::Template(Arc::new(template.into_entry(()).compile()?)))
    }

    /// Registers a prompt; see [`Self::add_tool`].
    ///
    /// # Errors
    /// If the name is already in use, or the descriptor is an invalid Prompt.
    pub fn add_prompt(
        &self,
        prompt: impl IntoDefinition<(), PromptDefinition>,
    ) -> Result<FeatureHandle<PromptDefinition>, RegisterError> {
        self.add(Addition::Prompt(Arc::new(prompt.into_entry(()).compile()?)))
    }

    /// Registers the completion of an argument of a prompt, or of a variable of a resource
    /// template.
    ///
    /// # Errors
    /// If the argument already has a completion, or if there is no prompt or template with that
    /// argument, and no provider that may have it.
    pub fn add_completion(
        &self,
        entry: CompletionDefinition,
    ) -> Result<FeatureHandle<CompletionDefinition>, RegisterError> {
        self.add(Addition::Completion(entry))
    }

    /// Registers a provider, which lists and serves features that are not registered.
    ///
    /// # Errors
    /// Currently none; a provider can always be added.
    pub fn add_provider(&self, entry: ProviderDefinition) -> Result<FeatureHandle<ProviderDefinition>, RegisterError> {
        self.add(Addition::Provider(entry))
    }

    /// Adds middleware at run time, inside the existing middleware.
    ///
    /// # Errors
    /// If it names a method that cannot be wrapped.
    pub fn add_middleware(
        &self,
        entry: MiddlewareDefinition,
    ) -> Result<FeatureHandle<MiddlewareDefinition>, RegisterError> {
        self.add(Addition::Middleware(entry.compile()?))
    }

    /// Handles a custom method that is not part of the protocol.
    ///
    /// # Errors
    /// If the method or its prefix belongs to the protocol, or it already has a handler, or the
    /// schema of the params does not compile.
    pub fn add_request_handler(
        &self,
        entry: RequestHandlerDefinition,
    ) -> Result<FeatureHandle<RequestHandlerDefinition>, RegisterError> {
        self.add(Addition::RequestHandler(entry.compile()?))
    }

    /// Mounts another server of this process: its features become features of this one, including
    /// later additions and removals. Its tools and prompts are named `prefix__name`, its resources
    /// `prefix+uri`, as in a `ClientGroup`; with an empty prefix, which one server may have, names
    /// and URIs stay unchanged.
    ///
    /// Its middleware runs for its own features, inside the middleware of this server. The options
    /// are those of this server.
    ///
    /// ```
    /// use trunkline::{Client, Server};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let weather = Server::builder("weather", "1.0.0").tool("forecast", "Forecast.", async || "sun").build();
    /// let all = Server::builder("all", "1.0.0").build();
    /// let mounted = all.mount("weather", &weather)?;
    /// let client = Client::connect(&all).await?;
    /// assert_eq!(client.list_tools().await?[0].name, "weather__forecast");
    /// assert!(mounted.remove());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the prefix is already in use, or contains anything but letters, digits, `-` and `_`, or
    /// if the server is already mounted here, is this one, or contains this one.
    pub fn mount(&self, prefix: &str, other: &Self) -> Result<FeatureHandle<Self>, RegisterError> {
        self.mount_with_guard(prefix, other, Box::new(()))
    }

    /// Like [`Self::mount`], but keeps `guard` alive while the other server is mounted.
    #[doc(hidden)]
    pub fn mount_with_guard(
        &self,
        prefix: &str,
        other: &Self,
        guard: Box<dyn Any + Send + Sync>,
    ) -> Result<FeatureHandle<Self>, RegisterError> {
        let local = LocalMount::new(self.state(), other.state(), prefix, guard)?;
        self.add_mount(prefix, MountSource::Local(Arc::new(local)))
    }

    /// Mounts a server behind a client.
    #[doc(hidden)]
    pub fn mount_remote(
        &self,
        prefix: &str,
        remote: Arc<dyn RemoteServer>,
    ) -> Result<FeatureHandle<Self>, RegisterError> {
        self.add_mount(prefix, MountSource::Remote(remote))
    }

    /// Names a remote server in results from now on, instead of this one.
    #[doc(hidden)]
    pub fn show_as(&self, info: &Value) {
        self.state().results.show_as(info);
    }

    fn add_mount(&self, prefix: &str, source: MountSource) -> Result<FeatureHandle<Self>, RegisterError> {
        self.add(Addition::Mount(RegisteredMount::new(prefix.to_owned(), source)))
    }

    /// Registers an agent skill, as resources and through the skills extension; see
    /// [`Self::add_tool`].
    ///
    /// # Errors
    /// If its URI is already in use, or its files are not a valid skill.
    #[cfg(feature = "skills")]
    pub fn add_skill(&self, entry: SkillDefinition) -> Result<FeatureHandle<SkillDefinition>, RegisterError> {
        self.add(Addition::Skill(Arc::new(entry.compile()?)))
    }

    /// Registers a folder whose files are resources.
    ///
    /// # Errors
    /// If the URI is malformed, or the path is not that of a folder.
    #[cfg(feature = "directories")]
    pub fn add_directory(
        &self,
        entry: DirectoryDefinition,
    ) -> Result<FeatureHandle<DirectoryDefinition>, RegisterError> {
        self.add(Addition::Provider(entry.compile()?))
    }

    /// Returns the tool with that name, enabled or not.
    pub fn find_tool(&self, name: &str) -> Option<FeatureHandle<ToolDefinition>> {
        self.snapshot().tools.id(name).map(|id| self.feature(id))
    }

    /// Returns the resource with that URI, enabled or not.
    pub fn find_resource(&self, uri: &str) -> Option<FeatureHandle<ResourceDefinition>> {
        self.snapshot().resources.id(uri).map(|id| self.feature(id))
    }

    /// Returns the resource template with exactly that URI template, enabled or not.
    pub fn find_resource_template(&self, uri_template: &str) -> Option<FeatureHandle<ResourceTemplateDefinition>> {
        self.snapshot().templates.id(uri_template).map(|id| self.feature(id))
    }

    /// Returns the prompt with that name, enabled or not.
    pub fn find_prompt(&self, name: &str) -> Option<FeatureHandle<PromptDefinition>> {
        self.snapshot().prompts.id(name).map(|id| self.feature(id))
    }

    /// Removes a tool. Running calls continue. Returns `false` if there is no tool with that name.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.find_tool(name).is_some_and(|tool| tool.remove())
    }

    #[doc(hidden)]
    pub fn feature<D>(&self, id: u64) -> FeatureHandle<D> {
        FeatureHandle::new(self.state(), id)
    }

    fn add<D>(&self, addition: Addition) -> Result<FeatureHandle<D>, RegisterError> {
        self.state().add(addition).map(|id| self.feature(id))
    }

    /// Returns the keys of a category's features in list order: names, URIs or URI templates.
    pub fn names(&self, category: Category) -> Vec<String> {
        self.snapshot().names(category)
    }

    /// Notifies subscribers that a resource has changed, with a single notification for updates in
    /// quick succession.
    pub fn resource_updated(&self, uri: &str) {
        self.state().listeners.notify(&PendingNotifications::of_resource(uri));
    }

    /// Notifies clients that a provider's list has changed.
    pub fn list_changed(&self, category: Category) {
        self.snapshot().providers(category).for_each(|provider| provider.listed.clear());
        self.state().listeners.notify(&PendingNotifications::of_list(category));
    }

    /// Notifies the client that received this URL elicitation that it is complete (2025-11-25 only;
    /// other revisions have no such notification). Ids are unique; if several clients received the
    /// same id, each is notified once. Returns `false` if no connected client received it.
    pub fn elicitation_complete(&self, elicitation_id: &str) -> bool {
        self.state().listeners.elicitation_complete(elicitation_id)
    }

    /// Returns whether both are the same server.
    #[doc(hidden)]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// A number unique among the servers of this process while this one exists.
    #[doc(hidden)]
    pub fn identity(&self) -> usize {
        Arc::as_ptr(self.state()).addr()
    }

    /// A weak reference to the server.
    #[doc(hidden)]
    pub fn downgrade(&self) -> WeakServer {
        WeakServer(Arc::downgrade(&self.inner))
    }

    /// Removes the resources that any client subscribes to.
    #[doc(hidden)]
    pub fn retain_unwanted(&self, uris: &mut HashSet<String>) {
        tracing::trace!(target: "trunkline::server::session", resources = uris.len(), "looking for their subscribers");
        self.state().listeners.retain_unwanted(uris);
    }

    /// Current load: sessions, running and queued calls, and failures of the store. Counted with or
    /// without telemetry.
    pub fn load(&self) -> Arc<ServerLoad> {
        Arc::clone(&self.state().load)
    }

    /// Sets the receiver of spans and metrics, unless there is one.
    #[doc(hidden)]
    pub fn set_telemetry(&self, receiver: Arc<dyn Telemetry>) {
        self.state().set_telemetry(receiver);
    }

    #[doc(hidden)]
    pub fn options(&self) -> &ServerOptions {
        self.state().options()
    }

    /// Returns the store of the server, if it has one.
    pub(crate) fn store(&self, runtime: &Arc<dyn Runtime>) -> Result<Option<StoreGuard>, StoreError> {
        self.state().store(runtime).map(|store| store.cloned())
    }

    /// Opens a conversation. Messages that belong to no request go to `unrelated`.
    pub(crate) fn connect(&self, setup: ConversationSetup, start: ConversationStart) -> Arc<Connection> {
        let dispatch: Arc<dyn Dispatch> = self.inner.clone();
        Connection::new(Arc::clone(self.state()), dispatch, setup, start)
    }

    /// Notifies other processes of changes in this server, through the worker with that number, for
    /// as long as it exists.
    pub(crate) fn announce_to(&self, others: Weak<dyn Announce>, worker: u64) {
        self.state().listeners.insert_worker(worker, others);
    }

    /// Notifies the clients of this process of what another worker has announced.
    pub(crate) fn deliver(&self, worker: u64, announcement: &Announcement) {
        self.state().listeners.deliver(worker, announcement);
    }

    /// Uses the lifespan for a listener, a service or an in-memory connection.
    pub(crate) fn live(&self, runtime: &Arc<dyn Runtime>) -> LifespanUse {
        LifespanUse::new(&self.snapshot().hooks.lifespan, runtime)
    }

    /// Opens the lifespan before anything is served, so that errors surface at startup. It stays
    /// open until the use is dropped.
    ///
    /// # Errors
    /// If it cannot be opened.
    #[doc(hidden)]
    pub async fn opened(&self, runtime: &Arc<dyn Runtime>) -> io::Result<LifespanUse> {
        let lifespan = self.live(runtime);
        lifespan.open().await.map_err(io::Error::other)?;
        Ok(lifespan)
    }

    /// Sets the lifespan of a server that is not being served.
    ///
    /// # Errors
    /// If it is being served, or has a lifespan.
    #[doc(hidden)]
    pub fn set_lifespan(&self, functions: LifespanFunctions) -> Result<(), &'static str> {
        self.snapshot().hooks.lifespan.set(functions)
    }

    /// A number for an origin of several conversations whose tasks end together.
    pub(crate) fn new_origin(&self) -> u64 {
        self.state().next_number()
    }

    /// Ends the tasks tied to a listener or conversation that has ended.
    pub(crate) fn end_tasks_of(&self, origin: u64) {
        self.inner.services.tasks.end_of(origin);
    }

    /// Ends the tasks of a listener or conversation that wait for input: it takes no more requests,
    /// and only a request could bring the input.
    pub(crate) fn refuse_task_input_of(&self, origin: u64) {
        self.inner.services.tasks.refuse_input_of(origin);
    }

    /// Completes when those tasks have ended and the store has recorded it.
    pub(crate) async fn drain_tasks_of(&self, origin: u64) {
        self.inner.services.tasks.drain_of(origin).await;
    }

    /// Ends the tasks of an HTTP session that has ended, except those of principals.
    pub(crate) fn end_tasks_of_session(&self, id: &str) {
        self.inner.services.tasks.abandon_id(id);
    }

    /// The HTTP sessions among `ids` with running tasks that end with them.
    pub(crate) fn sessions_with_tasks(&self, ids: &HashSet<Arc<str>>) -> HashSet<Arc<str>> {
        self.inner.services.tasks.sessions_among(ids)
    }

    /// The remote servers behind this one: the prefix of their names, and the state of the
    /// connection to each.
    pub(crate) fn remote_states(&self) -> Vec<(String, ConnectionState)> {
        self.snapshot().remote_states()
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.state().snapshot()
    }

    fn state(&self) -> &Arc<ServerState> {
        &self.inner.state
    }
}

impl Dispatch for ServerInner {
    fn activate(&self, connection: &Arc<Connection>, started: StartedCall) -> Arc<dyn ServedRequest> {
        let route = methods::route(started.call.method.name);
        ActiveRequest::new(connection, &self.services, route, started)
    }

    fn allowed_resources(
        &self,
        connection: &Arc<Connection>,
        started: StartedCall,
        uris: BTreeSet<String>,
    ) -> AllowedResources {
        let route = methods::route(method::RESOURCES_SUBSCRIBE);
        methods::allowed_resources(&ActiveRequest::new(connection, &self.services, route, started), uris)
    }

    fn visible_tasks(&self, info: &RequestInfo, ids: BTreeSet<String>) -> Result<Option<BTreeSet<String>>, RpcError> {
        if !self.state.snapshot().offers().tasks {
            return Ok(None);
        }
        request::visible_tasks(&self.services.tasks, info, ids).map(Some)
    }

    fn refuse_task_input_of(&self, number: u64) {
        self.services.tasks.refuse_input_of(number);
    }

    fn drain_tasks_of(&self, number: u64) -> BoxedTask<()> {
        let tasks = Arc::clone(&self.services.tasks);
        Box::pin(async move { tasks.drain_of(number).await })
    }

    fn connection_closed(&self, number: u64, ends_tasks: bool) {
        self.services.tasks.abandon(number);
        if ends_tasks {
            self.services.tasks.end_of(number);
        }
    }
}

impl Server {
    /// Returns the scopes required by the features that a frame calls or reads.
    pub(crate) fn scopes_of(&self, frame: &Frame) -> Vec<String> {
        let scopes_of =
            |Request { method, params, .. }: &Request| self.snapshot().scopes_of_request(method, params.as_ref());
        frame.requests().filter_map(scopes_of).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        protocol::envelope::{Frame, FrameBounds},
        server::{Server, Tool},
    };
    use serde_json::json;

    #[test]
    fn aus_10_the_scopes_of_a_mounted_tool_are_known_before_it_is_served() {
        let tool = Tool::new("read", "Read.", async || "text").scopes(["files:read"]);
        let inner = Server::builder("inner", "1.0.0").add_tool(tool).build();
        let middle = Server::builder("middle", "1.0.0").mount("files", &inner).build();
        let server = Server::builder("outer", "1.0.0").mount("office", &middle).build();
        let scopes = |name: &str| {
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}});
            server.scopes_of(&Frame::parse(&call.to_string().into(), FrameBounds::NONE))
        };
        assert_eq!(scopes("office__files__read"), ["files:read"]);
        assert_eq!(scopes("office__files__write"), [] as [&str; 0]);
    }
}
