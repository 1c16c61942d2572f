//! Shares the capacity of a proxy fairly between callers.

use super::callers::Caller;
use std::sync::Arc;
use trunkline_core::{
    client::{Client, ClientEvents},
    extension::{on_drop::OnDrop, readable, report_progress, sync::Mutex},
    protocol::{RawJson, RpcError, method, model::LogMessage},
    server::CallInfo,
};

/// Returns whether a caller that uses `own` of a maximum may use one more while all callers use
/// `all`. It may use at most as many as remain free, so a single caller gets half and leaves the
/// other half to others.
pub(super) fn has_share(own: usize, all: usize, max: usize) -> bool {
    own == 0 || own < max.saturating_sub(all)
}

/// The requests in flight on a shared connection.
#[derive(Default)]
pub(super) struct Shares(Mutex<Vec<SharedCall>>);

struct SharedCall {
    caller: Caller,
    /// The client that it is charged to, if there is a per-client limit.
    charged: Option<Arc<str>>,
    info: CallInfo,
    number: u64,
}

impl Shares {
    /// Acquires a slot for a request, until the guard is dropped. The sessions of a client that has
    /// a share count as one caller.
    pub(super) fn take(
        self: &Arc<Self>,
        info: &CallInfo,
        client: &Client,
    ) -> Result<OnDrop<impl FnOnce() + use<>>, RpcError> {
        let (caller, charged) = (Caller::of(info), info.charged_client());
        let limit = client.options().max_in_flight;
        let mut calls = self.0.lock();
        let is_own =
            |call: &&SharedCall| if charged.is_some() { call.charged == charged } else { call.caller == caller };
        let own = calls.iter().filter(is_own).count();
        if !has_share(own, calls.len(), limit) {
            return Err(RpcError::busy(&format!(
                "this caller uses {own} of the {limit} requests (maxInFlight of the proxy's client), and the rest is reserved for others"
            )));
        }
        let number = calls.last().map_or(0, |last| last.number + 1);
        calls.push(SharedCall { caller, charged, info: info.clone(), number });
        drop(calls);
        let shares = Arc::clone(self);
        Ok(OnDrop::new(move || {
            // Dropped without the lock.
            let call = shares.0.lock().extract_if(.., |call| call.number == number).next();
            drop(call);
        }))
    }

    /// Returns the call that a log message is attributed to: the newest of those that want any
    /// (LOG-04), if all these belong to one caller.
    fn only(&self) -> Option<CallInfo> {
        let calls = self.0.lock();
        let wanting = || calls.iter().filter(|call| call.info.log_level().is_some());
        let last = wanting().next_back()?;
        let alone = wanting().all(|call| call.caller == last.caller && last.caller != Caller::Nobody);
        (alone || wanting().count() == 1).then(|| last.info.clone())
    }
}

/// Forwards a log message if it can only be for one caller.
impl ClientEvents for Shares {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        if method != method::LOG_MESSAGE {
            return;
        }
        match self.only() {
            Some(info) => pass_log(&info, params),
            None => {
                tracing::debug!(target: "trunkline::server::proxy", "ignored a log message: it could be for any of several callers")
            }
        }
    }
}

/// Sends progress to the client of a call.
pub(super) fn pass_progress(info: &CallInfo, params: &RawJson) {
    let _ = report_progress(params, |progress, total, message| info.progress(progress, total, message));
}

/// Sends a log message to the client of a call.
pub(super) fn pass_log(info: &CallInfo, params: Option<&RawJson>) {
    match params.map(readable::<LogMessage>) {
        Some(Ok(LogMessage { level, logger, data, .. })) => info.log(level, logger.as_deref(), &data),
        _ => tracing::debug!(target: "trunkline::server::proxy", "ignored an invalid log message"),
    }
}
