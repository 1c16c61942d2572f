//! Access tokens that the program supplies itself.

use super::{TokenRequest, token_source::TokenSource};
use crate::{
    client_auth::{AuthError, ClientAuth, CredentialsRefusal, OutgoingRequest},
    runtime::BoxedTask,
};
use std::{
    future::{Future, ready},
    sync::Arc,
};

/// A bearer token, or a function that returns one.
///
/// ```
/// use trunkline::{ClientOptions, auth::AccessToken};
///
/// let fixed = ClientOptions::default().with_auth(AccessToken::new("secret"));
/// let asked = ClientOptions::default().with_auth(AccessToken::from_fn(|request| async move {
///     // `request.refused` is true if the server rejected the last token.
///     Ok(format!("token for {}", request.url))
/// }));
/// ```
#[derive(Clone)]
pub struct AccessToken(TokenSource<TokenRequest>);

impl AccessToken {
    /// Uses a fixed token.
    pub fn new(token: impl Into<String>) -> Self {
        Self(TokenSource::from(token.into()))
    }

    /// Calls a function before each request, and once more if the server refuses its token.
    pub fn from_fn<F>(ask: impl Fn(TokenRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        Self(TokenSource::from_fn(ask))
    }
}

impl ClientAuth for AccessToken {
    fn headers(&self, request: &OutgoingRequest) -> BoxedTask<Result<Vec<(String, String)>, AuthError>> {
        let token = self.0.token(TokenRequest { url: request.url.clone(), refused: false });
        Box::pin(async move { Ok(vec![("authorization".to_owned(), format!("Bearer {}", token.await?))]) })
    }

    fn refused(&self, request: &OutgoingRequest, refusal: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>> {
        if self.0.is_fixed() || refusal.status != 401 || refusal.round > 0 {
            return Box::pin(ready(Ok(false)));
        }
        let token = self.0.token(TokenRequest { url: request.url.clone(), refused: true });
        let used = refusal.headers.into_iter().find(|(name, _)| name == "authorization").map(|(_, value)| value);
        Box::pin(async move { token.await.map(|token| used != Some(format!("Bearer {token}"))) })
    }

    fn context(&self) -> Option<u64> {
        self.0.is_fixed().then_some(0)
    }

    fn check_group(&self) -> Result<(), AuthError> {
        let text = "auth.token is for one server, and a group would send it to all: give it as `auth` of the server's entry, or give the function access_token, which gets the URL";
        if self.0.is_fixed() { Err(AuthError(text.to_owned())) } else { Ok(()) }
    }
}

impl From<TokenSource<TokenRequest>> for AccessToken {
    fn from(source: TokenSource<TokenRequest>) -> Self {
        Self(source)
    }
}

impl From<AccessToken> for Option<Arc<dyn ClientAuth>> {
    fn from(token: AccessToken) -> Self {
        Some(Arc::new(token))
    }
}
