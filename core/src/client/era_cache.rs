//! The eras of servers, kept for a while per process (DISC-22): a server of the legacy era that is
//! silent when probed costs its probe only once.

use crate::protocol::Era;
use crate::sync::Mutex;
use std::{
    collections::HashMap,
    sync::LazyLock,
    time::{Duration, Instant},
};

/// A server may be replaced by a newer one behind the same URL or command.
const KEPT: Duration = Duration::from_secs(10 * 60);
const MAX_KEPT: usize = 1000;

static ERAS: LazyLock<Mutex<HashMap<u64, (Era, Instant)>>> = LazyLock::new(Mutex::default);

/// The era of a server that was met a while ago.
pub(super) fn known(server: u64, now: Instant) -> Option<Era> {
    let eras = ERAS.lock();
    eras.get(&server).filter(|(_, until)| now < *until).map(|(era, _)| *era)
}

/// Keeps the era of a server.
pub(super) fn keep(server: u64, era: Era, now: Instant) {
    let mut eras = ERAS.lock();
    if eras.len() >= MAX_KEPT {
        eras.retain(|_, (_, until)| now < *until);
    }
    if eras.len() < MAX_KEPT {
        eras.insert(server, (era, now + KEPT));
    }
}

/// Forgets an entry that proved wrong: the next connection asks again (DISC-23).
pub(super) fn forget(server: u64) {
    ERAS.lock().remove(&server);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disc_22_and_23_eras_are_kept_for_a_while_and_can_be_forgotten() {
        let (server, now) = (22, Instant::now());
        assert_eq!(known(server, now), None);
        keep(server, Era::Legacy, now);
        assert_eq!(known(server, now), Some(Era::Legacy));
        assert_eq!(known(server, now + KEPT), None);
        forget(server);
        assert_eq!(known(server, now), None);
    }
}
