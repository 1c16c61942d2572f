//! `server/discover`.

use crate::{
    protocol::{RawJson, RpcError},
    server::request::{ActiveRequest, Routed},
};

/// `server/discover` (DISC-01).
pub(super) fn discover(context: &ActiveRequest, _params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let revision = context.info.revision;
    let result = context.server().discover_result(&context.snapshot, revision);
    Ok(Routed::Answer(context.results().seal_object(result, revision)))
}
