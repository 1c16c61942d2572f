//! Hints for the caches of clients (the specification's caching page).

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// For how long and for whom a result stays right. Only 2026-07-28 has such hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHints {
    /// How long after receipt the result is fresh. Default 0: ask again each time.
    pub ttl: Duration,
    /// Who may share it.
    pub scope: CacheScope,
}

/// Who may share a cached result. No substitute for access control (CCH-13).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Only the caller it was made for.
    #[default]
    Private,
    /// Everyone.
    Public,
}

impl Default for CacheHints {
    fn default() -> Self {
        Self { ttl: Duration::ZERO, scope: CacheScope::Private }
    }
}

impl CacheHints {
    /// The members of a result, without braces (CCH-01).
    pub(in crate::server) fn members(&self) -> String {
        format!(r#""ttlMs":{},"cacheScope":"{}""#, self.ttl_ms(), self.scope.as_str())
    }

    /// Whole milliseconds, as far as JSON numbers are exact.
    pub(in crate::server) fn ttl_ms(&self) -> u64 {
        const EXACT: u64 = (1 << 53) - 1;
        u64::try_from(self.ttl.as_millis()).map_or(EXACT, |ms| ms.min(EXACT))
    }
}

impl CacheScope {
    pub(in crate::server) fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Public => "public",
        }
    }
}
