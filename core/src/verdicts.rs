//! Verdicts about servers, kept for a while per process: a server that was found out is not tried
//! again by the next connection.

use crate::sync::Mutex;
use std::{
    collections::HashMap,
    sync::LazyLock,
    time::{Duration, Instant},
};

/// A server may be replaced by a newer one behind the same URL or command.
const KEPT: Duration = Duration::from_secs(10 * 60);
const MAX_KEPT: usize = 1000;

/// Verdicts of one kind, by the identity of the server.
pub(crate) struct Verdicts<V: 'static>(LazyLock<Mutex<Entries<V>>>);

/// Each verdict with the end of its time.
type Entries<V> = HashMap<u64, (V, Instant)>;

impl<V: Copy> Verdicts<V> {
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The verdict on a server that was met a while ago.
    pub(crate) fn known(&self, server: u64, now: Instant) -> Option<V> {
        let verdicts = self.0.lock();
        verdicts.get(&server).filter(|(_, until)| now < *until).map(|(verdict, _)| *verdict)
    }

    /// Keeps the verdict on a server.
    pub(crate) fn keep(&self, server: u64, verdict: V, now: Instant) {
        let mut verdicts = self.0.lock();
        if verdicts.len() >= MAX_KEPT {
            verdicts.retain(|_, (_, until)| now < *until);
        }
        if verdicts.len() < MAX_KEPT {
            verdicts.insert(server, (verdict, now + KEPT));
        }
    }

    /// Forgets a verdict that proved wrong: the next connection asks again (DISC-23).
    pub(crate) fn forget(&self, server: u64) {
        self.0.lock().remove(&server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disc_22_and_23_verdicts_are_kept_for_a_while_and_can_be_forgotten() {
        let (verdicts, server, now) = (Verdicts::new(), 22, Instant::now());
        assert_eq!(verdicts.known(server, now), None);
        verdicts.keep(server, 'a', now);
        assert_eq!(verdicts.known(server, now), Some('a'));
        assert_eq!(verdicts.known(server, now + KEPT), None);
        verdicts.forget(server);
        assert_eq!(verdicts.known(server, now), None);
    }
}
