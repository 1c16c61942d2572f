//! Verification of a token, which may complete later.

use super::{Identity, Refusal, Scheme};
use crate::{cause::Cause, runtime::Runtime, sync::Mutex};
use http::{HeaderMap, Uri, request::Parts};
use std::{
    future::Future,
    net::IpAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// Verifies tokens. It gets a [`Verification`], which it may complete at any time, from any thread.
/// Dropping it without completing it refuses the request.
///
/// A verifier returns whom a token was issued to, and must refuse tokens for other audiences.
/// Expiry ([`Identity::expires_at`]), scopes and key binding (`cnf.jkt` in [`Identity::claims`])
/// are checked afterwards, from the returned identity.
///
/// ```
/// use std::sync::Arc;
/// use trunkline::auth::{Authorization, AuthorizationOptions, Identity, Refusal, Verification};
///
/// let verifier = |verification: Verification| {
///     let outcome = match verification.token() {
///         "secret" => Ok(Identity::default().with_subject("alice").with_scopes(vec!["notes".into()])),
///         _ => Err(Refusal::InvalidToken("This token is unknown".into())),
///     };
///     verification.complete(outcome);
/// };
/// let options = AuthorizationOptions::new("https://mcp.example/mcp");
/// let options = options.with_authorization_servers(["https://login.example"]);
/// let authorization = Authorization::new(options, Arc::new(verifier))?;
/// # Ok::<(), trunkline::auth::AuthOptionError>(())
/// ```
pub trait TokenVerifier: Send + Sync + 'static {
    /// Verifies a token. Must not block.
    fn verify(&self, verification: Verification);
}

impl<F: Fn(Verification) + Send + Sync + 'static> TokenVerifier for F {
    fn verify(&self, verification: Verification) {
        self(verification);
    }
}

/// A token to verify.
#[must_use = "dropping it refuses the token"]
pub struct Verification {
    request: ProtectedRequest,
    answer: Arc<PendingVerification>,
}

/// The head of the HTTP request that presents a token.
#[derive(Clone)]
pub(crate) struct PresentingRequest {
    pub(crate) parts: Arc<Parts>,
    pub(crate) remote_address: Option<IpAddr>,
}

/// The request that presents a token.
pub(crate) struct ProtectedRequest {
    pub(crate) token: String,
    pub(crate) scheme: Scheme,
    pub(crate) url: String,
    pub(crate) resource: Arc<str>,
    pub(crate) head: PresentingRequest,
    pub(crate) now: u64,
    pub(crate) runtime: Arc<dyn Runtime>,
}

impl Verification {
    /// The token. Never log it or pass it on.
    pub fn token(&self) -> &str {
        &self.request.token
    }

    /// Scheme of the token.
    pub fn scheme(&self) -> Scheme {
        self.request.scheme
    }

    /// The method of the HTTP request.
    pub fn method(&self) -> &str {
        self.request.head.parts.method.as_str()
    }

    /// The public URL of the HTTP request, without its query.
    pub fn url(&self) -> &str {
        &self.request.url
    }

    /// The target of the HTTP request as received. Over HTTP/1.1, this is the path and query.
    pub fn uri(&self) -> &Uri {
        &self.request.head.parts.uri
    }

    /// The headers of the HTTP request. They include the token and its proof, so never log them or
    /// pass them on.
    pub fn headers(&self) -> &HeaderMap {
        &self.request.head.parts.headers
    }

    /// The address of the peer, which may be a proxy, if known.
    pub fn remote_address(&self) -> Option<IpAddr> {
        self.request.head.remote_address
    }

    /// The resource identifier of this server. The token must have been issued for it.
    pub fn resource(&self) -> &str {
        &self.request.resource
    }

    /// The time of the request, as a Unix timestamp in seconds.
    pub fn now(&self) -> u64 {
        self.request.now
    }

    /// The exchange that presents the token, in a binding.
    #[doc(hidden)]
    pub fn cause(&self) -> Option<&Arc<dyn Cause>> {
        self.request.head.parts.extensions.get()
    }

    /// Runs tasks of the verifier.
    pub(super) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.request.runtime
    }

    /// Completes the verification. Returns `false` if the request has already ended.
    pub fn complete(self, outcome: Result<Identity, Refusal>) -> bool {
        self.answer.complete(outcome)
    }

    /// Runs `hook` when the result is no longer needed because the client has disconnected or the
    /// verification has timed out. If that has already happened, runs it immediately.
    pub fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) {
        self.cancellation().then(hook);
    }

    /// Like [`Self::on_cancel`], but independent of the verification itself.
    #[doc(hidden)]
    pub fn cancellation(&self) -> VerificationCancellation {
        VerificationCancellation(Arc::clone(&self.answer))
    }
}

/// Notifies a verifier that the result is no longer needed.
pub struct VerificationCancellation(Arc<PendingVerification>);

impl VerificationCancellation {
    /// Runs `hook` at that moment, or immediately if it has passed.
    pub fn then(self, hook: impl FnOnce() + Send + 'static) {
        let mut state = self.0.state.lock();
        match &mut *state {
            VerificationState::Pending { hook: kept, .. } => *kept = Some(Box::new(hook)),
            VerificationState::Completed(_) => {}
            VerificationState::Abandoned => {
                drop(state);
                hook();
            }
        }
    }
}

impl Drop for Verification {
    fn drop(&mut self) {
        // This is a no-op if it was completed.
        self.answer.complete(Err(Refusal::Unavailable("the verifier dropped the token without a decision".into())));
    }
}

struct PendingVerification {
    state: Mutex<VerificationState>,
}

type CancelHook = Box<dyn FnOnce() + Send>;

enum VerificationState {
    Pending { waker: Option<Waker>, hook: Option<CancelHook> },
    Completed(Option<Result<Identity, Refusal>>),
    Abandoned,
}

impl PendingVerification {
    fn complete(&self, outcome: Result<Identity, Refusal>) -> bool {
        let Some((waker, _)) = self.end(VerificationState::Completed(Some(outcome))) else { return false };
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Ends a pending verification. Returns what must be called without the lock; `None` if it has
    /// already ended.
    fn end(&self, end: VerificationState) -> Option<(Option<Waker>, Option<CancelHook>)> {
        let mut state = self.state.lock();
        let VerificationState::Pending { waker, hook } = &mut *state else { return None };
        let pending = (waker.take(), hook.take());
        *state = end;
        Some(pending)
    }
}

/// Passes a token to a verifier.
pub(crate) fn ask(verifier: &dyn TokenVerifier, request: ProtectedRequest) -> VerifierAnswer {
    let answer =
        Arc::new(PendingVerification { state: Mutex::new(VerificationState::Pending { waker: None, hook: None }) });
    let verification = Verification { request, answer: Arc::clone(&answer) };
    // If the verifier panics, its `Verification` is dropped, which refuses the request.
    if catch_unwind(AssertUnwindSafe(|| verifier.verify(verification))).is_err() {
        tracing::error!(target: "trunkline::auth::tokens", "a token verifier panicked");
    }
    VerifierAnswer(answer)
}

/// Resolves to the verifier's result. Dropping it notifies the verifier that the result is no
/// longer needed.
pub(crate) struct VerifierAnswer(Arc<PendingVerification>);

impl Future for VerifierAnswer {
    type Output = Result<Identity, Refusal>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self.0.state.lock() {
            VerificationState::Pending { waker, .. } => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            VerificationState::Completed(outcome) => {
                Poll::Ready(outcome.take().unwrap_or_else(|| Err(Refusal::Unavailable("asked twice".into()))))
            }
            VerificationState::Abandoned => Poll::Pending,
        }
    }
}

impl Drop for VerifierAnswer {
    fn drop(&mut self) {
        if let Some((_, Some(hook))) = self.0.end(VerificationState::Abandoned) {
            hook();
        }
    }
}
