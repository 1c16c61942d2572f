//! Unguessable ids (SEC-03, TSK-33).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

/// 128 random bits as a string.
pub fn unguessable() -> Option<String> {
    text::<16>()
}

/// Random bytes in base64url. The first character is never `-`: people pass ids and tokens to
/// programs, which would read a flag.
pub fn text<const LENGTH: usize>() -> Option<String> {
    loop {
        let text = URL_SAFE_NO_PAD.encode(bytes::<LENGTH>()?);
        if !text.starts_with('-') {
            return Some(text);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// One of 64 began with a dash, and `trunkline task get` took it for a flag.
    #[test]
    fn no_id_looks_like_a_flag() {
        assert!((0..2000).all(|_| !unguessable().unwrap().starts_with('-') && !text::<32>().unwrap().starts_with('-')));
    }
}
