//! Access tokens that an endpoint asks for.

use super::{config, error::BridgeError, message::message, state::PortState, verifications};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};
use trunkline::protocol::describe::{Described, Type, Values};
use trunkline::{
    auth::{
        Algorithm, Authorization, AuthorizationBuilder, DpopPolicy, JwtOptions, JwtVerifier, KeySource, TokenVerifier,
    },
    transport::HttpFetch,
};

message! {
    /// Access tokens that requests to an endpoint need: `transport.auth` of a listener.
    pub struct AuthConfig {
        /// The public URL of the endpoint, which tokens must be issued for.
        resource: String = "resource",
        ;
        /// The issuers of JWTs that are accepted: https, or http on this machine. The authorization
        /// servers by default.
        issuer: Option<OneOrMore> = "issuer",
        /// The servers where clients get tokens. The issuers by default.
        authorization_servers: Option<Vec<String>> = "authorizationServers",
        /// Audiences of which a token must name one, in the place of the resource.
        audience: Option<OneOrMore> = "audience",
        /// Scopes that the metadata tells clients to ask for. The required ones by default.
        scopes: Vec<String> = "scopes",
        /// Scopes that every request needs.
        required_scopes: Vec<String> = "requiredScopes",
        /// Scopes that imply narrower ones, such as `{"admin": ["read", "write"]}`.
        implies: BTreeMap<String, Vec<String>> = "implies",
        /// The issuer's keys: a JSON Web Key Set. By default the issuer's metadata says where they
        /// are.
        jwks: Option<Value> = "jwks",
        /// The URL of the issuer's keys.
        jwks_uri: Option<String> = "jwksUri",
        /// Algorithms by which tokens may be signed, of ES256, ES384, ES512, EdDSA, PS256, PS384,
        /// PS512, RS256, RS384 and RS512. All of them by default.
        algorithms: Option<Vec<String>> = "algorithms",
        /// Accept only JWTs of the type `at+jwt`, as RFC 9068 (section 4) has it: for issuers that
        /// write it, above all where an audience is the id of a client.
        strict_type: bool = "strictType",
        /// Tokens that are bound to keys (RFC 9449). Bound tokens need their proof wherever they
        /// are accepted.
        dpop: Dpop = "dpop",
        /// Algorithms by which proofs may be signed. All of them by default.
        dpop_algorithms: Option<Vec<String>> = "dpopAlgorithms",
        /// Proofs need a nonce of the server: `true`, or a secret of 32 bytes or more in Base64
        /// that all processes of one endpoint share.
        dpop_nonce: Option<Nonce> = "dpopNonce",
        /// Proofs that are remembered, so that none is good twice; a fifth of them for one key.
        /// Beyond it requests are refused with 503. Each process remembers its own.
        dpop_proofs: Option<u64> = "dpopProofs" or AuthorizationBuilder::DPOP_PROOFS,
        /// The URL of the endpoint as clients see it, where a proxy changes the path: DPoP proofs
        /// name it.
        public_url: Option<String> = "publicUrl",
        /// Further members of the metadata document, such as `resource_name`.
        metadata: Map<String, Value> = "metadata",
        /// The handle of a registered verifier that judges tokens in the place of the built-in one
        /// for JWTs. Then only the authorization servers are needed beside the resource.
        verifier: Option<u64> = "verifier",
    }
}

/// One text, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl Described for OneOrMore {
    const TYPE: Type = Type::OneOrList(&Type::String);
}

impl Described for Dpop {
    const TYPE: Type = {
        static VALUES: Values = Values {
            name: "DpopPolicy",
            doc: &[" The binding of tokens to keys (RFC 9449)."],
            values: &[
                ("off", &[" Tokens are not bound; bound ones still need their proof."]),
                ("optional", &[" Clients may bind their tokens."]),
                ("required", &[" Every token must be bound."]),
            ],
            open: false,
        };
        Type::Values(&VALUES)
    };
}

impl Described for Nonce {
    const TYPE: Type = Type::Json;
}

impl From<OneOrMore> for Vec<String> {
    fn from(given: OneOrMore) -> Self {
        match given {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}

/// The binding of tokens to keys.
#[derive(Debug, Clone, Copy, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Dpop {
    /// They are not.
    #[default]
    Off,
    /// They may be.
    Optional,
    /// They must be.
    Required,
}

/// Nonces for proofs.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Nonce {
    /// `true` if they are needed.
    Wanted(bool),
    /// The secret to make them with.
    Secret(String),
}

impl Nonce {
    /// The secret to make nonces with, if they are wanted.
    fn secret(self) -> Result<Option<Vec<u8>>, BridgeError> {
        match self {
            Self::Wanted(false) => Ok(None),
            Self::Wanted(true) => {
                let mut secret = vec![0; 32];
                getrandom::fill(&mut secret)
                    .map_err(|error| invalid(&format!("dpopNonce: the system gives no random bytes: {error}")))?;
                Ok(Some(secret))
            }
            Self::Secret(text) => STANDARD
                .decode(text)
                .map(Some)
                .map_err(|_| invalid("dpopNonce must be a boolean or a secret in base64")),
        }
    }
}

fn invalid(problem: &str) -> BridgeError {
    BridgeError::invalid(format!("open: transport.auth.{problem}"))
}

fn algorithms(option: &str, names: Option<Vec<String>>) -> Result<Vec<Algorithm>, BridgeError> {
    let Some(names) = names else { return Ok(Algorithm::ALL.to_vec()) };
    let known = |name: &String| {
        Algorithm::parse(name).ok_or_else(|| {
            let known: Vec<_> = Algorithm::ALL.iter().map(|algorithm| algorithm.as_str()).collect();
            invalid(&format!("{option} has {name:?}, which is not one of {}", known.join(", ")))
        })
    };
    names.iter().map(known).collect()
}

impl AuthConfig {
    /// The verifier for JWTs, and the issuers that it accepts.
    fn jwt(&mut self) -> Result<(Arc<dyn TokenVerifier>, Vec<String>), BridgeError> {
        let issuers: Vec<String> = match self.issuer.take() {
            Some(issuers) => issuers.into(),
            None => self.authorization_servers.clone().unwrap_or_default(),
        };
        let keys = match (self.jwks.take(), self.jwks_uri.take()) {
            (None, None) => KeySource::Discovered,
            (Some(set), None) => KeySource::Given(set),
            (None, Some(url)) => KeySource::At(url),
            (Some(_), Some(_)) => return Err(invalid("jwks and jwksUri exclude each other")),
        };
        let options = JwtOptions::issuers(issuers.clone())
            .with_keys(keys)
            .with_audiences(self.audience.take().map(Into::into).unwrap_or_default())
            .with_algorithms(algorithms("algorithms", self.algorithms.take())?)
            .with_strict_type(self.strict_type);
        let verifier = JwtVerifier::new(options, Arc::new(HttpFetch::default())).map_err(wrong)?;
        Ok((Arc::new(verifier), issuers))
    }

    fn has_jwt_options(&self) -> bool {
        self.issuer.is_some()
            || self.audience.is_some()
            || self.jwks.is_some()
            || self.jwks_uri.is_some()
            || self.algorithms.is_some()
            || self.strict_type
    }
}

fn wrong(error: trunkline::auth::AuthOptionError) -> BridgeError {
    BridgeError::invalid(format!("open: transport.{error}"))
}

/// The authorization of an endpoint.
pub(super) fn authorization(state: &Arc<PortState>, auth: Value) -> Result<Authorization, BridgeError> {
    let mut given: AuthConfig = config::read_value("open: transport.auth", auth)?;
    let (verifier, issuers) = match given.verifier {
        Some(_) if given.has_jwt_options() => {
            let text = "verifier judges tokens itself: issuer, audience, jwks, jwksUri, algorithms and strictType are \
                        for JWTs";
            return Err(invalid(text));
        }
        Some(handle) => (verifications::verifier(state, handle)?, Vec::new()),
        None => given.jwt()?,
    };
    let servers = given.authorization_servers.unwrap_or(issuers);
    let mut builder = Authorization::builder(given.resource, verifier)
        .scopes(given.scopes)
        .required_scopes(given.required_scopes)
        .dpop_algorithms(algorithms("dpopAlgorithms", given.dpop_algorithms)?)
        .metadata(given.metadata)
        .dpop(match given.dpop {
            Dpop::Off => DpopPolicy::Off,
            Dpop::Optional => DpopPolicy::Optional,
            Dpop::Required => DpopPolicy::Required,
        });
    for server in servers {
        builder = builder.authorization_server(server);
    }
    for (scope, narrower) in given.implies {
        builder = builder.implies(scope, narrower);
    }
    if let Some(secret) = given.dpop_nonce.map(Nonce::secret).transpose()?.flatten() {
        builder = builder.dpop_nonce(secret);
    }
    if let Some(max) = given.dpop_proofs {
        builder = builder.dpop_proofs(usize::try_from(max).unwrap_or(usize::MAX));
    }
    if let Some(url) = given.public_url {
        builder = builder.public_url(url);
    }
    builder.build().map_err(wrong)
}
