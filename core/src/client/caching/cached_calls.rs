//! Calls with cacheable results.

use super::response_cache::{CacheKey, CacheSlot};
use crate::{
    client::{calls::client_call::RequestParts, client_error::ClientError, inner::ClientInner},
    protocol::{RawJson, Revision, RevisionFeature},
};
use indexmap::IndexMap;
use serde_json::value::RawValue;

impl ClientInner {
    /// The cache key of a request with a cacheable result.
    pub(in crate::client) fn cache_key(&self, request: RequestParts<'_>) -> Option<CacheKey> {
        let row = request.row.filter(|row| self.options.cache && row.cacheable)?;
        self.revision().filter(|revision: &Revision| revision.supports(RevisionFeature::CacheHints))?;
        // CCH-08: the answers of a round are not part of the key.
        let is_round = row.takes_input && (request.options.input_responses.are_given() || has_round(request.params));
        (!is_round).then(|| CacheKey::new(request.method, request.params))
    }

    /// The cached result of a request, if it is fresh.
    pub(in crate::client) fn cached(&self, key: &CacheKey) -> Result<Option<RawJson>, ClientError> {
        self.check_open()?;
        Ok(self.cache.get(key, self.auth_context(), self.runtime.now()))
    }

    /// The cache slot for the result of a request that is being sent.
    pub(in crate::client) fn cache_slot(&self, key: CacheKey) -> CacheSlot {
        self.cache.slot(key, self.auth_context())
    }

    pub(in crate::client) fn keep_result(&self, slot: &CacheSlot, result: &RawJson) {
        self.cache.keep(slot, result, self.auth_context(), self.runtime.now());
    }

    /// The authorization context of the next request, if known.
    fn auth_context(&self) -> Option<u64> {
        self.options.auth.as_ref().map_or(Some(0), |auth| auth.context())
    }
}

/// Returns whether the parameters belong to a later round.
fn has_round(params: Option<&RawJson>) -> bool {
    let members = params.and_then(|params| params.parse::<IndexMap<String, &RawValue>>().ok());
    members.is_some_and(|members| members.contains_key("inputResponses") || members.contains_key("requestState"))
}
