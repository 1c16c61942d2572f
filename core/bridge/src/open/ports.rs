//! All ports of the process by number: groups and mounts may use servers and connections of other
//! ports.

use crate::{
    BridgeError, ErrorKind, PortState,
    message::SharedConnection,
    state::{
        entries::Connection,
        tables::{self, HandleKind},
    },
};
use std::sync::{Arc, Weak};
use trunkline::{ProxyDefinition, bridge_support::Mutex, client::Client, server::Server};

static PORTS: Mutex<Vec<(u64, Weak<PortState>)>> = Mutex::new(Vec::new());

/// Registers a port while it exists.
pub(crate) fn enter(state: &Arc<PortState>) {
    let mut ports = PORTS.lock();
    ports.retain(|(_, port)| port.strong_count() > 0);
    ports.push((state.number, Arc::downgrade(state)));
}

/// The port with this number; `own` if there is no number.
fn find(own: &Arc<PortState>, number: Option<u64>) -> Result<Arc<PortState>, BridgeError> {
    let Some(number) = number.filter(|number| *number != own.number) else { return Ok(Arc::clone(own)) };
    let found = PORTS.lock().iter().find(|(port, _)| *port == number).and_then(|(_, port)| port.upgrade());
    let found =
        found.ok_or_else(|| BridgeError::new(ErrorKind::Closed, "The port of the connection or server is closed"))?;
    found.check()?;
    Ok(found)
}

/// The client of an existing connection.
pub(crate) fn client_of(own: &Arc<PortState>, given: &SharedConnection) -> Result<Client, BridgeError> {
    connection(own, given, |open| open.client.clone())
}

/// A proxy for the server behind an open connection, or for the servers of a group.
pub(crate) fn proxy_of(own: &Arc<PortState>, given: &SharedConnection) -> Result<ProxyDefinition, BridgeError> {
    connection(own, given, |open| match &open.group {
        Some(group) => ProxyDefinition::from_group(group),
        None => ProxyDefinition::new(&open.client),
    })
}

fn connection<T>(
    own: &Arc<PortState>,
    given: &SharedConnection,
    take: impl FnOnce(&Connection) -> T,
) -> Result<T, BridgeError> {
    let port = find(own, given.port)?;
    let tables = port.tables.lock();
    let open = tables.connections.get(given.connection).and_then(|connection| connection.get());
    open.map(take).ok_or_else(|| tables::ended(&[HandleKind::Connection], "an open connection", given.connection))
}

/// A server of this or another port.
pub(crate) fn server_of(own: &Arc<PortState>, handle: u64, port: Option<u64>) -> Result<Server, BridgeError> {
    find(own, port)?.server(handle)
}
