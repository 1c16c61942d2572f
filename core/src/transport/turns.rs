//! Whose turn it is on a pipe, and how long it pays to wait awake for the other side.
//!
//! A core that sleeps takes longer to wake than a small call takes, on virtual machines above all. So while a peer takes turns with
//! us and has been quick lately, its next message is waited for awake, shortly. Nobody else is waited for like that: a peer that
//! thinks, sends many messages at once or is silent costs nothing.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A peer that takes its turn so soon is quick, and is waited for as long.
const QUICK: u64 = Duration::from_micros(100).as_nanos() as u64;
/// After so many quick turns in a row a peer is waited for awake; after one that is not, no more.
const HABIT: u32 = 4;

/// Turns of the two sides of a pipe.
#[derive(Debug)]
pub(super) struct Turns {
    began: Instant,
    /// When we sent a message that the peer has not followed with one of its own: nanoseconds after `began`; 0 if it has.
    sent: AtomicU64,
    /// Quick turns of the peer in a row.
    quick: AtomicU32,
}

impl Default for Turns {
    fn default() -> Self {
        Self { began: Instant::now(), sent: AtomicU64::new(0), quick: AtomicU32::new(0) }
    }
}

impl Turns {
    /// A message that stands alone goes out: it is the peer's turn.
    pub(super) fn pass(&self) {
        self.pass_at(self.now());
    }

    /// The peer has sent something; `alone`: one message. Whether it took its turn with that.
    pub(super) fn take(&self, alone: bool) -> bool {
        self.take_at(self.now(), alone)
    }

    /// Waits awake until `is_there`, if that pays. Whether it is there.
    pub(super) fn linger(&self, mut is_there: impl FnMut() -> bool) -> bool {
        while self.pays_at(self.now()) && *IS_PARALLEL {
            if is_there() {
                return true;
            }
        }
        false
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn pass_at(&self, now: u64) {
        self.sent.store(now.max(1), Ordering::Relaxed);
    }

    fn take_at(&self, now: u64, alone: bool) -> bool {
        let sent = self.sent.swap(0, Ordering::Relaxed);
        let took_turn = alone && sent != 0;
        let is_quick = took_turn && now.saturating_sub(sent) <= QUICK;
        let habit = if is_quick { self.quick.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.quick.store(habit, Ordering::Relaxed);
        took_turn
    }

    fn pays_at(&self, now: u64) -> bool {
        let sent = self.sent.load(Ordering::Relaxed);
        sent != 0 && self.quick.load(Ordering::Relaxed) >= HABIT && now.saturating_sub(sent) <= QUICK
    }
}

/// On a single core the peer could not run while it is waited for.
static IS_PARALLEL: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|cores| cores.get() > 1));

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of a peer that was quick so many times.
    fn quick(times: u32) -> Turns {
        let turns = Turns::default();
        for _ in 0..times {
            turns.pass_at(1000);
            assert!(turns.take_at(1000 + QUICK, true));
        }
        turns
    }

    #[test]
    fn only_a_peer_that_was_quick_for_a_while_is_waited_for() {
        let turns = quick(HABIT - 1);
        turns.pass_at(5000);
        assert!(!turns.pays_at(5001));
        let turns = quick(HABIT);
        assert!(!turns.pays_at(5001), "it is not the peer's turn");
        turns.pass_at(5000);
        assert!(turns.pays_at(5000 + QUICK));
        assert!(!turns.pays_at(5001 + QUICK), "it has been waited for long enough");
    }

    #[test]
    fn one_slow_turn_or_several_messages_end_the_habit() {
        let slow = quick(HABIT);
        slow.pass_at(5000);
        assert!(slow.take_at(5001 + QUICK, true));
        let many = quick(HABIT);
        many.pass_at(5000);
        assert!(!many.take_at(5001, false));
        let unasked = quick(HABIT);
        assert!(!unasked.take_at(5000, true), "nothing was sent that it could follow");
        for turns in [slow, many, unasked] {
            turns.pass_at(9000);
            assert!(!turns.pays_at(9001));
        }
    }
}
