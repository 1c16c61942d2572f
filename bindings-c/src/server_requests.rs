//! Requests of servers that a client answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline_bridge::message::{Handlers, Notification, NotifyConnection};

use crate::calls::{CallCallback, Registered};
use crate::client::Connection;
use crate::edge::failure::Failure;

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

    /// The operations, as a connection is opened with them.
    pub(crate) fn as_given(&self) -> Map<String, Value> {
        self.0.keys().map(|operation| ((*operation).to_owned(), "queue".into())).collect()
    }

    fn lanes(&self) -> Handlers {
        self.0.keys().map(|operation| ((*operation).to_owned(), Default::default())).collect()
    }
}

impl Connection {
    /// Registers a handler of a client that is connected.
    pub(crate) fn answer(&self, operation: &'static str, callback: CallCallback) -> Result<(), Failure> {
        let mut handlers = self.open.handlers.lock().clone();
        handlers.put(operation, callback);
        // First: a request may come at once.
        let before = std::mem::replace(&mut *self.open.handlers.lock(), handlers.clone());
        let note = NotifyConnection { handlers: Some(handlers.lanes()), ..NotifyConnection::default() };
        let noted = self.note(note);
        if noted.is_err() {
            // The host's destructors run with no lock held.
            let refused = std::mem::replace(&mut *self.open.handlers.lock(), before);
            drop(refused);
        }
        noted
    }

    /// Sends a notification to the server, or a note about the connection.
    pub(crate) fn note(&self, note: NotifyConnection) -> Result<(), Failure> {
        Ok(self.port.core.notify_message(self.handle, Notification::Connection(note))?)
    }
}
