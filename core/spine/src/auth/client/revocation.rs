//! Revokes the tokens of one server (RFC 7009).

use super::{
    client_identity::ClientRegistration,
    discovery::{self, Needed},
    token_endpoint::{Parts, TokenContext},
    tokens::Tokens,
};
use crate::client_auth::AuthError;

/// Revokes tokens if their authorization server has an endpoint for that. `client` obtained them.
pub(super) async fn revoke(parts: &Parts, tokens: &Tokens, client: &ClientRegistration) -> Result<(), AuthError> {
    let server = discovery::server_metadata(&parts.network, &tokens.issuer, Needed::TOKENS).await?;
    let Some(url) = &server.revocation_endpoint else { return Ok(()) };
    let endpoint = TokenContext { parts, url, issuer: &tokens.issuer, client: Some(client) };
    // Servers need not revoke the access tokens of a refresh token (section 2.1).
    let refreshed = match &tokens.refresh_token {
        Some(token) => endpoint.revoke(token, "refresh_token").await,
        None => Ok(()),
    };
    if tokens.has_ended(parts.network.now()) {
        return refreshed;
    }
    endpoint.revoke(&tokens.access_token, "access_token").await.and(refreshed)
}
