//! Delivers the outcomes of requests and opens to the waiting thread or the queue.

use crate::{
    BridgeError, ErrorKind, Event, EventKind, Lane, PortState,
    events::slot::ReplySlot,
    message::Request,
    requests::sent_request::note_sent,
    state::entries::{HostRequest, RunningRequest},
};
use bytes::Bytes;
use serde::Serialize;
use std::{future::Future, sync::Arc, time::Duration};
use trunkline::protocol::RawJson;

/// Answers a request with a task of the port, within the timeouts of the request.
pub(crate) fn answer_by_task(
    state: &Arc<PortState>,
    ticket: u64,
    given: &Request,
    answer: impl Future<Output = Result<RawJson, BridgeError>> + Send + 'static,
) -> Result<(), BridgeError> {
    let port = Arc::clone(state);
    let timeout = [given.options.timeout, given.options.max_timeout].into_iter().flatten().min();
    let silence = format!("{} did not finish", given.method);
    run_task(state, ticket, async move {
        let outcome = within(timeout, &silence, answer).await;
        finish(&port, ticket, outcome.map(RawJson::into_bytes));
    })
}

/// Runs a task of the port for a request, which ends with it if it is cancelled.
pub(crate) fn run_task(
    state: &Arc<PortState>,
    ticket: u64,
    task: impl Future<Output = ()> + Send + 'static,
) -> Result<(), BridgeError> {
    let task = state.spawn(&*state.process()?, task);
    note_sent(state, ticket, RunningRequest::Task(task.abort_handle()));
    Ok(())
}

/// The outcome of a task, within the timeout of its request.
pub(crate) async fn within<T>(
    timeout: Option<Duration>,
    silence: &str,
    future: impl Future<Output = Result<T, BridgeError>>,
) -> Result<T, BridgeError> {
    let Some(timeout) = timeout else { return future.await };
    let late = |_| Err(BridgeError::new(ErrorKind::Timeout, format!("{silence} within {timeout:?}")));
    tokio::time::timeout(timeout, future).await.unwrap_or_else(late)
}

/// A result that the core itself writes.
pub(crate) fn written(result: &impl Serialize) -> Result<RawJson, BridgeError> {
    RawJson::from_value(result).map_err(|error| BridgeError::new(ErrorKind::Internal, error.to_string()))
}

/// Delivers the outcome of a request to the waiting thread or the queue. Returns `false` if it
/// already has one.
pub(crate) fn finish(state: &PortState, ticket: u64, outcome: Result<Bytes, BridgeError>) -> bool {
    let mut tables = state.tables.lock();
    let Some(&HostRequest::Running { handle, .. }) = tables.requests.get(ticket) else { return false };
    let (done, slot) = (tables.requests.remove(ticket), tables.reply_slot(ticket));
    drop(tables);
    drop(done);
    send_outcome(state, ticket, handle, slot, outcome);
    true
}

/// Delivers an outcome to the waiting thread or the queue.
pub(crate) fn send_outcome(
    state: &PortState,
    ticket: u64,
    handle: u64,
    slot: Option<Arc<ReplySlot>>,
    outcome: Result<Bytes, BridgeError>,
) {
    match slot {
        Some(slot) => {
            slot.fill(outcome);
            state.queue.ring_for_threads();
        }
        None => {
            let (kind, body) = (EventKind::Reply, outcome.into());
            state.queue.push(Lane::Queue, Event { kind, ticket, handle, body, ..Event::default() });
        }
    }
}
