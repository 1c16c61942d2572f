//! The signals that end a program, taken on a thread of their own: handlers that block all threads
//! of the program's runtime, or the loop of a host, would hide them.

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
    /// Takes the signals from now on, in a task on a thread.
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

    /// The next signal, as the status with which shells show an end by it.
    #[cfg(unix)]
    pub async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }

    /// The next signal, as the status with which shells show an end by it.
    #[cfg(not(unix))]
    pub async fn next(&mut self) -> i32 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => 130,
            Err(_) => std::future::pending().await,
        }
    }
}

/// The end of a server by a signal. After the first one a second one ends the process at once, as
/// long as it lives.
pub(super) struct SignalWatch {
    has_come: watch::Receiver<bool>,
    /// The end of the serving, by being dropped.
    _over: oneshot::Sender<Infallible>,
}

impl SignalWatch {
    /// Takes the signals from now on. The process exits if handlers that block their threads at the
    /// first one still do when the calls in flight have had their time, `drain_time`.
    pub(super) fn start(drain_time: Duration) -> io::Result<Self> {
        let (coming, has_come) = watch::channel(false);
        let (over, is_over) = oneshot::channel();
        EndingSignals::take(|signals| end(signals, coming, is_over, drain_time))?;
        Ok(Self { has_come, _over: over })
    }

    /// Completes when a signal has come.
    pub(super) async fn came(&self) {
        // The thread lives as long as this.
        let _ = self.has_come.clone().wait_for(|has_come| *has_come).await;
        tracing::info!(target: "trunkline::server::listener", "a signal ends the server: calls in flight may complete");
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
