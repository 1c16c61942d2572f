//! Requests of the page to the server.

use super::{
    hub::{KeptCall, text_of},
    inspector::Inspector,
    state::{Call, CallState, ConnectionState, Content, Era, Increment, MAX_PART, Progress, beginning, now},
};
use crate::{
    connection::Connection,
    exit::Exit,
    failure::{Failure, Problem},
};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    sync::{Arc, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;
use trunkline::{
    ClientError, RequestOptions,
    client::ClientTask,
    protocol::{RawJson, model::Progress as ServerProgress},
};

/// Maximum calls at once.
const MAX_RUNNING: usize = 64;
/// Maximum time of a task that a person waits for.
const MAX_TASK: Duration = Duration::from_secs(24 * 60 * 60);
/// The part of a progress message that is shown.
const MAX_MESSAGE: usize = 1_000;

/// A request of the page.
pub(super) struct Asked {
    pub(super) era: Era,
    pub(super) method: String,
    pub(super) about: Option<String>,
    pub(super) params: Option<RawJson>,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Request,
    /// The call of a tool, as a task if the server can.
    AsTask(String, Map<String, Value>),
    /// Wait for a task.
    TaskResult(String),
}

/// How a call ended.
enum Outcome {
    Ended(Result<RawJson, ClientError>),
    Cancelled,
}

impl Inspector {
    fn stops(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<()>>> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a call, and returns its number.
    pub(super) fn start(self: &Arc<Self>, asked: Asked) -> Result<u64, Problem> {
        let connection = self.connection(asked.era)?;
        let running = self.hub.state().running(None).count();
        if running >= MAX_RUNNING {
            let failure = Failure::new(Exit::Refused, "busy", format!("{running} calls are running, the maximum"));
            return Err((&failure.hint("cancel one of them")).into());
        }
        let (stop, stopped) = oneshot::channel();
        let id = {
            let state = &mut *self.hub.state();
            let id = state.number();
            let call = Call {
                id,
                era: asked.era,
                method: asked.method.clone(),
                about: asked.about.clone(),
                params: asked.params.clone().filter(|params| params.as_bytes().len() <= MAX_PART),
                at: now(),
                state: CallState::Running,
                progress: None,
                result: None,
                problem: None,
                ms: None,
                task: None,
            };
            let text = text_of(&Increment::Call { call: &call });
            state.calls.push_back(KeptCall { call, whole: None });
            self.hub.tell(state, &text);
            id
        };
        self.stops().insert(id, stop);
        let inspector = Arc::clone(self);
        tokio::spawn(async move {
            let began = Instant::now();
            let outcome = inspector.run(id, &asked, &connection, stopped).await;
            inspector.stops().remove(&id);
            inspector.end_logins_of(asked.era, id);
            inspector.finish(
                id,
                began,
                outcome.map_err(|error| {
                    let what = asked.about.as_deref().map(|about| format!(" {about}")).unwrap_or_default();
                    connection.failure(error, &format!("sending {}{what}", asked.method))
                }),
            );
        });
        Ok(id)
    }

    /// Ends the logins that a call waited for. A login of several calls ends with the last one.
    fn end_logins_of(&self, era: Era, id: u64) {
        let is_last = {
            let state = &mut *self.hub.state();
            let is_opening = state.connection(era).state == ConnectionState::Connecting;
            !is_opening && state.running(Some(era)).all(|call| call.id == id)
        };
        self.rounds.end_logins(era, (!is_last).then_some(id));
    }

    /// Cancels a call.
    pub(super) fn stop(&self, id: u64) -> Result<(), Problem> {
        let stop = self.stops().remove(&id);
        let gone = || Problem::from(&Failure::usage("The call has ended already"));
        stop.ok_or_else(gone)?.send(()).map_err(|()| gone())
    }

    async fn run(
        self: &Arc<Self>,
        id: u64,
        asked: &Asked,
        connection: &Connection,
        stopped: oneshot::Receiver<()>,
    ) -> Result<Option<RawJson>, ClientError> {
        let inspector = Arc::clone(self);
        let mut options = RequestOptions::default();
        options.on_progress = Some(Arc::new(move |params: &RawJson| inspector.progress(id, params)));
        let client = &connection.client;
        let outcome = match &asked.kind {
            Kind::Request => unless(stopped, client.request(&asked.method, asked.params.as_ref(), &options)).await,
            Kind::AsTask(tool, arguments) => {
                let started = client.start_task_with(tool, arguments, &options);
                self.follow_task(id, stopped, started).await
            }
            Kind::TaskResult(task) => self.follow_task(id, stopped, client.resume_task(task)).await,
        };
        match outcome {
            Outcome::Ended(result) => result.map(Some),
            Outcome::Cancelled => Ok(None),
        }
    }

    /// Waits for the result of a task. If it is stopped, so is the task.
    async fn follow_task(
        &self,
        id: u64,
        mut stopped: oneshot::Receiver<()>,
        started: impl Future<Output = Result<ClientTask, ClientError>>,
    ) -> Outcome {
        let task = tokio::select! {
            task = started => task,
            _ = &mut stopped => return Outcome::Cancelled,
        };
        let task = match task {
            Ok(task) => task,
            Err(error) => return Outcome::Ended(Err(error)),
        };
        if let Some(task) = task.id() {
            self.hub.call(id, |kept| kept.call.task = Some(task));
        }
        match unless(stopped, task.outcome_within(MAX_TASK)).await {
            Outcome::Cancelled => {
                // The outcome of the task says whether it was.
                let _ = task.cancel().await;
                Outcome::Cancelled
            }
            ended => ended,
        }
    }

    /// Called where messages are read.
    fn progress(&self, id: u64, params: &RawJson) {
        let Ok(ServerProgress { progress, total, message, .. }) = params.parse() else { return };
        let message = message.map(|message| beginning(&message, MAX_MESSAGE).to_owned());
        let progress = Progress { progress, total, message, at: now() };
        let state = &mut *self.hub.state();
        let Some(kept) = state.call(id).filter(|kept| kept.call.state == CallState::Running) else { return };
        let text = text_of(&Increment::Progress { call: id, progress: &progress });
        kept.call.progress = Some(progress);
        self.hub.tell(state, &text);
    }

    fn finish(&self, id: u64, began: Instant, outcome: Result<Option<RawJson>, Failure>) {
        self.hub.call(id, |kept| {
            kept.call.ms = Some(began.elapsed().as_secs_f64() * 1000.0);
            match outcome {
                Ok(Some(result)) => {
                    kept.call.state = CallState::Done;
                    kept.call.result = Some(Content::of(&result));
                    kept.whole = (result.as_bytes().len() > MAX_PART).then_some(result);
                }
                Ok(None) => kept.call.state = CallState::Cancelled,
                Err(failure) => {
                    kept.call.state = CallState::Failed;
                    kept.call.problem = Some((&failure).into());
                }
            }
        });
    }
}

/// Waits for a request until it is stopped. Dropping a request cancels it.
async fn unless(
    stopped: oneshot::Receiver<()>,
    request: impl Future<Output = Result<RawJson, ClientError>>,
) -> Outcome {
    tokio::select! {
        result = request => Outcome::Ended(result),
        _ = stopped => Outcome::Cancelled,
    }
}
