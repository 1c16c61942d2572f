//! The actions of signals.

#[cfg(target_vendor = "apple")]
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
use libc::{SIG_DFL, SIG_IGN, SIGPIPE, c_int, sighandler_t};

/// Ignores SIGPIPE, once, unless the program has set its own action: a disconnecting peer must not
/// end the process, as with Rust, Python and Node.js.
pub(crate) fn ignore_sigpipe() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    // Not a `Once`: a child of a fork would wait for a thread that it does not have.
    if !IS_DONE.load(Ordering::Acquire) {
        #[cfg(unix)]
        if handler_of(SIGPIPE) == Some(SIG_DFL) {
            set_handler(SIGPIPE, SIG_IGN, 0);
        }
        IS_DONE.store(true, Ordering::Release);
    }
}

/// Runs a function that may start threads of the library, which inherit a mask that blocks SIGPIPE:
/// a disconnecting peer must not end a process that has set its own action either. The runtime of
/// Go, for example, has one that ends the process.
pub(crate) fn with_sigpipe_blocked<T>(start: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    {
        // SAFETY: the sets are plain data, filled before they are read.
        unsafe {
            let (mut blocked, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&mut blocked);
            libc::sigaddset(&mut blocked, SIGPIPE);
            let is_blocked = libc::pthread_sigmask(libc::SIG_BLOCK, &blocked, &mut before) == 0;
            let started = start();
            if is_blocked {
                libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            }
            started
        }
    }
    #[cfg(not(unix))]
    start()
}

/// Has SIGCHLD handled on the alternate stack of each thread, once. tokio learns of the end of
/// child processes by this signal, and installs its handler without the flag; then Go ends the
/// program at the next child process that exits.
#[cfg(target_vendor = "apple")]
pub(crate) fn handle_sigchld_on_alternate_stack() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the action does nothing; the struct is plain data, filled before it is read.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if signal_hook_registry::register(libc::SIGCHLD, || {}).is_ok()
                && libc::sigaction(libc::SIGCHLD, std::ptr::null(), &mut action) == 0
            {
                action.sa_flags |= libc::SA_ONSTACK;
                libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut());
            }
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
