//! The authorization of a client: the option `auth` of a connection, and the functions of the host
//! that belong to it.

use super::{
    error::BridgeError,
    event::Lane,
    host_function::{HostFunction, HostFunctionRow},
    message::{Handlers, KEY_ALGORITHM, OAuthGrant, OAuthOptions},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, sync::Arc};
use trunkline::{
    auth::{
        AccessToken, Algorithm, AuthError, ClientAuth, EnterpriseManaged, FileStore, LoopbackHandler, MemoryStore,
        OAuth, RedirectHandler, RequestHeaders, SigningKey, TokenStore,
    },
    bridge_support::described,
    protocol::{RawJson, describe::Described},
    runtime::BoxedTask,
};

const AUTHORIZE: &str = "authorize";
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
            " Lets the user visit a page, on which the client is authorized, and gives the redirect that follows. Needs the",
            " option `redirectUri`. Without this function the browser is opened.",
        ],
        params: Some(AuthorizeRequest::TYPE),
        result: Some(Redirect::TYPE),
    },
    HostFunctionRow {
        name: ACCESS_TOKEN,
        doc: &[" Gives the access token of a request, in the place of the option `auth`."],
        params: Some(TokenRequest::TYPE),
        result: Some(Token::TYPE),
    },
    HostFunctionRow {
        name: IDENTITY_TOKEN,
        doc: &[" Gives the user's ID token of the organization's identity provider (grant `enterprise_managed`)."],
        params: Some(IdentityTokenRequest::TYPE),
        result: Some(Token::TYPE),
    },
    HostFunctionRow {
        name: ASSERTION,
        doc: &[" Gives the JWT by which the platform vouches for this workload (grant `workload_identity`)."],
        params: Some(AssertionRequest::TYPE),
        result: Some(Token::TYPE),
    },
    HostFunctionRow {
        name: REQUEST_HEADERS,
        doc: &[" Gives headers of a request, beside those of the credentials. Headers of the protocol are refused."],
        params: Some(HeadersRequest::TYPE),
        result: Some(GivenHeaders::TYPE),
    },
    HostFunctionRow {
        name: LOAD,
        doc: &[
            " Loads credentials from a store of the program's own, in the place of the option `store`. Needs the functions",
            " that save and remove them, too.",
        ],
        params: Some(CredentialsKey::TYPE),
        result: Some(LoadedCredentials::TYPE),
    },
    HostFunctionRow {
        name: SAVE,
        doc: &[" Saves credentials in a store of the program's own. They are secrets."],
        params: Some(Credentials::TYPE),
        result: None,
    },
    HostFunctionRow {
        name: REMOVE,
        doc: &[" Removes credentials from a store of the program's own, if they are there."],
        params: Some(CredentialsKey::TYPE),
        result: None,
    },
];

described! {
    /// A page for the user to authorize the client on.
    #[derive(Serialize)]
    pub struct AuthorizeRequest {
        /// The URL of the page, as it is: it must not be changed.
        required url: String = "url",
    }
}

described! {
    /// The redirect that followed an authorization.
    #[derive(Deserialize)]
    pub struct Redirect {
        /// The URL that the browser was sent to, or its query.
        required url: String = "url",
    }
}

described! {
    /// A request that needs an access token.
    #[derive(Serialize)]
    pub struct TokenRequest {
        /// The URL of the server.
        required url: String = "url",
        /// The server has refused the last token.
        required refused: bool = "refused",
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
    /// The need for an ID token of the user.
    #[derive(Serialize)]
    pub struct IdentityTokenRequest {
        /// The token endpoint of the identity provider.
        required token_endpoint: String = "tokenEndpoint",
    }
}

described! {
    /// The facts that the assertion of a workload is made for.
    #[derive(Serialize)]
    pub struct AssertionRequest {
        /// The issuer of the authorization server: the audience.
        required issuer: String = "issuer",
        /// Its token endpoint.
        required token_endpoint: String = "tokenEndpoint",
        /// The identifier of the MCP server.
        required resource: String = "resource",
    }
}

described! {
    /// A request that needs headers.
    #[derive(Serialize)]
    pub struct HeadersRequest {
        /// The HTTP method.
        required method: String = "method",
        /// The URL that the request goes to.
        required url: String = "url",
    }
}

described! {
    /// Headers of a request.
    #[derive(Deserialize)]
    pub struct GivenHeaders {
        /// The values by the names.
        required headers: BTreeMap<String, String> = "headers",
    }
}

described! {
    /// The key of credentials in a store.
    #[derive(Serialize)]
    pub struct CredentialsKey {
        /// The key: it names an authorization server and a resource.
        required key: String = "key",
    }
}

described! {
    /// Credentials to keep in a store.
    #[derive(Serialize)]
    pub struct Credentials {
        /// The key: it names an authorization server and a resource.
        required key: String = "key",
        /// The credentials: any text, and secret.
        required value: String = "value",
    }
}

described! {
    /// Credentials from a store.
    #[derive(Deserialize)]
    pub struct LoadedCredentials {
        /// The credentials, if there are any.
        #[serde(default)]
        optional value: Option<String> = "value",
    }
}

/// Returns whether a handler of that name belongs to the authorization.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name == name)
}

/// The credentials that a connection is opened with.
pub(super) fn credentials(
    given: Option<OAuthOptions>,
    handlers: &Handlers,
    host: &HostFunction,
) -> Result<Option<Arc<dyn ClientAuth>>, BridgeError> {
    let functions = Functions { handlers, host };
    let authorizes = |name: &String| is_function(name) && name != REQUEST_HEADERS;
    let auth = if given.is_some() || handlers.keys().any(authorizes) { authority(given, &functions)? } else { None };
    let Some(ask) = functions.get(REQUEST_HEADERS) else { return Ok(auth) };
    let headers = RequestHeaders::from_fn(move |request| {
        let request = HeadersRequest { method: request.method, url: request.url };
        ask.call::<GivenHeaders, _>(&request, |answer| answer.headers)
    });
    Ok(headers.with_auth(auth).into())
}

/// The credentials of the options and functions, of which at least one is given.
fn authority(
    given: Option<OAuthOptions>,
    functions: &Functions<'_>,
) -> Result<Option<Arc<dyn ClientAuth>>, BridgeError> {
    let given = given.unwrap_or_default();
    if given.token.is_some() || functions.get(ACCESS_TOKEN).is_some() {
        refuse_oauth_options(&given, functions)?;
    }
    if let Some(ask) = functions.get(ACCESS_TOKEN) {
        let token = AccessToken::from_fn(move |request| {
            ask.call::<Token, _>(&TokenRequest { url: request.url, refused: request.refused }, |answer| answer.token)
        });
        return Ok(token.into());
    }
    if let Some(token) = given.token {
        return Ok(AccessToken::new(token).into());
    }
    oauth(given, functions).map(Into::into)
}

/// A token is sent as it is.
fn refuse_oauth_options(given: &OAuthOptions, functions: &Functions<'_>) -> Result<(), BridgeError> {
    if given.token.is_some() && functions.get(ACCESS_TOKEN).is_some() {
        return Err(wrong("token", "is given, and the function `access_token` too: there can be one of them"));
    }
    let others = [
        ("grant", given.grant != OAuthGrant::default()),
        ("clientId", given.client_id.is_some()),
        ("clientSecret", given.client_secret.is_some()),
        ("clientMetadataUrl", given.client_metadata_url.is_some()),
        ("privateKey", given.private_key.is_some()),
        ("scopes", !given.scopes.is_empty()),
        ("dpop", given.dpop),
        ("store", given.store.is_some()),
        ("redirectUri", given.redirect_uri.is_some()),
    ];
    match others.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            Err(wrong(option, "is for OAuth: a token, or a function that gives one, is sent as it is"))
        }
        None => Ok(()),
    }
}

fn oauth(given: OAuthOptions, functions: &Functions<'_>) -> Result<OAuth, BridgeError> {
    let mut auth = with_store(given.store.as_deref(), functions)?;
    if let Some(visit) = functions.get(AUTHORIZE) {
        let uri =
            given.redirect_uri.clone().ok_or_else(|| wrong("redirectUri", "is missing, and `authorize` needs it"))?;
        auth = auth.with_handler(RedirectHandler::new(uri, move |url| {
            visit.call::<Redirect, _>(&AuthorizeRequest { url }, |redirect| redirect.url)
        }));
    } else if let Some(uri) = given.redirect_uri {
        let loopback = LoopbackHandler::default().with_redirect_uri(&uri);
        let advice = |error: AuthError| wrong("redirectUri", &format!("{error}, or needs the function `authorize`"));
        auth = auth.with_handler(loopback.map_err(advice)?);
    }
    let needing = [
        ("clientSecret", given.client_secret.is_some()),
        ("privateKey", given.private_key.is_some()),
        ("issuer", given.issuer.is_some()),
    ];
    if let Some((option, _)) = needing.iter().find(|(_, is_given)| *is_given && given.client_id.is_none()) {
        return Err(wrong(option, "needs a clientId"));
    }
    let of_provider = [
        ("idpTokenEndpoint", given.idp_token_endpoint.is_some()),
        ("idpClientId", given.idp_client_id.is_some()),
        ("idpClientSecret", given.idp_client_secret.is_some()),
        ("idpTokenType", given.idp_token_type.is_some()),
    ];
    if let Some((option, _)) = of_provider.iter().find(|(_, is_given)| *is_given)
        && given.grant != OAuthGrant::EnterpriseManaged
    {
        return Err(wrong(option, "is for the grant enterprise_managed"));
    }
    if given.private_key.is_none() && (given.algorithm.is_some() || given.key_id.is_some()) {
        return Err(wrong("privateKey", "is missing, and algorithm and keyId are of it"));
    }
    if let Some(name) = given.client_name {
        auth = auth.with_client_name(name);
    }
    if let Some(id) = given.client_id {
        auth = auth.with_client_id(id);
    }
    if let Some(secret) = given.client_secret {
        auth = auth.with_client_secret(secret);
    }
    if let Some(issuer) = given.issuer {
        auth = auth.with_issuer(issuer);
    }
    if let Some(url) = given.client_metadata_url {
        auth = auth.with_client_metadata_url(url).map_err(|error| wrong("clientMetadataUrl", &error.0))?;
    }
    if let Some(pem) = given.private_key {
        let name = given.algorithm.as_deref().unwrap_or(KEY_ALGORITHM);
        let algorithm = Algorithm::parse(name).ok_or_else(|| wrong("algorithm", &format!("{name:?} is unknown")))?;
        let key = SigningKey::from_pem(&pem, algorithm).map_err(|error| wrong("privateKey", &error.0))?;
        auth = auth.with_private_key(match given.key_id {
            Some(id) => key.with_id(id),
            None => key,
        });
    }
    if !given.scopes.is_empty() {
        auth = auth.with_scopes(given.scopes);
    }
    if let Some(timeout) = given.login_timeout {
        auth = auth.with_login_timeout(timeout.0);
    }
    auth = auth.with_dpop(given.dpop);
    Ok(match given.grant {
        OAuthGrant::AuthorizationCode => auth,
        OAuthGrant::ClientCredentials => auth.client_credentials(),
        OAuthGrant::EnterpriseManaged => {
            let needed = |name: &str, value: Option<String>| value.ok_or_else(|| wrong(name, "is missing"));
            let endpoint = needed("idpTokenEndpoint", given.idp_token_endpoint)?;
            let client = needed("idpClientId", given.idp_client_id)?;
            let ask = functions.get(IDENTITY_TOKEN).ok_or_else(|| missing(IDENTITY_TOKEN, "enterprise_managed"))?;
            let asked = endpoint.clone();
            let mut provider = EnterpriseManaged::new(endpoint, client, move || {
                ask.call::<Token, _>(&IdentityTokenRequest { token_endpoint: asked.clone() }, |answer| answer.token)
            });
            if let Some(secret) = given.idp_client_secret {
                provider = provider.with_client_secret(secret);
            }
            if let Some(kind) = given.idp_token_type {
                provider = provider.with_subject_token_type(kind);
            }
            auth.enterprise_managed(provider)
        }
        OAuthGrant::WorkloadIdentity => {
            let ask = functions.get(ASSERTION).ok_or_else(|| missing(ASSERTION, "workload_identity"))?;
            auth.workload_identity(move |request| {
                let trunkline::auth::AssertionRequest { issuer, token_endpoint, resource, .. } = request;
                ask.call::<Token, _>(&AssertionRequest { issuer, token_endpoint, resource }, |answer| answer.token)
            })
        }
    })
}

fn with_store(folder: Option<&str>, functions: &Functions<'_>) -> Result<OAuth, BridgeError> {
    match (folder, functions.get(LOAD), functions.get(SAVE), functions.get(REMOVE)) {
        (None | Some("memory"), None, None, None) => Ok(OAuth::new(MemoryStore::new())),
        (Some("file"), None, None, None) => {
            FileStore::of_user().map(OAuth::new).map_err(|error| wrong("store", &error.0))
        }
        (Some(""), None, None, None) => Err(wrong("store", "is empty: give memory, file or the path of a folder")),
        (Some(folder), None, None, None) => Ok(OAuth::new(FileStore::new(folder))),
        (None, Some(load), Some(save), Some(remove)) => Ok(OAuth::new(HostStore { load, save, remove })),
        (Some(_), ..) => Err(wrong("store", "is given, and functions of a store too: there can be one store")),
        _ => Err(BridgeError::invalid(format!("open: handlers: a store needs {LOAD}, {SAVE} and {REMOVE}"))),
    }
}

fn wrong(member: &str, problem: &str) -> BridgeError {
    BridgeError::invalid(format!("open: auth.{member}: {problem}"))
}

fn missing(function: &str, grant: &str) -> BridgeError {
    BridgeError::invalid(format!("open: handlers: the grant {grant} needs the function {function}"))
}

/// The functions of the host that were given.
struct Functions<'a> {
    handlers: &'a Handlers,
    host: &'a HostFunction,
}

impl Functions<'_> {
    fn get(&self, name: &'static str) -> Option<Asked> {
        let lane = *self.handlers.get(name)?;
        Some(Asked { host: self.host.clone(), name, lane })
    }
}

/// A function of the host.
#[derive(Clone)]
struct Asked {
    host: HostFunction,
    name: &'static str,
    lane: Lane,
}

impl Asked {
    /// Calls it, and takes what is needed of its answer.
    fn call<T: DeserializeOwned + 'static, R: Send + 'static>(
        &self,
        params: &impl Serialize,
        take: fn(T) -> R,
    ) -> BoxedTask<Result<R, AuthError>> {
        let (name, answer) = (self.name, self.answer(params));
        Box::pin(async move {
            let read: Result<T, _> = answer.await?.read();
            read.map(take).map_err(|problem| AuthError(format!("The answer of {name} makes no sense: {problem}")))
        })
    }

    fn answer(&self, params: &impl Serialize) -> BoxedTask<Result<RawJson, AuthError>> {
        // Objects of texts have a JSON form.
        let params = RawJson::from_value(params).unwrap_or_else(|_| RawJson::empty_object());
        let (name, answer) = (self.name, self.host.call(self.name, self.lane, params));
        Box::pin(async move { answer.await.map_err(|error| AuthError(format!("{name} failed: {}", error.message))) })
    }
}

/// A store of the host.
struct HostStore {
    load: Asked,
    save: Asked,
    remove: Asked,
}

impl TokenStore for HostStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        let answer = self.load.answer(&CredentialsKey { key: key.to_owned() });
        Box::pin(async move {
            let loaded: Result<LoadedCredentials, _> = answer.await?.read();
            loaded
                .map(|loaded| loaded.value)
                .map_err(|problem| AuthError(format!("The answer of {LOAD} makes no sense: {problem}")))
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
