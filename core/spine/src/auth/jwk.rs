//! JSON Web Keys and key sets (RFC 7517, RFC 7518 section 6, RFC 8037).

use super::Algorithm;
use aws_lc_rs::{
    digest,
    signature::{self, EcdsaVerificationAlgorithm, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;

/// Larger sets are refused.
const MAX_KEYS: usize = 256;
/// Members that only private or symmetric keys have (RFC 7518 sections 6.2.2, 6.3.2, 6.4.1).
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A key that verifies signatures.
#[derive(Debug, Clone)]
pub(super) struct PublicKey {
    id: Option<String>,
    /// The only algorithm that it may be used with, if it has `alg`.
    only: Option<String>,
    material: KeyMaterial,
}

#[derive(Debug, Clone)]
enum KeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// Each curve has one algorithm.
    Ec {
        algorithm: Algorithm,
        verification: &'static EcdsaVerificationAlgorithm,
        point: Vec<u8>,
    },
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// Parses a key. The error says what is wrong with it.
    pub(super) fn of_jwk(jwk: &Value) -> Result<Self, &'static str> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let bytes =
            |name: &str| text(name).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok()).filter(|it| !it.is_empty());
        let missing = "lacks a member that its type requires";
        let material = match (text("kty"), text("crv")) {
            (Some("RSA"), _) => KeyMaterial::Rsa { n: bytes("n").ok_or(missing)?, e: bytes("e").ok_or(missing)? },
            (Some("EC"), Some(curve)) => {
                let (algorithm, verification, size) = match curve {
                    "P-256" => (Algorithm::Es256, &signature::ECDSA_P256_SHA256_FIXED, 32),
                    "P-384" => (Algorithm::Es384, &signature::ECDSA_P384_SHA384_FIXED, 48),
                    "P-521" => (Algorithm::Es512, &signature::ECDSA_P521_SHA512_FIXED, 66),
                    _ => return Err("uses an unsupported curve"),
                };
                let coordinate = |name| bytes(name).filter(|bytes| bytes.len() == size).ok_or(missing);
                let point = [vec![0x04], coordinate("x")?, coordinate("y")?].concat();
                KeyMaterial::Ec { algorithm, verification, point }
            }
            (Some("OKP"), Some("Ed25519")) => {
                KeyMaterial::Ed25519(bytes("x").filter(|bytes| bytes.len() == 32).ok_or(missing)?)
            }
            _ => return Err("has an unsupported type"),
        };
        Ok(Self { id: text("kid").map(str::to_owned), only: text("alg").map(str::to_owned), material })
    }

    /// Returns whether the key can verify this algorithm.
    fn suits(&self, algorithm: Algorithm) -> bool {
        let fits = match &self.material {
            KeyMaterial::Rsa { .. } => rsa(algorithm).is_some(),
            KeyMaterial::Ec { algorithm: own, .. } => *own == algorithm,
            KeyMaterial::Ed25519(_) => algorithm == Algorithm::EdDsa,
        };
        fits && self.only.as_deref().is_none_or(|only| Algorithm::parse(only) == Some(algorithm))
    }

    /// Verifies a signature.
    pub(super) fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if !self.suits(algorithm) {
            return false;
        }
        let verified = match &self.material {
            KeyMaterial::Rsa { n, e } => match rsa(algorithm) {
                Some(parameters) => RsaPublicKeyComponents { n, e }.verify(parameters, message, signature),
                None => return false,
            },
            KeyMaterial::Ec { verification, point, .. } => {
                UnparsedPublicKey::new(*verification, point).verify(message, signature)
            }
            KeyMaterial::Ed25519(key) => UnparsedPublicKey::new(&signature::ED25519, key).verify(message, signature),
        };
        verified.is_ok()
    }
}

fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

/// Returns whether a JWK contains private or symmetric key material.
pub(super) fn is_private(jwk: &Value) -> bool {
    PRIVATE_MEMBERS.iter().any(|name| jwk.get(name).is_some())
}

/// The SHA-256 thumbprint (RFC 7638) of a JWK that [`PublicKey::of_jwk`] has accepted.
pub(super) fn thumbprint(jwk: &Value) -> Option<String> {
    let names: &[&str] = match jwk.get("kty")?.as_str()? {
        "RSA" => &["e", "kty", "n"],
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        _ => return None,
    };
    let members: Option<Vec<String>> =
        names.iter().map(|name| Some(format!(r#""{name}":{}"#, jwk.get(name).filter(|it| it.is_string())?))).collect();
    Some(sha256(format!("{{{}}}", members?.join(",")).as_bytes()))
}

/// SHA-256, in base64url.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, bytes))
}

/// The keys of one issuer.
#[derive(Debug, Clone, Default)]
pub(super) struct KeySet(Vec<PublicKey>);

impl KeySet {
    /// Parses a key set. Skips unknown kinds of keys, and keys that are not for verifying
    /// signatures.
    pub(super) fn of_json(set: &Value) -> Result<Self, &'static str> {
        let keys = set.get("keys").and_then(Value::as_array).ok_or("is not a JWK set: it has no array `keys`")?;
        let verifies = |jwk: &&Value| {
            let used = jwk.get("use").is_none_or(|usage| usage == "sig");
            let operations = jwk.get("key_ops").and_then(Value::as_array);
            used && operations.is_none_or(|operations| operations.iter().any(|operation| operation == "verify"))
        };
        let keys: Vec<_> =
            keys.iter().take(MAX_KEYS).filter(verifies).filter_map(|jwk| PublicKey::of_jwk(jwk).ok()).collect();
        if keys.is_empty() { Err("contains no public key for signatures") } else { Ok(Self(keys)) }
    }

    /// The keys that may have signed a token with this key id and algorithm. A key that is alone in
    /// its set needs no id (RFC 7517 section 4.5).
    pub(super) fn candidates(&self, id: Option<&str>, algorithm: Algorithm) -> impl Iterator<Item = &PublicKey> {
        let only = self.0.len() == 1;
        let named = move |key: &PublicKey| id.is_none() || key.id.as_deref() == id || (only && key.id.is_none());
        self.0.iter().filter(move |key| named(key) && key.suits(algorithm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_thumbprint_of_the_standard() {
        // RFC 7638 section 3.1.
        let jwk = json!({"kty": "RSA", "alg": "RS256", "kid": "2011-04-29", "e": "AQAB", "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"});
        assert_eq!(thumbprint(&jwk).unwrap(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
        // RFC 8037 appendix A.3.
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        assert_eq!(thumbprint(&jwk).unwrap(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn only_keys_for_signatures_count() {
        let ed = |more: Value| {
            let mut jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
            jwk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            jwk
        };
        let count = |keys: Value| {
            KeySet::of_json(&json!({"keys": keys})).map_or(0, |set| set.candidates(None, Algorithm::EdDsa).count())
        };
        assert_eq!(count(json!([ed(json!({})), ed(json!({"use": "sig", "kid": "a"}))])), 2);
        assert_eq!(count(json!([ed(json!({"key_ops": ["verify"]}))])), 1);
        assert_eq!(count(vec![ed(json!({})); MAX_KEYS + 1].into()), MAX_KEYS);
        for jwk in [
            ed(json!({"use": "enc"})),
            ed(json!({"key_ops": ["sign"]})),
            ed(json!({"alg": "ES256"})),
            ed(json!({"x": "AA"})),
            ed(json!({"crv": "Ed448"})),
            json!({"kty": "oct", "k": "AAAA"}),
            json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}),
            json!({"kty": "RSA", "n": "AA"}),
            json!("text"),
        ] {
            assert_eq!(count(json!([jwk])), 0, "{jwk}");
        }
        assert!(KeySet::of_json(&json!([])).is_err());
    }

    #[test]
    fn keys_are_found_by_id() {
        let jwk = |id: &str| json!({"kid": id, "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let set = KeySet::of_json(&json!({"keys": [jwk("a"), jwk("b")]})).unwrap();
        assert_eq!(set.candidates(Some("b"), Algorithm::EdDsa).count(), 1);
        assert_eq!(set.candidates(Some("c"), Algorithm::EdDsa).count(), 0);
        assert_eq!(set.candidates(None, Algorithm::EdDsa).count(), 2);
        assert_eq!(set.candidates(None, Algorithm::Es256).count(), 0);
        let nameless = || json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let set = |keys: Value| KeySet::of_json(&json!({"keys": keys})).unwrap();
        assert_eq!(set(json!([nameless()])).candidates(Some("a"), Algorithm::EdDsa).count(), 1);
        assert_eq!(set(json!([nameless(), jwk("b")])).candidates(Some("a"), Algorithm::EdDsa).count(), 0);
        assert_eq!(set(json!([jwk("b")])).candidates(Some("a"), Algorithm::EdDsa).count(), 0);
    }
}
