//! A client's link over a custom transport.

use super::{closing::Closing, queued::MAX_QUEUED};
use crate::{
    client::{Connector, Inbox, Link, LinkFailure, LinkMessage, ProcessExit},
    on_drop::OnDrop,
    runtime::BoxedTask,
    sync::Mutex,
    wire_log::Transport,
};
use bytes::Bytes;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

/// Maximum time for sending queued messages when the link closes.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);
/// Minimum time for a channel to close.
const MIN_GRACE: Duration = Duration::from_millis(250);
/// Time for a channel to close after its client was dropped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connected custom transport. It carries messages between a client and a server, in order and
/// unfragmented.
///
/// A message is a JSON-RPC message (on 2025-03-26, also a batch) as UTF-8 text without line breaks.
/// The specification has a section on custom transports:
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#custom-transports>.
/// [`ChannelConnector`] turns a channel into a target for
/// [`Client::connect`](crate::Client::connect).
///
/// `send` and `receive` run concurrently, with one call of each at a time. If the channel fails, it
/// is closed and calls in flight fail; the next call opens another channel.
///
/// ```
/// use bytes::Bytes;
/// use tokio::sync::{Mutex, mpsc};
/// use trunkline::{
///     Client,
///     client::LinkFailure,
///     transport::{Channel, ChannelConnector},
/// };
///
/// /// Queues to a server elsewhere in this program.
/// struct Queues {
///     to_server: mpsc::Sender<Bytes>,
///     from_server: Mutex<mpsc::Receiver<Bytes>>,
/// }
///
/// impl Channel for Queues {
///     async fn send(&self, message: Bytes) -> Result<(), LinkFailure> {
///         self.to_server.send(message).await.map_err(|error| LinkFailure::Broken(error.to_string()))
///     }
///
///     async fn receive(&self) -> Result<Option<Bytes>, LinkFailure> {
///         Ok(self.from_server.lock().await.recv().await)
///     }
///
///     async fn close(&self) {}
/// }
///
/// # async fn run(open: fn() -> Queues) -> Result<(), trunkline::ClientError> {
/// let client = Client::connect(ChannelConnector::new(move || async move { Ok(open()) })).await?;
/// # client.close().await;
/// # Ok(())
/// # }
/// ```
pub trait Channel: Send + Sync + 'static {
    /// Sends a message. The next one is sent when this completes.
    ///
    /// # Errors
    /// Why the channel is unusable.
    fn send(&self, message: Bytes) -> impl Future<Output = Result<(), LinkFailure>> + Send;

    /// Waits for the next message. Returns `None` if the server has closed the connection.
    ///
    /// # Errors
    /// Why the channel is unusable.
    fn receive(&self) -> impl Future<Output = Result<Option<Bytes>, LinkFailure>> + Send;

    /// Closes the connection. `send` and `receive` are no longer running. If this takes longer than
    /// the client's close timeout, the channel is dropped.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// Connects through a [`Channel`].
#[must_use]
pub struct ChannelConnector<F> {
    open: F,
    is_exclusive: bool,
}

impl<F, R, C> ChannelConnector<F>
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<C, LinkFailure>> + Send + 'static,
    C: Channel,
{
    /// Creates a connector that calls `open` for each connection: the first, and each that replaces
    /// one that was lost or that a legacy server closed when it was probed. Fail with
    /// [`LinkFailure::Unreachable`] if no more connections are possible.
    pub fn new(open: F) -> Self {
        Self { open, is_exclusive: false }
    }

    /// Declares that only one channel can be open at a time. A proxy then uses it for all its
    /// callers, instead of opening one for each, and the handlers of its client answer the requests
    /// of a server of 2025-11-25 or earlier.
    pub fn exclusive(self) -> Self {
        Self { is_exclusive: true, ..self }
    }
}

impl<F, R, C> Connector for ChannelConnector<F>
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<C, LinkFailure>> + Send + 'static,
    C: Channel,
{
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
        let opening = (self.open)();
        Box::pin(async move {
            let channel = opening.await?;
            let (waiting, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
            let shared = Arc::new(OpenChannel { channel, inbox, waiting, is_over });
            let (outbox, queued) = unbounded_channel();
            let sending = tokio::spawn(Arc::clone(&shared).send_all(queued));
            let receiving = tokio::spawn(Arc::clone(&shared).receive_all());
            let (outbox, tasks) = (Mutex::new(Some(outbox)), Mutex::new(Some((sending, receiving))));
            let (closing, runtime) = (Closing::default(), Handle::current());
            Ok(Arc::new(ChannelLink { shared, outbox, tasks, closing, runtime }) as Arc<dyn Link>)
        })
    }

    fn is_pipe(&self) -> bool {
        true
    }

    fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    fn transport(&self) -> Transport {
        Transport::Channel
    }
}

struct ChannelLink<C: Channel> {
    shared: Arc<OpenChannel<C>>,
    /// `None` if closed.
    outbox: Mutex<Option<UnboundedSender<Bytes>>>,
    /// The sending and receiving tasks.
    tasks: Mutex<Option<(JoinHandle<()>, JoinHandle<()>)>>,
    closing: Closing,
    runtime: Handle,
}

/// State shared by the link and its tasks.
struct OpenChannel<C> {
    channel: C,
    inbox: Arc<dyn Inbox>,
    /// Bytes in the outbox.
    waiting: AtomicUsize,
    /// True once the end has been reported.
    is_over: AtomicBool,
}

impl<C: Channel> Link for ChannelLink<C> {
    fn send(&self, message: LinkMessage) {
        let outbox = self.outbox.lock();
        let Some(outbox) = &*outbox else { return };
        if self.shared.waiting.load(Ordering::Acquire) > MAX_QUEUED {
            return self.shared.congested(&message);
        }
        self.shared.waiting.fetch_add(message.bytes.len(), Ordering::AcqRel);
        // An error means that the end has been reported, which fails the requests.
        let _ = outbox.send(message.bytes);
    }

    fn close(&self, timeout: Duration) -> BoxedTask {
        self.shared.is_over.store(true, Ordering::Release);
        drop(self.outbox.lock().take());
        let (shared, tasks) = (Arc::clone(&self.shared), self.tasks.lock().take());
        self.closing.begin(&self.runtime, timeout.max(MIN_GRACE), |mut deadline| async move {
            if let Some((mut sending, receiving)) = tasks {
                receiving.abort();
                // The last message, for example a cancellation, should still arrive. Half of the
                // time remains for closing.
                let flushing = (deadline.left() / 2).min(FLUSH_TIMEOUT);
                if tokio::time::timeout(flushing, &mut sending).await.is_err() {
                    sending.abort();
                    let _ = sending.await;
                }
                let _ = receiving.await;
            }
            deadline.allows(shared.channel.close()).await;
        });
        Box::pin(self.closing.ended())
    }
}

impl<C: Channel> Drop for ChannelLink<C> {
    /// Closes the channel if its client was dropped or has lost it.
    fn drop(&mut self) {
        drop(self.close(CLOSE_TIMEOUT));
    }
}

impl<C: Channel> OpenChannel<C> {
    /// Reports that the channel accepts no messages.
    fn congested(&self, message: &LinkMessage) {
        let problem = format!("{} MiB are waiting for the transport, which does not accept them", MAX_QUEUED >> 20);
        match &message.request {
            Some(request) => self.inbox.failed(&request.id, LinkFailure::Congested(problem)),
            None => {
                tracing::warn!(target: "trunkline::client::channel", error = %problem, "could not deliver a notification or response")
            }
        }
    }

    /// Reports the end of the channel, unless already reported.
    fn ended(&self, failure: LinkFailure) {
        if !self.is_over.swap(true, Ordering::AcqRel) {
            self.inbox.closed(failure);
        }
    }

    /// Reports the end when the returned guard is dropped: the code of the channel has panicked,
    /// unless another end has been reported.
    fn end_of_task(&self) -> OnDrop<impl FnOnce()> {
        OnDrop::new(|| self.ended(LinkFailure::Broken("The transport panicked".to_owned())))
    }

    async fn send_all(self: Arc<Self>, mut queued: UnboundedReceiver<Bytes>) {
        let _end = self.end_of_task();
        while let Some(message) = queued.recv().await {
            let length = message.len();
            let sent = self.channel.send(message).await;
            self.waiting.fetch_sub(length, Ordering::AcqRel);
            if let Err(failure) = sent {
                return self.ended(failure);
            }
        }
        // Closed by this side, which already knows.
        self.ended(LinkFailure::Closed);
    }

    async fn receive_all(self: Arc<Self>) {
        let _end = self.end_of_task();
        let failure = loop {
            match self.channel.receive().await {
                Ok(Some(message)) => self.inbox.message(message),
                Ok(None) => break LinkFailure::Exited(connection_end()),
                Err(failure) => break failure,
            }
        };
        self.ended(failure);
    }
}

/// The failure if the server has closed the connection.
fn connection_end() -> ProcessExit {
    ProcessExit { still_running: true, ..ProcessExit::new("The server has ended the connection") }
}
