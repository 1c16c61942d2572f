//! Measures work in tests, excluding the load of other programs.

use std::time::{Duration, Instant};

/// The CPU time of this thread since a start, or the elapsed time if the system does not report it.
pub(crate) struct ProcessorTime {
    started: Instant,
    used: Option<Duration>,
}

impl ProcessorTime {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), used: used() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        match (self.used, used()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => self.started.elapsed(),
        }
    }
}

/// The first number in this Linux file: nanoseconds on a processor.
fn used() -> Option<Duration> {
    let numbers = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    numbers.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
