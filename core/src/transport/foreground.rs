//! Serving as the whole work of a program: signals end it in good order.

use super::{Listener, blocked::exit_if_blocked, signals::SignalWatch};
use std::io;

impl Listener {
    /// Serves until the listener has ended, or until the process gets SIGINT (Ctrl-C) or SIGTERM:
    /// then it ends within [`drain_deadline`](crate::ServerOptions::drain_deadline), in which calls
    /// in flight may complete while new ones are refused. A second signal ends the process at once.
    ///
    /// For the foreground of a program, which should end after it. A handler that blocks its thread
    /// would keep the runtime from shutting down, and so the program from ending: if one still does
    /// after two seconds, or has done since the signal for the whole deadline, the process exits
    /// with status 1.
    ///
    /// Needs a tokio runtime.
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

    /// [`Listener::run`] with signals that are taken already.
    pub(super) async fn run_until(&self, signals: SignalWatch) -> io::Result<()> {
        self.move_to_foreground();
        tokio::select! {
            () = self.ended() => {}
            () = signals.came() => self.close(self.drain_time()).await,
        }
        drop(signals);
        exit_if_blocked();
        Ok(())
    }
}
