//! An open connection: to one server, or to those of a group.

use std::sync::Arc;
use trunkline::{
    client::{Client, ClientError, ClientGroup, ClientHandlers},
    protocol::model::Root,
};

/// An open connection.
#[derive(Clone)]
pub(super) struct Connection {
    /// The client of the server, or that of the group.
    pub(super) client: Client,
    pub(super) group: Option<Arc<ClientGroup>>,
}

impl From<Client> for Connection {
    fn from(client: Client) -> Self {
        Self { client, group: None }
    }
}

impl From<ClientGroup> for Connection {
    fn from(group: ClientGroup) -> Self {
        Self { client: Client::clone(&group), group: Some(Arc::new(group)) }
    }
}

impl Connection {
    pub(super) fn set_handlers(&self, handlers: ClientHandlers) -> Result<(), ClientError> {
        match &self.group {
            Some(group) => group.set_handlers(handlers),
            None => self.client.set_handlers(handlers),
        }
    }

    pub(super) fn set_roots(&self, roots: Vec<Root>) -> Result<(), ClientError> {
        match &self.group {
            Some(group) => group.set_roots(roots),
            None => self.client.set_roots(roots),
        }
    }
}
