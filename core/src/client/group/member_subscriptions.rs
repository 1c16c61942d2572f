//! The subscriptions of a group to resources of one server. They use the client of that server, so
//! they work on every revision; changes become notifications of the group.

use super::group_changes::GroupChanges;
use crate::{
    client::{Client, ClientError, Subscription},
    composition::names,
    protocol::model::ChangeKind,
    sync::Mutex,
};
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{Arc, Weak},
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
        let reporting = report(subscription, prefix.to_owned(), Arc::downgrade(changes));
        changes.runtime.spawn(Box::pin(reporting));
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
            if let Err(error) = self.open(client, prefix, uri, changes).await {
                tracing::warn!(target: "trunkline::client::group", uri, server = prefix, %error, "a subscription has ended");
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

/// Reports the changes of a subscription to the group until it ends.
async fn report(subscription: Arc<Subscription>, prefix: String, changes: Weak<GroupChanges>) {
    while let Some(Ok(change)) = poll_fn(|context| subscription.poll_change(context)).await {
        let Some(changes) = changes.upgrade() else { return };
        match change.uri {
            Some(uri) => changes.resource_updated(&names::public_uri(&prefix, &uri)),
            None if change.kind == ChangeKind::Missed => changes.missed(),
            None => {}
        }
    }
}
