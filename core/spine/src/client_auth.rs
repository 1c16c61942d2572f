//! The interface between a client's HTTP connections and the source of their credentials.

use crate::runtime::{BoxedTask, Runtime};
use serde_json::Value;
use std::{fmt, future::ready, net::IpAddr, sync::Arc};

/// Supplies credentials for a client's HTTP requests: `Authorization`, and related headers.
///
/// A value may be used by many connections concurrently.
pub trait ClientAuth: Send + Sync + 'static {
    /// Returns the headers of a request, with lowercase names. Called for each request.
    fn headers(&self, request: &OutgoingRequest) -> BoxedTask<Result<Vec<(String, String)>, AuthError>>;

    /// Called when a server has refused a request (401 or 403). Returns `true` to retry the request
    /// with new headers.
    fn refused(&self, request: &OutgoingRequest, refusal: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>>;

    /// Called when a server has sent a nonce for the next proof of possession (RFC 9449 section
    /// 8.2).
    fn nonce(&self, request: &OutgoingRequest, nonce: &str) {
        let _ = (request, nonce);
    }

    /// Forgets the credentials that were obtained for the server of a request, and revokes them
    /// where that is possible. Credentials that the program supplies itself remain.
    fn logout(&self, request: &OutgoingRequest) -> BoxedTask<Result<(), AuthError>> {
        let _ = request;
        Box::pin(ready(Ok(())))
    }

    /// The authorization context of the next request, if known in advance. Private results are
    /// cached for their context only; without a context, they are not cached. It changes with the
    /// credentials.
    fn context(&self) -> Option<u64> {
        None
    }

    /// The credentials with options for one server, from the JSON of a configuration entry. Returns
    /// `None` if there are no such options.
    fn for_server(&self, options: &Value) -> Option<Result<Arc<dyn ClientAuth>, AuthError>> {
        let _ = options;
        None
    }

    /// Wraps the credentials of one server, from [`Self::for_server`] or its configuration entry,
    /// so that it also gets what these send to every server. By default, returns them unchanged.
    fn around(&self, own: Arc<dyn ClientAuth>) -> Arc<dyn ClientAuth> {
        own
    }

    /// Checks that a group may use these credentials for all of its servers.
    ///
    /// # Errors
    /// Returns an error that names what is meant for a single server.
    #[doc(hidden)]
    fn check_group(&self) -> Result<(), AuthError> {
        Ok(())
    }

    /// The identifier of the extension that these credentials implement, which the client declares
    /// in its capabilities.
    fn extension(&self) -> Option<&'static str> {
        None
    }
}

impl fmt::Debug for dyn ClientAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientAuth")
    }
}

/// A request that needs credentials.
#[derive(Clone)]
#[non_exhaustive]
pub struct OutgoingRequest {
    /// The HTTP method.
    pub method: String,
    /// The URL of the endpoint, which identifies the server.
    pub url: String,
    /// The URL of this request, which differs from that of the endpoint for messages over HTTP+SSE.
    pub target: String,
    /// The negotiated revision, or the one that a handshake offers: the value of
    /// `MCP-Protocol-Version`.
    pub revision: Option<&'static str>,
    /// The runtime.
    pub runtime: Arc<dyn Runtime>,
}

impl OutgoingRequest {
    /// Creates a request to an endpoint.
    pub fn new(method: impl Into<String>, url: impl Into<String>, runtime: Arc<dyn Runtime>) -> Self {
        let url = url.into();
        Self { method: method.into(), target: url.clone(), url, revision: None, runtime }
    }
}

/// A server's refusal of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CredentialsRefusal {
    /// The HTTP status: 401 or 403.
    pub status: u16,
    /// The values of `WWW-Authenticate`.
    pub challenges: Vec<String>,
    /// The headers from [`ClientAuth::headers`].
    pub headers: Vec<(String, String)>,
    /// Number of earlier refusals of this request.
    pub round: usize,
    /// True if the user may be asked, because a caller is waiting for this request.
    pub interactive: bool,
    /// The address that refused it; unknown behind a proxy.
    pub peer: Option<IpAddr>,
}

/// Why there are no credentials. The message is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AuthError(pub String);
