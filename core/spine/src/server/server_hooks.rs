//! Server hooks, which are set before the server is built.

use super::{
    handlers::{CallInfo, ToolError},
    lifespan::{LifespanFunctions, ServerLifespan},
};
use crate::protocol::RawJson;
use std::sync::Arc;

/// A function that receives handler failures, each with its call and the input of the call.
pub(super) type ErrorHook = Box<dyn Fn(&ToolError, &CallInfo, &RawJson) + Send + Sync>;

/// The hooks of a server.
#[derive(Clone, Default)]
pub(crate) struct ServerHooks {
    pub(super) lifespan: Arc<ServerLifespan>,
    on_error: Option<Arc<[ErrorHook]>>,
}

impl ServerHooks {
    pub(super) fn new(lifespan: Option<LifespanFunctions>, on_error: Vec<ErrorHook>) -> Self {
        let on_error = (!on_error.is_empty()).then(|| on_error.into());
        Self { lifespan: Arc::new(ServerLifespan::new(lifespan)), on_error }
    }

    /// Returns the functions that receive handler failures; `None` if there are none.
    pub(super) fn on_error(&self) -> Option<&[ErrorHook]> {
        self.on_error.as_deref()
    }
}
