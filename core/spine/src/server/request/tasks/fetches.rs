//! Requests for the result of a task at other workers than its own. The worker of the task lets
//! them send its client requests (TSK-19).

use super::{
    record::TaskRecord,
    server_task::{Sender, Task},
    stored::{POLL_INTERVAL, RENEWAL_INTERVAL, StoredTasks, TaskMessage},
};
use crate::{
    engine::{RequestTimeout, later},
    on_drop::OnDrop,
    protocol::{RawJson, RpcError},
    server::{
        handlers::{Answer, CancelSent, ClientRequestError, InputKind, InputRequest},
        request::active_request::ActiveRequest,
    },
    sync::Mutex,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// A client can have thousands of requests for results, whose calls to the store must not delay
/// those of others.
const MAX_CONCURRENT_LOOKUPS: usize = 16;
/// The wait before a client's answer is passed on again, after the store failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The pending requests at this worker for results of tasks elsewhere.
#[derive(Default)]
pub(super) struct Fetches(Mutex<FetchTable>);

#[derive(Default)]
struct FetchTable {
    next: u64,
    pending: BTreeMap<u64, Weak<ActiveRequest>>,
    /// Number of requests for results that are looking at their tasks.
    looking: usize,
    /// The client requests of tasks elsewhere, by task and key; `None` while they are being sent.
    sent: HashMap<(String, String), Option<CancelSent>>,
}

/// A client request of a task, which another worker sends.
#[derive(Serialize, Deserialize)]
pub(super) struct ForwardedRequest {
    /// The number of the request for the result, at the worker that sends it.
    fetch: u64,
    of: RequestOfTask,
    kind: InputKind,
    params: Value,
    timeout: Duration,
    max: Duration,
}

/// Which request of which task it is.
#[derive(Clone, Serialize, Deserialize)]
struct RequestOfTask {
    task: String,
    key: String,
    /// The worker of the task.
    worker: String,
}

impl StoredTasks {
    /// The result or error of the request of a task elsewhere, once it is over (TSK-20). `context`
    /// is the request for it. While the task waits for input, it offers to the task's worker to
    /// send the client requests on its stream.
    pub(super) async fn outcome_elsewhere(
        self: &Arc<Self>,
        mut record: TaskRecord,
        context: &Arc<ActiveRequest>,
    ) -> Result<RawJson, RpcError> {
        let fetch = {
            let mut table = self.fetches.0.lock();
            let fetch = table.next;
            table.next += 1;
            table.pending.insert(fetch, Arc::downgrade(context));
            fetch
        };
        let _pending = OnDrop::new(|| drop(self.fetches.0.lock().pending.remove(&fetch)));
        let (runtime, owner) = (&self.runtime, context.owner());
        let mut offered: Option<(Vec<String>, Instant)> = None;
        while !record.is_final() {
            let keys = record.task.request_keys();
            let is_offered = offered.as_ref().is_some_and(|(before, until)| *before == keys && runtime.now() < *until);
            if !keys.is_empty() && context.can_ask() && !is_offered {
                // Offer again later: the worker that sends them now may lose its stream.
                offered = Some((keys, later(runtime.now(), RENEWAL_INTERVAL)));
                let (task, worker) = (record.id().to_owned(), self.worker.clone());
                self.send(&record.worker, &TaskMessage::Fetch { task, worker, fetch }).await?;
            }
            let _looking = self.next_look().await;
            record = self.find(record.id(), &owner).await?;
        }
        record.task.outcome().ok_or_else(RpcError::internal)?
    }

    /// Waits before the next look at a task, which counts until the returned guard is dropped.
    async fn next_look(&self) -> OnDrop<impl FnOnce()> {
        loop {
            self.runtime.sleep_until(later(self.runtime.now(), POLL_INTERVAL)).await;
            let mut table = self.fetches.0.lock();
            if table.looking < MAX_CONCURRENT_LOOKUPS {
                table.looking += 1;
                return OnDrop::new(|| self.fetches.0.lock().looking -= 1);
            }
        }
    }

    /// Lets a request for the result, at another worker, send the client requests that nobody has
    /// sent yet.
    pub(super) fn send_elsewhere(self: &Arc<Self>, task: &Arc<Task>, worker: String, fetch: u64) {
        let unsent = task.take_unsent(&Sender::Worker(worker.clone()));
        if unsent.is_empty() {
            return;
        }
        let (this, task) = (Arc::clone(self), Arc::clone(task));
        self.runtime.spawn(Box::pin(async move {
            for (key, InputRequest { kind, params }, RequestTimeout { timeout, max }) in unsent {
                let of = RequestOfTask { task: task.id().to_owned(), key: key.clone(), worker: this.worker.clone() };
                let forwarded = ForwardedRequest { fetch, of, kind, params, timeout, max };
                if this.send(&worker, &TaskMessage::Send(forwarded)).await.is_err() {
                    task.not_sent_by(&worker, Some(&key));
                    continue;
                }
                let (stored, sender) = (Arc::downgrade(&this), Sender::Worker(worker.clone()));
                let (to, of) = (worker.clone(), (task.id().to_owned(), key.clone()));
                let cancel = move |reason: &str| {
                    if let Some(stored) = stored.upgrade() {
                        let ((task, key), reason) = (of.clone(), reason.to_owned());
                        stored.send_within(to.clone(), TaskMessage::Withdraw { task, key, reason }, timeout);
                    }
                };
                task.sent(&key, &sender, Arc::new(cancel));
            }
            if task.begin_watching(&worker) {
                let (stored, watched) = (Arc::downgrade(&this), Arc::downgrade(&task));
                drop((this, task));
                watch_sender(stored, watched, worker).await;
            }
        }));
    }

    /// Sends a client request of a task of another worker, on the stream of a request for its
    /// result.
    pub(super) fn send_here(self: &Arc<Self>, forwarded: ForwardedRequest) {
        let ForwardedRequest { fetch, of, kind, params, timeout, max } = forwarded;
        let name = (of.task.clone(), of.key.clone());
        let context = {
            let mut table = self.fetches.0.lock();
            table.sent.insert(name.clone(), None);
            table.pending.get(&fetch).and_then(Weak::upgrade)
        };
        let stored = Arc::downgrade(self);
        let pass_on = move |answer| {
            if let Some(stored) = stored.upgrade() {
                stored.pass_on(of, answer, timeout);
            }
        };
        let sent = match context.filter(|context| context.can_ask()) {
            Some(context) => {
                let (timeout, request) = (RequestTimeout { timeout, max }, InputRequest { kind, params });
                let sent = context.send_input_request(timeout, &request, Box::new(pass_on.clone()));
                sent.map(|cancel| self.sent_here(&name, cancel))
            }
            None => Err(ClientRequestError::NotReachable),
        };
        if let Err(error) = sent {
            pass_on(Err(error));
        }
    }

    /// Called when a client request was sent here. Cancels it if it was withdrawn meanwhile.
    fn sent_here(&self, name: &(String, String), cancel: CancelSent) {
        {
            let mut table = self.fetches.0.lock();
            if let Some(entry) = table.sent.get_mut(name) {
                *entry = Some(cancel);
                return;
            }
        }
        cancel("it was withdrawn");
    }

    /// Cancels a client request of a task elsewhere that was sent here.
    pub(super) fn withdraw_here(&self, task: String, key: String, reason: &str) {
        let sent = self.fetches.0.lock().sent.remove(&(task, key)).flatten();
        if let Some(cancel) = sent {
            cancel(reason);
        }
    }

    /// Passes a client's answer to the worker of the task, which waits for it at most this long.
    fn pass_on(self: Arc<Self>, of: RequestOfTask, answer: Result<Value, ClientRequestError>, limit: Duration) {
        let RequestOfTask { task, key, worker } = of;
        let name = (task, key);
        // The task has withdrawn it.
        if self.fetches.0.lock().sent.remove(&name).is_none() {
            return;
        }
        let (task, key) = name;
        let answer = match answer {
            Ok(value) => Answer::Given(value),
            Err(ClientRequestError::Refused(error)) => Answer::Refused(error),
            Err(ClientRequestError::Invalid(problem)) => Answer::Unfit(problem),
            Err(ClientRequestError::Cancelled | ClientRequestError::Closed | ClientRequestError::NotReachable) => {
                let message = TaskMessage::NotSent { task, key, worker: self.worker.clone() };
                return self.send_within(worker, message, limit);
            }
            // The worker of the task has begun to wait earlier, so it has given up by now.
            Err(ClientRequestError::Timeout | ClientRequestError::Suspended) => return,
        };
        self.send_within(worker, TaskMessage::Answer { task, key, answer }, limit);
    }

    /// Sends a message to a worker once the store is available.
    fn send_within(self: Arc<Self>, worker: String, message: TaskMessage, limit: Duration) {
        let runtime = Arc::clone(&self.runtime);
        let until = later(runtime.now(), limit);
        Arc::clone(&runtime).spawn(Box::pin(async move {
            while self.send(&worker, &message).await.is_err() && runtime.now() < until {
                runtime.sleep_until(later(runtime.now(), RETRY_DELAY)).await;
            }
        }));
    }
}

/// Lets others send the client requests that a worker had sent when it died.
async fn watch_sender(stored: Weak<StoredTasks>, task: Weak<Task>, worker: String) {
    loop {
        let Some(runtime) = stored.upgrade().map(|stored| Arc::clone(&stored.runtime)) else { return };
        runtime.sleep_until(later(runtime.now(), RENEWAL_INTERVAL)).await;
        let (Some(stored), Some(task)) = (stored.upgrade(), task.upgrade()) else { return };
        if !task.keeps_watching(&worker) {
            return;
        }
        if matches!(stored.lives(&worker).await, Ok(false)) {
            task.not_sent_by(&worker, None);
        }
    }
}
