//! The lists of the server, as it sends them.

use super::{
    hub::text_of,
    inspector::Inspector,
    state::{Era, Increment, ListName, ListProgress, ListState, LogMessage, ResourceSubscription, beginning, now},
};
use crate::failure::{Failure, Problem};
use serde::de::IgnoredAny;
use serde_json::{Value, value::RawValue};
use std::{collections::BTreeMap, sync::Arc};
use tokio::task::AbortHandle;
use trunkline::{
    RequestOptions, Subscription,
    protocol::{
        RawJson,
        method::Method,
        model::{ChangeKind, LogMessage as ServerLog},
    },
};

/// The part of a log message that is shown.
const MAX_LOG: usize = 10_000;
/// Maximum subscriptions of a page.
const MAX_SUBSCRIPTIONS: usize = 100;

/// A list as one page.
struct Whole {
    items: RawJson,
    count: usize,
    ttl_ms: Option<u64>,
    cache_scope: Option<String>,
}

impl Inspector {
    /// Fetches a list that may have changed.
    pub(super) async fn changed(self: &Arc<Self>, era: Era, list: ListName) {
        {
            let kept = &mut self.links()[era.index()].lists[list.index()];
            if kept.is_loading {
                kept.again = true;
                return;
            }
            kept.is_loading = true;
        }
        loop {
            // A failure is part of the state.
            let _ = self.fetch(era, list).await;
            let kept = &mut self.links()[era.index()].lists[list.index()];
            if !std::mem::take(&mut kept.again) {
                kept.is_loading = false;
                return;
            }
        }
    }

    /// Fetches a list from the server.
    pub(super) async fn fetch(&self, era: Era, list: ListName) -> Result<(), Problem> {
        let connection = self.connection(era)?;
        self.list_state(era, list, |state| state.state = ListProgress::Loading);
        let options = RequestOptions::default().with_fresh(true);
        let fetched = connection.client.list_all(list.method(), None, &options).await;
        let whole = fetched
            .map_err(|error| connection.failure(error, &format!("sending {}", list.method())))
            .and_then(|result| whole(&result, list));
        let is_current =
            self.links()[era.index()].connection.as_ref().is_none_or(|current| Arc::ptr_eq(current, &connection));
        match whole {
            // The new connection fetches its own.
            _ if !is_current => Ok(()),
            Ok(Whole { items, count, ttl_ms, cache_scope }) => {
                {
                    let kept = &mut self.links()[era.index()].lists[list.index()];
                    kept.is_reordered |= kept.items.as_ref().is_some_and(|old| is_reordered(old, &items));
                    kept.items = Some(items);
                }
                self.list_state(era, list, |state| {
                    let version = state.version + 1;
                    let (progress, problem) = (ListProgress::Ready, None);
                    *state = ListState { state: progress, count, version, ttl_ms, cache_scope, problem };
                });
                Ok(())
            }
            Err(failure) => {
                let problem = Problem::from(&failure);
                let shown = problem.clone();
                self.list_state(era, list, |state| {
                    (state.state, state.problem) = (ListProgress::Failed, Some(shown));
                });
                Err(problem)
            }
        }
    }

    fn list_state(&self, era: Era, list: ListName, change: impl FnOnce(&mut ListState)) {
        let state = &mut *self.hub.state();
        let changed = state.connection(era).lists.of(list);
        change(changed);
        let text = text_of(&Increment::List { era, list, state: changed });
        self.hub.tell(state, &text);
    }

    /// Passes on a log message.
    pub(super) fn logged(&self, era: Era, params: Option<&RawJson>) {
        let Some(log) = params.and_then(|params| params.parse::<ServerLog>().ok()) else { return };
        let text = match &log.data {
            Value::String(text) => text.clone(),
            data => data.to_string(),
        };
        let short = |text: &str| beginning(text, MAX_LOG).to_owned();
        self.hub.log(LogMessage {
            at: now(),
            era,
            level: log.level.as_str(),
            logger: log.logger.as_deref().map(short),
            text: short(&text),
        });
    }

    pub(super) async fn subscribe(self: &Arc<Self>, era: Era, uri: String) -> Result<(), Problem> {
        let connection = self.connection(era)?;
        let problem = |failure: Failure| Problem::from(&failure);
        let open = {
            let state = self.hub.state();
            if state.subscriptions.iter().any(|known| known.era == era && known.uri == uri) {
                return Ok(());
            }
            state.subscriptions.len()
        };
        if open >= MAX_SUBSCRIPTIONS {
            let failure = Failure::usage(format!("There are {open} subscriptions, the maximum of a page"));
            return Err(problem(failure.hint("end one of them")));
        }
        let subscribed = connection.client.subscribe(uri.as_str()).await;
        let changes =
            subscribed.map_err(|error| problem(connection.failure(error, &format!("subscribing to {uri}"))))?;
        let subscription = ResourceSubscription { era, uri: uri.clone(), updates: 0, updated_at: None };
        {
            let state = &mut *self.hub.state();
            let text = text_of(&Increment::Subscription { subscription: &subscription, open: true });
            state.subscriptions.push(subscription);
            self.hub.tell(state, &text);
        }
        let inspector = Arc::clone(self);
        let following = {
            let uri = uri.clone();
            tokio::spawn(async move { inspector.follow(era, &uri, changes).await })
        };
        let old = self.links()[era.index()].subscriptions.insert(uri, following.abort_handle());
        if let Some(old) = old {
            old.abort();
        }
        Ok(())
    }

    async fn follow(&self, era: Era, uri: &str, mut changes: Subscription) {
        while let Some(Ok(change)) = changes.next().await {
            if matches!(change.kind, ChangeKind::Resource | ChangeKind::Missed) {
                let state = &mut *self.hub.state();
                let known = state.subscriptions.iter_mut().find(|known| known.era == era && known.uri == uri);
                let Some(subscription) = known else { return };
                subscription.updates += 1;
                subscription.updated_at = Some(now());
                let text = text_of(&Increment::Subscription { subscription, open: true });
                self.hub.tell(state, &text);
            }
        }
        self.links()[era.index()].subscriptions.remove(uri);
        self.subscription_ended(era, uri);
    }

    pub(super) fn unsubscribe(&self, era: Era, uri: &str) {
        let following = self.links()[era.index()].subscriptions.remove(uri);
        following.iter().for_each(AbortHandle::abort);
        self.subscription_ended(era, uri);
    }

    pub(super) fn subscription_ended(&self, era: Era, uri: &str) {
        let state = &mut *self.hub.state();
        let index = state.subscriptions.iter().position(|known| known.era == era && known.uri == uri);
        if let Some(index) = index {
            let subscription = state.subscriptions.remove(index);
            let text = text_of(&Increment::Subscription { subscription: &subscription, open: false });
            self.hub.tell(state, &text);
        }
    }
}

/// Returns whether two reads of a list have the same items in another order.
fn is_reordered(old: &RawJson, new: &RawJson) -> bool {
    if old.as_bytes() == new.as_bytes() || old.as_bytes().len() != new.as_bytes().len() {
        return false;
    }
    let (Ok(old), Ok(new)) = (old.parse::<Vec<Value>>(), new.parse::<Vec<Value>>()) else { return false };
    let texts = |items: Vec<Value>| items.iter().map(Value::to_string).collect::<Vec<_>>();
    let (mut old, mut new) = (texts(old), texts(new));
    old.sort_unstable();
    new.sort_unstable();
    old == new
}

/// Reads a list.
fn whole(result: &RawJson, list: ListName) -> Result<Whole, Failure> {
    let wrong = || Failure::invalid_response(format!("The server's result of {} has no list", list.method()));
    let members: BTreeMap<String, &RawValue> = result.parse().map_err(|_| wrong())?;
    let items = Method::list_member(list.method()).and_then(|member| members.get(member)).ok_or_else(wrong)?;
    let count = serde_json::from_str::<Vec<IgnoredAny>>(items.get()).map_err(|_| wrong())?.len();
    let member = |name: &str| members.get(name).map(|value| value.get());
    Ok(Whole {
        items: RawJson::slice_of(result.buffer(), items),
        count,
        ttl_ms: member("ttlMs").and_then(|text| serde_json::from_str(text).ok()),
        cache_scope: member("cacheScope").and_then(|text| serde_json::from_str(text).ok()),
    })
}
