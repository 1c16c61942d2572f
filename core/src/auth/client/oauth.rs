//! OAuth 2.1 for a client, by options.

use super::{
    AuthNetwork, AuthorizationHandler, SigningKey, TokenStore,
    client_identity::GivenClient,
    enterprise::EnterpriseManaged,
    session::CredentialSession,
    settings::{AssertionRequest, Grant, Settings},
};
use crate::{
    client_auth::{AuthError, ClientAuth, CredentialsRefusal, OutgoingRequest},
    runtime::BoxedTask,
    sync::Mutex,
};
use std::{collections::HashMap, future::Future, sync::Arc, time::Duration};
use url::Url;

/// Authorizes a client by OAuth 2.1, as the specification's pages on authorization describe it:
/// finds the authorization server, registers the client, lets the user log in, renews tokens, and
/// asks for more scopes when a server needs them.
///
/// One value serves many connections and servers; clones are the same value. Credentials are kept
/// in a [`TokenStore`] for each authorization server and resource.
///
/// ```no_run
/// # async fn run() -> Result<(), trunkline::ClientError> {
/// use trunkline::{Client, ClientOptions, auth::{FileStore, OAuth}};
///
/// // Opens the browser when the server asks for a login.
/// let auth = OAuth::new(FileStore::new("/home/ann/.config/agent/tokens")).with_client_name("Ann's agent");
/// let options = ClientOptions::default().with_auth(auth);
/// let client = Client::connect_with("https://mcp.example/mcp", options, ()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OAuth {
    settings: Arc<Settings>,
    /// By the URL of the server.
    sessions: Arc<Mutex<HashMap<String, Arc<CredentialSession>>>>,
}

impl OAuth {
    /// Longest time of a login by default.
    pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);

    /// With a store, a network and a handler of one's own. `OAuth::new` takes those of this crate.
    pub fn with_parts(store: impl TokenStore, network: impl AuthNetwork, handler: impl AuthorizationHandler) -> Self {
        let settings = Settings {
            store: Arc::new(store),
            network: Arc::new(network),
            handler: Arc::new(handler),
            grant: Grant::AuthorizationCode,
            client: None,
            key: None,
            client_metadata_url: None,
            client_name: "trunkline".to_owned(),
            scopes: Vec::new(),
            dpop: false,
            login_timeout: Self::LOGIN_TIMEOUT,
        };
        Self { settings: Arc::new(settings), sessions: Arc::default() }
    }

    /// Lets the user log in by this handler. By default the browser is opened, and a port of this
    /// machine receives the redirect.
    #[must_use]
    pub fn with_handler(self, handler: impl AuthorizationHandler) -> Self {
        self.set(|settings| settings.handler = Arc::new(handler))
    }

    /// The name of the program, for the page on which the user authorizes it.
    #[must_use]
    pub fn with_client_name(self, name: impl Into<String>) -> Self {
        self.set(|settings| settings.client_name = name.into())
    }

    /// A client id that was registered beforehand (AUC-22). Without one, the client's metadata
    /// document or a registration is used.
    #[must_use]
    pub fn with_client_id(self, id: impl Into<String>) -> Self {
        self.client(|client| client.id = id.into())
    }

    /// The secret of that client.
    #[must_use]
    pub fn with_client_secret(self, secret: impl Into<String>) -> Self {
        self.client(|client| client.secret = Some(secret.into()))
    }

    /// The issuer of the authorization server that knows the client. It is shown to no other
    /// (AUC-25).
    #[must_use]
    pub fn with_issuer(self, issuer: impl Into<String>) -> Self {
        self.client(|client| client.issuer = Some(issuer.into()))
    }

    /// The key with which the client authenticates (`private_key_jwt`, RFC 7523).
    #[must_use]
    pub fn with_private_key(self, key: SigningKey) -> Self {
        self.client(|client| client.has_key = true).set(|settings| settings.key = Some(Arc::new(key)))
    }

    /// The URL of the client's metadata document, which is its id at authorization servers that
    /// read such documents (AUC-15).
    ///
    /// # Errors
    /// If it is not an https URL with a path (AUC-16).
    pub fn with_client_metadata_url(self, url: impl Into<String>) -> Result<Self, AuthError> {
        let url = url.into();
        let fits = Url::parse(&url).is_ok_and(|parsed| {
            parsed.scheme() == "https"
                && parsed.path().len() > 1
                && parsed.fragment().is_none()
                && parsed.username().is_empty()
        });
        if !fits {
            return Err(AuthError(format!("{url:?} cannot be a client id: it must be an https URL with a path")));
        }
        Ok(self.set(|settings| settings.client_metadata_url = Some(url)))
    }

    /// The scopes to ask for where the server names none in its challenge. By default those that
    /// its metadata lists.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.set(|settings| settings.scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Bind tokens to a key of this client (DPoP, RFC 9449).
    #[must_use]
    pub fn with_dpop(self, dpop: bool) -> Self {
        self.set(|settings| settings.dpop = dpop)
    }

    /// Time of a person to log in; five minutes by default.
    #[must_use]
    pub fn with_login_timeout(self, timeout: Duration) -> Self {
        self.set(|settings| settings.login_timeout = timeout)
    }

    /// The client acts for itself, without a user (extension "OAuth client credentials"). Needs a
    /// client id, and a signing key or a secret.
    #[must_use]
    pub fn client_credentials(self) -> Self {
        self.set(|settings| settings.grant = Grant::ClientCredentials)
    }

    /// An organization's identity provider grants access (extension "Enterprise-managed
    /// authorization"). Needs a client id at the authorization server.
    #[must_use]
    pub fn enterprise_managed(self, provider: EnterpriseManaged) -> Self {
        self.set(|settings| settings.grant = Grant::Enterprise(Arc::new(provider)))
    }

    /// The platform of this workload vouches for it by a JWT (draft extension "Workload identity
    /// federation"), which `assertion` gives each time that one is needed.
    #[must_use]
    pub fn workload_identity<F>(self, assertion: impl Fn(AssertionRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        self.set(|settings| settings.grant = Grant::Workload(Arc::new(move |request| Box::pin(assertion(request)))))
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    fn client(self, change: impl FnOnce(&mut GivenClient)) -> Self {
        self.set(|settings| {
            let none = || GivenClient { id: String::new(), secret: None, has_key: false, issuer: None };
            change(settings.client.get_or_insert_with(none));
        })
    }

    fn session(&self, url: &str) -> Arc<CredentialSession> {
        Arc::clone(self.sessions.lock().entry(url.to_owned()).or_default())
    }
}

impl ClientAuth for OAuth {
    fn headers(&self, request: &OutgoingRequest) -> BoxedTask<Result<Vec<(String, String)>, AuthError>> {
        let (settings, session, request) = (Arc::clone(&self.settings), self.session(&request.url), request.clone());
        Box::pin(async move { session.headers(&settings, &request).await })
    }

    fn refused(&self, request: &OutgoingRequest, refusal: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>> {
        let (settings, session, request) = (Arc::clone(&self.settings), self.session(&request.url), request.clone());
        Box::pin(async move { session.refused(&settings, &request, &refusal).await })
    }

    fn nonce(&self, request: &OutgoingRequest, nonce: &str) {
        self.session(&request.url).nonce(&request.url, nonce);
    }

    fn context(&self) -> Option<u64> {
        Some(self.sessions.lock().values().map(|session| session.changes()).sum())
    }

    fn extension(&self) -> Option<&'static str> {
        match self.settings.grant {
            Grant::ClientCredentials => Some("io.modelcontextprotocol/oauth-client-credentials"),
            Grant::Enterprise(_) => Some("io.modelcontextprotocol/enterprise-managed-authorization"),
            // The draft fixes no identifier.
            Grant::AuthorizationCode | Grant::Workload(_) => None,
        }
    }
}

impl From<OAuth> for Option<Arc<dyn ClientAuth>> {
    fn from(auth: OAuth) -> Self {
        Some(Arc::new(auth))
    }
}
