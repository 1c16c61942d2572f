//! Delays between attempts.

use std::time::Duration;

/// A delay that doubles with each attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Backoff {
    /// The delay after this many earlier delays.
    pub(crate) fn after(self, earlier: u32) -> Duration {
        self.first.saturating_mul(1 << earlier.min(16)).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        let backoff = Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(5) };
        let delays = [0, 1, 2, 5, 6, 16, 17, u32::MAX].map(|earlier| backoff.after(earlier).as_millis());
        assert_eq!(delays, [100, 200, 400, 3_200, 5_000, 5_000, 5_000, 5_000]);
        let endless = Backoff { first: Duration::MAX, longest: Duration::MAX };
        assert_eq!(endless.after(1), Duration::MAX);
    }
}
