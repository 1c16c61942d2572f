//! Proofs that were used: none is good twice (XAU-70).

use super::proof::{Proof, WINDOW};
use aws_lc_rs::digest;
use std::collections::HashSet;

/// A proof cannot come again after this time, for then it is too old.
const GENERATION: u64 = 2 * WINDOW;
/// How many proofs each of the two generations remembers.
const MAX: usize = 100_000;

/// The proofs of the last minutes, as digests in two generations. If more come than there is room
/// for, the oldest are forgotten early, and only the age of a proof limits its reuse.
#[derive(Debug, Default)]
pub(in crate::auth) struct Replays {
    current: HashSet<[u8; 16]>,
    previous: HashSet<[u8; 16]>,
    since: u64,
}

impl Replays {
    /// Notes a proof. `false`: it was used before.
    pub(in crate::auth) fn note(&mut self, now: u64, proof: &Proof) -> bool {
        if now >= self.since + GENERATION || self.current.len() >= MAX {
            let recent = now < self.since + 2 * GENERATION;
            self.previous = std::mem::take(&mut self.current);
            if !recent {
                self.previous.clear();
            }
            self.since = now;
        }
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(proof.key.as_bytes());
        context.update(b".");
        context.update(proof.id.as_bytes());
        let mut short = [0; 16];
        short.copy_from_slice(&context.finish().as_ref()[..16]);
        !self.previous.contains(&short) && self.current.insert(short)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::proof::{Expected, verify},
        *,
    };
    use crate::auth::{Algorithm, jwk, tests::Key};
    use serde_json::json;
    use url::Url;

    fn proof(key: &str, id: &str) -> Proof {
        Proof { key: key.into(), id: id.into(), nonce: None }
    }

    #[test]
    fn xau_70_a_proof_is_good_once() {
        let mut replays = Replays::default();
        assert!(replays.note(1000, &proof("k", "1")));
        assert!(!replays.note(1000, &proof("k", "1")));
        assert!(replays.note(1000, &proof("k", "2")));
        assert!(replays.note(1000, &proof("l", "1")));
        // For as long as its date may be accepted.
        for now in [1001, 1000 + WINDOW, 1000 + GENERATION - 1, 1000 + GENERATION] {
            assert!(!replays.note(now, &proof("k", "1")), "{now}");
        }
        // After that its date refuses it.
        assert!(replays.note(1000 + 3 * GENERATION, &proof("k", "1")));
    }

    /// A server under so many proofs that it forgets: the `iat` window alone then limits how long
    /// one may be used again.
    #[test]
    fn xau_70_a_forgotten_proof_is_refused_by_its_age() {
        let key = Key::es256();
        let mut replays = Replays::default();
        let made = 1_800_000_000;
        let text = key.sign(
            &json!({"typ": "dpop+jwt", "alg": key.alg(), "jwk": key.public()}),
            &json!({"jti": "1", "htm": "POST", "htu": "https://mcp.example/mcp", "iat": made,
                "ath": jwk::sha256(b"the-token")}),
        );
        let url = Url::parse("https://mcp.example/mcp").unwrap();
        let accepts = |now: u64, replays: &mut Replays| {
            let expected =
                Expected { method: "POST", url: &url, token: "the-token", algorithms: &[Algorithm::Es256], now };
            verify(&text, &expected).is_ok_and(|proof| replays.note(now, &proof))
        };
        assert!(accepts(made, &mut replays));
        assert!(!accepts(made + 1, &mut replays));
        for id in 0..2 * MAX {
            replays.note(made + 2, &proof("other", &id.to_string()));
        }
        assert!(accepts(made + WINDOW, &mut replays), "it was not forgotten: this test shows nothing");
        let mut forgetful = Replays::default();
        assert!(!accepts(made + WINDOW + 1, &mut forgetful));
        assert!(!accepts(made - WINDOW - 1, &mut forgetful));
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut replays = Replays::default();
        for id in 0..(2 * MAX + MAX / 2) {
            assert!(replays.note(1000, &proof("k", &id.to_string())));
        }
        assert!(replays.current.len() + replays.previous.len() <= 2 * MAX);
        assert!(!replays.note(1000, &proof("k", &(2 * MAX).to_string())));
    }
}
