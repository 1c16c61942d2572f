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
    _guard: Box<dyn Any + Send + Sync>,
}

impl LocalMount {
    /// Keeps `guard` alive while the server is mounted.
    ///
    /// # Errors
    /// If the inner server is already mounted there, or if this would create a cycle.
    pub(in crate::server) fn new(
        outer: &Arc<ServerState>,
        inner: &Arc<ServerState>,
        prefix: &str,
        guard: Box<dyn Any + Send + Sync>,
    ) -> Result<Self, RegisterError> {
        enter(identity(outer), identity(inner)).map_err(|problem| RegisterError(format!("mount: {problem}")))?;
        let relay = Arc::new(Relay { outer: Arc::downgrade(outer), prefix: prefix.to_owned() });
        let number = inner.next_number();
        let listener: Weak<dyn ChangeListener> = Arc::<Relay>::downgrade(&relay);
        inner.listeners.insert(number, listener);
        Ok(Self { inner: Arc::clone(inner), outer: identity(outer), number, _relay: relay, _guard: guard })
    }
}

impl LocalServer for LocalMount {
    fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.snapshot()
    }
}

impl Drop for LocalMount {
    fn drop(&mut self) {
        self.inner.listeners.remove(self.number);
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
    let outwards: Vec<_> = mounted.iter().map(|(outer, inner)| (*inner, *outer)).collect();
    let (below, above) = (levels(inner, &mounted), levels(outer, &outwards));
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
fn levels(first: usize, steps: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut levels = vec![vec![first]];
    while let Some(last) = levels.last() {
        let next = steps.iter().filter(|(from, _)| last.contains(from)).map(|(_, to)| *to);
        let mut further: Vec<usize> = next.collect();
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
        outer.listeners.notify(&PendingNotifications { lists: changes.lists, resources });
    }

    fn elicitation_complete(&self, id: &str) -> bool {
        self.outer.upgrade().is_some_and(|outer| outer.listeners.elicitation_complete(id))
    }

    fn retain_unwanted(&self, uris: &mut HashSet<String>) {
        let Some(outer) = self.outer.upgrade() else { return };
        let mut public = uris.iter().map(|uri| names::public_uri(&self.prefix, uri)).collect();
        outer.listeners.retain_unwanted(&mut public);
        uris.retain(|uri| public.contains(&names::public_uri(&self.prefix, uri)));
    }

    /// Tasks of a mounted tool belong to the server that was called.
    fn task_changed(&self, _: &TaskChange<'_>) {}
}
