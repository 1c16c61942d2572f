//! Access tokens and proofs, signed with keys created once per process.

use aws_lc_rs::{
    digest,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline::{
    HttpOptions,
    auth::{Authorization, AuthorizationOptions, DpopPolicy, JwtOptions},
};

const ISSUER: &str = "https://auth.example";
const RESOURCE: &str = "https://mcp.example/mcp";

pub struct Keys {
    issuer: EcdsaKeyPair,
    client: EcdsaKeyPair,
}

impl Keys {
    pub fn new() -> Self {
        let key = || EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("no key");
        Self { issuer: key(), client: key() }
    }

    /// The options of an endpoint that accepts the tokens.
    pub fn options(&self) -> HttpOptions {
        let mut key = jwk(&self.issuer);
        key["kid"] = "k1".into();
        let jwt = JwtOptions::new(ISSUER).with_jwks(json!({"keys": [key]}));
        let options =
            AuthorizationOptions::new(RESOURCE).with_authorization_servers([ISSUER]).with_dpop(DpopPolicy::Optional);
        HttpOptions::default().with_auth(Authorization::jwt(options, jwt).expect("invalid options"))
    }

    /// A bearer token.
    pub fn token(&self) -> String {
        self.signed_token(json!({}))
    }

    /// A token bound to the client's key, and a proof with this id.
    pub fn bound(&self, id: &str) -> (String, String) {
        let key = jwk(&self.client);
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, key["x"], key["y"]);
        let token = self.signed_token(json!({"cnf": {"jkt": hash(&text)}}));
        let claims = json!({"jti": id, "htm": "POST", "htu": RESOURCE, "iat": now(), "ath": hash(&token)});
        let proof = sign(&self.client, &json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": key}), &claims);
        (token, proof)
    }

    fn signed_token(&self, more: Value) -> String {
        let mut claims = json!({"iss": ISSUER, "sub": "alice", "aud": RESOURCE, "exp": now() + 3600, "iat": now()});
        for (name, value) in more.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        sign(&self.issuer, &json!({"alg": "ES256", "typ": "at+jwt", "kid": "k1"}), &claims)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn hash(text: &str) -> String {
    encode(digest::digest(&digest::SHA256, text.as_bytes()))
}

fn jwk(key: &EcdsaKeyPair) -> Value {
    let point = key.public_key().as_ref();
    json!({"kty": "EC", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..])})
}

fn sign(key: &EcdsaKeyPair, header: &Value, claims: &Value) -> String {
    let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
    let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).expect("no signature");
    format!("{signed}.{}", encode(signature))
}
