//! Closing something once, on behalf of several callers with different deadlines.

use crate::{engine, on_drop::OnDrop};
use std::{future::Future, time::Duration};
use tokio::{runtime::Handle, sync::watch, time::Instant};

/// Closes something once, in a separate task: it continues if a caller stops waiting, and all
/// callers wait for the same end. The earliest deadline wins.
#[derive(Default)]
pub struct Closing {
    /// `None` until closing starts.
    deadline: watch::Sender<Option<Instant>>,
    ended: watch::Sender<bool>,
}

/// A deadline that may move closer.
#[derive(Clone)]
pub struct Deadline(watch::Receiver<Option<Instant>>);

impl Closing {
    /// Starts closing by running `end`, unless it has already started.
    pub fn begin<F>(&self, runtime: &Handle, timeout: Duration, end: impl FnOnce(Deadline) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let at = Instant::from_std(engine::later(Instant::now().into_std(), timeout));
        let mut first = false;
        self.deadline.send_if_modified(|deadline| {
            first = deadline.is_none();
            let sooner = deadline.is_none_or(|known| at < known);
            if sooner {
                *deadline = Some(at);
            }
            sooner
        });
        if first {
            let ended = self.ended.clone();
            // Reports the end even if the task panics or its runtime ends.
            let over = OnDrop::new(move || {
                ended.send_replace(true);
            });
            let end = end(Deadline(self.deadline.subscribe()));
            runtime.spawn(async move {
                end.await;
                drop(over);
            });
        }
    }

    /// Completes when it has ended.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut ended = self.ended.subscribe();
        // An error means that this was dropped before closing started.
        async move { drop(ended.wait_for(|ended| *ended).await) }
    }
}

impl Deadline {
    /// The remaining time.
    pub fn left(&self) -> Duration {
        let deadline = *self.0.borrow();
        deadline.map_or(Duration::ZERO, |deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Completes at the deadline.
    pub async fn over(&mut self) {
        loop {
            let left = self.left();
            tokio::select! {
                () = tokio::time::sleep(left) => return,
                () = self.moved() => {}
            }
        }
    }

    /// Completes when it has moved closer.
    pub async fn moved(&mut self) {
        if self.0.changed().await.is_err() {
            // Nothing can move it anymore.
            std::future::pending().await
        }
    }

    /// Runs a future until the deadline. Returns whether it completed.
    pub async fn allows(&mut self, what: impl Future) -> bool {
        tokio::select! {
            biased;
            _ = what => true,
            () = self.over() => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    async fn close(closing: &Closing, timeout: Duration, ends: &Arc<AtomicUsize>) {
        let ends = Arc::clone(ends);
        closing.begin(&Handle::current(), timeout, |mut deadline| async move {
            deadline.over().await;
            ends.fetch_add(1, Ordering::Relaxed);
        });
        closing.ended().await;
    }

    #[tokio::test(start_paused = true)]
    async fn everyone_waits_for_one_end_at_the_earliest_deadline() {
        let (closing, ends) = (Closing::default(), Arc::default());
        let started = tokio::time::Instant::now();
        let wait = |seconds| close(&closing, Duration::from_secs(seconds), &ends);
        let soon = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            wait(2).await;
        };
        tokio::join!(wait(60), wait(100), soon);
        assert_eq!(started.elapsed().as_secs(), 3);
        assert_eq!(ends.load(Ordering::Relaxed), 1);
        wait(5).await;
        assert_eq!(ends.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn closing_continues_when_nobody_waits() {
        let (closing, ends) = (Closing::default(), Arc::default());
        let timeout = Duration::from_secs(5);
        assert!(tokio::time::timeout(Duration::from_secs(1), close(&closing, timeout, &ends)).await.is_err());
        closing.ended().await;
        assert_eq!(ends.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn an_end_that_panics_is_one() {
        let closing = Closing::default();
        closing.begin(&Handle::current(), Duration::ZERO, |_| async { panic!("on purpose") });
        closing.ended().await;
    }
}
