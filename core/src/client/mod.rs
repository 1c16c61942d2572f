//! The client: opens a conversation, makes requests, and receives notifications.

mod config;
mod connect;
mod era_cache;
mod error;
mod link;
mod mirrored;
mod operations;
mod options;
mod pages;
mod pauses;
pub(crate) mod reply;
mod timer;
mod tools;

pub use config::{ConfigError, ServerEntry, ServersConfig};
pub use error::{ClientError, ErrorKind};
pub use link::{Connector, Inbox, Link, LinkFailure, LinkMessage, RequestHead};
pub use options::{ClientOptions, ProgressHook, RequestOptions};

pub(crate) use reply::ReplyTo;

use crate::sync::Mutex;
use crate::{
    engine::{ClientConversation, ClientIdentity, ClientReceived, RequestTimeout, SentRequest},
    protocol::{
        Era, RawJson, RequestId, Revision,
        envelope::{self, Frame, FrameBounds, Message, Notification},
        meta,
        method::{self, Method},
        model::{Implementation, ServerCapabilities},
    },
    runtime::{Promise, Runtime},
    wire_log::{Direction, Exchange, Side, Transport},
};
use bytes::Bytes;
use mirrored::{MirroredTools, Recall};
use pauses::Pauses;
use reply::Waiter;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use timer::Timer;

/// A connection to a server. Cheap to clone; clones are the same connection.
///
/// ```no_run
/// # async fn run() -> Result<(), trunkline::ClientError> {
/// use serde_json::json;
/// use trunkline::{ChildCommand, Client};
///
/// let client = Client::connect(ChildCommand::new(["python", "weather.py"])).await?; // or a URL, or a `&Server`
/// println!("{:?} speaks {}", client.server_info(), client.revision());
/// for tool in client.list_tools().await? {
///     println!("{}", tool.name);
/// }
/// let result = client.call_tool("forecast", json!({"city": "Oslo"})).await?;
/// println!("{}", result.joined_text());
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    runtime: Arc<dyn Runtime>,
    transport: Transport,
    options: ClientOptions,
    /// The capabilities of the options, as they are sent.
    capabilities: RawJson,
    events: Arc<dyn ClientEvents>,
    conversation: Mutex<ClientConversation<Arc<dyn ReplyTo>>>,
    link: Mutex<Option<Arc<dyn Link>>>,
    /// Messages of an abandoned link carry an older number.
    generation: AtomicU64,
    timer: Timer,
    /// When the conversation began to open.
    began: Instant,
    pauses: Pauses,
    server: OnceLock<ServerDescription>,
    /// Why the current link ended, if it did.
    failure: Mutex<Option<LinkFailure>>,
    closed: AtomicBool,
    mirrored: MirroredTools,
    /// The server has opened the stream of change notifications, or will not.
    acknowledged: Promise<()>,
}

/// The server's description of itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerDescription {
    /// The revision that is spoken.
    pub revision: Revision,
    /// The server's Implementation object, if it gave one.
    pub info: Option<RawJson>,
    /// Its capabilities object; `{}` if the revision was pinned without asking.
    pub capabilities: RawJson,
    /// How to use it, for the model.
    pub instructions: Option<String>,
}

/// Takes the notifications of a server and the end of the connection. Its methods must not block; by default they do nothing.
pub trait ClientEvents: Send + Sync + 'static {
    /// A notification arrived.
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        let _ = (method, params);
    }

    /// The connection ended; `None`: by this side.
    fn closed(&self, error: Option<&ClientError>) {
        let _ = error;
    }
}

/// A request in flight. It goes on when this is dropped; [`Client::cancel`] ends it.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct InFlight(Arc<Mutex<Flight>>);

#[derive(Debug)]
enum Flight {
    /// The message that is out now: a request may be sent once more.
    Sent(RequestId),
    /// Page after page of a list; keeping the promise ends it.
    Walking(Arc<Promise<()>>),
    Cancelled,
}

impl Client {
    /// Sends a request and waits for its result. Dropping the future cancels the request.
    ///
    /// # Errors
    /// A JSON-RPC error of the server, a timeout, or a connection that failed.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
    ) -> Result<RawJson, ClientError> {
        let waiter = Arc::new(Waiter::new(options.on_progress.clone()));
        let in_flight = self.start(method, params, options, options.on_progress.is_some(), waiter.clone())?;
        let guard = CancelOnDrop { client: self, in_flight: Some(in_flight) };
        let outcome = waiter.outcome().await;
        guard.disarm();
        outcome
    }

    /// Sends a request; its outcome goes to `reply`, exactly once unless this fails. `with_progress` asks for progress.
    /// `ping` is spoken as the revision knows it.
    #[doc(hidden)]
    pub fn start(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        with_progress: bool,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<InFlight, ClientError> {
        let revision = self.inner.conversation.lock().revision();
        if method != method::TOOLS_CALL || !self.inner.mirrors(revision) {
            let id = self.start_once(method, params, options, with_progress, reply)?;
            return Ok(InFlight(Arc::new(Mutex::new(Flight::Sent(id)))));
        }
        let flight = InFlight(Arc::new(Mutex::new(Flight::Cancelled)));
        let recall = Recall {
            client: Arc::downgrade(&self.inner),
            params: params.cloned(),
            options: options.clone(),
            with_progress,
            reply,
            flight: flight.clone(),
        };
        // Held until the id is noted, so that an answer that comes at once finds it.
        let mut noted = flight.0.lock();
        *noted = Flight::Sent(self.start_once(method, params, options, with_progress, Arc::new(recall))?);
        drop(noted);
        Ok(flight)
    }

    fn start_once(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        with_progress: bool,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<RequestId, ClientError> {
        self.inner.check_open()?;
        let timeout = self.inner.request_timeout(options);
        let parameters = match method {
            method::TOOLS_CALL => self.inner.mirrored.of_call(params)?,
            _ => Vec::new(),
        };
        let (sent, method, revision) = {
            let mut conversation = self.inner.conversation.lock();
            // With the table locked: the end comes after this request, and ends it too.
            self.inner.check_open()?;
            let revision = conversation.revision();
            let method = spoken(method, revision);
            if conversation.in_flight() >= self.inner.options.max_in_flight {
                return Err(ClientError::Busy(format!("{} requests are in flight", conversation.in_flight())));
            }
            let sent = conversation.request(self.inner.runtime.now(), timeout, method, params, with_progress, reply);
            (sent.map_err(|error| ClientError::Invalid(error.message))?, method, revision)
        };
        let id = sent.id.clone();
        if let Err(error) = self.inner.check_size(method, &sent.message) {
            self.inner.conversation.lock().fail(&id);
            return Err(error);
        }
        self.inner.send_request(sent, method, revision, params, parameters);
        Ok(id)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// If the revision has no such notification, or the connection is closed.
    pub fn notify(&self, method: &str, params: Option<&RawJson>) -> Result<(), ClientError> {
        self.inner.check_open()?;
        let notification = self.inner.conversation.lock().notification(method, params);
        let notification = notification.map_err(|error| ClientError::Invalid(error.message))?;
        self.inner.check_size(method, &notification)?;
        self.inner.send(notification);
        Ok(())
    }

    /// Ends a request that is no longer wanted; its outcome is [`ClientError::Cancelled`].
    #[doc(hidden)]
    pub fn cancel(&self, in_flight: &InFlight, reason: &str) {
        let flight = std::mem::replace(&mut *in_flight.0.lock(), Flight::Cancelled);
        match flight {
            Flight::Sent(id) => self.inner.end_request(&id, reason, ClientError::Cancelled),
            Flight::Walking(stop) => stop.keep(()),
            Flight::Cancelled => {}
        }
    }

    /// The name and version of the server, if it gave them.
    pub fn server_info(&self) -> Option<Implementation> {
        self.server().info.as_ref()?.parse().ok()
    }

    /// The capabilities of the server. There are none if the revision was pinned without asking.
    pub fn server_capabilities(&self) -> ServerCapabilities {
        self.server().capabilities.parse().unwrap_or_default()
    }

    /// Advice of the server how to use it, for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.server().instructions.as_deref()
    }

    /// The answer of the server to the first request, as it came.
    pub fn server(&self) -> &ServerDescription {
        static UNKNOWN: OnceLock<ServerDescription> = OnceLock::new();
        self.inner.server.get().unwrap_or_else(|| UNKNOWN.get_or_init(|| ServerDescription::pinned(Revision::LATEST)))
    }

    /// Why the connection has ended, if it has, and not by this side.
    #[doc(hidden)]
    pub fn failure(&self) -> Option<ClientError> {
        let failure = self.inner.failure.lock().clone();
        failure.filter(|_| self.inner.closed.load(Ordering::Acquire)).map(ClientError::Link)
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.server().revision
    }

    /// Asks whether the server is alive.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.request(method::PING, None, &RequestOptions::default()).await.map(drop)
    }

    /// Ends the connection: politely until the deadline, then by force. Requests in flight end as closed.
    ///
    /// It can be asked for more than once: everyone waits for the same end, and the earliest deadline counts.
    pub async fn close_within(&self, deadline: Duration) {
        self.inner.end(None);
        if let Some(link) = self.inner.link() {
            link.close(deadline).await;
            let ended = self.inner.link.lock().take();
            drop(ended);
        }
    }

    /// [`Client::close_within`] with the default deadline (2 s for a child process to go by itself).
    pub async fn close(&self) {
        self.close_within(self.inner.options.close_patience).await;
    }
}

/// Discovery is the liveness check of the era that has no `ping` (docs/versions.md, 2.5).
fn spoken(method: &str, revision: Option<Revision>) -> &str {
    match revision {
        Some(revision) if method == method::PING && revision.era() == Era::Modern => method::DISCOVER,
        _ => method,
    }
}

struct CancelOnDrop<'a> {
    client: &'a Client,
    in_flight: Option<InFlight>,
}

impl CancelOnDrop<'_> {
    fn disarm(mut self) {
        self.in_flight = None;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(in_flight) = &self.in_flight {
            self.client.cancel(in_flight, "the caller is gone");
        }
    }
}

impl Inner {
    fn new(
        runtime: Arc<dyn Runtime>,
        transport: Transport,
        options: ClientOptions,
        events: Arc<dyn ClientEvents>,
    ) -> Arc<Self> {
        let began = runtime.now();
        let identity =
            ClientIdentity { info: as_object(&options.info), capabilities: as_object(&options.capabilities) };
        let capabilities = identity.capabilities.clone();
        Arc::new(Self {
            runtime,
            transport,
            options,
            capabilities,
            events,
            conversation: Mutex::new(ClientConversation::new(identity)),
            link: Mutex::new(None),
            generation: AtomicU64::new(0),
            timer: Timer::default(),
            began,
            pauses: Pauses::default(),
            server: OnceLock::new(),
            failure: Mutex::new(None),
            closed: AtomicBool::new(false),
            mirrored: MirroredTools::default(),
            acknowledged: Promise::default(),
        })
    }

    fn check_open(&self) -> Result<(), ClientError> {
        if self.closed.load(Ordering::Acquire) { Err(self.gone()) } else { Ok(()) }
    }

    /// Why there is no connection any more.
    fn gone(&self) -> ClientError {
        self.failure.lock().clone().map_or(ClientError::Closed, ClientError::Link)
    }

    /// Enforces our own receive limits on outgoing messages: a peer could not report which request it rejected.
    fn check_size(&self, method: &str, message: &Bytes) -> Result<(), ClientError> {
        let ClientOptions { max_message_bytes, max_nesting, .. } = self.options;
        let text = if message.len() > max_message_bytes {
            format!(
                "The message {method} would be {} bytes long; the limit is {max_message_bytes} bytes",
                message.len()
            )
        } else if envelope::nests_deeper_than(message, max_nesting) {
            format!("The parameters of {method} nest too deeply: a message may have {max_nesting} levels")
        } else {
            return Ok(());
        };
        Err(ClientError::Invalid(text))
    }

    fn request_timeout(&self, options: &RequestOptions) -> RequestTimeout {
        let timeout = options.timeout.unwrap_or(self.options.timeout);
        RequestTimeout { timeout, max: options.max_timeout.unwrap_or(self.options.max_timeout).max(timeout) }
    }

    /// Returns whether headers repeat parts of the messages.
    fn mirrors(&self, revision: Option<Revision>) -> bool {
        self.transport == Transport::Http && revision.is_some_and(|revision| revision.era() == Era::Modern)
    }

    fn send_request(
        self: &Arc<Self>,
        sent: SentRequest,
        method: &str,
        revision: Option<Revision>,
        params: Option<&RawJson>,
        parameters: Vec<(String, String)>,
    ) {
        self.log(Direction::Sent, revision, method, &sent.message);
        let name =
            Method::name_parameter(method).zip(params).and_then(|(parameter, params)| string_member(params, parameter));
        let head = RequestHead { id: sent.id, method: method.into(), name, revision, parameters };
        let id = head.id.clone();
        match self.link() {
            Some(link) => link.send(LinkMessage { bytes: sent.message, request: Some(head), alone: sent.alone }),
            None => self.end_request(&id, "", self.gone()),
        }
        self.arm_timer();
    }

    fn send(&self, message: Bytes) {
        self.log(Direction::Sent, self.conversation.lock().revision(), "", &message);
        if let Some(link) = self.link() {
            link.send(LinkMessage { bytes: message, request: None, alone: false });
        }
    }

    fn link(&self) -> Option<Arc<dyn Link>> {
        self.link.lock().clone()
    }

    fn receive(self: &Arc<Self>, frame: &Bytes) {
        // A server that answers many requests at once answers no more than there are.
        let bounds = FrameBounds { elements: self.options.max_in_flight, ..self.options.limits().frame() };
        let elements = match Frame::parse(frame, bounds) {
            Frame::Single(one) => vec![one],
            Frame::Batch(elements) => elements,
        };
        for element in elements {
            match element {
                Ok(message) => self.message(message),
                Err(malformed) => {
                    tracing::warn!(target: "trunkline", "the server sent what is no message: {}", malformed.error);
                }
            }
        }
    }

    fn message(self: &Arc<Self>, message: Message) {
        let copy = self.runtime.wire_log().map(|_| message.clone());
        let (received, revision) = {
            let mut conversation = self.conversation.lock();
            (conversation.receive(self.runtime.now(), message), conversation.revision())
        };
        if let (Some(log), Some(copy)) = (self.runtime.wire_log(), copy) {
            let method = match &received {
                ClientReceived::Answered { method, .. } => Some(&**method),
                _ => None,
            };
            let (side, direction, transport) = (Side::Client, Direction::Received, self.transport);
            let client_capabilities = Some(&self.capabilities);
            log.message(
                &Exchange { side, direction, transport, revision, client_capabilities, method, refused: false },
                &copy,
            );
        }
        match received {
            ClientReceived::Answered { item, method, outcome } => {
                let lists_tools = &*method == method::TOOLS_LIST && self.mirrors(revision);
                let outcome = outcome.map(|list| if lists_tools { self.mirrored.read_list(list) } else { list });
                item.answered(outcome.map_err(ClientError::from));
            }
            ClientReceived::Progress { item, params } => item.progress(params),
            ClientReceived::Notification(Notification { method, .. })
                if &*method == method::SUBSCRIPTIONS_ACKNOWLEDGED =>
            {
                self.acknowledged.keep(());
            }
            // The server cancels a subscription that has ended with its answer (CAN-11), or a request that was answered at once.
            ClientReceived::Notification(Notification { method, .. }) if &*method == method::CANCELLED => {}
            ClientReceived::Notification(Notification { method, params }) => {
                self.events.notification(&method, params.as_ref());
            }
            ClientReceived::Asked(answer) => self.send(answer),
            ClientReceived::Nothing(why) => tracing::debug!(target: "trunkline", "no effect: {why}"),
        }
    }

    fn request_failed(&self, id: &RequestId, failure: LinkFailure) {
        let reply = self.conversation.lock().fail(id);
        if let Some(reply) = reply {
            reply.answered(Err(ClientError::Link(failure)));
        }
    }

    fn end_request(&self, id: &RequestId, reason: &str, error: ClientError) {
        let ended = self.conversation.lock().cancel(id, reason);
        let Some((reply, told)) = ended else { return };
        if let Some(link) = self.link()
            && !link.abandon(id)
            && let Some(told) = told
        {
            self.log(Direction::Sent, self.conversation.lock().revision(), "", &told);
            link.send(LinkMessage { bytes: told, request: None, alone: false });
        }
        reply.answered(Err(error));
    }

    /// Ends every request; the link is the caller's to close. `error`: why, if not by this side.
    fn end(&self, error: Option<ClientError>) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.timer.end();
        let replies = self.conversation.lock().drain();
        for reply in replies {
            reply.answered(Err(error.clone().unwrap_or(ClientError::Closed)));
        }
        self.events.closed(error.as_ref());
    }

    fn arm_timer(self: &Arc<Self>) {
        let Some(next) = self.conversation.lock().next_deadline() else { return };
        let task = self.timer.aim(next, &self.runtime, || {
            let client = Arc::downgrade(self);
            move || {
                if let Some(client) = client.upgrade() {
                    client.time_passed();
                }
            }
        });
        if let Some(task) = task {
            self.runtime.spawn(task);
        }
    }

    fn time_passed(self: &Arc<Self>) {
        loop {
            let now = self.runtime.now();
            let expired = self.conversation.lock().expired(now).map(|(id, method, time)| {
                (id, format!("The server did not answer {method} within {time:?} and was told to cancel"))
            });
            match expired {
                Some((id, text)) => self.end_request(&id, "timed out", ClientError::Timeout(text)),
                None => break,
            }
        }
        self.arm_timer();
    }

    fn log(&self, direction: Direction, revision: Option<Revision>, method: &str, text: &[u8]) {
        if let Some(log) = self.runtime.wire_log() {
            let (side, transport) = (Side::Client, self.transport);
            let (method, client_capabilities) = (Some(method), Some(&self.capabilities));
            log.text(
                &Exchange { side, direction, transport, revision, client_capabilities, method, refused: false },
                text,
            );
        }
    }
}

/// Takes what one link brings, for as long as it is the current one.
struct ClientInbox {
    client: Weak<Inner>,
    generation: u64,
}

impl ClientInbox {
    fn client(&self) -> Option<Arc<Inner>> {
        self.client.upgrade().filter(|client| client.generation.load(Ordering::Acquire) == self.generation)
    }
}

impl Inbox for ClientInbox {
    fn message(&self, frame: Bytes) {
        let Some(client) = self.client() else { return };
        // The hooks of the program run in here; who reads for the connection must survive them.
        if catch_unwind(AssertUnwindSafe(|| client.receive(&frame))).is_err() {
            tracing::error!(target: "trunkline", "a panic while a message was taken in: a hook that hears of notifications or progress must not");
        }
    }

    fn awaits(&self, id: &RequestId) -> bool {
        self.client().is_some_and(|client| client.conversation.lock().awaits(id))
    }

    fn pause(&self, id: &RequestId) {
        if let Some(client) = self.client.upgrade() {
            let now = client.runtime.now();
            client.pauses.begin(now);
            client.conversation.lock().pause(now, id);
        }
    }

    fn resume(&self, id: &RequestId) {
        // Of a link that has been left, too: its pause was counted.
        if let Some(client) = self.client.upgrade() {
            let now = client.runtime.now();
            client.pauses.end(now);
            client.conversation.lock().resume(now, id);
            client.arm_timer();
        }
    }

    fn failed(&self, id: &RequestId, failure: LinkFailure) {
        if let Some(client) = self.client() {
            client.request_failed(id, failure);
        }
    }

    fn closed(&self, failure: LinkFailure) {
        if let Some(client) = self.client() {
            client.link_closed(failure);
        }
    }
}

impl Inner {
    fn link_closed(&self, failure: LinkFailure) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        *self.failure.lock() = Some(failure.clone());
        if self.server.get().is_some() {
            self.end(Some(ClientError::Link(failure)));
            // Dropping it ends what is left of it.
            let link = self.link.lock().take();
            drop(link);
            return;
        }
        // Still negotiating: a fresh link may follow.
        let replies = self.conversation.lock().drain();
        for reply in replies {
            reply.answered(Err(ClientError::Link(failure.clone())));
        }
    }
}

fn as_object(value: &impl Serialize) -> RawJson {
    RawJson::from_value(value).unwrap_or_else(|_| RawJson::empty_object())
}

fn string_member(params: &RawJson, member: &str) -> Option<String> {
    // Keys may be written with escapes, so they are not borrowed.
    let members: std::collections::BTreeMap<String, &RawValue> = params.parse().ok()?;
    serde_json::from_str(members.get(member)?.get()).ok()
}

impl ServerDescription {
    fn pinned(revision: Revision) -> Self {
        Self { revision, info: None, capabilities: RawJson::empty_object(), instructions: None }
    }

    /// Reads the result of `initialize` or `server/discover`.
    fn read(revision: Revision, result: &RawJson) -> Self {
        #[derive(Deserialize)]
        struct Opened<'a> {
            #[serde(borrow, default, rename = "serverInfo")]
            info: Option<&'a RawValue>,
            #[serde(borrow, default)]
            capabilities: Option<&'a RawValue>,
            #[serde(default)]
            instructions: Option<String>,
            #[serde(borrow, default, rename = "_meta")]
            meta: Option<std::collections::BTreeMap<String, &'a RawValue>>,
        }
        let Ok(opened) = result.parse::<Opened<'_>>() else { return Self::pinned(revision) };
        let info = opened.info.or_else(|| opened.meta.as_ref().and_then(|meta| meta.get(meta::SERVER_INFO).copied()));
        Self {
            revision,
            info: info.map(|raw| RawJson::slice_of(result.buffer(), raw)),
            capabilities: opened
                .capabilities
                .map_or_else(RawJson::empty_object, |raw| RawJson::slice_of(result.buffer(), raw)),
            instructions: opened.instructions,
        }
    }
}

/// A future that ends at a time, whichever comes first.
pub(crate) async fn until<T>(runtime: &dyn Runtime, at: Instant, future: impl Future<Output = T>) -> Option<T> {
    unless(runtime.sleep_until(at), future).await
}

/// A future that ends when another does, whichever comes first.
async fn unless<T>(end: impl Future<Output = ()>, future: impl Future<Output = T>) -> Option<T> {
    let (mut end, mut future) = (std::pin::pin!(end), std::pin::pin!(future));
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        std::task::Poll::Ready(value) => std::task::Poll::Ready(Some(value)),
        std::task::Poll::Pending => end.as_mut().poll(context).map(|()| None),
    })
    .await
}
