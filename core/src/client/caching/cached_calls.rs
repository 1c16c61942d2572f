//! Calls with cacheable results.

use super::response_cache::CacheKey;
use crate::{
    client::{calls::client_call::RequestParts, inner::ClientInner},
    protocol::{RawJson, Revision, RevisionFeature, members::members},
};

impl ClientInner {
    /// The cache key of a request with a cacheable result.
    pub(in crate::client) fn cache_key(&self, request: RequestParts<'_>) -> Option<CacheKey> {
        let row = request.row.filter(|row| self.options.cache && row.cacheable)?;
        self.revision().filter(|revision: &Revision| revision.supports(RevisionFeature::CacheHints))?;
        // CCH-08: the answers of a round are not part of the key.
        let is_round = row.takes_input && (request.options.input_responses.are_given() || has_round(request.params));
        (!is_round).then(|| CacheKey::new(request.method, request.params))
    }

    /// The authorization context of the next request, if known.
    pub(in crate::client) fn auth_context(&self) -> Option<u64> {
        self.options.auth.as_ref().map_or(Some(0), |auth| auth.context())
    }
}

/// Returns whether the parameters belong to a later round.
fn has_round(params: Option<&RawJson>) -> bool {
    params.is_some_and(|params| members(params.as_bytes(), ["inputResponses", "requestState"]) != Ok([None, None]))
}
