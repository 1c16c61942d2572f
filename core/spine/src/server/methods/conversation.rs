//! Requests about the conversation itself: `server/discover` and `logging/setLevel`.

use crate::{
    protocol::{RawJson, RpcError, model::LoggingLevel},
    server::{
        registry::RemoteDescription,
        request::{ActiveRequest, Routed},
    },
};
use serde::Deserialize;
use serde_json::Value;
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

/// `logging/setLevel` (LOG-03).
pub(super) fn set_level(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    #[derive(Deserialize, Default)]
    struct SetLevelParams {
        level: Option<Value>,
    }
    context.check_session()?;
    let given: SetLevelParams = params.and_then(|params| params.parse().ok()).unwrap_or_default();
    let level = given.level.unwrap_or_default();
    let Some(level) = level.as_str().and_then(LoggingLevel::parse) else {
        let levels: Vec<_> = LoggingLevel::ALL.iter().map(|level| level.as_str()).collect();
        return Err(RpcError::invalid_params(format!("Unknown log level: {level}; use one of {}", levels.join(", "))));
    };
    context.connection.set_log_level(level);
    Ok(Routed::Answer(RawJson::empty_object()))
}
