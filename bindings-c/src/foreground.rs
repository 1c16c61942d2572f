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

    use crate::edge::signal_actions::{handler_of, set_handler};
    use crate::waiting::Stop;

    const SIGNALS: [c_int; 2] = [SIGINT, SIGTERM];

    /// The servers in the foreground, each on a thread. Signals don't stop more than fit in here.
    static STOPS: [AtomicPtr<Stop>; 64] = [const { AtomicPtr::new(null_mut()) }; 64];
    /// The process of these servers. A forked child inherits the handler, but does not run the
    /// servers.
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    /// The number of handlers that may be using the servers.
    static RUNNING_HANDLERS: AtomicUsize = AtomicUsize::new(0);
    /// The handler that the core installed before ours, if any.
    static PREVIOUS_HANDLER: AtomicUsize = AtomicUsize::new(0);

    /// While this lives, signals stop a server.
    pub(crate) struct SignalHandlers<'a> {
        stop: &'a Stop,
        /// The signals that have our handler.
        handled: Vec<c_int>,
    }

    impl<'a> SignalHandlers<'a> {
        /// Handles the signals that the program has left to the system, and that no other server in
        /// the foreground handles.
        pub(crate) fn install(stop: &'a Stop) -> Self {
            PROCESS.store(std::process::id(), Ordering::SeqCst);
            replace(null_mut(), from_ref(stop).cast_mut());
            Self { stop, handled: SIGNALS.into_iter().filter(|signal| handle(*signal)).collect() }
        }

        /// Lets the core handle the signals too. Its handler calls ours.
        pub(crate) fn share_with(&self, take: impl FnOnce()) {
            if let Some(signal) = self.handled.first() {
                take();
                PREVIOUS_HANDLER.store(handler_of(*signal).unwrap_or_default(), Ordering::SeqCst);
            }
        }
    }

    impl Drop for SignalHandlers<'_> {
        fn drop(&mut self) {
            replace(from_ref(self.stop).cast_mut(), null_mut());
            if STOPS.iter().all(|stop| stop.load(Ordering::SeqCst).is_null()) {
                SIGNALS.into_iter().for_each(restore);
            }
            // A handler running on another thread finishes shortly.
            while RUNNING_HANDLERS.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
        }
    }

    /// Replaces one of the servers in the foreground, if it is there.
    fn replace(before: *mut Stop, after: *mut Stop) {
        let swap = |stop: &AtomicPtr<_>| stop.compare_exchange(before, after, Ordering::SeqCst, Ordering::SeqCst);
        let _ = STOPS.iter().find(|stop| swap(stop).is_ok());
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
        let ours = [handler(), exit_at_once as *const () as sighandler_t, PREVIOUS_HANDLER.load(Ordering::SeqCst)];
        if handler_of(signal).is_some_and(|now| now != SIG_DFL && ours.contains(&now)) {
            set_handler(signal, SIG_DFL, 0);
        }
    }

    extern "C" fn on_signal(signal: c_int) {
        if std::process::id() != PROCESS.load(Ordering::SeqCst) {
            // SAFETY: the function may be called in a signal handler, and this one is no longer
            // installed.
            unsafe { libc::raise(signal) };
            return;
        }
        RUNNING_HANDLERS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: if it is not null, the server runs, and its `SignalHandlers` waits for this
        // handler.
        let running = STOPS.iter().filter_map(|stop| unsafe { stop.load(Ordering::SeqCst).as_ref() });
        running.for_each(Stop::request);
        // Leave the other signal to the system as well, which does nothing for process 1, the main
        // process of a container.
        SIGNALS.into_iter().for_each(restore);
        if std::process::id() == 1 {
            let left = SIGNALS.into_iter().filter(|signal| handler_of(*signal) == Some(SIG_DFL));
            left.for_each(|signal| {
                set_handler(signal, exit_at_once as *const () as sighandler_t, SA_RESTART);
            });
        }
        RUNNING_HANDLERS.fetch_sub(1, Ordering::SeqCst);
    }

    extern "C" fn exit_at_once(signal: c_int) {
        // SAFETY: the function may be called in a signal handler.
        unsafe { libc::_exit(128 + signal) };
    }
}
