//! Sealed credentials: AES-256-GCM, with the cryptography of TLS.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const KEY_LENGTH: usize = 32;

/// The content of a file. Readers of plain credentials find none of their members in it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    /// The nonce and the sealed text, in base64url.
    sealed: String,
}

pub(super) fn is_sealed(text: &str) -> bool {
    serde_json::from_str::<Sealed>(text).is_ok()
}

/// A key that seals and opens credentials.
#[derive(Clone)]
pub(super) struct Key(Arc<RandomizedNonceKey>);

impl Key {
    pub(super) fn new(secret: &[u8]) -> Option<Self> {
        RandomizedNonceKey::new(&AES_256_GCM, secret).ok().map(|key| Self(Arc::new(key)))
    }

    /// Seals the credentials of this name: they open under no other one.
    pub(super) fn seal(&self, name: &str, text: &str) -> Option<String> {
        let mut bytes = text.as_bytes().to_vec();
        let nonce = self.0.seal_in_place_append_tag(Aad::from(name), &mut bytes).ok()?;
        let sealed = URL_SAFE_NO_PAD.encode([&nonce.as_ref()[..], &bytes].concat());
        serde_json::to_string(&Sealed { sealed }).ok()
    }

    /// The credentials, if they were sealed by this key for this name.
    pub(super) fn open(&self, name: &str, text: &str) -> Option<String> {
        let Sealed { sealed } = serde_json::from_str(text).ok()?;
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut opened = sealed.to_vec();
        let opened = self.0.open_in_place(Nonce::from(nonce), Aad::from(name), &mut opened).ok()?;
        String::from_utf8(opened.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_and_the_name_open_credentials() {
        let [key, other] = [[1; KEY_LENGTH], [2; KEY_LENGTH]].map(|secret| Key::new(&secret).unwrap());
        let sealed = key.seal("tokens a", r#"{"access_token":"t"}"#).unwrap();
        assert!(is_sealed(&sealed) && !sealed.contains("access_token"), "{sealed}");
        assert_eq!(key.open("tokens a", &sealed).as_deref(), Some(r#"{"access_token":"t"}"#));
        assert_eq!((key.open("tokens b", &sealed), other.open("tokens a", &sealed)), (None, None));
        assert_eq!(key.open("tokens a", &sealed.replace("\":\"", "\":\"A")), None);
        for plain in ["true", "", "{}", r#"{"sealed":1}"#, r#"{"access_token":"t","sealed":"x"}"#] {
            assert!(!is_sealed(plain), "{plain}");
        }
    }

    #[test]
    fn keys_have_one_length() {
        assert!(Key::new(b"short").is_none());
    }
}
