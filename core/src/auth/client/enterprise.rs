//! Enterprise-managed authorization: the identity provider of an organization grants access with an
//! Identity Assertion Authorization Grant (extension of that name).

use super::{
    IdentityTokenRequest,
    client_identity::{AuthMethod, ClientRegistration},
    token_source::TokenSource,
};

/// The identity provider, and the user's assertion from it.
#[derive(Clone)]
pub(super) struct IdentityProvider {
    pub(super) token_endpoint: String,
    pub(super) client: ClientRegistration,
    pub(super) assertion: TokenSource<IdentityTokenRequest>,
    pub(super) subject_token_type: String,
}

impl IdentityProvider {
    /// The client as registered at the identity provider (XAU-19).
    pub(super) fn client(id: String, secret: Option<String>) -> ClientRegistration {
        ClientRegistration {
            client_id: id,
            method: if secret.is_some() { AuthMethod::Basic } else { AuthMethod::None },
            client_secret: secret,
            redirect_uri: None,
            secret_expires_at: None,
            scopes: Vec::new(),
        }
    }
}
