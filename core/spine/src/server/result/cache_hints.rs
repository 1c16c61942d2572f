//! Cache hints for clients (the specification's caching page).

use crate::protocol::options::Millis;
use std::time::Duration;

trunkline_proto::options! {
    /// The validity of a result: for how long, and for whom. Only 2026-07-28 has such hints.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct CacheHints {
        /// Time for which a client may cache the result; 0 disables caching.
        ttl: Duration => "ttlMs" as Millis = Duration::ZERO,
        /// The callers that may share a cached result: only the one it was made for, or all.
        scope: CacheScope => "cacheScope" = CacheScope::Private,
    }
}

trunkline_proto::json_names! {
    /// The callers that may share a cached result. Not a substitute for access control.
    pub enum CacheScope, by default Private, non_exhaustive {
        /// Only the caller that received the result.
        Private = "private",
        /// All callers.
        Public = "public",
    }
}

impl CacheHints {
    /// The members of a result, without braces (CCH-01).
    pub(in crate::server) fn members(&self) -> String {
        format!(r#""ttlMs":{},"cacheScope":"{}""#, self.ttl_ms(), self.scope.as_str())
    }

    /// Whole milliseconds, within the exact range of JSON numbers.
    pub(in crate::server) fn ttl_ms(&self) -> u64 {
        const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
        u64::try_from(self.ttl.as_millis()).map_or(MAX_SAFE_INTEGER, |ms| ms.min(MAX_SAFE_INTEGER))
    }
}
