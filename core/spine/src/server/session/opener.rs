//! Conversations that a server opens with itself.

use super::{
    connection::{Connection, ConversationSetup, ConversationStart, Dispatch, Origin},
    outbound::Outbound,
    server_state::ServerState,
};
use crate::{runtime::Runtime, wire_log::Transport};
use std::sync::{Arc, Weak};

/// Opens conversations with a server from within, while the server exists.
pub(in crate::server) struct ConversationOpener {
    server: Weak<ServerState>,
    dispatch: Weak<dyn Dispatch>,
    runtime: Arc<dyn Runtime>,
    origin: Origin,
}

impl ConversationOpener {
    /// Opens conversations with the same server, whose tasks end with the same listener or
    /// conversation.
    pub(in crate::server) fn of(connection: &Connection) -> Self {
        Self {
            server: Arc::downgrade(connection.server()),
            dispatch: Arc::downgrade(&connection.dispatch),
            runtime: Arc::clone(connection.runtime()),
            origin: connection.tasks_end_with().map_or(Origin::Server, Origin::Listener),
        }
    }

    /// Opens a conversation. Returns `None` if the server no longer exists.
    pub(in crate::server) fn open(&self, unrelated: &Arc<dyn Outbound>) -> Option<Arc<Connection>> {
        let (server, dispatch) = (self.server.upgrade()?, self.dispatch.upgrade()?);
        let setup = ConversationSetup {
            runtime: Arc::clone(&self.runtime),
            transport: Transport::Memory,
            unrelated: Arc::clone(unrelated),
            origin: self.origin,
        };
        Some(Connection::new(server, dispatch, setup, ConversationStart::Session))
    }
}
