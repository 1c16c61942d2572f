//! Tokens from the program: fixed, or returned by a function; and the arguments of such functions.

use crate::{
    client_auth::AuthError,
    protocol::{describe::Type, options::JsonForm},
    runtime::BoxedTask,
};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;
use std::{
    fmt,
    future::{Future, ready},
    sync::Arc,
};

/// A fixed token, or a function that returns one for a request `R`.
///
/// ```
/// use trunkline::auth::{AssertionRequest, TokenSource};
///
/// let fixed = TokenSource::<AssertionRequest>::from("a JWT");
/// let asked = TokenSource::from_fn(|request: AssertionRequest| async move {
///     Ok(format!("a JWT for {}", request.issuer))
/// });
/// ```
pub struct TokenSource<R> {
    ask: Arc<TokenFunction<R>>,
    is_fixed: bool,
}

type TokenFunction<R> = dyn Fn(R) -> BoxedTask<Result<String, AuthError>> + Send + Sync;

impl<R> TokenSource<R> {
    /// Calls a function each time a token is needed.
    pub fn from_fn<F>(ask: impl Fn(R) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        Self { ask: Arc::new(move |request| Box::pin(ask(request))), is_fixed: false }
    }

    /// The token for a request.
    pub(super) fn token(&self, request: R) -> BoxedTask<Result<String, AuthError>> {
        (self.ask)(request)
    }

    pub(super) fn is_fixed(&self) -> bool {
        self.is_fixed
    }
}

impl<R> From<String> for TokenSource<R> {
    fn from(token: String) -> Self {
        Self { is_fixed: true, ..Self::from_fn(move |_| ready(Ok(token.clone()))) }
    }
}

impl<R> From<&str> for TokenSource<R> {
    fn from(token: &str) -> Self {
        Self::from(token.to_owned())
    }
}

impl<R> Clone for TokenSource<R> {
    fn clone(&self) -> Self {
        Self { ask: Arc::clone(&self.ask), is_fixed: self.is_fixed }
    }
}

/// Omits the token.
impl<R> fmt::Debug for TokenSource<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSource")
    }
}

/// The JSON form of a token: a string, which is never serialized because it is secret.
pub(super) struct SecretText;

impl<R> JsonForm<Option<TokenSource<R>>> for SecretText {
    const TYPE: Type = Type::String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TokenSource<R>>, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Err(D::Error::custom("is empty"));
        }
        Ok(Some(text.into()))
    }

    fn write(source: &Option<TokenSource<R>>) -> Value {
        source.as_ref().map_or(Value::Null, |_| "given".into())
    }
}

trunkline_proto::described! {
    /// A request that needs an access token.
    #[derive(Serialize)]
    pub struct TokenRequest {
        /// URL of the server.
        required url: String = "url",
        /// True if the server rejected the last token.
        required refused: bool = "refused",
    }

    /// A request for an ID token of the user. The program implements the sign-on itself.
    #[derive(Serialize)]
    pub struct IdentityTokenRequest {
        /// Token endpoint of the identity provider.
        required token_endpoint: String = "tokenEndpoint",
    }

    /// A request for an assertion of a workload.
    #[derive(Serialize)]
    pub struct AssertionRequest {
        /// Issuer of the authorization server, which is the audience.
        required issuer: String = "issuer",
        /// Token endpoint of the authorization server.
        required token_endpoint: String = "tokenEndpoint",
        /// Identifier of the MCP server.
        required resource: String = "resource",
    }
}
