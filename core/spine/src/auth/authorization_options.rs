//! The options of authorization, validated before anything is served.

use super::{
    Algorithm, Authorization, Scheme, TokenVerifier,
    authorization::Terms,
    dpop::{self, Nonces, Replays},
    metadata::Metadata,
    resource_url::{bare, is_safe},
    scopes::{Hierarchy, union},
};
use crate::{
    protocol::{
        describe::Type,
        option_names::OptionNames,
        options::{JsonForm, Required},
        scope::is_scope,
    },
    sync::Mutex,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fmt, sync::Arc};
use url::Url;

/// Shorter secrets could be guessed.
const MIN_SECRET: usize = 32;

trunkline_proto::options! {
    /// Access tokens required by an endpoint: `transport.auth` of a listener.
    ///
    /// ```
    /// use trunkline::auth::{AuthorizationOptions, DpopPolicy};
    ///
    /// let options = AuthorizationOptions::new("https://mcp.example/mcp")
    ///     .with_required_scopes(["mcp"])
    ///     .with_implied("admin", ["mcp", "files:write"])
    ///     .with_dpop(DpopPolicy::Optional);
    /// ```
    #[derive(Debug, Clone)]
    pub struct AuthorizationOptions {
        /// The public URL of the endpoint, for which tokens must be issued (its canonical URI, RFC
        /// 8707).
        @into resource: String => "resource" as Required = String::new(),
        /// The authorization servers where clients get tokens. By default, the issuers. A verifier
        /// of your own, or static tokens, may do without: then the endpoint publishes no metadata,
        /// and clients need their token beforehand.
        @each(String) authorization_servers: Vec<String> => "authorizationServers" = Vec::new(),
        /// Scopes that the metadata tells clients to request: those for basic use, not all that
        /// exist. By default, the required scopes.
        @each(String) scopes: Vec<String> => "scopes" = Vec::new(),
        /// Scopes that every request needs.
        @each(String) required_scopes: Vec<String> => "requiredScopes" = Vec::new(),
        /// Scopes that imply narrower ones, such as `{"admin": ["read", "write"]}`.
        implies: BTreeMap<String, Vec<String>> => "implies" = BTreeMap::new(),
        /// Binding of tokens to keys (RFC 9449): off, optional or required. Bound tokens need their
        /// proof wherever they are accepted.
        dpop: DpopPolicy => "dpop" = DpopPolicy::Off,
        /// Algorithms allowed for signing proofs. By default, all supported ones.
        @into dpop_algorithms: Vec<Algorithm> => "dpopAlgorithms" = Algorithm::ALL.to_vec(),
        /// Require proofs to contain a server nonce: `true`, or a secret of 32 bytes or more in
        /// Base64, shared by all processes of one endpoint.
        @into dpop_nonce: DpopNonce => "dpopNonce" as NonceSecret = DpopNonce::Off,
        /// Maximum number of proofs remembered to prevent replay, of which one key may use a fifth.
        /// Beyond it, requests are refused with 503. Each process remembers the proofs it has seen
        /// for as long as their date is accepted, at about 20 bytes each; processes that share the
        /// `store` of the server also refuse each other's.
        dpop_proofs: usize => "dpopProofs" = dpop::DEFAULT_MAX_PROOFS,
        /// The URL of the endpoint as clients see it, if a proxy changes the path: DPoP proofs
        /// contain it. By default, the origin of the resource with the path of the request.
        @some(String) public_url: Option<String> => "publicUrl" = None,
        /// Additional members of the metadata document, such as `resource_name` (RFC 9728 section
        /// 2), except those set by other options.
        metadata: Map<String, Value> => "metadata" = Map::new(),
    }
}

impl AuthorizationOptions {
    /// The URL of the endpoint.
    pub(crate) fn resource_url(&self) -> Result<Url, AuthOptionError> {
        if self.resource.is_empty() {
            return Err(AuthOptionError::new("resource", "is missing: tokens are issued for the URL of the endpoint"));
        }
        endpoint_url("resource", &self.resource)
    }

    /// The options of the endpoint at a public URL.
    pub fn new(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), ..Self::default() }
    }

    /// Adds a scope that implies narrower ones.
    #[must_use]
    pub fn with_implied(mut self, scope: impl Into<String>, narrower: impl IntoIterator<Item: Into<String>>) -> Self {
        self.implies.entry(scope.into()).or_default().extend(narrower.into_iter().map(Into::into));
        self
    }
}

trunkline_proto::json_names! {
    /// Binding of tokens to the client's key (RFC 9449).
    pub enum DpopPolicy, by default Off, non_exhaustive {
        /// Bearer tokens only. Bound tokens are refused, because their binding would not be
        /// checked.
        Off = "off",
        /// Both; a bound token needs its proof.
        Optional = "optional",
        /// Bound tokens only.
        Required = "required",
    }
}

/// Nonces that proofs must contain (RFC 9449 section 9).
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum DpopNonce {
    /// No nonces.
    #[default]
    Off,
    /// Nonces derived from a random secret of this process.
    Random,
    /// Nonces derived from this secret: 32 random bytes or more.
    Secret(Vec<u8>),
}

impl<T: Into<Vec<u8>>> From<T> for DpopNonce {
    fn from(secret: T) -> Self {
        Self::Secret(secret.into())
    }
}

/// Omits the secret.
impl fmt::Debug for DpopNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "Off",
            Self::Random => "Random",
            Self::Secret(_) => "Secret",
        })
    }
}

/// The JSON form of nonces: a boolean, or the secret in Base64.
struct NonceSecret;

impl JsonForm<DpopNonce> for NonceSecret {
    const TYPE: Type = Type::Json;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DpopNonce, D::Error> {
        let secret = match Value::deserialize(deserializer)? {
            Value::Bool(false) => return Ok(DpopNonce::Off),
            Value::Bool(true) => return Ok(DpopNonce::Random),
            Value::String(text) => STANDARD.decode(text).ok(),
            _ => None,
        };
        secret.map(DpopNonce::Secret).ok_or_else(|| D::Error::custom("must be a boolean or a secret in Base64"))
    }

    fn write(nonce: &DpopNonce) -> Value {
        match nonce {
            DpopNonce::Off => false.into(),
            DpopNonce::Random => true.into(),
            DpopNonce::Secret(_) => Value::Null,
        }
    }
}

/// An invalid option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", OptionNames::Snake.text(&self.in_json()))]
pub struct AuthOptionError {
    /// Its name in JSON.
    option: &'static str,
    problem: String,
}

impl AuthOptionError {
    pub(crate) fn new(option: &'static str, problem: impl Into<String>) -> Self {
        Self { option, problem: problem.into() }
    }

    /// The JSON name of the option.
    #[doc(hidden)]
    pub fn option(&self) -> &str {
        self.option
    }

    /// The fault of the option, without its name.
    #[doc(hidden)]
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The message with JSON names, which are in backticks within the problem.
    #[doc(hidden)]
    pub fn in_json(&self) -> String {
        format!("auth.{} {}", self.option, self.problem)
    }
}

impl Authorization {
    /// Validates the options. `verifier` verifies the tokens; usually you use
    /// [`Authorization::jwt`] with [`super::JwtVerifier`] instead.
    ///
    /// # Errors
    /// If an option is invalid; the message names it.
    pub fn new(options: AuthorizationOptions, verifier: Arc<dyn TokenVerifier>) -> Result<Self, AuthOptionError> {
        let resource = options.resource_url()?;
        let public_url = options.public_url.as_deref().map(|url| endpoint_url("publicUrl", url)).transpose()?;
        if let Some(name) = RESERVED_MEMBERS.iter().find(|name| options.metadata.contains_key(**name)) {
            return Err(AuthOptionError::new("metadata", format!("has {name}, which other options set")));
        }
        check_servers(&options.authorization_servers)?;
        check_scopes("scopes", &options.scopes)?;
        check_scopes("requiredScopes", &options.required_scopes)?;
        let required = union(&options.required_scopes);
        let supported = if options.scopes.is_empty() { required.clone() } else { union(&options.scopes) };
        let metadata = match options.authorization_servers.is_empty() {
            // A document without authorization servers would not be one of MCP (AUS-01).
            true if !options.metadata.is_empty() => {
                return Err(AuthOptionError::new("metadata", "is published only with `authorizationServers`"));
            }
            true => None,
            false => Some(Metadata::new(&resource, &document(&options, &supported))),
        };
        let hierarchy = Hierarchy(options.implies);
        check_scopes("implies", hierarchy.names())?;
        let nonces = nonces(options.dpop_nonce, options.dpop)?;
        if options.dpop_proofs == 0 {
            return Err(AuthOptionError::new("dpopProofs", "must be at least 1"));
        }
        if options.dpop_algorithms.is_empty() {
            return Err(AuthOptionError::new("dpopAlgorithms", "must name at least one"));
        }
        let schemes = match options.dpop {
            DpopPolicy::Off => vec![Scheme::Bearer],
            DpopPolicy::Optional => vec![Scheme::Bearer, Scheme::Dpop],
            DpopPolicy::Required => vec![Scheme::Dpop],
        };
        let terms = Terms {
            name: options.resource.into(),
            resource,
            public_url,
            metadata,
            required,
            hierarchy,
            schemes,
            dpop_algorithms: options.dpop_algorithms,
            nonces,
            replays: Mutex::new(Replays::new(options.dpop_proofs)),
            verifier,
        };
        Ok(Self { terms: Arc::new(terms) })
    }
}

/// Members of the metadata document that are set by other options.
const RESERVED_MEMBERS: [&str; 6] = [
    "resource",
    "authorization_servers",
    "bearer_methods_supported",
    "scopes_supported",
    "dpop_signing_alg_values_supported",
    "dpop_bound_access_tokens_required",
];

/// The metadata document (RFC 9728 section 2).
fn document(options: &AuthorizationOptions, scopes: &[String]) -> Value {
    let mut document = json!({
        "resource": options.resource,
        "authorization_servers": options.authorization_servers,
        "bearer_methods_supported": ["header"],
    });
    if !scopes.is_empty() {
        document["scopes_supported"] = scopes.into();
    }
    if options.dpop != DpopPolicy::Off {
        // XAU-71
        let names: Vec<_> = options.dpop_algorithms.iter().map(|algorithm| algorithm.as_str()).collect();
        document["dpop_signing_alg_values_supported"] = names.into();
        document["dpop_bound_access_tokens_required"] = (options.dpop == DpopPolicy::Required).into();
    }
    for (name, value) in &options.metadata {
        document[name.as_str()] = value.clone();
    }
    document
}

fn check_servers(servers: &[String]) -> Result<(), AuthOptionError> {
    const OPTION: &str = "authorizationServers";
    if let Some(server) = servers.iter().find(|server| !Url::parse(server).is_ok_and(|url| is_safe(&url))) {
        let problem = format!("has {server:?}, which is not an https URL (http is for this machine only)");
        return Err(AuthOptionError::new(OPTION, problem));
    }
    Ok(())
}

fn nonces(nonce: DpopNonce, policy: DpopPolicy) -> Result<Option<Nonces>, AuthOptionError> {
    let wrong = |problem: &str| Err(AuthOptionError::new("dpopNonce", problem));
    match nonce {
        DpopNonce::Off => Ok(None),
        _ if policy == DpopPolicy::Off => wrong("has no effect while dpop is off"),
        DpopNonce::Random => Ok(Some(Nonces::new(&random_secret()?))),
        DpopNonce::Secret(secret) if secret.len() < MIN_SECRET => {
            wrong(&format!("must be a secret of at least {MIN_SECRET} bytes"))
        }
        DpopNonce::Secret(secret) => Ok(Some(Nonces::new(&secret))),
    }
}

fn random_secret() -> Result<[u8; MIN_SECRET], AuthOptionError> {
    let mut secret = [0; MIN_SECRET];
    getrandom::fill(&mut secret).map_err(|error| {
        AuthOptionError::new("dpopNonce", format!("needs a secret, but the system returned no random bytes: {error}"))
    })?;
    Ok(secret)
}

/// An absolute https URL of an endpoint (RFC 8707 section 2, RFC 9728 section 1.2). Clients send
/// their tokens there, so plain http is only for the local machine (SEC-12).
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
        // AUS-13: refresh tokens are between the client and its authorization server.
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

    fn built(options: AuthorizationOptions) -> Result<Authorization, AuthOptionError> {
        let verifier = |token: Verification| {
            token.complete(Err(Refusal::Missing));
        };
        Authorization::new(options, Arc::new(verifier))
    }

    fn good() -> AuthorizationOptions {
        AuthorizationOptions::new("https://mcp.example/mcp").with_authorization_servers(["https://auth.example"])
    }

    #[test]
    fn wrong_options_are_named() {
        let of = |resource: &str| AuthorizationOptions::new(resource);
        let at = |server: &str| good().with_authorization_servers([server]);
        assert!(built(good()).is_ok());
        let here = of("http://127.0.0.1:8000/mcp").with_authorization_servers(["http://localhost:9"]);
        assert!(built(here).is_ok());
        for (options, option) in [
            (of("mcp.example"), "auth.resource"),
            (of("https://mcp.example#a"), "auth.resource"),
            (of("https://mcp.example?a=b"), "auth.resource"),
            (of("urn:mcp"), "auth.resource"),
            (of("http://mcp.example/mcp"), "auth.resource"),
            (of("http://localhost.evil.example/mcp"), "auth.resource"),
            (of("https://mcp.example").with_metadata(Map::from_iter([("a".to_owned(), true.into())])), "auth.metadata"),
            (at("http://auth.example"), "auth.authorizationServers"),
            (at("auth.example"), "auth.authorizationServers"),
            (good().with_public_url("/mcp"), "auth.publicUrl"),
            (good().with_public_url("http://mcp.example/mcp"), "auth.publicUrl"),
            (good().with_scopes(["a b"]), "auth.scopes"),
            (good().with_required_scopes(["a\"b"]), "auth.requiredScopes"),
            (good().with_implied("a", [""]), "auth.implies"),
            (good().with_dpop(DpopPolicy::Required).with_dpop_nonce([1; 31]), "auth.dpopNonce"),
            (good().with_dpop_nonce([1; 32]), "auth.dpopNonce"),
            (good().with_dpop(DpopPolicy::Optional).with_dpop_algorithms(Vec::new()), "auth.dpopAlgorithms"),
            (good().with_dpop_proofs(0), "auth.dpopProofs"),
        ] {
            let error = built(options).unwrap_err().in_json();
            assert!(error.starts_with(option), "{error}");
        }
    }

    #[test]
    fn aus_13_offline_access_is_no_scope_of_a_resource() {
        for options in [good().with_scopes(["offline_access"]), good().with_required_scopes(["offline_access"])] {
            assert!(built(options).unwrap_err().in_json().contains("offline_access"));
        }
    }

    #[test]
    fn aus_01_the_document_names_resource_and_authorization_servers() {
        let members = Map::from_iter([("resource_name".to_owned(), json!("Weather"))]);
        assert_eq!(
            document(&good().with_metadata(members), &["read".to_owned()]),
            json!({"resource": "https://mcp.example/mcp", "authorization_servers": ["https://auth.example"],
                "bearer_methods_supported": ["header"], "scopes_supported": ["read"], "resource_name": "Weather"})
        );
    }

    #[test]
    fn xau_71_the_document_says_whether_tokens_are_bound() {
        let options = good().with_dpop(DpopPolicy::Required).with_dpop_algorithms([Algorithm::Es256]);
        let document = document(&options, &[]);
        assert_eq!(document["dpop_signing_alg_values_supported"], json!(["ES256"]));
        assert_eq!(document["dpop_bound_access_tokens_required"], true);
    }

    #[test]
    fn aus_01_aus_13_additional_metadata_replaces_nothing() {
        for (name, value) in [
            ("resource", json!("https://evil.example")),
            ("authorization_servers", json!([])),
            ("scopes_supported", json!(["offline_access"])),
            ("dpop_bound_access_tokens_required", json!(false)),
        ] {
            let members = Map::from_iter([(name.to_owned(), value)]);
            let error = built(good().with_metadata(members)).unwrap_err().to_string();
            assert!(error.contains("metadata") && error.contains(name), "{error}");
        }
        let members = Map::from_iter([("resource_name".to_owned(), json!("Weather"))]);
        assert!(built(good().with_metadata(members)).is_ok());
    }
}
