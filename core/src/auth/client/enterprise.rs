//! Enterprise-managed authorization: the identity provider of an organization grants access with an
//! Identity Assertion Authorization Grant (extension of that name).

use super::{IdentityTokenRequest, client_identity::ClientRegistration, token_source::TokenSource};

/// The identity provider, and the user's assertion from it.
#[derive(Clone)]
pub(super) struct IdentityProvider {
    pub(super) token_endpoint: String,
    pub(super) client: ClientRegistration,
    pub(super) assertion: TokenSource<IdentityTokenRequest>,
    pub(super) subject_token_type: String,
}
