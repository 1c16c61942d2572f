//! The requests of a conversation that are being served.

use super::{call_observer::CallObserver, outbound::Outbound, subscriptions::OpenSubscription};
use crate::{
    engine::{CallKey, IncomingCall},
    fast_map::FastMap,
    protocol::{RequestId, RpcError},
    runtime::wait,
    sync::Mutex,
    telemetry::LoadShare,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize},
    },
    task::Waker,
};

/// An active request, as its conversation sees it.
pub(in crate::server) trait ServedRequest: Send + Sync {
    /// Serves it, which ends with `Connection::end_call`.
    fn serve(self: Arc<Self>);

    /// Cancels it, without a response.
    fn cancel(&self, reason: &str);

    /// Responds with an error instead of the handler, which is cancelled first: its requests to the
    /// client end before the call.
    fn fail(&self, id: &RequestId, error: &RpcError);
}

pub(in crate::server) type Reply = Arc<dyn Outbound>;

/// The reply channel of a call that has not started, and its count as a waiting call.
pub(in crate::server) type Queued = (Reply, LoadShare);

/// A call that is about to be served.
#[derive(Clone)]
pub(in crate::server) struct StartedCall {
    pub(in crate::server) call: IncomingCall,
    pub(in crate::server) reply: Reply,
    pub(in crate::server) observer: CallObserver,
}

/// Calls, each with its count as a running call.
type RunningCalls = FastMap<CallKey, (Arc<dyn ServedRequest>, LoadShare)>;

type OpenSubscriptions = FastMap<CallKey, (OpenSubscription, CallObserver)>;

/// The requests of a conversation that are being served.
#[derive(Default)]
pub(super) struct OpenRequests {
    pub(super) running: Mutex<RunningCalls>,
    /// Streams of change notifications; allocated with the first.
    pub(super) subscriptions: Mutex<Option<Box<OpenSubscriptions>>>,
    /// Set when these streams have ended for a shutdown, so that later ones end at once.
    pub(super) ends_subscriptions: AtomicBool,
    /// Number of calls that have ended but whose responses are not sent yet.
    pub(super) answering: AtomicUsize,
    /// Tasks waiting until no request is open.
    idle: Mutex<Vec<Waker>>,
}

impl OpenRequests {
    /// Completes when `is_idle` returns true.
    pub(super) async fn until(&self, is_idle: impl Fn() -> bool) {
        wait(&self.idle, |idle| idle, |_| is_idle().then_some(())).await;
    }

    /// Wakes the tasks that wait until no request is open.
    pub(super) fn wake_if(&self, is_idle: impl Fn() -> bool) {
        let wakers = {
            let mut idle = self.idle.lock();
            if idle.is_empty() || !is_idle() {
                return;
            }
            std::mem::take(&mut *idle)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}
