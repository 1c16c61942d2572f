//! Serving in the foreground, with graceful shutdown on signals.

use super::{Listener, blocked::exit_if_blocked, signals::SignalWatch};
use std::io;

impl Listener {
    /// Serves until the listener has ended, or until the process gets SIGINT (Ctrl-C) or SIGTERM.
    /// It then shuts down within [`drain_deadline`](crate::ServerOptions::drain_deadline): calls in
    /// flight may complete, and new ones are refused. A second signal ends the process immediately.
    ///
    /// The program should end after this. A handler that blocks its thread would keep the runtime
    /// from shutting down, and thereby the program from exiting: if one still blocks after two
    /// seconds, or has done so for the whole deadline since the signal, the process exits with
    /// status 1.
    ///
    /// Requires a tokio runtime.
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
        self.run_until(SignalWatch::start(self.drain_time())?).await
    }

    /// [`Listener::run`] with signal handling already set up.
    pub(super) async fn run_until(&self, signals: SignalWatch) -> io::Result<()> {
        self.move_to_foreground();
        tokio::select! {
            () = self.closed() => {}
            () = signals.came() => self.close(self.drain_time()).await,
        }
        drop(signals);
        exit_if_blocked();
        Ok(())
    }
}
