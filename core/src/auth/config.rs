//! The options of an authorization, checked before anything is served.

use super::{
    Algorithm, Authorization, Scheme, TokenVerifier,
    authorization::Terms,
    dpop::{self, Nonces, Replays},
    metadata::{Metadata, MetadataValues},
    resource::{bare, is_safe},
    scopes::{Hierarchy, union},
};
use crate::{http::scope::is_scope, sync::Mutex};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};
use url::Url;

/// Shorter secrets can be guessed.
const MIN_SECRET: usize = 32;

/// The binding of tokens to keys of the client (RFC 9449).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpopPolicy {
    /// Bearer tokens only. Tokens that are bound are refused, for nobody would check their binding.
    #[default]
    Off,
    /// Both; a token that is bound needs its proof.
    Optional,
    /// Bound tokens only.
    Required,
}

/// An option that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("auth.{option} {problem}")]
pub struct AuthOptionError {
    option: &'static str,
    problem: String,
}

impl AuthOptionError {
    pub(crate) fn new(option: &'static str, problem: impl Into<String>) -> Self {
        Self { option, problem: problem.into() }
    }
}

/// Builds an [`Authorization`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct AuthorizationBuilder {
    resource: String,
    public_url: Option<String>,
    authorization_servers: Vec<String>,
    scopes: Vec<String>,
    required: Vec<String>,
    implied: BTreeMap<String, Vec<String>>,
    dpop: DpopPolicy,
    dpop_algorithms: Vec<Algorithm>,
    nonce_secret: Option<Vec<u8>>,
    max_proofs: usize,
    metadata: Map<String, Value>,
    verifier: Arc<dyn TokenVerifier>,
}

impl Authorization {
    /// `resource` is the public URL of the endpoint (its canonical URI, RFC 8707): what tokens must
    /// be issued for. `verifier` judges the tokens; [`super::JwtVerifier`] is the one for JWTs.
    pub fn builder(resource: impl Into<String>, verifier: Arc<dyn TokenVerifier>) -> AuthorizationBuilder {
        AuthorizationBuilder::new(resource.into(), verifier)
    }
}

impl AuthorizationBuilder {
    /// The proofs that are remembered by default ([`Self::dpop_proofs`]).
    pub const DPOP_PROOFS: usize = dpop::DEFAULT_MAX;

    pub(super) fn new(resource: String, verifier: Arc<dyn TokenVerifier>) -> Self {
        Self {
            resource,
            public_url: None,
            authorization_servers: Vec::new(),
            scopes: Vec::new(),
            required: Vec::new(),
            implied: BTreeMap::new(),
            dpop: DpopPolicy::Off,
            dpop_algorithms: Algorithm::ALL.to_vec(),
            nonce_secret: None,
            max_proofs: Self::DPOP_PROOFS,
            metadata: Map::new(),
            verifier,
        }
    }

    /// An authorization server (its issuer URL) where clients get tokens. At least one is needed
    /// (AUS-01).
    pub fn authorization_server(mut self, issuer: impl Into<String>) -> Self {
        self.authorization_servers.push(issuer.into());
        self
    }

    /// The scopes that the metadata tells clients to ask for: those for basic use, not the whole
    /// catalogue. Default: the required ones.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// The scopes that every request needs.
    pub fn required_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.required.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// A scope that implies narrower ones (AUS-12).
    pub fn implies(mut self, scope: impl Into<String>, narrower: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.implied.entry(scope.into()).or_default().extend(narrower.into_iter().map(Into::into));
        self
    }

    /// Sets the binding of tokens to keys. Default: [`DpopPolicy::Off`].
    pub fn dpop(mut self, policy: DpopPolicy) -> Self {
        self.dpop = policy;
        self
    }

    /// Algorithms of proofs. Default: every algorithm with public keys.
    pub fn dpop_algorithms(mut self, algorithms: impl Into<Vec<Algorithm>>) -> Self {
        self.dpop_algorithms = algorithms.into();
        self
    }

    /// Proofs must hold a nonce of this server (XAU-67). Processes that serve the same endpoint
    /// need the same secret, at least 32 random bytes.
    pub fn dpop_nonce(mut self, secret: impl Into<Vec<u8>>) -> Self {
        self.nonce_secret = Some(secret.into());
        self
    }

    /// The proofs that are remembered, each for as long as its date is accepted (5 minutes as a
    /// rule), so that none is good twice (XAU-70); a fifth of them for one key. Beyond it requests
    /// are refused with 503. Default: [`Self::DPOP_PROOFS`], of some 20 bytes each.
    ///
    /// Each process remembers what it has seen itself: with several of them behind one address a
    /// proof is good once in each, for as long as its nonce is where there are nonces
    /// ([`Self::dpop_nonce`]).
    pub fn dpop_proofs(mut self, max: usize) -> Self {
        self.max_proofs = max;
        self
    }

    /// The public URL of the endpoint where a proxy changes its path, for DPoP proofs name it
    /// (XAU-59). Default: the origin of the resource with the path of the request.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Further members of the metadata document, such as `resource_name` (RFC 9728 section 2); not
    /// those that other options give.
    pub fn metadata(mut self, members: Map<String, Value>) -> Self {
        self.metadata.extend(members);
        self
    }

    /// The authorization.
    ///
    /// # Errors
    /// If an option is wrong; the text names it.
    pub fn build(self) -> Result<Authorization, AuthOptionError> {
        let resource = endpoint_url("resource", &self.resource)?;
        let public_url = self.public_url.as_deref().map(|url| endpoint_url("publicUrl", url)).transpose()?;
        if let Some(name) = Metadata::OWN_MEMBERS.iter().find(|name| self.metadata.contains_key(**name)) {
            return Err(AuthOptionError::new(
                "metadata",
                format!("has {name}, which the document has from other options"),
            ));
        }
        if self.authorization_servers.is_empty() {
            return Err(AuthOptionError::new(
                "authorizationServers",
                "must name at least one: where do clients get tokens?",
            ));
        }
        for server in &self.authorization_servers {
            if !Url::parse(server).is_ok_and(|url| is_safe(&url)) {
                let problem = format!("has {server:?}, which is not an https URL (http is for this machine only)");
                return Err(AuthOptionError::new("authorizationServers", problem));
            }
        }
        let hierarchy = Hierarchy::new(self.implied);
        check_scopes("scopes", &self.scopes)?;
        check_scopes("requiredScopes", &self.required)?;
        check_scopes("implies", hierarchy.names())?;
        let nonces = match self.nonce_secret {
            Some(secret) if secret.len() < MIN_SECRET => {
                return Err(AuthOptionError::new(
                    "dpopNonce",
                    format!("must be a secret of at least {MIN_SECRET} bytes"),
                ));
            }
            Some(_) if self.dpop == DpopPolicy::Off => {
                return Err(AuthOptionError::new("dpopNonce", "has no effect while dpop is off"));
            }
            secret => secret.map(|secret| Nonces::new(&secret)),
        };
        if self.max_proofs == 0 {
            return Err(AuthOptionError::new(
                "dpopProofs",
                "must be at least 1, for a proof is remembered when it is used",
            ));
        }
        if self.dpop_algorithms.is_empty() {
            return Err(AuthOptionError::new("dpopAlgorithms", "must name at least one"));
        }
        let schemes = match self.dpop {
            DpopPolicy::Off => vec![Scheme::Bearer],
            DpopPolicy::Optional => vec![Scheme::Bearer, Scheme::Dpop],
            DpopPolicy::Required => vec![Scheme::Dpop],
        };
        let required = union(&self.required);
        let supported = if self.scopes.is_empty() { required.clone() } else { union(&self.scopes) };
        let contents = MetadataValues {
            resource: &self.resource,
            authorization_servers: &self.authorization_servers,
            scopes: &supported,
            dpop: (self.dpop != DpopPolicy::Off)
                .then_some((&self.dpop_algorithms[..], self.dpop == DpopPolicy::Required)),
            more: &self.metadata,
        };
        let metadata = Metadata::new(&resource, &contents);
        Ok(Authorization::of(Terms {
            name: self.resource.into(),
            resource,
            public_url,
            metadata,
            required,
            hierarchy,
            schemes,
            dpop_algorithms: self.dpop_algorithms,
            nonces,
            replays: Mutex::new(Replays::new(self.max_proofs)),
            verifier: self.verifier,
        }))
    }
}

/// An absolute https URL that names an endpoint (RFC 8707 section 2, RFC 9728 section 1.2). Clients
/// send their tokens there, so plain http is for this machine only (SEC-12).
fn endpoint_url(option: &'static str, text: &str) -> Result<Url, AuthOptionError> {
    match Url::parse(text) {
        Ok(url) if is_safe(&url) && bare(url.clone()) == url => Ok(url),
        _ => Err(AuthOptionError::new(
            option,
            format!(
                "is {text:?}; it must be the public URL of the endpoint, such as https://mcp.example/mcp (http is for \
                 this machine only)"
            ),
        )),
    }
}

fn check_scopes<'a>(option: &'static str, scopes: impl IntoIterator<Item = &'a String>) -> Result<(), AuthOptionError> {
    for scope in scopes {
        if !is_scope(scope) {
            return Err(AuthOptionError::new(
                option,
                format!("has {scope:?}, which is not a scope (RFC 6749 section 3.3)"),
            ));
        }
        // AUS-13: refresh tokens are the client's business with its authorization server.
        if scope == "offline_access" && option != "implies" {
            return Err(AuthOptionError::new(option, "has offline_access, which no resource needs"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Refusal, Verification};
    use serde_json::json;

    fn builder(resource: &str) -> AuthorizationBuilder {
        let verifier = |token: Verification| {
            token.complete(Err(Refusal::Missing));
        };
        Authorization::builder(resource, Arc::new(verifier))
    }

    fn good() -> AuthorizationBuilder {
        builder("https://mcp.example/mcp").authorization_server("https://auth.example")
    }

    #[test]
    fn wrong_options_are_named() {
        let at = |server: &str| builder("https://mcp.example/mcp").authorization_server(server);
        assert!(good().build().is_ok());
        assert!(builder("http://127.0.0.1:8000/mcp").authorization_server("http://localhost:9").build().is_ok());
        for (builder, option) in [
            (builder("mcp.example"), "auth.resource"),
            (builder("https://mcp.example#a"), "auth.resource"),
            (builder("https://mcp.example?a=b"), "auth.resource"),
            (builder("urn:mcp"), "auth.resource"),
            (builder("http://mcp.example/mcp"), "auth.resource"),
            (builder("http://localhost.evil.example/mcp"), "auth.resource"),
            (builder("https://mcp.example"), "auth.authorizationServers"),
            (at("http://auth.example"), "auth.authorizationServers"),
            (at("auth.example"), "auth.authorizationServers"),
            (good().public_url("/mcp"), "auth.publicUrl"),
            (good().public_url("http://mcp.example/mcp"), "auth.publicUrl"),
            (good().scopes(["a b"]), "auth.scopes"),
            (good().required_scopes(["a\"b"]), "auth.requiredScopes"),
            (good().implies("a", [""]), "auth.implies"),
            (good().dpop(DpopPolicy::Required).dpop_nonce([1; 31]), "auth.dpopNonce"),
            (good().dpop_nonce([1; 32]), "auth.dpopNonce"),
            (good().dpop(DpopPolicy::Optional).dpop_algorithms([]), "auth.dpopAlgorithms"),
            (good().dpop_proofs(0), "auth.dpopProofs"),
        ] {
            let error = builder.build().unwrap_err().to_string();
            assert!(error.starts_with(option), "{error}");
        }
    }

    #[test]
    fn aus_13_offline_access_is_no_scope_of_a_resource() {
        for builder in [good().scopes(["offline_access"]), good().required_scopes(["offline_access"])] {
            assert!(builder.build().unwrap_err().to_string().contains("offline_access"));
        }
    }

    #[test]
    fn aus_01_aus_13_further_metadata_replaces_nothing() {
        for (name, value) in [
            ("resource", json!("https://evil.example")),
            ("authorization_servers", json!([])),
            ("scopes_supported", json!(["offline_access"])),
            ("dpop_bound_access_tokens_required", json!(false)),
        ] {
            let members = Map::from_iter([(name.to_owned(), value)]);
            let error = good().metadata(members).build().unwrap_err().to_string();
            assert!(error.contains("metadata") && error.contains(name), "{error}");
        }
        assert!(good().metadata(Map::from_iter([("resource_name".to_owned(), json!("Weather"))])).build().is_ok());
    }
}
