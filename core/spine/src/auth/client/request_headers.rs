//! Custom headers, computed for each request by a function.

use crate::{
    client_auth::{AuthError, ClientAuth, CredentialsRefusal, OutgoingRequest},
    runtime::BoxedTask,
};
use serde::Serialize;
use serde_json::Value;
use std::{
    future::{Future, ready},
    sync::Arc,
};

/// A function that returns headers for each request, in addition to credentials if there are any.
///
/// ```
/// use trunkline::{ClientOptions, auth::{AccessToken, RequestHeaders}};
///
/// let traced = RequestHeaders::from_fn(|request| async move {
///     Ok([("x-request-target".to_owned(), request.url)])
/// });
/// let options = ClientOptions::default().with_auth(traced.with_auth(AccessToken::new("secret")));
/// ```
#[derive(Clone)]
pub struct RequestHeaders {
    ask: Arc<dyn Fn(HeadersRequest) -> BoxedTask<Result<Headers, AuthError>> + Send + Sync>,
    auth: Option<Arc<dyn ClientAuth>>,
}

trunkline_proto::described! {
    /// A request that needs headers.
    #[derive(Serialize)]
    pub struct HeadersRequest {
        /// HTTP method.
        required method: String = "method",
        /// URL of the request.
        required url: String = "url",
    }
}

type Headers = Vec<(String, String)>;

/// Headers with a meaning for HTTP or the protocol, in addition to those whose names begin with
/// `mcp-`.
const RESERVED_HEADERS: [&str; 8] =
    ["accept", "connection", "content-length", "content-type", "host", "last-event-id", "transfer-encoding", "upgrade"];

impl RequestHeaders {
    /// Calls a function before each request. It returns names and values; headers of the
    /// credentials take precedence over its own.
    pub fn from_fn<F, H>(ask: impl Fn(HeadersRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<H, AuthError>> + Send + 'static,
        H: IntoIterator<Item = (String, String)>,
    {
        let ask = move |request| -> BoxedTask<Result<Headers, AuthError>> {
            let given = ask(request);
            Box::pin(async move { checked(given.await?) })
        };
        Self { ask: Arc::new(ask), auth: None }
    }

    /// Sends credentials as well.
    #[must_use]
    pub fn with_auth(self, auth: impl Into<Option<Arc<dyn ClientAuth>>>) -> Self {
        Self { auth: auth.into(), ..self }
    }
}

impl ClientAuth for RequestHeaders {
    fn headers(&self, request: &OutgoingRequest) -> BoxedTask<Result<Headers, AuthError>> {
        let given = (self.ask)(HeadersRequest { method: request.method.clone(), url: request.target.clone() });
        let credentials = self.auth.as_ref().map(|auth| auth.headers(request));
        Box::pin(async move {
            let mut headers = given.await?;
            if let Some(credentials) = credentials {
                // The last header of a name wins.
                headers.extend(credentials.await?);
            }
            Ok(headers)
        })
    }

    fn refused(&self, request: &OutgoingRequest, refusal: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>> {
        match &self.auth {
            Some(auth) => auth.refused(request, refusal),
            None => Box::pin(ready(Ok(false))),
        }
    }

    fn nonce(&self, request: &OutgoingRequest, nonce: &str) {
        if let Some(auth) = &self.auth {
            auth.nonce(request, nonce);
        }
    }

    fn logout(&self, request: &OutgoingRequest) -> BoxedTask<Result<(), AuthError>> {
        match &self.auth {
            Some(auth) => auth.logout(request),
            None => Box::pin(ready(Ok(()))),
        }
    }

    /// Unknown: the function may name another user in each request.
    fn context(&self) -> Option<u64> {
        None
    }

    fn for_server(&self, options: &Value) -> Option<Result<Arc<dyn ClientAuth>, AuthError>> {
        self.auth.as_ref()?.for_server(options)
    }

    fn around(&self, own: Arc<dyn ClientAuth>) -> Arc<dyn ClientAuth> {
        Arc::new(self.clone().with_auth(own))
    }

    fn check_group(&self) -> Result<(), AuthError> {
        self.auth.as_ref().map_or(Ok(()), |auth| auth.check_group())
    }

    fn extension(&self) -> Option<&'static str> {
        self.auth.as_ref()?.extension()
    }
}

impl From<RequestHeaders> for Option<Arc<dyn ClientAuth>> {
    fn from(headers: RequestHeaders) -> Self {
        Some(Arc::new(headers))
    }
}

fn checked(given: impl IntoIterator<Item = (String, String)>) -> Result<Headers, AuthError> {
    given
        .into_iter()
        .map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            if RESERVED_HEADERS.contains(&&*name) || name.starts_with("mcp-") {
                return Err(AuthError(format!(
                    "The header {name:?} is set by the protocol: the function must not return it"
                )));
            }
            Ok((name, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_protocol_are_refused() {
        let given = |name: &str| checked([(name.to_owned(), "x".to_owned())]);
        assert_eq!(given("X-Team"), Ok(vec![("x-team".to_owned(), "x".to_owned())]));
        for name in ["Content-Type", "MCP-Protocol-Version", "mcp-param-x", "host"] {
            assert!(given(name).unwrap_err().0.contains("is set by the protocol"), "{name}");
        }
    }
}
