//! Replay protection: a proof is accepted only once (XAU-70).

use super::proof::{MAX_SKEW, Proof};
use aws_lc_rs::digest as hash;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::collections::{BTreeMap, HashMap, HashSet};

/// They take about 10 MiB.
pub(in crate::auth) const DEFAULT_MAX_PROOFS: usize = 500_000;
/// A single key may use one fifth of the capacity.
const KEY_SHARES: usize = 5;
/// Proofs expire in groups, one for each period of this many seconds.
const MINUTE: u64 = 60;

type Digest = [u8; 16];

/// Digests of all proofs that are recent enough to be replayed. If there is no room for another,
/// the proof is refused: if old ones were evicted instead, anyone with a bound token could make
/// another client's captured proof valid again.
#[derive(Debug)]
pub(in crate::auth) struct Replays {
    /// By the minute in which they expire. A proof contains its timestamp, so only one minute has
    /// to be searched.
    minutes: BTreeMap<u64, Minute>,
    /// The latest minute whose proofs were dropped. If the clock were set back, they would be valid
    /// again.
    forgotten: Option<u64>,
    count: usize,
    max: usize,
}

#[derive(Debug, Default)]
struct Minute {
    seen: HashSet<Digest>,
    of_key: HashMap<Digest, usize>,
}

/// The result of checking a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::auth) enum ProofUse {
    First,
    Again,
    /// Unknown, because the memory is full.
    NoRoom,
}

impl Replays {
    /// Remembers at most `max` proofs, and at most a fifth of them for a single key.
    pub(in crate::auth) fn new(max: usize) -> Self {
        Self { minutes: BTreeMap::new(), forgotten: None, count: 0, max }
    }

    /// Records a proof. `now` is a Unix timestamp in seconds.
    pub(in crate::auth) fn note(&mut self, now: u64, proof: &Proof) -> ProofUse {
        self.forget_old(now);
        let minute = proof.issued.saturating_add(MAX_SKEW) / MINUTE;
        if self.forgotten.is_some_and(|forgotten| minute <= forgotten) {
            return ProofUse::NoRoom;
        }
        let key = short(&[proof.key.as_bytes()]);
        let digest = digest_of(proof);
        if self.minutes.get(&minute).is_some_and(|minute| minute.seen.contains(&digest)) {
            return ProofUse::Again;
        }
        let of_key: usize = self.minutes.values().filter_map(|minute| minute.of_key.get(&key)).sum();
        if self.count >= self.max || of_key >= self.max.div_ceil(KEY_SHARES) {
            return ProofUse::NoRoom;
        }
        self.count += 1;
        let minute = self.minutes.entry(minute).or_default();
        minute.seen.insert(digest);
        *minute.of_key.entry(key).or_default() += 1;
        ProofUse::First
    }

    /// Drops proofs that are too old to be accepted anyway.
    fn forget_old(&mut self, now: u64) {
        while let Some(oldest) = self.minutes.first_entry().filter(|oldest| (oldest.key() + 1) * MINUTE <= now) {
            self.forgotten = self.forgotten.max(Some(*oldest.key()));
            self.count -= oldest.remove().seen.len();
        }
    }
}

/// A unique name of a proof.
pub(in crate::auth) fn digest(proof: &Proof) -> String {
    URL_SAFE_NO_PAD.encode(digest_of(proof))
}

/// When a proof becomes too old to be accepted, as a Unix timestamp in seconds.
pub(in crate::auth) fn end(proof: &Proof) -> u64 {
    (proof.issued.saturating_add(MAX_SKEW) / MINUTE).saturating_add(1).saturating_mul(MINUTE)
}

fn digest_of(proof: &Proof) -> Digest {
    short(&[proof.key.as_bytes(), b".", proof.id.as_bytes()])
}

fn short(parts: &[&[u8]]) -> Digest {
    let mut context = hash::Context::new(&hash::SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut short = Digest::default();
    short.copy_from_slice(&context.finish().as_ref()[..size_of::<Digest>()]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn proof(key: &str, id: &str, issued: u64) -> Proof {
        Proof { key: key.into(), id: id.into(), nonce: None, issued }
    }

    #[test]
    fn xau_70_a_proof_is_good_once() {
        let mut replays = Replays::new(DEFAULT_MAX_PROOFS);
        assert_eq!(replays.note(NOW, &proof("k", "1", NOW)), ProofUse::First);
        assert_eq!(replays.note(NOW, &proof("k", "1", NOW)), ProofUse::Again);
        assert_eq!(replays.note(NOW, &proof("k", "2", NOW)), ProofUse::First);
        assert_eq!(replays.note(NOW, &proof("l", "1", NOW)), ProofUse::First);
        // As long as its timestamp would be accepted.
        for now in [NOW + 1, NOW + MAX_SKEW - 1, NOW + MAX_SKEW] {
            assert_eq!(replays.note(now, &proof("k", "1", NOW)), ProofUse::Again, "{now}");
        }
        // A proof of a client whose clock is ahead is accepted for longer.
        let ahead = proof("k", "ahead", NOW + MAX_SKEW);
        for (now, expected) in
            [(NOW, ProofUse::First), (NOW + MAX_SKEW + 1, ProofUse::Again), (NOW + 2 * MAX_SKEW, ProofUse::Again)]
        {
            assert_eq!(replays.note(now, &ahead), expected, "{now}");
        }
        // After that, it is too old, and its slot is free.
        assert_eq!(replays.note(NOW + 10 * MAX_SKEW, &proof("k", "3", NOW + 10 * MAX_SKEW)), ProofUse::First);
        assert_eq!((replays.count, replays.minutes.len()), (1, 1));
    }

    #[test]
    fn xau_70_a_clock_that_is_set_back_makes_no_proof_good_again() {
        let mut replays = Replays::new(DEFAULT_MAX_PROOFS);
        assert_eq!(replays.note(NOW, &proof("k", "1", NOW)), ProofUse::First);
        // The clock is a day ahead by mistake. The timestamps of clients' proofs are then too old,
        // which is checked before this.
        let ahead = NOW + 86_400;
        assert_eq!(replays.note(ahead, &proof("k", "2", ahead)), ProofUse::First);
        assert_eq!(replays.note(NOW + 1, &proof("k", "1", NOW)), ProofUse::NoRoom);
        let later = NOW + 2 * MINUTE;
        assert_eq!(replays.note(later, &proof("k", "3", later)), ProofUse::First, "back in service");
    }

    #[test]
    fn xau_70_no_flood_makes_the_proof_of_another_key_good_again() {
        let mut replays = Replays::new(100);
        let captured = proof("victim", "1", NOW);
        assert_eq!(replays.note(NOW, &captured), ProofUse::First);
        let mut flood = |key: &str, count: usize| {
            let uses = (0..count).map(|id| replays.note(NOW + 1, &proof(key, &id.to_string(), NOW + 1)));
            uses.filter(|given| *given == ProofUse::First).count()
        };
        assert_eq!(flood("thief", 500), 20, "a fifth of the memory");
        let others: usize = (0..10).map(|number| flood(&format!("thief {number}"), 500)).sum();
        assert_eq!(others, 79, "the memory is bounded");
        for now in [NOW + 2, NOW + MAX_SKEW] {
            assert_eq!(replays.note(now, &captured), ProofUse::Again);
            assert_eq!(replays.note(now, &proof("victim", "2", now)), ProofUse::NoRoom);
        }
        let later = NOW + 2 * MAX_SKEW;
        assert_eq!(replays.note(later, &proof("victim", "3", later)), ProofUse::First);
    }
}
