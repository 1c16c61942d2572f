//! How a group reaches its servers.

use crate::client::{Client, ClientId, Connector};
use std::sync::Arc;

/// How a group reaches a server.
#[derive(Clone)]
#[non_exhaustive]
pub enum ServerPlace {
    /// Through a connector; the group opens the connection.
    Connector(Arc<dyn Connector>),
    /// Through an existing client, which the group shares. It keeps its own handlers and options,
    /// and the group does not close it.
    Client(Client),
}

impl ServerPlace {
    /// The connector of the server.
    pub(super) fn connector(&self) -> &Arc<dyn Connector> {
        match self {
            Self::Connector(connector) => connector,
            Self::Client(shared) => shared.connector(),
        }
    }

    /// Returns whether requests to the server eventually reach this client.
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
