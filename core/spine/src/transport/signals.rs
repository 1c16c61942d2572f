//! Handles termination signals on a separate thread, because handlers that block all threads of the
//! runtime, or the host's event loop, would hide them.

use super::blocked::exit_if_held_after;
use std::{convert::Infallible, future::Future, io, process, thread, time::Duration};
use tokio::sync::{oneshot, watch};

/// SIGINT (Ctrl-C) and SIGTERM.
pub struct EndingSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl EndingSignals {
    /// Starts handling signals, in a task on a thread.
    ///
    /// # Errors
    /// If the system does not let the process handle signals, or has no thread.
    pub fn take<F>(task: impl FnOnce(Self) -> F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = runtime.enter();
            Self::new()?
        };
        let task = task(signals);
        thread::Builder::new().name("trunkline-signals".into()).spawn(move || runtime.block_on(task))?;
        Ok(())
    }

    #[cfg(unix)]
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    #[cfg(not(unix))]
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next signal. Returns the exit status that shells use for it.
    #[cfg(unix)]
    pub async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }

    /// Waits for the next signal. Returns the exit status that shells use for it.
    #[cfg(not(unix))]
    pub async fn next(&mut self) -> i32 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => 130,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Watches for a signal that ends a server. While this exists, a second signal ends the process
/// immediately.
pub(super) struct SignalWatch {
    has_come: watch::Receiver<bool>,
    /// Dropped when serving has ended.
    _over: oneshot::Sender<Infallible>,
}

impl SignalWatch {
    /// Starts handling signals. The process exits if handlers that block their threads at the first
    /// signal still do so after `drain_time`.
    pub(super) fn start(drain_time: Duration) -> io::Result<Self> {
        let (coming, has_come) = watch::channel(false);
        let (over, is_over) = oneshot::channel();
        EndingSignals::take(|signals| end(signals, coming, is_over, drain_time))?;
        Ok(Self { has_come, _over: over })
    }

    /// Completes when a signal has arrived.
    pub(super) async fn came(&self) {
        // The thread lives as long as this.
        let _ = self.has_come.clone().wait_for(|has_come| *has_come).await;
        tracing::info!(target: "trunkline::server::listener", "received a signal: stopping the server after the calls in flight");
    }
}

async fn end(
    mut signals: EndingSignals,
    coming: watch::Sender<bool>,
    mut is_over: oneshot::Receiver<Infallible>,
    drain_time: Duration,
) {
    tokio::select! {
        _ = signals.next() => {}
        _ = &mut is_over => return,
    }
    coming.send_replace(true);
    let serving = async {
        tokio::select! {
            () = exit_if_held_after(drain_time) => {}
            _ = is_over => {}
        }
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        status = signals.next() => process::exit(status),
        never = serving => match never {},
    }
}
