//! `subscriptions/listen` (modern era): one stream per subscription, reopened when it is lost.

use crate::{
    backoff::Backoff,
    client::{
        Client, ClientCall, ClientError, ClientEvents, ErrorKind, RequestOptions, ServerDescription,
        inner::ClientInner,
        state::{
            open_subscriptions::{ChangeReceiver, SubscriptionEntry},
            reply_to::{CallReceiver, ReplyTo},
        },
    },
    engine::{RequestExtras, later},
    protocol::{
        Era, RawJson,
        envelope::Notification,
        method,
        model::{JsonObject, SubscriptionFilter},
    },
    race,
    runtime::Promise,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    sync::{Arc, OnceLock, Weak},
    time::{Duration, Instant},
};

/// The wait before a lost stream is reopened.
pub(super) const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(30) };
/// How long opening the connection waits for the server to acknowledge the stream of
/// `ClientOptions::listen`.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(5);

impl ClientInner {
    /// Opens the stream of an entry and waits until the server has acknowledged it. Returns what
    /// the server honors (SUB-04).
    pub(super) async fn open_stream(
        self: &Arc<Self>,
        entry: &Arc<SubscriptionEntry>,
        within: Duration,
    ) -> Result<SubscriptionFilter, ClientError> {
        let is_reopened = entry.listening.lock().attempts > 0;
        let options = RequestOptions::default()
            .with_timeout(Duration::MAX)
            .with_max_timeout(Duration::MAX)
            .with_unattended(is_reopened);
        let params = RawJson::object(&json!({"notifications": listen_filter(&entry.filter)}));
        let stream = Arc::new(ListenStream {
            client: Arc::downgrade(self),
            entry: Arc::clone(entry),
            acknowledged: Promise::default(),
            since: OnceLock::new(),
        });
        let client = Client { inner: Arc::clone(self) };
        let method = method::SUBSCRIPTIONS_LISTEN;
        // TKX-21
        let extras = RequestExtras { task: !entry.filter.tasks().is_empty(), ..RequestExtras::default() };
        let call = ClientCall::new(CallReceiver::Reply(stream.clone()));
        let call = client.begin(call, self.parts(method, Some(&params), &options), extras)?;
        // Recorded immediately, so that closing the subscription while it waits here cancels it.
        if !entry.note_stream(&call) {
            client.cancel(&call, "the subscription is closed");
        }
        let acknowledged =
            race::within(&*self.runtime, within, stream.acknowledged.kept()).await.unwrap_or_else(|| {
                Err(ClientError::Timeout(format!("The server did not acknowledge {method} within {within:?}")))
            });
        let is_declared = self.description().is_some_and(|server| server.declared().is_some());
        let honoured = acknowledged.and_then(|honoured| compared(&entry.filter, honoured, is_declared));
        honoured.inspect_err(|_| client.cancel(&call, "the subscription was not accepted as requested"))
    }

    /// Opens a stream for the list changes that the server announces, if any, unless it sends them
    /// anyway.
    pub(in crate::client) async fn listen_to_lists(
        self: &Arc<Self>,
        events: Arc<dyn ClientEvents>,
    ) -> Option<Arc<SubscriptionEntry>> {
        let modern = self.description().filter(|server| server.revision.era() == Era::Modern);
        let filter = modern.map(ServerDescription::announced_lists).unwrap_or_default();
        if filter.is_empty() {
            return None;
        }
        let entry = self.subscriptions.add(filter, ChangeReceiver::Events(events), true).ok()?;
        if let Err(error) = self.open_stream(&entry, ACKNOWLEDGE_TIMEOUT).await {
            let server = self.label.get();
            tracing::warn!(target: "trunkline::client::subscription", server, %error, "could not open a stream of change notifications yet");
            if may_pass(&error) {
                self.open_stream_again(&entry);
            }
        }
        Some(entry)
    }

    /// Opens a stream that was lost or failed, with backoff, until it is open or, unless it lasts,
    /// the maximum time of a request is over.
    pub(super) fn open_stream_again(self: &Arc<Self>, entry: &Arc<SubscriptionEntry>) {
        let (client, entry, runtime) = (Arc::downgrade(self), Arc::clone(entry), Arc::clone(&self.runtime));
        let give_up = later(runtime.now(), self.options.max_timeout);
        self.runtime.spawn(Box::pin(async move {
            loop {
                runtime.sleep_until(later(runtime.now(), entry.next_pause())).await;
                let is_open = |client: &Arc<Self>| client.check_open().is_ok() && !entry.listening.lock().closed;
                let Some(client) = client.upgrade().filter(is_open) else { return };
                match client.open_stream(&entry, client.options.timeout).await {
                    Ok(_) => {
                        client.cache.clear();
                        return entry.missed();
                    }
                    Err(ClientError::Cancelled) => return,
                    Err(error) if may_return(&error) && (entry.lasts || runtime.now() < give_up) => {
                        tracing::debug!(target: "trunkline::client::subscription", %error, "could not reopen a lost subscription yet");
                    }
                    Err(error) => return entry.end(Some(error)),
                }
            }
        }));
    }
}

impl SubscriptionEntry {
    /// Stores what is needed to cancel the stream. Returns `false` if the subscription is closed.
    fn note_stream(&self, call: &Arc<ClientCall>) -> bool {
        let mut listening = self.listening.lock();
        listening.call = Arc::downgrade(call);
        !listening.closed
    }

    /// Closes the stream and does not reopen it.
    pub(super) fn close_stream(&self, client: &Client) {
        let call = {
            let mut listening = self.listening.lock();
            listening.closed = true;
            listening.call.upgrade()
        };
        if let Some(call) = call {
            client.cancel(&call, "the subscription is closed");
        }
    }

    fn next_pause(&self) -> Duration {
        let mut listening = self.listening.lock();
        listening.attempts += 1;
        BACKOFF.after(listening.attempts - 1)
    }
}

/// One `subscriptions/listen`.
struct ListenStream {
    client: Weak<ClientInner>,
    entry: Arc<SubscriptionEntry>,
    acknowledged: Promise<Result<SubscriptionFilter, ClientError>>,
    /// When it was acknowledged.
    since: OnceLock<Instant>,
}

impl ReplyTo for ListenStream {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let Some(client) = self.client.upgrade() else { return };
        let Some(since) = self.since.get() else {
            let error = outcome.err().unwrap_or_else(|| {
                ClientError::InvalidResponse("subscriptions/listen ended without an acknowledgement".into())
            });
            return self.acknowledged.keep(Err(error));
        };
        let is_lost = outcome.as_ref().err().map_or(self.entry.lasts, may_return);
        match outcome.err() {
            Some(ClientError::Closed | ClientError::Cancelled) => {}
            error if is_lost && client.check_open().is_ok() => {
                if client.runtime.now().saturating_duration_since(*since) > BACKOFF.longest {
                    self.entry.listening.lock().attempts = 0;
                }
                let error = error.as_ref().map(tracing::field::display);
                let server = client.label.get();
                tracing::info!(target: "trunkline::client::subscription", server, error, "a subscription was lost; reopening it");
                client.open_stream_again(&self.entry);
            }
            // SUB-06: without an error, the server has ended it.
            error => self.entry.end(error),
        }
    }

    fn notification(&self, notification: Notification) {
        if &*notification.method != method::SUBSCRIPTIONS_ACKNOWLEDGED {
            return self.entry.take(&notification);
        }
        let Some(client) = self.client.upgrade() else { return };
        if self.since.set(client.runtime.now()).is_ok() {
            self.acknowledged.keep(honoured(notification.params.as_ref()));
        }
    }
}

/// Returns whether the connection failed rather than the request, so that another attempt may
/// succeed.
pub(super) fn may_pass(error: &ClientError) -> bool {
    matches!(error.kind(), ErrorKind::Transport | ErrorKind::Timeout | ErrorKind::Busy)
}

/// The same for a subscription that was open. Nobody is asked to log in for it, so credentials may
/// be missing until the authorization server is back, or until the user logs in for a call.
pub(super) fn may_return(error: &ClientError) -> bool {
    may_pass(error) || error.kind() == ErrorKind::AuthorizationRequired
}

/// The filter in the form of the method. Tasks belong to the extension (TKX-42).
fn listen_filter(filter: &SubscriptionFilter) -> Value {
    let mut wanted = json!({});
    for (name, list) in [
        ("toolsListChanged", filter.tools),
        ("promptsListChanged", filter.prompts),
        ("resourcesListChanged", filter.resource_list),
    ] {
        if list {
            wanted[name] = true.into();
        }
    }
    for (name, list) in [("resourceSubscriptions", filter.resources()), ("taskIds", filter.tasks())] {
        if !list.is_empty() {
            wanted[name] = list.into();
        }
    }
    wanted
}

/// The part of a filter that the server has acknowledged.
fn honoured(params: Option<&RawJson>) -> Result<SubscriptionFilter, ClientError> {
    #[derive(Deserialize)]
    struct Acknowledged {
        #[serde(default)]
        notifications: JsonObject,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Honoured {
        tools_list_changed: bool,
        prompts_list_changed: bool,
        resources_list_changed: bool,
        resource_subscriptions: Option<Vec<String>>,
        task_ids: Option<Vec<String>>,
    }
    let nonsense = |error| ClientError::InvalidResponse(format!("{}: {error}", method::SUBSCRIPTIONS_ACKNOWLEDGED));
    let params = params.cloned().unwrap_or_else(RawJson::empty_object);
    let Acknowledged { notifications } = params.parse().map_err(nonsense)?;
    let honoured: Honoured = serde_json::from_value(notifications.into()).map_err(nonsense)?;
    Ok(SubscriptionFilter::default()
        .with_tools(honoured.tools_list_changed)
        .with_prompts(honoured.prompts_list_changed)
        .with_resource_list(honoured.resources_list_changed)
        .with_resources(honoured.resource_subscriptions)
        .with_tasks(honoured.task_ids))
}

/// SUB-04: the honored part of a filter.
fn compared(
    wanted: &SubscriptionFilter,
    honoured: SubscriptionFilter,
    is_declared: bool,
) -> Result<SubscriptionFilter, ClientError> {
    let both = |one: &[String], other: &[String]| -> Option<Vec<String>> {
        let common: Vec<_> = one.iter().filter(|item| other.contains(item)).cloned().collect();
        (!common.is_empty()).then_some(common)
    };
    let kept = SubscriptionFilter::default()
        .with_tools(wanted.tools && honoured.tools)
        .with_prompts(wanted.prompts && honoured.prompts)
        .with_resource_list(wanted.resource_list && honoured.resource_list)
        .with_resources(both(wanted.resources(), honoured.resources()))
        .with_tasks(both(wanted.tasks(), honoured.tasks()));
    if kept.is_empty() {
        return Err(ClientError::Invalid("subscribe: the server accepted no part of the filter".into()));
    }
    // Until it is known what the server announces, changes of all lists are requested.
    let is_surprising = is_declared || kept.resources != wanted.resources || kept.tasks != wanted.tasks;
    if kept != *wanted && is_surprising {
        tracing::warn!(target: "trunkline::client::subscription", "the server accepted only part of a subscription");
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::kept_log::KeptLog;

    #[test]
    fn sub_04_a_list_that_was_not_announced_is_no_surprise() {
        let lists = SubscriptionFilter::default().with_tools(true).with_prompts(true).with_resource_list(true);
        let of_tools = SubscriptionFilter::default().with_tools(true);
        let (both, one) = (SubscriptionFilter::from(["a:1", "a:2"]), SubscriptionFilter::from(["a:1"]));
        for (wanted, honoured, is_declared, warnings) in [
            (&lists, &of_tools, false, 0),
            (&lists, &of_tools, true, 1),
            (&both, &one, false, 1),
            (&both, &both, true, 0),
        ] {
            let log = KeptLog::default();
            let kept =
                tracing::subscriber::with_default(log.clone(), || compared(wanted, honoured.clone(), is_declared));
            assert_eq!(kept.unwrap(), *honoured);
            assert_eq!(log.take().len(), warnings, "{honoured:?}");
        }
    }
}
