//! The client's view of a task's state, and the waiters.

use crate::{
    client::ClientError,
    protocol::{
        RawJson,
        model::{Task, TaskStatus},
    },
    runtime::{Promise, wait},
    sync::Mutex,
};
use std::{
    any::Any,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// The state of a task, shared by its handle, the polling loop, and the notification receiver.
pub(in crate::client) struct ClientTaskState {
    known: Mutex<KnownTask>,
    /// Completed when a notification brings news, so that the next poll starts immediately.
    pub(in crate::client) poll_now: Promise<()>,
    /// Completed when the task is no longer needed.
    pub(in crate::client) stop: Promise<()>,
}

#[derive(Default)]
struct KnownTask {
    /// `None` if the server responded with the result and there is no task.
    task: Option<Task>,
    /// Incremented with each change.
    version: u64,
    outcome: Option<Result<RawJson, ClientError>>,
    /// The notification subscription of the task (extension).
    subscription: Option<HeldTask>,
    wakers: Vec<Waker>,
}

/// A guard that ends something when dropped.
type HeldTask = Box<dyn Any + Send + Sync>;

/// How far a reader has read the states.
#[derive(Default)]
pub(in crate::client) struct StateCursor {
    version: u64,
    /// True once the final error has been returned.
    ended: bool,
}

impl ClientTaskState {
    pub(in crate::client) fn new(task: Task) -> Self {
        Self::with(KnownTask { task: Some(task), version: 1, ..KnownTask::default() })
    }

    /// The state of a call that the server answered with the result.
    pub(in crate::client) fn answered(result: RawJson) -> Self {
        Self::with(KnownTask { outcome: Some(Ok(result)), ..KnownTask::default() })
    }

    fn with(known: KnownTask) -> Self {
        Self { known: Mutex::new(known), poll_now: Promise::default(), stop: Promise::default() }
    }

    pub(in crate::client) fn task(&self) -> Option<Task> {
        self.known.lock().task.clone()
    }

    pub(in crate::client) fn status(&self) -> TaskStatus {
        self.known.lock().task.as_ref().map_or(TaskStatus::Completed, |task| task.status)
    }

    /// Applies a state from the server. A final state never changes (TSK-13, TKX-28), and other
    /// states older than the latest one are ignored.
    pub(in crate::client) fn apply(&self, task: Task) {
        self.change(|known| {
            let is_news = known.task.as_ref().is_none_or(|now| {
                // The end is the latest, even if the server's clock was set back.
                let older = !task.status.is_final()
                    && task.last_updated_at.len() == now.last_updated_at.len()
                    && task.last_updated_at < now.last_updated_at;
                !now.status.is_final() && !older && *now != task
            });
            if is_news {
                known.version += 1;
                known.task = Some(task);
            }
            is_news
        });
    }

    /// Completes the task for all waiters, unless it has ended, and ends its subscription.
    pub(in crate::client) fn finish(&self, outcome: Result<RawJson, ClientError>) {
        let mut subscription = None;
        self.change(|known| {
            subscription = known.subscription.take();
            known.outcome.get_or_insert(outcome);
            true
        });
        drop(subscription);
    }

    /// Keeps the subscription while the task is running.
    pub(in crate::client) fn hold(&self, subscription: HeldTask) {
        let mut known = self.known.lock();
        let too_late =
            if known.outcome.is_none() { known.subscription.replace(subscription) } else { Some(subscription) };
        // Ending a subscription sends a message, so don't hold the lock.
        drop(known);
        drop(too_late);
    }

    /// Ends everything when the handle is dropped or the connection ends.
    pub(in crate::client) fn end(&self, error: ClientError) {
        self.finish(Err(error));
        self.stop.keep(());
    }

    /// The latest state, if the reader has not seen it. Skips intermediate states.
    pub(in crate::client) fn poll_next(
        &self,
        cursor: &Mutex<StateCursor>,
        context: &Context<'_>,
    ) -> Poll<Option<Result<Task, ClientError>>> {
        let mut known = self.known.lock();
        let mut cursor = cursor.lock();
        if let Some(task) = known.task.as_ref().filter(|_| known.version > cursor.version) {
            cursor.version = known.version;
            return Poll::Ready(Some(Ok(task.clone())));
        }
        let is_final = known.task.as_ref().is_some_and(|task| task.status.is_final());
        match &known.outcome {
            // The state says why.
            Some(Err(_)) if is_final => Poll::Ready(None),
            Some(Err(error)) if !std::mem::replace(&mut cursor.ended, true) => Poll::Ready(Some(Err(error.clone()))),
            Some(_) => Poll::Ready(None),
            None => {
                known.wait(context.waker());
                Poll::Pending
            }
        }
    }

    /// The outcome, once there is one.
    pub(in crate::client) async fn outcome(&self) -> Result<RawJson, ClientError> {
        wait(&self.known, |known| &mut known.wakers, |known| known.outcome.clone()).await
    }

    /// Wakes the waiters without holding the lock, if something changed.
    fn change(&self, change: impl FnOnce(&mut KnownTask) -> bool) {
        let wakers = {
            let mut known = self.known.lock();
            if change(&mut known) { std::mem::take(&mut known.wakers) } else { Vec::new() }
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl KnownTask {
    fn wait(&mut self, waker: &Waker) {
        if !self.wakers.iter().any(|other| other.will_wake(waker)) {
            self.wakers.push(waker.clone());
        }
    }
}

/// Stops following the task when its last handle is dropped.
pub(in crate::client) struct Handle(pub(in crate::client) Arc<ClientTaskState>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.end(ClientError::Cancelled);
    }
}
