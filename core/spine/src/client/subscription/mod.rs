//! Subscriptions: one call on every revision.

mod listening;
mod resource_subscriptions;

use crate::{
    client::{
        Client, ClientError,
        inner::ClientInner,
        state::{
            changes::Changes,
            open_subscriptions::{ChangeReceiver, SubscriptionEntry},
        },
    },
    protocol::{
        Era,
        model::{Change, SubscriptionFilter},
    },
};
use futures_core::Stream;
use listening::may_pass;
use std::{
    collections::BTreeSet,
    fmt::{self, Debug, Formatter},
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

/// The changes of one subscription: a stream, ended by [`Subscription::close`] or by dropping it.
///
/// Changes are never lost silently. A pending change is not repeated, and at most 1,024 changes are
/// queued. If there are more, or if the stream from the server was lost and reopened, you get a
/// change of the kind [`Missed`](crate::protocol::model::ChangeKind::Missed) instead: read again
/// what matters to you.
///
/// The stream ends when the server ends the subscription, or when either side closes the
/// connection. Its last item is an error if it failed.
///
/// ```
/// use trunkline::{Client, Server, protocol::model::ChangeKind};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), trunkline::ClientError> {
/// let server = Server::builder("notes", "1.0.0").resource("notes://today", "today", async || "tea").build();
/// let client = Client::connect(&server).await?;
/// let mut changes = client.subscribe("notes://today").await?;
/// server.resource_updated("notes://today");
/// while let Some(change) = changes.next().await {
///     let change = change?;
///     assert_eq!((change.kind, change.uri.as_deref()), (ChangeKind::Resource, Some("notes://today")));
///     break;
/// }
/// changes.close();
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it ends the subscription"]
pub struct Subscription {
    client: Client,
    entry: Arc<SubscriptionEntry>,
    filter: SubscriptionFilter,
    changes: Arc<Changes>,
}

impl Client {
    /// Subscribes to changes: of resources by URI (`"notes://today"`, `["a:1", "a:2"]`), or of
    /// anything else that a [`SubscriptionFilter`] can name.
    ///
    /// In the legacy era, this uses `resources/subscribe`, once per URI however many subscriptions
    /// there are, and the notifications that the server sends anyway; on 2026-07-28, one
    /// `subscriptions/listen`. Completes when the server has accepted the subscription, so that no
    /// later change is missed.
    ///
    /// # Errors
    /// [`ClientError::Invalid`] if the filter is empty, and [`ClientError::Unsupported`] if the
    /// server announces none of it; otherwise as for [`Client::request`].
    pub async fn subscribe(&self, filter: impl Into<SubscriptionFilter>) -> Result<Subscription, ClientError> {
        self.subscribe_to(filter.into(), false).await
    }

    /// Like [`Self::subscribe`]. If `lasts` is set, it is reopened even after the server has ended
    /// it, for example to restart, and opened later if the connection fails now.
    #[doc(hidden)]
    pub async fn subscribe_to(&self, filter: SubscriptionFilter, lasts: bool) -> Result<Subscription, ClientError> {
        let filter = checked(filter)?;
        self.inner.check_open()?;
        self.opened().await?;
        let filter = self.inner.announced(&filter)?;
        let changes = Arc::<Changes>::default();
        let receiver = ChangeReceiver::Stream(Arc::clone(&changes));
        let entry = self.inner.subscriptions.add(filter.clone(), receiver, lasts)?;
        // From here on, dropping it cleans up everything.
        let mut subscription = Subscription { client: self.clone(), entry, filter, changes };
        // Closing the connection ends the subscriptions it knows of; one that was added too late is
        // refused here.
        self.inner.check_open()?;
        if self.revision().era() == Era::Legacy {
            self.inner.subscribe_to_resources(&subscription.entry).await?;
            return Ok(subscription);
        }
        match self.inner.open_stream(&subscription.entry, self.inner.options.timeout).await {
            Ok(honoured) => subscription.filter = honoured,
            Err(error) if lasts && may_pass(&error) => {
                self.inner.check_open()?;
                let server = self.server_label();
                tracing::warn!(target: "trunkline::client::subscription", server, %error, "could not open a subscription yet");
                self.inner.open_stream_again(&subscription.entry);
            }
            Err(error) => return Err(error),
        }
        Ok(subscription)
    }
}

impl Subscription {
    /// Waits for the next change. Returns `None` when the subscription has ended.
    ///
    /// # Errors
    /// Why it ended; returned once.
    pub async fn next(&mut self) -> Option<Result<Change, ClientError>> {
        poll_fn(|context| self.poll_change(context)).await
    }

    /// The part of the filter that the server honors: all of it, unless the server does not
    /// announce some of the changes or refused something, such as an unknown task.
    pub fn filter(&self) -> &SubscriptionFilter {
        &self.filter
    }

    /// Ends the subscription, like dropping it.
    pub fn close(self) {
        drop(self);
    }

    /// Ends the subscription, for owners that only have a reference. Idempotent.
    #[doc(hidden)]
    pub fn end(&self) {
        self.client.inner.end_subscription(&self.entry);
    }

    /// Puts back a change that could not be delivered.
    #[doc(hidden)]
    pub fn put_back(&self, change: Change) {
        self.changes.put_back(change);
    }

    #[doc(hidden)]
    pub fn poll_change(&self, context: &Context<'_>) -> Poll<Option<Result<Change, ClientError>>> {
        self.changes.poll_next(context)
    }
}

impl Stream for Subscription {
    type Item = Result<Change, ClientError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_change(context)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.end();
    }
}

impl Debug for Subscription {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("filter", &self.filter).finish_non_exhaustive()
    }
}

impl ClientInner {
    pub(super) fn end_subscription(self: &Arc<Self>, entry: &Arc<SubscriptionEntry>) {
        entry.end(None);
        if !self.subscriptions.remove(entry) {
            return;
        }
        let client = Client { inner: Arc::clone(self) };
        if client.revision().era() == Era::Legacy {
            self.release_resources(entry);
        } else {
            entry.close_stream(&client);
        }
    }

    /// The part of a filter that the server has declared (PRM-07).
    fn announced(&self, filter: &SubscriptionFilter) -> Result<SubscriptionFilter, ClientError> {
        let announced = self.description().ok_or(ClientError::Closed)?.announced(filter.clone());
        if !announced.is_empty() {
            return Ok(announced);
        }
        let wanted = [
            (!filter.resources().is_empty(), "resources (the capability resources.subscribe)"),
            (filter.tools, "tools (tools.listChanged)"),
            (filter.prompts, "prompts (prompts.listChanged)"),
            (filter.resource_list, "resourceList (resources.listChanged)"),
            (!filter.tasks().is_empty(), "tasks (tasks, or its extension)"),
        ];
        let wanted: Vec<_> = wanted.into_iter().filter_map(|(wanted, name)| wanted.then_some(name)).collect();
        Err(ClientError::Unsupported(format!(
            "subscribe: the server does not announce changes of {}",
            wanted.join(", ")
        )))
    }
}

/// Checks that a filter is not empty, and removes duplicates.
fn checked(mut filter: SubscriptionFilter) -> Result<SubscriptionFilter, ClientError> {
    if let Some(name) = filter.extra.keys().next() {
        return Err(ClientError::Invalid(format!(
            "subscribe: {name}: unknown field; use resources, tools, prompts, resourceList or tasks"
        )));
    }
    if filter.is_empty() {
        let text = "subscribe: the filter is empty; set resources, tools, prompts, resourceList or tasks";
        return Err(ClientError::Invalid(text.into()));
    }
    for (name, list) in [("resources", &mut filter.resources), ("tasks", &mut filter.tasks)] {
        let mut seen = BTreeSet::new();
        if let Some(list) = list {
            if list.iter().any(String::is_empty) {
                return Err(ClientError::Invalid(format!("subscribe: {name} contains an empty string")));
            }
            list.retain(|item| seen.insert(item.clone()));
        }
    }
    Ok(filter)
}
