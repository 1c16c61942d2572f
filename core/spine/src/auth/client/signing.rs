//! JWTs signed by a client: assertions (RFC 7523) and proofs of possession (RFC 9449).

use crate::{auth::Algorithm, client_auth::AuthError};
use aws_lc_rs::{
    rand::SystemRandom,
    rsa,
    signature::{
        self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
        EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    },
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};
use std::fmt;

/// A private signing key.
pub struct SigningKey {
    algorithm: Algorithm,
    id: Option<String>,
    material: SigningMaterial,
}

enum SigningMaterial {
    Ec(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(rsa::KeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.algorithm.as_str())
    }
}

impl SigningKey {
    /// Reads a private key in PKCS #8, as PEM (`-----BEGIN PRIVATE KEY-----`). Its id is for
    /// authorization servers that know several keys.
    ///
    /// # Errors
    /// If the PEM is invalid, or the key is not for that algorithm.
    pub fn from_pem(pem: &str, algorithm: Algorithm, id: Option<String>) -> Result<Self, AuthError> {
        const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
        const END: &str = "-----END PRIVATE KEY-----";
        let body = pem.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(body, _)| body);
        let body: Option<String> = body.map(|body| body.split_whitespace().collect());
        let der = body.and_then(|body| STANDARD.decode(body).ok()).ok_or_else(|| {
            AuthError(
                "The private key is not PKCS #8 in PEM: it must begin with -----BEGIN PRIVATE KEY-----".to_owned(),
            )
        })?;
        Ok(Self { id, ..Self::from_pkcs8(&der, algorithm)? })
    }

    /// Generates a key for ES256.
    pub(super) fn generate() -> Result<Self, AuthError> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .map_err(|_| AuthError("Could not generate a key".to_owned()))?;
        Ok(Self { algorithm: Algorithm::Es256, id: None, material: SigningMaterial::Ec(pair) })
    }

    pub(super) fn from_pkcs8(der: &[u8], algorithm: Algorithm) -> Result<Self, AuthError> {
        let bad = |reason: &dyn fmt::Display| {
            AuthError(format!("The private key is not a key for {}: {reason}", algorithm.as_str()))
        };
        let ec = |curve| EcdsaKeyPair::from_pkcs8(curve, der).map(SigningMaterial::Ec).map_err(|error| bad(&error));
        let material = match algorithm {
            Algorithm::Es256 => ec(&ECDSA_P256_SHA256_FIXED_SIGNING)?,
            Algorithm::Es384 => ec(&ECDSA_P384_SHA384_FIXED_SIGNING)?,
            Algorithm::Es512 => ec(&ECDSA_P521_SHA512_FIXED_SIGNING)?,
            Algorithm::EdDsa => SigningMaterial::Ed25519(Ed25519KeyPair::from_pkcs8(der).map_err(|error| bad(&error))?),
            _ => SigningMaterial::Rsa(rsa::KeyPair::from_pkcs8(der).map_err(|error| bad(&error))?),
        };
        Ok(Self { algorithm, id: None, material })
    }

    /// The private key of [`SigningKey::generate`], for storing it.
    pub(super) fn to_pkcs8(&self) -> Option<Vec<u8>> {
        let SigningMaterial::Ec(pair) = &self.material else { return None };
        Some(pair.to_pkcs8v1().ok()?.as_ref().to_vec())
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The JWK of the public key of a P-256 key.
    pub(super) fn public_jwk(&self) -> Option<Value> {
        let SigningMaterial::Ec(pair) = &self.material else { return None };
        let point = pair.public_key().as_ref();
        let (x, y) = point.get(1..)?.split_at_checked(32)?;
        let encode = |bytes| URL_SAFE_NO_PAD.encode(bytes);
        Some(json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)}))
    }

    /// Signs a JWT in compact form. Adds `alg` and `kid` to `header`.
    pub(super) fn sign(&self, mut header: Value, claims: &Value) -> Result<String, AuthError> {
        header["alg"] = self.algorithm.as_str().into();
        if let Some(id) = &self.id {
            header["kid"] = id.as_str().into();
        }
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.signature(text.as_bytes()).ok_or_else(|| AuthError("Signing failed".to_owned()))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn signature(&self, text: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &self.material {
            SigningMaterial::Ec(pair) => Some(pair.sign(&random, text).ok()?.as_ref().to_vec()),
            SigningMaterial::Ed25519(pair) => Some(pair.sign(text).as_ref().to_vec()),
            SigningMaterial::Rsa(pair) => {
                let padding: &'static dyn signature::RsaEncoding = match self.algorithm {
                    Algorithm::Rs256 => &signature::RSA_PKCS1_SHA256,
                    Algorithm::Rs384 => &signature::RSA_PKCS1_SHA384,
                    Algorithm::Rs512 => &signature::RSA_PKCS1_SHA512,
                    Algorithm::Ps256 => &signature::RSA_PSS_SHA256,
                    Algorithm::Ps384 => &signature::RSA_PSS_SHA384,
                    Algorithm::Ps512 => &signature::RSA_PSS_SHA512,
                    _ => return None,
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &random, text, &mut signature).ok()?;
                Some(signature)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{jwk::PublicKey, jws::Jws};

    #[test]
    fn a_key_is_kept_and_read_again() {
        let key = SigningKey::generate().unwrap();
        let der = key.to_pkcs8().unwrap();
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(&der));
        let again = SigningKey::from_pem(&pem, Algorithm::Es256, Some("k".to_owned())).unwrap();
        let token = again.sign(json!({"typ": "JWT"}), &json!({"a": 1})).unwrap();
        let jws = Jws::parse(&token).unwrap();
        assert_eq!(jws.header.kid.as_deref(), Some("k"));
        let public = PublicKey::of_jwk(&key.public_jwk().unwrap()).unwrap();
        assert!(jws.is_signed_by(&public, Algorithm::Es256));
        for (pem, algorithm) in [
            (pem.as_str(), Algorithm::Rs256),
            (&pem, Algorithm::Es384),
            (&pem, Algorithm::EdDsa),
            ("x", Algorithm::Es256),
        ] {
            let error = SigningKey::from_pem(pem, algorithm, None).unwrap_err();
            assert!(error.0.starts_with("The private key is not "), "{error}");
        }
    }
}
