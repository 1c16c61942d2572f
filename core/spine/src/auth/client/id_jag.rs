//! Exchanges a user's assertion for an ID-JAG at the identity provider, and that for a token (RFC
//! 8693, RFC 7523).

use super::{
    IdentityTokenRequest,
    auth_network::NetworkAccess,
    discovery::Discovered,
    exchange::{Obtained, jwt_bearer},
    registration::given_or_document,
    sanitized,
    settings::IdentityProvider,
    token_endpoint::{Parts, TokenContext},
    tokens::TokenAnswer,
};
use crate::client_auth::AuthError;

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// XAU-16 to XAU-23: gets an ID-JAG from the identity provider and exchanges it for a token at the
/// authorization server.
pub(super) async fn obtain(
    provider: &IdentityProvider,
    parts: &Parts,
    found: &Discovered,
    scopes: &[String],
) -> Result<Obtained, AuthError> {
    let request = IdentityTokenRequest { token_endpoint: provider.token_endpoint.clone() };
    let assertion = provider.assertion.token(request).await?;
    let scope = scopes.join(" ");
    let form = [
        ("grant_type", TOKEN_EXCHANGE),
        ("requested_token_type", ID_JAG),
        ("audience", found.server.issuer.as_str()),
        ("resource", found.resource.as_str()),
        ("subject_token", assertion.as_str()),
        ("subject_token_type", provider.subject_token_type.as_str()),
        ("scope", &scope),
    ];
    // The program supplied the identity provider, which may well be in its own network.
    let mut of_provider = Parts { proofs: None, ..parts.clone() };
    of_provider.network.access = NetworkAccess::Anywhere;
    let (url, client) = (provider.token_endpoint.as_str(), Some(&provider.client));
    let endpoint = TokenContext { parts: &of_provider, url, issuer: url, client };
    let exchanged: TokenAnswer = endpoint.ask(&form).await.map_err(|refused| {
        // XAU-31
        let sign_on = matches!(refused.code.as_deref(), Some("invalid_grant" | "invalid_request"));
        let advice = if sign_on { ". The user may need to sign in to the identity provider again" } else { "" };
        AuthError(format!("{}{advice}", refused.error))
    })?;
    // XAU-21
    if exchanged.issued_token_type.as_deref() != Some(ID_JAG) {
        let given = sanitized(exchanged.issued_token_type.as_deref().unwrap_or("nothing"));
        return Err(AuthError(format!("{} returned {given:?} instead of an ID-JAG", sanitized(url))));
    }
    let client = given_or_document(parts, &found.server)?;
    jwt_bearer(parts, found, &exchanged.access_token, scopes, Some(client)).await
}
