//! Fetching documents over the network.

use crate::runtime::BoxedTask;
use bytes::Bytes;
use http::{Request, Response};
use std::time::Duration;

/// Maximum size of a document. Key sets and metadata are a few kilobytes.
pub(crate) const MAX_DOCUMENT: usize = 512 * 1024;

/// Makes HTTP requests. Implementations must limit responses to half a megabyte, must not follow
/// redirects (they could lead to an unchecked address), may use plain HTTP only for the local
/// machine, and must time out after a few seconds.
pub trait Fetch: Send + Sync + 'static {
    /// Sends a request.
    fn fetch(&self, request: Request<Bytes>) -> BoxedTask<Result<Response<Bytes>, FetchError>>;
}

/// Why there is no response. The message names what was requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);

impl FetchError {
    pub(crate) fn timed_out(url: &str, limit: Duration) -> Self {
        Self(format!("Could not fetch {url}: timed out after {limit:?}"))
    }
}
