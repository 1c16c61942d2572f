//! Serving in the foreground, with a graceful shutdown on SIGINT and SIGTERM: the first signal
//! stops the server, a second one has its default effect. Outside of Unix, the program handles its
//! console events itself.

#[cfg(unix)]
pub(crate) use unix::SignalHandlers;

/// While this lives, signals stop a server.
#[cfg(not(unix))]
pub(crate) struct SignalHandlers<'a>(std::marker::PhantomData<&'a crate::waiting::Stop>);

#[cfg(not(unix))]
impl<'a> SignalHandlers<'a> {
    pub(crate) fn install(_: &'a crate::waiting::Stop) -> Self {
        Self(std::marker::PhantomData)
    }

    pub(crate) fn share_with(&self, take: impl FnOnce()) {
        take();
    }
}

#[cfg(unix)]
mod unix {
    use std::ptr::{from_ref, null_mut};
    use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

    use libc::{SA_RESETHAND, SA_RESTART, SIG_DFL, SIGINT, SIGTERM, c_int, sighandler_t};

    use crate::edge::signals::{handler_of, set_handler};
    use crate::waiting::Stop;

    const SIGNALS: [c_int; 2] = [SIGINT, SIGTERM];

    /// The server in the foreground; if there are several, the first.
    static STOP: AtomicPtr<Stop> = AtomicPtr::new(null_mut());
    /// The process of that server. A forked child inherits the handler, but does not run the
    /// server.
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    /// The number of handlers that may be using the server.
    static HANDLERS: AtomicUsize = AtomicUsize::new(0);
    /// The handler that the core installed before ours, if any.
    static BEFORE: AtomicUsize = AtomicUsize::new(0);

    /// While this lives, signals stop a server.
    pub(crate) struct SignalHandlers<'a> {
        stop: &'a Stop,
        /// The signals that have our handler.
        handled: Vec<c_int>,
    }

    impl<'a> SignalHandlers<'a> {
        /// Handles the signals that the program has left to the system; none if another server is
        /// in the foreground.
        pub(crate) fn install(stop: &'a Stop) -> Self {
            let ours = from_ref(stop).cast_mut();
            let is_first = STOP.compare_exchange(null_mut(), ours, Ordering::SeqCst, Ordering::SeqCst).is_ok();
            let mut handled = Vec::new();
            if is_first {
                PROCESS.store(std::process::id(), Ordering::SeqCst);
                handled.extend(SIGNALS.into_iter().filter(|signal| handle(*signal)));
            }
            Self { stop, handled }
        }

        /// Lets the core handle the signals too. Its handler calls ours.
        pub(crate) fn share_with(&self, take: impl FnOnce()) {
            if let Some(signal) = self.handled.first() {
                take();
                BEFORE.store(handler_of(*signal).unwrap_or_default(), Ordering::SeqCst);
            }
        }
    }

    impl Drop for SignalHandlers<'_> {
        fn drop(&mut self) {
            self.handled.iter().for_each(|signal| restore(*signal));
            let ours = from_ref(self.stop).cast_mut();
            if STOP.compare_exchange(ours, null_mut(), Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                // A handler running on another thread finishes shortly.
                while HANDLERS.load(Ordering::SeqCst) > 0 {
                    std::thread::yield_now();
                }
            }
        }
    }

    fn handler() -> sighandler_t {
        on_signal as *const () as sighandler_t
    }

    /// Installs the handler unless the program has its own, or ignores the signal. It is reset
    /// after the first signal, so that a second one ends the process.
    fn handle(signal: c_int) -> bool {
        handler_of(signal) == Some(SIG_DFL) && set_handler(signal, handler(), SA_RESTART | SA_RESETHAND)
    }

    /// Removes the handler unless the program has replaced it.
    fn restore(signal: c_int) {
        let ours = [handler(), BEFORE.load(Ordering::SeqCst)];
        if handler_of(signal).is_some_and(|now| now != SIG_DFL && ours.contains(&now)) {
            set_handler(signal, SIG_DFL, 0);
        }
    }

    extern "C" fn on_signal(signal: c_int) {
        // SAFETY: the function may be called in a signal handler.
        let process = unsafe { libc::getpid() };
        if u32::try_from(process) != Ok(PROCESS.load(Ordering::SeqCst)) {
            // SAFETY: as above, and this handler is no longer installed.
            unsafe { libc::raise(signal) };
            return;
        }
        HANDLERS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: if it is not null, the server runs, and its `SignalHandlers` waits for this
        // handler.
        if let Some(stop) = unsafe { STOP.load(Ordering::SeqCst).as_ref() } {
            stop.request();
            // Leave the other signal to the system as well.
            SIGNALS.into_iter().for_each(restore);
        }
        HANDLERS.fetch_sub(1, Ordering::SeqCst);
    }
}
