//! DPoP proofs (RFC 9449 sections 4.2 and 4.3).

use crate::auth::{
    Algorithm,
    jwk::{self, PublicKey},
    jws::Jws,
    resource_url::bare,
};
use http::HeaderMap;
use serde_json::{Map, Value};
use url::Url;

/// How far a proof's timestamp may be from the server's clock, in seconds (XAU-60).
pub(in crate::auth) const MAX_SKEW: u64 = 300;

/// Longer identifiers are refused.
const MAX_ID: usize = 512;

/// The values that a proof must match.
pub(in crate::auth) struct Expected<'a> {
    /// The method of the request.
    pub(in crate::auth) method: &'a str,
    /// The public URL of the request.
    pub(in crate::auth) url: &'a Url,
    /// The access token.
    pub(in crate::auth) token: &'a str,
    pub(in crate::auth) algorithms: &'a [Algorithm],
    /// Unix timestamp in seconds.
    pub(in crate::auth) now: u64,
}

/// A valid proof. Whether its key is that of the token and whether it is a replay is checked later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::auth) struct Proof {
    /// The thumbprint of the key that signed it.
    pub(in crate::auth) key: String,
    /// Unique for this key.
    pub(in crate::auth) id: String,
    pub(in crate::auth) nonce: Option<String>,
    /// Unix timestamp in seconds, within [`MAX_SKEW`] of the server's clock.
    pub(in crate::auth) issued: u64,
}

/// Reads and checks the proof of a request.
pub(in crate::auth) fn read(headers: &HeaderMap, expected: &Expected<'_>) -> Result<Proof, &'static str> {
    let mut values = headers.get_all("dpop").iter();
    let value = values.next().ok_or("A bound token needs a proof in the DPoP header")?;
    if values.next().is_some() {
        return Err("There is more than one DPoP header");
    }
    verify(value.to_str().map_err(|_| "The DPoP proof is not ASCII")?, expected)
}

pub(super) fn verify(proof: &str, expected: &Expected<'_>) -> Result<Proof, &'static str> {
    let jws = Jws::parse(proof).map_err(|_| "The DPoP proof is not a signed JWT")?;
    if jws.header.typ.as_deref() != Some("dpop+jwt") {
        return Err("The DPoP proof is not of the type dpop+jwt");
    }
    let algorithm = jws
        .algorithm(expected.algorithms)
        .ok_or("The DPoP proof is signed with an algorithm that is not accepted here")?;
    let jwk = jws.header.jwk.as_ref().ok_or("The DPoP proof has no public key")?;
    if jwk::is_private(jwk) {
        return Err("The DPoP proof contains a private key");
    }
    let key = PublicKey::of_jwk(jwk).map_err(|_| "The DPoP proof uses an unsupported key")?;
    if !jws.is_signed_by(&key, algorithm) {
        return Err("The DPoP proof is not signed by its key");
    }
    let claims = &jws.claims;
    if text(claims, "htm") != Some(expected.method) {
        return Err("The DPoP proof is for another method");
    }
    let url = text(claims, "htu").and_then(|url| Url::parse(url).ok()).map(bare);
    if url.as_ref() != Some(expected.url) {
        return Err("The DPoP proof is for another URL");
    }
    #[allow(clippy::cast_precision_loss)]
    let just_now = |issued: &f64| (issued - expected.now as f64).abs() <= MAX_SKEW as f64;
    let issued = claims.get("iat").and_then(Value::as_f64).filter(just_now);
    let issued = issued.ok_or("The DPoP proof is not recent")?;
    if text(claims, "ath") != Some(jwk::sha256(expected.token.as_bytes()).as_str()) {
        return Err("The DPoP proof is for another access token");
    }
    let id = text(claims, "jti").filter(|id| !id.is_empty() && id.len() <= MAX_ID);
    Ok(Proof {
        key: jwk::thumbprint(jwk).ok_or("The DPoP proof uses an unsupported key")?,
        id: id.ok_or("The DPoP proof has no jti")?.to_owned(),
        nonce: text(claims, "nonce").map(str::to_owned),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        issued: issued as u64,
    })
}

fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    claims.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tests::Key;
    use serde_json::json;

    const NOW: u64 = 1_800_000_000;
    const URL: &str = "https://mcp.example/mcp";

    fn judged(proof: &str) -> Result<Proof, &'static str> {
        let url = Url::parse(URL).unwrap();
        let algorithms = [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256];
        verify(proof, &Expected { method: "POST", url: &url, token: "the-token", algorithms: &algorithms, now: NOW })
    }

    fn claims(changes: &Value) -> Value {
        let mut claims = json!({"jti": "1", "htm": "POST", "htu": URL, "iat": NOW,
            "ath": jwk::sha256(b"the-token")});
        claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        claims
    }

    fn header(key: &Key, changes: &Value) -> Value {
        let mut header = json!({"typ": "dpop+jwt", "alg": key.alg(), "jwk": key.public()});
        header.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        header
    }

    #[test]
    fn xau_58_a_good_proof_of_each_kind_of_key() {
        for key in [Key::es256(), Key::ed25519()] {
            let proof = judged(&key.sign(&header(&key, &json!({})), &claims(&json!({"nonce": "n"})))).unwrap();
            assert_eq!(proof.key, jwk::thumbprint(&key.public()).unwrap());
            assert_eq!((proof.id.as_str(), proof.nonce.as_deref()), ("1", Some("n")));
        }
    }

    #[test]
    fn xau_57_and_xau_59_and_xau_60_and_xau_61_each_claim_is_needed_and_compared() {
        let key = Key::es256();
        for changes in [
            json!({"jti": null}),
            json!({"jti": ""}),
            json!({"jti": "x".repeat(MAX_ID + 1)}),
            json!({"htm": null}),
            json!({"htm": "GET"}),
            json!({"htm": "post"}),
            json!({"htu": null}),
            json!({"htu": "https://mcp.example/other"}),
            json!({"htu": "https://evil.example/mcp"}),
            json!({"htu": "http://mcp.example/mcp"}),
            json!({"htu": "/mcp"}),
            json!({"iat": null}),
            json!({"iat": "now"}),
            json!({"iat": NOW - MAX_SKEW - 1}),
            json!({"iat": NOW + MAX_SKEW + 1}),
            json!({"ath": null}),
            json!({"ath": jwk::sha256(b"another-token")}),
        ] {
            assert!(judged(&key.sign(&header(&key, &json!({})), &claims(&changes))).is_err(), "{changes}");
        }
        for changes in [
            json!({"htu": "HTTPS://mcp.EXAMPLE:443/mcp?query#fragment"}),
            json!({"iat": NOW - MAX_SKEW}),
            json!({"iat": NOW + MAX_SKEW}),
            json!({"iat": NOW as f64 + 0.5}),
            // XAU-73: unknown claims are ignored.
            json!({"content_digest": "sha-256=:x:"}),
        ] {
            assert!(judged(&key.sign(&header(&key, &json!({})), &claims(&changes))).is_ok(), "{changes}");
        }
    }

    #[test]
    fn xau_58_headers_are_judged() {
        let key = Key::es256();
        let mut private = key.public();
        private["d"] = "AAAA".into();
        for changes in [
            json!({"typ": null}),
            json!({"typ": "JWT"}),
            json!({"alg": "none"}),
            json!({"alg": "HS256"}),
            json!({"alg": "ES384"}),
            json!({"jwk": null}),
            json!({"jwk": private}),
            json!({"jwk": {"kty": "oct", "k": "AAAA"}}),
            json!({"jwk": Key::es256().public()}),
            json!({"crit": ["exp"]}),
        ] {
            assert!(judged(&key.sign(&header(&key, &changes), &claims(&json!({})))).is_err(), "{changes}");
        }
        assert!(judged("nonsense").is_err());
    }

    #[test]
    fn xau_57_exactly_one_header() {
        let url = Url::parse(URL).unwrap();
        let key = Key::es256();
        let proof = key.sign(&header(&key, &json!({})), &claims(&json!({})));
        let algorithms = [Algorithm::Es256];
        let expected = Expected { method: "POST", url: &url, token: "the-token", algorithms: &algorithms, now: NOW };
        let mut headers = HeaderMap::new();
        assert!(read(&headers, &expected).is_err());
        headers.append("dpop", proof.parse().unwrap());
        assert!(read(&headers, &expected).is_ok());
        headers.append("dpop", proof.parse().unwrap());
        assert!(read(&headers, &expected).is_err());
    }
}
