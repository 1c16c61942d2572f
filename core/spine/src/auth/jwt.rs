//! The verifier for JWT access tokens, with the issuer's keys found by discovery and cached.

use super::{
    Algorithm, AuthOptionError, Fetch, FetchError, Identity, Refusal, TokenVerifier, Verification,
    claims::{self, ExpectedClaims},
    fetch::MAX_DOCUMENT,
    issuer_discovery,
    jwk::KeySet,
    jws::Jws,
    key_cache::{KeyCache, KeyLookup},
    resource_url::is_safe,
};
use crate::{
    protocol::{describe::Type, options::JsonForm},
    race::within,
    runtime::Runtime,
    sync::Mutex,
};
use bytes::Bytes;
use http::{Request, StatusCode, header};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::{
    sync::{Arc, MutexGuard},
    time::Duration,
};
use url::Url;

/// Maximum time to find an issuer's keys: that of three metadata URLs and the keys, with five
/// seconds each.
const DEADLINE: Duration = Duration::from_secs(20);
/// Maximum tokens waiting for an issuer's keys: at least as many as an HTTP endpoint verifies at
/// once, which gives each address a share of them.
const MAX_WAITING: usize = 4096;
/// Keys tried for a token that names none.
const MAX_TRIED: usize = 16;
/// Values of `typ` (RFC 9068 section 2.1).
const ACCESS_TOKEN_TYPES: [&str; 2] = ["at+jwt", "application/at+jwt"];
/// The generic type, which many issuers use instead.
const GENERAL_TYPE: &str = "JWT";

trunkline_proto::options! {
    /// JWTs accepted as access tokens.
    ///
    /// ```
    /// use trunkline::{
    ///     HttpOptions,
    ///     auth::{Algorithm, Authorization, AuthorizationOptions, JwtOptions},
    /// };
    ///
    /// let jwt = JwtOptions::new("https://login.example").with_algorithms([Algorithm::Es256, Algorithm::EdDsa]);
    /// let options = AuthorizationOptions::new("https://mcp.example/mcp").with_required_scopes(["mcp"]);
    /// let options = HttpOptions::default().with_auth(Authorization::jwt(options, jwt)?);
    /// # Ok::<(), trunkline::auth::AuthOptionError>(())
    /// ```
    #[derive(Debug, Clone)]
    pub struct JwtOptions {
        /// The accepted issuers (`iss`, compared character by character): https, or http on this
        /// machine. By default, the authorization servers.
        @each(String) issuer: Vec<String> => "issuer" as OneOrMore = Vec::new(),
        /// Accepted audiences, of which a token must name one, instead of the resource. URLs may
        /// differ in the case of scheme and host, in a default port and in the slash of an empty
        /// path.
        @each(String) audience: Vec<String> => "audience" as OneOrMore = Vec::new(),
        /// The issuer's keys: a JSON Web Key Set. By default, they are found through the issuer's
        /// metadata (RFC 8414, OpenID Connect Discovery).
        @some(Value) jwks: Option<Value> => "jwks" = None,
        /// The URL of the issuer's keys.
        @some(String) jwks_uri: Option<String> => "jwksUri" = None,
        /// Algorithms allowed for signing tokens, out of ES256, ES384, ES512, EdDSA, PS256, PS384,
        /// PS512, RS256, RS384 and RS512. By default, all of these.
        @into algorithms: Vec<Algorithm> => "algorithms" = Algorithm::ALL.to_vec(),
        /// Accept only JWTs of the type `at+jwt`, as RFC 9068 (section 4) requires. Many issuers
        /// put `JWT`, or no type, in access tokens and ID tokens alike, which then differ only by
        /// audience. Set this if your issuer sets the type, especially if an audience is a client
        /// id.
        strict_type: bool => "strictType" = false,
    }
}

/// The JSON form of a list that usually has one string.
struct OneOrMore;

impl JsonForm<Vec<String>> for OneOrMore {
    const TYPE: Type = Type::OneOrList(&Type::String);

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            One(String),
            More(Vec<String>),
        }
        Ok(match Given::deserialize(deserializer)? {
            Given::One(text) => vec![text],
            Given::More(texts) => texts,
        })
    }

    fn write(texts: &Vec<String>) -> Value {
        texts.clone().into()
    }
}

impl JwtOptions {
    /// Accepts tokens of one issuer, with keys found by discovery.
    pub fn new(issuer: impl Into<String>) -> Self {
        Self::default().with_issuer([issuer])
    }
}

/// Verifies JWT access tokens (RFC 9068): signature, issuer, audience, dates, type. Cheap to clone.
#[derive(Clone)]
pub struct JwtVerifier {
    inner: Arc<Policy>,
}

struct Policy {
    issuers: Vec<Issuer>,
    audiences: Vec<String>,
    algorithms: Vec<Algorithm>,
    strict_type: bool,
    fetch: Arc<dyn Fetch>,
}

struct Issuer {
    name: String,
    keys: KeyOrigin,
    state: Mutex<IssuerState>,
}

/// Where to find an issuer's keys.
#[derive(Clone)]
enum KeyOrigin {
    Discovered,
    At(Url),
    Given(Arc<KeySet>),
}

#[derive(Default)]
struct IssuerState {
    cache: KeyCache<Arc<KeySet>>,
    waiting: Vec<Verification>,
}

/// The next step in verifying a token.
enum TokenStep<'a> {
    Answer(Result<Identity, Refusal>),
    Wait { issuer: usize, state: MutexGuard<'a, IssuerState>, fetch: bool },
}

impl JwtVerifier {
    /// A verifier that fetches documents with `fetch`.
    ///
    /// # Errors
    /// If an option is invalid; the message names it.
    pub fn new(options: JwtOptions, fetch: Arc<dyn Fetch>) -> Result<Self, AuthOptionError> {
        let JwtOptions { issuer: issuers, audience: audiences, jwks, jwks_uri, algorithms, strict_type } = options;
        if jwks.is_some() && jwks_uri.is_some() {
            return Err(AuthOptionError::new("jwksUri", "and `jwks` are mutually exclusive"));
        }
        if issuers.is_empty() {
            return Err(AuthOptionError::new("issuer", "is missing: set the issuer of the accepted tokens"));
        }
        if algorithms.is_empty() {
            return Err(AuthOptionError::new("algorithms", "must name at least one"));
        }
        if issuers.len() > 1 && (jwks.is_some() || jwks_uri.is_some()) {
            return Err(AuthOptionError::new("issuer", "must be a single issuer if `jwks` or `jwksUri` is given"));
        }
        let keys = KeyOrigin::of(jwks, jwks_uri)?;
        let issuers: Result<Vec<_>, _> = issuers.into_iter().map(|name| Issuer::new(name, keys.clone())).collect();
        Ok(Self { inner: Arc::new(Policy { issuers: issuers?, audiences, algorithms, strict_type, fetch }) })
    }
}

impl KeyOrigin {
    fn of(jwks: Option<Value>, url: Option<String>) -> Result<Self, AuthOptionError> {
        if let Some(set) = jwks {
            let keys = KeySet::of_json(&set).map_err(|error| AuthOptionError::new("jwks", error))?;
            return Ok(Self::Given(Arc::new(keys)));
        }
        let Some(url) = url else { return Ok(Self::Discovered) };
        Url::parse(&url).ok().filter(is_safe).map(Self::At).ok_or_else(|| unsafe_url("jwksUri", &url))
    }
}

impl Issuer {
    fn new(name: String, keys: KeyOrigin) -> Result<Self, AuthOptionError> {
        if matches!(keys, KeyOrigin::Discovered) && issuer_discovery::metadata_urls(&name).is_empty() {
            return Err(unsafe_url("issuer", &name));
        }
        Ok(Self { name, keys, state: Mutex::default() })
    }
}

fn unsafe_url(option: &'static str, url: &str) -> AuthOptionError {
    AuthOptionError::new(option, format!("{url:?} is not an https URL (http is for this machine only)"))
}

impl TokenVerifier for JwtVerifier {
    fn verify(&self, verification: Verification) {
        self.inner.proceed(verification);
    }
}

impl Policy {
    fn proceed(self: &Arc<Self>, verification: Verification) {
        let runtime = Arc::clone(verification.runtime());
        match self.step(&verification, &runtime) {
            TokenStep::Answer(outcome) => {
                verification.complete(outcome);
            }
            TokenStep::Wait { state, .. } if state.waiting.len() >= MAX_WAITING => {
                drop(state);
                verification.complete(Err(Refusal::Unavailable("too many tokens are waiting for keys".into())));
            }
            TokenStep::Wait { issuer, mut state, fetch } => {
                state.waiting.push(verification);
                drop(state);
                if fetch {
                    self.fetch_keys(issuer, &runtime);
                }
            }
        }
    }

    fn step<'a>(self: &'a Arc<Self>, verification: &Verification, runtime: &Arc<dyn Runtime>) -> TokenStep<'a> {
        let invalid = |text: &str| TokenStep::Answer(Err(Refusal::InvalidToken(text.into())));
        let jws = match Jws::parse(verification.token()) {
            Ok(jws) => jws,
            Err(error) => return invalid(&format!("The access token {error}")),
        };
        if !self.is_access_token(jws.header.typ.as_deref()) {
            return invalid("The JWT is not an access token: it has another type");
        }
        let Some(algorithm) = jws.algorithm(&self.algorithms) else {
            return invalid("The access token is signed with an algorithm that is not accepted here");
        };
        let name = jws.claims.get("iss").and_then(Value::as_str);
        let Some(index) = self.issuers.iter().position(|issuer| Some(issuer.name.as_str()) == name) else {
            return invalid("The access token is from another issuer");
        };
        let issuer = &self.issuers[index];
        let id = jws.header.kid.as_deref();
        let keys = if let KeyOrigin::Given(keys) = &issuer.keys {
            Arc::clone(keys)
        } else {
            let mut state = issuer.state.lock();
            let suits = |keys: &Arc<KeySet>| keys.candidates(id, algorithm).next().is_some();
            match state.cache.look(runtime.now(), suits) {
                KeyLookup::Use(keys) => keys,
                KeyLookup::UseAndFetch(keys) => {
                    drop(state);
                    self.fetch_keys(index, runtime);
                    keys
                }
                KeyLookup::Fetch => return TokenStep::Wait { issuer: index, state, fetch: true },
                KeyLookup::Wait => return TokenStep::Wait { issuer: index, state, fetch: false },
                KeyLookup::Unavailable => {
                    let text = format!("could not fetch the keys of {}", issuer.name);
                    return TokenStep::Answer(Err(Refusal::Unavailable(text)));
                }
            }
        };
        let is_signed =
            |keys: &KeySet| keys.candidates(id, algorithm).take(MAX_TRIED).any(|key| jws.is_signed_by(key, algorithm));
        if !is_signed(&keys) {
            let forged = invalid("The access token is not signed by its issuer");
            if matches!(issuer.keys, KeyOrigin::Given(_)) {
                return forged;
            }
            // The issuer may have replaced a key without giving it another id.
            let mut state = issuer.state.lock();
            match state.cache.look(runtime.now(), |_| false) {
                KeyLookup::Fetch => return TokenStep::Wait { issuer: index, state, fetch: true },
                KeyLookup::Wait => return TokenStep::Wait { issuer: index, state, fetch: false },
                KeyLookup::Use(newer) if !Arc::ptr_eq(&newer, &keys) && is_signed(&newer) => {}
                _ => return forged,
            }
        }
        let resource = [verification.resource().to_owned()];
        let audiences = if self.audiences.is_empty() { &resource[..] } else { &self.audiences };
        let expected = ExpectedClaims { issuer: &issuer.name, audiences, now: verification.now() };
        TokenStep::Answer(claims::judge(jws.claims, &expected).map_err(|text| Refusal::InvalidToken(text.into())))
    }

    /// Returns whether the type of a JWT is that of an access token; keeps out an issuer's other
    /// JWTs.
    fn is_access_token(&self, typ: Option<&str>) -> bool {
        let Some(typ) = typ else { return !self.strict_type };
        let is = |known: &str| known.eq_ignore_ascii_case(typ);
        ACCESS_TOKEN_TYPES.into_iter().any(is) || (!self.strict_type && is(GENERAL_TYPE))
    }

    /// Fetches in the background and wakes the waiting verifications.
    fn fetch_keys(self: &Arc<Self>, index: usize, runtime: &Arc<dyn Runtime>) {
        let (inner, clock) = (Arc::clone(self), Arc::clone(runtime));
        runtime.spawn(Box::pin(async move {
            let issuer = &inner.issuers[index];
            let finding = find_keys(&*inner.fetch, issuer);
            let late = || Err(FetchError("no answer in time".into()));
            let found = within(&*clock, DEADLINE, finding).await.unwrap_or_else(late);
            if let Err(error) = &found {
                tracing::warn!(target: "trunkline::auth::jwt", issuer = issuer.name, %error, "could not fetch the keys of an issuer");
            }
            let waiting = {
                let mut state = issuer.state.lock();
                state.cache.fetched(clock.now(), found.ok().map(Arc::new));
                std::mem::take(&mut state.waiting)
            };
            for verification in waiting {
                inner.proceed(verification);
            }
        }));
    }
}

async fn find_keys(fetch: &dyn Fetch, issuer: &Issuer) -> Result<KeySet, FetchError> {
    let url = match &issuer.keys {
        KeyOrigin::At(url) => url.clone(),
        KeyOrigin::Discovered | KeyOrigin::Given(_) => discover(fetch, &issuer.name).await?,
    };
    let set = document(fetch, &url).await?;
    KeySet::of_json(&set).map_err(|error| FetchError(format!("{url} {error}")))
}

async fn discover(fetch: &dyn Fetch, issuer: &str) -> Result<Url, FetchError> {
    let mut errors = Vec::new();
    for url in issuer_discovery::metadata_urls(issuer) {
        let found = document(fetch, &url).await.and_then(|metadata| {
            issuer_discovery::keys_of(&metadata, issuer).map_err(|error| FetchError(format!("{url} {error}")))
        });
        match found {
            Ok(keys) => return Ok(keys),
            Err(error) => errors.push(error.0),
        }
    }
    Err(FetchError(errors.join("; ")))
}

async fn document(fetch: &dyn Fetch, url: &Url) -> Result<Value, FetchError> {
    let failed = |text: &str| FetchError(format!("{url} {text}"));
    let request = Request::get(url.as_str()).header(header::ACCEPT, "application/json").body(Bytes::new());
    let response = fetch.fetch(request.map_err(|_| failed("is not a valid request URL"))?).await?;
    match response.status() {
        StatusCode::OK if response.body().len() > MAX_DOCUMENT => Err(failed("is too large")),
        StatusCode::OK => serde_json::from_slice(response.body()).map_err(|_| failed("is not JSON")),
        status => Err(failed(&format!("answers {status}"))),
    }
}

#[cfg(test)]
mod tests;
