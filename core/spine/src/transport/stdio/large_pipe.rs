//! Pipes for large messages: the larger the pipe, the fewer switches between the two processes.

use std::os::fd::AsFd;

/// Enough for large messages. More takes a privilege.
#[cfg(target_os = "linux")]
const PIPE_CAPACITY: usize = 1024 * 1024;

/// Enlarges a pipe. Returns its capacity; 0 if the system has none to tell, or for other files.
#[cfg(target_os = "linux")]
pub(super) fn enlarge(pipe: impl AsFd) -> usize {
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
    // Refused to users who have many large pipes.
    fcntl_setpipe_size(&pipe, PIPE_CAPACITY).or_else(|_| fcntl_getpipe_size(&pipe)).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn enlarge(_: impl AsFd) -> usize {
    0
}
