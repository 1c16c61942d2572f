//! The requests of one conversation that are being served.

use super::{connection::ServedRequest, observers::RequestTelemetry, subscriptions::OpenSubscription};
use crate::{engine::CallKey, sync::Mutex, telemetry::LoadShare};
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{Arc, atomic::AtomicUsize},
    task::{Poll, Waker},
};

/// Calls, each with its count as a running call.
type RunningCalls = HashMap<CallKey, (Arc<dyn ServedRequest>, LoadShare)>;

/// The requests of one conversation that are being served.
#[derive(Default)]
pub(super) struct OpenRequests {
    pub(super) running: Mutex<RunningCalls>,
    /// Streams of change notifications.
    pub(super) subscriptions: Mutex<HashMap<CallKey, (OpenSubscription, RequestTelemetry)>>,
    /// Number of calls that have ended but whose responses are not sent yet.
    pub(super) answering: AtomicUsize,
    /// Tasks waiting until no request is open.
    idle: Mutex<Vec<Waker>>,
}

impl OpenRequests {
    /// Completes when `is_idle` returns true.
    pub(super) async fn until(&self, is_idle: impl Fn() -> bool) {
        poll_fn(|context| {
            let mut idle = self.idle.lock();
            if is_idle() {
                return Poll::Ready(());
            }
            idle.push(context.waker().clone());
            Poll::Pending
        })
        .await;
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
