//! The options of a client's authorization.

use super::{
    AuthNetwork, AuthorizationHandler, SigningKey, TokenStore, client_identity::GivenClient,
    enterprise::EnterpriseManaged,
};
use crate::{client_auth::AuthError, runtime::BoxedTask};
use std::{sync::Arc, time::Duration};

/// Grant that gives the tokens.
#[derive(Clone)]
pub(super) enum Grant {
    /// A user authorizes the client.
    AuthorizationCode,
    /// The client is its own user (extension "OAuth client credentials").
    ClientCredentials,
    /// An identity provider decides (extension "Enterprise-managed authorization").
    Enterprise(Arc<EnterpriseManaged>),
    /// The platform of the workload vouches for it (draft extension "Workload identity
    /// federation").
    Workload(AssertionSource),
}

/// Gives a JWT: asked anew for every request (XAU-37).
pub type AssertionSource = Arc<dyn Fn(AssertionRequest) -> BoxedTask<Result<String, AuthError>> + Send + Sync>;

/// The facts that an assertion is made for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AssertionRequest {
    /// The issuer of the authorization server.
    pub issuer: String,
    /// Its token endpoint.
    pub token_endpoint: String,
    /// The identifier of the MCP server.
    pub resource: String,
}

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) network: Arc<dyn AuthNetwork>,
    pub(super) handler: Arc<dyn AuthorizationHandler>,
    pub(super) grant: Grant,
    pub(super) client: Option<GivenClient>,
    pub(super) key: Option<Arc<SigningKey>>,
    pub(super) client_metadata_url: Option<String>,
    pub(super) client_name: String,
    pub(super) scopes: Vec<String>,
    pub(super) dpop: bool,
    /// Time of a person.
    pub(super) login_timeout: Duration,
}
