//! The current load of servers: open sessions, running and queued calls.

use crate::sync::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// The current load of a server.
#[derive(Debug, Default)]
pub struct ServerLoad {
    sessions: AtomicU64,
    running_calls: AtomicU64,
    waiting_calls: AtomicU64,
    store_errors: Arc<AtomicU64>,
}

impl ServerLoad {
    /// Number of sessions in this process; only up to revision 2025-11-25.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Number of running calls, without streams of changes.
    pub fn running_calls(&self) -> u64 {
        self.running_calls.load(Ordering::Relaxed)
    }

    /// Number of queued calls.
    pub fn waiting_calls(&self) -> u64 {
        self.waiting_calls.load(Ordering::Relaxed)
    }

    /// Number of failed store calls so far, including those that failed fast.
    pub fn store_errors(&self) -> u64 {
        self.store_errors.load(Ordering::Relaxed)
    }

    /// Counts a session.
    pub(crate) fn session(self: &Arc<Self>) -> LoadShare {
        LoadShare::new(self, |load| &load.sessions)
    }

    /// Counts a running call.
    pub(crate) fn running_call(self: &Arc<Self>) -> LoadShare {
        LoadShare::new(self, |load| &load.running_calls)
    }

    /// Counts a queued call.
    pub(crate) fn waiting_call(self: &Arc<Self>) -> LoadShare {
        LoadShare::new(self, |load| &load.waiting_calls)
    }

    /// The error counter, for the store.
    pub(crate) fn errors_of_store(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.store_errors)
    }
}

/// One session or call in a load, until it is dropped.
pub(crate) struct LoadShare {
    load: Arc<ServerLoad>,
    of: fn(&ServerLoad) -> &AtomicU64,
}

impl LoadShare {
    fn new(load: &Arc<ServerLoad>, of: fn(&ServerLoad) -> &AtomicU64) -> Self {
        of(load).fetch_add(1, Ordering::Relaxed);
        Self { load: Arc::clone(load), of }
    }
}

impl Drop for LoadShare {
    fn drop(&mut self) {
        (self.of)(&self.load).fetch_sub(1, Ordering::Relaxed);
    }
}

/// The total load of the servers that report to one receiver.
#[derive(Debug, Default)]
pub struct ServerLoads(Mutex<Loads>);

#[derive(Debug, Default)]
struct Loads {
    servers: Vec<Arc<ServerLoad>>,
    /// Errors of servers that no longer exist, because a counter must never decrease.
    past_errors: u64,
}

impl ServerLoads {
    /// Adds a server, until it is dropped.
    pub fn add(&self, load: Arc<ServerLoad>) {
        let mut loads = self.0.lock();
        loads.remove_unused();
        loads.servers.push(load);
    }

    /// Returns whether no server has ever been added.
    pub fn is_empty(&self) -> bool {
        let loads = self.0.lock();
        loads.servers.is_empty() && loads.past_errors == 0
    }

    /// The current measurements of all servers.
    pub fn measurements(&self) -> [LoadMeasurement; 4] {
        let mut loads = self.0.lock();
        loads.remove_unused();
        let sum = |of: fn(&ServerLoad) -> u64| loads.servers.iter().map(|load| of(load)).sum::<u64>();
        let gauge =
            |name, description, unit, value| LoadMeasurement { name, description, unit, is_monotonic: false, value };
        [
            gauge(
                "trunkline.server.sessions",
                "Open sessions, up to revision 2025-11-25.",
                "{session}",
                sum(ServerLoad::sessions),
            ),
            gauge("trunkline.server.running_calls", "Running calls.", "{call}", sum(ServerLoad::running_calls)),
            gauge(
                "trunkline.server.waiting_calls",
                "Calls queued until fewer are running.",
                "{call}",
                sum(ServerLoad::waiting_calls),
            ),
            LoadMeasurement {
                name: "trunkline.server.store_errors",
                description: "Failed store calls.",
                unit: "{error}",
                is_monotonic: true,
                value: loads.past_errors + sum(ServerLoad::store_errors),
            },
        ]
    }
}

impl Loads {
    fn remove_unused(&mut self) {
        let past_errors = &mut self.past_errors;
        self.servers.retain(|load| {
            let is_unused = Arc::strong_count(load) == 1;
            if is_unused {
                *past_errors += load.store_errors();
            }
            !is_unused
        });
    }
}

/// A measurement of the servers that report to one receiver. The semantic conventions define none
/// of these, so the names are our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadMeasurement {
    /// The name of the instrument.
    pub name: &'static str,
    /// Its description.
    pub description: &'static str,
    /// Its unit, in UCUM.
    pub unit: &'static str,
    /// `true` for a counter, `false` for an up-down counter.
    pub is_monotonic: bool,
    /// The value.
    pub value: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_added_up_and_errors_outlive_their_server() {
        let loads = ServerLoads::default();
        let values = || loads.measurements().map(|measurement| measurement.value);
        assert!(loads.is_empty());
        let [one, other] = [(); 2].map(|()| Arc::new(ServerLoad::default()));
        loads.add(Arc::clone(&one));
        loads.add(Arc::clone(&other));
        let counted = [one.session(), one.running_call(), other.running_call(), other.waiting_call()];
        other.errors_of_store().fetch_add(3, Ordering::Relaxed);
        assert_eq!(values(), [1, 2, 1, 3]);
        drop(counted);
        assert_eq!(values(), [0, 0, 0, 3]);
        drop(other);
        assert_eq!(values(), [0, 0, 0, 3]);
        assert!(!loads.is_empty());
    }
}
