//! Log messages to clients: which of them a client wants, and on which stream they go.

use super::serving::{Prepared, Serving};
use crate::protocol::{Feature, RawJson, RpcError, method, model::LoggingLevel};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU8, Ordering};

/// The least severe level that a session wants (LOG-02).
pub(super) struct SessionLevel(AtomicU8);

impl Default for SessionLevel {
    /// Until a client says what it wants, it gets what it would see on a terminal.
    fn default() -> Self {
        Self(AtomicU8::new(LoggingLevel::Info as u8))
    }
}

/// `logging/setLevel` (LOG-03).
pub(super) fn set_level(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    #[derive(Deserialize, Default)]
    struct SetLevelParams {
        level: Option<Value>,
    }
    serving.check_session()?;
    let given: SetLevelParams = params.and_then(|params| params.parse().ok()).unwrap_or_default();
    let level = given.level.unwrap_or_default();
    let Some(level) = level.as_str().and_then(LoggingLevel::parse) else {
        let levels: Vec<_> = LoggingLevel::ALL.iter().map(|level| level.as_str()).collect();
        return Err(RpcError::invalid_params(format!("Unknown log level: {level}; there are {}", levels.join(", "))));
    };
    serving.connection.log_level().0.store(level as u8, Ordering::Release);
    Ok(Prepared::Answer(RawJson::empty_object()))
}

impl Serving {
    /// Sends a log message on this request's own stream (LOG-05), unless the client wants less or reads too slowly (LOG-08).
    pub(super) fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &Value) {
        let wanted = if self.scope.revision.supports(Feature::LogLevelPerRequest) {
            // LOG-04: only who asks gets any.
            self.scope.log_level.is_some_and(|least| level >= least)
        } else {
            level as u8 >= self.connection.log_level().0.load(Ordering::Acquire)
        };
        // LOG-01: without a session it is not declared.
        let wanted = wanted && !self.connection.is_stateless();
        if !wanted || self.reply.is_congested() || !self.is_wanted() {
            return;
        }
        let mut params = json!({"level": level.as_str(), "data": data});
        if let Some(logger) = logger {
            params["logger"] = logger.into();
        }
        self.notify(method::LOG_MESSAGE, params);
    }
}
