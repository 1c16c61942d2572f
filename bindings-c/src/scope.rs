//! The context of a call: the data of the request that caused it, and the values stored for that
//! request. Kept until the request can cause no more calls.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::sync::Arc;

use trunkline::bridge_support::Mutex;

use crate::edge::user_data::UserData;

/// The context of the calls caused by an exchange, an in-memory request or a middleware's `next`.
/// Middleware shares it with the handlers that it wraps.
#[derive(Default)]
pub(crate) struct CallScope {
    /// The data of the exchange or in-memory request that caused the call.
    origin: Mutex<Option<Arc<UserData>>>,
    vars: Mutex<BTreeMap<String, Arc<UserData>>>,
}

impl CallScope {
    pub(crate) fn with_data(data: Arc<UserData>) -> Arc<Self> {
        Arc::new(Self { origin: Mutex::new(Some(data)), ..Self::default() })
    }

    pub(crate) fn origin(&self) -> Option<*mut c_void> {
        self.origin.lock().as_ref().map(|data| data.pointer())
    }

    /// Records that the exchange or request has ended. Calls of tasks may continue; if the data has
    /// no destructor, the host can't know for how long they use it.
    pub(crate) fn end_origin(&self) {
        let mut origin = self.origin.lock();
        if origin.as_ref().is_some_and(|data| !data.has_destructor()) {
            *origin = None;
        }
    }

    /// Sets or removes a value. The previous value is dropped without a lock held.
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

/// Call contexts by the ticket of their exchange or request, each with its owner.
#[derive(Default)]
pub(crate) struct Causes(HashMap<u64, (u64, Arc<CallScope>)>);

impl Causes {
    pub(crate) fn insert(&mut self, ticket: u64, owner: u64, scope: Arc<CallScope>) {
        self.0.insert(ticket, (owner, scope));
    }

    pub(crate) fn get(&self, ticket: u64) -> Option<Arc<CallScope>> {
        self.0.get(&ticket).map(|(_, scope)| scope.clone())
    }

    /// Removes one, to be dropped without a lock held.
    pub(crate) fn remove(&mut self, ticket: u64) -> Option<Arc<CallScope>> {
        self.0.remove(&ticket).map(|(_, scope)| scope)
    }

    /// Removes those of an owner, to be dropped without a lock held.
    pub(crate) fn remove_all_of(&mut self, owner: u64) -> Vec<Arc<CallScope>> {
        self.0.extract_if(|_, (of, _)| *of == owner).map(|(_, (_, scope))| scope).collect()
    }
}
