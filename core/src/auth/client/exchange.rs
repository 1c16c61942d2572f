//! Exchanging a grant for a token; shared by all grants.

use super::{
    auth_network::NetworkContext,
    client_identity::{AuthMethod, ClientRegistration},
    discovery::{Discovered, ServerMetadata},
    proofs::Proofs,
    sanitized,
    settings::Settings,
    token_endpoint::ClientAuthentication,
    tokens::{TokenAnswer, TokenContext},
};
use crate::{client_auth::AuthError, runtime::Runtime};
use std::sync::Arc;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// What every grant needs.
pub(super) struct Parts<'a> {
    pub(super) settings: &'a Settings,
    pub(super) network: &'a NetworkContext,
    pub(super) runtime: &'a Arc<dyn Runtime>,
    pub(super) proofs: Option<&'a Proofs>,
}

impl Parts<'_> {
    /// The current Unix timestamp in seconds. A user or the program may take minutes between two
    /// steps of a grant.
    pub(super) fn now(&self) -> u64 {
        self.runtime.unix_time().as_secs()
    }
}

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
    parts: &Parts<'_>,
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
    ask(parts, found, &form, client).await
}

/// Requests a token, authenticated as this client.
pub(super) async fn ask(
    parts: &Parts<'_>,
    found: &Discovered,
    form: &[(&str, &str)],
    client: Option<ClientRegistration>,
) -> Result<Obtained, AuthError> {
    let url = token_endpoint(&found.server)?;
    let endpoint = TokenContext { network: parts.network, url, issuer: &found.server.issuer, now: parts.now() };
    let credentials = client.as_ref().map(|client| ClientAuthentication { client, key: parts.settings.key.as_ref() });
    if client.as_ref().is_some_and(|client| client.method == AuthMethod::PrivateKeyJwt) {
        check_algorithm(parts.settings, &found.server)?;
    }
    let answer = endpoint.ask(form, credentials, parts.proofs).await?;
    Ok(Obtained { answer, client })
}

/// XAU-11: the server must support the algorithm of the key, if it lists algorithms.
pub(super) fn check_algorithm(settings: &Settings, server: &ServerMetadata) -> Result<(), AuthError> {
    let (Some(key), Some(listed)) = (&settings.key, &server.token_endpoint_auth_signing_alg_values_supported) else {
        return Ok(());
    };
    let algorithm = key.algorithm().as_str();
    if listed.iter().any(|name| name == algorithm) {
        return Ok(());
    }
    let (issuer, listed) = (sanitized(&server.issuer), sanitized(&listed.join(", ")));
    Err(AuthError(format!("{issuer} accepts assertions signed with {listed}, but the key uses {algorithm}")))
}
