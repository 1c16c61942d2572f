//! What a server offers: builder, registry, handlers and their context.

mod asking;
mod batch;
mod call;
mod cancellation;
mod connection;
mod context;
mod handler;
mod mirrored;
mod options;
mod outbound;
mod outcome;
mod registry;
mod subscriptions;
mod tools;
mod typed;

pub use asking::AskError;
pub use call::{Call, CallFacts};
pub use context::Context;
pub use handler::Handler;
pub use options::ServerOptions;
pub use outbound::{Failure, Outbound, Outgoing};
pub use outcome::{Outcome, ToolError};
pub use registry::{RegisterError, ToolEntry};
pub use typed::{CallError, IntoOutcome, Params, ToolHandler};

pub(crate) use connection::{Connection, Opening};

use crate::sync::Mutex;
use crate::{
    protocol::{Feature, RawJson, Revision, meta, model::Implementation, project},
    runtime::Runtime,
    wire_log::Transport,
};
use arc_swap::ArcSwap;
use registry::Snapshot;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

/// A server: what it offers, independent of any transport. Cheap to clone; clones are the same server.
///
/// The same server answers every revision, on every transport it is given to, at the same time.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    info: Value,
    instructions: Option<String>,
    options: ServerOptions,
    registry: ArcSwap<Snapshot>,
    /// Held while the registry is changed; readers never wait for it.
    edit: Mutex<()>,
    /// Conversations that want to hear of changes.
    listeners: Mutex<HashMap<u64, Weak<Connection>>>,
    next_number: AtomicU64,
    /// What ends every result of the modern era: its type, and who answers (DISC-09).
    result_tail: String,
}

/// Builds a [`Server`].
pub struct ServerBuilder {
    info: Implementation,
    instructions: Option<String>,
    options: ServerOptions,
    tools: Vec<ToolEntry>,
}

impl ServerBuilder {
    /// What clients should know to use the server well; often given to the model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// More about the server than its name and version.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Limits and habits.
    pub fn options(mut self, options: ServerOptions) -> Self {
        self.options = options;
        self
    }

    /// Offers a tool whose arguments type gives the input schema. See [`ToolHandler`] for the forms that a handler may have.
    ///
    /// # Panics
    /// Never here: a bad name or schema is reported by [`ServerBuilder::try_build`], and by a panic of [`ServerBuilder::build`].
    pub fn tool<M>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl ToolHandler<M>,
    ) -> Self {
        self.entry(ToolEntry::typed(name, description, handler))
    }

    /// Offers a tool with everything that can be said about it.
    pub fn entry(mut self, entry: ToolEntry) -> Self {
        self.tools.push(entry);
        self
    }

    /// The server.
    ///
    /// # Panics
    /// If a tool is registered wrongly, which is a mistake in the program: the message names it.
    pub fn build(self) -> Server {
        match self.try_build() {
            Ok(server) => server,
            Err(error) => panic!("{error}"),
        }
    }

    /// The server.
    ///
    /// # Errors
    /// If a tool's name is taken or malformed, or a schema does not compile.
    pub fn try_build(self) -> Result<Server, RegisterError> {
        let info = serde_json::to_value(&self.info).unwrap_or_default();
        let server = Server::new(info, self.instructions, self.options);
        for tool in self.tools {
            server.add_tool(tool)?;
        }
        Ok(server)
    }
}

impl Server {
    /// Starts building a server.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder {
            info: Implementation::new(name, version),
            instructions: None,
            options: ServerOptions::default(),
            tools: Vec::new(),
        }
    }

    pub(crate) fn new(info: Value, instructions: Option<String>, options: ServerOptions) -> Self {
        let options = options.bounded();
        let mut named = info.clone();
        project::project_implementation(&mut named, Revision::LATEST);
        let result_tail = format!(r#""resultType":"complete","_meta":{{"{}":{named}}}"#, meta::SERVER_INFO);
        Self {
            inner: Arc::new(Inner {
                info,
                instructions,
                options,
                registry: ArcSwap::from_pointee(Snapshot::default()),
                edit: Mutex::new(()),
                listeners: Mutex::new(HashMap::new()),
                next_number: AtomicU64::new(1),
                result_tail,
            }),
        }
    }

    /// Offers a tool from now on. Connected clients are told that the list changed; changes made close together are told once.
    ///
    /// # Errors
    /// If the name is taken or malformed, or a schema does not compile.
    pub fn add_tool(&self, entry: ToolEntry) -> Result<(), RegisterError> {
        let number = self.inner.next_number.fetch_add(1, Ordering::Relaxed);
        let tool = entry.compile(number)?;
        {
            let _edit = self.inner.edit.lock();
            let next = self.inner.registry.load().with(tool)?;
            self.inner.registry.store(Arc::new(next));
        }
        self.tools_changed();
        Ok(())
    }

    /// Takes a tool away. Calls that run go on. `false` if there is none of that name.
    pub fn remove_tool(&self, name: &str) -> bool {
        {
            let _edit = self.inner.edit.lock();
            let Some(next) = self.inner.registry.load().without(name) else { return false };
            self.inner.registry.store(Arc::new(next));
        }
        self.tools_changed();
        true
    }

    /// The names of the tools, in the order of the list.
    pub fn tool_names(&self) -> Vec<String> {
        self.inner.registry.load().names()
    }

    /// Whether both are the same server.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.inner.options
    }

    /// A conversation. Messages that belong to no request go to `unrelated`.
    pub(crate) fn connect(
        &self,
        runtime: Arc<dyn Runtime>,
        transport: Transport,
        unrelated: Arc<dyn Outbound>,
        opening: Opening,
    ) -> Arc<Connection> {
        Connection::new(self.clone(), runtime, transport, unrelated, opening)
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.registry.load_full()
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

    fn tools_changed(&self) {
        let listeners: Vec<_> = self.inner.listeners.lock().values().filter_map(Weak::upgrade).collect();
        for connection in listeners {
            connection.tools_changed();
        }
    }

    /// The result of `initialize` (LIFE-02).
    fn initialize_result(&self, revision: Revision) -> Value {
        let mut info = self.inner.info.clone();
        project::project_implementation(&mut info, revision);
        let mut result = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.capabilities(),
            "serverInfo": info,
        });
        if let Some(instructions) = &self.inner.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        result
    }

    /// The result of `server/discover` (DISC-01, DISC-21).
    fn discover_result(&self) -> Value {
        let versions: Vec<_> = Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect();
        let mut result = json!({
            "supportedVersions": versions,
            "capabilities": self.capabilities(),
            "ttlMs": 0,
            "cacheScope": "private",
        });
        if let Some(instructions) = &self.inner.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        result
    }

    fn capabilities(&self) -> Value {
        json!({"tools": {"listChanged": true}})
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
            members.insert("resultType".into(), "complete".into());
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
