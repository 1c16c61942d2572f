//! Authorization: the only place where the HTTP server requires access tokens. It comes after the
//! check of `Host` and `Origin` and before anything in the message is read (docs/versions.md, 2.2).

use super::{
    access_log::RefusalLog,
    forwarded::{TrustedProxy, address_of_client},
    http_options::HttpOptions,
    reply,
    response_body::HttpBody,
};
use crate::{
    auth::{self, Authorization, AuthorizationRefused, Identity, PresentingRequest, Refusal, Scheme},
    counts::{CountLimits, Counts},
    http::{classify, rejection::Rejection},
    on_drop::OnDrop,
    protocol::{RawJson, RequestId, RpcError, envelope::Frame},
    runtime::Runtime,
    server::{Arrival, HttpRequest, Server, VerifiedSender},
    store::{Store, StoreError, StoreGuard},
    sync::Mutex,
};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use serde_json::json;
use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Timeout of a verifier.
const DEADLINE: Duration = Duration::from_secs(30);
/// Maximum lifetime of a stream if its token has no expiry.
const MAX_STREAM_LIFETIME: Duration = Duration::from_secs(3600);
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The authorization of an endpoint, if it has one.
pub(super) struct AccessControl {
    authorization: Option<Authorization>,
    /// Tokens being verified.
    pending: PendingTokens,
    proxies: Vec<TrustedProxy>,
    /// True if the endpoint is mounted in a web framework.
    mounted: bool,
    refusals: RefusalLog,
    /// Where the DPoP proofs used with any worker are kept. Without a store, each process remembers
    /// only its own.
    store: Result<Option<StoreGuard>, StoreError>,
}

impl AccessControl {
    pub(super) fn of(options: &HttpOptions, mounted: bool, server: &Server, runtime: &Arc<dyn Runtime>) -> Self {
        Self {
            authorization: options.auth.clone(),
            pending: PendingTokens::new(MAX_PENDING_TOKENS),
            proxies: options.trusted_proxies.clone(),
            mounted,
            refusals: RefusalLog::default(),
            store: server.store(runtime),
        }
    }

    /// Identifies the sender of a request. Without authorization, it succeeds without credentials.
    ///
    /// # Errors
    /// If the request has no valid token, or if it is not a POST and the token lacks the required
    /// scopes. (A POST may need more scopes, which are checked later.)
    pub(super) async fn caller(&self, request: &HttpRequest, runtime: &Arc<dyn Runtime>) -> Result<Caller, Rejection> {
        let Some(authorization) = &self.authorization else { return Ok(Caller(None)) };
        let head = PresentingRequest { parts: Arc::clone(&request.parts), remote_address: request.remote_address() };
        let parts = &*head.parts;
        let below = self.mounted && authorization.is_below(parts.uri.path());
        let refuse = |refused: AuthorizationRefused| {
            // Clients first send a request without a token, to find out where to get one.
            if !matches!(refused.refusal, Refusal::Missing | Refusal::NonceNeeded | Refusal::Unavailable(_)) {
                self.refusals.note("access token", refused.refusal.description());
            }
            rejection(authorization, None, &refused, below)
        };
        let now = now();
        let address = address_of_client(&self.proxies, request);
        let (request, candidate) = authorization.read(&head, now, runtime).map_err(refuse)?;
        let unavailable = |text: &str| Err(Refusal::Unavailable(text.into()));
        let answer = match self.pending.ask(address) {
            Some(_pending) => {
                let answer = tokio::time::timeout(DEADLINE, auth::ask(authorization.verifier(), request)).await;
                answer.unwrap_or_else(|_| unavailable("the verifier did not answer in time"))
            }
            None => unavailable("too many tokens are waiting for the verifier"),
        };
        let identity = authorization.judge(&candidate, now, answer).map_err(refuse)?;
        if let Some((digest, keep_for)) = candidate.replay_entry(now) {
            let scheme = Some(candidate.scheme());
            let noted = self.note_proof(&digest, keep_for).await;
            noted.map_err(|refusal| refuse(AuthorizationRefused { refusal, scheme }))?;
        }
        let (authorization, scheme, json) = (authorization.clone(), candidate.scheme(), identity.to_json());
        let caller = Caller(Some(Arc::new(Known { authorization, scheme, identity, json, below })));
        if parts.method != Method::POST {
            caller.permit(None, &[])?;
        }
        Ok(caller)
    }

    /// Records the first use of a proof until the proof expires: each is accepted once (XAU-70).
    ///
    /// # Errors
    /// If it was used before, or the store is unavailable.
    async fn note_proof(&self, digest: &str, keep_for: Duration) -> Result<(), Refusal> {
        let noted = match &self.store {
            Ok(None) => return Ok(()),
            Ok(Some(store)) => store.put_if(&format!("dpop/{digest}"), None, "", keep_for).await,
            Err(error) => Err(error.clone()),
        };
        match noted {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::InvalidProof("The DPoP proof was used before".into())),
            Err(error) => Err(Refusal::Unavailable(error.to_string())),
        }
    }

    /// Serves the metadata document (RFC 9728), which needs no token, if the request is for it.
    pub(super) fn metadata(&self, method: &Method, path: &str, endpoint: Option<&str>) -> Option<Response<HttpBody>> {
        let document = self.authorization.as_ref()?.metadata(path, endpoint)?;
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Some(reply::not_allowed("Use GET to read this document", "GET, HEAD, OPTIONS"));
        }
        let mut response = reply::message(StatusCode::OK, document);
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
        // A cache must not serve a web page with a response to a request without an origin.
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        Some(response)
    }

    /// Adds the nonce for the next proof to every response, long before the old one expires
    /// (XAU-67, XAU-69).
    pub(super) fn add_nonce(&self, response: &mut Response<HttpBody>) {
        let nonce = self.authorization.as_ref().and_then(|authorization| authorization.nonce(now()));
        if let Some(nonce) = nonce.and_then(|nonce| HeaderValue::try_from(nonce).ok()) {
            response.headers_mut().insert(NONCE, nonce);
        }
    }
}

/// The sender of a request. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Caller(Option<Arc<Known>>);

struct Known {
    authorization: Authorization,
    scheme: Scheme,
    identity: Identity,
    json: RawJson,
    /// True if the endpoint is mounted under a prefix.
    below: bool,
}

impl Caller {
    /// Checks that the caller has the scopes of an operation and the required ones. A single
    /// challenge names all of them (AUS-11).
    fn permit(&self, request: Option<&RequestId>, operation: &[String]) -> Result<(), Rejection> {
        let Some(known) = &self.0 else { return Ok(()) };
        known
            .authorization
            .permit(&known.identity, operation)
            .map_err(|refusal| AuthorizationRefused { refusal, scheme: Some(known.scheme) })
            .map_err(|refused| rejection(&known.authorization, request, &refused, known.below))
    }

    /// How a message in a request of this caller arrived.
    pub(super) fn arrival(&self, request: HttpRequest) -> Arrival {
        let Some(known) = &self.0 else { return Arrival::over_http(request) };
        let mut arrival = Arrival::over_http(request.without_token());
        arrival.sender = Some(Arc::clone(known) as _);
        arrival
    }

    /// Checks that the token has the scopes that a message needs.
    pub(super) fn admit(&self, server: &Server, frame: &Frame) -> Result<(), Rejection> {
        if self.0.is_none() {
            return Ok(());
        }
        self.permit(classify::id_of(frame), &server.scopes_of(frame))
    }

    /// How long a stream of this caller may stay open: until its token expires (the client may then
    /// renew it), or an hour if it has no expiry. `None` without authorization.
    pub(super) fn lifetime(&self) -> Option<Duration> {
        let known = self.0.as_ref()?;
        let left = known.identity.expires_at.map(|end| end.saturating_add(auth::LEEWAY).saturating_sub(now()));
        Some(left.map_or(MAX_STREAM_LIFETIME, Duration::from_secs))
    }

    /// The principal that owns the sessions (SEC-04); `None` without authorization.
    pub(super) fn principal(&self) -> Option<&str> {
        self.0.as_ref().map(|known| known.identity.principal.as_str())
    }
}

impl VerifiedSender for Known {
    fn auth(&self) -> &RawJson {
        &self.json
    }

    fn resource(&self) -> &str {
        self.authorization.resource()
    }

    fn grants(&self, scopes: &[String]) -> bool {
        self.authorization.permit(&self.identity, scopes).is_ok()
    }
}

fn rejection(
    authorization: &Authorization,
    request: Option<&RequestId>,
    refused: &AuthorizationRefused,
    below: bool,
) -> Rejection {
    let refusal = &refused.refusal;
    if let Refusal::Unavailable(text) = refusal {
        tracing::warn!(target: "trunkline::auth::tokens", error = text, "an access token could not be verified");
        return Rejection::busy(request, refusal.description());
    }
    let mut error = RpcError::invalid_request(refusal.description());
    if let Some(code) = refusal.code() {
        error = error.with_data(json!({"error": code}));
    }
    let mut rejection = Rejection::new(refusal.status(), request, &error);
    for challenge in authorization.challenges(refused, below) {
        // Challenges contain only valid header characters.
        rejection.headers.extend(HeaderValue::try_from(challenge).map(|value| (header::WWW_AUTHENTICATE, value)));
    }
    rejection
}

/// The current Unix timestamp in seconds, as in tokens.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Maximum pending tokens; a single address may have a quarter of them.
const MAX_PENDING_TOKENS: usize = 4096;

/// Pending tokens by client address, limited because anyone can send tokens.
struct PendingTokens {
    waiting: Mutex<Counts<IpAddr>>,
    limits: CountLimits,
}

impl PendingTokens {
    fn new(max: usize) -> Self {
        Self { waiting: Mutex::default(), limits: CountLimits { all: max, each: (max / 4).max(1) } }
    }

    /// Admits a token, which is pending until the guard is dropped. Returns `None` if too many are,
    /// in total or for the address. Without an address, there is no per-address limit.
    fn ask(&self, address: Option<IpAddr>) -> Option<OnDrop<impl FnOnce()>> {
        let is_admitted = self.waiting.lock().take(address.as_ref(), 1, self.limits);
        is_admitted.then(|| OnDrop::new(move || self.waiting.lock().give_back(address.as_ref(), 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        auth::{AuthorizationOptions, Verification},
        transport::TokioRuntime,
    };
    use std::{
        future::poll_fn,
        net::{IpAddr, Ipv4Addr},
        pin::Pin,
        task::Poll,
    };

    /// A verifier that never completes, and its pending verifications.
    fn access(max: usize) -> (AccessControl, Arc<std::sync::Mutex<Vec<Verification>>>) {
        let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = Arc::clone(&kept);
        let verifier = move |verification: Verification| seen.lock().unwrap().push(verification);
        let options = AuthorizationOptions::new("https://api.example/mcp");
        let options = options.with_authorization_servers(["https://auth.example"]);
        let authorization = Authorization::new(options, Arc::new(verifier)).unwrap();
        let access = AccessControl {
            authorization: Some(authorization),
            pending: PendingTokens::new(max),
            proxies: Vec::new(),
            mounted: false,
            refusals: RefusalLog::default(),
            store: Ok(None),
        };
        (access, kept)
    }

    fn request(last: u8) -> HttpRequest {
        let request = http::Request::post("/mcp").header(header::AUTHORIZATION, "Bearer invented").body(()).unwrap();
        HttpRequest::new(request.into_parts().0, Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))))
    }

    async fn waits<T>(mut asking: Pin<&mut impl Future<Output = T>>) -> bool {
        poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_pending())).await
    }

    #[tokio::test]
    async fn no_more_tokens_wait_for_a_verifier_than_may() {
        let (access, kept) = access(1);
        let (request, runtime) = (request(1), TokioRuntime::current());
        {
            let mut first = Box::pin(access.caller(&request, &runtime));
            assert!(waits(first.as_mut()).await);
            assert_eq!(access.caller(&request, &runtime).await.err().unwrap().status, 503);
            assert_eq!(kept.lock().unwrap().len(), 1);
        }
        let mut next = Box::pin(access.caller(&request, &runtime));
        assert!(waits(next.as_mut()).await);
        assert_eq!(kept.lock().unwrap().len(), 2, "the place of a request that was given up");
    }

    #[tokio::test]
    async fn a_stream_may_be_open_until_its_token_ends_or_for_an_hour() {
        let (access, kept) = access(8);
        let (request, runtime) = (request(1), TokioRuntime::current());
        let lifetime = async |expires_at: Option<u64>| {
            let mut asking = Box::pin(access.caller(&request, &runtime));
            assert!(waits(asking.as_mut()).await);
            let identity = Identity { principal: "reader".to_owned(), expires_at, ..Identity::default() };
            kept.lock().unwrap().pop().unwrap().complete(Ok(identity));
            asking.await.ok().unwrap().lifetime()
        };
        assert_eq!(lifetime(None).await, Some(MAX_STREAM_LIFETIME));
        for left in [100, 24 * 3600] {
            let bound = left + auth::LEEWAY;
            // The clock advances between the two.
            let seconds = lifetime(Some(now() + left)).await.unwrap().as_secs();
            assert!((bound - 30..=bound).contains(&seconds), "{seconds} of {bound}");
        }
        assert_eq!(Caller::default().lifetime(), None, "nobody is asked for a token");
    }

    #[tokio::test]
    async fn tokens_of_one_address_keep_those_of_others_from_no_verifier() {
        let (access, kept) = access(8);
        let (attacker, bystander, runtime) = (request(1), request(2), TokioRuntime::current());
        let mut flood: Vec<_> = (0..20).map(|_| Box::pin(access.caller(&attacker, &runtime))).collect();
        let mut waiting = 0;
        for asking in &mut flood {
            waiting += usize::from(waits(asking.as_mut()).await);
        }
        assert_eq!(waiting, 2, "a quarter of all");
        let mut good = Box::pin(access.caller(&bystander, &runtime));
        assert!(waits(good.as_mut()).await);
        let identity = Identity { principal: "bystander".to_owned(), ..Identity::default() };
        kept.lock().unwrap().pop().unwrap().complete(Ok(identity));
        assert_eq!(good.await.ok().unwrap().principal(), Some("bystander"));
    }
}
