//! The places of the servers of a group.

use crate::client::{Client, ClientId, Connector};
use std::sync::Arc;

/// The place of a server of a group.
#[derive(Clone)]
#[non_exhaustive]
pub enum ServerPlace {
    /// The way to a server; the group makes the connection.
    Connector(Arc<dyn Connector>),
    /// A client of the program's, which the group shares. It keeps its own handlers and options,
    /// and the group does not close it.
    Client(Client),
}

impl ServerPlace {
    /// The way to the server.
    pub(super) fn connector(&self) -> &Arc<dyn Connector> {
        match self {
            Self::Connector(connector) => connector,
            Self::Client(shared) => shared.connector(),
        }
    }

    /// Returns whether requests to the server come to that client.
    pub(super) fn leads_to(&self, client: ClientId) -> bool {
        match self {
            Self::Connector(connector) => connector.leads_to(client),
            Self::Client(shared) => shared.leads_to(client),
        }
    }
}

impl From<Arc<dyn Connector>> for ServerPlace {
    fn from(connector: Arc<dyn Connector>) -> Self {
        Self::Connector(connector)
    }
}

impl<C: Connector> From<Arc<C>> for ServerPlace {
    fn from(connector: Arc<C>) -> Self {
        Self::Connector(connector)
    }
}

impl From<&Client> for ServerPlace {
    fn from(client: &Client) -> Self {
        Self::Client(client.clone())
    }
}
