//! The options of a client's authorization, validated before any request.

use super::{
    AssertionRequest, AuthObserver, AuthorizationHandler, IdentityTokenRequest, TokenRequest, TokenStore, UrlOpener,
    auth_network,
    token_source::{SecretText, TokenSource},
};
use crate::{
    auth::{Algorithm, AuthOptionError},
    protocol::{
        describe::Type,
        fault::{self, Fault},
        options::{JsonForm, Millis, Options, read_over},
        scope::is_scope,
    },
    store::{StoreUrl, redacted},
};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};
use url::Url;

trunkline_proto::options! {
    /// OAuth 2.1 authorization of a client, for servers over HTTP. Without options, the client
    /// finds out what the server needs, registers itself, and the user logs in with the browser.
    ///
    /// ```
    /// use trunkline::auth::OAuthOptions;
    ///
    /// let options = OAuthOptions::default().with_scopes(["notes.read".to_owned()]);
    /// ```
    #[derive(Clone)]
    pub struct OAuthOptions {
        /// An access token obtained elsewhere. It cannot be combined with any other option.
        @some(TokenSource<TokenRequest>) token: Option<TokenSource<TokenRequest>> => "token" as SecretText = None,
        /// The OAuth grant used to get access tokens.
        grant: OAuthGrant => "grant" = OAuthGrant::AuthorizationCode,
        /// The name of the program, shown to the user on the consent page.
        @into client_name: String => "clientName" = "trunkline".to_owned(),
        /// A pre-registered client id. Without one, the client uses its metadata document or
        /// registers itself.
        @some(String) client_id: Option<String> => "clientId" = None,
        /// The client's secret.
        @some(String) client_secret: Option<String> => "clientSecret" = None,
        /// The issuer of the only authorization server to log in at: the one that knows the client,
        /// or that the assertion is for. No other issuer sees the id and secret, or the assertion.
        @some(String) issuer: Option<String> => "issuer" = None,
        /// Use PKCE even if the metadata of the authorization server does not advertise it, which
        /// is the case with Microsoft Entra ID and Amazon Cognito. It needs `issuer`: set it only
        /// for a server that is known to support PKCE with S256.
        assume_pkce: bool => "assumePkce" = false,
        /// Send the `resource` parameter (RFC 8707), which says for which server a token is. Some
        /// authorization servers, such as Microsoft Entra ID, refuse it next to their own scopes.
        /// Turning it off needs `issuer` if the authorization server has another origin than the
        /// MCP server: without the parameter, nothing else says for which server a token is.
        send_resource: bool => "sendResource" = true,
        /// The `resource` parameter, if the authorization server knows the server by another URI
        /// than the metadata of the server does. Credentials are kept for each such URI.
        @some(String) resource: Option<String> => "resource" = None,
        /// The token endpoint, if the metadata of the authorization server is missing or names one
        /// that cannot be reached. It needs `issuer`, unless the client acts on its own behalf.
        @some(String) token_endpoint: Option<String> => "tokenEndpoint" = None,
        /// Send the ID token (OpenID Connect Core section 2) to the server instead of the access
        /// token, as some gateways require. The client requests the scope `openid`.
        use_id_token: bool => "useIdToken" = false,
        /// The https URL of the client's metadata document, used as its id by authorization servers
        /// that support such documents.
        @some(String) client_metadata_url: Option<String> => "clientMetadataUrl" = None,
        /// The key with which the client authenticates (`private_key_jwt`, RFC 7523): PKCS #8 in
        /// PEM. It belongs to `clientId` or to the metadata document.
        @some(String) private_key: Option<String> => "privateKey" = None,
        /// The algorithm of that key.
        algorithm: Algorithm => "algorithm" = Algorithm::Es256,
        /// The id of that key, for authorization servers that know several.
        @some(String) key_id: Option<String> => "keyId" = None,
        /// The scopes to request if the server names none. By default, those of its metadata.
        @each(String) scopes: Vec<String> => "scopes" = Vec::new(),
        /// Request the scope `offline_access` if the authorization server lists it: some issue
        /// refresh tokens only with it, and the user must consent. By default, it is requested if
        /// `store` keeps credentials longer than the connection. If it is refused, the user logs in
        /// without it.
        @some(bool) offline_access: Option<bool> => "offlineAccess" = None,
        /// More parameters for the page where the user logs in: Google, for example, issues refresh
        /// tokens only with access_type=offline. Those that the client sets itself are refused,
        /// except `prompt`.
        @into authorization_parameters: BTreeMap<String, String> => "authorizationParameters" = BTreeMap::new(),
        /// Bind tokens to a key of this client (DPoP, RFC 9449).
        dpop: bool => "dpop" = false,
        /// Where to keep credentials. `memory`: until the connection ends. `file`: in the user's
        /// folder, which is `trunkline/tokens` in `~/.config` (or `XDG_CONFIG_HOME`), on macOS in
        /// `~/Library/Application Support`, on Windows in `%LOCALAPPDATA%`. `keychain`: there as
        /// well, encrypted with a key in the keychain of the system; if it cannot be reached, as
        /// `file`. `sqlite:PATH`, `redis://HOST` or `rediss://HOST`: in a SQLite file or a Redis
        /// database. Anything else is the path of a folder. Except with `keychain`, nothing is
        /// encrypted; files are readable only by their user, and shared with other processes.
        @into store: CredentialStore => "store" as StoreName = CredentialStore::Memory,
        /// The redirect URI registered for the client. If it is on this machine, such as
        /// `http://127.0.0.1:8912/callback`, the client listens there; by default, it listens on a
        /// free port, or the one it registered itself with. If the program receives redirects
        /// itself, the function `authorize` returns them.
        @some(String) redirect_uri: Option<String> => "redirectUri" = None,
        /// The page to which the browser goes after a login on this machine, such as one of the
        /// program: an https URL, or one on this machine. By default, a note that the page can be
        /// closed.
        @some(String) success_url: Option<String> => "successUrl" = None,
        /// A login that another program has kept, to take over without asking the user: the members
        /// of a registration (RFC 7591 section 3.2.1) and of a token response (RFC 6749 section
        /// 5.1) in one object, where `expires_at` is a Unix timestamp in seconds. It is used once,
        /// for the authorization server of its `issuer`, if it has one, and only if the store has
        /// no tokens.
        imported_login: Map<String, Value> => "importedLogin" = Map::new(),
        /// User interaction: the browser on this machine, a function that opens URLs instead
        /// ([`UrlOpener`]), or a handler with its own redirect URI.
        @into handler: LoginHandler = LoginHandler::Browser,
        /// Gets each step of a login, to find out why one fails.
        @some(AuthObserver) observer: Option<AuthObserver> = None,
        /// Maximum time for a login; at most 15 min.
        login_timeout: Duration => "loginTimeoutMs" as Millis = Duration::from_secs(300),
        /// Maximum time for one request to an authorization server.
        request_timeout: Duration => "requestTimeoutMs" as Millis = Duration::from_secs(30),
        /// The token endpoint of the organization's identity provider (`enterprise_managed`).
        @some(String) idp_token_endpoint: Option<String> => "idpTokenEndpoint" = None,
        /// The client id at the identity provider.
        @some(String) idp_client_id: Option<String> => "idpClientId" = None,
        /// The secret of that client id.
        @some(String) idp_client_secret: Option<String> => "idpClientSecret" = None,
        /// The type of the token that the program supplies: by default an ID token, or
        /// `urn:ietf:params:oauth:token-type:refresh_token` after exchanging a SAML assertion for
        /// one.
        @into idp_token_type: String => "idpTokenType" = ID_TOKEN.to_owned(),
        /// The user's ID token from the identity provider (`enterprise_managed`). If it expires
        /// before the connection ends, use the function `identity_token` instead.
        @some(TokenSource<IdentityTokenRequest>) identity_token: Option<TokenSource<IdentityTokenRequest>> => "identityToken" as SecretText = None,
        /// The JWT with which the platform vouches for this workload (`workload_identity`). If it
        /// expires before the connection ends, use the function `assertion` instead.
        @some(TokenSource<AssertionRequest>) assertion: Option<TokenSource<AssertionRequest>> => "assertion" as SecretText = None,
    }
}

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

trunkline_proto::json_names! {
    /// The OAuth grant used to get access tokens.
    pub enum OAuthGrant, by default AuthorizationCode, non_exhaustive {
        /// The user logs in and authorizes the client.
        AuthorizationCode = "authorization_code",
        /// The user enters a code in a browser anywhere and authorizes the client there, for
        /// machines without a browser (RFC 8628). The function `open_url` shows the page and the
        /// code; without it, they are printed.
        DeviceCode = "device_code",
        /// The client acts on its own behalf (extension "OAuth client credentials").
        ClientCredentials = "client_credentials",
        /// An organization's identity provider grants access (extension "Enterprise-managed
        /// authorization").
        EnterpriseManaged = "enterprise_managed",
        /// The platform vouches for this workload (draft extension "Workload identity federation").
        WorkloadIdentity = "workload_identity",
    }
}

/// Where to keep credentials.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum CredentialStore {
    /// In the memory of this process: a [`MemoryStore`](super::MemoryStore) for each
    /// [`OAuth`](super::OAuth).
    #[default]
    Memory,
    /// In the user's folder.
    File,
    /// In the user's folder, encrypted with a key in the keychain of the system (feature
    /// `keychain`).
    Keychain,
    /// In another folder.
    Folder(PathBuf),
    /// In a SQLite file or a Redis database, given as a URL: `sqlite:PATH`, `redis://…`,
    /// `rediss://…`.
    Url(String),
    /// In a custom store.
    Custom(Arc<dyn TokenStore>),
}

impl<S: TokenStore> From<S> for CredentialStore {
    fn from(store: S) -> Self {
        Self::Custom(Arc::new(store))
    }
}

/// The JSON form: `memory`, `file`, `keychain`, a URL or the path of a folder.
struct StoreName;

impl JsonForm<CredentialStore> for StoreName {
    const TYPE: Type = Type::String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CredentialStore, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "memory" => Ok(CredentialStore::Memory),
            "file" => Ok(CredentialStore::File),
            "keychain" => Ok(CredentialStore::Keychain),
            "" => Err(D::Error::custom("is empty: give memory, file, keychain, a URL or the path of a folder")),
            url if ["sqlite:", "redis:", "rediss:"].iter().any(|scheme| url.starts_with(scheme)) => {
                StoreUrl::parse(url).map_err(D::Error::custom)?;
                Ok(CredentialStore::Url(url.to_owned()))
            }
            folder => Ok(CredentialStore::Folder(folder.into())),
        }
    }

    fn write(store: &CredentialStore) -> Value {
        match store {
            CredentialStore::Memory => "memory".into(),
            CredentialStore::File => "file".into(),
            CredentialStore::Keychain => "keychain".into(),
            CredentialStore::Folder(folder) => folder.to_string_lossy().into(),
            CredentialStore::Url(url) => redacted(url).into(),
            CredentialStore::Custom(_) => Value::Null,
        }
    }
}

/// The user interaction of a login.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum LoginHandler {
    /// The browser on this machine, and a port that receives the redirect.
    #[default]
    Browser,
    /// A function that opens URLs instead of the browser, and a port that receives the redirect.
    Opener(UrlOpener),
    /// A custom handler.
    Custom(Arc<dyn AuthorizationHandler>),
}

impl From<UrlOpener> for LoginHandler {
    fn from(opener: UrlOpener) -> Self {
        Self::Opener(opener)
    }
}

impl<H: AuthorizationHandler> From<H> for LoginHandler {
    fn from(handler: H) -> Self {
        Self::Custom(Arc::new(handler))
    }
}

impl OAuthOptions {
    /// Validates the options, individually and in combination.
    ///
    /// # Errors
    /// If an option is invalid, has no effect in combination with the others, or is missing; the
    /// message names it.
    pub fn check(&self) -> Result<(), AuthOptionError> {
        let given = self.changed();
        let is_given = |name: &&str| given.contains(name);
        let handler = (!matches!(self.handler, LoginHandler::Browser)).then_some("handler");
        if self.token.is_some() {
            let other = given.iter().find(|name| **name != "token").copied();
            return match other.or(handler) {
                Some(other) => Err(AuthOptionError::new(other, "is for OAuth and cannot be combined with `token`")),
                None => Ok(()),
            };
        }
        let grant = self.grant;
        for name in given.iter().copied().chain(handler) {
            if let Some((_, grants)) = GRANT_OPTIONS.iter().find(|(names, _)| names.contains(&name))
                && !grants.contains(&grant)
            {
                let names: Vec<_> = grants.iter().map(|grant| grant.as_str()).collect();
                let problem = format!("is for the grant {}, but the grant is {}", names.join(" or "), grant.as_str());
                return Err(AuthOptionError::new(name, problem));
            }
        }
        for (name, others) in DEPENDENT_OPTIONS {
            // A client with a secret sends it to this endpoint only, whatever the server names.
            if grant == OAuthGrant::ClientCredentials && *name == "tokenEndpoint" {
                continue;
            }
            if is_given(name) && !others.iter().any(is_given) {
                return Err(AuthOptionError::new(name, format!("needs {}", in_words(others))));
            }
        }
        for (of, names, advice) in REQUIRED_OPTIONS {
            if *of == grant && !names.iter().any(is_given) {
                let problem = format!("is missing: the grant {} needs {}{advice}", grant.as_str(), in_words(names));
                return Err(AuthOptionError::new(names[0], problem));
            }
        }
        if let (LoginHandler::Custom(_), Some(_)) = (&self.handler, &self.redirect_uri) {
            return Err(AuthOptionError::new("redirectUri", "cannot be set: the handler has its own"));
        }
        if let (LoginHandler::Custom(_), Some(_)) = (&self.handler, &self.success_url) {
            return Err(AuthOptionError::new("successUrl", "cannot be set: the handler answers the browser"));
        }
        self.check_values()
    }

    /// The options for one server, from the JSON of a configuration entry. They identify the client
    /// at that server; credential storage and user interaction are unchanged.
    pub(super) fn for_server(&self, given: &Value) -> Result<Self, Fault> {
        let own: Self = fault::read(given)?;
        if own.token.is_some() {
            return Ok(own);
        }
        let mut base = Self { store: self.store.clone(), request_timeout: self.request_timeout, ..Self::default() };
        if matches!(own.grant, OAuthGrant::AuthorizationCode | OAuthGrant::DeviceCode) {
            base.client_name.clone_from(&self.client_name);
            base.offline_access = self.offline_access;
            base.handler = self.handler.clone();
            base.login_timeout = self.login_timeout;
            base.observer.clone_from(&self.observer);
        }
        read_over(base, given)
    }

    /// Returns whether the client needs access while the user is away.
    pub(super) fn wants_offline_access(&self) -> bool {
        self.offline_access.unwrap_or(!matches!(self.store, CredentialStore::Memory))
    }

    fn check_values(&self) -> Result<(), AuthOptionError> {
        let texts = [
            ("clientId", &self.client_id),
            ("clientSecret", &self.client_secret),
            ("keyId", &self.key_id),
            ("idpClientId", &self.idp_client_id),
            ("idpClientSecret", &self.idp_client_secret),
        ];
        if let Some((name, _)) = texts.iter().find(|(_, text)| text.as_deref() == Some("")) {
            return Err(AuthOptionError::new(name, "is empty"));
        }
        let urls = [
            ("issuer", &self.issuer),
            ("idpTokenEndpoint", &self.idp_token_endpoint),
            ("tokenEndpoint", &self.token_endpoint),
            // AUC-35
            ("redirectUri", &self.redirect_uri),
            ("successUrl", &self.success_url),
        ];
        for (name, url) in urls {
            if let Some(url) = url {
                auth_network::check(url)
                    .map_err(|error| AuthOptionError::new(name, format!("cannot be used: {error}")))?;
            }
        }
        if let Some(url) = self.client_metadata_url.as_deref().filter(|url| !is_document(url)) {
            let problem = format!("{url:?} cannot be a client id: it must be an https URL with a path");
            return Err(AuthOptionError::new("clientMetadataUrl", problem));
        }
        if let Some(resource) = self.resource.as_deref().filter(|resource| !is_resource(resource)) {
            let problem = format!("{resource:?} is not an absolute URI without a fragment (RFC 8707 section 2)");
            return Err(AuthOptionError::new("resource", problem));
        }
        if self.resource.is_some() && !self.send_resource {
            return Err(AuthOptionError::new("resource", "cannot be combined with `sendResource`: false"));
        }
        if let Some(scope) = self.scopes.iter().find(|scope| !is_scope(scope)) {
            let problem = format!("has {scope:?}, which is not a scope (RFC 6749 section 3.3)");
            return Err(AuthOptionError::new("scopes", problem));
        }
        if let Some(name) = self.authorization_parameters.keys().find(|name| RESERVED_PARAMS.contains(&name.as_str())) {
            let problem = format!("has {name:?}, which the client sets itself or does not support");
            return Err(AuthOptionError::new("authorizationParameters", problem));
        }
        if self.use_id_token && self.dpop {
            return Err(AuthOptionError::new(
                "useIdToken",
                "cannot be combined with `dpop`: ID tokens have no such key",
            ));
        }
        if self.login_timeout.is_zero() {
            return Err(AuthOptionError::new("loginTimeoutMs", "must be more than 0"));
        }
        if self.login_timeout > MAX_LOGIN_TIMEOUT {
            return Err(AuthOptionError::new("loginTimeoutMs", "must be at most 15 min"));
        }
        if self.request_timeout.is_zero() {
            return Err(AuthOptionError::new("requestTimeoutMs", "must be more than 0"));
        }
        Ok(())
    }
}

/// Parameters of a login that belong to the client (RFC 6749 section 4.1.1, RFC 7636, RFC 8707,
/// RFC 9101, RFC 9449).
const RESERVED_PARAMS: &[&str] = &[
    "response_type",
    "response_mode",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "request",
    "request_uri",
    "dpop_jkt",
];

/// A request does not wait much longer for its credentials.
const MAX_LOGIN_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Joins option names for a message.
fn in_words(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}

/// AUC-16: an https URL with a path.
fn is_document(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| {
        url.scheme() == "https" && url.path().len() > 1 && url.fragment().is_none() && url.username().is_empty()
    })
}

fn is_resource(uri: &str) -> bool {
    Url::parse(uri).is_ok_and(|uri| uri.fragment().is_none())
}

/// Options that apply only to some grants.
const GRANT_OPTIONS: &[(&[&str], &[OAuthGrant])] = {
    use OAuthGrant::{AuthorizationCode, ClientCredentials, DeviceCode, EnterpriseManaged, WorkloadIdentity};
    &[
        (
            &["clientName", "handler", "loginTimeoutMs", "offlineAccess", "useIdToken", "importedLogin"],
            &[AuthorizationCode, DeviceCode],
        ),
        (&["redirectUri", "assumePkce", "authorizationParameters", "successUrl"], &[AuthorizationCode]),
        (&["resource", "sendResource", "tokenEndpoint"], &[AuthorizationCode, DeviceCode, ClientCredentials]),
        (
            &["clientId", "clientSecret", "clientMetadataUrl", "privateKey", "algorithm", "keyId"],
            &[AuthorizationCode, DeviceCode, ClientCredentials, EnterpriseManaged],
        ),
        (
            &["idpTokenEndpoint", "idpClientId", "idpClientSecret", "idpTokenType", "identityToken"],
            &[EnterpriseManaged],
        ),
        (&["assertion"], &[WorkloadIdentity]),
    ]
};

/// Options that require one of others.
const DEPENDENT_OPTIONS: &[(&str, &[&str])] = &[
    ("clientSecret", &["clientId"]),
    ("assumePkce", &["issuer"]),
    ("tokenEndpoint", &["issuer"]),
    ("privateKey", &["clientId", "clientMetadataUrl"]),
    ("algorithm", &["privateKey"]),
    ("keyId", &["privateKey"]),
];

/// The options of which a grant needs at least one, with advice.
const REQUIRED_OPTIONS: &[(OAuthGrant, &[&str], &str)] = {
    use OAuthGrant::{ClientCredentials, EnterpriseManaged, WorkloadIdentity};
    &[
        (ClientCredentials, &["clientId", "clientMetadataUrl"], ""),
        (ClientCredentials, &["clientSecret", "privateKey"], ""),
        (EnterpriseManaged, &["clientId", "clientMetadataUrl"], ""),
        (EnterpriseManaged, &["idpTokenEndpoint"], ""),
        (EnterpriseManaged, &["idpClientId"], ""),
        (EnterpriseManaged, &["identityToken"], ", or a function that gives it"),
        (WorkloadIdentity, &["assertion"], ", or a function that gives it"),
    ]
};

/// The names of the options that differ from their defaults; their values may be secret.
impl fmt::Debug for OAuthOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OAuthOptions").field(&self.changed()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::RedirectHandler;
    use serde_json::json;

    fn read(given: serde_json::Value) -> OAuthOptions {
        serde_json::from_value(given).unwrap()
    }

    fn refused(given: serde_json::Value) -> String {
        read(given).check().unwrap_err().in_json()
    }

    #[test]
    fn options_that_go_together_are_taken() {
        let secret = json!({"clientId": "a", "clientSecret": "b"});
        for given in [
            json!({}),
            json!({"token": "t", "grant": "authorization_code", "store": "memory", "dpop": false}),
            json!({"redirectUri": "http://localhost:8912/callback", "clientName": "x", "loginTimeoutMs": 1}),
            json!({"clientMetadataUrl": "https://a.example/c.json", "privateKey": "k", "keyId": "i", "algorithm": "EdDSA"}),
            json!({"grant": "client_credentials", "clientId": "a", "privateKey": "k", "issuer": "https://a.example"}),
            json!({"grant": "client_credentials", "clientMetadataUrl": "https://a.example/c.json", "privateKey": "k"}),
            json!({"grant": "client_credentials", "clientId": "a", "clientSecret": "b", "tokenEndpoint": "https://a.example/t"}),
            json!({"resource": "urn:notes", "successUrl": "http://localhost:1/done"}),
            json!({"issuer": "https://a.example"}),
            json!({"sendResource": false}),
            json!({"importedLogin": {"client_id": "c", "access_token": "t"}}),
            json!({"store": "keychain"}),
            json!({"store": "sqlite:tokens.db"}),
            json!({"store": "rediss://:secret@h/1?namespace=a"}),
            json!({"grant": "workload_identity", "assertion": "j", "dpop": true, "store": "/x", "scopes": ["a"]}),
            json!({"grant": "workload_identity", "assertion": "j", "issuer": "https://a.example"}),
        ] {
            assert_eq!(read(given.clone()).check(), Ok(()), "{given}");
        }
        let mut enterprise = secret;
        for (name, value) in [
            ("grant", "enterprise_managed"),
            ("idpTokenEndpoint", "https://idp.example/token"),
            ("idpClientId", "c"),
            ("identityToken", "j"),
        ] {
            enterprise[name] = value.into();
        }
        assert_eq!(read(enterprise).check(), Ok(()));
    }

    #[test]
    fn a_token_goes_with_nothing_else() {
        for option in OAuthOptions::OBJECT.fields.iter().filter(|field| field.json != "token") {
            let value = match option.json {
                "grant" => json!("client_credentials"),
                "algorithm" => json!("EdDSA"),
                "scopes" => json!(["a"]),
                "dpop" | "offlineAccess" | "assumePkce" | "useIdToken" => json!(true),
                "sendResource" => json!(false),
                "authorizationParameters" => json!({"access_type": "offline"}),
                "importedLogin" => json!({"client_id": "c"}),
                "loginTimeoutMs" | "requestTimeoutMs" => json!(1),
                _ => json!("https://a.example/x"),
            };
            let error = refused(json!({"token": "t", option.json: value}));
            assert!(error.starts_with(&format!("auth.{} is for OAuth", option.json)), "{error}");
        }
        let handler = RedirectHandler::new("https://a.example/x", async |url| Ok(url));
        let error = read(json!({"token": "t"})).with_handler(handler.clone()).check().unwrap_err().to_string();
        assert!(error.starts_with("auth.handler"), "{error}");
        let error = read(json!({"redirectUri": "https://a.example/x"})).with_handler(handler).check().unwrap_err();
        assert!(error.to_string().contains("has its own"), "{error}");
    }

    #[test]
    fn options_without_an_effect_are_refused_by_name() {
        for (given, part) in [
            (
                json!({"grant": "client_credentials", "redirectUri": "http://localhost/x"}),
                "auth.redirectUri is for the",
            ),
            (json!({"grant": "workload_identity", "loginTimeoutMs": 1}), "auth.loginTimeoutMs is for the"),
            (json!({"grant": "workload_identity", "clientId": "a"}), "auth.clientId is for the grant"),
            (json!({"idpClientId": "a"}), "auth.idpClientId is for the grant enterprise_managed"),
            (json!({"identityToken": "a"}), "auth.identityToken is for the grant enterprise_managed"),
            (
                json!({"grant": "client_credentials", "assertion": "a"}),
                "auth.assertion is for the grant workload_identity",
            ),
            (json!({"clientSecret": "a"}), "auth.clientSecret needs `clientId`"),
            (json!({"privateKey": "a"}), "auth.privateKey needs `clientId` or `clientMetadataUrl`"),
            (json!({"keyId": "a"}), "auth.keyId needs `privateKey`"),
            (json!({"algorithm": "EdDSA"}), "auth.algorithm needs `privateKey`"),
            (json!({"clientId": "a", "assumePkce": true}), "auth.assumePkce needs `issuer`"),
            (json!({"clientId": "a", "tokenEndpoint": "https://a.example"}), "auth.tokenEndpoint needs `issuer`"),
            (
                json!({"grant": "device_code", "redirectUri": "http://localhost/x"}),
                "auth.redirectUri is for the grant authorization_code, but",
            ),
            (json!({"grant": "client_credentials", "useIdToken": true}), "auth.useIdToken is for the grant"),
            (json!({"grant": "device_code", "successUrl": "https://a.example"}), "auth.successUrl is for the grant"),
            (json!({"grant": "client_credentials", "importedLogin": {"a": 1}}), "auth.importedLogin is for the grant"),
            (
                json!({"clientId": "a", "issuer": "https://a.example", "sendResource": false, "resource": "https://b.example"}),
                "auth.resource cannot be combined with `sendResource`",
            ),
            (json!({"useIdToken": true, "dpop": true}), "auth.useIdToken cannot be combined with `dpop`"),
            (
                json!({"grant": "workload_identity", "assertion": "a", "sendResource": false}),
                "auth.sendResource is for the grant authorization_code or device_code or client_credentials",
            ),
        ] {
            let error = refused(given);
            assert!(error.starts_with(part), "{error}");
        }
    }

    #[test]
    fn missing_and_wrong_options_are_named() {
        for (given, part) in [
            (json!({"grant": "client_credentials"}), "auth.clientId is missing: the grant client_credentials needs"),
            (json!({"grant": "client_credentials", "clientId": "a"}), "auth.clientSecret is missing"),
            (json!({"grant": "enterprise_managed", "clientId": "a"}), "auth.idpTokenEndpoint is missing"),
            (json!({"grant": "workload_identity"}), "auth.assertion is missing"),
            (json!({"clientId": ""}), "auth.clientId is empty"),
            (json!({"redirectUri": "http://a.example/x"}), "auth.redirectUri cannot be used"),
            (json!({"redirectUri": "app:/x"}), "auth.redirectUri cannot be used"),
            (json!({"clientId": "a", "issuer": "http://a.example"}), "auth.issuer cannot be used"),
            (
                json!({"clientMetadataUrl": "https://a.example"}),
                "auth.clientMetadataUrl \"https://a.example\" cannot be",
            ),
            (json!({"successUrl": "http://a.example/x"}), "auth.successUrl cannot be used"),
            (json!({"resource": "notes"}), "auth.resource \"notes\" is not an absolute URI"),
            (json!({"resource": "https://a.example/#b"}), "auth.resource \"https://a.example/#b\" is not"),
            (json!({"scopes": ["a b"]}), "auth.scopes has \"a b\""),
            (json!({"loginTimeoutMs": 0}), "auth.loginTimeoutMs must be more than 0"),
            (json!({"loginTimeoutMs": 900_001}), "auth.loginTimeoutMs must be at most 15 min"),
            (json!({"requestTimeoutMs": 0}), "auth.requestTimeoutMs must be more than 0"),
            (json!({"grant": "client_credentials", "offlineAccess": true}), "auth.offlineAccess is for the grant"),
            (
                json!({"authorizationParameters": {"access_type": "offline", "scope": "a"}}),
                "auth.authorizationParameters has \"scope\", which the client sets itself",
            ),
        ] {
            let error = refused(given);
            assert!(error.starts_with(part), "{error}");
        }
    }

    #[test]
    fn errors_have_the_names_of_rust() {
        let refused = |given| read(given).check().unwrap_err().to_string();
        assert_eq!(
            refused(json!({"grant": "client_credentials"})),
            "auth.client_id is missing: the grant client_credentials needs `client_id` or `client_metadata_url`"
        );
        assert_eq!(refused(json!({"loginTimeoutMs": 0})), "auth.login_timeout must be more than 0");
    }

    #[test]
    fn secrets_are_not_shown() {
        let redacted = format!("{:?}", read(json!({"clientId": "a", "clientSecret": "s3cret", "token": "t0ken"})));
        assert!(
            redacted.contains("clientSecret") && !redacted.contains("s3cret") && !redacted.contains("t0ken"),
            "{redacted}"
        );
    }
}
