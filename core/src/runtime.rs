//! The runtime that async code above the pure modules needs: tasks and time. `transport` provides
//! it with tokio.

pub use crate::boxed_task::BoxedTask;
use crate::store::{Store, StoreError, StoreErrorKind, redacted};
use crate::sync::Mutex;
use crate::wire_log::WireLog;
use std::{
    future::poll_fn,
    io,
    sync::{Arc, atomic::AtomicBool},
    task::{Poll, Waker},
    time::{Duration, Instant, SystemTime},
};

/// Runs tasks and knows the time.
pub trait Runtime: Send + Sync + 'static {
    /// Runs a task in the background.
    fn spawn(&self, task: BoxedTask);
    /// Runs work that blocks, such as reading a file, on a thread that may wait. A runtime without
    /// such threads runs it as a task.
    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.spawn(Box::pin(async move { work() }));
    }
    /// The time now.
    fn now(&self) -> Instant;
    /// The time on the wall, since 1970: for what other processes read.
    fn unix_time(&self) -> Duration {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
    /// Waits until a time.
    fn sleep_until(&self, at: Instant) -> BoxedTask;
    /// Where messages are recorded, if anywhere.
    fn wire_log(&self) -> Option<&dyn WireLog>;
    /// The store that a URL names, whose calls may take so long.
    ///
    /// # Errors
    /// The URL names no store that this runtime can open.
    fn open_store(&self, url: &str, deadline: Duration) -> Result<Arc<dyn Store>, StoreError> {
        let _ = deadline;
        Err(StoreError::new(StoreErrorKind::Invalid, redacted(url), "this runtime opens no stores"))
    }
    /// The terminal of the process, if it has one.
    fn terminal(&self) -> Option<Arc<dyn Terminal>> {
        None
    }
}

/// The terminal that a process was started from.
pub trait Terminal: Send + Sync {
    /// Holds a dialogue with the user, on a thread of its own, when those before it are over. Once
    /// `stopped`, it reads nothing more.
    ///
    /// # Errors
    /// There are too many dialogues, or no thread for one.
    fn converse(&self, dialogue: Dialogue, stopped: Arc<AtomicBool>) -> io::Result<()>;
}

/// A dialogue with the user at a terminal.
pub type Dialogue = Box<dyn FnOnce(&mut dyn Console) + Send>;

/// The two directions of a dialogue.
pub trait Console {
    /// Shows a text. It must be printable.
    ///
    /// # Errors
    /// Those of the terminal.
    fn show(&mut self, text: &str) -> io::Result<()>;
    /// Reads a line, without its end. `None`: the user has ended the input.
    ///
    /// # Errors
    /// Those of the terminal, and [`io::ErrorKind::Interrupted`] for a dialogue that was stopped.
    fn read_line(&mut self) -> io::Result<Option<String>>;
    /// Opens the browser at a URL that is http or https.
    ///
    /// # Errors
    /// There is no browser.
    fn open_browser(&mut self, url: &str) -> io::Result<()>;
}

/// A value that one side keeps and the other waits for.
pub(crate) struct Promise<T> {
    state: Mutex<(Option<T>, Option<Waker>)>,
}

impl<T> std::fmt::Debug for Promise<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Promise")
    }
}

impl<T> Default for Promise<T> {
    fn default() -> Self {
        Self { state: Mutex::new((None, None)) }
    }
}

impl<T> Promise<T> {
    /// Keeps it. Waiting tasks are woken with no lock held.
    pub(crate) fn keep(&self, value: T) {
        let waker = {
            let mut state = self.state.lock();
            state.0 = Some(value);
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for it; one task at a time.
    pub(crate) async fn kept(&self) -> T {
        poll_fn(|context| {
            let mut state = self.state.lock();
            match state.0.take() {
                Some(value) => Poll::Ready(value),
                None => {
                    state.1 = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}
