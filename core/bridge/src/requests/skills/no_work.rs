//! Stubs for builds without the cargo feature `skills`.

use crate::{
    BridgeError, PortState,
    message::{RegisterSkill, Request},
};
use std::sync::Arc;
use trunkline::{client::Client, server::Server};

/// Fails, because skills are not available.
pub(crate) fn add(_: &Server, _: RegisterSkill) -> Result<u64, BridgeError> {
    Err(missing())
}

/// Fails, because skills are not available.
pub(crate) fn ask(_: &Arc<PortState>, _: &Client, _: u64, _: &Request) -> Result<(), BridgeError> {
    Err(missing())
}

fn missing() -> BridgeError {
    BridgeError::without("skills")
}
