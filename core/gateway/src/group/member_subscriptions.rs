//! The subscriptions of a group to resources of one server. They use the client of that server, so
//! they work on every revision; changes become notifications of the group.

use super::group_changes::GroupChanges;
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{Arc, Weak},
};
use trunkline_core::{
    client::{Client, ClientError, Subscription},
    extension::{composition::names, sync::Mutex},
    protocol::model::{Change, ChangeKind},
};

/// The open subscriptions of one server, by the server's own URIs.
#[derive(Default)]
pub(super) struct MemberSubscriptions(Mutex<HashMap<String, Arc<Subscription>>>);

impl MemberSubscriptions {
    /// Subscribes to a resource.
    pub(super) async fn open(
        &self,
        client: &Client,
        prefix: &str,
        uri: &str,
        changes: &Arc<GroupChanges>,
    ) -> Result<(), ClientError> {
        let subscription = Arc::new(client.subscribe_to(uri.into(), true).await?);
        let before = self.0.lock().insert(uri.to_owned(), Arc::clone(&subscription));
        if let Some(before) = before {
            before.end();
        }
        begin_reporting(subscription, prefix, changes);
        Ok(())
    }

    /// Ends the subscription to a resource, if there is one.
    pub(super) fn close(&self, uri: &str) {
        let subscription = self.0.lock().remove(uri);
        if let Some(subscription) = subscription {
            subscription.end();
        }
    }

    /// Renews all subscriptions on another connection.
    pub(super) async fn open_again(&self, client: &Client, prefix: &str, changes: &Arc<GroupChanges>) {
        let uris: Vec<String> = self.0.lock().keys().cloned().collect();
        for uri in &uris {
            match client.subscribe_to(uri.as_str().into(), true).await.map(Arc::new) {
                Ok(subscription) => {
                    let replaced = |open: &mut Arc<_>| std::mem::replace(open, Arc::clone(&subscription));
                    let before = self.0.lock().get_mut(uri).map(replaced);
                    // Otherwise the group has unsubscribed in the meantime.
                    if let Some(before) = before {
                        before.end();
                        begin_reporting(subscription, prefix, changes);
                    }
                }
                Err(error) => report_end(prefix, std::slice::from_ref(uri), &error),
            }
        }
        if !uris.is_empty() {
            changes.missed();
        }
    }
}

/// Ends the reporting tasks and drops what they hold.
impl Drop for MemberSubscriptions {
    fn drop(&mut self) {
        for subscription in self.0.lock().values() {
            subscription.end();
        }
    }
}

fn begin_reporting(subscription: Arc<Subscription>, prefix: &str, changes: &Arc<GroupChanges>) {
    let reporting = report(subscription, prefix.to_owned(), Arc::downgrade(changes));
    changes.runtime.spawn(Box::pin(reporting));
}

fn report_end(prefix: &str, uris: &[String], error: &ClientError) {
    tracing::warn!(target: "trunkline::client::group", ?uris, server = prefix, %error, "a subscription has ended");
}

/// Reports the changes of a subscription to the group until it ends.
async fn report(subscription: Arc<Subscription>, prefix: String, changes: Weak<GroupChanges>) {
    while let Some(change) = poll_fn(|context| subscription.poll_change(context)).await {
        let Some(changes) = changes.upgrade() else { return };
        match change {
            Ok(Change { uri: Some(uri), .. }) => changes.resource_updated(&names::public_uri(&prefix, &uri)),
            Ok(change) if change.kind == ChangeKind::Missed => changes.missed(),
            Ok(_) => {}
            Err(error) => report_end(&prefix, subscription.filter().resources(), &error),
        }
    }
}

#[cfg(all(test, feature = "server", feature = "tokio"))]
mod tests {
    use super::*;
    use std::{future::Future, pin::pin, task::Poll};
    use trunkline_core::{server::Server, transport::TokioRuntime};

    #[tokio::test]
    async fn what_is_unsubscribed_from_while_it_is_reopened_stays_closed() {
        let server = Server::builder("one", "1.0.0").resource("notes://today", "today", async || "tea").build();
        let (client, again) = (Client::connect(&server).await.unwrap(), Client::connect(&server).await.unwrap());
        let (subscriptions, changes) = (MemberSubscriptions::default(), GroupChanges::new(TokioRuntime::current()));
        subscriptions.open(&client, "a", "notes://today", &changes).await.unwrap();
        let mut reopening = pin!(subscriptions.open_again(&again, "a", &changes));
        assert!(poll_fn(|context| Poll::Ready(reopening.as_mut().poll(context))).await.is_pending());
        subscriptions.close("notes://today");
        reopening.await;
        assert!(subscriptions.0.lock().is_empty());
        assert!(again.has_no_subscriptions(), "the new one has ended as well");
    }
}
