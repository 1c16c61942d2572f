//! Result mappers: the handler of a request, and the mapping of its outcome to a result.

use super::active_request::{ActiveRequest, Routed};
use crate::{
    protocol::{RawJson, RpcError},
    server::handlers::{Handler, Outcome},
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// A follow-up step.
pub(in crate::server) type NextStep = Result<Routed, RpcError>;

/// Maps the outcome of one handler to a result.
pub(in crate::server) trait ResultMapper: Send + Sync + 'static {
    /// The handler that the request runs.
    fn target(&self) -> Target<'_>;
    /// Converts an outcome to a result of the request's revision.
    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError>;
    /// Returns whether rendering may take long enough to delay other requests.
    fn is_costly(&self, _outcome: &Outcome) -> bool {
        false
    }
    /// The step that follows this outcome with the same input, if it is not the result: the next
    /// provider, or the tool whose arguments were accepted.
    fn next(&self, _context: &ActiveRequest, _input: &RawJson, _outcome: &Outcome) -> Option<NextStep> {
        None
    }
    /// Returns whether its task restarts when its process dies.
    fn restarts_task(&self) -> bool {
        false
    }
    /// Returns whether the handler may send client requests.
    fn may_ask(&self) -> bool {
        true
    }
    /// The position in the middleware chain, if the handler is middleware.
    fn link(&self) -> Option<&MiddlewareLink> {
        None
    }
}

/// The handler that a request runs.
pub(in crate::server) struct Target<'a> {
    pub(in crate::server) handler: &'a Arc<dyn Handler>,
    /// The name or URI of the feature; `None` if the handler serves a method as a whole.
    pub(in crate::server) name: Option<&'a str>,
    /// Maximum time of one run of the handler.
    pub(in crate::server) timeout: Option<Duration>,
}

/// The position of a middleware in the chain of one request.
pub(in crate::server) struct MiddlewareLink {
    pub(super) position: usize,
    /// The parameters that the previous middleware passed on.
    pub(super) params: Option<RawJson>,
    /// The name of the called tool or prompt, or the URI of the read resource; read on demand.
    pub(super) name: OnceLock<Option<String>>,
}
