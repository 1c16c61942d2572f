//! The state of an endpoint.

use super::{
    super::closing::Closing,
    access_control::{AccessControl, Caller},
    access_log::RefusalLog,
    admission::Admission,
    forwarded::{TrustedProxy, client_of},
    health::Readiness,
    history::ReplayBudget,
    large_messages::LargeMessages,
    rate::RateLimit,
    session_table::SessionTable,
    workers::Workers,
};
use crate::{
    http::{guard::Guard, routes::Routes},
    runtime::Runtime,
    server::{HttpRequest, LifespanUse, Outbound, Server},
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The state shared by all requests of an endpoint.
pub(super) struct EndpointState {
    pub(super) server: Server,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) guard: Guard,
    pub(super) access: AccessControl,
    pub(super) refusals: RefusalLog,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub(super) proxies: Vec<TrustedProxy>,
    pub(super) routes: Routes,
    /// Set if health probes are enabled.
    pub(super) readiness: Option<Readiness>,
    pub(super) stateless: bool,
    pub(super) json: bool,
    /// Set if clients can resume streams.
    pub(super) replay_budget: Option<Arc<ReplayBudget>>,
    pub(super) sessions: Arc<SessionTable>,
    /// Sessions of HTTP+SSE.
    pub(super) sse_sessions: Arc<SessionTable>,
    pub(super) nowhere: Arc<dyn Outbound>,
    /// The other processes of this server, if there is a store.
    pub(super) workers: Option<Arc<Workers>>,
    /// The number of this endpoint at the server.
    pub(super) origin: u64,
    pub(super) admission: Arc<Admission>,
    pub(super) large: LargeMessages,
    pub(super) rate: Option<RateLimit>,
    /// Released when everything has ended.
    pub(super) lifespan: LifespanUse,
    pub(super) closing: AtomicBool,
    /// Set when the service's owner closes it.
    pub(super) end: Closing,
}

impl EndpointState {
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// The key that a request's limits are charged to: the principal, or, with trusted proxies, the
    /// client's address. `None` if there is neither.
    pub(super) fn rate_limit_key(&self, request: &HttpRequest, caller: &Caller) -> Option<Arc<str>> {
        let principal = caller.principal().map(Arc::from);
        principal.or_else(|| client_of(&self.proxies, request).map(Arc::from))
    }
}
