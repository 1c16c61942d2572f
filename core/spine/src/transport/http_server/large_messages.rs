//! Processing of large messages: parsing one and validating its arguments would block the runtime's
//! threads for too long.

use crate::http::rejection::Rejection;
use std::{panic, sync::Arc, thread};
use tokio::{sync::Semaphore, task};
use tracing::Span;

/// Limits concurrent work on large messages to half of the processors.
pub(super) struct LargeMessages(Arc<Semaphore>);

impl Default for LargeMessages {
    fn default() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new((processors / 2).max(1))))
    }
}

impl LargeMessages {
    /// Runs work on a message: immediately, or for a large one in a queue and on a blocking thread.
    /// The slot is held until the work is done, whatever happens to the request.
    ///
    /// # Errors
    /// If the runtime is shutting down.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        is_large: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Rejection> {
        if !is_large {
            return Ok(work());
        }
        let (turn, span) = (Arc::clone(&self.0).acquire_owned().await, Span::current());
        let done = task::spawn_blocking(move || {
            let done = span.in_scope(work);
            drop(turn);
            done
        });
        done.await.map_err(|failed| match failed.try_into_panic() {
            Ok(panicked) => panic::resume_unwind(panicked),
            Err(_) => Rejection::busy(None, "the server is closing"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, time::Duration};

    const TEST_TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn work_on_a_large_message_leaves_the_threads_of_the_runtime_to_others() {
        let messages = LargeMessages::default();
        let (release, released) = mpsc::channel();
        let large = messages.work(true, move || released.recv_timeout(TEST_TIMEOUT).is_ok());
        let (large, ()) = tokio::join!(large, async { release.send(()).unwrap() });
        assert!(large.unwrap(), "it ran on the only thread of the runtime");
        assert_eq!(messages.work(false, || std::thread::current().id()).await.unwrap(), std::thread::current().id());
    }

    #[tokio::test]
    async fn a_turn_lasts_as_long_as_its_work() {
        let messages = LargeMessages(Arc::new(Semaphore::new(1)));
        let ((started, begun), (release, released)) = (mpsc::channel(), mpsc::channel::<()>());
        {
            let given_up = messages.work(true, move || {
                started.send(()).unwrap();
                released.recv_timeout(TEST_TIMEOUT).is_ok()
            });
            tokio::pin!(given_up);
            tokio::select! {
                biased;
                _ = given_up.as_mut() => panic!("it waits"),
                () = async { begun.recv_timeout(TEST_TIMEOUT).unwrap() } => {}
            }
        }
        assert_eq!(messages.0.available_permits(), 0, "the thread is still at it");
        release.send(()).unwrap();
        assert_eq!(messages.work(true, || 7).await.unwrap(), 7);
        let panicked = task::spawn(async move { messages.work::<()>(true, || panic!("by the test")).await }).await;
        assert!(panicked.unwrap_err().is_panic());
    }
}
