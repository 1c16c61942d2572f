//! Keeps a disconnecting peer from ending the process, as Rust, Python and Node.js do.

use std::sync::Once;

/// Ignores SIGPIPE, once, unless the program has set its own action.
pub(crate) fn ignore() {
    static ONCE: Once = Once::new();
    ONCE.call_once(ignore_if_default);
}

#[cfg(unix)]
fn ignore_if_default() {
    // SAFETY: the struct is plain data, filled by the first call; the second only sets a
    // disposition.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_DFL {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        }
    }
}

#[cfg(not(unix))]
fn ignore_if_default() {}
