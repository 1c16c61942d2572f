//! Forwards requests of a legacy server to the proxy's caller, through the call being served and in
//! the form of the caller's era.

use super::{
    shares::{pass_log, pass_progress},
    watching::MountPoint,
};
use std::{
    future::poll_fn,
    ops::ControlFlow,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};
use trunkline_core::{
    client::{ClientError, ClientEvents, ProgressHook},
    extension::{PassingHandler, Promise, Watched, on_drop::OnDrop, race::until, random::unguessable, sync::Mutex},
    protocol::{RawJson, RpcError, method, model::ElicitationComplete},
    runtime::Runtime,
    server::{CallInfo, ClientRequest, ClientRequestError, PendingClientRequest},
};

/// How long a round waits for further requests to the caller after the first one.
const ROUND_DELAY: Duration = Duration::from_millis(50);
/// Maximum pending requests to the caller in one call.
const MAX_QUESTIONS: usize = 64;

/// The calls in flight on a connection. They all belong to one caller.
pub(super) struct ActiveCalls {
    mount_point: MountPoint,
    calls: Mutex<Vec<Arc<ProxiedCall>>>,
}

/// A forwarded call. On 2026-07-28, it outlives the request that started it, because the caller
/// sends the answers to the server's requests in another round.
pub(super) struct ProxiedCall {
    pub(super) id: String,
    /// Completes when the call is cancelled.
    pub(super) stop: Promise<()>,
    state: Watched<ProxiedCallState>,
}

#[derive(Default)]
struct ProxiedCallState {
    /// The caller's current request for the call.
    current: Option<CallInfo>,
    questions: Vec<Arc<Question>>,
    /// Number of questions so far.
    question_count: u64,
    outcome: Option<Result<RawJson, ClientError>>,
    has_ended: bool,
}

/// A request of the server to the caller.
struct Question {
    key: String,
    method: String,
    params: RawJson,
    /// `None` if the call ended first.
    answer: Promise<Option<Result<RawJson, RpcError>>>,
    /// True if the question has been passed to the caller's current request.
    is_put: AtomicBool,
    /// The pending request to the caller, for cancelling it.
    pending: Mutex<Option<(CallInfo, PendingClientRequest)>>,
}

impl ActiveCalls {
    pub(super) fn new(mount_point: MountPoint) -> Arc<Self> {
        Arc::new(Self { mount_point, calls: Mutex::default() })
    }

    pub(super) fn add(&self, call: &Arc<ProxiedCall>) {
        self.calls.lock().push(Arc::clone(call));
    }

    pub(super) fn remove(&self, call: &Arc<ProxiedCall>) {
        self.calls.lock().retain(|other| !Arc::ptr_eq(other, call));
    }

    /// Asks the caller. On a pipe, a server's message does not say which call it belongs to, but
    /// all calls of the connection have the same caller, so the newest call asks.
    pub(super) async fn ask(&self, method: String, params: RawJson) -> Result<RawJson, RpcError> {
        loop {
            let newest = self.calls.lock().last().cloned();
            let Some(call) = newest else {
                let text = format!("{method} belongs to no call: the proxy has no client to ask");
                return Err(RpcError::invalid_request(text));
            };
            // If the call ended before the answer arrived, try another one: its result and a
            // question for another call may arrive together.
            if let Some(answer) = call.ask(&method, &params).await {
                return answer;
            }
        }
    }
}

impl ClientEvents for ActiveCalls {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        match method {
            method::LOG_MESSAGE => {
                let newest = self.calls.lock().last().cloned();
                if let Some(info) = newest.and_then(|call| call.state.with(|state| state.current.clone())) {
                    pass_log(&info, params);
                }
            }
            method::ELICITATION_COMPLETE => {
                let complete = params.and_then(|params| params.read::<ElicitationComplete>().ok());
                if let (Some(complete), Some(server)) = (complete, self.mount_point.server.upgrade()) {
                    server.elicitation_complete(&complete.elicitation_id);
                }
            }
            _ => {}
        }
    }
}

impl ProxiedCall {
    /// Returns `None` if the system has no random numbers.
    pub(super) fn new() -> Option<Arc<Self>> {
        Some(Arc::new(Self { id: unguessable()?, stop: Promise::default(), state: Watched::default() }))
    }

    /// Records the outcome of the forwarded request. Unanswered questions are left to other calls,
    /// so this call must already have been removed from the active ones.
    pub(super) fn finish(&self, outcome: Result<RawJson, ClientError>) {
        let left = self.state.change(|state| {
            state.outcome = Some(outcome);
            state.has_ended = true;
            std::mem::take(&mut state.questions)
        });
        left.iter().for_each(|question| question.answer.keep(None));
    }

    /// Returns whether the server waits for an answer.
    pub(super) fn is_asking(&self) -> bool {
        self.state.with(|state| !state.questions.is_empty())
    }

    /// Passes progress from the server to the caller, if it asked for it.
    pub(super) fn progress_for(self: &Arc<Self>, info: &CallInfo) -> Option<ProgressHook> {
        info.request_info().progress_token.as_ref()?;
        let reporting = Arc::downgrade(self);
        Some(Arc::new(move |params: &RawJson| {
            let current = reporting.upgrade().and_then(|call| call.state.with(|state| state.current.clone()));
            if let Some(info) = current {
                pass_progress(&info, params);
            }
        }))
    }

    /// Serves the call with a request of the caller until there is an outcome. Returns `None` if
    /// the caller has to answer first, in another round.
    pub(super) async fn drive(
        self: &Arc<Self>,
        info: &CallInfo,
        runtime: &dyn Runtime,
    ) -> Option<Result<RawJson, ClientError>> {
        self.state.with(|state| {
            state.current = Some(info.clone());
            state.questions.iter().for_each(|question| question.is_put.store(false, Ordering::Release));
        });
        let mut round_ends = None;
        loop {
            // Requests that a server sends at the same time share a round.
            let step = match round_ends {
                Some(end) => until(runtime, end, self.step()).await?,
                None => self.step().await,
            };
            match step {
                ControlFlow::Break(outcome) => return Some(outcome),
                ControlFlow::Continue(questions) => {
                    for question in questions {
                        if self.ask_caller(&question, info) && round_ends.is_none() {
                            round_ends = Some(runtime.now() + ROUND_DELAY);
                        }
                    }
                }
            }
        }
    }

    /// The answer of the caller. `None` if the call ended first.
    pub(super) async fn ask(self: Arc<Self>, method: &str, params: &RawJson) -> Option<Result<RawJson, RpcError>> {
        let question = match self.put(method, params) {
            Ok(question) => question,
            Err(error) => return Some(Err(error)),
        };
        // Without an answer, the question is withdrawn.
        let _withdraw = OnDrop::new(|| self.withdraw(&question));
        question.answer.kept().await
    }

    /// Asks the caller for a task, while the call lasts.
    pub(super) fn passing_handler(self: &Arc<Self>) -> PassingHandler {
        let weak = Arc::downgrade(self);
        Arc::new(move |method, params| {
            let (weak, method) = (Weak::clone(&weak), method.to_owned());
            Box::pin(async move {
                let answer = match weak.upgrade() {
                    Some(call) => call.ask(&method, &params).await,
                    None => None,
                };
                answer.unwrap_or_else(|| Err(RpcError::invalid_request("the call is over")))
            })
        })
    }

    /// Waits for the outcome, or for questions to put to the caller first.
    async fn step(&self) -> ControlFlow<Result<RawJson, ClientError>, Vec<Arc<Question>>> {
        let look = |state: &mut ProxiedCallState| {
            if let Some(outcome) = state.outcome.take() {
                return Poll::Ready(ControlFlow::Break(outcome));
            }
            let fresh = |question: &&Arc<Question>| !question.is_put.swap(true, Ordering::AcqRel);
            let questions: Vec<_> = state.questions.iter().filter(fresh).cloned().collect();
            if questions.is_empty() { Poll::Pending } else { Poll::Ready(ControlFlow::Continue(questions)) }
        };
        poll_fn(|context| self.state.poll(context, look)).await
    }

    /// Asks the caller. Returns `true` if the answer will come in another round.
    fn ask_caller(self: &Arc<Self>, question: &Arc<Question>, info: &CallInfo) -> bool {
        let (call, answered) = (Arc::clone(self), Arc::clone(question));
        let on_response = move |answer: Result<RawJson, ClientRequestError>| {
            call.answered(&answered, answer.map_err(ClientRequestError::into_rpc));
        };
        let Question { method, key, params, .. } = &**question;
        let timeout = info.timeout_for(method);
        let request = ClientRequest { method, key: Some(key), params: Some(params), timeout, max: timeout };
        match info.ask(request, on_response) {
            Ok(pending) => {
                *question.pending.lock() = Some((info.clone(), pending));
                false
            }
            Err(ClientRequestError::Suspended) => true,
            Err(error) => {
                self.answered(question, Err(error.into_rpc()));
                false
            }
        }
    }

    fn put(&self, method: &str, params: &RawJson) -> Result<Arc<Question>, RpcError> {
        self.state.change(|state| {
            if state.questions.len() >= MAX_QUESTIONS {
                return Err(RpcError::busy(&format!(
                    "{MAX_QUESTIONS} requests to the client of one call are already pending"
                )));
            }
            state.question_count += 1;
            let question = Arc::new(Question {
                key: format!("proxied-{}", state.question_count),
                method: method.to_owned(),
                params: params.clone(),
                answer: Promise::default(),
                is_put: AtomicBool::new(false),
                pending: Mutex::default(),
            });
            if state.has_ended {
                question.answer.keep(None);
            } else {
                state.questions.push(Arc::clone(&question));
            }
            Ok(question)
        })
    }

    fn answered(&self, question: &Arc<Question>, answer: Result<RawJson, RpcError>) {
        self.forget(question);
        question.answer.keep(Some(answer));
    }

    fn forget(&self, question: &Arc<Question>) {
        self.state.with(|state| state.questions.retain(|other| !Arc::ptr_eq(other, question)));
    }

    fn withdraw(&self, question: &Arc<Question>) {
        self.forget(question);
        let pending = question.pending.lock().take();
        if let Some((info, pending)) = pending {
            // Has no effect if it was answered.
            info.cancel_client_request(&pending, "the server no longer needs the response");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use trunkline_core::server::Server;

    #[tokio::test]
    async fn a_question_outlives_the_call_that_it_was_put_to() {
        let server = Server::builder("outside", "1.0.0").build();
        let calls = ActiveCalls::new(MountPoint { server: server.downgrade(), prefix: String::new() });
        let [older, newer] = [(); 2].map(|()| ProxiedCall::new().unwrap());
        calls.add(&older);
        calls.add(&newer);
        let object = || RawJson::from_value(&serde_json::json!({})).unwrap();
        let mut asking = pin!(calls.ask(method::ELICITATION_CREATE.to_owned(), object()));
        let questions = |call: &ProxiedCall| call.state.with(|state| state.questions.clone());
        for (call, other) in [(&newer, &older), (&older, &newer)] {
            tokio::select! {
                biased;
                answer = asking.as_mut() => panic!("{answer:?}"),
                () = std::future::ready(()) => {}
            }
            assert_eq!((questions(call).len(), questions(other).len()), (1, 0));
            if Arc::ptr_eq(call, &newer) {
                calls.remove(&newer);
                newer.finish(Err(ClientError::Cancelled));
            }
        }
        older.answered(&questions(&older)[0], Ok(object()));
        assert!(asking.await.is_ok());
    }

    #[tokio::test]
    async fn a_question_that_is_left_alone_is_refused() {
        let server = Server::builder("outside", "1.0.0").build();
        let calls = ActiveCalls::new(MountPoint { server: server.downgrade(), prefix: String::new() });
        let only = ProxiedCall::new().unwrap();
        calls.add(&only);
        let params = RawJson::from_value(&serde_json::json!({})).unwrap();
        let asking = calls.ask(method::ELICITATION_CREATE.to_owned(), params);
        let ending = async {
            calls.remove(&only);
            only.finish(Err(ClientError::Cancelled));
        };
        let (answer, ()) = tokio::join!(asking, ending);
        assert!(answer.unwrap_err().message.contains("belongs to no call"));
    }
}
