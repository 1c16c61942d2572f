//! The lifespan of a server: opened before the first call and closed after the last.

use crate::{
    race::{unless, until},
    runtime::{BoxedTask, Runtime, change, wait},
    server::handlers::ToolError,
    sync::Mutex,
};
use std::{
    any::Any,
    future::{Future, pending, poll_fn, ready},
    mem,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
    time::Duration,
};

/// The value opened by a lifespan.
pub(super) type LifespanValue = Arc<dyn Any + Send + Sync>;

/// Maximum time that a listener waits for a lifespan to close. Closing continues after that.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// The functions of a lifespan.
#[doc(hidden)]
pub struct LifespanFunctions {
    open: Box<dyn Fn() -> BoxedTask<Result<LifespanValue, ToolError>> + Send + Sync>,
    close: Box<dyn Fn(LifespanValue) -> BoxedTask + Send + Sync>,
}

impl LifespanFunctions {
    pub fn new<T, E, Opening, Closing>(
        open: impl Fn() -> Opening + Send + Sync + 'static,
        close: impl Fn(Arc<T>) -> Closing + Send + Sync + 'static,
    ) -> Self
    where
        T: Send + Sync + 'static,
        E: Into<ToolError>,
        Opening: Future<Output = Result<T, E>> + Send + 'static,
        Closing: Future<Output = ()> + Send + 'static,
    {
        Self {
            open: Box::new(move || {
                let opening = open();
                Box::pin(async move {
                    let value: LifespanValue = Arc::new(opening.await.map_err(Into::into)?);
                    Ok(value)
                })
            }),
            close: Box::new(move |value| match value.downcast::<T>() {
                Ok(value) => Box::pin(close(value)),
                Err(_) => Box::pin(std::future::ready(())),
            }),
        }
    }
}

/// Why a server cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("the lifespan of the server could not be opened: {}", .0.detail())]
pub(crate) struct OpeningFailed(#[source] ToolError);

/// The lifespan of one server. Without functions, it is always open.
#[derive(Default)]
pub(crate) struct ServerLifespan {
    functions: OnceLock<LifespanFunctions>,
    state: Mutex<LifespanState>,
}

#[derive(Default)]
struct LifespanState {
    /// Number of listeners, services and in-memory connections.
    users: usize,
    phase: Phase,
    waiting: Vec<Waker>,
    /// Uses of the lifespans of mounted servers that were called, released when this one closes.
    mounted: Vec<LifespanUse>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Closed,
    Opening,
    Open(LifespanValue),
    Closing,
}

impl ServerLifespan {
    pub(super) fn new(functions: Option<LifespanFunctions>) -> Self {
        Self { functions: functions.map_or_else(OnceLock::new, OnceLock::from), state: Mutex::default() }
    }

    /// Sets the functions.
    ///
    /// # Errors
    /// If the server is being served, or has functions already.
    pub(super) fn set(&self, functions: LifespanFunctions) -> Result<(), &'static str> {
        let state = self.state.lock();
        if state.users > 0 {
            return Err("the server is in use: set its lifespan before listening");
        }
        self.functions.set(functions).map_err(|_| "the server already has a lifespan")
    }

    pub(in crate::server) fn has_functions(&self) -> bool {
        self.functions.get().is_some()
    }

    /// Returns whether calls can be served immediately.
    pub(in crate::server) fn is_open(&self) -> bool {
        !self.has_functions() || matches!(self.state.lock().phase, Phase::Open(_))
    }

    /// Returns the value if the lifespan is open.
    pub(in crate::server) fn value(&self) -> Option<LifespanValue> {
        match &self.state.lock().phase {
            Phase::Open(value) => Some(Arc::clone(value)),
            _ => None,
        }
    }

    /// Opens the lifespan unless it is open. Waits if another task is opening or closing it.
    ///
    /// # Errors
    /// Returns the error of the open function. The next call tries again.
    pub(in crate::server) async fn open(self: &Arc<Self>, runtime: &Arc<dyn Runtime>) -> Result<(), ToolError> {
        let Some(functions) = self.functions.get() else { return Ok(()) };
        let begin = |state: &mut LifespanState| match state.phase {
            Phase::Open(_) => Some(false),
            Phase::Closed => {
                state.phase = Phase::Opening;
                Some(true)
            }
            Phase::Opening | Phase::Closing => None,
        };
        if !wait(&self.state, |state| &mut state.waiting, begin).await {
            return Ok(());
        }
        let (turn, runtime) = (PhaseTurn(Arc::clone(self)), Arc::clone(runtime));
        let mut pending = PendingOpening { turn: Some(turn), opening: (functions.open)(), runtime };
        let opened = poll_fn(|context| pending.opening.as_mut().poll(context)).await;
        pending.turn.take().map_or(Ok(()), |turn| turn.end(opened, &pending.runtime))
    }

    /// Keeps the lifespan of a mounted server open until this one closes.
    pub(in crate::server) fn hold(&self, mounted: &Arc<Self>, runtime: &Arc<dyn Runtime>) {
        let mut state = self.state.lock();
        if !state.mounted.iter().any(|held| Arc::ptr_eq(&held.lifespan, mounted)) {
            let held = LifespanUse::new(mounted, runtime);
            state.mounted.push(held);
        }
    }

    /// Starts closing if the lifespan is unused.
    fn close_if_unused(self: &Arc<Self>, runtime: &Arc<dyn Runtime>) {
        let (value, mounted) = {
            let mut state = self.state.lock();
            if state.users > 0 {
                let waiting = mem::take(&mut state.waiting);
                drop(state);
                // Wake the tasks that wait for the end of their use.
                return waiting.into_iter().for_each(Waker::wake);
            }
            let value = match mem::replace(&mut state.phase, Phase::Closing) {
                Phase::Open(value) => Some(value),
                Phase::Closed if !state.mounted.is_empty() => None,
                // The task that opens or closes it checks again afterwards.
                other => {
                    state.phase = other;
                    return;
                }
            };
            (value, mem::take(&mut state.mounted))
        };
        let closing = value.zip(self.functions.get()).map(|(value, functions)| (functions.close)(value));
        let (lifespan, own) = (Arc::clone(self), Arc::clone(runtime));
        runtime.spawn(Box::pin(async move {
            let turn = PhaseTurn(Arc::clone(&lifespan));
            if let Some(closing) = closing {
                closing.await;
            }
            for mounted in mounted {
                mounted.release().await;
            }
            drop(turn);
            lifespan.close_if_unused(&own);
        }));
    }

    /// Completes when the lifespan has closed, or is open for other uses.
    async fn closed(&self) {
        let is_over = |state: &mut LifespanState| match state.phase {
            Phase::Closed => Some(()),
            Phase::Opening | Phase::Open(_) => (state.users > 0).then_some(()),
            Phase::Closing => None,
        };
        wait(&self.state, |state| &mut state.waiting, is_over).await;
    }
}

/// Guards opening or closing. If the lifespan has no value when this is dropped, it is closed.
struct PhaseTurn(Arc<ServerLifespan>);

impl PhaseTurn {
    /// Ends opening.
    fn end(self, opened: Result<LifespanValue, ToolError>, runtime: &Arc<dyn Runtime>) -> Result<(), ToolError> {
        let (value, lifespan) = (opened?, Arc::clone(&self.0));
        lifespan.state.lock().phase = Phase::Open(value);
        drop(self);
        lifespan.close_if_unused(runtime);
        Ok(())
    }
}

/// An opening lifespan.
struct PendingOpening {
    /// `None` when it has ended.
    turn: Option<PhaseTurn>,
    opening: BoxedTask<Result<LifespanValue, ToolError>>,
    runtime: Arc<dyn Runtime>,
}

impl Drop for PendingOpening {
    /// If the task is cancelled, so is opening, unless that has just completed: then the value must
    /// be closed.
    fn drop(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let opening = mem::replace(&mut self.opening, Box::pin(pending()));
        let runtime = Arc::clone(&self.runtime);
        self.runtime.spawn(Box::pin(async move {
            if let Some(opened) = unless(ready(()), opening).await {
                // Nobody waits for an error.
                let _ = turn.end(opened, &runtime);
            }
        }));
    }
}

impl Drop for PhaseTurn {
    fn drop(&mut self) {
        let end = |state: &mut LifespanState| {
            if !matches!(state.phase, Phase::Open(_)) {
                state.phase = Phase::Closed;
            }
        };
        change(&self.0.state, |state| &mut state.waiting, end);
    }
}

/// A use of a lifespan by a listener, a service or an in-memory connection. The lifespan stays open
/// until all uses are dropped or released.
#[doc(hidden)]
pub struct LifespanUse {
    lifespan: Arc<ServerLifespan>,
    runtime: Arc<dyn Runtime>,
    released: AtomicBool,
}

impl LifespanUse {
    pub(super) fn new(lifespan: &Arc<ServerLifespan>, runtime: &Arc<dyn Runtime>) -> Self {
        lifespan.state.lock().users += 1;
        Self { lifespan: Arc::clone(lifespan), runtime: Arc::clone(runtime), released: AtomicBool::new(false) }
    }

    /// Opens the lifespan now rather than before the first call.
    ///
    /// # Errors
    /// If the open function fails.
    pub(crate) async fn open(&self) -> Result<(), OpeningFailed> {
        self.lifespan.open(&self.runtime).await.map_err(OpeningFailed)
    }

    /// Holds this use until something else uses the lifespan. If that fails, waits until the
    /// lifespan has closed.
    pub async fn until_used<T, E>(self, using: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let used = using.await;
        if used.is_err() {
            self.release().await;
        }
        used
    }

    /// Releases this use. If it was the last, waits until the lifespan has closed, but at most
    /// [`CLOSE_TIMEOUT`].
    pub(crate) async fn release(&self) {
        self.let_go();
        let limit = self.runtime.now() + CLOSE_TIMEOUT;
        if until(&*self.runtime, limit, self.lifespan.closed()).await.is_none() {
            tracing::warn!(
                target: "trunkline::server::lifespan",
                limit = ?CLOSE_TIMEOUT,
                "the lifespan of the server did not close in time; no longer waiting for it"
            );
        }
    }

    fn let_go(&self) {
        if !self.released.swap(true, Ordering::AcqRel) {
            {
                let mut state = self.lifespan.state.lock();
                state.users = state.users.saturating_sub(1);
            }
            self.lifespan.close_if_unused(&self.runtime);
        }
    }
}

impl Drop for LifespanUse {
    fn drop(&mut self) {
        self.let_go();
    }
}
