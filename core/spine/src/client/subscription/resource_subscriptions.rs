//! `resources/subscribe` and `resources/unsubscribe` (the legacy era): one of each per URI, however
//! many subscriptions name it.

use super::listening::{BACKOFF, may_return};
use crate::{
    client::{Client, ClientError, RequestOptions, inner::ClientInner, state::open_subscriptions::SubscriptionEntry},
    engine::later,
    protocol::{RawJson, method},
    runtime::Promise,
};
use serde_json::json;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

impl ClientInner {
    /// Subscribes to the resources of an entry, and waits until the server has taken all of them.
    pub(super) async fn subscribe_to_resources(self: &Arc<Self>, entry: &SubscriptionEntry) -> Result<(), ClientError> {
        let taken: Vec<_> = entry.filter.resources().iter().map(|uri| self.hold(uri)).collect();
        for promise in taken {
            promise.kept().await?;
        }
        Ok(())
    }

    fn hold(self: &Arc<Self>, uri: &str) -> Arc<Promise<Result<(), ClientError>>> {
        let promise = Arc::new(Promise::default());
        {
            let mut uses = self.subscriptions.uses.lock();
            let in_use = uses.entry(uri.to_owned()).or_default();
            in_use.holders += 1;
            in_use.waiting.push(Arc::clone(&promise));
        }
        self.reconcile(uri);
        promise
    }

    /// Ends the part of an entry in the subscriptions to its resources.
    pub(super) fn release_resources(self: &Arc<Self>, entry: &SubscriptionEntry) {
        for uri in entry.filter.resources() {
            let unused = self.subscriptions.uses.lock().get_mut(uri).is_some_and(|in_use| {
                in_use.holders -= 1;
                in_use.holders == 0
            });
            if unused {
                self.reconcile(uri);
            }
        }
    }

    pub(in crate::client) fn give_up_subscriptions(self: &Arc<Self>, error: &ClientError) {
        self.subscriptions.give_up(error).iter().for_each(|entry| self.release_resources(entry));
    }

    /// The session is another one, which knows no subscription.
    pub(in crate::client) fn subscribe_again(self: &Arc<Self>) {
        self.subscriptions.forget_session();
        let uris: Vec<String> = self.subscriptions.uses.lock().keys().cloned().collect();
        uris.iter().for_each(|uri| self.reconcile(uri));
        self.subscriptions.missed();
    }

    /// Sends the request that brings the server's knowledge of a URI in line with its use, unless
    /// one is in flight.
    fn reconcile(self: &Arc<Self>, uri: &str) {
        let mut uses = self.subscriptions.uses.lock();
        let Some(in_use) = uses.get_mut(uri).filter(|in_use| !in_use.busy) else { return };
        let method = match (in_use.holders > 0, in_use.subscribed) {
            (true, false) => method::RESOURCES_SUBSCRIBE,
            (false, true) => method::RESOURCES_UNSUBSCRIBE,
            (true, true) => {
                let waiting = std::mem::take(&mut in_use.waiting);
                drop(uses);
                waiting.iter().for_each(|promise| promise.keep(Ok(())));
                return;
            }
            (false, false) => {
                uses.remove(uri);
                return;
            }
        };
        in_use.busy = true;
        let options = RequestOptions::default().with_unattended(in_use.waiting.is_empty());
        drop(uses);
        let (inner, named) = (Arc::downgrade(self), uri.to_owned());
        let reply = Arc::new(move |outcome: Result<RawJson, ClientError>| {
            if let Some(client) = inner.upgrade() {
                client.reconciled(&named, method, outcome.err());
            }
        });
        let (client, params) = (Client { inner: Arc::clone(self) }, RawJson::object(&json!({"uri": uri})));
        if let Err(error) = client.start(method, Some(&params), &options, reply) {
            self.reconciled(uri, method, Some(error));
        }
    }

    /// Like [`Self::reconcile`], but after a pause, which grows with the time that it has failed.
    fn reconcile_later(self: &Arc<Self>, uri: &str, failing: Duration) {
        let (client, runtime, uri) = (Arc::downgrade(self), Arc::clone(&self.runtime), uri.to_owned());
        self.runtime.spawn(Box::pin(async move {
            runtime.sleep_until(later(runtime.now(), failing.clamp(BACKOFF.first, BACKOFF.longest))).await;
            let Some(client) = client.upgrade() else { return };
            if let Some(in_use) = client.subscriptions.uses.lock().get_mut(&uri) {
                in_use.busy = false;
            }
            client.reconcile(&uri);
        }));
    }

    /// Takes the answer of a request about a URI; `error` is why it failed, if it did.
    fn reconciled(self: &Arc<Self>, uri: &str, method: &str, error: Option<ClientError>) {
        let subscribing = method == method::RESOURCES_SUBSCRIBE;
        let is_lost = !self.ready.load(Ordering::Acquire) && self.check_open().is_ok();
        let now = self.runtime.now();
        let mut uses = self.subscriptions.uses.lock();
        let Some(in_use) = uses.get_mut(uri) else { return };
        in_use.busy = false;
        in_use.subscribed = subscribing && error.is_none();
        let since = *in_use.failing.get_or_insert(now);
        let failing = now.saturating_duration_since(since);
        in_use.failing = error.as_ref().map(|_| since);
        let Some(error) = error.filter(|_| subscribing) else {
            drop(uses);
            return self.reconcile(uri);
        };
        let waiting = std::mem::take(&mut in_use.waiting);
        // Holders that do not wait had the subscription before. The next connection or attempt
        // brings it back.
        let returns = is_lost || (may_return(&error) && failing < self.options.max_timeout);
        let lasts = returns && in_use.holders > waiting.len();
        if lasts && !is_lost {
            in_use.busy = true;
            self.reconcile_later(uri, failing);
        }
        drop(uses);
        waiting.iter().for_each(|promise| promise.keep(Err(error.clone())));
        // The server does not take the subscription: those that had it end.
        if !lasts {
            let named = |entry: &&Arc<SubscriptionEntry>| entry.filter.resources().iter().any(|name| name == uri);
            self.subscriptions.all().iter().filter(named).for_each(|entry| entry.end(Some(error.clone())));
        }
    }
}
