//! The interactive part of a login: a page to visit, and the redirect back.

use crate::{client_auth::AuthError, runtime::BoxedTask};
use std::{
    future::{Future, ready},
    sync::Arc,
};

/// Lets a user authorize the client in a browser.
pub trait AuthorizationHandler: Send + Sync + 'static {
    /// Prepares one authorization, for example by listening for its redirect.
    fn begin(&self, start: LoginStart) -> BoxedTask<Result<Box<dyn Authorizing>, AuthError>>;

    /// Shows the user a page and the code to enter there, for the grant `device_code` (RFC 8628
    /// section 3.3). The login does not wait for this, but fails if it fails.
    fn show_page(&self, page: LoginPage) -> BoxedTask<Result<(), AuthError>> {
        let _ = page;
        let text = "The handler of logins shows no device codes: use a UrlOpener, or implement show_page";
        Box::pin(ready(Err(AuthError(text.to_owned()))))
    }
}

/// A page where the user logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginPage {
    /// Its URL, which must not be changed.
    pub url: String,
    /// The code that the user enters there, or compares if the page shows it already (grant
    /// `device_code`).
    pub user_code: Option<String>,
}

/// The start of an authorization.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginStart {
    /// The issuer of the authorization server.
    pub issuer: String,
    /// True if the client registers itself there, so that any redirect URI works. A distinct one
    /// per issuer prevents mix-up attacks (RFC 9700 section 4.4.2.2).
    pub registers: bool,
    /// The redirect URI of an earlier registration. If you use another one, the client registers
    /// again.
    pub registered: Option<String>,
}

/// An authorization in progress. Dropping it ends it.
pub trait Authorizing: Send + Sync {
    /// The redirect URI: https, or http on this machine.
    fn redirect_uri(&self) -> String;
    /// Sends the user to a URL and returns the redirect that follows: its URL, or only the query.
    fn visit(self: Box<Self>, url: String) -> BoxedTask<Result<String, AuthError>>;
}

/// A function that opens a page in a browser or shows its URL, instead of the default browser of
/// this machine. Meanwhile, the library listens for the redirect. An error ends the login.
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
pub struct UrlOpener(Arc<Open>);

type Open = dyn Fn(LoginPage) -> BoxedTask<Result<(), AuthError>> + Send + Sync;

impl UrlOpener {
    /// The function gets the URL, which it must not change.
    pub fn new<F>(open: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), AuthError>> + Send + 'static,
    {
        Self(Arc::new(move |page| match page.user_code {
            Some(code) if !page.url.contains(&code) => {
                let text = format!("The function that opens URLs cannot show the code {code}: use UrlOpener::of_pages");
                Box::pin(ready(Err(AuthError(text))))
            }
            _ => Box::pin(open(page.url)),
        }))
    }

    /// The function gets the page, and shows its code if it has one (grant `device_code`).
    pub fn of_pages<F>(show: impl Fn(LoginPage) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), AuthError>> + Send + 'static,
    {
        Self(Arc::new(move |page| Box::pin(show(page))))
    }

    /// Calls the function.
    pub fn open(&self, url: String) -> BoxedTask<Result<(), AuthError>> {
        self.show(LoginPage { url, user_code: None })
    }

    /// Calls the function with a page.
    pub fn show(&self, page: LoginPage) -> BoxedTask<Result<(), AuthError>> {
        (self.0)(page)
    }
}

type Visit = Arc<dyn Fn(String) -> BoxedTask<Result<String, AuthError>> + Send + Sync>;

/// An [`AuthorizationHandler`] made of one function, for programs with their own redirect URI. The
/// function shows the URL and returns the redirect that the program received.
#[derive(Clone)]
pub struct RedirectHandler {
    redirect_uri: String,
    visit: Visit,
}

impl RedirectHandler {
    /// Creates a handler for this redirect URI.
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
        Box::pin(ready(Ok(authorizing)))
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
