//! The tokens of one server.

use super::{
    client_identity::{AuthMethod, ClientRegistration},
    observer::Clause,
    settings::Settings,
    token_endpoint::{FormResponse, Parts},
};
use crate::{auth::jws::Jws, client_auth::AuthError};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A token is refreshed this many seconds before it expires, so that it doesn't expire in transit.
const EXPIRY_MARGIN: u64 = 30;
/// A token that is refused within this many seconds after it was refreshed is refused for another
/// reason than its age.
const FRESHNESS: u64 = 60;

/// The authorization server that an MCP server used last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LastIssuer {
    pub(super) issuer: String,
    pub(super) resource: String,
}

/// The first word of its keys in a store.
const SERVER: &str = "server ";

impl LastIssuer {
    /// The key in the store.
    pub(super) fn key(settings: &Settings, url: &str) -> String {
        match &settings.options.resource {
            Some(resource) => format!("{SERVER}{url} {resource}"),
            None => format!("{SERVER}{url}"),
        }
    }
}

/// Returns whether an entry of a store has secrets. One that only says where the tokens of a server
/// are has none.
#[cfg(feature = "keychain")]
pub(crate) fn is_secret(key: &str) -> bool {
    !key.starts_with(SERVER)
}

/// Tokens, and what is needed to refresh them.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) issuer: String,
    pub(super) resource: String,
    /// The client that obtained them, and how it authenticated.
    pub(super) client_id: Option<String>,
    pub(super) method: AuthMethod,
    /// The client, if it registered itself: only it can refresh them, and a later registration may
    /// replace it at its authorization server.
    pub(super) registration: Option<ClientRegistration>,
    pub(super) token_endpoint: String,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// Unix timestamp in seconds.
    pub(super) expires_at: Option<u64>,
    /// The scopes requested so far, over all steps (AUC-44).
    pub(super) requested: Vec<String>,
    /// The private key that the tokens are bound to, in PKCS #8 and Base64 (RFC 9449).
    pub(super) dpop_key: Option<String>,
    /// True if the server is in a private network; then its authorization server may be there too.
    #[serde(default)]
    pub(super) private_network: bool,
    /// True if the tokens are newly granted, rather than refreshed or loaded from the store.
    #[serde(skip)]
    pub(super) is_new: bool,
    /// When this process refreshed them: a Unix timestamp in seconds.
    #[serde(skip)]
    pub(super) renewed_at: Option<u64>,
    /// The access token that the store still has, because these tokens could not be written to it.
    #[serde(skip)]
    pub(super) replaced: Option<String>,
}

impl Tokens {
    pub(super) fn ends_soon(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now.saturating_add(EXPIRY_MARGIN))
    }

    pub(super) fn has_ended(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    pub(super) fn are_just_renewed(&self, now: u64) -> bool {
        self.renewed_at.is_some_and(|at| now.saturating_sub(at) <= FRESHNESS)
    }

    /// Returns whether the stored tokens are older than these.
    pub(super) fn have_replaced(&self, stored: &Self) -> bool {
        self.replaced.as_ref() == Some(&stored.access_token)
    }

    /// The value of the `Authorization` header.
    pub(super) fn authorization(&self) -> String {
        let scheme = if self.dpop_key.is_some() { "DPoP" } else { "Bearer" };
        format!("{scheme} {}", self.access_token)
    }
}

/// The response of a token endpoint (RFC 6749 section 5.1).
#[derive(Clone, Deserialize)]
pub(super) struct TokenAnswer {
    pub(super) access_token: String,
    pub(super) token_type: String,
    #[serde(default, deserialize_with = "seconds")]
    pub(super) expires_in: Option<f64>,
    pub(super) refresh_token: Option<String>,
    /// OpenID Connect Core section 3.1.3.3.
    pub(super) id_token: Option<String>,
    /// Only in a token exchange (RFC 8693 section 2.2.1).
    pub(super) issued_token_type: Option<String>,
    /// The expiry of an ID token: a Unix timestamp in seconds.
    #[serde(skip)]
    ends: Option<u64>,
}

/// Reads a number of seconds, which some servers write as a string. Anything else is ignored,
/// because the member is only a hint.
pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    })
}

impl FormResponse for TokenAnswer {
    const CLAUSE: Clause = Clause::TOKEN;
    const NAME: &str = "token response";
}

impl TokenAnswer {
    /// When the token expires, as a Unix timestamp in seconds.
    pub(super) fn expires_at(&self, now: u64) -> Option<u64> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        self.expires_in
            .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
            .map(|seconds| now.saturating_add(seconds as u64))
            .or(self.ends)
    }

    /// The token to send to the server, checked.
    pub(super) fn accepted(self, parts: &Parts, endpoint: &str) -> Result<Self, AuthError> {
        let answer = if parts.settings.options.use_id_token { self.with_id_token(endpoint)? } else { self };
        answer.checked(parts.proofs.is_some(), endpoint)
    }

    /// The ID token in place of the access token, with its own expiry (OpenID Connect Core section
    /// 2). It is not verified: only its receiver relies on it.
    fn with_id_token(self, endpoint: &str) -> Result<Self, AuthError> {
        let missing = || AuthError(format!("{} returned no ID token", super::sanitized(endpoint)));
        let id_token = self.id_token.clone().ok_or_else(missing)?;
        let claims = Jws::parse(&id_token)
            .map_err(|problem| AuthError(format!("The ID token from {} {problem}", super::sanitized(endpoint))))?
            .claims;
        Ok(Self { expires_in: None, ends: claims.get("exp").and_then(Value::as_u64), access_token: id_token, ..self })
    }

    /// Refuses tokens that cannot be sent in a header, and tokens without the requested binding
    /// (XAU-49).
    fn checked(self, bound: bool, endpoint: &str) -> Result<Self, AuthError> {
        let endpoint = super::sanitized(endpoint);
        let is_token = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_token(&self.access_token) {
            return Err(AuthError(format!("{endpoint} returned an access token that cannot be sent in a header")));
        }
        let wanted = if bound { "DPoP" } else { "Bearer" };
        if !self.token_type.eq_ignore_ascii_case(wanted) {
            let given = super::sanitized(&self.token_type);
            return Err(AuthError(format!("{endpoint} returned a token of the type {given:?} instead of {wanted}")));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn auc_46_tokens_of_earlier_versions_are_read() {
        let stored = json!({"issuer": "https://a.example", "resource": "https://m.example", "client_id": "c",
            "method": "none", "token_endpoint": "https://a.example/token", "access_token": "t", "refresh_token": "r",
            "expires_at": 7, "requested": ["a"], "dpop_key": null, "private_network": false});
        let tokens: Tokens = serde_json::from_value(stored).unwrap();
        assert!(tokens.registration.is_none() && tokens.has_ended(7));
    }

    #[test]
    fn the_end_of_a_token_is_a_number_or_a_text() {
        for (given, end) in [
            (json!(3600), Some(3607)),
            (json!("3600"), Some(3607)),
            (json!(0.5), Some(7)),
            (json!("soon"), None),
            (json!(-1), None),
            (json!(null), None),
        ] {
            let answer = json!({"access_token": "t", "token_type": "Bearer", "expires_in": given});
            let answer: TokenAnswer = serde_json::from_value(answer).unwrap();
            assert_eq!(answer.expires_at(7), end, "{given}");
        }
    }
}
