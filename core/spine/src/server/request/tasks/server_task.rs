//! A task: its status, its result, and the input it waits for.

use super::task_view::{TaskResult, TaskView, related};
use crate::{
    counts::Holder,
    engine::{RequestTimeout, later},
    on_drop::OnDrop,
    protocol::{RawJson, Revision, RevisionFeature, RpcError, error::code, model::TaskStatus},
    race,
    runtime::{Promise, Runtime},
    server::{
        handlers::{Answer, CancelSent, Cancellation, ClientRequestError, InputRequest, TaskRun},
        request::request_keys::unused_key,
        session::{ServerState, TaskChange},
    },
    sync::Mutex,
};
use indexmap::IndexMap;
use serde_json::{Value, json};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The error for requests about a task that another process has taken over.
const ELSEWHERE: &str = "the task is at another process";

/// The creator of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct TaskOwner {
    pub(in crate::server) principal: String,
    /// The legacy session.
    pub(in crate::server) session: Option<u64>,
    /// The id of that session, by which other processes know it. Only HTTP sessions have one.
    pub(in crate::server) session_id: Option<String>,
}

/// A task. Its handler runs in this process.
pub(in crate::server) struct Task {
    pub(super) facts: TaskFacts,
    /// Weak, because the server owns its tasks.
    server: Weak<ServerState>,
    runtime: Arc<dyn Runtime>,
    /// The task continues in another process, so nothing that happens to it here is reported.
    handed_over: AtomicBool,
    /// Stores each change, if the server has a store.
    on_change: OnceLock<OnChange>,
    /// The latest progress. Locked before the state.
    progress: Mutex<Option<f64>>,
    state: Mutex<TaskState>,
}

/// Called with the task after each change.
type OnChange = Box<dyn Fn(&Arc<Task>) + Send + Sync>;

#[derive(Default)]
struct TaskState {
    view: TaskView,
    /// The state that clients see while the final one is not stored yet.
    before_end: Option<TaskView>,
    /// True once the end has been reported to clients.
    is_announced: bool,
    /// Set when the server takes no more requests, such as those that bring input.
    takes_no_requests: bool,
    open_requests: IndexMap<String, OpenInputRequest>,
    /// Keys are never used again (TKX-12).
    used: BTreeSet<String>,
    waiters: Vec<Arc<Waiter>>,
}

/// A client request of the task.
struct OpenInputRequest {
    request: InputRequest,
    timeout: RequestTimeout,
    on_response: InputCallback,
    /// In the legacy era: whether it was sent on the stream of a request for the result.
    is_sent: bool,
    /// Cancels it at the client.
    cancel: Option<CancelSent>,
    /// Kept when it ends.
    ended: Arc<Promise<()>>,
}

impl OpenInputRequest {
    /// Ends it without an answer of the client.
    fn give_up(self, error: ClientRequestError, reason: &str) {
        self.ended.keep(());
        if let Some(cancel) = self.cancel {
            cancel(reason);
        }
        (self.on_response)(Err(error));
    }
}

/// A request for the result of a task, on whose stream client requests can be sent.
pub(super) trait ResultRequest: Send + Sync {
    /// Returns whether they can be sent now.
    fn can_ask(&self) -> bool;
    /// Sends one, and validates the answer.
    fn ask(
        self: Arc<Self>,
        timeout: RequestTimeout,
        request: &InputRequest,
        on_response: InputCallback,
    ) -> Result<CancelSent, ClientRequestError>;
}

/// Something that waits for the end of the task.
struct Waiter {
    fetch: Option<Arc<dyn ResultRequest>>,
    /// Kept when the end is reported.
    ended: Promise<()>,
}

/// Called once with the validated answer to a client request.
type InputCallback = Box<dyn FnOnce(Result<Value, ClientRequestError>) + Send>;

/// The constant facts of a task.
pub(in crate::server) struct TaskFacts {
    pub(in crate::server) id: String,
    pub(in crate::server) number: u64,
    pub(in crate::server) owner: TaskOwner,
    pub(in crate::server) holder: Holder,
    /// The listener or conversation that the task ends with.
    pub(in crate::server) ends_with: Option<u64>,
    pub(in crate::server) cancellation: Cancellation,
    /// Time since the Unix epoch.
    pub(in crate::server) created: Duration,
    pub(in crate::server) ttl: Duration,
    pub(in crate::server) poll_interval: Duration,
    /// The current run, if the task restarts when its process ends.
    pub(in crate::server) run: Option<TaskRun>,
    /// True if the server has a store. The final state is stored before it is reported, because
    /// another worker might otherwise contradict it.
    pub(in crate::server) stored: bool,
}

impl TaskFacts {
    /// When the task expires, since the Unix epoch.
    pub(super) fn ends(&self) -> Duration {
        self.created.saturating_add(self.ttl)
    }
}

impl TaskState {
    /// Shows the open client requests to the client.
    fn requests_changed(&mut self, now: Duration) {
        let requests = self.open_requests.iter().map(|(key, open)| (key.clone(), open.request.to_json()));
        self.view.set_requests(requests.collect());
        self.view.touch(now);
    }
}

impl Task {
    pub(in crate::server) fn new(facts: TaskFacts, server: Weak<ServerState>, runtime: Arc<dyn Runtime>) -> Arc<Self> {
        let mut view = TaskView::new(&facts.id, facts.created, facts.ttl, facts.poll_interval);
        view.touch(runtime.unix_time());
        let state = Mutex::new(TaskState { view, ..TaskState::default() });
        let (handed_over, on_change, progress) = (AtomicBool::new(false), OnceLock::new(), Mutex::default());
        Arc::new(Self { facts, server, runtime, handed_over, on_change, progress, state })
    }

    /// Reports a change of a running task to the store and the clients.
    fn notify(self: &Arc<Self>) {
        if self.is_handed_over() {
            return;
        }
        self.write_down();
        self.notify_clients();
    }

    fn write_down(self: &Arc<Self>) {
        if let Some(on_change) = self.on_change.get() {
            on_change(self);
        }
    }

    /// Notifies subscribed clients of a change.
    fn notify_clients(&self) {
        if let Some(server) = self.server.upgrade() {
            let render = |revision| self.view().to_text(revision);
            let (id, session, latest) = (self.id(), self.facts.owner.session, OnceCell::new());
            server.listeners.task_changed(&TaskChange { id, session, render: &render, latest });
        }
    }

    /// Sets what stores each change, and stores the current state.
    pub(super) fn on_change(self: &Arc<Self>, on_change: OnChange) {
        self.on_change.get_or_init(|| on_change)(self);
    }

    pub(super) fn is_handed_over(&self) -> bool {
        self.handed_over.load(Ordering::Acquire)
    }

    pub(in crate::server) fn id(&self) -> &str {
        &self.facts.id
    }

    /// A principal sees its own tasks. Without one, a session sees its own tasks, and outside of
    /// sessions, anyone who knows the id, which cannot be guessed (TSK-33).
    pub(in crate::server) fn is_visible_to(&self, owner: &TaskOwner) -> bool {
        let same_session = owner.session.is_none() || owner.session == self.facts.owner.session;
        self.facts.owner.principal == owner.principal && (same_session || !owner.principal.is_empty())
    }

    /// Returns whether only its session can see the task.
    pub(in crate::server) fn ends_with_session(&self) -> bool {
        self.facts.owner.session.is_some() && self.facts.owner.principal.is_empty()
    }

    pub(in crate::server) fn is_final(&self) -> bool {
        self.state.lock().view.status().is_final()
    }

    /// Completes when the task is over and its end has been reported. In the legacy era, client
    /// requests are meanwhile sent on the stream of `fetch`, a request for the result (TSK-19).
    pub(super) async fn announced(self: &Arc<Self>, fetch: Option<Arc<dyn ResultRequest>>) {
        let waiter = Arc::new(Waiter { fetch, ended: Promise::default() });
        {
            let mut state = self.state.lock();
            if state.is_announced {
                return;
            }
            state.waiters.push(Arc::clone(&waiter));
        }
        let _gone = OnDrop::new(|| self.state.lock().waiters.retain(|other| !Arc::ptr_eq(other, &waiter)));
        self.send_open_requests();
        waiter.ended.kept().await;
    }

    /// The result of the request, related to the task, once the task is over (TSK-20).
    pub(super) async fn outcome(self: &Arc<Self>, fetch: Arc<dyn ResultRequest>) -> Result<RawJson, RpcError> {
        self.announced(Some(fetch)).await;
        match self.elsewhere() {
            Some(elsewhere) => Err(elsewhere),
            None => self.latest().outcome().ok_or_else(RpcError::internal)?,
        }
    }

    /// The error for requests about the task, if another process continues it.
    pub(super) fn elsewhere(&self) -> Option<RpcError> {
        self.is_handed_over().then(|| RpcError::busy(ELSEWHERE))
    }

    /// Returns whether the task is over, but its final state may not be stored yet.
    pub(super) fn is_ending(&self) -> bool {
        self.state.lock().before_end.is_some()
    }

    /// The task as clients see it (TKX-10, TKX-27).
    pub(super) fn view(&self) -> TaskView {
        let state = self.state.lock();
        state.before_end.as_ref().unwrap_or(&state.view).clone()
    }

    /// The current state, for the store.
    pub(super) fn latest(&self) -> TaskView {
        self.state.lock().view.clone()
    }

    /// Sets the status message.
    pub(in crate::server) fn set_message(self: &Arc<Self>, message: &str) {
        {
            let mut state = self.state.lock();
            if state.view.status().is_final() {
                return;
            }
            state.view.set_message(message);
            state.view.touch(self.runtime.unix_time());
        }
        self.notify();
    }

    /// Sends progress with `report`, if the value increased and the task is still running (PRG-07).
    /// Higher values and the end of the task wait until it is sent.
    pub(in crate::server) fn advance(&self, progress: f64, report: impl FnOnce()) {
        let mut last = self.progress.lock();
        let rises = progress.is_finite() && last.is_none_or(|last| progress > last);
        if rises && !self.is_final() {
            *last = Some(progress);
            report();
        }
    }

    /// Finishes the task. Returns `false` if it is already over, which never changes (TSK-13).
    pub(super) fn finish(self: &Arc<Self>, outcome: Result<RawJson, RpcError>) -> bool {
        let status = if outcome.is_ok() { TaskStatus::Completed } else { TaskStatus::Failed };
        self.end(status, outcome)
    }

    /// Cancels the task and its handler (TSK-30). Returns `false` if the task is already over.
    pub(in crate::server) fn cancel(self: &Arc<Self>, reason: &str) -> bool {
        let ended = self.end(TaskStatus::Cancelled, Err(RpcError::invalid_request("The task was cancelled")));
        if ended {
            self.facts.cancellation.cancel(reason);
        }
        ended
    }

    /// Called when the process ends. A task that restarts elsewhere is left as it is; any other
    /// fails.
    pub(super) fn leave(self: &Arc<Self>, reason: &str) {
        match self.facts.run.is_some() && self.on_change.get().is_some() && !self.is_final() {
            true => self.hand_over(reason),
            false if self.end(TaskStatus::Failed, Err(RpcError::interrupted())) => {
                self.facts.cancellation.cancel(reason);
            }
            false => {}
        }
    }

    /// Stops the task here without reporting it, because another process has taken it over or will
    /// do so.
    pub(super) fn hand_over(self: &Arc<Self>, reason: &str) {
        self.handed_over.store(true, Ordering::Release);
        match self.end(TaskStatus::Cancelled, Err(RpcError::busy(ELSEWHERE))) {
            true => self.facts.cancellation.cancel(reason),
            // The task may also have ended here, without a store.
            false => self.announce_end(),
        }
    }

    /// Called when the server takes no more requests: if the task waits for input that only a
    /// request could bring, now or later, it ends.
    pub(super) fn refuse_input(self: &Arc<Self>) {
        self.state.lock().takes_no_requests = true;
        self.send_open_requests();
    }

    fn end(self: &Arc<Self>, status: TaskStatus, outcome: Result<RawJson, RpcError>) -> bool {
        let outcome = outcome.map(TaskResult::from);
        let announced_later = self.facts.stored && !self.is_handed_over();
        let open_requests = {
            let _reported = self.progress.lock();
            let mut state = self.state.lock();
            if !state.view.status().may_become(status) {
                return false;
            }
            state.before_end = announced_later.then(|| state.view.clone());
            state.view.end(status, outcome, self.runtime.unix_time());
            mem::take(&mut state.open_requests)
        };
        for open in open_requests.into_values() {
            open.give_up(ClientRequestError::Cancelled, "the task is over");
        }
        match announced_later {
            true => self.write_down(),
            false => self.announce_end(),
        }
        true
    }

    /// Reports the end to clients, if the task is over. If there is a store, it must have the final
    /// state by now.
    pub(super) fn announce_end(&self) {
        let waiters = {
            let mut state = self.state.lock();
            if !state.view.status().is_final() || mem::replace(&mut state.is_announced, true) {
                return;
            }
            state.before_end = None;
            mem::take(&mut state.waiters)
        };
        if !self.is_handed_over() {
            self.notify_clients();
        }
        waiters.iter().for_each(|waiter| waiter.ended.keep(()));
    }

    /// Relates a message to the task (TSK-15).
    ///
    /// # Errors
    /// If the message is not an object.
    pub(in crate::server) fn related(&self, message: &RawJson) -> Result<RawJson, RpcError> {
        related(message, self.id())
    }

    /// Sends a client request, which the task waits for (TSK-14).
    ///
    /// # Errors
    /// If the task is over, or was restarted.
    pub(in crate::server) fn ask(
        self: &Arc<Self>,
        key: &str,
        mut request: InputRequest,
        timeout: RequestTimeout,
        on_response: InputCallback,
    ) -> Result<CancelSent, ClientRequestError> {
        // The client may have answered an earlier run, whose process has ended.
        if self.facts.run.as_ref().is_some_and(|run| run.number > 1) {
            return Err(ClientRequestError::Refused(cannot_ask_again(request.kind.method())));
        }
        let ended = Arc::<Promise<()>>::default();
        let key = {
            let mut state = self.state.lock();
            if state.view.status().is_final() {
                return Err(ClientRequestError::Cancelled);
            }
            let key = unused_key(&mut state.used, key);
            if self.is_of_session() {
                let params = self.related(&RawJson::object(&request.params)).ok();
                request.params = params.and_then(|params| params.parse().ok()).unwrap_or(request.params);
            }
            let (is_sent, cancel, ended) = (false, None, Arc::clone(&ended));
            let open = OpenInputRequest { request, timeout, on_response, is_sent, cancel, ended };
            state.open_requests.insert(key.clone(), open);
            state.requests_changed(self.runtime.unix_time());
            key
        };
        self.notify();
        self.send_open_requests();
        self.give_up_later(key.clone(), timeout, ended);
        let task = Arc::clone(self);
        Ok(Arc::new(move |reason: &str| task.give_up(&key, ClientRequestError::Cancelled, reason)))
    }

    fn give_up_later(self: &Arc<Self>, key: String, timeout: RequestTimeout, ended: Arc<Promise<()>>) {
        let task = Arc::downgrade(self);
        let runtime = Arc::clone(&self.runtime);
        let until = later(runtime.now(), timeout.timeout);
        self.runtime.spawn(Box::pin(async move {
            if race::unless(ended.kept(), runtime.sleep_until(until)).await.is_some()
                && let Some(task) = task.upgrade()
            {
                task.give_up(&key, ClientRequestError::Timeout, "timed out");
            }
        }));
    }

    /// In the legacy era, requests are sent on the stream of a request for the result (TSK-19).
    fn send_open_requests(self: &Arc<Self>) {
        let (context, unsent) = {
            let mut state = self.state.lock();
            let mut fetches = state.waiters.iter().filter_map(|waiter| waiter.fetch.clone());
            let Some(context) = fetches.find(|context| context.can_ask()) else {
                let waits = state.takes_no_requests && !state.open_requests.is_empty();
                drop(state);
                // With a store, other processes pass on the answers that they get.
                if waits && !self.facts.stored {
                    self.leave("the server is closing");
                }
                return;
            };
            let unsent = state.open_requests.iter_mut().filter(|(_, open)| !open.is_sent);
            let unsent: Vec<_> = unsent
                .map(|(key, open)| {
                    open.is_sent = true;
                    (key.clone(), open.request.clone(), open.timeout)
                })
                .collect();
            (context, unsent)
        };
        for (key, request, timeout) in unsent {
            let task = Arc::clone(self);
            let name = key.clone();
            let on_response = Box::new(move |answer| task.answered_or_unsent(&name, answer));
            match Arc::clone(&context).ask(timeout, &request, on_response) {
                Ok(cancel) => self.sent(&key, cancel),
                Err(error) => self.answered_or_unsent(&key, Err(error)),
            }
        }
    }

    /// Called when a client request was sent. Cancels it if it was withdrawn meanwhile.
    fn sent(&self, key: &str, cancel: CancelSent) {
        {
            let mut state = self.state.lock();
            if let Some(open) = state.open_requests.get_mut(key) {
                // Otherwise, it is lost already, and is sent on another stream.
                if open.is_sent {
                    open.cancel = Some(cancel);
                }
                return;
            }
        }
        cancel("it was withdrawn");
    }

    /// A request whose stream was lost is sent on another one, now or later.
    fn answered_or_unsent(self: &Arc<Self>, key: &str, answer: Result<Value, ClientRequestError>) {
        match answer {
            Err(ClientRequestError::Cancelled | ClientRequestError::Closed | ClientRequestError::NotReachable) => {
                if let Some(open) = self.state.lock().open_requests.get_mut(key) {
                    (open.is_sent, open.cancel) = (false, None);
                }
                self.send_open_requests();
            }
            answer => self.answered(key, answer),
        }
    }

    /// Completes a client request.
    fn answered(self: &Arc<Self>, key: &str, answer: Result<Value, ClientRequestError>) {
        if let Some(open) = self.take_open(key) {
            if let Some(cancel) = open.cancel {
                cancel("it was answered");
            }
            (open.on_response)(answer);
        }
    }

    /// Completes a client request without an answer, and cancels it at the client.
    pub(in crate::server::request) fn give_up(self: &Arc<Self>, key: &str, error: ClientRequestError, reason: &str) {
        if let Some(open) = self.take_open(key) {
            open.give_up(error, reason);
        }
    }

    /// Removes an open client request. After the last one, the task continues.
    fn take_open(self: &Arc<Self>, key: &str) -> Option<OpenInputRequest> {
        let open = {
            let mut state = self.state.lock();
            let open = state.open_requests.shift_remove(key)?;
            open.ended.keep(());
            state.requests_changed(self.runtime.unix_time());
            open
        };
        self.notify();
        Some(open)
    }

    /// Processes the client's answers. Keys that are not open are ignored (TKX-18), and so are
    /// responses of the wrong type.
    pub(super) fn take_answers(self: &Arc<Self>, answers: BTreeMap<String, Answer>) {
        for (key, answer) in answers {
            let request = self.state.lock().open_requests.get(&key).map(|open| open.request.clone());
            match request.map(|request| request.read(answer)) {
                None | Some(Err(ClientRequestError::Suspended)) => {}
                Some(answer) => self.answered(&key, answer),
            }
        }
    }

    /// Returns whether the task was created in a legacy session.
    pub(in crate::server) fn is_of_session(&self) -> bool {
        self.facts.owner.session.is_some()
    }

    /// Returns whether this revision uses the core form of tasks.
    pub(in crate::server) fn is_core(revision: Revision) -> bool {
        revision.supports(RevisionFeature::CoreTasks)
    }
}

/// The error of a client request of a restarted task.
fn cannot_ask_again(method: &str) -> RpcError {
    let text = format!(
        "{method}: the task was restarted because its process ended, and a restarted task cannot ask its client. Call the tool again"
    );
    RpcError::new(code::INTERNAL_ERROR, text).with_data(json!({"reason": "restarted"}))
}
