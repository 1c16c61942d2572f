//! The servers that a group can contain.

use crate::client::{Client, ClientId, Connector};
use std::sync::Arc;

/// A server of a group.
#[derive(Clone)]
#[non_exhaustive]
pub enum GroupTarget {
    /// A connector, through which the group opens the connection.
    Connector(Arc<dyn Connector>),
    /// An existing client, which the group shares. It keeps its own handlers and options, and the
    /// group does not close it.
    Client(Client),
}

impl GroupTarget {
    /// The client that the group shares, if the target is one.
    #[doc(hidden)]
    pub fn shared(&self) -> Option<&Client> {
        match self {
            Self::Client(client) => Some(client),
            Self::Connector(_) => None,
        }
    }

    /// The connector of the server.
    #[doc(hidden)]
    pub fn connector(&self) -> &Arc<dyn Connector> {
        match self {
            Self::Connector(connector) => connector,
            Self::Client(shared) => shared.connector(),
        }
    }

    /// Returns whether requests to the server eventually reach this client.
    #[doc(hidden)]
    pub fn leads_to(&self, client: ClientId) -> bool {
        match self {
            Self::Connector(connector) => connector.leads_to(client),
            Self::Client(shared) => shared.leads_to(client),
        }
    }
}

impl From<Arc<dyn Connector>> for GroupTarget {
    fn from(connector: Arc<dyn Connector>) -> Self {
        Self::Connector(connector)
    }
}

impl<C: Connector> From<Arc<C>> for GroupTarget {
    fn from(connector: Arc<C>) -> Self {
        Self::Connector(connector)
    }
}

impl From<&Client> for GroupTarget {
    fn from(client: &Client) -> Self {
        Self::Client(client.clone())
    }
}
