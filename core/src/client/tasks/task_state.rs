//! The state of a task as this side knows it, and those who wait for it.

use crate::{
    client::error::ClientError,
    protocol::{
        RawJson,
        model::{Task, TaskStatus},
    },
    runtime::Promise,
    sync::Mutex,
};
use std::{
    any::Any,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// The state of one task, shared by its handle, by the loop that polls for it, and by the receiver
/// of notifications.
pub(in crate::client) struct ClientTaskState {
    known: Mutex<KnownTask>,
    /// Kept when a notification brought something new: the next poll does not wait.
    pub(super) poll_now: Promise<()>,
    /// Kept when nobody wants the task any more.
    pub(super) stop: Promise<()>,
}

#[derive(Default)]
struct KnownTask {
    /// `None`: the server answered at once, and there is no task.
    task: Option<Task>,
    /// Counts the changes.
    version: u64,
    outcome: Option<Result<RawJson, ClientError>>,
    /// The notifications of the task (the extension).
    subscription: Option<HeldTask>,
    wakers: Vec<Waker>,
}

/// Something that ends when it is dropped.
type HeldTask = Box<dyn Any + Send + Sync>;

/// The place of a reader of states.
#[derive(Default)]
pub(super) struct StateCursor {
    version: u64,
    /// The error with which the task ended was given.
    ended: bool,
}

impl ClientTaskState {
    pub(super) fn new(task: Task) -> Self {
        Self::with(KnownTask { task: Some(task), version: 1, ..KnownTask::default() })
    }

    /// The state of a call that the server answered at once.
    pub(super) fn answered(result: RawJson) -> Self {
        Self::with(KnownTask { outcome: Some(Ok(result)), ..KnownTask::default() })
    }

    fn with(known: KnownTask) -> Self {
        Self { known: Mutex::new(known), poll_now: Promise::default(), stop: Promise::default() }
    }

    pub(super) fn task(&self) -> Option<Task> {
        self.known.lock().task.clone()
    }

    pub(super) fn status(&self) -> TaskStatus {
        self.known.lock().task.as_ref().map_or(TaskStatus::Completed, |task| task.status)
    }

    /// Takes what the server reports. A final task changes no more (TSK-13, TKX-28), and what was
    /// sent before the latest state changes nothing.
    pub(super) fn apply(&self, task: Task) {
        self.change(|known| {
            let is_news = known.task.as_ref().is_none_or(|now| {
                let older = task.last_updated_at.len() == now.last_updated_at.len()
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

    /// Ends the task for those who wait, unless it has ended. The subscription ends with it.
    pub(super) fn finish(&self, outcome: Result<RawJson, ClientError>) {
        let mut subscription = None;
        self.change(|known| {
            subscription = known.subscription.take();
            let open = known.outcome.is_none();
            if open {
                known.outcome = Some(outcome);
            }
            open
        });
        drop(subscription);
    }

    /// Keeps the subscription for as long as the task goes on.
    pub(super) fn hold(&self, subscription: HeldTask) {
        let mut too_late = Some(subscription);
        let mut known = self.known.lock();
        if known.outcome.is_none() {
            known.subscription = too_late.take();
        }
        // A subscription that ends sends a message: not with the lock held.
        drop(known);
        drop(too_late);
    }

    /// Ends everything: the handle is gone, or the connection.
    pub(in crate::client) fn end(&self, error: ClientError) {
        self.finish(Err(error));
        self.stop.keep(());
    }

    /// The next state that a reader has not seen. States that were followed by others meanwhile are
    /// passed over.
    pub(super) fn poll_next(
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
    pub(super) async fn outcome(&self) -> Result<RawJson, ClientError> {
        poll_fn(|context| {
            let mut known = self.known.lock();
            if let Some(outcome) = &known.outcome {
                return Poll::Ready(outcome.clone());
            }
            known.wait(context.waker());
            Poll::Pending
        })
        .await
    }

    /// Wakes those who wait, with no lock held, if something changed.
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

/// Ends the task on this side when its handle is gone.
pub(super) struct Handle(pub(super) Arc<ClientTaskState>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.end(ClientError::Cancelled);
    }
}
