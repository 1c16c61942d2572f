//! Server hooks, which are set before the server is built.

use super::{
    handlers::{CallInfo, ToolError},
    lifespan::{LifespanFunctions, ServerLifespan},
};
use crate::protocol::RawJson;
use std::sync::Arc;

/// A function that receives handler failures, each with its call and the input of the call.
type ErrorHook = Box<dyn Fn(&ToolError, &CallInfo, &RawJson) + Send + Sync>;

/// The hooks collected while a server is being built.
#[derive(Default)]
pub(super) struct HooksDraft {
    pub(super) lifespan: Option<LifespanFunctions>,
    pub(super) on_error: Vec<ErrorHook>,
}

/// The hooks of a server.
#[derive(Clone, Default)]
pub(crate) struct ServerHooks {
    pub(super) lifespan: Arc<ServerLifespan>,
    on_error: Option<Arc<[ErrorHook]>>,
}

impl ServerHooks {
    pub(super) fn new(draft: HooksDraft) -> Self {
        let HooksDraft { lifespan, on_error } = draft;
        let on_error = (!on_error.is_empty()).then(|| on_error.into());
        Self { lifespan: Arc::new(ServerLifespan::new(lifespan)), on_error }
    }

    /// Returns the functions that receive handler failures; `None` if there are none.
    pub(super) fn on_error(&self) -> Option<&[ErrorHook]> {
        self.on_error.as_deref()
    }
}
