//! Response caching, as the server allows.

mod cached_calls;
pub(super) mod response_cache;
