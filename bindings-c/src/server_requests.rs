//! Requests of servers that a client answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline_bridge::message::Handlers;

use crate::calls::{CallCallback, Registered};

/// The handlers of a client, by operation.
#[derive(Clone, Default)]
pub(crate) struct ServerRequestHandlers(BTreeMap<&'static str, Arc<Registered>>);

impl ServerRequestHandlers {
    pub(crate) fn put(&mut self, operation: &'static str, callback: CallCallback) {
        self.0.insert(operation, Arc::new(Registered { server: 0, callback: Some(callback) }));
    }

    pub(crate) fn get(&self, operation: &str) -> Option<Arc<Registered>> {
        self.0.get(operation).cloned()
    }

    /// The operations, in the form that opens a connection.
    pub(crate) fn as_given(&self) -> Map<String, Value> {
        self.0.keys().map(|operation| ((*operation).to_owned(), "queue".into())).collect()
    }

    pub(crate) fn lanes(&self) -> Handlers {
        self.0.keys().map(|operation| ((*operation).to_owned(), Default::default())).collect()
    }
}
