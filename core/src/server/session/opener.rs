//! Conversations that a server begins with itself.

use super::{
    connection::{Connection, ConversationStart, Dispatch, Origin},
    outbound::Outbound,
    server_state::ServerState,
};
use crate::{runtime::Runtime, wire_log::Transport};
use std::sync::{Arc, Weak};

/// Begins conversations with a server from within, for as long as there is one.
pub(in crate::server) struct ConversationOpener {
    server: Weak<ServerState>,
    dispatch: Weak<dyn Dispatch>,
    runtime: Arc<dyn Runtime>,
    origin: Origin,
}

impl ConversationOpener {
    /// Opens conversations of the server of this one, whose tasks end with those of this one.
    pub(in crate::server) fn of(connection: &Connection) -> Self {
        Self {
            server: Arc::downgrade(connection.server()),
            dispatch: Arc::downgrade(connection.dispatch()),
            runtime: Arc::clone(connection.runtime()),
            origin: connection.tasks_end_with().map_or(Origin::Server, Origin::Listener),
        }
    }

    /// Begins a conversation. `None`: the server is gone.
    pub(in crate::server) fn open(&self, unrelated: &Arc<dyn Outbound>) -> Option<Arc<Connection>> {
        let (server, dispatch) = (self.server.upgrade()?, self.dispatch.upgrade()?);
        let (runtime, unrelated) = (Arc::clone(&self.runtime), Arc::clone(unrelated));
        let (transport, opening) = (Transport::Memory, ConversationStart::Session);
        Some(Connection::new(server, dispatch, runtime, transport, unrelated, opening, self.origin))
    }
}
