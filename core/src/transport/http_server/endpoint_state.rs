//! The state of one endpoint.

use super::{
    super::closing::Closing,
    access_log::RefusalLog,
    authorization::{AccessControl, Caller},
    forwarded::{TrustedProxy, client_of},
    gate::Gate,
    health::Readiness,
    large_messages::LargeMessages,
    rate::RateLimit,
    readers::BodyReaders,
    replay_budget::ReplayBudget,
    session_table::{SessionEnd, SessionTable},
    workers::Workers,
};
use crate::{
    http::{guard::Guard, routes::Routes},
    runtime::Runtime,
    server::{HttpRequest, LifespanUse, Outbound, Server},
};
use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

/// The state that the requests at one endpoint share.
pub(super) struct EndpointState {
    pub(super) server: Server,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) guard: Guard,
    pub(super) access: AccessControl,
    pub(super) refusals: RefusalLog,
    /// Those whose `X-Forwarded-For` is believed.
    pub(super) proxies: Vec<TrustedProxy>,
    pub(super) routes: Routes,
    /// Where probes are answered.
    pub(super) readiness: Option<Readiness>,
    pub(super) stateless: bool,
    pub(super) json: bool,
    /// Number of events, and bytes of them, that are kept for the clients of a session.
    pub(super) replay: Option<(usize, usize)>,
    pub(super) replay_budget: Arc<ReplayBudget>,
    pub(super) retry: Duration,
    pub(super) sessions: Arc<SessionTable>,
    /// Those of HTTP+SSE.
    pub(super) sse_sessions: Arc<SessionTable>,
    pub(super) nowhere: Arc<dyn Outbound>,
    /// The other processes that serve the same, where there is a store.
    pub(super) workers: Option<Arc<Workers>>,
    /// The number of this endpoint at the server.
    pub(super) origin: u64,
    /// The gate of requests without a session.
    pub(super) gate: Arc<Gate>,
    pub(super) readers: Arc<BodyReaders>,
    pub(super) large: LargeMessages,
    pub(super) rate: Option<RateLimit>,
    /// Let go of when everything has ended.
    pub(super) lifespan: LifespanUse,
    pub(super) closing: AtomicBool,
    /// The end that the holder of a service asked for.
    pub(super) end: Closing,
}

impl EndpointState {
    /// The name of the one whose shares a request takes: the principal, or, where proxies are
    /// trusted, the client's address. `None`: it has none.
    pub(super) fn rate_limit_key(&self, request: &HttpRequest, caller: &Caller) -> Option<Arc<str>> {
        match caller.principal() {
            Some(principal) => Some(principal.into()),
            None => client_of(&self.proxies, request).map(Arc::from),
        }
    }

    /// A session of HTTP+SSE ends with its stream, which keeps this.
    pub(super) fn end_of(&self, session: String) -> SessionEnd {
        SessionEnd::new(Arc::clone(&self.sse_sessions), session)
    }
}
