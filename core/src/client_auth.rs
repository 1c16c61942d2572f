//! The interface between a client's HTTP connections and the authority that gives them credentials.

use crate::runtime::{BoxedTask, Runtime};
use serde_json::Value;
use std::{fmt, net::IpAddr, sync::Arc};

/// Gives the HTTP requests of a client their credentials: `Authorization`, and what belongs to it.
///
/// One value may serve many connections at once.
pub trait ClientAuth: Send + Sync + 'static {
    /// The headers of a request, names in lower case. Asked for each request anew.
    fn headers(&self, request: &OutgoingRequest) -> BoxedTask<Result<Vec<(String, String)>, AuthError>>;

    /// A server has refused a request (401 or 403). `true`: the request is to be made once more,
    /// with new headers.
    fn refused(&self, request: &OutgoingRequest, refusal: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>>;

    /// A server has sent a nonce for the next proof of possession (RFC 9449 section 8.2).
    fn nonce(&self, request: &OutgoingRequest, nonce: &str) {
        let _ = (request, nonce);
    }

    /// The authorization context of the next request, if it is known before it is made: results
    /// that are private to a context are kept for it alone, and without one they are not kept. It
    /// changes with the credentials.
    fn context(&self) -> Option<u64> {
        None
    }

    /// The credentials with options for one server, which an entry of a configuration gives in
    /// JSON. `None`: they have none.
    fn for_server(&self, options: &Value) -> Option<Result<Arc<dyn ClientAuth>, AuthError>> {
        let _ = options;
        None
    }

    /// The identifier of the extension that these credentials follow, which the client declares
    /// among its capabilities.
    fn extension(&self) -> Option<&'static str> {
        None
    }
}

impl fmt::Debug for dyn ClientAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientAuth")
    }
}

/// The facts about a request that needs credentials.
#[derive(Clone)]
#[non_exhaustive]
pub struct OutgoingRequest {
    /// The HTTP method.
    pub method: String,
    /// The URL of the endpoint, by which the server is known.
    pub url: String,
    /// The URL that this request goes to: another one than that of the endpoint for messages over
    /// HTTP+SSE.
    pub target: String,
    /// The revision that is spoken, once it is known: the value of `MCP-Protocol-Version`.
    pub revision: Option<&'static str>,
    /// Tasks and time.
    pub runtime: Arc<dyn Runtime>,
}

impl OutgoingRequest {
    /// A request to an endpoint.
    pub fn new(method: impl Into<String>, url: impl Into<String>, runtime: Arc<dyn Runtime>) -> Self {
        let url = url.into();
        Self { method: method.into(), target: url.clone(), url, revision: None, runtime }
    }
}

/// The refusal of a request by a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CredentialsRefusal {
    /// The HTTP status: 401 or 403.
    pub status: u16,
    /// The values of `WWW-Authenticate`.
    pub challenges: Vec<String>,
    /// The headers that the request got from [`ClientAuth::headers`].
    pub headers: Vec<(String, String)>,
    /// Number of earlier refusals of this request.
    pub round: usize,
    /// A person may be asked: somebody waits for the answer of this request.
    pub interactive: bool,
    /// The address that refused it, unless it is unknown, as behind a proxy.
    pub peer: Option<IpAddr>,
}

/// Why there are no credentials; the text is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AuthError(pub String);
