//! `server/discover`.

use crate::{
    protocol::{RawJson, RpcError},
    server::{
        registry::RemoteDescription,
        request::{ActiveRequest, Routed},
    },
};
use std::sync::Arc;

/// `server/discover` (DISC-01).
pub(super) fn discover(context: &ActiveRequest, _params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let details = context.connection.may_see_details();
    let Some(describing) = context.snapshot.describe_remote(details) else {
        return Ok(Routed::Answer(result(context, None)));
    };
    Ok(Routed::Deferred(Box::new(move |context, responder| {
        let (context, runtime) = (Arc::clone(context), Arc::clone(context.connection.runtime()));
        runtime.spawn(Box::pin(async move {
            let described = describing.await.map(|remote| result(&context, Some(&remote)));
            context.deliver(responder, described);
        }));
    })))
}

fn result(context: &ActiveRequest, remote: Option<&RemoteDescription>) -> RawJson {
    let revision = context.info.revision;
    let result = context.server().discover_result(&context.snapshot, revision, remote);
    context.results().seal_object(result, revision)
}
