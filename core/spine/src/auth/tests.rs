//! Keys and tokens for tests.

use super::{
    Scheme,
    verification::{PresentingRequest, ProtectedRequest},
};
use crate::{
    runtime::{BoxedTask, Runtime},
    wire_log::WireLog,
};
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::{sync::Arc, time::Instant};

/// A signing key.
pub(super) enum Key {
    Es256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Key {
    pub(super) fn es256() -> Self {
        Self::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(super) fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().unwrap())
    }

    pub(super) fn alg(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    pub(super) fn public(&self) -> Value {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Es256(key) => {
                let point = key.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..])})
            }
            Self::Ed25519(key) => json!({"kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key().as_ref())}),
        }
    }

    /// The public key as a member of a key set.
    pub(super) fn listed(&self, id: &str) -> Value {
        let mut jwk = self.public();
        jwk["kid"] = id.into();
        jwk
    }

    pub(super) fn sign(&self, header: &Value, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = match self {
            Self::Es256(key) => key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Runs tasks on the test's runtime, whose clock may be paused.
pub(super) struct TestRuntime;

impl Runtime for TestRuntime {
    fn spawn(&self, task: BoxedTask) {
        tokio::spawn(task);
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, at: Instant) -> BoxedTask {
        Box::pin(tokio::time::sleep_until(at.into()))
    }

    fn wire_log(&self) -> Option<&dyn WireLog> {
        None
    }
}

/// A request that presents a token.
pub(super) fn request(token: &str, resource: &str, now: u64) -> ProtectedRequest {
    ProtectedRequest {
        token: token.into(),
        scheme: Scheme::Bearer,
        url: resource.into(),
        resource: resource.into(),
        head: PresentingRequest { parts: Arc::new(http::Request::new(()).into_parts().0), remote_address: None },
        now,
        runtime: Arc::new(TestRuntime),
    }
}
