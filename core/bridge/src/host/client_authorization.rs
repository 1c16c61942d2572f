//! Client authorization: the option `auth` of a connection, and the host functions that belong to
//! it.

use crate::{
    BridgeError,
    host::function::{FunctionError, Host, HostFunctions, functions, has},
    message::Handlers,
};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::{collections::BTreeMap, sync::Arc};
use trunkline::{
    auth::{
        AssertionRequest, AuthError, AuthOptionError, ClientAuth, CredentialStore, HeadersRequest,
        IdentityTokenRequest, LoginPage, OAuth, OAuthGrant, OAuthOptions, RedirectHandler, RequestHeaders,
        TokenRequest, TokenSource, TokenStore, UrlOpener,
    },
    bridge_support::described,
    runtime::BoxedTask,
};

functions! {
    /// Sends the user to a page that authorizes the client. The result is the redirect that
    /// follows. Requires a redirect URI in the options. If the redirect leads to this machine, the
    /// handler that only opens the URL is simpler.
    AUTHORIZE = "authorize"(AuthorizeRequest) -> Redirect;
    /// Takes the user to a login page, for example by showing its URL, instead of opening the
    /// browser on this machine. The library listens for the redirect meanwhile. With a device
    /// code, it shows the page and the code to enter there.
    OPEN_URL = "open_url"(AuthorizeRequest);
    /// Returns the access token for a request, instead of the option `token`.
    ACCESS_TOKEN = "access_token"(TokenRequest) -> Token;
    /// Returns the user's ID token from the organization's identity provider (grant
    /// `enterprise_managed`), instead of the option with one.
    IDENTITY_TOKEN = "identity_token"(IdentityTokenRequest) -> Token;
    /// Returns the JWT with which the platform vouches for this workload (grant
    /// `workload_identity`), instead of the option `assertion`.
    ASSERTION = "assertion"(AssertionRequest) -> Token;
    /// Returns additional headers for a request. Headers of the protocol are refused.
    REQUEST_HEADERS = "request_headers"(HeadersRequest) -> GivenHeaders;
    /// Loads credentials from a custom store, instead of the option `store`. Requires the functions
    /// that save and remove them as well.
    LOAD = "load_credentials"(CredentialsKey) -> LoadedCredentials;
    /// Saves credentials in a custom store. They are secrets.
    SAVE = "save_credentials"(Credentials);
    /// Removes credentials from a custom store, if they exist.
    REMOVE = "remove_credentials"(CredentialsKey);
}

described! {
    /// A page on which the user authorizes the client.
    #[derive(Serialize)]
    pub struct AuthorizeRequest {
        /// URL of the page; must not be changed.
        required url: String = "url",
        /// Code that the user enters on the page, or compares (grant `device_code`).
        optional user_code: Option<String> = "userCode",
    }

    /// The redirect that follows an authorization.
    #[derive(Deserialize)]
    pub struct Redirect {
        /// URL to which the browser was redirected, or its query.
        required url: String = "url",
    }

    /// A token.
    #[derive(Deserialize)]
    pub struct Token {
        /// The token.
        required token: String = "token",
    }

    /// Headers of a request.
    #[derive(Deserialize)]
    pub struct GivenHeaders {
        /// Values by name.
        required headers: BTreeMap<String, String> = "headers",
    }

    /// The key of stored credentials.
    #[derive(Serialize)]
    pub struct CredentialsKey {
        /// Key, which identifies an authorization server and a resource.
        required key: String = "key",
    }

    /// Credentials to store.
    #[derive(Serialize)]
    pub struct Credentials {
        /// Key, which identifies an authorization server and a resource.
        required key: String = "key",
        /// Credentials: any text, and secret.
        required value: String = "value",
    }

    /// Credentials loaded from a store.
    #[derive(Deserialize)]
    pub struct LoadedCredentials {
        /// Credentials, if there are any.
        optional value: Option<String> = "value",
    }
}

/// The credentials with which a connection is opened.
pub(crate) fn credentials(
    given: Option<OAuthOptions>,
    handlers: &Handlers,
    host: &Host,
) -> Result<Option<Arc<dyn ClientAuth>>, BridgeError> {
    let functions = HostFunctions::new(host, handlers);
    let authorizes = |name: &String| has(FUNCTIONS, name) && name != REQUEST_HEADERS;
    let auth = if given.is_some() || handlers.keys().any(authorizes) {
        if !cfg!(all(feature = "auth", feature = "http-client")) {
            return Err(BridgeError::without("auth"));
        }
        let options = with_functions(given.unwrap_or_default(), &functions)?;
        OAuth::new(options).map_err(wrong)?.into()
    } else {
        None
    };
    if !functions.has(REQUEST_HEADERS) {
        return Ok(auth);
    }
    let headers = RequestHeaders::from_fn(move |request| {
        result(functions.call::<GivenHeaders>(REQUEST_HEADERS, &request), |answer| answer.headers)
    });
    Ok(headers.with_auth(auth).into())
}

/// The options, completed by the host's functions.
fn with_functions(given: OAuthOptions, functions: &HostFunctions) -> Result<OAuthOptions, BridgeError> {
    let mut options = given;
    if functions.replaces(ACCESS_TOKEN, "token", options.token.is_some())? {
        options = options.with_token(source::<TokenRequest>(functions, ACCESS_TOKEN));
    }
    if functions.replaces(IDENTITY_TOKEN, "identityToken", options.identity_token.is_some())? {
        options = options.with_identity_token(source::<IdentityTokenRequest>(functions, IDENTITY_TOKEN));
    }
    if functions.replaces(ASSERTION, "assertion", options.assertion.is_some())? {
        options = options.with_assertion(source::<AssertionRequest>(functions, ASSERTION));
    }
    if let Some(store) = functions.store()? {
        if !matches!(options.store, CredentialStore::Memory) {
            return Err(both("store", LOAD));
        }
        options = options.with_store(store);
    }
    with_visit(options, functions)
}

/// The options, with the function that sends the user to a page.
fn with_visit(options: OAuthOptions, functions: &HostFunctions) -> Result<OAuthOptions, BridgeError> {
    let given = functions.clone();
    match (functions.has(AUTHORIZE), functions.has(OPEN_URL)) {
        (false, false) => return Ok(options),
        (false, true) if !matches!(options.grant, OAuthGrant::AuthorizationCode | OAuthGrant::DeviceCode) => {
            return Err(BridgeError::invalid(format!(
                "open: the function {OPEN_URL} is for the grant authorization_code or device_code, but the grant is {}",
                options.grant.as_str()
            )));
        }
        (false, true) => {
            let open = move |page: LoginPage| {
                let request = AuthorizeRequest { url: page.url, user_code: page.user_code };
                result(given.call::<IgnoredAny>(OPEN_URL, &request), drop)
            };
            return Ok(options.with_handler(UrlOpener::of_pages(open)));
        }
        (true, false) => {}
        (true, true) => {
            return Err(BridgeError::invalid(format!(
                "open: the functions {AUTHORIZE} and {OPEN_URL} cannot be combined: {OPEN_URL} is for redirects that the library receives"
            )));
        }
    }
    let Some(uri) = options.redirect_uri.clone() else {
        return Err(BridgeError::invalid(format!("open: auth.redirectUri is missing, and {AUTHORIZE} needs it")));
    };
    // From here on, the handler owns the redirect URI.
    options.check().map_err(wrong)?;
    let handler = RedirectHandler::new(uri, move |url| {
        result(given.call::<Redirect>(AUTHORIZE, &AuthorizeRequest { url, user_code: None }), |redirect| redirect.url)
    });
    let mut options = options.with_handler(handler);
    options.redirect_uri = None;
    Ok(options)
}

fn wrong(error: AuthOptionError) -> BridgeError {
    BridgeError::invalid(format!("open: {}", error.in_json()))
}

fn both(option: &str, function: &str) -> BridgeError {
    BridgeError::invalid(format!("open: auth.{option} cannot be combined with the function {function}"))
}

impl HostFunctions {
    /// Returns whether a function replaces an option, which must not be given as well.
    fn replaces(&self, name: &str, option: &str, is_given: bool) -> Result<bool, BridgeError> {
        let has = self.has(name);
        if has && is_given { Err(both(option, name)) } else { Ok(has) }
    }

    fn store(&self) -> Result<Option<HostStore>, BridgeError> {
        match [LOAD, SAVE, REMOVE].into_iter().filter(|name| self.has(name)).count() {
            0 => Ok(None),
            3 => Ok(Some(HostStore(self.clone()))),
            _ => Err(BridgeError::invalid(format!("open: handlers: a store needs {LOAD}, {SAVE} and {REMOVE}"))),
        }
    }
}

/// Extracts a part of a function's result.
fn result<T: 'static, R: 'static>(
    answer: BoxedTask<Result<T, FunctionError>>,
    take: fn(T) -> R,
) -> BoxedTask<Result<R, AuthError>> {
    Box::pin(async move { answer.await.map(take).map_err(|error| AuthError(error.to_string())) })
}

/// The tokens that a function returns.
fn source<R: Serialize + 'static>(functions: &HostFunctions, name: &'static str) -> TokenSource<R> {
    let functions = functions.clone();
    TokenSource::from_fn(move |request: R| result(functions.call::<Token>(name, &request), |answer| answer.token))
}

/// A token store implemented by the host.
struct HostStore(HostFunctions);

impl TokenStore for HostStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        let key = CredentialsKey { key: key.to_owned() };
        result(self.0.call::<LoadedCredentials>(LOAD, &key), |loaded| loaded.value)
    }

    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>> {
        let credentials = Credentials { key: key.to_owned(), value: value.to_owned() };
        result(self.0.call::<IgnoredAny>(SAVE, &credentials), drop)
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>> {
        result(self.0.call::<IgnoredAny>(REMOVE, &CredentialsKey { key: key.to_owned() }), drop)
    }
}
