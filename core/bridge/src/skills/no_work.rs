//! The same functions in a library without the cargo feature `skills`.

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

/// Fails: there are no skills.
pub(crate) fn addition(_: RegisterSkill) -> Result<fn(&Server) -> Result<u64, RegisterError>, BridgeError> {
    Err(missing())
}

/// Fails: there are no skills.
pub(crate) fn ask(_: &Arc<PortState>, _: &Client, _: u64, _: &Request) -> Result<(), BridgeError> {
    Err(missing())
}

fn missing() -> BridgeError {
    BridgeError::invalid("skills: this library is built without the cargo feature `skills`")
}
