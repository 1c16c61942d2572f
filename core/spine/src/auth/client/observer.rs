//! The steps of a login, for whoever has to find out why one fails.

use crate::{client_auth::AuthError, runtime::BoxedTask};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// One step of a login: an HTTP exchange of the client, or of the user's browser. It contains no
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthExchange {
    /// The HTTP method.
    pub method: String,
    /// The URL, without its query.
    pub url: String,
    /// The status; `None` if the user's browser made the request.
    pub status: Option<u16>,
    /// The members that matter, such as `issuer = https://login.example.com`.
    pub members: Vec<String>,
    /// The text that the exchange must follow, such as `RFC 8414 section 3.2`.
    pub clause: &'static str,
    /// Repeats the step.
    pub repeat: AuthRepeat,
}

/// Repeats a step of a login with what the steps before it have given. Its request may contain
/// secrets, which it does not show.
#[derive(Clone)]
pub struct AuthRepeat(pub(super) Result<Arc<Repeat>, &'static str>);

pub(super) type Repeat = dyn Fn() -> BoxedTask<Result<AuthExchange, AuthError>> + Send + Sync;

impl AuthRepeat {
    /// The step of a browser.
    pub(super) const IN_BROWSER: Self = Self(Err("This request is one of your browser: log in again to make it"));
    /// The refusal with which a login begins.
    pub(super) const BY_SERVER: Self = Self(Err("The next request to the server repeats this: log in again"));

    /// Sends the request again, as it was. The login does not continue from there, and the observer
    /// is not told.
    ///
    /// # Errors
    /// If there is no response, or the request cannot be repeated: a browser made it, or it
    /// contains a code that is valid once.
    pub async fn send(&self) -> Result<AuthExchange, AuthError> {
        match &self.0 {
            Ok(repeat) => repeat().await,
            Err(why) => Err(AuthError((*why).to_owned())),
        }
    }
}

impl fmt::Debug for AuthRepeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthRepeat")
    }
}

/// A step is the same with and without the means to repeat it.
impl PartialEq for AuthRepeat {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for AuthRepeat {}

/// A function that gets each step of a login when it has happened.
///
/// ```
/// use trunkline::auth::{AuthObserver, OAuthOptions};
///
/// let observer = AuthObserver::new(|step| eprintln!("{} {:?}", step.url, step.status));
/// let options = OAuthOptions::default().with_observer(observer);
/// ```
#[derive(Clone)]
pub struct AuthObserver(Arc<dyn Fn(AuthExchange) + Send + Sync>);

impl AuthObserver {
    /// The function must not block.
    pub fn new(see: impl Fn(AuthExchange) + Send + Sync + 'static) -> Self {
        Self(Arc::new(see))
    }

    pub(super) fn see(&self, exchange: AuthExchange) {
        (self.0)(exchange);
    }
}

impl fmt::Debug for AuthObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthObserver")
    }
}

/// The text that a response must follow, and the members that matter in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clause(pub(super) &'static str, pub(super) &'static [&'static str]);

impl Clause {
    pub(super) const RESOURCE: Self = Self("RFC 9728 section 3.2", &["resource", "authorization_servers"]);
    pub(super) const SERVER: Self = Self(
        "RFC 8414 section 3.2",
        &["issuer", "authorization_endpoint", "token_endpoint", "code_challenge_methods_supported"],
    );
    pub(super) const REGISTRATION: Self = Self("RFC 7591 section 3.2.1", &["client_id", "redirect_uris"]);
    pub(super) const TOKEN: Self = Self("RFC 6749 section 5.1", &["token_type", "expires_in", "scope"]);
    pub(super) const DEVICE: Self = Self("RFC 8628 section 3.2", &["verification_uri", "expires_in", "interval"]);
    pub(super) const REVOCATION: Self = Self("RFC 7009 section 2.2", &[]);

    /// The step of a response.
    pub(super) fn step(
        &self,
        request: &Request<Bytes>,
        response: &Response<Bytes>,
        repeat: AuthRepeat,
    ) -> AuthExchange {
        let Self(clause, names) = *self;
        let body: Value = serde_json::from_slice(response.body()).unwrap_or_default();
        let names: &[&str] = if response.status() < StatusCode::BAD_REQUEST && body["error"].is_null() {
            names
        } else {
            &["error", "error_description"]
        };
        let member = |name: &&str| match &body[*name] {
            Value::Null => None,
            Value::String(text) => Some(format!("{name} = {}", super::sanitized(text))),
            other => Some(format!("{name} = {}", super::sanitized(&other.to_string()))),
        };
        AuthExchange {
            method: request.method().to_string(),
            url: bare(&request.uri().to_string()),
            status: Some(response.status().as_u16()),
            members: names.iter().filter_map(member).collect(),
            clause,
            repeat,
        }
    }
}

/// A URL without its query, which may have secrets.
pub(super) fn bare(url: &str) -> String {
    super::sanitized(url.split(['?', '#']).next().unwrap_or(url))
}
