//! Time for tests of work: what other programs cost the machine is not counted.

use std::time::{Duration, Instant};

/// Processor time of this thread since a start; where the system does not tell, time.
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

/// The first number of this file of Linux: nanoseconds on a processor.
fn used() -> Option<Duration> {
    let numbers = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    numbers.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
