//! The runtime interface for async code: tasks and time. `transport` implements it with tokio.

pub use crate::boxed_task::BoxedTask;
use crate::store::{Store, StoreError, StoreErrorKind, redacted};
use crate::sync::Mutex;
use crate::wire_log::WireLog;
use std::{
    future::poll_fn,
    io, mem,
    sync::{Arc, atomic::AtomicBool},
    task::{Context, Poll, Waker},
    time::{Duration, Instant, SystemTime},
};

/// Runs tasks and tells the time.
pub trait Runtime: Send + Sync + 'static {
    /// Spawns a task.
    fn spawn(&self, task: BoxedTask);
    /// Runs blocking work, such as reading a file, on a thread for it. A runtime without such
    /// threads runs it as a task.
    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.spawn(Box::pin(async move { work() }));
    }
    /// The current time.
    fn now(&self) -> Instant;
    /// The system time since the Unix epoch, for what other processes read.
    fn unix_time(&self) -> Duration {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
    /// Sleeps until a point in time.
    fn sleep_until(&self, at: Instant) -> BoxedTask;
    /// Destination of the wire log, if enabled.
    fn wire_log(&self) -> Option<&dyn WireLog>;
    /// Opens the store at a URL, with a deadline for its calls.
    ///
    /// # Errors
    /// If this runtime cannot open a store at this URL.
    fn open_store(&self, url: &str, deadline: Duration) -> Result<Arc<dyn Store>, StoreError> {
        let _ = deadline;
        Err(StoreError::new(StoreErrorKind::Invalid, redacted(url), "this runtime does not support stores"))
    }
    /// Runs work for one of its tasks on a thread that it does not own, such as the handling of a
    /// message on the thread of a transport.
    #[doc(hidden)]
    fn within(&self, work: &mut dyn FnMut()) {
        work();
    }
    /// The terminal of the process, if it has one.
    fn terminal(&self) -> Option<Arc<dyn Terminal>> {
        None
    }
}

/// The terminal that a process was started from.
pub trait Terminal: Send + Sync {
    /// Runs a dialogue with the user on its own thread, after earlier dialogues. Once `stopped` is
    /// set, it reads no more input.
    ///
    /// # Errors
    /// If there are too many dialogues, or no thread can be started.
    fn converse(&self, dialogue: Dialogue, stopped: Arc<AtomicBool>) -> io::Result<()>;
}

/// A dialogue with the user at a terminal.
pub type Dialogue = Box<dyn FnOnce(&mut dyn Console) + Send>;

/// Input and output of a dialogue.
pub trait Console {
    /// Shows a string, which must be printable.
    ///
    /// # Errors
    /// Errors of the terminal.
    fn show(&mut self, text: &str) -> io::Result<()>;
    /// Reads one line without its newline. Returns `None` at end of input.
    ///
    /// # Errors
    /// Errors of the terminal, and [`io::ErrorKind::Interrupted`] if the dialogue was stopped.
    fn read_line(&mut self) -> io::Result<Option<String>>;
    /// Opens an http or https URL in the browser.
    ///
    /// # Errors
    /// If there is no browser.
    fn open_browser(&mut self, url: &str) -> io::Result<()>;
}

/// A value that tasks change and one task awaits.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Watched<T>(Mutex<(T, Option<Waker>)>);

/// A value that is set once and awaited elsewhere.
#[doc(hidden)]
pub type Promise<T> = Watched<Option<T>>;

impl<T> Watched<T> {
    /// Reads the value, or changes it in a way that the waiting task need not learn of.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.0.lock().0)
    }

    /// Changes the value, and then wakes the waiting task without holding the lock.
    pub fn change<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        change(&self.0, |state| &mut state.1, |state| work(&mut state.0))
    }

    /// Looks at the value. If the result is pending, the task is woken at the next change.
    pub fn poll<R>(&self, context: &Context<'_>, look: impl FnOnce(&mut T) -> Poll<R>) -> Poll<R> {
        let (value, waiting) = &mut *self.0.lock();
        let looked = look(value);
        if looked.is_pending() {
            match waiting {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
        }
        looked
    }
}

impl<T> Promise<T> {
    /// Sets the value.
    pub fn keep(&self, value: T) {
        self.change(|kept| *kept = Some(value));
    }

    /// Waits for the value and takes it; only one task may wait.
    pub async fn kept(&self) -> T {
        poll_fn(|context| self.poll(context, |kept| kept.take().map_or(Poll::Pending, Poll::Ready))).await
    }
}

/// Changes a state, and then wakes its wakers without holding the lock.
#[doc(hidden)]
pub fn change<S, T, W: Default + IntoIterator<Item = Waker>>(
    state: &Mutex<S>,
    wakers: fn(&mut S) -> &mut W,
    change: impl FnOnce(&mut S) -> T,
) -> T {
    let (changed, wakers) = {
        let mut state = state.lock();
        (change(&mut state), mem::take(wakers(&mut state)))
    };
    wakers.into_iter().for_each(Waker::wake);
    changed
}

/// Completes when `look` returns a value for the state. It looks again after each time that the
/// state's wakers were woken.
#[doc(hidden)]
pub async fn wait<S, T>(
    state: &Mutex<S>,
    wakers: fn(&mut S) -> &mut Vec<Waker>,
    mut look: impl FnMut(&mut S) -> Option<T>,
) -> T {
    poll_fn(|context| {
        let mut state = state.lock();
        if let Some(found) = look(&mut state) {
            return Poll::Ready(found);
        }
        let wakers = wakers(&mut state);
        if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            wakers.push(context.waker().clone());
        }
        Poll::Pending
    })
    .await
}
