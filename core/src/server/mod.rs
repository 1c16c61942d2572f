//! What a server offers: builder, registry, handlers and their context.

mod asking;
mod batch;
mod builder;
mod cache;
mod call;
mod cancellation;
mod capabilities;
mod catalog;
mod completion;
mod connection;
mod context;
mod handler;
mod hooks;
mod input;
mod lists;
mod logging;
mod mirrored;
mod names;
mod notices;
mod options;
mod outbound;
mod outcome;
mod prompts;
mod random;
mod resources;
mod rounds;
mod scopes;
mod serving;
mod skills;
mod state;
mod subscriptions;
mod tasks;
mod tools;
mod typed;
mod wording;

#[cfg(test)]
mod tests;

pub use asking::{AskError, Asking};
pub use builder::ServerBuilder;
pub use cache::{CacheHints, CacheScope};
pub use call::{Call, CallFacts};
pub use catalog::{
    Category, CompletionEntry, CompletionTarget, MiddlewareEntry, PromptEntry, ProviderEntry, RegisterError,
    Registration, ResourceEntry, ResourceTemplateEntry, TaskSupport, ToolEntry,
};
pub use context::Context;
pub use handler::Handler;
pub use hooks::{Next, Provider};
pub use input::{InputRequest, InputRequired};
pub use options::ServerOptions;
pub use outbound::{Failure, Outbound, Outgoing};
pub use outcome::{Outcome, ToolError};
pub use skills::{SkillEntry, SkillFile};
pub use state::StateKey;
pub use typed::{AsyncHandler, CallError, IntoOutcome, Params};

pub(crate) use connection::{Connection, Opening, Origin};

use crate::sync::Mutex;
use crate::{
    protocol::{Feature, RawJson, Revision, meta, model::Implementation, project},
    runtime::Runtime,
    wire_log::Transport,
};
use arc_swap::ArcSwap;
use catalog::{Addition, Snapshot};
use notices::Notices;
use serde_json::{Value, json};
use state::Sealer;
use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tasks::Tasks;

/// A server: what it offers, independent of any transport. Cheap to clone; clones are the same server.
///
/// The same server answers every revision, on every transport it is given to, at the same time.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

/// A server that may be gone.
struct WeakServer(Weak<Inner>);

impl WeakServer {
    fn upgrade(&self) -> Option<Server> {
        self.0.upgrade().map(|inner| Server { inner })
    }
}

struct Inner {
    info: Value,
    instructions: Option<String>,
    options: ServerOptions,
    catalog: ArcSwap<Snapshot>,
    sealer: Sealer,
    tasks: Tasks,
    /// Held while the catalog is changed; readers never wait for it.
    edit: Mutex<()>,
    /// Conversations that want to hear of changes.
    listeners: Mutex<HashMap<u64, Weak<Connection>>>,
    next_number: AtomicU64,
    /// What ends every result of the modern era: its type, and who answers (DISC-09).
    result_tail: String,
    /// Whether the author was told of user interfaces that are not there.
    warned: AtomicBool,
}

impl Server {
    /// Starts building a server.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(Implementation::new(name, version))
    }

    #[doc(hidden)]
    pub fn new(info: Value, instructions: Option<String>, options: ServerOptions) -> Self {
        let options = options.bounded();
        let mut named = info.clone();
        project::project_implementation(&mut named, Revision::LATEST);
        let result_tail = format!(r#""resultType":"complete","_meta":{{"{}":{named}}}"#, meta::SERVER_INFO);
        let sealer = Sealer::new(&options.state_keys);
        Self {
            inner: Arc::new(Inner {
                info,
                instructions,
                options,
                catalog: ArcSwap::from_pointee(Snapshot::default()),
                sealer,
                tasks: Tasks::default(),
                edit: Mutex::new(()),
                listeners: Mutex::new(HashMap::new()),
                next_number: AtomicU64::new(1),
                result_tail,
                warned: AtomicBool::new(false),
            }),
        }
    }

    /// Offers a tool from now on. Connected clients are told that the list changed; changes made close together are told once.
    ///
    /// # Errors
    /// If the name is taken or malformed, or a schema does not compile.
    pub fn add_tool(&self, entry: ToolEntry) -> Result<(), RegisterError> {
        let tool = entry.compile()?;
        self.add(Addition::Tool(tool))
    }

    /// Offers a resource from now on; as [`Self::add_tool`].
    ///
    /// # Errors
    /// If the URI is taken or malformed, or the descriptor is no Resource.
    pub fn add_resource(&self, entry: ResourceEntry) -> Result<(), RegisterError> {
        let resource = entry.compile()?;
        self.add(Addition::Resource(resource))
    }

    /// Offers a resource template from now on; as [`Self::add_tool`]. A resource of the same URI wins; among templates, the first that
    /// matches.
    ///
    /// # Errors
    /// If the template is taken or is not one of RFC 6570, or the descriptor is no ResourceTemplate.
    pub fn add_resource_template(&self, entry: ResourceTemplateEntry) -> Result<(), RegisterError> {
        let template = entry.compile()?;
        self.add(Addition::Template(template))
    }

    /// Offers a prompt from now on; as [`Self::add_tool`].
    ///
    /// # Errors
    /// If the name is taken, or the descriptor is no Prompt.
    pub fn add_prompt(&self, entry: PromptEntry) -> Result<(), RegisterError> {
        let prompt = entry.compile()?;
        self.add(Addition::Prompt(prompt))
    }

    /// Completes an argument of a prompt, or a variable of a resource template, from now on.
    ///
    /// # Errors
    /// If that argument has a completion already.
    pub fn add_completion(&self, entry: CompletionEntry) -> Result<(), RegisterError> {
        self.add(Addition::Completion(entry))
    }

    /// Asks a provider from now on for what is not registered here. Gives what [`Self::remove`] takes it away by.
    ///
    /// # Errors
    /// None so far; a provider can always be added.
    pub fn add_provider(&self, entry: ProviderEntry) -> Result<Registration, RegisterError> {
        let number = self.next_number();
        self.add(Addition::Provider(entry, number)).map(|()| Registration::Hook(number))
    }

    /// Wraps requests from now on: inside the middleware that is there already. Gives what [`Self::remove`] takes it away by.
    ///
    /// # Errors
    /// If it names a method that cannot be wrapped.
    pub fn add_middleware(&self, entry: MiddlewareEntry) -> Result<Registration, RegisterError> {
        let number = self.next_number();
        let middleware = entry.compile(number)?;
        self.add(Addition::Middleware(middleware)).map(|()| Registration::Hook(number))
    }

    /// Offers an agent skill from now on, as resources and by the skills extension; as [`Self::add_tool`].
    ///
    /// # Errors
    /// If its URI is taken, or its files are no skill.
    pub fn add_skill(&self, entry: SkillEntry) -> Result<Registration, RegisterError> {
        let skill = entry.compile()?;
        let registration = Registration::Skill(catalog::Listed::key(&skill).to_owned());
        self.add(Addition::Skill(skill)).map(|()| registration)
    }

    fn add(&self, addition: Addition) -> Result<(), RegisterError> {
        let changed = {
            let _edit = self.inner.edit.lock();
            let (next, changed) = self.inner.catalog.load().with(addition)?;
            self.inner.catalog.store(Arc::new(next));
            changed
        };
        self.tell_all(&Notices::of_lists(changed));
        Ok(())
    }

    /// Takes something away. Requests that run go on. `false` if it is not there.
    pub fn remove(&self, registration: &Registration) -> bool {
        // What is dropped with the old snapshot may tell its owner: not under the lock.
        let (changed, _old) = {
            let _edit = self.inner.edit.lock();
            let Some((next, changed)) = self.inner.catalog.load().without(registration) else { return false };
            (changed, self.inner.catalog.swap(Arc::new(next)))
        };
        self.tell_all(&Notices::of_lists(changed));
        true
    }

    /// Takes a tool away. Calls that run go on. `false` if there is none of that name.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(&Registration::Item(Category::Tools, name.to_owned()))
    }

    /// What names the things of a category, in the order of the list: names, URIs or URI templates.
    pub fn names(&self, category: Category) -> Vec<String> {
        self.inner.catalog.load().names(category)
    }

    /// Whether both are the same server.
    #[doc(hidden)]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    #[doc(hidden)]
    pub fn options(&self) -> &ServerOptions {
        &self.inner.options
    }

    /// A conversation. Messages that belong to no request go to `unrelated`.
    pub(crate) fn connect(
        &self,
        runtime: Arc<dyn Runtime>,
        transport: Transport,
        unrelated: Arc<dyn Outbound>,
        opening: Opening,
        origin: Origin,
    ) -> Arc<Connection> {
        Connection::new(self.clone(), runtime, transport, unrelated, opening, origin)
    }

    /// For what has many conversations, whose tasks end together.
    pub(crate) fn new_origin(&self) -> u64 {
        self.next_number()
    }

    /// Cancels the tasks that end with a listener or conversation, which is over.
    pub(crate) fn end_tasks_of(&self, origin: u64) {
        self.tasks().end_of(origin);
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.catalog.load_full()
    }

    fn tasks(&self) -> &Tasks {
        &self.inner.tasks
    }

    /// The same server, without keeping it.
    fn downgrade(&self) -> WeakServer {
        WeakServer(Arc::downgrade(&self.inner))
    }

    fn sealer(&self) -> &Sealer {
        &self.inner.sealer
    }

    /// The conversations that want to hear of changes.
    fn listeners(&self) -> Vec<Arc<Connection>> {
        self.inner.listeners.lock().values().filter_map(Weak::upgrade).collect()
    }

    fn listen_to_changes(&self, connection: &Arc<Connection>) {
        self.inner.listeners.lock().insert(connection.number(), Arc::downgrade(connection));
    }

    fn forget(&self, number: u64) {
        self.inner.listeners.lock().remove(&number);
    }

    fn next_number(&self) -> u64 {
        self.inner.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Tells the author of tools whose user interface is not there, once.
    fn warn_of_missing_interfaces(&self, snapshot: &Snapshot) {
        let missing = snapshot.missing_interfaces();
        if !missing.is_empty() && !self.inner.warned.swap(true, Ordering::Relaxed) {
            for (tool, uri) in missing {
                tracing::warn!(target: "trunkline", "the tool {tool} names the user interface {uri}, which is not registered");
            }
        }
    }

    /// The result of `initialize` (LIFE-02).
    fn initialize_result(&self, snapshot: &Snapshot, revision: Revision, has_session: bool) -> Value {
        self.warn_of_missing_interfaces(snapshot);
        let mut info = self.inner.info.clone();
        project::project_implementation(&mut info, revision);
        let mut result = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.capabilities(snapshot, revision, has_session),
            "serverInfo": info,
        });
        if let Some(instructions) = &self.inner.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        result
    }

    /// The result of `server/discover` (DISC-01, DISC-21).
    fn discover_result(&self, snapshot: &Snapshot, revision: Revision) -> Value {
        self.warn_of_missing_interfaces(snapshot);
        let versions: Vec<_> = Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect();
        let mut result = json!({
            "supportedVersions": versions,
            "capabilities": self.capabilities(snapshot, revision, false),
            "ttlMs": self.options().cache.ttl_ms(),
            "cacheScope": self.options().cache.scope.as_str(),
        });
        if let Some(instructions) = &self.inner.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        result
    }

    /// Closes the object `members` (without its braces) as a result of `revision`.
    fn seal(&self, mut members: Vec<u8>, revision: Revision) -> RawJson {
        if revision.supports(Feature::ResultType) {
            if !members.is_empty() {
                members.push(b',');
            }
            members.extend_from_slice(self.inner.result_tail.as_bytes());
        }
        let mut text = Vec::with_capacity(members.len() + 2);
        text.push(b'{');
        text.extend_from_slice(&members);
        text.push(b'}');
        RawJson::trusted(text.into())
    }

    /// The same for an object that may have a `_meta` of its own, which stays.
    fn seal_object(&self, mut result: Value, revision: Revision) -> RawJson {
        if revision.supports(Feature::ResultType)
            && let Some(members) = result.as_object_mut()
        {
            members.entry("resultType").or_insert_with(|| "complete".into());
            let meta = members.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                let mut info = self.inner.info.clone();
                project::project_implementation(&mut info, revision);
                meta.insert(meta::SERVER_INFO.into(), info);
            }
        }
        RawJson::from_value(&result).unwrap_or_else(|_| RawJson::empty_object())
    }
}
