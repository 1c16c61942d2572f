//! Access tokens that a host's verifier checks.

use crate::{
    calls::call_off,
    config,
    error::BridgeError,
    events::{Event, EventKind, Lane, Shape},
    message::{Fail, FailKind},
    state::{
        PortState,
        entries::{HostTarget, Verifier},
        full,
    },
};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::{Arc, Weak};
use trunkline::{
    auth::{Identity, Refusal, TokenVerifier, Verification},
    protocol::describe::{Described, Type, Values},
    server::Server,
};

pub(crate) fn register(state: &PortState, server: Server, lane: Lane) -> Result<u64, BridgeError> {
    let target = HostTarget::new(&state.queue, lane);
    let verifier = Verifier { server, target: Arc::clone(&target) };
    let handle = state.tables.lock().verifiers.insert(verifier).ok_or_else(full)?;
    target.set_handle(handle);
    Ok(handle)
}

/// The verifier with a handle, for an endpoint.
pub(crate) fn verifier(state: &Arc<PortState>, handle: u64) -> Result<Arc<dyn TokenVerifier>, BridgeError> {
    let target = state.tables.lock().verifiers.get(handle).map(|verifier| Arc::clone(&verifier.target));
    let target = target.ok_or_else(|| BridgeError::stale("a verifier", handle))?;
    Ok(Arc::new(HostVerifier { state: Arc::downgrade(state), target }))
}

/// Completes a token's call with an identity, or with `null` for an unknown token. Returns `false`
/// if it was already completed.
pub(crate) fn complete(state: &PortState, ticket: u64, shape: Shape, body: &Bytes) -> Result<bool, BridgeError> {
    answer(state, ticket, identity(shape, body))
}

/// Completes a token's call with a rejection. Returns `false` if it was already completed.
pub(crate) fn fail(state: &PortState, ticket: u64, given: &Fail) -> Result<bool, BridgeError> {
    answer(state, ticket, refusal(given).map(Err))
}

type VerifierReply = Result<Identity, Refusal>;

fn answer(state: &PortState, ticket: u64, answer: Result<VerifierReply, BridgeError>) -> Result<bool, BridgeError> {
    match answer {
        Ok(answer) => Ok(finish(state, ticket, answer)),
        // The verification can still be completed. If it is already completed, errors are ignored.
        Err(error) if state.tables.lock().verifications.get(ticket).is_some() => Err(error),
        Err(_) => Ok(false),
    }
}

fn identity(shape: Shape, body: &Bytes) -> Result<VerifierReply, BridgeError> {
    if shape == Shape::Text {
        return Err(BridgeError::invalid("complete: a verifier must return an identity, a JSON object"));
    }
    let members: Option<Map<String, Value>> = config::read("complete: identity", body)?;
    let read = |members| config::read_value::<Identity>("complete: identity", Value::Object(members));
    let identity = members.map(read).transpose()?;
    if identity.as_ref().is_some_and(|identity| !identity.is_named()) {
        let text = "complete: identity: needs a subject, a client id or a principal";
        return Err(BridgeError::invalid(text));
    }
    Ok(identity.ok_or_else(|| Refusal::InvalidToken("Unknown access token".into())))
}

fn finish(state: &PortState, ticket: u64, answer: VerifierReply) -> bool {
    // The lock is released before the verification is completed.
    let verification = state.tables.lock().verifications.remove(ticket);
    verification.is_some_and(|verification| verification.complete(answer))
}

fn refusal(given: &Fail) -> Result<Refusal, BridgeError> {
    let data = given.data.as_ref();
    let code = data.and_then(|data| data["error"].as_str());
    match (&given.kind, code) {
        (FailKind::Invalid, _) | (FailKind::Protocol, Some("invalid_token")) => {
            Ok(Refusal::InvalidToken(given.message.clone()))
        }
        (FailKind::Protocol, Some("invalid_request")) => Ok(Refusal::Malformed(given.message.clone())),
        (FailKind::Protocol, Some("insufficient_scope")) => {
            let scopes = data.and_then(|data| data["scopes"].as_array()).into_iter().flatten();
            let scopes = scopes.filter_map(Value::as_str).map(str::to_owned).collect();
            Ok(Refusal::InsufficientScope { scopes, description: Some(given.message.clone()) })
        }
        (FailKind::Internal, _) if given.logged => Ok(Refusal::Unavailable("the verifier failed".into())),
        (FailKind::Internal, _) => Ok(Refusal::Unavailable(given.message.clone())),
        _ => Err(BridgeError::invalid(
            "fail: a verifier fails with the kind invalid (401), internal (503), or protocol with data.error insufficient_scope and data.scopes (403)",
        )),
    }
}

trunkline::bridge_support::described! {
    /// An access token to verify: the body of a verifier's `Call`.
    #[derive(Serialize)]
    pub struct AccessToken {
        /// The token. It is the client's secret: don't log it or pass it on.
        required token: String = "token",
        /// Scheme of the `Authorization` header.
        required scheme: &'static str = "scheme" as TokenScheme,
        /// Method of the HTTP request.
        required method: String = "method",
        /// Public URL of the HTTP request, without its query.
        required url: String = "url",
        /// Resource that the token must be issued for.
        required resource: String = "resource",
    }
}

/// The values of a [`Scheme`](trunkline::auth::Scheme).
struct TokenScheme;

impl Described for TokenScheme {
    const TYPE: Type = {
        static VALUES: Values = Values {
            name: "TokenScheme",
            doc: &[" The scheme of the `Authorization` header that carries an access token."],
            values: &[
                ("Bearer", &[" Any holder of the token may use it (RFC 6750)."]),
                ("DPoP", &[" The token is bound to a key, which signs a proof for every request (RFC 9449)."]),
            ],
            open: false,
        };
        Type::Values(&VALUES)
    };
}

/// Passes tokens to the host.
struct HostVerifier {
    state: Weak<PortState>,
    target: Arc<HostTarget>,
}

impl TokenVerifier for HostVerifier {
    fn verify(&self, verification: Verification) {
        let (Some(state), Some(handle)) = (self.state.upgrade(), self.target.handle()) else { return };
        let token = AccessToken {
            token: verification.token().to_owned(),
            scheme: verification.scheme().as_str(),
            method: verification.method().to_owned(),
            url: verification.url().to_owned(),
            resource: verification.resource().to_owned(),
        };
        // Serializing an object of strings never fails.
        let body = serde_json::to_vec(&token).unwrap_or_default();
        let abandonment = verification.abandonment();
        // A removed verifier refuses every token.
        let registered = state.tables.lock().verifiers.get(handle).is_some();
        if !registered {
            return;
        }
        let cause = verification.cause().cloned();
        let Some(ticket) = state.tables.lock().verifications.insert(verification) else { return };
        let lane = self.target.lane;
        let body = Bytes::from(body).into();
        let event = Event { kind: EventKind::Call, ticket, handle, body, ..Event::default() };
        state.queue.push(lane, event.coming_of(cause.as_ref(), state.number));
        let state = Weak::clone(&self.state);
        abandonment.then(move || {
            let Some(state) = state.upgrade() else { return };
            let verification = state.tables.lock().verifications.remove(ticket);
            if verification.is_some() {
                call_off(&state, lane, ticket, handle, Bytes::from_static(b"the request has ended"));
            }
        });
    }
}
