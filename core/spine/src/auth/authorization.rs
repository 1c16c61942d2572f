//! Authorization of requests to an HTTP endpoint.

use super::{
    Algorithm, Identity, Refusal, Scheme, TokenVerifier,
    challenge::Challenger,
    claims::LEEWAY,
    dpop::{self, Nonces, Proof, ProofUse, Replays},
    metadata::Metadata,
    presented,
    resource_url::bare,
    scopes::{Hierarchy, union},
    verification::{PresentingRequest, ProtectedRequest},
};
use crate::{runtime::Runtime, sync::Mutex};
use bytes::Bytes;
use http::request::Parts;
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};
use url::Url;

/// The access tokens that an endpoint requires. Cheap to clone.
///
/// ```
/// use std::sync::Arc;
/// use trunkline::auth::{Authorization, AuthorizationOptions, Identity, Refusal, Verification};
///
/// let verifier = |token: Verification| {
///     let outcome = match token.token() {
///         "the-token-of-alice" => Ok(Identity::default().with_subject("alice")),
///         _ => Err(Refusal::InvalidToken("Unknown token".into())),
///     };
///     token.complete(outcome);
/// };
/// let options = AuthorizationOptions::new("https://mcp.example/mcp")
///     .with_authorization_servers(["https://auth.example"])
///     .with_required_scopes(["mcp"]);
/// let authorization = Authorization::new(options, Arc::new(verifier))?;
/// # Ok::<(), trunkline::auth::AuthOptionError>(())
/// ```
#[derive(Clone)]
pub struct Authorization {
    pub(super) terms: Arc<Terms>,
}

pub(super) struct Terms {
    /// The resource identifier, exactly as configured.
    pub(super) name: Arc<str>,
    pub(super) resource: Url,
    /// The endpoint's URL as clients see it, if a proxy changes it.
    pub(super) public_url: Option<Url>,
    /// The metadata for clients without a token; `None` without an authorization server to name.
    pub(super) metadata: Option<Metadata>,
    pub(super) required: Vec<String>,
    pub(super) hierarchy: Hierarchy,
    pub(super) schemes: Vec<Scheme>,
    pub(super) dpop_algorithms: Vec<Algorithm>,
    pub(super) nonces: Option<Nonces>,
    pub(super) replays: Mutex<Replays>,
    pub(super) verifier: Arc<dyn TokenVerifier>,
}

/// A refused request, with the scheme that it used.
#[derive(Debug)]
pub(crate) struct AuthorizationRefused {
    pub(crate) refusal: Refusal,
    pub(crate) scheme: Option<Scheme>,
}

impl Authorization {
    /// The resource that access tokens must be issued for, as configured.
    pub(crate) fn resource(&self) -> &str {
        &self.terms.name
    }

    pub(crate) fn verifier(&self) -> &dyn TokenVerifier {
        &*self.terms.verifier
    }

    /// Returns the metadata document if the request asks for it. `endpoint` is the path of the
    /// endpoint, if known.
    pub(crate) fn metadata(&self, path: &str, endpoint: Option<&str>) -> Option<Bytes> {
        self.terms.metadata.as_ref()?.at(path, endpoint)
    }

    /// Reads the credentials of a request. `now` is a Unix timestamp in seconds.
    pub(crate) fn read(
        &self,
        head: &PresentingRequest,
        now: u64,
        runtime: &Arc<dyn Runtime>,
    ) -> Result<(ProtectedRequest, Candidate), AuthorizationRefused> {
        let parts = &*head.parts;
        let refused = |refusal, scheme| AuthorizationRefused { refusal, scheme };
        let (scheme, token) =
            presented::read(&parts.headers, parts.uri.query()).map_err(|refusal| refused(refusal, None))?;
        if !self.terms.schemes.contains(&scheme) {
            return Err(match scheme {
                Scheme::Bearer => {
                    let text = "Only tokens that are bound to a key are accepted here (scheme DPoP)";
                    refused(Refusal::InvalidToken(text.into()), Some(scheme))
                }
                // Unknown schemes are ignored.
                Scheme::Dpop => refused(Refusal::Missing, None),
            });
        }
        let url = self.url_of(parts);
        let proof = match scheme {
            Scheme::Bearer => None,
            Scheme::Dpop => Some(self.read_proof(parts, &url, token, now).map_err(|it| refused(it, Some(scheme)))?),
        };
        let request = ProtectedRequest {
            token: token.to_owned(),
            scheme,
            url: url.into(),
            resource: Arc::clone(&self.terms.name),
            head: head.clone(),
            now,
            runtime: Arc::clone(runtime),
        };
        Ok((request, Candidate { scheme, proof }))
    }

    fn read_proof(&self, parts: &Parts, url: &Url, token: &str, now: u64) -> Result<Proof, Refusal> {
        let method = parts.method.as_str();
        let expected = dpop::Expected { method, url, token, algorithms: &self.terms.dpop_algorithms, now };
        let proof = dpop::read(&parts.headers, &expected).map_err(|text| Refusal::InvalidProof(text.into()))?;
        match &self.terms.nonces {
            Some(nonces) if !proof.nonce.as_deref().is_some_and(|nonce| nonces.knows(now, nonce)) => {
                Err(Refusal::NonceNeeded)
            }
            _ => Ok(proof),
        }
    }

    /// The public URL of a request, without its query.
    fn url_of(&self, parts: &Parts) -> Url {
        self.terms.public_url.clone().unwrap_or_else(|| {
            let mut url = bare(self.terms.resource.clone());
            url.set_path(parts.uri.path());
            url
        })
    }

    /// Checks the verifier's result for a candidate: expiry and key binding. Scopes are checked
    /// last ([`Self::permit`]).
    pub(crate) fn judge(
        &self,
        candidate: &Candidate,
        now: u64,
        outcome: Result<Identity, Refusal>,
    ) -> Result<Identity, AuthorizationRefused> {
        let refused = |refusal| AuthorizationRefused { refusal, scheme: Some(candidate.scheme) };
        let invalid = |text: &str| refused(Refusal::InvalidToken(text.into()));
        let identity = outcome.map_err(refused)?;
        let Some(identity) = identity.named() else {
            return Err(invalid("The access token names neither a subject nor a client"));
        };
        if identity.expires_at.is_some_and(|end| now >= end.saturating_add(LEEWAY)) {
            return Err(invalid("The access token has expired"));
        }
        let binding = match identity.claims.get("cnf") {
            None | Some(Value::Null) => None,
            Some(binding) => match binding.get("jkt").and_then(Value::as_str) {
                Some(key) if binding.as_object().is_some_and(|methods| methods.len() == 1) => Some(key),
                _ => return Err(invalid("The access token uses an unsupported kind of binding")),
            },
        };
        match (&candidate.proof, binding) {
            (None, None) => {}
            // XAU-64: otherwise a stolen bound token could be used without its key.
            (None, Some(_)) => {
                return Err(invalid("The access token is bound to a key: present it with the scheme DPoP"));
            }
            (Some(_), None) => return Err(invalid("The access token is not bound to a key")),
            (Some(proof), Some(key)) if proof.key != key => {
                return Err(refused(Refusal::InvalidProof(
                    "The DPoP proof is for a different key than the token".into(),
                )));
            }
            (Some(proof), Some(_)) => match self.terms.replays.lock().note(now, proof) {
                ProofUse::First => {}
                ProofUse::Again => return Err(refused(Refusal::InvalidProof("The DPoP proof was used before".into()))),
                ProofUse::NoRoom => {
                    let text = "the endpoint cannot remember more DPoP proofs: raise its maximum number of DPoP proofs";
                    return Err(refused(Refusal::Unavailable(text.into())));
                }
            },
        }
        Ok(identity)
    }

    /// Checks that an identity has the scopes of an operation, in addition to those that every
    /// request needs.
    pub(crate) fn permit(&self, identity: &Identity, operation: &[String]) -> Result<(), Refusal> {
        let needed = union(self.terms.required.iter().chain(operation));
        if self.terms.hierarchy.covers(&identity.scopes, &needed) {
            return Ok(());
        }
        Err(Refusal::InsufficientScope { scopes: needed, description: None })
    }

    /// Returns whether a web framework has stripped a prefix from the path of a request.
    pub(crate) fn is_below(&self, path: &str) -> bool {
        self.terms.metadata.as_ref().is_some_and(|metadata| metadata.is_below(path))
    }

    /// The values of `WWW-Authenticate` for a refusal. `below` tells whether the endpoint is
    /// mounted under a prefix.
    pub(crate) fn challenges(&self, refused: &AuthorizationRefused, below: bool) -> Vec<String> {
        let terms = &*self.terms;
        let challenger = Challenger {
            metadata_url: terms.metadata.as_ref().map(|it| if below { &*it.url_below } else { &*it.url }),
            scopes: &terms.required,
            schemes: &terms.schemes,
            algorithms: &terms.dpop_algorithms,
        };
        challenger.challenges(&refused.refusal, refused.scheme)
    }

    /// The nonce for the client's next proof, if nonces are required.
    pub(crate) fn nonce(&self, now: u64) -> Option<String> {
        self.terms.nonces.as_ref().map(|nonces| nonces.current(now))
    }
}

/// Well-formed credentials while their token is being verified.
pub(crate) struct Candidate {
    scheme: Scheme,
    proof: Option<Proof>,
}

impl Candidate {
    /// The digest of the proof and how long to remember it, that is, until its timestamp is too old
    /// to be accepted. `None` if there is no proof.
    pub(crate) fn replay_entry(&self, now: u64) -> Option<(String, Duration)> {
        let proof = self.proof.as_ref()?;
        Some((dpop::digest(proof), Duration::from_secs(dpop::end(proof).saturating_sub(now).max(1))))
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.scheme
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization").field("resource", &self.terms.name).finish_non_exhaustive()
    }
}

/// Clones are equal.
impl PartialEq for Authorization {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.terms, &other.terms)
    }
}

impl Eq for Authorization {}

#[cfg(test)]
mod tests;
