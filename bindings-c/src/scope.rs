//! The surroundings of a call: the data of the request that brought it, and the values of that
//! request.

use std::collections::BTreeMap;
use std::sync::Arc;

use trunkline::bridge_support::Mutex;

use crate::edge::user_data::UserData;

/// The surroundings of the calls that an exchange, a request in memory or `next` of a middleware
/// causes. Middleware shares them with the handlers behind it.
#[derive(Default)]
pub(crate) struct CallSurroundings {
    /// The data of the exchange or the request in memory that brought the call.
    origin: Option<Arc<UserData>>,
    vars: Mutex<BTreeMap<String, Arc<UserData>>>,
}

impl CallSurroundings {
    pub(crate) fn with_data(data: Arc<UserData>) -> Arc<Self> {
        Arc::new(Self { origin: Some(data), ..Self::default() })
    }

    pub(crate) fn origin(&self) -> Option<&UserData> {
        self.origin.as_deref()
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
