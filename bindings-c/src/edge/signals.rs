//! The actions of signals.

use std::sync::Once;

#[cfg(unix)]
use libc::{SIG_DFL, SIG_IGN, SIGPIPE, c_int, sighandler_t};

/// Ignores SIGPIPE, once, unless the program has set its own action: a disconnecting peer must not
/// end the process, as with Rust, Python and Node.js.
pub(crate) fn ignore_sigpipe() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(unix)]
        if handler_of(SIGPIPE) == Some(SIG_DFL) {
            set_handler(SIGPIPE, SIG_IGN, 0);
        }
    });
}

/// The current handler of a signal. May be called in a signal handler.
#[cfg(unix)]
pub(crate) fn handler_of(signal: c_int) -> Option<sighandler_t> {
    // SAFETY: the struct is plain data, filled before it is read.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &mut now) == 0).then_some(now.sa_sigaction)
    }
}

/// Sets the handler of a signal; it must do only what handlers may do. Returns whether it was set.
/// May be called in a signal handler.
#[cfg(unix)]
pub(crate) fn set_handler(signal: c_int, handler: sighandler_t, flags: c_int) -> bool {
    // SAFETY: the struct is plain data, whose mask is set before it is read.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (action.sa_sigaction, action.sa_flags) = (handler, flags);
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut()) == 0
    }
}
