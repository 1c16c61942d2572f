//! Logging out of a server: an operation of clients that is no protocol method.

use crate::{BridgeError, PortState, message::Request, requests::replies::answer_by_task};
use std::sync::Arc;
use trunkline::{
    client::Client,
    protocol::{
        RawJson,
        method::Sender,
        operation::{Operation, OperationParams},
    },
};

pub(crate) const LOGOUT: &str = "logout";

/// The operation, for the declaration of the surface.
pub(crate) static OPERATION: Operation = Operation {
    name: LOGOUT,
    doc: &[
        " Logs out of the server: the tokens that OAuth obtained for it are forgotten, in the store of credentials as",
        " well, and so is the registration of the client if it registered itself. The tokens are then revoked if the",
        " authorization server supports that. The next request logs in again. The connection stays open. Credentials that",
        " the program supplies itself, such as a token, remain. A group logs out of all its servers.",
    ],
    caller: Sender::Client,
    method: LOGOUT,
    instead: None,
    params: OperationParams::Each(&[]),
    fixed: &[],
    result: None,
    item: None,
    progress: false,
};

pub(crate) fn ask(state: &Arc<PortState>, client: &Client, ticket: u64, given: &Request) -> Result<(), BridgeError> {
    let client = client.clone();
    answer_by_task(state, ticket, given, async move {
        client.logout().await?;
        Ok(RawJson::empty_object())
    })
}
