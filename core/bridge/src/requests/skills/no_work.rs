//! Stubs for builds without the cargo feature `skills`.

use crate::{
    error::BridgeError,
    message::{RegisterSkill, Request},
    state::PortState,
};
use std::sync::Arc;
use trunkline::{
    client::Client,
    server::{RegisterError, Server},
};

/// Fails, because skills are not available.
pub(crate) fn addition(_: RegisterSkill) -> Result<fn(&Server) -> Result<u64, RegisterError>, BridgeError> {
    Err(missing())
}

/// Fails, because skills are not available.
pub(crate) fn ask(_: &Arc<PortState>, _: &Client, _: u64, _: &Request) -> Result<(), BridgeError> {
    Err(missing())
}

fn missing() -> BridgeError {
    BridgeError::invalid("skills: this library is built without the cargo feature `skills`")
}
