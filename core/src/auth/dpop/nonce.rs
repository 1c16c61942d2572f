//! Nonces of the server (RFC 9449 section 9): proofs cannot be made in advance. Without memory: a
//! nonce is a keyed digest of the minute in which it was made.

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Time that one nonce is given out, in seconds.
const STEP: u64 = 60;
/// For how many steps it is accepted: the new one is sent with every answer long before the old one
/// ends (XAU-69).
const STEPS: u64 = 5;

/// Makes and knows nonces.
#[derive(Debug)]
pub(in crate::auth) struct Nonces {
    key: hmac::Key,
}

impl Nonces {
    /// Servers that share a secret know each other's nonces.
    pub(in crate::auth) fn new(secret: &[u8]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    /// The nonce to use now (seconds since 1970).
    pub(in crate::auth) fn current(&self, now: u64) -> String {
        self.of(now / STEP)
    }

    /// Returns whether a nonce is good now.
    pub(in crate::auth) fn knows(&self, now: u64, nonce: &str) -> bool {
        let step = now / STEP;
        // One step ahead: another server's clock.
        (step.saturating_sub(STEPS)..=step + 1).any(|step| same(&self.of(step), nonce))
    }

    fn of(&self, step: u64) -> String {
        let digest = hmac::sign(&self.key, &step.to_be_bytes());
        URL_SAFE_NO_PAD.encode(&digest.as_ref()[..16])
    }
}

/// Compares in constant time.
fn same(one: &str, other: &str) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(one.as_bytes(), other.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xau_67_and_xau_69_nonces_live_for_some_minutes() {
        let (nonces, other) = (Nonces::new(&[1; 32]), Nonces::new(&[2; 32]));
        let now = 1_800_000_000;
        let nonce = nonces.current(now);
        assert!(nonce.len() >= 16);
        assert!(nonces.knows(now, &nonce));
        assert!(nonces.knows(now + STEP * STEPS, &nonce));
        assert!(!nonces.knows(now + STEP * (STEPS + 1), &nonce));
        assert!(!nonces.knows(now - STEP * 2, &nonce));
        assert!(!nonces.knows(now, ""));
        assert!(!nonces.knows(now, &other.current(now)));
        // The new one comes while the old one is still good.
        let next = nonces.current(now + STEP);
        assert_ne!(next, nonce);
        assert!(nonces.knows(now + STEP, &nonce) && nonces.knows(now + STEP, &next));
        assert!(Nonces::new(&[1; 32]).knows(now, &nonce));
    }
}
