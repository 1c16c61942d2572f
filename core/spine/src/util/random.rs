//! Unguessable ids (SEC-03, TSK-33).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

/// 128 random bits as a string.
pub fn unguessable() -> Option<String> {
    bytes::<16>().map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
}

/// Random bytes. Returns `None` if the system has none: failing a call and logging it is better
/// than a guessable secret.
pub fn bytes<const LENGTH: usize>() -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Some(bytes),
        Err(error) => {
            tracing::error!(target: "trunkline::random", %error, "could not get random bytes from the system");
            None
        }
    }
}
