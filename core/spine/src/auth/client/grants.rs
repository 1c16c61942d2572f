//! The grants that obtain tokens for a server.

use super::{
    AssertionRequest,
    auth_network::NetworkAccess,
    client_identity::{AuthMethod, ClientRegistration},
    code_flow, device_code,
    discovery::Discovered,
    exchange::{Obtained, ask, jwt_bearer, token_endpoint},
    id_jag,
    proofs::Proofs,
    registration::given_or_document,
    sanitized,
    settings::Grant,
    token_endpoint::{Parts, TokenError},
    tokens::Tokens,
};
use crate::client_auth::AuthError;

/// The algorithm of the client's proofs.
const PROOF_ALGORITHM: &str = "ES256";

/// Obtains tokens with these scopes.
pub(super) async fn obtain(parts: &Parts, found: &Discovered, scopes: Vec<String>) -> Result<Tokens, TokenError> {
    if found.dpop_required && parts.proofs.is_none() {
        // XAU-56
        let resource = sanitized(&found.resource);
        return Err(AuthError(format!("{resource} accepts only tokens bound to a key: enable DPoP")).into());
    }
    let listed = found.server.dpop_signing_alg_values_supported.as_ref();
    if parts.proofs.is_some() && listed.is_some_and(|listed| !listed.iter().any(|name| name == PROOF_ALGORITHM)) {
        // XAU-48
        let issuer = sanitized(&found.server.issuer);
        return Err(AuthError(format!("{issuer} does not accept DPoP proofs signed with {PROOF_ALGORITHM}")).into());
    }
    let Obtained { answer, client } = match &parts.settings.grant {
        Grant::AuthorizationCode(handler) => {
            let obtained = code_flow::obtain(&**handler, parts, found, &scopes).await;
            obtained.map_err(|refused| refused.advised(&parts.settings))?
        }
        Grant::DeviceCode(handler) => {
            let obtained = device_code::obtain(&**handler, parts, found, &scopes).await;
            obtained.map_err(|refused| refused.advised(&parts.settings))?
        }
        Grant::ClientCredentials => client_credentials(parts, found, &scopes).await?,
        Grant::Enterprise(provider) => id_jag::obtain(provider, parts, found, &scopes).await?,
        Grant::Workload(source) => {
            let token_endpoint = token_endpoint(&found.server)?.to_owned();
            let (issuer, resource) = (found.server.issuer.clone(), found.resource.clone());
            let assertion = source.token(AssertionRequest { issuer, token_endpoint, resource }).await?;
            jwt_bearer(parts, found, &assertion, &scopes, None).await?
        }
    };
    let url = token_endpoint(&found.server)?;
    let answer = answer.accepted(parts, url)?;
    Ok(Tokens {
        issuer: found.server.issuer.clone(),
        resource: found.resource.clone(),
        method: client.as_ref().map_or(AuthMethod::None, |client| client.method),
        registration: client.clone().filter(ClientRegistration::is_dynamic),
        client_id: client.map(|client| client.client_id),
        token_endpoint: url.to_owned(),
        expires_at: answer.expires_at(parts.network.now()),
        access_token: answer.access_token,
        // XAU-13: a grant without a user is repeated instead.
        refresh_token: answer.refresh_token.filter(|_| parts.settings.grant.has_user()),
        requested: scopes,
        dpop_key: parts.proofs.as_deref().and_then(Proofs::kept),
        private_network: parts.network.access == NetworkAccess::Anywhere,
        is_new: true,
        renewed_at: None,
        replaced: None,
    })
}

/// XAU-07, XAU-08.
async fn client_credentials(parts: &Parts, found: &Discovered, scopes: &[String]) -> Result<Obtained, AuthError> {
    let client = given_or_document(parts, &found.server)?;
    let scope = scopes.join(" ");
    let resource = parts.settings.resource_parameter(&found.resource);
    let form = [("grant_type", "client_credentials"), ("resource", resource), ("scope", &scope)];
    let obtained = ask(parts, found, &form, Some(client)).await;
    Ok(obtained.map_err(|refused| refused.advised(&parts.settings))?)
}
