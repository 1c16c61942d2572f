//! Access tokens that the program has from elsewhere.

use crate::{
    client_auth::{AuthError, ClientAuth, CredentialsRefusal, OutgoingRequest},
    runtime::BoxedTask,
};
use std::{
    future::{Future, ready},
    sync::Arc,
};

/// A bearer token, or a function that gives one.
///
/// ```
/// use trunkline::{ClientOptions, auth::AccessToken};
///
/// let fixed = ClientOptions::default().with_auth(AccessToken::new("secret"));
/// let asked = ClientOptions::default().with_auth(AccessToken::from_fn(|request| async move {
///     // `request.refused`: the server did not take the last one.
///     Ok(format!("token for {}", request.url))
/// }));
/// ```
#[derive(Clone)]
pub struct AccessToken(Source);

#[derive(Clone)]
enum Source {
    Fixed(String),
    Asked(Arc<dyn Fn(TokenRequest) -> BoxedTask<Result<String, AuthError>> + Send + Sync>),
}

/// The request that a token is for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TokenRequest {
    /// The URL of the server.
    pub url: String,
    /// The server has refused the last token.
    pub refused: bool,
}

impl AccessToken {
    /// A token that stays the same.
    pub fn new(token: impl Into<String>) -> Self {
        Self(Source::Fixed(token.into()))
    }

    /// A function that is asked before each request, and once more if the server refuses its token.
    pub fn from_fn<F>(ask: impl Fn(TokenRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        Self(Source::Asked(Arc::new(move |request| Box::pin(ask(request)))))
    }
}

impl ClientAuth for AccessToken {
    fn headers(&self, request: &OutgoingRequest) -> BoxedTask<Result<Vec<(String, String)>, AuthError>> {
        let header = |token: String| vec![("authorization".to_owned(), format!("Bearer {token}"))];
        match &self.0 {
            Source::Fixed(token) => Box::pin(ready(Ok(header(token.clone())))),
            Source::Asked(ask) => {
                let token = ask(TokenRequest { url: request.url.clone(), refused: false });
                Box::pin(async move { token.await.map(header) })
            }
        }
    }

    fn refused(&self, request: &OutgoingRequest, refusal: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>> {
        match &self.0 {
            Source::Asked(ask) if refusal.status == 401 && refusal.round == 0 => {
                let token = ask(TokenRequest { url: request.url.clone(), refused: true });
                let used =
                    refusal.headers.into_iter().find(|(name, _)| name == "authorization").map(|(_, value)| value);
                Box::pin(async move { token.await.map(|token| used != Some(format!("Bearer {token}"))) })
            }
            _ => Box::pin(ready(Ok(false))),
        }
    }

    fn context(&self) -> Option<u64> {
        matches!(self.0, Source::Fixed(_)).then_some(0)
    }
}

impl From<AccessToken> for Option<Arc<dyn ClientAuth>> {
    fn from(token: AccessToken) -> Self {
        Some(Arc::new(token))
    }
}
