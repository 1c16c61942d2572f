//! A socket with a write timeout.

use super::activity::{Active, Activity};
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// Fails if no write succeeds for a while. No timer runs as long as writes succeed. A pending write
/// counts as activity: over HTTP/1, hyper buffers a whole response, so its request is over long
/// before the client has read it.
pub(super) struct WriteDeadline<S> {
    socket: S,
    timeout: Duration,
    activity: Arc<Activity>,
    /// The deadline of a pending write, which is active until some of it succeeds.
    pending: Option<(Pin<Box<Sleep>>, Active)>,
}

impl<S: Unpin> WriteDeadline<S> {
    pub(super) fn new(socket: S, timeout: Duration, activity: Arc<Activity>) -> Self {
        Self { socket, timeout, activity, pending: None }
    }

    fn judge<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.pending.take().is_some() {
                self.activity.set_unwritten(false);
            }
            return written;
        }
        let (timeout, activity) = (self.timeout, &self.activity);
        let (deadline, _) = self.pending.get_or_insert_with(|| {
            activity.set_unwritten(true);
            (Box::pin(tokio::time::sleep(timeout)), activity.begin())
        });
        deadline.as_mut().poll(context).map(|()| {
            let text = format!("the client has read nothing for {} ms", timeout.as_millis());
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteDeadline<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, parts);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.socket).poll_shutdown(context);
        self.judge(context, shut)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteDeadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        time::{Instant, sleep},
    };

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_times_out_and_a_slow_one_does_not() {
        let (ours, mut theirs) = tokio::io::duplex(8);
        let mut ours = WriteDeadline::new(ours, 10 * SECOND, Arc::default());
        let slow = tokio::spawn(async move {
            let mut read = [0; 8];
            for _ in 0..5 {
                sleep(9 * SECOND).await;
                theirs.read_exact(&mut read).await.unwrap();
            }
            theirs
        });
        ours.write_all(&[0; 48]).await.unwrap();
        let (_silent, began) = (slow.await.unwrap(), Instant::now());
        let error = ours.write_all(&[0; 8]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed().as_secs()), (io::ErrorKind::TimedOut, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_active_as_long_as_a_write_is_pending() {
        let (ours, mut theirs) = tokio::io::duplex(8);
        let activity = Arc::<Activity>::default();
        let mut ours = WriteDeadline::new(ours, 10 * SECOND, Arc::clone(&activity));
        ours.write_all(&[0; 8]).await.unwrap();
        assert!(activity.is_idle() && activity.changes() == 0, "it was not pending");
        let write = tokio::spawn(async move { ours.write_all(&[0; 8]).await.map(|()| ours) });
        sleep(SECOND).await;
        assert!(!activity.is_idle());
        theirs.read_exact(&mut [0; 8]).await.unwrap();
        let _ours = write.await.unwrap().unwrap();
        assert!(activity.is_idle() && activity.changes() == 2);
    }
}
