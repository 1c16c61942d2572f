//! AES-256-GCM for `requestState`, in pure Rust: building a stdio server needs no C compiler.

#[cfg(not(feature = "request-state"))]
pub(super) use off::Cipher;
#[cfg(feature = "request-state")]
pub(super) use on::Cipher;

#[cfg(feature = "request-state")]
mod on {
    use crate::random;
    use aes_gcm::{
        Aes256Gcm, KeyInit,
        aead::{Aead, Payload},
    };

    /// A nonce precedes the sealed text.
    const NONCE_LENGTH: usize = 12;

    /// A key that seals and opens states.
    pub(in crate::server::request::request_state) struct Cipher(Aes256Gcm);

    impl Cipher {
        pub(in crate::server::request::request_state) fn new(key: &[u8; 32]) -> Option<Self> {
            Aes256Gcm::new_from_slice(key).ok().map(Self)
        }

        /// The nonce and the sealed text. `None` if the system cannot provide random bytes.
        pub(in crate::server::request::request_state) fn seal(&self, head: &[u8], text: &[u8]) -> Option<Vec<u8>> {
            let nonce = random::bytes::<NONCE_LENGTH>()?;
            let sealed = self.0.encrypt(&nonce.into(), Payload { msg: text, aad: head }).ok()?;
            Some([&nonce[..], &sealed].concat())
        }

        /// The text, if it was sealed by this key with this head.
        pub(in crate::server::request::request_state) fn open(&self, head: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
            let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LENGTH>()?;
            self.0.decrypt(&(*nonce).into(), Payload { msg: sealed, aad: head }).ok()
        }
    }
}

#[cfg(not(feature = "request-state"))]
mod off {
    /// No key, because the feature `request-state` is off: nothing can be sealed or opened.
    pub(in crate::server::request::request_state) enum Cipher {}

    impl Cipher {
        pub(in crate::server::request::request_state) fn new(_: &[u8; 32]) -> Option<Self> {
            None
        }

        pub(in crate::server::request::request_state) fn seal(&self, _: &[u8], _: &[u8]) -> Option<Vec<u8>> {
            match *self {}
        }

        pub(in crate::server::request::request_state) fn open(&self, _: &[u8], _: &[u8]) -> Option<Vec<u8>> {
            match *self {}
        }
    }
}
