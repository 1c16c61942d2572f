//! The user's part: a page to visit, and the redirect that comes back.

use crate::{client_auth::AuthError, runtime::BoxedTask};
use std::{future::Future, sync::Arc};

/// Lets a user authorize the client in a browser.
pub trait AuthorizationHandler: Send + Sync + 'static {
    /// Prepares one authorization, for example by listening for its redirect.
    fn begin(&self, start: LoginStart) -> BoxedTask<Result<Box<dyn Authorizing>, AuthError>>;
}

/// The facts about an authorization that begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginStart {
    /// The issuer of the authorization server.
    pub issuer: String,
    /// The client registers itself there, so that the redirect URI is free: one for each issuer
    /// keeps codes from being mixed up (RFC 9700 section 4.4.2.2).
    pub registers: bool,
    /// The redirect URI that the client registered itself with earlier. With another one it
    /// registers itself again.
    pub registered: Option<String>,
}

/// One authorization under way. Dropping it ends it.
pub trait Authorizing: Send + Sync {
    /// The redirect URI: https, or http of this machine.
    fn redirect_uri(&self) -> String;
    /// Lets the user visit a URL, and gives the redirect that follows: its URL, or the query of it.
    fn visit(self: Box<Self>, url: String) -> BoxedTask<Result<String, AuthError>>;
}

/// A function that opens a page in a browser or shows its URL, in the place of the browser of this
/// machine. The library listens for the redirect meanwhile. Its error ends the login.
///
/// ```
/// use trunkline::auth::{OAuthOptions, UrlOpener};
///
/// let show = UrlOpener::new(|url| async move {
///     println!("Open {url}");
///     Ok(())
/// });
/// let options = OAuthOptions::default().with_handler(show);
/// ```
#[derive(Clone)]
pub struct UrlOpener(Arc<dyn Fn(String) -> BoxedTask<Result<(), AuthError>> + Send + Sync>);

impl UrlOpener {
    /// The function gets the URL, which must not be changed.
    pub fn new<F>(open: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), AuthError>> + Send + 'static,
    {
        Self(Arc::new(move |url| Box::pin(open(url))))
    }

    /// Calls the function.
    pub fn open(&self, url: String) -> BoxedTask<Result<(), AuthError>> {
        (self.0)(url)
    }
}

type Visit = Arc<dyn Fn(String) -> BoxedTask<Result<String, AuthError>> + Send + Sync>;

/// An [`AuthorizationHandler`] of one function, for programs whose redirect URI is their own: they
/// show the URL and give the redirect that they received.
#[derive(Clone)]
pub struct RedirectHandler {
    redirect_uri: String,
    visit: Visit,
}

impl RedirectHandler {
    /// A handler for the redirect URI of the program.
    pub fn new<F>(redirect_uri: impl Into<String>, visit: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        Self { redirect_uri: redirect_uri.into(), visit: Arc::new(move |url| Box::pin(visit(url))) }
    }
}

impl AuthorizationHandler for RedirectHandler {
    fn begin(&self, _start: LoginStart) -> BoxedTask<Result<Box<dyn Authorizing>, AuthError>> {
        let authorizing: Box<dyn Authorizing> = Box::new(self.clone());
        Box::pin(std::future::ready(Ok(authorizing)))
    }
}

impl Authorizing for RedirectHandler {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn visit(self: Box<Self>, url: String) -> BoxedTask<Result<String, AuthError>> {
        (self.visit)(url)
    }
}
