//! Subscriptions of the host: a request that stays, and whose ticket names the subscription until
//! it is cancelled.

use super::{
    entries::{HostRequest, RunningRequest, Subscribed},
    error::{BridgeError, ErrorKind},
    message::{NEXT, Request},
    replies::{finish, note_sent, send_outcome, within},
    state::{PortState, full},
};
use std::{future::poll_fn, sync::Arc};
use trunkline::{
    client::{Client, Subscription},
    protocol::{RawJson, model::SubscriptionFilter},
};

/// Opens a subscription; the reply is the part of the filter that the server honours.
pub(super) fn open(state: &Arc<PortState>, client: &Client, ticket: u64, given: &Request) -> Result<(), BridgeError> {
    let filter = given.params.as_ref().map_or_else(|| Ok(SubscriptionFilter::default()), RawJson::parse);
    let filter = filter.map_err(|error| BridgeError::invalid(format!("subscribe: {error}")))?;
    let (process, timeout) = (state.process()?, given.timeout.map(|time| time.0));
    let (port, client) = (Arc::clone(state), client.clone());
    let task = state.spawn(&process, async move {
        let subscribing = async { client.subscribe(filter).await.map_err(BridgeError::from) };
        match within(timeout, "The server has not taken the subscription", subscribing).await {
            Ok(subscription) => opened(&port, ticket, subscription),
            Err(error) => drop(finish(&port, ticket, Err(error))),
        }
    });
    if !note_sent(state, ticket, RunningRequest::Task(task.abort_handle())) {
        task.abort();
    }
    Ok(())
}

fn opened(state: &PortState, ticket: u64, subscription: Subscription) {
    let filter = RawJson::from_value(subscription.filter()).map(RawJson::into_bytes).map_err(unwritable);
    let mut tables = state.tables.lock();
    let Some(request) = tables.requests.get_mut(ticket) else {
        drop(tables);
        // Cancelled meanwhile: dropping it ends it.
        return drop(subscription);
    };
    let HostRequest::Running { slot, handle, .. } = request else { return };
    let (slot, handle) = (slot.take(), *handle);
    let open = Arc::new(Subscribed { connection: handle, subscription, turn: tokio::sync::Mutex::default() });
    let opening = std::mem::replace(request, HostRequest::Subscribed { open, slot: slot.clone() });
    drop(tables);
    drop(opening);
    send_outcome(state, ticket, handle, slot, filter);
}

/// Takes the next change of a subscription: its `Reply` is the change, or `null` if the
/// subscription is over.
pub(super) fn next(state: &Arc<PortState>, subscription: u64, given: &Request) -> Result<u64, BridgeError> {
    if given.method != NEXT {
        return Err(BridgeError::invalid(format!(
            "request: a subscription has the request {NEXT}, not {}",
            given.method
        )));
    }
    let process = state.process()?;
    let (open, ticket) = {
        let mut guard = state.tables.lock();
        let tables = &mut *guard;
        let open = match tables.requests.get(subscription) {
            Some(HostRequest::Subscribed { open, .. }) => Arc::clone(open),
            _ => return Err(BridgeError::new(ErrorKind::Closed, "The subscription is closed")),
        };
        let ticket = tables.requests.insert(HostRequest::running(given, open.connection));
        (open, ticket.ok_or_else(full)?)
    };
    let (port, timeout) = (Arc::clone(state), given.timeout.map(|time| time.0));
    let task = state.spawn(&process, async move {
        let next = async {
            // One task at a time is woken by a change.
            let _turn = open.turn.lock().await;
            poll_fn(|context| open.subscription.poll_change(context)).await.transpose().map_err(BridgeError::from)
        };
        let outcome = within(timeout, "Nothing has changed", next).await;
        let json = outcome.as_ref().map_err(Clone::clone);
        let json = json.and_then(|change| RawJson::from_value(change).map(RawJson::into_bytes).map_err(unwritable));
        // The request was cancelled just now: the next one gets the change.
        if !finish(&port, ticket, json)
            && let Ok(Some(change)) = outcome
        {
            open.subscription.put_back(change);
        }
    });
    if !note_sent(state, ticket, RunningRequest::Task(task.abort_handle())) {
        task.abort();
    }
    Ok(ticket)
}

/// Ends a subscription: a `next` in flight gives `null`.
pub(super) fn close(state: &PortState, ticket: u64) {
    let removed = state.tables.lock().requests.remove(ticket);
    if let Some(HostRequest::Subscribed { open, .. }) = removed {
        open.subscription.end();
    }
}

/// Forgets the subscriptions of a connection that the host has closed.
pub(super) fn forget(state: &PortState, connection: u64) {
    let of_connection = |request: &HostRequest| match request {
        HostRequest::Subscribed { open, .. } => open.connection == connection,
        HostRequest::Running { .. } | HostRequest::Done(_) => false,
    };
    let tickets: Vec<u64> = {
        let tables = state.tables.lock();
        tables.requests.iter().filter(|(_, request)| of_connection(request)).map(|(ticket, _)| ticket).collect()
    };
    tickets.into_iter().for_each(|ticket| close(state, ticket));
}

fn unwritable(error: serde_json::Error) -> BridgeError {
    BridgeError::new(ErrorKind::Internal, error.to_string())
}
