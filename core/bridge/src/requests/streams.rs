//! Streams: subscriptions and tasks. A stream is a request whose ticket stays valid until it is
//! cancelled.

use crate::{
    BridgeError, ErrorKind, PortState,
    message::{CANCEL, NEXT, RESPOND, RESULT, Request, START_TASK, StartTask},
    requests::{
        host_reply::{HostReply, result_schema},
        replies::{finish, run_task, send_outcome, within, written},
        sent_request::{sent, take_request},
        task_progress::TaskProgress,
    },
    state::entries::{HostRequest, OpenStream, StreamSource},
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

/// Opens a stream. The reply is the part of the filter that the server honors, or the task.
pub(super) fn open(state: &Arc<PortState>, client: &Client, ticket: u64, given: &Request) -> Result<(), BridgeError> {
    if given.options.input_responses != InputResponses::default() {
        let text = "`inputResponses` and `requestState` are for calls; use respond for a task";
        return Err(BridgeError::invalid(format!("request: {}: {text}", given.method)));
    }
    let (port, client) = (Arc::clone(state), client.clone());
    if given.method == START_TASK {
        let start: StartTask = given.read_params()?;
        let progress = Arc::new(TaskProgress::default());
        let reported = Arc::clone(&progress);
        let options = given
            .options
            .clone()
            .with_task_ttl(start.ttl.map(|time| time.0))
            .with_on_progress(Some(Arc::new(move |params| reported.report(params))));
        return run_task(state, ticket, async move {
            let task = start_task(&client, start, &options).await;
            let opened = task.map(|task| (written(&task.state()), StreamSource::Task(task, progress)));
            open_or_fail(&port, ticket, opened);
        });
    }
    if given.options.is_manual() {
        return Err(BridgeError::invalid(format!("request: {}: `manualInput` is for calls and tasks", given.method)));
    }
    let filter: SubscriptionFilter = given.read_params()?;
    let timeout = given.options.timeout;
    run_task(state, ticket, async move {
        let subscribing = async { client.subscribe(filter).await.map_err(BridgeError::from) };
        let subscribed = within(timeout, "The server did not accept the subscription", subscribing).await;
        let opened = subscribed.map(|opened| (written(opened.filter()), StreamSource::Subscription(opened)));
        open_or_fail(&port, ticket, opened);
    })
}

async fn start_task(client: &Client, start: StartTask, options: &RequestOptions) -> Result<ClientTask, BridgeError> {
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

/// Makes a request an open stream with its reply, or fails it.
fn open_or_fail(
    state: &PortState,
    ticket: u64,
    opened: Result<(Result<RawJson, BridgeError>, StreamSource), BridgeError>,
) {
    let (reply, source) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            finish(state, ticket, Err(error));
            return;
        }
    };
    let mut tables = state.tables.lock();
    let Some(request) = tables.requests.get_mut(ticket) else {
        drop(tables);
        // Cancelled in the meantime; dropping it ends it.
        return drop(source);
    };
    let HostRequest::Running { handle, .. } = *request else { return };
    let open = Arc::new(OpenStream { connection: handle, source, turn: tokio::sync::Mutex::default() });
    let opening = std::mem::replace(request, HostRequest::Stream(open));
    let slot = tables.reply_slot(ticket);
    drop(tables);
    drop(opening);
    send_outcome(state, ticket, handle, slot, reply.map(RawJson::into_bytes));
}

/// Handles a request about a stream: for its next item, whose reply is `null` at the end, or for
/// the result or cancellation of a task.
pub(super) fn request(state: &Arc<PortState>, stream: u64, given: &Request) -> Result<u64, BridgeError> {
    let expected = result_schema(given)?;
    let responses = responses(given)?;
    let (open, ticket) = {
        let mut tables = state.tables.lock();
        let open = match tables.requests.get(stream) {
            Some(HostRequest::Stream(open)) => Arc::clone(open),
            _ => return Err(BridgeError::new(ErrorKind::Closed, "The subscription or the task is closed")),
        };
        open.source.check(&given.method)?;
        let ticket = tables.insert_request(given, open.connection)?;
        (open, ticket)
    };
    let receiver = (given.progress && given.method == RESULT)
        .then(|| Arc::new(HostReply::new(state, ticket, open.connection, given, false)));
    let (port, timeout, method) = (Arc::clone(state), given.options.timeout, given.method.clone());
    let running = run_task(state, ticket, async move {
        let (task, progress) = match &open.source {
            StreamSource::Task(task, progress) if method != NEXT => (task, progress),
            _ => return next(&port, ticket, &open, timeout).await,
        };
        let _receiving = receiver.map(|receiver| progress.receive(receiver));
        let outcome = match &*method {
            RESULT => task.outcome_matching(expected, timeout).await.map_err(BridgeError::from),
            RESPOND => respond(task, responses, timeout).await,
            _ => cancel(task, timeout).await,
        };
        finish(&port, ticket, outcome.map(RawJson::into_bytes));
    });
    sent(state, ticket, running)
}

async fn respond(
    task: &ClientTask,
    responses: Option<InputResponses>,
    timeout: Option<Duration>,
) -> Result<RawJson, BridgeError> {
    let responding = async {
        let responses = responses.ok_or_else(|| BridgeError::invalid("respond: the responses are missing"))?;
        Ok(task.respond(&responses).await?)
    };
    written(&within(timeout, "The task did not accept the responses", responding).await?)
}

async fn cancel(task: &ClientTask, timeout: Option<Duration>) -> Result<RawJson, BridgeError> {
    let cancelling = async { task.cancel().await.map_err(BridgeError::from) };
    written(&within(timeout, "The task was not cancelled", cancelling).await?)
}

async fn next(port: &PortState, ticket: u64, open: &OpenStream, timeout: Option<Duration>) {
    let next = async {
        // An item wakes only one task.
        let _turn = open.turn.lock().await;
        poll_fn(|context| open.source.poll_next(context)).await
    };
    let outcome = within(timeout, "Nothing has changed", next).await;
    let item = outcome.as_ref().ok().cloned().flatten();
    let reply = outcome.and_then(|item| item.map_or_else(|| written(&()), Ok));
    // If the request has just been cancelled, the next one gets the item.
    if !finish(port, ticket, reply.map(RawJson::into_bytes))
        && let Some(item) = item
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
    if let Some(HostRequest::Stream(open)) = take_request(state, ticket) {
        match &open.source {
            StreamSource::Subscription(subscription) => subscription.end(),
            StreamSource::Task(task, _) => task.end(),
        }
    }
}

/// Removes the streams of a connection that the host has closed.
pub(crate) fn forget(state: &PortState, connection: u64) {
    let of_connection =
        |request: &HostRequest| matches!(request, HostRequest::Stream(open) if open.connection == connection);
    let tickets: Vec<u64> = {
        let tables = state.tables.lock();
        tables.requests.iter().filter(|(_, request)| of_connection(request)).map(|(ticket, _)| ticket).collect()
    };
    tickets.into_iter().for_each(|ticket| close(state, ticket));
}

fn as_item<T: serde::Serialize>(
    item: Option<Result<T, trunkline::ClientError>>,
) -> Result<Option<RawJson>, BridgeError> {
    item.transpose()?.as_ref().map(written).transpose()
}
