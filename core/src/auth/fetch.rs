//! Documents from the network, as this module sees it.

use crate::runtime::BoxedTask;
use bytes::Bytes;
use http::{Request, Response};
use std::time::Duration;

/// The largest document that is read: sets of keys and metadata are a few kilobytes.
pub(crate) const MAX_DOCUMENT: usize = 512 * 1024;

/// Makes HTTP requests. Implementations bound the response at half a megabyte, follow no redirects
/// (one would lead to an address that nobody checked), speak plain HTTP to this machine only, and
/// give up after some seconds.
pub trait Fetch: Send + Sync + 'static {
    /// Makes a request.
    fn fetch(&self, request: Request<Bytes>) -> BoxedTask<Result<Response<Bytes>, FetchError>>;
}

/// Why there is no response; the text says what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);

impl FetchError {
    pub(crate) fn timed_out(url: &str, limit: Duration) -> Self {
        Self(format!("Could not fetch {url}: timed out after {limit:?}"))
    }
}
