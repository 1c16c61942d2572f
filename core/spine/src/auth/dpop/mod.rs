//! DPoP: tokens bound to a key of the client, with a proof in every request (RFC 9449 and the
//! specification's DPoP extension).

mod proof;
mod replay_protection;

pub(super) use proof::{Expected, Proof, read};
pub(super) use replay_protection::{DEFAULT_MAX_PROOFS, ProofUse, Replays, digest, end};

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// How long a nonce is issued, in seconds.
const ROTATION_INTERVAL: u64 = 60;
/// For how many intervals after that it is accepted. The new one is sent with every response long
/// before the old one expires (XAU-69).
const ACCEPTED_INTERVALS: u64 = 5;

/// Issues and checks server nonces (RFC 9449 section 9), which prevent proofs from being made in
/// advance. They are stateless: a nonce is a keyed digest of the minute in which it was issued.
#[derive(Debug)]
pub(in crate::auth) struct Nonces {
    key: hmac::Key,
}

impl Nonces {
    /// Servers that share a secret accept each other's nonces.
    pub(in crate::auth) fn new(secret: &[u8]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    /// The current nonce. `now` is a Unix timestamp in seconds.
    pub(in crate::auth) fn current(&self, now: u64) -> String {
        self.of(now / ROTATION_INTERVAL)
    }

    /// Returns whether a nonce is valid now.
    pub(in crate::auth) fn knows(&self, now: u64, nonce: &str) -> bool {
        let step = now / ROTATION_INTERVAL;
        // Allow one step ahead, for the clock of another server.
        (step.saturating_sub(ACCEPTED_INTERVALS)..=step + 1).any(|step| same(&self.of(step), nonce))
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
        assert!(nonces.knows(now + ROTATION_INTERVAL * ACCEPTED_INTERVALS, &nonce));
        assert!(!nonces.knows(now + ROTATION_INTERVAL * (ACCEPTED_INTERVALS + 1), &nonce));
        assert!(!nonces.knows(now - ROTATION_INTERVAL * 2, &nonce));
        assert!(!nonces.knows(now, ""));
        assert!(!nonces.knows(now, &other.current(now)));
        // The new nonce is issued while the old one is still valid.
        let next = nonces.current(now + ROTATION_INTERVAL);
        assert_ne!(next, nonce);
        assert!(nonces.knows(now + ROTATION_INTERVAL, &nonce) && nonces.knows(now + ROTATION_INTERVAL, &next));
        assert!(Nonces::new(&[1; 32]).knows(now, &nonce));
    }
}
