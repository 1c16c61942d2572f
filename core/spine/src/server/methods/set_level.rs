//! `logging/setLevel`.

use crate::{
    protocol::{RawJson, RpcError, model::LoggingLevel},
    server::request::{ActiveRequest, Routed},
};
use serde::Deserialize;
use serde_json::Value;

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
