//! Mounts of a server in another server of the same process.

use super::{
    change_listeners::{ChangeListener, TaskChange},
    pending::PendingNotifications,
    server_state::ServerState,
};
use crate::{
    composition::names,
    server::registry::{LocalServer, RegisterError, Snapshot},
    sync::Mutex,
};
use std::{
    any::Any,
    collections::HashSet,
    sync::{Arc, Weak},
};

/// Maximum depth of nested mounts.
const MAX_DEPTH: usize = 16;

/// All pairs of an outer and an inner server. Locked while mounting, so that two threads cannot
/// create a cycle together.
static MOUNTED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// The inner server of a mount. Its changes are reported to the clients of the outer one.
pub(in crate::server) struct LocalMount {
    inner: Arc<ServerState>,
    outer: usize,
    number: u64,
    _relay: Arc<Relay>,
    /// A value that is dropped with the mount, such as a proxied group.
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl LocalMount {
    /// # Errors
    /// If the inner server is already mounted there, or if this would create a cycle.
    pub(in crate::server) fn new(
        outer: &Arc<ServerState>,
        inner: &Arc<ServerState>,
        prefix: &str,
    ) -> Result<Self, RegisterError> {
        enter(identity(outer), identity(inner)).map_err(|problem| RegisterError(format!("mount: {problem}")))?;
        let relay = Arc::new(Relay { outer: Arc::downgrade(outer), prefix: prefix.to_owned() });
        let number = inner.next_number();
        let listener: Weak<dyn ChangeListener> = Arc::<Relay>::downgrade(&relay);
        inner.listeners().insert(number, listener);
        Ok(Self { inner: Arc::clone(inner), outer: identity(outer), number, _relay: relay, _guard: None })
    }

    /// Keeps a value alive while the server is mounted.
    pub(in crate::server) fn with_guard(mut self, guard: Box<dyn Any + Send + Sync>) -> Self {
        self._guard = Some(guard);
        self
    }
}

impl LocalServer for LocalMount {
    fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.snapshot()
    }
}

impl Drop for LocalMount {
    fn drop(&mut self) {
        self.inner.listeners().remove(self.number);
        let edge = (self.outer, identity(&self.inner));
        let mut mounted = MOUNTED.lock();
        if let Some(position) = mounted.iter().position(|other| *other == edge) {
            mounted.swap_remove(position);
        }
    }
}

/// A number that is unique among the servers that exist.
fn identity(server: &Arc<ServerState>) -> usize {
    Arc::as_ptr(server).addr()
}

fn enter(outer: usize, inner: usize) -> Result<(), String> {
    let mut mounted = MOUNTED.lock();
    if outer == inner {
        return Err("a server cannot be mounted in itself".to_owned());
    }
    if mounted.contains(&(outer, inner)) {
        return Err("this server is already mounted there".to_owned());
    }
    let inwards = |server: usize| {
        let inside = mounted.iter().filter(move |(outer, _)| *outer == server);
        inside.map(|(_, inner)| *inner).collect::<Vec<_>>()
    };
    let outwards = |server: usize| {
        let around = mounted.iter().filter(move |(_, inner)| *inner == server);
        around.map(|(outer, _)| *outer).collect::<Vec<_>>()
    };
    let (below, above) = (levels(inner, inwards), levels(outer, outwards));
    if below.iter().flatten().any(|server| *server == outer) {
        return Err("this server already contains the other one: mounting would form a cycle".to_owned());
    }
    if below.len() + above.len() > MAX_DEPTH {
        return Err(format!("there are more than {MAX_DEPTH} servers, each mounted in the next"));
    }
    mounted.push((outer, inner));
    Ok(())
}

/// The first server, then those one step away, two steps, and so on. There are no cycles.
fn levels(first: usize, next: impl Fn(usize) -> Vec<usize>) -> Vec<Vec<usize>> {
    let mut levels = vec![vec![first]];
    while let Some(last) = levels.last() {
        let mut further: Vec<usize> = last.iter().flat_map(|server| next(*server)).collect();
        further.sort_unstable();
        further.dedup();
        if further.is_empty() {
            break;
        }
        levels.push(further);
    }
    levels
}

/// Passes changes of the inner server to the clients of the outer one.
struct Relay {
    outer: Weak<ServerState>,
    prefix: String,
}

impl ChangeListener for Relay {
    fn notify(self: Arc<Self>, changes: &PendingNotifications) {
        let Some(outer) = self.outer.upgrade() else { return };
        let resources = changes.resources.iter().map(|uri| names::public_uri(&self.prefix, uri)).collect();
        outer.listeners().notify(&PendingNotifications { lists: changes.lists, resources });
    }

    fn elicitation_complete(&self, id: &str) -> bool {
        self.outer.upgrade().is_some_and(|outer| outer.listeners().elicitation_complete(id))
    }

    fn retain_unwanted(&self, uris: &mut HashSet<String>) {
        let Some(outer) = self.outer.upgrade() else { return };
        let mut public = uris.iter().map(|uri| names::public_uri(&self.prefix, uri)).collect();
        outer.listeners().retain_unwanted(&mut public);
        uris.retain(|uri| public.contains(&names::public_uri(&self.prefix, uri)));
    }

    /// Tasks of a mounted tool belong to the server that was called.
    fn task_changed(&self, _: &TaskChange<'_>) {}
}
