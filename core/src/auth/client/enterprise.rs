//! Enterprise-managed authorization: the identity provider of an organization grants access
//! (extension of that name, with an Identity Assertion Authorization Grant).

use super::client_identity::{AuthMethod, ClientRegistration};
use crate::{client_auth::AuthError, runtime::BoxedTask};
use std::future::Future;

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// The identity provider, and the user's assertion of it.
///
/// ```
/// use trunkline::auth::EnterpriseManaged;
///
/// let provider = EnterpriseManaged::new("https://idp.example/token", "notes", async || {
///     Ok(std::env::var("ID_TOKEN").unwrap_or_default())
/// });
/// ```
pub struct EnterpriseManaged {
    pub(super) token_endpoint: String,
    pub(super) client: ClientRegistration,
    pub(super) assertion: Box<dyn Fn() -> BoxedTask<Result<String, AuthError>> + Send + Sync>,
    pub(super) subject_token_type: String,
}

impl EnterpriseManaged {
    /// An identity provider by its token endpoint and the client's id there. `assertion` gives the
    /// user's ID token each time that one is needed: the sign-on itself is the program's (XAU-15).
    pub fn new<F>(
        token_endpoint: impl Into<String>,
        client_id: impl Into<String>,
        assertion: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        Self {
            token_endpoint: token_endpoint.into(),
            client: ClientRegistration {
                client_id: client_id.into(),
                client_secret: None,
                method: AuthMethod::None,
                redirect_uri: None,
                secret_expires_at: None,
            },
            assertion: Box::new(move || Box::pin(assertion())),
            subject_token_type: ID_TOKEN.to_owned(),
        }
    }

    /// The client's secret at the identity provider (XAU-19).
    #[must_use]
    pub fn with_client_secret(mut self, secret: impl Into<String>) -> Self {
        self.client.client_secret = Some(secret.into());
        self.client.method = AuthMethod::Basic;
        self
    }

    /// The type of the assertion, if it is not an ID token:
    /// `urn:ietf:params:oauth:token-type:refresh_token` after a SAML assertion was exchanged for
    /// one (XAU-20).
    #[must_use]
    pub fn with_subject_token_type(self, kind: impl Into<String>) -> Self {
        Self { subject_token_type: kind.into(), ..self }
    }
}
