//! Checks the claims of a JWT access token (RFC 9068), after its signature.

use super::{Identity, resource_url};
use serde_json::{Map, Value};

/// Maximum clock skew between the issuer and this server, in seconds.
pub(crate) const LEEWAY: u64 = 60;

/// The claims that a token must have.
pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a str,
    /// `aud` must contain one of these.
    pub(super) audiences: &'a [String],
    /// Unix timestamp in seconds.
    pub(super) now: u64,
}

/// Checks the claims and returns the identity. The error is sent to the client, so it names the
/// claim but not its value.
pub(super) fn judge(claims: Map<String, Value>, expected: &ExpectedClaims<'_>) -> Result<Identity, &'static str> {
    if claims.get("iss").and_then(Value::as_str) != Some(expected.issuer) {
        return Err("The access token is from another issuer");
    }
    if !is_for(claims.get("aud"), expected.audiences) {
        return Err("The access token is not for this server");
    }
    #[allow(clippy::cast_precision_loss)]
    let (now, leeway) = (expected.now as f64, LEEWAY as f64);
    let expires = date(&claims, "exp")?.ok_or("The access token has no expiry")?;
    if now >= expires + leeway {
        return Err("The access token has expired");
    }
    if date(&claims, "nbf")?.is_some_and(|from| now + leeway < from) {
        return Err("The access token is not valid yet");
    }
    if date(&claims, "iat")?.is_some_and(|issued| now + leeway < issued) {
        return Err("The access token was issued in the future");
    }
    let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let subject = text("sub").map(str::to_owned);
    // Other issuers call it `azp` or `cid`.
    let client_id = ["client_id", "azp", "cid"].into_iter().find_map(text).map(str::to_owned);
    let identity = Identity {
        principal: String::new(),
        issuer: Some(expected.issuer.to_owned()),
        scopes: scopes(&claims),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        expires_at: Some(expires.max(0.0) as u64),
        subject,
        client_id,
        claims,
    };
    identity.named().ok_or("The access token names neither a subject nor a client")
}

/// Returns whether `aud`, a string or an array of strings, contains one of the audiences (AUS-08).
fn is_for(claim: Option<&Value>, audiences: &[String]) -> bool {
    let names = |value: &Value| {
        value.as_str().is_some_and(|name| audiences.iter().any(|audience| resource_url::is_same(name, audience)))
    };
    match claim {
        Some(Value::Array(values)) => values.iter().any(names),
        Some(value) => names(value),
        None => false,
    }
}

/// Reads a NumericDate, which may be fractional.
fn date(claims: &Map<String, Value>, name: &str) -> Result<Option<f64>, &'static str> {
    let finite = |value: &Value| value.as_f64().filter(|date| date.is_finite());
    let date = claims.get(name).filter(|value| !value.is_null());
    date.map(|date| finite(date).ok_or("The access token has a date that is not a number")).transpose()
}

/// Reads `scope` (RFC 9068 section 2.2.3), or `scp` as some issuers call it: a space-separated
/// string or an array.
fn scopes(claims: &Map<String, Value>) -> Vec<String> {
    match claims.get("scope").or_else(|| claims.get("scp")) {
        Some(Value::String(text)) => text.split_ascii_whitespace().map(str::to_owned).collect(),
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: u64 = 1_800_000_000;

    fn claims(changes: Value) -> Map<String, Value> {
        let mut claims = json!({"iss": "https://auth.example", "sub": "alice", "aud": "https://mcp.example/mcp",
            "exp": NOW + 300, "iat": NOW - 5, "client_id": "app", "scope": "read write"});
        claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        claims.as_object().unwrap().clone()
    }

    fn judged(changes: Value) -> Result<Identity, &'static str> {
        let audiences = ["https://mcp.example/mcp".to_owned()];
        judge(claims(changes), &ExpectedClaims { issuer: "https://auth.example", audiences: &audiences, now: NOW })
    }

    #[test]
    fn aus_07_a_good_token_makes_an_identity() {
        let identity = judged(json!({"team": "blue"})).unwrap();
        assert_eq!(identity.principal, "https://auth.example#sub:alice");
        assert_eq!(identity.subject.as_deref(), Some("alice"));
        assert_eq!(identity.client_id.as_deref(), Some("app"));
        assert_eq!(identity.scopes, ["read", "write"]);
        assert_eq!(identity.expires_at, Some(NOW + 300));
        assert_eq!(identity.claims["team"], "blue");
    }

    #[test]
    fn aus_08_and_sec_07_tokens_for_others_are_refused() {
        for aud in [
            json!("https://other.example/mcp"),
            json!(["https://other.example"]),
            json!([]),
            json!(null),
            json!(7),
            json!("https://mcp.example"),
            json!({"https://mcp.example/mcp": true}),
        ] {
            assert!(judged(json!({"aud": aud})).is_err(), "{aud}");
        }
        for aud in [json!(["https://other.example", "https://mcp.example/mcp"]), json!("HTTPS://MCP.EXAMPLE/mcp")] {
            assert!(judged(json!({"aud": aud})).is_ok(), "{aud}");
        }
    }

    #[test]
    fn aus_05_dates_are_judged_with_a_leeway() {
        for (changes, good) in [
            (json!({"exp": NOW - LEEWAY + 1}), true),
            (json!({"exp": NOW - LEEWAY}), false),
            (json!({"exp": NOW as f64 - 59.5}), true),
            (json!({"exp": "soon"}), false),
            (json!({"exp": null}), false),
            (json!({"exp": -1}), false),
            (json!({"nbf": NOW + LEEWAY}), true),
            (json!({"nbf": NOW + LEEWAY + 1}), false),
            (json!({"iat": NOW + LEEWAY + 1}), false),
            (json!({"iat": null}), true),
        ] {
            assert_eq!(judged(changes.clone()).is_ok(), good, "{changes}");
        }
    }

    #[test]
    fn issuers_compare_letter_by_letter() {
        for issuer in ["https://auth.example/", "https://AUTH.example", "https://evil.example", ""] {
            assert!(judged(json!({"iss": issuer})).is_err(), "{issuer}");
        }
    }

    #[test]
    fn scopes_come_in_several_forms() {
        for (changes, scopes) in [
            (json!({"scope": " a  b "}), vec!["a", "b"]),
            (json!({"scope": ["a", "b", 7]}), vec!["a", "b"]),
            (json!({"scope": ""}), vec![]),
            (json!({"scope": 7}), vec![]),
        ] {
            assert_eq!(judged(changes.clone()).unwrap().scopes, scopes, "{changes}");
        }
        let mut other = claims(json!({"scp": ["c"]}));
        other.shift_remove("scope");
        assert_eq!(super::scopes(&other), ["c"]);
    }

    #[test]
    fn a_token_identifies_a_caller() {
        assert_eq!(judged(json!({"sub": null})).unwrap().principal, "https://auth.example#client:app");
        assert_eq!(
            judged(json!({"sub": "", "client_id": "", "azp": "b"})).unwrap().principal,
            "https://auth.example#client:b"
        );
        assert!(judged(json!({"sub": null, "client_id": null})).is_err());
    }
}
