//! OAuth 2.1 for clients.

use super::{
    AccessToken, AuthNetwork, OAuthOptions,
    credential_session::CredentialSession,
    settings::{Grant, Settings},
};
use crate::{
    auth::AuthOptionError,
    client_auth::{AuthError, ClientAuth, CredentialsRefusal, OutgoingRequest},
    runtime::{BoxedTask, Runtime},
    sync::Mutex,
};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};

/// Authorizes a client with OAuth 2.1, as the specification's authorization pages describe: finds
/// the authorization server, registers the client, lets the user log in, refreshes tokens, and
/// requests more scopes when a server requires them.
///
/// You can use one `OAuth` for many connections and servers; clones share its state. Credentials
/// are stored in a [`TokenStore`](super::TokenStore) for each authorization server and resource.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use trunkline::{Client, ClientOptions, auth::{FileStore, OAuth, OAuthOptions}};
///
/// // Opens the browser when the server asks for a login.
/// let auth = OAuthOptions::default()
///     .with_client_name("Ann's agent")
///     .with_store(FileStore::new("/home/ann/.config/agent/tokens"));
/// let options = ClientOptions::default().with_auth(OAuth::new(auth)?);
/// let client = Client::connect_with("https://mcp.example/mcp", options, ()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OAuth(Arc<dyn ClientAuth>);

impl OAuth {
    /// Uses a custom network. The options must contain the handler and the store; only
    /// [`OAuth::new`] creates the built-in ones.
    ///
    /// # Errors
    /// The errors of [`OAuthOptions::check`]; if the private key is invalid, or a store or handler
    /// is missing.
    pub fn with_network(options: OAuthOptions, network: impl AuthNetwork) -> Result<Self, AuthOptionError> {
        Self::prepared(options, Arc::new(network), Ok)
    }

    pub(crate) fn logout_of(&self, url: &str, runtime: Arc<dyn Runtime>) -> BoxedTask<Result<(), AuthError>> {
        self.0.logout(&OutgoingRequest::new("POST", url, runtime))
    }

    /// `prepare` creates the handler and the store that the options only name.
    pub(crate) fn prepared(
        given: OAuthOptions,
        network: Arc<dyn AuthNetwork>,
        prepare: Prepare,
    ) -> Result<Self, AuthOptionError> {
        given.check()?;
        let options = prepare(given.clone())?;
        Ok(Self(match options.token {
            Some(token) => Arc::new(AccessToken::from(token)),
            None => Arc::new(CredentialSessions {
                given,
                prepare,
                settings: Arc::new(Settings::new(options, network)?),
                sessions: Mutex::default(),
            }),
        }))
    }
}

type Prepare = fn(OAuthOptions) -> Result<OAuthOptions, AuthOptionError>;

/// The credentials for each server.
struct CredentialSessions {
    given: OAuthOptions,
    prepare: Prepare,
    settings: Arc<Settings>,
    /// By the URL of the server.
    sessions: Mutex<HashMap<String, Arc<CredentialSession>>>,
}

impl CredentialSessions {
    fn session(&self, url: &str) -> Arc<CredentialSession> {
        let mut sessions = self.sessions.lock();
        let new = || Arc::new(CredentialSession::new(Arc::clone(&self.settings)));
        Arc::clone(sessions.entry(url.to_owned()).or_insert_with(new))
    }
}

impl ClientAuth for CredentialSessions {
    fn headers(&self, request: &OutgoingRequest) -> BoxedTask<Result<Vec<(String, String)>, AuthError>> {
        let (session, request) = (self.session(&request.url), request.clone());
        Box::pin(async move { session.headers(&request).await })
    }

    fn refused(&self, request: &OutgoingRequest, refusal: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>> {
        let (session, request) = (self.session(&request.url), request.clone());
        Box::pin(async move { session.refused(&request, &refusal).await })
    }

    fn nonce(&self, request: &OutgoingRequest, nonce: &str) {
        self.session(&request.url).nonce(&request.url, nonce);
    }

    fn logout(&self, request: &OutgoingRequest) -> BoxedTask<Result<(), AuthError>> {
        let (session, request) = (self.session(&request.url), request.clone());
        Box::pin(async move { session.logout(&request).await })
    }

    fn context(&self) -> Option<u64> {
        Some(self.sessions.lock().values().map(|session| session.changes()).sum())
    }

    fn for_server(&self, options: &Value) -> Option<Result<Arc<dyn ClientAuth>, AuthError>> {
        let made = || {
            let options = self.given.for_server(options).map_err(|error| AuthError(format!("auth: {error}")))?;
            let made = OAuth::prepared(options, Arc::clone(&self.settings.network), self.prepare);
            made.map(|auth| auth.0).map_err(|error| AuthError(error.in_json()))
        };
        Some(made())
    }

    fn check_group(&self) -> Result<(), AuthError> {
        let given = &self.given;
        let for_one_server = [
            ("importedLogin", !given.imported_login.is_empty()),
            ("resource", given.resource.is_some()),
            // One server could get a token that another accepts: nothing says for which one it is.
            ("sendResource", !given.send_resource && given.issuer.is_some()),
            ("useIdToken", given.use_id_token),
        ];
        if let Some((name, _)) = for_one_server.iter().find(|(_, is_given)| *is_given) {
            return Err(AuthError(format!(
                "auth.{name} is for one server, and a group would use it for all: give it in `auth` of the server's entry"
            )));
        }
        let what = match (&given.client_secret, &given.assertion) {
            _ if given.issuer.is_some() => return Ok(()),
            (Some(_), _) => "client secret",
            (None, Some(assertion)) if assertion.is_fixed() => "assertion",
            _ => return Ok(()),
        };
        Err(AuthError(format!("auth.issuer is missing: the {what} of a group is for one authorization server")))
    }

    fn extension(&self) -> Option<&'static str> {
        match self.settings.grant {
            Grant::ClientCredentials => Some("io.modelcontextprotocol/oauth-client-credentials"),
            Grant::Enterprise(_) => Some("io.modelcontextprotocol/enterprise-managed-authorization"),
            // The draft defines no identifier.
            Grant::AuthorizationCode(_) | Grant::DeviceCode(_) | Grant::Workload(_) => None,
        }
    }
}

impl From<OAuth> for Option<Arc<dyn ClientAuth>> {
    fn from(auth: OAuth) -> Self {
        Some(auth.0)
    }
}
