//! Exchanging a grant for a token; shared by all grants.

use super::{
    client_identity::ClientRegistration,
    discovery::{Discovered, ServerMetadata},
    sanitized,
    token_endpoint::{Parts, TokenContext, TokenError},
    tokens::TokenAnswer,
};
use crate::client_auth::AuthError;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// A token and the client that obtained it.
pub(super) struct Obtained {
    pub(super) answer: TokenAnswer,
    pub(super) client: Option<ClientRegistration>,
}

pub(super) fn token_endpoint(server: &ServerMetadata) -> Result<&str, AuthError> {
    let missing = || AuthError(format!("The metadata of {} has no token_endpoint", sanitized(&server.issuer)));
    server.token_endpoint.as_deref().ok_or_else(missing)
}

/// XAU-22, XAU-33. Sends one request. An error is reported without trying anything else (XAU-38).
pub(super) async fn jwt_bearer(
    parts: &Parts,
    found: &Discovered,
    assertion: &str,
    scopes: &[String],
    client: Option<ClientRegistration>,
) -> Result<Obtained, AuthError> {
    if found.server.grant_types_supported.as_ref().is_some_and(|grants| !grants.iter().any(|it| it == JWT_BEARER)) {
        // XAU-40
        return Err(AuthError(format!("{} does not support the grant {JWT_BEARER}", sanitized(&found.server.issuer))));
    }
    let scope = scopes.join(" ");
    let resource = found.resource.as_str();
    let form = [("grant_type", JWT_BEARER), ("assertion", assertion), ("resource", resource), ("scope", &scope)];
    Ok(ask(parts, found, &form, client).await?)
}

/// Requests a token, authenticated as this client. If the server does not accept its secret, tries
/// once more with the other method that the server lists: a preregistered client does not know
/// which of them it is registered for.
pub(super) async fn ask(
    parts: &Parts,
    found: &Discovered,
    form: &[(&str, &str)],
    client: Option<ClientRegistration>,
) -> Result<Obtained, TokenError> {
    let (url, issuer) = (token_endpoint(&found.server)?, &*found.server.issuer);
    let asked = TokenContext { parts, url, issuer, client: client.as_ref() }.ask(form).await;
    let refused = match asked {
        Ok(answer) => return Ok(Obtained { answer, client }),
        Err(refused) => refused,
    };
    let method = client.as_ref().and_then(|client| client.method.alternative(&found.server));
    let (Some("invalid_client"), Some(method)) = (refused.code.as_deref(), method) else { return Err(refused) };
    let client = client.map(|client| ClientRegistration { method, ..client });
    let answer = TokenContext { parts, url, issuer, client: client.as_ref() }.ask(form).await?;
    Ok(Obtained { answer, client })
}
