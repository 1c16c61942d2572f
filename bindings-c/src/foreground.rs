//! Serving in the foreground, with a graceful shutdown on SIGINT and SIGTERM: the first signal
//! stops the server, a second one has its default effect. Outside of Unix, the program handles its
//! console events itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::{
    ptr::null_mut,
    sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize},
};

use crate::port::Port;

/// A request to stop a running server.
pub(crate) struct Stop {
    is_wanted: AtomicBool,
    port: Arc<Port>,
}

impl Stop {
    pub(crate) fn new(port: Arc<Port>) -> Self {
        Self { is_wanted: AtomicBool::new(false), port }
    }

    /// Safe inside a signal handler on Unix: an atomic operation and one `write`.
    pub(crate) fn request(&self) {
        self.is_wanted.store(true, Ordering::SeqCst);
        self.port.wake();
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::SeqCst)
    }

    pub(crate) fn clear(&self) {
        self.is_wanted.store(false, Ordering::SeqCst);
    }
}

#[cfg(unix)]
const SIGNALS: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// The server in the foreground; if there are several, the first.
#[cfg(unix)]
static STOP: AtomicPtr<Stop> = AtomicPtr::new(null_mut());
/// The process of that server. A forked child inherits the handler, but does not run the server.
#[cfg(unix)]
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The number of handlers that may be using the server.
#[cfg(unix)]
static HANDLERS: AtomicUsize = AtomicUsize::new(0);

/// The handler that the core installed before ours, if any.
#[cfg(unix)]
static BEFORE: AtomicUsize = AtomicUsize::new(0);

/// While this lives, signals stop a server.
pub(crate) struct SignalHandlers<'a> {
    #[cfg_attr(not(unix), expect(dead_code, reason = "nothing is installed there"))]
    stop: &'a Stop,
    /// The signals that have our handler.
    #[cfg(unix)]
    handled: Vec<libc::c_int>,
}

impl<'a> SignalHandlers<'a> {
    /// Handles the signals that the program has left to the system; none if another server is in
    /// the foreground.
    #[cfg(unix)]
    pub(crate) fn install(stop: &'a Stop) -> Self {
        let free = STOP.compare_exchange(null_mut(), pointer(stop), Ordering::SeqCst, Ordering::SeqCst);
        let mut handled = Vec::new();
        if free.is_ok() {
            PROCESS.store(std::process::id(), Ordering::SeqCst);
            handled.extend(SIGNALS.into_iter().filter(|signal| handle(*signal)));
        }
        Self { stop, handled }
    }

    #[cfg(not(unix))]
    pub(crate) fn install(stop: &'a Stop) -> Self {
        Self { stop }
    }

    /// Lets the core handle the signals too. Its handler calls ours.
    pub(crate) fn share_with(&self, take: impl FnOnce()) {
        #[cfg(unix)]
        if let Some(signal) = self.handled.first() {
            take();
            BEFORE.store(handler_of(*signal).unwrap_or_default(), Ordering::SeqCst);
        }
        #[cfg(not(unix))]
        take();
    }
}

#[cfg(unix)]
impl Drop for SignalHandlers<'_> {
    fn drop(&mut self) {
        self.handled.iter().for_each(|signal| restore(*signal));
        if STOP.compare_exchange(pointer(self.stop), null_mut(), Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            // A handler running on another thread finishes shortly.
            while HANDLERS.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(unix)]
fn pointer(stop: &Stop) -> *mut Stop {
    std::ptr::from_ref(stop).cast_mut()
}

/// Installs the handler unless the program has its own, or ignores the signal.
#[cfg(unix)]
fn handle(signal: libc::c_int) -> bool {
    // SAFETY: the structs are plain data, and the handler does only what handlers may do.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut now) != 0 || now.sa_sigaction != libc::SIG_DFL {
            return false;
        }
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = on_signal as *const () as libc::sighandler_t;
        // Reset after the first signal, so that a second one ends the process.
        ours.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        libc::sigemptyset(&mut ours.sa_mask);
        libc::sigaction(signal, &ours, null_mut()) == 0
    }
}

/// Removes the handler unless the program has replaced it.
#[cfg(unix)]
fn restore(signal: libc::c_int) {
    let ours = [on_signal as *const () as libc::sighandler_t, BEFORE.load(Ordering::SeqCst)];
    if handler_of(signal).is_some_and(|now| now != libc::SIG_DFL && ours.contains(&now)) {
        // SAFETY: the struct is plain data; the function may be called in a signal handler.
        unsafe {
            let mut default: libc::sigaction = std::mem::zeroed();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &default, null_mut());
        }
    }
}

/// The current handler of a signal.
#[cfg(unix)]
fn handler_of(signal: libc::c_int) -> Option<libc::sighandler_t> {
    // SAFETY: the struct is plain data, filled before it is read; the function may be called in a
    // signal handler.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &mut now) == 0).then_some(now.sa_sigaction)
    }
}

#[cfg(unix)]
extern "C" fn on_signal(signal: libc::c_int) {
    // SAFETY: both functions may be called in a signal handler, and this one is installed no more.
    let process = unsafe { libc::getpid() };
    if u32::try_from(process) != Ok(PROCESS.load(Ordering::SeqCst)) {
        // SAFETY: as above.
        unsafe { libc::raise(signal) };
        return;
    }
    HANDLERS.fetch_add(1, Ordering::SeqCst);
    // SAFETY: if it is not null, the server runs, and its `SignalHandlers` waits for this handler.
    if let Some(stop) = unsafe { STOP.load(Ordering::SeqCst).as_ref() } {
        stop.request();
        // The other signal is left to the system from now on, too.
        SIGNALS.into_iter().for_each(restore);
    }
    HANDLERS.fetch_sub(1, Ordering::SeqCst);
}
