//! Processes that the runtime does not reap, because it has ended.

use std::io;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::Duration;

/// Waits up to 100 ms for a process that was just killed.
pub(super) fn reap(mut exited: impl FnMut() -> io::Result<Option<ExitStatus>>) {
    let running = (0..100).take_while(|_| matches!(exited(), Ok(None)));
    running.for_each(|_| sleep(Duration::from_millis(1)));
}
