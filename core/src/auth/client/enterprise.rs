//! Enterprise-managed authorization: the identity provider of an organization grants access (extension of that name, with an
//! Identity Assertion Authorization Grant).

use super::{
    discovery::Discovered,
    grants::{self, Obtained, Parts},
    network::Reach,
    registration::{AuthMethod, Registration},
    shown,
    token_endpoint::Credentials,
    tokens::Endpoint,
};
use crate::{client_auth::AuthError, runtime::Task};
use std::{future::Future, sync::Arc};

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// The identity provider, and the user's assertion of it.
pub struct EnterpriseManaged {
    token_endpoint: String,
    client: Registration,
    assertion: Box<dyn Fn() -> Task<Result<String, AuthError>> + Send + Sync>,
    subject_token_type: String,
}

impl EnterpriseManaged {
    /// An identity provider by its token endpoint and the client's id there. `assertion` gives the user's ID token each time
    /// that one is needed: the sign-on itself is the program's (XAU-15).
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
            client: Registration {
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

    /// The type of the assertion, if it is no ID token: `urn:ietf:params:oauth:token-type:refresh_token` after a SAML assertion
    /// was exchanged for one (XAU-20).
    #[must_use]
    pub fn with_subject_token_type(self, kind: impl Into<String>) -> Self {
        Self { subject_token_type: kind.into(), ..self }
    }
}

/// XAU-16 to XAU-23: an ID-JAG of the identity provider, which the authorization server takes for a token.
pub(super) async fn obtain(
    provider: &Arc<EnterpriseManaged>,
    parts: &Parts<'_>,
    found: &Discovered,
    scopes: &[String],
) -> Result<Obtained, AuthError> {
    let assertion = (provider.assertion)().await?;
    let scope = scopes.join(" ");
    let mut form = vec![
        ("grant_type", TOKEN_EXCHANGE),
        ("requested_token_type", ID_JAG),
        ("audience", found.server.issuer.as_str()),
        ("resource", found.resource.as_str()),
        ("subject_token", assertion.as_str()),
        ("subject_token_type", provider.subject_token_type.as_str()),
    ];
    if !scope.is_empty() {
        form.push(("scope", &scope));
    }
    // The program named the identity provider, which may well be within its own network.
    let mut surroundings = parts.surroundings.clone();
    surroundings.reach = Reach::Anywhere;
    let url = provider.token_endpoint.as_str();
    let endpoint = Endpoint { surroundings: &surroundings, url, issuer: url, now: parts.now };
    let credentials = Credentials { client: &provider.client, key: None };
    let exchanged = endpoint.ask(&form, Some(credentials), None).await.map_err(|refused| {
        // XAU-31
        let sign_on = matches!(refused.code.as_deref(), Some("invalid_grant" | "invalid_request"));
        let advice = if sign_on { ". The user may need to sign on at the identity provider again" } else { "" };
        AuthError(format!("{}{advice}", refused.error))
    })?;
    // XAU-21
    if exchanged.issued_token_type.as_deref() != Some(ID_JAG) {
        let given = shown(exchanged.issued_token_type.as_deref().unwrap_or("nothing"));
        return Err(AuthError(format!("{} gave {given:?} instead of an ID-JAG: it is not used", shown(url))));
    }
    let client = grants::given_or_document(parts, &found.server)?;
    grants::jwt_bearer(parts, found, &exchanged.access_token, scopes, Some(client)).await
}
