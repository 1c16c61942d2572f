//! The state of a server, shared by its conversations and requests.

use super::{
    change_listeners::Listeners, declared_capabilities::DeclaredFor, name_budget::NameBudget,
    pending::PendingNotifications,
};
use crate::{
    protocol::{Revision, method::Method},
    runtime::Runtime,
    server::{
        registry::{Addition, Change, RegisterError, RemoteDescription, Snapshot},
        result::ResultWriter,
        server_hooks::ServerHooks,
        server_options::ServerOptions,
    },
    store::{StoreError, StoreGuard},
    sync::Mutex,
    telemetry::{ServerLoad, Telemetry},
};
use arc_swap::ArcSwap;
use serde_json::{Value, json};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// The state of a server.
pub(in crate::server) struct ServerState {
    instructions: Option<String>,
    options: ServerOptions,
    pub(in crate::server) results: ResultWriter,
    /// The registry as requests see it.
    published: ArcSwap<Snapshot>,
    /// The current registry. The next reader publishes it, so that the lists are copied once for
    /// any number of registrations in a row.
    registry: Mutex<Snapshot>,
    /// True if the registry was modified since it was published.
    is_modified: AtomicBool,
    pub(in crate::server) listeners: Listeners,
    /// The memory budget for names that clients subscribe to.
    pub(super) names: Arc<NameBudget>,
    next_number: AtomicU64,
    telemetry: OnceLock<Arc<dyn Telemetry>>,
    /// The current load.
    pub(in crate::server) load: Arc<ServerLoad>,
    /// Opened on first use.
    store: OnceLock<Result<StoreGuard, StoreError>>,
    /// True once the warning about unregistered user interfaces has been logged.
    warned: AtomicBool,
}

impl ServerState {
    pub(in crate::server) fn new(
        info: Value,
        instructions: Option<String>,
        options: ServerOptions,
        hooks: ServerHooks,
    ) -> Self {
        let options = options.bounded();
        let load = Arc::new(ServerLoad::default());
        if let Some(receiver) = &options.telemetry_receiver {
            receiver.server_began(Arc::clone(&load));
        }
        Self {
            instructions,
            results: ResultWriter::new(info, options.cache, options.debug),
            names: NameBudget::new(options.max_subscription_bytes),
            telemetry: options.telemetry_receiver.clone().map_or_else(OnceLock::new, OnceLock::from),
            options,
            load,
            published: ArcSwap::from_pointee(Snapshot::new(hooks.clone())),
            registry: Mutex::new(Snapshot::new(hooks)),
            is_modified: AtomicBool::new(false),
            listeners: Listeners::default(),
            next_number: AtomicU64::new(1),
            store: OnceLock::new(),
            warned: AtomicBool::new(false),
        }
    }

    pub(in crate::server) fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// The store from the options, if any. It is opened only once, so that all users share its
    /// connections and its availability.
    pub(in crate::server) fn store(&self, runtime: &Arc<dyn Runtime>) -> Result<Option<&StoreGuard>, StoreError> {
        let Some(choice) = &self.options.store else { return Ok(None) };
        let open = || choice.open(runtime, self.options.store_deadline);
        let opened = self.store.get_or_init(|| open().map(|store| store.counting(self.load.errors_of_store())));
        opened.as_ref().map(Some).map_err(Clone::clone)
    }

    /// The telemetry receiver, if there is one.
    pub(in crate::server) fn telemetry(&self) -> Option<&dyn Telemetry> {
        self.telemetry.get().map(|telemetry| &**telemetry)
    }

    /// Sets the telemetry receiver, unless there is one.
    pub(in crate::server) fn set_telemetry(&self, receiver: Arc<dyn Telemetry>) {
        if self.telemetry.set(Arc::clone(&receiver)).is_ok() {
            receiver.server_began(Arc::clone(&self.load));
        }
    }

    pub(in crate::server) fn snapshot(&self) -> Arc<Snapshot> {
        self.publish();
        self.published.load_full()
    }

    /// Publishes the registry if it was modified. Readers wait only for that.
    fn publish(&self) {
        if !self.is_modified.load(Ordering::Acquire) {
            return;
        }
        let _old = {
            let registry = self.registry.lock();
            if !self.is_modified.load(Ordering::Acquire) {
                return;
            }
            let old = self.published.swap(Arc::new(registry.clone()));
            // Only now, so that no reader misses what was registered before.
            self.is_modified.store(false, Ordering::Release);
            old
        };
    }

    /// The row of a custom request of this server.
    pub(super) fn served(&self, method: &str) -> Option<&'static Method> {
        self.publish();
        self.published.load().request_handler(method).map(|handler| handler.method)
    }

    /// A number that is unique within this server.
    pub(in crate::server) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Registers a feature and notifies clients of changed lists. Returns its id.
    pub(in crate::server) fn add(&self, addition: Addition) -> Result<u64, RegisterError> {
        let id = self.next_number();
        let lists = addition.lists();
        self.edit(|registry| registry.add(id, addition, lists, self.options.on_duplicate)).map(|()| id)
    }

    /// Modifies the registry and notifies clients of changed lists.
    pub(in crate::server) fn edit<E>(&self, edit: impl FnOnce(&mut Snapshot) -> Result<Change, E>) -> Result<(), E> {
        let Change { lists, removed, unmounted } = {
            let mut registry = self.registry.lock();
            let change = edit(&mut registry)?;
            self.is_modified.store(true, Ordering::Release);
            change
        };
        // Without the lock, because a mounted server has one too.
        let lists = unmounted.as_ref().map_or(lists, |mount| lists.with(mount.offers().lists));
        if removed.is_some() || unmounted.is_some() {
            // The published snapshot holds it too.
            self.publish();
        }
        drop((removed, unmounted));
        self.listeners.notify(&PendingNotifications::of_lists(lists));
        Ok(())
    }

    /// Logs a warning, once, about tools whose user interface is not registered.
    fn warn_of_missing_interfaces(&self, snapshot: &Snapshot) {
        let missing = snapshot.missing_interfaces();
        if !missing.is_empty() && !self.warned.swap(true, Ordering::Relaxed) {
            for (tool, uri) in missing {
                tracing::warn!(target: "trunkline::server::session", tool, uri, "a tool names a user interface that is not registered");
            }
        }
    }

    /// The result of `initialize` (LIFE-02). `remote` is set if this server is shown as another
    /// one.
    pub(in crate::server) fn initialize_result(
        &self,
        snapshot: &Snapshot,
        client: DeclaredFor,
        remote: Option<&RemoteDescription>,
    ) -> Value {
        self.warn_of_missing_interfaces(snapshot);
        self.show_as(remote);
        let described = json!({
            "protocolVersion": client.revision.as_str(),
            "capabilities": client.capabilities(&self.options, snapshot, remote),
            "serverInfo": self.results.implementation(client.revision),
        });
        self.with_instructions(described, remote)
    }

    /// The result of `server/discover` (DISC-01, DISC-21).
    pub(in crate::server) fn discover_result(
        &self,
        snapshot: &Snapshot,
        revision: Revision,
        remote: Option<&RemoteDescription>,
    ) -> Value {
        self.warn_of_missing_interfaces(snapshot);
        self.show_as(remote);
        let client = DeclaredFor { revision, comes_back: false };
        let versions: Vec<_> = Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect();
        let described = json!({
            "supportedVersions": versions,
            "capabilities": client.capabilities(&self.options, snapshot, remote),
            "ttlMs": self.options.cache.ttl_ms(),
            "cacheScope": self.options.cache.scope.as_str(),
        });
        self.with_instructions(described, remote)
    }

    /// Gives the name of the remote server in all results from now on.
    fn show_as(&self, remote: Option<&RemoteDescription>) {
        if let Some(info) = remote.and_then(|remote| remote.info.as_ref()) {
            self.results.show_as(info);
        }
    }

    fn with_instructions(&self, mut result: Value, remote: Option<&RemoteDescription>) -> Value {
        let instructions = match remote {
            Some(remote) => &remote.instructions,
            None => &self.instructions,
        };
        if let Some(instructions) = instructions {
            result["instructions"] = instructions.as_str().into();
        }
        result
    }
}
