//! Streams: subscriptions and tasks. A stream is a request whose ticket stays valid until it is
//! cancelled.

use crate::{
    error::{BridgeError, ErrorKind},
    message::{CANCEL, NEXT, RESPOND, RESULT, Request, START_TASK, StartTask},
    requests::{
        host_reply::{HostReply, result_schema},
        replies::{finish, note_sent, send_outcome, within},
        task_progress::TaskProgress,
    },
    state::{
        PortState,
        entries::{HostRequest, OpenStream, RunningRequest, StreamSource},
        full,
    },
};
use std::{
    collections::BTreeMap,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use trunkline::{
    client::{Client, ClientTask, InputResponses, RequestOptions},
    protocol::{RawJson, model::SubscriptionFilter},
};

/// Opens a stream. The reply is the part of the filter that the server honours, or the task.
pub(crate) fn open(state: &Arc<PortState>, client: &Client, ticket: u64, given: &Request) -> Result<(), BridgeError> {
    let (process, timeout) = (state.process()?, given.options.timeout);
    if given.options.input_responses != InputResponses::default() {
        let text = "`inputResponses` and `requestState` are for calls; use respond for a task";
        return Err(BridgeError::invalid(format!("request: {}: {text}", given.method)));
    }
    if given.options.is_manual() && given.method != START_TASK {
        return Err(BridgeError::invalid(format!("request: {}: `manualInput` is for calls and tasks", given.method)));
    }
    let (port, client) = (Arc::clone(state), client.clone());
    let task = if given.method == START_TASK {
        let start: StartTask = parsed(START_TASK, given)?;
        let progress = Arc::new(TaskProgress::default());
        let reported = Arc::clone(&progress);
        let options = given
            .options
            .clone()
            .with_task_ttl(start.ttl.map(|time| time.0))
            .with_on_progress(Some(Arc::new(move |params| reported.report(params))));
        state.spawn(&process, async move {
            match started(&client, start, &options).await {
                Ok(task) => {
                    let reply = RawJson::from_value(&task.state());
                    opened(&port, ticket, StreamSource::Task(task, progress), reply);
                }
                Err(error) => drop(finish(&port, ticket, Err(error))),
            }
        })
    } else {
        let filter: SubscriptionFilter = parsed("subscribe", given)?;
        state.spawn(&process, async move {
            let subscribing = async { client.subscribe(filter).await.map_err(BridgeError::from) };
            match within(timeout, "The server did not accept the subscription", subscribing).await {
                Ok(subscription) => {
                    let reply = RawJson::from_value(subscription.filter());
                    opened(&port, ticket, StreamSource::Subscription(subscription), reply);
                }
                Err(error) => drop(finish(&port, ticket, Err(error))),
            }
        })
    };
    if !note_sent(state, ticket, RunningRequest::Task(task.abort_handle())) {
        task.abort();
    }
    Ok(())
}

async fn started(client: &Client, start: StartTask, options: &RequestOptions) -> Result<ClientTask, BridgeError> {
    match start {
        StartTask { task_id: Some(id), name: None, arguments: None, .. } => {
            Ok(client.resume_task_with(&id, options).await?)
        }
        StartTask { name: Some(name), arguments, task_id: None, .. } => {
            Ok(client.start_task_with(&name, arguments, options).await?)
        }
        _ => Err(BridgeError::invalid("startTask: needs either the name of a tool or a taskId")),
    }
}

fn opened(state: &PortState, ticket: u64, source: StreamSource, reply: Result<RawJson, serde_json::Error>) {
    let reply = reply.map(RawJson::into_bytes).map_err(unwritable);
    let mut tables = state.tables.lock();
    let Some(request) = tables.requests.get_mut(ticket) else {
        drop(tables);
        // Cancelled in the meantime; dropping it ends it.
        return drop(source);
    };
    let HostRequest::Running { slot, handle, .. } = request else { return };
    let (slot, handle) = (slot.take(), *handle);
    let open = Arc::new(OpenStream { connection: handle, source, turn: tokio::sync::Mutex::default() });
    let opening = std::mem::replace(request, HostRequest::Stream { open, slot: slot.clone() });
    drop(tables);
    drop(opening);
    send_outcome(state, ticket, handle, slot, reply);
}

/// Handles a request about a stream: for its next item, whose reply is `null` at the end, or for
/// the result or cancellation of a task.
pub(crate) fn request(state: &Arc<PortState>, stream: u64, given: &Request) -> Result<u64, BridgeError> {
    let process = state.process()?;
    let expected = result_schema(given)?;
    let responses = responses(given)?;
    let (open, ticket, slot) = {
        let mut guard = state.tables.lock();
        let tables = &mut *guard;
        let open = match tables.requests.get(stream) {
            Some(HostRequest::Stream { open, .. }) => Arc::clone(open),
            _ => return Err(BridgeError::new(ErrorKind::Closed, "The subscription or the task is closed")),
        };
        open.source.check(&given.method)?;
        let running = HostRequest::running(given, open.connection);
        let slot = running.slot();
        (open, tables.requests.insert(running).ok_or_else(full)?, slot)
    };
    let (port, timeout, method) = (Arc::clone(state), given.options.timeout, given.method.clone());
    let receiver = given.progress.then(|| HostReply::new(state, ticket, open.connection, slot, false));
    let task = state.spawn(&process, async move {
        if method == NEXT {
            return next(&port, ticket, &open, timeout).await;
        }
        let outcome = match &open.source {
            StreamSource::Task(task, progress) if method == RESULT => {
                let _receiving = receiver.map(|receiver| progress.receive(Arc::new(receiver)));
                task.outcome_matching(expected, timeout).await.map_err(BridgeError::from)
            }
            StreamSource::Task(task, _) if method == RESPOND => {
                let responding = async {
                    let responses =
                        responses.ok_or_else(|| BridgeError::invalid("respond: the responses are missing"))?;
                    Ok(task.respond(&responses).await?)
                };
                let responded = within(timeout, "The task did not accept the responses", responding).await;
                responded.and_then(|()| RawJson::from_value(&()).map_err(unwritable))
            }
            StreamSource::Task(task, _) => {
                let cancelling = async { task.cancel().await.map_err(BridgeError::from) };
                let cancelled = within(timeout, "The task was not cancelled", cancelling).await;
                cancelled.and_then(|()| RawJson::from_value(&()).map_err(unwritable))
            }
            StreamSource::Subscription(_) => return,
        };
        finish(&port, ticket, outcome.map(RawJson::into_bytes));
    });
    if !note_sent(state, ticket, RunningRequest::Task(task.abort_handle())) {
        task.abort();
    }
    Ok(ticket)
}

async fn next(port: &PortState, ticket: u64, open: &OpenStream, timeout: Option<Duration>) {
    let next = async {
        // An item wakes only one task.
        let _turn = open.turn.lock().await;
        poll_fn(|context| open.source.poll_next(context)).await
    };
    let outcome = within(timeout, "Nothing has changed", next).await;
    let is_item = outcome.as_ref().is_ok_and(Option::is_some);
    let json = match outcome.clone() {
        Ok(None) => RawJson::from_value(&()).map_err(unwritable),
        Ok(Some(item)) => Ok(item),
        Err(error) => Err(error),
    };
    // The request has just been cancelled, so the next one gets the item.
    if !finish(port, ticket, json.map(RawJson::into_bytes))
        && is_item
        && let Ok(Some(item)) = outcome
    {
        open.source.put_back(&item);
    }
}

/// The answers to the requests of a task.
fn responses(given: &Request) -> Result<Option<InputResponses>, BridgeError> {
    let params = given.params.as_ref().filter(|_| given.method == RESPOND);
    let read = params.map(RawJson::read::<BTreeMap<String, RawJson>>).transpose();
    let read = read.map_err(|problem| BridgeError::invalid(format!("{RESPOND}: {problem}")))?;
    Ok(read.map(|responses| responses.into_iter().collect()))
}

impl StreamSource {
    /// Refuses methods that the stream does not have.
    fn check(&self, method: &str) -> Result<(), BridgeError> {
        match (self, method) {
            (_, NEXT) | (Self::Task(..), RESULT | CANCEL | RESPOND) => Ok(()),
            (Self::Subscription(_), _) => {
                Err(BridgeError::invalid(format!("request: a subscription has the request {NEXT}, not {method}")))
            }
            (Self::Task(..), _) => Err(BridgeError::invalid(format!(
                "request: a task has the requests {NEXT}, {RESULT}, {RESPOND} and {CANCEL}, not {method}"
            ))),
        }
    }

    fn poll_next(&self, context: &mut Context<'_>) -> Poll<Result<Option<RawJson>, BridgeError>> {
        match self {
            Self::Subscription(subscription) => subscription.poll_change(context).map(as_item),
            Self::Task(task, _) => task.poll_state(context).map(as_item),
        }
    }

    /// Puts back an item that could not be delivered.
    fn put_back(&self, item: &RawJson) {
        match self {
            Self::Subscription(subscription) => {
                if let Ok(change) = item.parse() {
                    subscription.put_back(change);
                }
            }
            Self::Task(task, _) => task.put_back(),
        }
    }
}

/// Closes a stream. A pending `next` gets `null`; a task continues on the server.
pub(crate) fn close(state: &PortState, ticket: u64) {
    let removed = state.tables.lock().requests.remove(ticket);
    if let Some(HostRequest::Stream { open, .. }) = removed {
        match &open.source {
            StreamSource::Subscription(subscription) => subscription.end(),
            StreamSource::Task(task, _) => task.end(),
        }
    }
}

/// Removes the streams of a connection that the host has closed.
pub(crate) fn forget(state: &PortState, connection: u64) {
    let of_connection = |request: &HostRequest| match request {
        HostRequest::Stream { open, .. } => open.connection == connection,
        HostRequest::Running { .. } | HostRequest::Done(_) => false,
    };
    let tickets: Vec<u64> = {
        let tables = state.tables.lock();
        tables.requests.iter().filter(|(_, request)| of_connection(request)).map(|(ticket, _)| ticket).collect()
    };
    tickets.into_iter().for_each(|ticket| close(state, ticket));
}

fn parsed<T: for<'de> serde::Deserialize<'de> + Default>(name: &str, given: &Request) -> Result<T, BridgeError> {
    let read = given.params.as_ref().map_or_else(|| Ok(T::default()), RawJson::read);
    read.map_err(|error| BridgeError::invalid(format!("{name}: {error}")))
}

fn as_item<T: serde::Serialize>(
    item: Option<Result<T, trunkline::ClientError>>,
) -> Result<Option<RawJson>, BridgeError> {
    item.transpose()?.map(|item| RawJson::from_value(&item).map_err(unwritable)).transpose()
}

fn unwritable(error: serde_json::Error) -> BridgeError {
    BridgeError::new(ErrorKind::Internal, error.to_string())
}
