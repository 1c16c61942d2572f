//! Requests of servers that a client answers.

use std::collections::BTreeMap;

use trunkline_bridge::message::Handlers;

use crate::calls::{Registered, trunkline_call_callback};
use crate::edge::prelude::*;

/// The handlers of a client, by operation.
#[derive(Clone, Default)]
pub(crate) struct ServerRequestHandlers(BTreeMap<&'static str, Arc<Registered>>);

impl ServerRequestHandlers {
    pub(crate) fn put(&mut self, operation: &'static str, callback: Callback<trunkline_call_callback>) {
        self.0.insert(operation, Arc::new(Registered { server: 0, callback: Some(callback) }));
    }

    pub(crate) fn get(&self, operation: &str) -> Option<Arc<Registered>> {
        self.0.get(operation).cloned()
    }

    /// The handler of one operation alone.
    pub(crate) fn only(&self, operation: &'static str) -> Option<Self> {
        self.get(operation).map(|handler| Self(BTreeMap::from([(operation, handler)])))
    }

    /// The operations, each for the loop of its port.
    pub(crate) fn lanes(&self) -> Handlers {
        self.0.keys().map(|operation| ((*operation).to_owned(), Default::default())).collect()
    }
}
