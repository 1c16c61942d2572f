//! The context of a call: the data of the request that brought it, and the values of that
//! request. They are kept until nothing comes of the request any more.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::sync::Arc;

use trunkline::bridge_support::Mutex;

use crate::edge::user_data::UserData;

/// The context of the calls that an exchange, a request in memory or `next` of a middleware
/// causes. Middleware shares them with the handlers behind it.
#[derive(Default)]
pub(crate) struct CallSurroundings {
    /// The data of the exchange or the request in memory that brought the call.
    origin: Mutex<Option<Arc<UserData>>>,
    vars: Mutex<BTreeMap<String, Arc<UserData>>>,
}

impl CallSurroundings {
    pub(crate) fn with_data(data: Arc<UserData>) -> Arc<Self> {
        Arc::new(Self { origin: Mutex::new(Some(data)), ..Self::default() })
    }

    pub(crate) fn origin(&self) -> Option<*mut c_void> {
        self.origin.lock().as_ref().map(|data| data.pointer())
    }

    /// Notes that the exchange or the request is over. Calls of tasks may go on: without a
    /// destructor, the host cannot know for how long they use its data.
    pub(crate) fn end_origin(&self) {
        let mut origin = self.origin.lock();
        if origin.as_ref().is_some_and(|data| !data.has_destructor()) {
            *origin = None;
        }
    }

    /// Sets a value, or takes it away. The value before is dropped with no lock held.
    pub(crate) fn set_var(&self, name: &str, value: Option<UserData>) {
        let before = match value {
            Some(value) => self.vars.lock().insert(name.to_owned(), Arc::new(value)),
            None => self.vars.lock().remove(name),
        };
        drop(before);
    }

    pub(crate) fn var(&self, name: &str) -> Option<Arc<UserData>> {
        self.vars.lock().get(name).cloned()
    }
}

/// Call contexts by the tickets of exchanges and requests, with the owner of each.
#[derive(Default)]
pub(crate) struct Causes(HashMap<u64, (u64, Arc<CallSurroundings>)>);

impl Causes {
    pub(crate) fn insert(&mut self, ticket: u64, owner: u64, surroundings: Arc<CallSurroundings>) {
        self.0.insert(ticket, (owner, surroundings));
    }

    pub(crate) fn get(&self, ticket: u64) -> Option<Arc<CallSurroundings>> {
        self.0.get(&ticket).map(|(_, surroundings)| surroundings.clone())
    }

    /// Takes one away, to be dropped with no lock held.
    pub(crate) fn remove(&mut self, ticket: u64) -> Option<Arc<CallSurroundings>> {
        self.0.remove(&ticket).map(|(_, surroundings)| surroundings)
    }

    /// Takes those of an owner away, to be dropped with no lock held.
    pub(crate) fn remove_all_of(&mut self, owner: u64) -> Vec<Arc<CallSurroundings>> {
        self.0.extract_if(|_, (of, _)| *of == owner).map(|(_, (_, surroundings))| surroundings).collect()
    }
}
