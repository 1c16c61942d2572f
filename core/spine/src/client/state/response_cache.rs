//! The response cache (2026-07-28, page "Caching").

use crate::{
    client::ClientError,
    engine::later,
    protocol::{RawJson, envelope::Notification, error::code, members::members, method, model::ResourceUpdated},
    sync::Mutex,
};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::time::{Duration, Instant};

/// Maximum cached results.
const MAX_ENTRIES: usize = 1_024;

/// The fresh results of one connection. Nothing is prefetched (CCH-05): a stale result is requested
/// again when it is needed.
pub(in crate::client) struct ResponseCache {
    max_bytes: usize,
    cached: Mutex<CachedResponses>,
}

#[derive(Default)]
struct CachedResponses {
    /// Oldest first.
    entries: IndexMap<CacheKey, CachedResponse>,
    bytes: usize,
    /// Number of changes at the server. A result that was requested before the latest change is not
    /// cached.
    changes: u64,
}

/// The request of a result. Only an identical request gets it (CCH-07).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::client) struct CacheKey {
    pub(in crate::client) method: String,
    /// The parameters as supplied by the program.
    pub(in crate::client) params: Vec<u8>,
}

struct CachedResponse {
    result: RawJson,
    fresh_until: Instant,
    /// The authorization context that may use it. `None` if it is public.
    context: Option<u64>,
}

/// The slot for a requested result.
pub(in crate::client) struct CacheSlot {
    key: CacheKey,
    /// The number of changes and the authorization context when it was requested.
    changes: u64,
    context: Option<u64>,
}

/// The caching hints of a result.
#[derive(Deserialize, Default)]
struct ResultHints {
    #[serde(default, rename = "ttlMs")]
    ttl: Value,
    #[serde(default, rename = "cacheScope")]
    scope: Value,
}

/// Removes an invalid `ttlMs`, which counts as none (CCH-03).
pub(in crate::client) fn with_valid_time(result: RawJson) -> RawJson {
    let hints: ResultHints = result.read().unwrap_or_default();
    if hints.ttl.is_null() || hints.ttl.is_u64() {
        return result;
    }
    let Ok(mut members) = result.parse::<IndexMap<String, &RawValue>>() else { return result };
    members.shift_remove("ttlMs");
    RawJson::from_value(&members).unwrap_or_else(|_| result.clone())
}

impl ResponseCache {
    /// Creates an empty cache. Evicts older results beyond `max_bytes`.
    pub(in crate::client) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, cached: Mutex::default() }
    }

    /// Returns a result that is fresh (CCH-04), and either public or for this context (CCH-09).
    pub(in crate::client) fn get(&self, key: &CacheKey, context: Option<u64>, now: Instant) -> Option<RawJson> {
        let mut cached = self.cached.lock();
        let entry = cached.entries.get(key)?;
        if now >= entry.fresh_until {
            cached.remove(key);
            return None;
        }
        let may_have = entry.context.is_none() || entry.context == context;
        may_have.then(|| entry.result.clone())
    }

    /// The slot for the result of a request that is being sent.
    pub(in crate::client) fn slot(&self, key: CacheKey, context: Option<u64>) -> CacheSlot {
        CacheSlot { key, changes: self.cached.lock().changes, context }
    }

    /// Caches a result, if the server allows it and nothing has changed since it was requested.
    /// `context` is the current one.
    pub(in crate::client) fn keep(
        &self,
        CacheSlot { key, changes, context: requested_in }: &CacheSlot,
        result: &RawJson,
        context: Option<u64>,
        now: Instant,
    ) {
        let hints: ResultHints = result.read().unwrap_or_default();
        // CCH-03: anything but a positive integer is stale immediately.
        let ttl = Duration::from_millis(hints.ttl.as_u64().unwrap_or(0));
        let context = match hints.scope.as_str() {
            Some("public") => None,
            // The credentials are unknown, or have changed in the meantime.
            _ if requested_in.is_none() || *requested_in != context => return,
            _ => context,
        };
        let bytes = size(key, result);
        let mut cached = self.cached.lock();
        if ttl.is_zero() || bytes > self.max_bytes || cached.changes != *changes {
            return;
        }
        cached.remove(key);
        cached.bytes += bytes;
        let fresh_until = later(now, ttl);
        cached.entries.insert(key.clone(), CachedResponse { result: result.clone(), fresh_until, context });
        cached.make_room(self.max_bytes, now);
    }

    /// Invalidates the results that a notification is about (CCH-11).
    pub(in crate::client) fn notification(&self, notification: &Notification) {
        let methods: &[&str] = match notification.method.as_ref() {
            method::TOOLS_LIST_CHANGED => &[method::TOOLS_LIST],
            method::PROMPTS_LIST_CHANGED => &[method::PROMPTS_LIST],
            method::RESOURCES_LIST_CHANGED => &[method::RESOURCES_LIST, method::RESOURCES_TEMPLATES_LIST],
            method::RESOURCES_UPDATED => {
                let updated = notification.params.as_ref().and_then(|params| params.read::<ResourceUpdated>().ok());
                self.forget_where(|key| key.method == method::RESOURCES_READ && key.is_about(updated.as_ref()));
                return;
            }
            _ => return,
        };
        self.forget_where(|key| methods.contains(&&*key.method));
    }

    /// Removes the results of a method.
    pub(in crate::client) fn forget(&self, method: &str) {
        self.forget_where(|key| key.method == method);
    }

    /// CCH-12: discards the pages of a list if the server refuses the cursor of one. Otherwise the
    /// list would begin again with the same cached page.
    pub(in crate::client) fn refused(&self, CacheSlot { key, .. }: &CacheSlot, error: &ClientError) {
        let is_invalid = matches!(error, ClientError::Protocol(error) if error.code == code::INVALID_PARAMS);
        if is_invalid && key.has_cursor() {
            self.forget(&key.method);
        }
    }

    /// Removes everything, because changes may have been missed.
    pub(in crate::client) fn clear(&self) {
        self.forget_where(|_| true);
    }

    fn forget_where(&self, is_stale: impl Fn(&CacheKey) -> bool) {
        let mut cached = self.cached.lock();
        cached.changes += 1;
        cached.entries.retain(|key, _| !is_stale(key));
        cached.bytes = cached.entries.iter().map(|(key, entry)| size(key, &entry.result)).sum();
    }
}

impl CachedResponses {
    fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.entries.shift_remove(key) {
            self.bytes -= size(key, &entry.result);
        }
    }

    /// Evicts stale entries first, then the oldest.
    fn make_room(&mut self, max_bytes: usize, now: Instant) {
        let too_much = |cached: &Self| cached.bytes > max_bytes || cached.entries.len() > MAX_ENTRIES;
        if too_much(self) {
            self.entries.retain(|_, entry| now < entry.fresh_until);
            self.bytes = self.entries.iter().map(|(key, entry)| size(key, &entry.result)).sum();
        }
        while too_much(self) {
            let Some((key, entry)) = self.entries.shift_remove_index(0) else { return };
            self.bytes -= size(&key, &entry.result);
        }
    }
}

impl CacheKey {
    pub(in crate::client) fn new(method: &str, params: Option<&RawJson>) -> Self {
        Self { method: method.to_owned(), params: params.map(|params| params.as_bytes().to_vec()).unwrap_or_default() }
    }

    fn has_cursor(&self) -> bool {
        members(&self.params, ["cursor"]).is_ok_and(|[cursor]| cursor.is_some())
    }

    /// Returns whether the update may affect this resource: it names the resource itself, a part of
    /// it, or a resource that contains it. An update without a URI may affect any resource.
    fn is_about(&self, updated: Option<&ResourceUpdated>) -> bool {
        let read = members(&self.params, ["uri"]).ok().and_then(|[uri]| uri?.as_str());
        match (updated, read) {
            (Some(ResourceUpdated { uri, .. }), Some(read)) => lies_below(uri, &read) || lies_below(&read, uri),
            _ => true,
        }
    }
}

fn size(key: &CacheKey, result: &RawJson) -> usize {
    key.method.len() + key.params.len() + result.as_bytes().len()
}

/// Returns whether a URI is equal to another or below it, because a server may announce a part of
/// what was subscribed to.
pub(in crate::client) fn lies_below(uri: &str, above: &str) -> bool {
    uri.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || above.ends_with('/') || rest.starts_with(['/', '#', '?']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_resource_lies_below_it() {
        for (uri, below) in [("a:/b", true), ("a:/b/c", true), ("a:/b#c", true), ("a:/bc", false), ("a:/", false)] {
            assert_eq!(lies_below(uri, "a:/b"), below, "{uri}");
        }
        assert!(lies_below("a:/b", "a:/"));
    }
}
