//! The standard input of a child process, which can be closed during a write.

use crate::{runtime::change, sync::Mutex};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::io::AsyncWrite;

/// The standard input of a child process.
#[derive(Debug, Clone)]
pub struct ChildStdin {
    shared: Arc<Mutex<SharedPipe>>,
}

#[derive(Debug)]
struct SharedPipe {
    /// `None` once closed.
    pipe: Option<tokio::process::ChildStdin>,
    /// A waiting writer, which closing must wake.
    writer: Option<Waker>,
}

impl ChildStdin {
    pub(super) fn new(pipe: Option<tokio::process::ChildStdin>) -> Self {
        Self { shared: Arc::new(Mutex::new(SharedPipe { pipe, writer: None })) }
    }

    /// Closes the pipe for every clone. A pending write fails.
    pub(super) fn close(&self) {
        drop(change(&self.shared, |shared| &mut shared.writer, |shared| shared.pipe.take()));
    }

    fn poll<T>(
        &self,
        context: &mut Context<'_>,
        operation: impl FnOnce(Pin<&mut tokio::process::ChildStdin>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut shared = self.shared.lock();
        let Some(pipe) = &mut shared.pipe else {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::BrokenPipe, "the server process is being closed")));
        };
        let polled = operation(Pin::new(pipe), context);
        shared.writer = polled.is_pending().then(|| context.waker().clone());
        polled
    }
}

impl AsyncWrite for ChildStdin {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(context, |pipe, context| pipe.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(context, |pipe, context| pipe.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        Poll::Ready(Ok(()))
    }
}
