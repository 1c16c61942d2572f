//! Serving as the whole work of a program: signals end it in good order.

use super::{Listener, blocked::exit_if_blocked};
use std::{io, process};

impl Listener {
    /// Serves until the listener has ended, or until the process gets SIGINT (Ctrl-C) or SIGTERM:
    /// then calls in flight may go on for [`drain_deadline`](crate::ServerOptions::drain_deadline)
    /// while new ones are refused. A second signal ends the process at once.
    ///
    /// For the foreground of a program, which should end after it. A handler that blocks its thread
    /// would keep the runtime from shutting down, and so the program from ending: if one still does
    /// after two seconds, the process exits with status 1. While handlers block all threads of the
    /// runtime, signals are not seen.
    ///
    /// Needs a tokio runtime with I/O enabled, as that of `#[tokio::main]` is.
    ///
    /// ```no_run
    /// # #[cfg(feature = "http-server")]
    /// # async fn run(server: trunkline::Server) -> std::io::Result<()> {
    /// server.listen("127.0.0.1:8000").await?.run().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the system does not let the process handle signals.
    pub async fn run(&self) -> io::Result<()> {
        let mut signals = EndingSignals::new()?;
        self.move_to_foreground();
        tokio::select! {
            () = self.ended() => {}
            _ = signals.next() => {
                tracing::info!(target: "trunkline::server::listener", "a signal ends the server: calls in flight may complete");
                tokio::select! {
                    () = self.close(self.drain_deadline()) => {}
                    status = signals.next() => process::exit(status),
                }
            }
        }
        exit_if_blocked();
        Ok(())
    }
}

/// The signals that end a program.
struct EndingSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl EndingSignals {
    #[cfg(unix)]
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    #[cfg(not(unix))]
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    /// The next signal, as the status with which shells show an end by it.
    #[cfg(unix)]
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }

    #[cfg(not(unix))]
    async fn next(&mut self) -> i32 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => 130,
            Err(_) => std::future::pending().await,
        }
    }
}
