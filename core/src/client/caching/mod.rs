//! Results that the server lets the client keep for a time.

mod cached_calls;
pub(super) mod response_cache;
