//! Delivers the outcomes of requests and opens to the waiting thread or the queue.

use crate::{
    error::{BridgeError, ErrorKind},
    events::{Event, EventKind, Lane, queue::EventQueue, slot::ReplySlot},
    message::Request,
    state::{
        PortState,
        entries::{HostRequest, RunningRequest},
    },
};
use bytes::Bytes;
use std::{future::Future, sync::Arc, time::Duration};
use trunkline::protocol::RawJson;

/// Stores what is needed to cancel the request. Returns `false` if it is already done or was
/// cancelled while being sent; only in the latter case does the caller have to cancel it.
pub(crate) fn note_sent(state: &PortState, ticket: u64, running: RunningRequest) -> bool {
    let mut tables = state.tables.lock();
    let request = tables.requests.get_mut(ticket);
    let found = request.is_some();
    if let Some(HostRequest::Running { sent, .. }) = request {
        *sent = Some(running);
    }
    found
}

/// Answers a request with a task of the port, within the timeouts of the request.
pub(crate) fn answer_by_task(
    state: &Arc<PortState>,
    ticket: u64,
    given: &Request,
    answer: impl Future<Output = Result<RawJson, BridgeError>> + Send + 'static,
) -> Result<(), BridgeError> {
    let (process, port) = (state.process()?, Arc::clone(state));
    let timeout = [given.options.timeout, given.options.max_timeout].into_iter().flatten().min();
    let silence = format!("{} did not finish", given.method);
    let task = state.spawn(&process, async move {
        let outcome = within(timeout, &silence, answer).await;
        finish(&port, ticket, outcome.map(RawJson::into_bytes));
    });
    if !note_sent(state, ticket, RunningRequest::Task(task.abort_handle())) {
        task.abort();
    }
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

/// Delivers the outcome of a request to the waiting thread or the queue. Returns `false` if it
/// already has one.
pub(crate) fn finish(state: &PortState, ticket: u64, outcome: Result<Bytes, BridgeError>) -> bool {
    let mut tables = state.tables.lock();
    let Some(request) = tables.requests.get_mut(ticket) else { return false };
    let HostRequest::Running { slot, handle, .. } = request else { return false };
    let (slot, handle) = (slot.take(), *handle);
    let done = match &slot {
        Some(slot) => Some(std::mem::replace(request, HostRequest::Done(Arc::clone(slot)))),
        None => tables.requests.remove(ticket),
    };
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
        None => send_reply(&state.queue, ticket, handle, outcome),
    }
}

/// Queues the reply to a request or an open.
pub(crate) fn send_reply(queue: &EventQueue, ticket: u64, handle: u64, outcome: Result<Bytes, BridgeError>) {
    let body = outcome.into();
    queue.push(Lane::Queue, Event { kind: EventKind::Reply, ticket, handle, body, ..Event::default() });
}
