//! Open connections: to a server, or to a group.

use std::{collections::BTreeSet, sync::Arc};
use trunkline::{
    client::{Client, ClientError, ClientGroup, ClientHandlers},
    protocol::model::Root,
};

/// An open connection.
#[derive(Clone)]
pub(crate) struct Connection {
    /// The client of the server or group.
    pub(crate) client: Client,
    pub(crate) group: Option<Arc<ClientGroup>>,
    /// The names of its authorization and transport functions.
    pub(crate) functions: Arc<BTreeSet<String>>,
}

impl Connection {
    pub(crate) fn set_handlers(&self, handlers: ClientHandlers) -> Result<(), ClientError> {
        match &self.group {
            Some(group) => group.set_handlers(handlers),
            None => self.client.set_handlers(handlers),
        }
    }

    #[expect(deprecated, reason = "older revisions have it")]
    pub(crate) fn set_roots(&self, roots: Vec<Root>) -> Result<(), ClientError> {
        match &self.group {
            Some(group) => group.set_roots(roots),
            None => self.client.set_roots(roots),
        }
    }
}
