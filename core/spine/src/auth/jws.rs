//! Signed tokens in compact form (RFC 7515), as far as verification needs them.
//!
//! aws-lc-rs, which TLS already uses, verifies the signatures. Only public-key algorithms exist
//! here: `none` and shared secrets cannot even be named.

use super::{algorithm::Algorithm, jwk::PublicKey};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A parsed token. Nothing in it is trusted yet.
pub(super) struct Jws<'a> {
    pub(super) header: Header,
    pub(super) claims: Map<String, Value>,
    signed: &'a str,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    pub(super) typ: Option<String>,
    pub(super) kid: Option<String>,
    pub(super) jwk: Option<Value>,
    crit: Option<Value>,
}

impl<'a> Jws<'a> {
    /// Parses a token. The error does not quote from it.
    pub(super) fn parse(token: &'a str) -> Result<Self, &'static str> {
        let parts: Vec<&str> = token.splitn(4, '.').collect();
        let &[header, claims, signature] = parts.as_slice() else { return Err("is not a signed JWT") };
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| "is not encoded as a JWT");
        let signature = decode(signature)?;
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| "has an invalid JWT header")?;
        let claims = serde_json::from_slice(&decode(claims)?).map_err(|_| "contains no claims")?;
        if header.crit.is_some() {
            // RFC 7515 section 4.1.11: an unknown critical header field makes the token invalid.
            return Err("has unsupported critical header fields");
        }
        let signed = &token[..parts[0].len() + 1 + parts[1].len()];
        Ok(Self { header, claims, signed, signature })
    }

    /// The algorithm, if it is allowed.
    pub(super) fn algorithm(&self, allowed: &[Algorithm]) -> Option<Algorithm> {
        Algorithm::parse(&self.header.alg).filter(|algorithm| allowed.contains(algorithm))
    }

    /// Verifies the signature with this key and algorithm.
    pub(super) fn is_signed_by(&self, key: &PublicKey, algorithm: Algorithm) -> bool {
        key.verify(algorithm, self.signed.as_bytes(), &self.signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn algorithms_have_names_and_no_others() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::parse(algorithm.as_str()), Some(algorithm));
            assert!(algorithm.as_str().eq_ignore_ascii_case(&format!("{algorithm:?}")), "{algorithm:?}");
        }
        for name in ["none", "None", "HS256", "HS512", "es256", "", "A128KW"] {
            assert_eq!(Algorithm::parse(name), None, "{name}");
        }
    }

    /// RFC 7515 appendix A.3 (ES256) and A.2 (RS256), RFC 8037 appendix A.4 (EdDSA).
    #[test]
    fn signatures_of_the_standards_are_verified() {
        let key = json!({"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
        let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        verified(&key, token, Algorithm::Es256);
        let key = json!({"kty": "RSA", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"});
        let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
        verified(&key, token, Algorithm::Rs256);
    }

    fn verified(key: &Value, token: &str, algorithm: Algorithm) {
        let key = PublicKey::of_jwk(key).unwrap();
        let jws = Jws::parse(token).unwrap();
        assert_eq!(jws.algorithm(&Algorithm::ALL), Some(algorithm));
        assert_eq!(jws.algorithm(&[Algorithm::Ps512]), None);
        assert_eq!(jws.claims["iss"], "joe");
        assert!(jws.is_signed_by(&key, algorithm));
        for other in Algorithm::ALL.into_iter().filter(|other| *other != algorithm) {
            assert!(!jws.is_signed_by(&key, other), "{other:?}");
        }
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let other = signed.replacen(".eyJ", ".eyK", 1) + "." + signature;
        assert!(Jws::parse(&other).map_or(true, |jws| !jws.is_signed_by(&key, algorithm)));
        let cut = &token[..token.len() - 4];
        assert!(Jws::parse(cut).map_or(true, |jws| !jws.is_signed_by(&key, algorithm)));
    }

    #[test]
    fn what_is_no_token_is_refused_without_quoting_it() {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let of = |header: &str, claims: &str| format!("{}.{}.AA", encode(header), encode(claims));
        for token in [
            "",
            "opaque",
            "a.b",
            "a.b.c.d",
            "a.b.c.d.e",
            "....",
            &of("{}", "{}"),
            &of(r#"{"alg":7}"#, "{}"),
            &of(r#"{"alg":"ES256"}"#, "[]"),
            &of(r#"{"alg":"ES256"}"#, "secret"),
            &of(r#"{"alg":"ES256","alg":"none"}"#, "{}"),
            &of(r#"{"alg":"ES256","crit":["b64"],"b64":false}"#, "{}"),
            &(of(r#"{"alg":"ES256"}"#, "{}") + "="),
        ] {
            let error = Jws::parse(token).err().unwrap_or_else(|| panic!("{token}"));
            assert!(!error.contains("secret"));
        }
        assert!(Jws::parse(&of(r#"{"alg":"ES256","b64":true}"#, "{}")).is_ok());
    }
}
