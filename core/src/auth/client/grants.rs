//! The grants by which tokens are got for a server.

use super::{
    code_flow,
    discovery::{Discovered, ServerMetadata},
    enterprise,
    network::Surroundings,
    proofs::Proofs,
    registration::{self, AuthMethod, Registration},
    settings::{AssertionRequest, Grant, Settings},
    shown,
    token_endpoint::Credentials,
    tokens::{Endpoint, TokenAnswer, Tokens},
};
use crate::{client_auth::AuthError, runtime::Runtime};
use std::sync::Arc;

/// The algorithm of our proofs.
const PROOF_ALGORITHM: &str = "ES256";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The parts that every grant works with.
pub(super) struct Parts<'a> {
    pub(super) settings: &'a Settings,
    pub(super) surroundings: &'a Surroundings,
    pub(super) runtime: &'a Arc<dyn Runtime>,
    pub(super) proofs: Option<&'a Proofs>,
    /// In seconds since 1970.
    pub(super) now: u64,
}

/// A token, and the client that has got it.
pub(super) struct Obtained {
    pub(super) answer: TokenAnswer,
    pub(super) client: Option<Registration>,
}

/// Gets tokens with these scopes.
pub(super) async fn obtain(parts: &Parts<'_>, found: &Discovered, scopes: Vec<String>) -> Result<Tokens, AuthError> {
    if found.dpop_required && parts.proofs.is_none() {
        // XAU-56
        return Err(AuthError(format!("{} accepts tokens bound to a key only: turn DPoP on", shown(&found.resource))));
    }
    let listed = found.server.dpop_signing_alg_values_supported.as_ref();
    if parts.proofs.is_some() && listed.is_some_and(|listed| !listed.iter().any(|name| name == PROOF_ALGORITHM)) {
        // XAU-48
        return Err(AuthError(format!(
            "{} takes DPoP proofs, but none signed by {PROOF_ALGORITHM}",
            shown(&found.server.issuer)
        )));
    }
    let Obtained { answer, client } = match &parts.settings.grant {
        Grant::AuthorizationCode => code_flow::obtain(parts, found, &scopes).await?,
        Grant::ClientCredentials => client_credentials(parts, found, &scopes).await?,
        Grant::Enterprise(provider) => enterprise::obtain(provider, parts, found, &scopes).await?,
        Grant::Workload(source) => {
            let token_endpoint = token_endpoint(&found.server)?.to_owned();
            let (issuer, resource) = (found.server.issuer.clone(), found.resource.clone());
            let assertion = source(AssertionRequest { issuer, token_endpoint, resource }).await?;
            jwt_bearer(parts, found, &assertion, &scopes, None).await?
        }
    };
    let url = token_endpoint(&found.server)?;
    let answer = answer.checked(parts.proofs.is_some(), url)?;
    Ok(Tokens {
        issuer: found.server.issuer.clone(),
        resource: found.resource.clone(),
        method: client.as_ref().map_or(AuthMethod::None, |client| client.method),
        client_id: client.map(|client| client.client_id),
        token_endpoint: url.to_owned(),
        expires_at: answer.expires_at(parts.now),
        access_token: answer.access_token,
        // XAU-13: a grant without a person is run again instead.
        refresh_token: answer.refresh_token.filter(|_| matches!(parts.settings.grant, Grant::AuthorizationCode)),
        requested: scopes,
        dpop_key: parts.proofs.and_then(Proofs::kept),
        is_new: true,
    })
}

pub(super) fn token_endpoint(server: &ServerMetadata) -> Result<&str, AuthError> {
    let missing = || AuthError(format!("The metadata of {} has no token_endpoint", shown(&server.issuer)));
    server.token_endpoint.as_deref().ok_or_else(missing)
}

/// XAU-07, XAU-08.
async fn client_credentials(parts: &Parts<'_>, found: &Discovered, scopes: &[String]) -> Result<Obtained, AuthError> {
    let client = given_or_document(parts, &found.server)?;
    let scope = scopes.join(" ");
    let mut form = vec![("grant_type", "client_credentials"), ("resource", found.resource.as_str())];
    if !scope.is_empty() {
        form.push(("scope", &scope));
    }
    ask(parts, found, &form, Some(client)).await
}

/// XAU-22, XAU-33. One request; an error is reported and nothing else is tried (XAU-38).
pub(super) async fn jwt_bearer(
    parts: &Parts<'_>,
    found: &Discovered,
    assertion: &str,
    scopes: &[String],
    client: Option<Registration>,
) -> Result<Obtained, AuthError> {
    if found.server.grant_types_supported.as_ref().is_some_and(|grants| !grants.iter().any(|it| it == JWT_BEARER)) {
        // XAU-40
        return Err(AuthError(format!("{} does not support the grant {JWT_BEARER}", shown(&found.server.issuer))));
    }
    let scope = scopes.join(" ");
    let mut form = vec![("grant_type", JWT_BEARER), ("assertion", assertion), ("resource", found.resource.as_str())];
    if !scope.is_empty() {
        form.push(("scope", &scope));
    }
    ask(parts, found, &form, client).await
}

async fn ask(
    parts: &Parts<'_>,
    found: &Discovered,
    form: &[(&str, &str)],
    client: Option<Registration>,
) -> Result<Obtained, AuthError> {
    let url = token_endpoint(&found.server)?;
    let endpoint = Endpoint { surroundings: parts.surroundings, url, issuer: &found.server.issuer, now: parts.now };
    let credentials = client.as_ref().map(|client| Credentials { client, key: parts.settings.key.as_deref() });
    if client.as_ref().is_some_and(|client| client.method == AuthMethod::PrivateKeyJwt) {
        check_algorithm(parts.settings, &found.server)?;
    }
    let answer = endpoint.ask(form, credentials, parts.proofs).await?;
    Ok(Obtained { answer, client })
}

/// XAU-11: the algorithm of the key is one that the server lists, if it lists any.
pub(super) fn check_algorithm(settings: &Settings, server: &ServerMetadata) -> Result<(), AuthError> {
    let (Some(key), Some(listed)) = (&settings.key, &server.token_endpoint_auth_signing_alg_values_supported) else {
        return Ok(());
    };
    let algorithm = key.algorithm().as_str();
    if listed.iter().any(|name| name == algorithm) {
        return Ok(());
    }
    let (issuer, listed) = (shown(&server.issuer), shown(&listed.join(", ")));
    Err(AuthError(format!("{issuer} takes assertions signed by {listed}; the key signs by {algorithm}")))
}

/// The client that was registered beforehand, or its metadata document: no grant without a person registers one (XAU-08, XAU-23).
pub(super) fn given_or_document(parts: &Parts<'_>, server: &ServerMetadata) -> Result<Registration, AuthError> {
    registration::unregistered(parts.settings, server)?.ok_or_else(|| {
        AuthError(format!("{} needs a client id that was registered there beforehand", shown(&server.issuer)))
    })
}
