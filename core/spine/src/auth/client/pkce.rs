//! Random values of an authorization: PKCE (RFC 7636) and `state`.

use crate::{auth::jwk::sha256, client_auth::AuthError, random};

/// 32 random bytes in base64url: 43 characters, as RFC 7636 section 4.1 recommends.
pub(super) fn random() -> Result<String, AuthError> {
    random::text::<32>().ok_or_else(|| AuthError("Could not get random bytes from the system".to_owned()))
}

/// The S256 challenge of a verifier (AUC-29).
pub(super) fn challenge(verifier: &str) -> String {
    sha256(verifier.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_28_and_auc_29_the_example_of_the_standard() {
        // RFC 7636 appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (random().unwrap(), random().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, other);
    }
}
