//! Client authorization: the option `auth` of a connection, and the host functions that belong to
//! it.

use crate::{
    error::BridgeError,
    events::Lane,
    host::function::{HostFunction, HostFunctionRow},
    message::Handlers,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, sync::Arc};
use trunkline::{
    auth::{
        AssertionRequest, AuthError, AuthOptionError, ClientAuth, CredentialStore, HeadersRequest,
        IdentityTokenRequest, OAuth, OAuthGrant, OAuthOptions, RedirectHandler, RequestHeaders, TokenRequest,
        TokenSource, TokenStore, UrlOpener,
    },
    bridge_support::described,
    protocol::{RawJson, describe::Described},
    runtime::BoxedTask,
};

const AUTHORIZE: &str = "authorize";
const OPEN_URL: &str = "open_url";
const ACCESS_TOKEN: &str = "access_token";
const IDENTITY_TOKEN: &str = "identity_token";
const ASSERTION: &str = "assertion";
const REQUEST_HEADERS: &str = "request_headers";
const LOAD: &str = "load_credentials";
const SAVE: &str = "save_credentials";
const REMOVE: &str = "remove_credentials";

/// The functions, for the declaration of the surface.
pub(crate) static FUNCTIONS: &[HostFunctionRow] = &[
    HostFunctionRow {
        name: AUTHORIZE,
        doc: &[
            " Sends the user to a page that authorizes the client. The result is the redirect that follows. Requires a redirect",
            " URI in the options. If the redirect leads to this machine, `open_url` is simpler.",
        ],
        params: Some(AuthorizeRequest::TYPE),
        result: Some(Redirect::TYPE),
    },
    HostFunctionRow {
        name: OPEN_URL,
        doc: &[
            " Takes the user to a login page, for example by showing its URL, instead of opening the browser on this machine.",
            " The library listens for the redirect meanwhile.",
        ],
        params: Some(AuthorizeRequest::TYPE),
        result: None,
    },
    HostFunctionRow {
        name: ACCESS_TOKEN,
        doc: &[" Returns the access token for a request, instead of the option `token`."],
        params: Some(TokenRequest::TYPE),
        result: Some(Token::TYPE),
    },
    HostFunctionRow {
        name: IDENTITY_TOKEN,
        doc: &[
            " Returns the user's ID token from the organization's identity provider (grant `enterprise_managed`), instead of",
            " the option with one.",
        ],
        params: Some(IdentityTokenRequest::TYPE),
        result: Some(Token::TYPE),
    },
    HostFunctionRow {
        name: ASSERTION,
        doc: &[
            " Returns the JWT with which the platform vouches for this workload (grant `workload_identity`), instead of the",
            " option `assertion`.",
        ],
        params: Some(AssertionRequest::TYPE),
        result: Some(Token::TYPE),
    },
    HostFunctionRow {
        name: REQUEST_HEADERS,
        doc: &[" Returns additional headers for a request. Headers of the protocol are refused."],
        params: Some(HeadersRequest::TYPE),
        result: Some(GivenHeaders::TYPE),
    },
    HostFunctionRow {
        name: LOAD,
        doc: &[
            " Loads credentials from a custom store, instead of the option `store`. Requires the functions that save and",
            " remove them as well.",
        ],
        params: Some(CredentialsKey::TYPE),
        result: Some(LoadedCredentials::TYPE),
    },
    HostFunctionRow {
        name: SAVE,
        doc: &[" Saves credentials in a custom store. They are secrets."],
        params: Some(Credentials::TYPE),
        result: None,
    },
    HostFunctionRow {
        name: REMOVE,
        doc: &[" Removes credentials from a custom store, if they exist."],
        params: Some(CredentialsKey::TYPE),
        result: None,
    },
];

described! {
    /// A page on which the user authorizes the client.
    #[derive(Serialize)]
    pub struct AuthorizeRequest {
        /// URL of the page; must not be changed.
        required url: String = "url",
    }
}

described! {
    /// The redirect that follows an authorization.
    #[derive(Deserialize)]
    pub struct Redirect {
        /// URL to which the browser was redirected, or its query.
        required url: String = "url",
    }
}

described! {
    /// A token.
    #[derive(Deserialize)]
    pub struct Token {
        /// The token.
        required token: String = "token",
    }
}

described! {
    /// Headers of a request.
    #[derive(Deserialize)]
    pub struct GivenHeaders {
        /// Values by name.
        required headers: BTreeMap<String, String> = "headers",
    }
}

described! {
    /// The key of stored credentials.
    #[derive(Serialize)]
    pub struct CredentialsKey {
        /// Key, which identifies an authorization server and a resource.
        required key: String = "key",
    }
}

described! {
    /// Credentials to store.
    #[derive(Serialize)]
    pub struct Credentials {
        /// Key, which identifies an authorization server and a resource.
        required key: String = "key",
        /// Credentials: any text, and secret.
        required value: String = "value",
    }
}

described! {
    /// Credentials loaded from a store.
    #[derive(Deserialize)]
    pub struct LoadedCredentials {
        /// Credentials, if there are any.
        #[serde(default)]
        optional value: Option<String> = "value",
    }
}

/// Returns whether a handler of that name belongs to authorization.
pub(crate) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name == name)
}

/// The credentials with which a connection is opened.
pub(crate) fn credentials(
    given: Option<OAuthOptions>,
    handlers: &Handlers,
    host: &HostFunction,
) -> Result<Option<Arc<dyn ClientAuth>>, BridgeError> {
    let host = &host.as_private();
    let functions = Functions { handlers, host };
    let authorizes = |name: &String| is_function(name) && name != REQUEST_HEADERS;
    let auth = if given.is_some() || handlers.keys().any(authorizes) {
        let options = with_functions(given.unwrap_or_default(), &functions)?;
        OAuth::new(options).map_err(wrong)?.into()
    } else {
        None
    };
    let Some(ask) = functions.get(REQUEST_HEADERS) else { return Ok(auth) };
    let headers =
        RequestHeaders::from_fn(move |request| ask.call::<GivenHeaders, _>(&request, |answer| answer.headers));
    Ok(headers.with_auth(auth).into())
}

/// The options, completed by the host's functions.
fn with_functions(given: OAuthOptions, functions: &Functions<'_>) -> Result<OAuthOptions, BridgeError> {
    let mut options = given;
    if let Some(ask) = functions.instead(ACCESS_TOKEN, "token", options.token.is_some())? {
        options = options.with_token(ask.source::<TokenRequest>());
    }
    if let Some(ask) = functions.instead(IDENTITY_TOKEN, "identityToken", options.identity_token.is_some())? {
        options = options.with_identity_token(ask.source::<IdentityTokenRequest>());
    }
    if let Some(ask) = functions.instead(ASSERTION, "assertion", options.assertion.is_some())? {
        options = options.with_assertion(ask.source::<AssertionRequest>());
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
fn with_visit(options: OAuthOptions, functions: &Functions<'_>) -> Result<OAuthOptions, BridgeError> {
    let visit = match (functions.get(AUTHORIZE), functions.get(OPEN_URL)) {
        (None, None) => return Ok(options),
        (None, Some(_)) if options.grant != OAuthGrant::AuthorizationCode => {
            return Err(BridgeError::invalid(format!(
                "open: the function {OPEN_URL} is for the grant authorization_code, but the grant is {}",
                options.grant.as_str()
            )));
        }
        (None, Some(open)) => {
            return Ok(options.with_handler(UrlOpener::new(move |url| {
                let opened = open.answer(&AuthorizeRequest { url });
                async move { opened.await.map(drop) }
            })));
        }
        (Some(visit), None) => visit,
        (Some(_), Some(_)) => {
            return Err(BridgeError::invalid(format!(
                "open: the functions {AUTHORIZE} and {OPEN_URL} cannot be combined: {OPEN_URL} is for redirects that the library receives"
            )));
        }
    };
    let Some(uri) = options.redirect_uri.clone() else {
        return Err(BridgeError::invalid(format!("open: auth.redirectUri is missing, and {AUTHORIZE} needs it")));
    };
    // From here on, the handler owns the redirect URI.
    options.check().map_err(wrong)?;
    let handler = RedirectHandler::new(uri, move |url| {
        visit.call::<Redirect, _>(&AuthorizeRequest { url }, |redirect| redirect.url)
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

/// The host's functions that were given.
struct Functions<'a> {
    handlers: &'a Handlers,
    host: &'a HostFunction,
}

impl Functions<'_> {
    fn get(&self, name: &'static str) -> Option<HostCall> {
        let lane = *self.handlers.get(name)?;
        Some(HostCall { host: self.host.clone(), name, lane })
    }

    /// A function that replaces an option, which must not be given as well.
    fn instead(&self, name: &'static str, option: &str, is_given: bool) -> Result<Option<HostCall>, BridgeError> {
        match self.get(name) {
            Some(_) if is_given => Err(both(option, name)),
            call => Ok(call),
        }
    }

    fn store(&self) -> Result<Option<HostStore>, BridgeError> {
        match (self.get(LOAD), self.get(SAVE), self.get(REMOVE)) {
            (None, None, None) => Ok(None),
            (Some(load), Some(save), Some(remove)) => Ok(Some(HostStore { load, save, remove })),
            _ => Err(BridgeError::invalid(format!("open: handlers: a store needs {LOAD}, {SAVE} and {REMOVE}"))),
        }
    }
}

/// A host function.
#[derive(Clone)]
struct HostCall {
    host: HostFunction,
    name: &'static str,
    lane: Lane,
}

impl HostCall {
    /// Calls it, and extracts the required part of its response.
    fn call<T: DeserializeOwned + 'static, R: Send + 'static>(
        &self,
        params: &impl Serialize,
        take: fn(T) -> R,
    ) -> BoxedTask<Result<R, AuthError>> {
        let (name, answer) = (self.name, self.answer(params));
        Box::pin(async move {
            let read: Result<T, _> = answer.await?.read();
            read.map(take).map_err(|problem| AuthError(format!("Invalid return value of {name}: {problem}")))
        })
    }

    /// The tokens that it returns.
    fn source<R: Serialize + 'static>(self) -> TokenSource<R> {
        TokenSource::from_fn(move |request: R| self.call::<Token, _>(&request, |answer| answer.token))
    }

    fn answer(&self, params: &impl Serialize) -> BoxedTask<Result<RawJson, AuthError>> {
        // Serializing an object of strings never fails.
        let params = RawJson::from_value(params).unwrap_or_else(|_| RawJson::empty_object());
        let (name, answer) = (self.name, self.host.call(self.name, self.lane, params));
        Box::pin(async move { answer.await.map_err(|error| AuthError(format!("{name} failed: {}", error.message))) })
    }
}

/// A token store implemented by the host.
struct HostStore {
    load: HostCall,
    save: HostCall,
    remove: HostCall,
}

impl TokenStore for HostStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        let answer = self.load.answer(&CredentialsKey { key: key.to_owned() });
        Box::pin(async move {
            let loaded: Result<LoadedCredentials, _> = answer.await?.read();
            loaded
                .map(|loaded| loaded.value)
                .map_err(|problem| AuthError(format!("Invalid return value of {LOAD}: {problem}")))
        })
    }

    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>> {
        let answer = self.save.answer(&Credentials { key: key.to_owned(), value: value.to_owned() });
        Box::pin(async move { answer.await.map(drop) })
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>> {
        let answer = self.remove.answer(&CredentialsKey { key: key.to_owned() });
        Box::pin(async move { answer.await.map(drop) })
    }
}
