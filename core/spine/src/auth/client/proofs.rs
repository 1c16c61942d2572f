//! DPoP proofs of a client (RFC 9449).

use super::{pkce, signing::SigningKey};
use crate::{
    auth::{Algorithm, jwk, jws::Jws},
    client_auth::AuthError,
    sync::Mutex,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use std::{collections::HashMap, sync::Arc};

/// Maximum number of servers whose nonces are stored: one MCP server and its authorization servers.
const MAX_NONCES: usize = 16;

/// The key of one server's tokens, and the nonces of all servers that require proofs (XAU-52,
/// XAU-54).
pub(super) struct Proofs {
    key: SigningKey,
    /// By origin.
    nonces: Mutex<HashMap<String, String>>,
}

impl Proofs {
    pub(super) fn new() -> Result<Self, AuthError> {
        Ok(Self { key: SigningKey::generate()?, nonces: Mutex::default() })
    }

    /// The proofs in use, with their nonces, if they have this key from [`Self::kept`]; otherwise
    /// new ones with it.
    pub(super) fn of_key(key: &str, in_use: Option<&Arc<Self>>) -> Result<Arc<Self>, AuthError> {
        match in_use {
            Some(proofs) if proofs.kept().as_deref() == Some(key) => Ok(Arc::clone(proofs)),
            _ => Self::of_kept(key).map(Arc::new),
        }
    }

    /// Restores the key from [`Self::kept`].
    fn of_kept(key: &str) -> Result<Self, AuthError> {
        let der = STANDARD.decode(key).map_err(|_| AuthError("The key in the token store is malformed".to_owned()))?;
        Ok(Self { key: SigningKey::from_pkcs8(&der, Algorithm::Es256)?, nonces: Mutex::default() })
    }

    /// The key in the form that the store holds.
    pub(super) fn kept(&self) -> Option<String> {
        self.key.to_pkcs8().map(|der| STANDARD.encode(der))
    }

    /// The thumbprint of the key, for the authorization request (XAU-55).
    pub(super) fn thumbprint(&self) -> Option<String> {
        jwk::thumbprint(&self.key.public_jwk()?)
    }

    /// Stores a nonce from the server at this URL.
    pub(super) fn keep_nonce(&self, url: &str, nonce: &str) {
        let mut nonces = self.nonces.lock();
        if nonces.len() < MAX_NONCES || nonces.contains_key(origin(url)) {
            nonces.insert(origin(url).to_owned(), nonce.to_owned());
        }
    }

    /// Returns whether a new proof would have a different nonce.
    pub(super) fn has_other_nonce(&self, url: &str, proof: &str) -> bool {
        let nonce = self.nonces.lock().get(origin(url)).cloned();
        nonce.is_some() && nonce != nonce_of(proof)
    }

    /// Creates a proof for a request (XAU-42 to XAU-47). `token` is the access token sent with it.
    pub(super) fn proof(&self, method: &str, url: &str, token: Option<&str>, now: u64) -> Result<String, AuthError> {
        let target = url.split(['?', '#']).next().unwrap_or(url);
        let mut claims = json!({"jti": pkce::random()?, "htm": method, "htu": target, "iat": now});
        if let Some(token) = token {
            claims["ath"] = jwk::sha256(token.as_bytes()).into();
        }
        if let Some(nonce) = self.nonces.lock().get(origin(url)) {
            claims["nonce"] = nonce.as_str().into();
        }
        self.key.sign(json!({"typ": "dpop+jwt", "jwk": self.key.public_jwk()}), &claims)
    }
}

fn origin(url: &str) -> &str {
    super::auth_network::split(url).map_or(url, |(origin, _)| origin)
}

fn nonce_of(proof: &str) -> Option<String> {
    Jws::parse(proof).ok()?.claims.get("nonce")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xau_42_to_47_a_proof_has_its_claims() {
        let proofs = Proofs::new().unwrap();
        let url = "https://mcp.example/mcp?x=1#y";
        let (one, other) =
            (proofs.proof("POST", url, Some("t"), 7).unwrap(), proofs.proof("POST", url, None, 7).unwrap());
        let (one, other) = (Jws::parse(&one).unwrap(), Jws::parse(&other).unwrap());
        assert_eq!(one.header.typ.as_deref(), Some("dpop+jwt"));
        assert_eq!(one.header.alg, "ES256");
        let jwk = one.header.jwk.as_ref().unwrap();
        assert!(!jwk::is_private(jwk));
        assert_eq!(jwk::thumbprint(jwk), proofs.thumbprint());
        assert_eq!(
            (&one.claims["htm"], &one.claims["htu"], &one.claims["iat"]),
            (&json!("POST"), &json!("https://mcp.example/mcp"), &json!(7))
        );
        assert_eq!(one.claims["ath"], jwk::sha256(b"t"));
        assert!(!other.claims.contains_key("ath") && !other.claims.contains_key("nonce"));
        assert_ne!(one.claims["jti"], other.claims["jti"]);
    }

    #[test]
    fn xau_52_nonces_are_kept_for_each_server() {
        let proofs = Proofs::of_kept(&Proofs::new().unwrap().kept().unwrap()).unwrap();
        let url = "https://mcp.example/mcp";
        let before = proofs.proof("POST", url, None, 7).unwrap();
        assert!(!proofs.has_other_nonce(url, &before));
        proofs.keep_nonce("https://mcp.example/other", "n1");
        proofs.keep_nonce("https://auth.example", "n2");
        assert!(proofs.has_other_nonce(url, &before));
        let after = proofs.proof("POST", url, None, 7).unwrap();
        assert_eq!(nonce_of(&after).as_deref(), Some("n1"));
        assert!(!proofs.has_other_nonce(url, &after));
    }
}
