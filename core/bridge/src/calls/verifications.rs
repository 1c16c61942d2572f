//! Access tokens that a host's verifier checks.

use crate::{
    BridgeError, Event, Shape,
    calls::{HostAnswer, PendingCall, QueuedCall, handlers::HostHandler},
    host_json,
    message::{Fail, FailKind},
};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use trunkline::{
    auth::{Identity, Refusal, TokenVerifier, Verification},
    bridge_support::{described, json_names},
};

impl PendingCall for Verification {
    type Answer = Result<Identity, Refusal>;

    fn read(given: HostAnswer) -> Result<Self::Answer, BridgeError> {
        match given {
            HostAnswer::Result(shape, body) => identity(shape, &body),
            HostAnswer::Failure(given) => refusal(given).map(Err),
        }
    }

    fn answer(self, answer: Self::Answer) -> bool {
        self.complete(answer)
    }
}

/// The identity, or `null` for an unknown token.
fn identity(shape: Shape, body: &Bytes) -> Result<Result<Identity, Refusal>, BridgeError> {
    if shape == Shape::Text {
        return Err(BridgeError::invalid("complete: a verifier must return an identity, a JSON object"));
    }
    let members: Option<Map<String, Value>> = host_json::read("complete: identity", body)?;
    let read = |members| host_json::read_value::<Identity>("complete: identity", Value::Object(members));
    let identity = members.map(read).transpose()?;
    if identity.as_ref().is_some_and(|identity| !identity.is_named()) {
        let text = "complete: identity: needs a subject, a client id or a principal";
        return Err(BridgeError::invalid(text));
    }
    Ok(identity.ok_or_else(|| Refusal::InvalidToken("Unknown access token".into())))
}

fn refusal(given: Fail) -> Result<Refusal, BridgeError> {
    let data = given.data.unwrap_or_default();
    match (given.kind, data["error"].as_str()) {
        (FailKind::Invalid, _) | (FailKind::Protocol, Some("invalid_token")) => {
            Ok(Refusal::InvalidToken(given.message))
        }
        (FailKind::Protocol, Some("invalid_request")) => Ok(Refusal::Malformed(given.message)),
        (FailKind::Protocol, Some("insufficient_scope")) => {
            let scopes = data["scopes"].as_array().into_iter().flatten();
            let scopes = scopes.filter_map(Value::as_str).map(str::to_owned).collect();
            Ok(Refusal::InsufficientScope { scopes, description: Some(given.message) })
        }
        (FailKind::Internal, _) if given.logged => Ok(Refusal::Unavailable("the verifier failed".into())),
        (FailKind::Internal, _) => Ok(Refusal::Unavailable(given.message)),
        _ => Err(BridgeError::invalid(
            "fail: a verifier fails with the kind invalid (401), internal (503), or protocol with data.error insufficient_scope and data.scopes (403)",
        )),
    }
}

described! {
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

json_names! {
    /// The scheme of the `Authorization` header that carries an access token.
    pub enum TokenScheme, by default Bearer {
        /// Any holder of the token may use it (RFC 6750).
        Bearer = "Bearer",
        /// The token is bound to a key, which signs a proof for every request (RFC 9449).
        Dpop = "DPoP",
    }
}

impl TokenVerifier for HostHandler {
    fn verify(&self, verification: Verification) {
        let (Some(state), Some(handle)) = (self.state.upgrade(), self.target.handle()) else { return };
        // A removed verifier refuses every token.
        if state.tables.lock().features.get(handle).is_none() {
            return;
        }
        let token = AccessToken {
            token: verification.token().to_owned(),
            scheme: verification.scheme().as_str(),
            method: verification.method().to_owned(),
            url: verification.url().to_owned(),
            resource: verification.resource().to_owned(),
        };
        // Serializing an object of strings never fails.
        let body = Bytes::from(serde_json::to_vec(&token).unwrap_or_default()).into();
        let event = Event { handle, body, ..Event::default() }.coming_of(verification.cause(), state.number);
        let cancellation = verification.cancellation();
        if let Some(queued) = QueuedCall::push(&state, self.target.lane, verification, event) {
            cancellation.then(move || queued.call_off::<Verification>(Bytes::from_static(b"the request has ended")));
        }
    }
}
