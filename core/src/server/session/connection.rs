//! One conversation with a client: a pipe, an HTTP session, or a single HTTP exchange.

use super::{
    batch::BatchReply,
    listeners::ChangeListener,
    log_level::SessionLevel,
    name_room::client_of,
    names::Names,
    observed::{Observed, operation_of, session_end},
    outbound::{Outbound, OutgoingMessage},
    pending::SessionNotifications,
    rehearsal::Rehearsal,
    server_state::ServerState,
    shared_state::{OwnChanges, SessionChange},
    subscriptions::OpenSubscription,
};
use crate::{
    engine::{
        CallKey, Claim, IncomingCall, Mirror, OpenCalls, Received, RefusedRequest, RequestInfo, ServerConversation,
    },
    protocol::{
        RawJson, RequestId, Revision, RevisionFeature, RpcError,
        envelope::{self, Frame, Malformed, Message},
        meta::RequestMeta,
        method,
    },
    runtime::{BoxedTask, Promise, Runtime},
    server::{
        handlers::{Cancellation, ClientRequestError, ResponseCallback},
        registry::ListSet,
    },
    sync::Mutex,
    telemetry::{LoadShare, OperationEnd, RunningOperation},
    wire_log::{Direction, MessageInfo, Side, Transport},
};
use std::{
    collections::{BTreeSet, HashMap},
    future::poll_fn,
    sync::{
        Arc, MutexGuard, OnceLock, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Poll, Waker},
    time::Instant,
};

/// Beginning of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConversationStart {
    /// With `initialize`, or with modern requests that need no opening.
    Session,
    /// With any request: the transport knows the revision, and there is no session.
    Stateless(Revision),
}

/// The end of tasks that are made in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// With the server: whoever knows their ids may come back for them in another conversation.
    Server,
    /// With the listener of that number ([`Server::end_tasks_of`]), for the same reason.
    Listener(u64),
    /// With the conversation, for nobody could come back.
    Conversation,
}

/// Serves the requests of conversations.
pub(in crate::server) trait Dispatch: Send + Sync + 'static {
    /// Begins to serve a request. Its result goes back with [`Connection::answer`].
    fn begin(
        &self,
        connection: &Arc<Connection>,
        call: IncomingCall,
        reply: &Arc<dyn Outbound>,
        cancellation: Cancellation,
        operation: Option<Arc<RunningOperation>>,
    );

    /// The tasks of `ids` whose status this client may see (TKX-21); `None` where there are no
    /// tasks.
    ///
    /// # Errors
    /// If the client did not declare tasks.
    fn visible_tasks(&self, info: &RequestInfo, ids: BTreeSet<String>) -> Result<Option<BTreeSet<String>>, RpcError>;

    /// Completes when the tasks are over that end with a conversation, and the store has that.
    fn drain_tasks_of(&self, number: u64) -> BoxedTask<()>;

    /// A conversation has ended; its tasks end with it if `ends_tasks` is set.
    fn connection_closed(&self, number: u64, ends_tasks: bool);
}

/// A conversation. Transports give it frames; it sends answers where the frame came from.
pub(crate) struct Connection {
    server: Arc<ServerState>,
    dispatch: Arc<dyn Dispatch>,
    number: u64,
    runtime: Arc<dyn Runtime>,
    transport: Transport,
    stateless: bool,
    origin: Origin,
    unrelated: Arc<dyn Outbound>,
    conversation: Mutex<ServerConversation<WaitingReply, ResponseCallback>>,
    /// Held while a client request, or the notification that cancels it, is sent: the one leaves
    /// before the other, and both before the call that they belong to is over.
    pub(in crate::server) client_requests: Mutex<()>,
    /// The tasks of the client that requests of ours wait for: each is woken by a change.
    input_tasks: Mutex<HashMap<String, Arc<Promise<()>>>>,
    calls: Mutex<HashMap<CallKey, Started>>,
    subscriptions: Mutex<HashMap<CallKey, OpenSubscription>>,
    /// Calls that are over, but whose responses are not sent yet.
    answering: AtomicUsize,
    idle: Mutex<Vec<Waker>>,
    initialized: AtomicBool,
    /// The lists that `initialize` declared.
    declared: OnceLock<ListSet>,
    log_level: SessionLevel,
    notifications: SessionNotifications,
    listening: AtomicBool,
    /// Set where other processes serve the session too.
    own_changes: OnceLock<OwnChanges>,
    closed: AtomicBool,
    /// When its session was opened, for telemetry.
    session_began: OnceLock<Instant>,
    /// Counts the session while it is open.
    counted: Mutex<Option<LoadShare>>,
    /// The test that it belongs to.
    rehearsal: OnceLock<Arc<Rehearsal>>,
}

type Reply = Arc<dyn Outbound>;

/// The way back of a message that has not begun to be served. Counts as a call that waits.
pub(in crate::server) struct WaitingReply {
    reply: Reply,
    _counted: LoadShare,
}

/// A call that was started: how to tell that it is not wanted any more.
struct Started {
    cancellation: Cancellation,
    reply: Reply,
    /// The telemetry of the call; it ends with the call.
    operation: Option<Arc<RunningOperation>>,
    /// Counts it while it runs; not streams of changes, which last.
    _counted: Option<LoadShare>,
    method: &'static str,
    revision: Revision,
}

impl Started {
    fn cancel(self, reason: &str) {
        if let Some(operation) = &self.operation {
            operation.end(OperationEnd::cancelled());
        }
        self.cancellation.cancel(reason);
        self.reply.send(OutgoingMessage::Abandoned);
    }

    /// Answers in the place of the handler, which is cancelled first: the requests that it has sent
    /// to the client end before the call.
    fn fail(self, connection: &Connection, id: &RequestId, error: &RpcError) {
        let failed = Err(error.clone());
        if let Some(operation) = &self.operation {
            operation.end(OperationEnd::answered(self.method, &failed));
        }
        self.cancellation.cancel(&error.message);
        connection.respond(&self.reply, id, failed, self.revision.into(), self.method);
    }
}

impl Connection {
    pub(in crate::server) fn new(
        server: Arc<ServerState>,
        dispatch: Arc<dyn Dispatch>,
        runtime: Arc<dyn Runtime>,
        transport: Transport,
        unrelated: Reply,
        opening: ConversationStart,
        origin: Origin,
    ) -> Arc<Self> {
        let limits = &server.options().limits;
        let conversation = match opening {
            ConversationStart::Session => ServerConversation::new(limits),
            ConversationStart::Stateless(revision) => ServerConversation::stateless(limits, revision),
        };
        let notifications = SessionNotifications::new(server.names_of_clients());
        Arc::new(Self {
            number: server.next_number(),
            conversation: Mutex::new(conversation),
            client_requests: Mutex::default(),
            server,
            dispatch,
            runtime,
            transport,
            input_tasks: Mutex::default(),
            stateless: matches!(opening, ConversationStart::Stateless(_)),
            origin,
            unrelated,
            calls: Mutex::default(),
            subscriptions: Mutex::default(),
            answering: AtomicUsize::new(0),
            idle: Mutex::default(),
            initialized: AtomicBool::new(false),
            declared: OnceLock::new(),
            log_level: SessionLevel::default(),
            notifications,
            listening: AtomicBool::new(false),
            own_changes: OnceLock::new(),
            closed: AtomicBool::new(false),
            session_began: OnceLock::new(),
            counted: Mutex::default(),
            rehearsal: OnceLock::new(),
        })
    }

    pub(in crate::server) fn number(&self) -> u64 {
        self.number
    }

    /// Makes it a conversation of a test, before its first message.
    pub(crate) fn rehearse(&self, rehearsal: &Arc<Rehearsal>) {
        let _ = self.rehearsal.set(Arc::clone(rehearsal));
    }

    /// The test that it belongs to.
    pub(in crate::server) fn rehearsal(&self) -> Option<&Rehearsal> {
        self.rehearsal.get().map(|rehearsal| &**rehearsal)
    }

    /// Returns whether handlers that ask the client run again from the top on every revision.
    pub(in crate::server) fn reruns_handlers(&self) -> bool {
        self.server.options().rerun_handlers || self.rehearsal().is_some()
    }

    pub(in crate::server) fn server(&self) -> &Arc<ServerState> {
        &self.server
    }

    pub(in crate::server) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.runtime
    }

    pub(in crate::server) fn transport(&self) -> Transport {
        self.transport
    }

    /// Returns whether this is one exchange of the legacy era without its session.
    pub(in crate::server) fn is_stateless(&self) -> bool {
        self.stateless
    }

    /// Returns whether a handshake has opened a session here.
    pub(in crate::server) fn has_session(&self) -> bool {
        !self.stateless && self.revision().is_some()
    }

    /// The listener, or conversation, with which tasks that are made here end.
    pub(in crate::server) fn tasks_end_with(&self) -> Option<u64> {
        match self.origin {
            Origin::Server => None,
            Origin::Listener(number) => Some(number),
            Origin::Conversation => Some(self.number),
        }
    }

    pub(super) fn dispatch(&self) -> &Arc<dyn Dispatch> {
        &self.dispatch
    }

    /// Where messages go that belong to no request.
    pub(in crate::server) fn unrelated(&self) -> &Reply {
        &self.unrelated
    }

    pub(in crate::server) fn log_level(&self) -> &SessionLevel {
        &self.log_level
    }

    pub(super) fn notifications(&self) -> &SessionNotifications {
        &self.notifications
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.initialized.load(Ordering::Acquire)
    }

    pub(super) fn initialized(&self) -> &AtomicBool {
        &self.initialized
    }

    pub(super) fn own_changes(&self) -> &OnceLock<OwnChanges> {
        &self.own_changes
    }

    pub(super) fn declare(&self, lists: ListSet) {
        let _ = self.declared.set(lists);
    }

    /// The lists that this session was told of.
    pub(in crate::server) fn declared(&self) -> ListSet {
        self.declared.get().copied().unwrap_or_default()
    }

    pub(in crate::server) fn conversation(&self) -> MutexGuard<'_, ServerConversation<WaitingReply, ResponseCallback>> {
        self.conversation.lock()
    }

    /// Returns whether the conversation has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The revision that the handshake fixed.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.conversation.lock().revision()
    }

    /// Returns whether no call runs or waits, and all responses are sent.
    pub(crate) fn is_idle(&self) -> bool {
        // In this order: a call is counted before the conversation lets go of it.
        self.conversation.lock().is_idle() && self.answering.load(Ordering::Acquire) == 0
    }

    /// Takes a frame in; answers go to `reply`. Gives how many responses (or
    /// [`OutgoingMessage::Abandoned`]) `reply` gets in all; a batch counts as one.
    ///
    /// # Errors
    /// If the frame as a whole is refused; the refusal is not sent yet.
    pub(crate) fn receive(
        self: &Arc<Self>,
        frame: Frame,
        mirror: Option<&Mirror>,
        reply: &Reply,
    ) -> Result<usize, RefusedRequest> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(0);
        }
        match frame {
            Frame::Single(Ok(message)) => {
                let expected = usize::from(matches!(message, Message::Request(_)));
                self.message(message, mirror, reply);
                Ok(expected)
            }
            Frame::Single(Err(Malformed { id, error })) => Err(RefusedRequest { id, error }),
            Frame::Batch(elements) => self.batch(elements, reply),
        }
    }

    fn batch(
        self: &Arc<Self>,
        elements: Vec<Result<Message, Malformed>>,
        reply: &Reply,
    ) -> Result<usize, RefusedRequest> {
        let legal = self.revision().is_some_and(|revision| revision.supports(RevisionFeature::Batches));
        let refuse = |message: &str| Err(RefusedRequest { id: None, error: RpcError::invalid_request(message) });
        if !legal {
            return refuse("Batches exist only in revision 2025-03-26");
        }
        let forbidden = elements.iter().flatten().any(|message| match message {
            Message::Request(request) => {
                let (_, meta) = RequestMeta::of(request.params.as_ref());
                Claim::of(request, &meta, None) != Claim::Legacy
            }
            _ => false,
        });
        if forbidden {
            return refuse("A batch cannot hold initialize or a request of the modern era");
        }
        let expects = |element: &Result<Message, Malformed>| matches!(element, Ok(Message::Request(_)) | Err(_));
        let expected = elements.iter().filter(|element| expects(element)).count();
        let batch: Reply = Arc::new(BatchReply::new(Arc::clone(reply), expected));
        for element in elements {
            match element {
                Ok(message) => self.message(message, None, &batch),
                Err(Malformed { id, error }) => batch.send(OutgoingMessage::error(id.as_ref(), &error, true)),
            }
        }
        Ok(usize::from(expected > 0))
    }

    fn message(self: &Arc<Self>, message: Message, mirror: Option<&Mirror>, reply: &Reply) {
        let id = match &message {
            Message::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let log = self.runtime.wire_log().map(|log| (log, message.clone()));
        let observed = self.server.telemetry().and_then(|telemetry| Observed::new(telemetry, self, &message));
        if let Message::Notification(notification) = &message
            && &*notification.method == method::INITIALIZED
        {
            self.initialized.store(true, Ordering::Release);
            self.note_change(|| SessionChange::Initialized);
            self.send_missed();
        }
        let received = match &message {
            // Answers that wait to be read count as calls that wait; pings and cancellations pass.
            Message::Request(request) if reply.is_congested() && &*request.method != method::PING => {
                let error = RpcError::busy("too many answers wait to be read");
                Received::Refuse(RefusedRequest { id: Some(request.id.clone()), error })
            }
            _ => {
                let served = match &message {
                    Message::Request(request) => self.server.served(&request.method),
                    _ => None,
                };
                let waiting = WaitingReply { reply: Arc::clone(reply), _counted: self.server.load().waiting_call() };
                self.conversation.lock().receive_served(self.runtime.now(), message, mirror, served, waiting)
            }
        };
        if let Some((log, message)) = log {
            let revision = match &received {
                Received::Call(call, _) => Some(call.info.revision),
                Received::Initialize(_, revision) => Some(*revision),
                _ => self.revision(),
            };
            let client_capabilities = match &received {
                Received::Call(call, _) => Some(&call.info.client_capabilities),
                _ => None,
            };
            let refused = matches!(received, Received::Refuse(_));
            let (side, direction, transport) = (Side::Server, Direction::Received, self.transport);
            log.message(
                &MessageInfo { side, direction, transport, revision, client_capabilities, method: None, refused },
                &message,
            );
        }
        match received {
            Received::Initialize(id, revision) => {
                let snapshot = self.server.snapshot();
                let _ = self.declared.set(snapshot.offered());
                let result = RawJson::from_value(&self.server.initialize_result(&snapshot, revision, !self.stateless));
                self.listen();
                self.count_session();
                let result = result.map_err(|_| RpcError::internal());
                if let Some(observed) = observed {
                    let _ = self.session_began.set(observed.began);
                    observed.answered(self, Some(revision), reply, &result);
                }
                self.respond(reply, &id, result, revision.into(), method::INITIALIZE);
            }
            Received::Pong(id) => {
                let revision = self.revision().unwrap_or(Revision::LATEST_LEGACY);
                let result = Ok(RawJson::empty_object());
                if let Some(observed) = observed {
                    observed.answered(self, Some(revision), reply, &result);
                }
                self.respond(reply, &id, result, revision.into(), method::PING);
            }
            Received::Call(call, waiting) => self.start(call, waiting),
            Received::Refuse(RefusedRequest { id, error }) => {
                let outgoing = OutgoingMessage::error(id.as_ref(), &error, true);
                if let Some(observed) = observed {
                    observed.answered(self, self.revision(), reply, &Err(error));
                }
                self.log_sent(&outgoing, LogContext::default(), "");
                reply.send(outgoing);
            }
            Received::Cancelled { key, reason, waiting, next } => {
                let reason = reason.as_deref().unwrap_or("");
                // CAN-09
                tracing::debug!(target: "trunkline::server::session", ?reason, "the client cancelled a request");
                self.cancel(key, reason);
                if let Some(waiting) = waiting {
                    waiting.reply.send(OutgoingMessage::Abandoned);
                }
                self.start_next(next);
            }
            Received::Answered(on_response, outcome) => on_response(outcome.map_err(ClientRequestError::from)),
            Received::TaskChanged(id) => {
                let change = self.input_tasks.lock().get(&id).cloned();
                if let Some(change) = change {
                    change.keep(());
                }
            }
            Received::Nothing(why) => {
                tracing::debug!(target: "trunkline::server::session", reason = %why, request_id = id.map(tracing::field::display), "a message without an effect");
            }
        }
    }

    fn start(self: &Arc<Self>, mut call: IncomingCall, waiting: WaitingReply) {
        let WaitingReply { reply, _counted: waits } = waiting;
        let reply = &reply;
        call.info.auth = reply.auth().cloned();
        let cancellation = Cancellation::default();
        let operation = self.server.telemetry().and_then(|telemetry| operation_of(telemetry, self, &call, reply));
        let runs = (call.method.name != method::SUBSCRIPTIONS_LISTEN).then(|| self.server.load().running_call());
        let started = Started {
            cancellation: cancellation.clone(),
            reply: Arc::clone(reply),
            operation: operation.clone(),
            _counted: runs,
            method: call.method.name,
            revision: call.info.revision,
        };
        self.calls.lock().insert(call.key, started);
        drop(waits);
        // A call that had waited may have been cancelled on its way here, before anyone could tell
        // it.
        if self.closed.load(Ordering::Acquire) || !self.conversation.lock().is_open(call.key) {
            let started = self.calls.lock().remove(&call.key);
            if let Some(started) = started {
                started.cancel("");
            }
            return;
        }
        if call.method.name == method::SUBSCRIPTIONS_LISTEN {
            self.subscribe(call, reply);
        } else {
            self.dispatch.begin(self, call, reply, cancellation, operation);
        }
    }

    /// Counts its session, where there is one.
    pub(super) fn count_session(&self) {
        if !self.stateless && !self.is_closed() {
            *self.counted.lock() = Some(self.server.load().session());
        }
    }

    /// Opens a stream of change notifications.
    fn subscribe(self: &Arc<Self>, call: IncomingCall, reply: &Reply) {
        let client_capabilities = call.info.client_capabilities.clone();
        let logged = LoggedReply { connection: Arc::downgrade(self), client_capabilities, reply: Arc::clone(reply) };
        self.listen();
        let offered = self.server.snapshot().offered();
        let opened = {
            // Acknowledged and entered in one step: no change falls between, and none comes before
            // (SUB-02).
            let mut subscriptions = self.subscriptions.lock();
            let visible_tasks = |ids| self.dispatch.visible_tasks(&call.info, ids);
            let names = || {
                let mut names = Names::new(self.server.names_of_clients());
                names.of(client_of(&call.info, reply));
                names
            };
            let (id, params) = (call.id.clone(), call.params.as_ref());
            OpenSubscription::open(id, params, offered, names, visible_tasks, Arc::new(logged)).map(|subscription| {
                let resources = subscription.resources().clone();
                subscriptions.insert(call.key, subscription);
                resources
            })
        };
        match opened {
            Ok(resources) => self.watch_resources(&resources),
            Err(error) => drop(self.answer(call.key, reply, Err(error), &call.info, call.method.name)),
        }
    }

    /// Watches the resources of remote servers among those of a stream, which is acknowledged
    /// already.
    fn watch_resources(&self, uris: &BTreeSet<String>) {
        let snapshot = self.server.snapshot();
        for (uri, watching) in uris.iter().filter_map(|uri| Some((uri.clone(), snapshot.watch(uri)?))) {
            self.runtime.spawn(Box::pin(async move {
                if let Err(error) = watching.await {
                    tracing::warn!(target: "trunkline::server::session", uri, %error, "changes of a resource are not known");
                }
            }));
        }
    }

    pub(in crate::server) fn answer(
        self: &Arc<Self>,
        key: CallKey,
        reply: &Reply,
        result: Result<RawJson, RpcError>,
        info: &RequestInfo,
        method: &str,
    ) -> bool {
        let started = self.calls.lock().remove(&key);
        if let Some(operation) = started.and_then(|started| started.operation) {
            operation.end(OperationEnd::answered(method, &result));
        }
        self.answering.fetch_add(1, Ordering::AcqRel);
        let (id, next) = self.conversation.lock().finish(key);
        let answered = id.is_some();
        if let Some(id) = id {
            self.respond(reply, &id, result, info.into(), method);
        }
        self.answering.fetch_sub(1, Ordering::AcqRel);
        self.start_next(next);
        self.wake_if_idle();
        answered
    }

    fn start_next(self: &Arc<Self>, next: Option<(IncomingCall, WaitingReply)>) {
        if let Some((call, waiting)) = next {
            // A handler that answers at once would otherwise start its successor on the same stack,
            // and so on.
            let connection = Arc::clone(self);
            self.runtime.spawn(Box::pin(async move { connection.start(call, waiting) }));
        }
    }

    fn respond(
        &self,
        reply: &Reply,
        id: &RequestId,
        result: Result<RawJson, RpcError>,
        log_context: LogContext<'_>,
        method: &str,
    ) {
        let outgoing = match result {
            Ok(result) => OutgoingMessage::result(envelope::encode_result(id, result.as_bytes())),
            Err(error) => OutgoingMessage::error(Some(id), &error, false),
        };
        self.log_sent(&outgoing, log_context, method);
        reply.send(outgoing);
    }

    fn cancel(self: &Arc<Self>, key: CallKey, reason: &str) {
        self.subscriptions.lock().remove(&key);
        let started = self.calls.lock().remove(&key);
        if let Some(started) = started {
            started.cancel(reason);
        }
        self.wake_if_idle();
    }

    pub(in crate::server) fn listen(self: &Arc<Self>) {
        if !self.listening.swap(true, Ordering::AcqRel) {
            let listener: Weak<dyn ChangeListener> = Arc::<Self>::downgrade(self);
            self.server.listeners().insert(self.number, listener);
        }
    }

    /// Enters a task of the client: the promise is kept when the client reports a change of it.
    pub(in crate::server) fn watch_task(&self, id: &str) -> Arc<Promise<()>> {
        Arc::clone(self.input_tasks.lock().entry(id.to_owned()).or_default())
    }

    /// Ends what [`Self::watch_task`] began.
    pub(in crate::server) fn unwatch_task(&self, id: &str) {
        self.input_tasks.lock().remove(id);
    }

    /// Runs `act` on each stream of change notifications.
    pub(super) fn for_subscriptions(&self, act: impl FnMut(&mut OpenSubscription)) {
        self.subscriptions.lock().values_mut().for_each(act);
    }

    /// Ends the conversation: subscriptions get their final result, calls are cancelled, later
    /// messages are dropped. Idempotent.
    pub(crate) fn close(self: &Arc<Self>) {
        self.end(None);
    }

    /// Ends the conversation as [`Self::close`] does, but calls that run or wait are answered with
    /// a failure: for the end of the server, whose client still reads.
    pub(crate) fn interrupt(self: &Arc<Self>) {
        self.end(Some(&RpcError::interrupted()));
    }

    fn end(self: &Arc<Self>, failure: Option<&RpcError>) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.server.listeners().remove(self.number);
        drop(self.counted.lock().take());
        if let (Some(began), Some(telemetry)) = (self.session_began.get(), self.server.telemetry()) {
            telemetry.session_ended(session_end(self, *began));
        }
        self.dispatch.connection_closed(self.number, self.origin == Origin::Conversation);
        self.end_subscriptions();
        self.answering.fetch_add(1, Ordering::AcqRel);
        let OpenCalls { running, waiting } = self.conversation.lock().finish_all();
        let mut ids: HashMap<_, _> = running.into_iter().collect();
        let calls: Vec<_> = self.calls.lock().drain().collect();
        for (key, started) in calls {
            match failure.zip(ids.remove(&key)) {
                Some((error, id)) => started.fail(self, &id, error),
                None => started.cancel("the connection is closed"),
            }
        }
        if let Some(error) = failure {
            for (call, WaitingReply { reply, .. }) in waiting {
                self.respond(&reply, &call.id, Err(error.clone()), (&call.info).into(), call.method.name);
            }
        }
        self.answering.fetch_sub(1, Ordering::AcqRel);
        let pending = self.conversation.lock().drain_asked();
        pending.into_iter().for_each(|on_response| on_response(Err(ClientRequestError::Closed)));
        self.wake_if_idle();
    }

    /// Tells the streams of change notifications that they end (SUB-06); for an orderly shutdown
    /// before [`Self::close`].
    pub(crate) fn end_subscriptions(self: &Arc<Self>) {
        let subscriptions: Vec<_> = self.subscriptions.lock().drain().collect();
        for (key, subscription) in subscriptions {
            let result = self.server.results().seal_object(subscription.ended(), Revision::LATEST);
            let (id, _) = self.conversation.lock().finish(key);
            let started = self.calls.lock().remove(&key);
            if let Some(operation) = started.and_then(|started| started.operation) {
                operation.end(OperationEnd::default());
            }
            if let Some(id) = id {
                let listen = method::SUBSCRIPTIONS_LISTEN;
                self.respond(subscription.reply(), &id, Ok(result), Revision::LATEST.into(), listen);
                // CAN-11: where no stream of its own is closed, the end is said in so many words.
                if self.transport != Transport::Http {
                    subscription.cancelled();
                }
            }
        }
    }

    /// Completes when no call runs or waits, and no task that ends with this conversation.
    pub(crate) async fn drain(&self) {
        poll_fn(|context| {
            let mut idle = self.idle.lock();
            if self.is_idle() {
                return Poll::Ready(());
            }
            idle.push(context.waker().clone());
            Poll::Pending
        })
        .await;
        if self.origin == Origin::Conversation {
            self.dispatch.drain_tasks_of(self.number).await;
        }
    }

    fn wake_if_idle(&self) {
        let wakers = {
            let mut idle = self.idle.lock();
            if idle.is_empty() || !self.is_idle() {
                return;
            }
            std::mem::take(&mut *idle)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(in crate::server) fn log_sent(&self, outgoing: &OutgoingMessage, log_context: LogContext<'_>, method: &str) {
        let Some(log) = self.runtime.wire_log() else { return };
        let (text, refused) = match outgoing {
            OutgoingMessage::Response { message, failure } => (message, failure.is_some_and(|failure| failure.refused)),
            OutgoingMessage::Notification(message) | OutgoingMessage::Request(message) => (message, false),
            OutgoingMessage::Abandoned => return,
        };
        let LogContext { revision, client_capabilities } = log_context;
        let revision = revision.or_else(|| self.revision());
        let (side, direction, transport) = (Side::Server, Direction::Sent, self.transport);
        let method = Some(method);
        log.text(&MessageInfo { side, direction, transport, revision, client_capabilities, method, refused }, text);
    }
}

/// The revision and capabilities that govern a recorded message.
#[derive(Clone, Copy, Default)]
pub(in crate::server) struct LogContext<'a> {
    /// `None`: that of the session.
    revision: Option<Revision>,
    client_capabilities: Option<&'a RawJson>,
}

impl<'a> From<&'a RequestInfo> for LogContext<'a> {
    fn from(info: &'a RequestInfo) -> Self {
        Self { revision: Some(info.revision), client_capabilities: Some(&info.client_capabilities) }
    }
}

impl From<Revision> for LogContext<'_> {
    fn from(revision: Revision) -> Self {
        Self { revision: Some(revision), client_capabilities: None }
    }
}

/// The stream of a subscription, with its notifications recorded.
struct LoggedReply {
    connection: Weak<Connection>,
    client_capabilities: RawJson,
    reply: Reply,
}

impl Outbound for LoggedReply {
    fn send(&self, outgoing: OutgoingMessage) {
        if let (OutgoingMessage::Notification(_), Some(connection)) = (&outgoing, self.connection.upgrade()) {
            let client_capabilities = Some(&self.client_capabilities);
            let log_context = LogContext { revision: Some(Revision::LATEST), client_capabilities };
            connection.log_sent(&outgoing, log_context, "");
        }
        self.reply.send(outgoing);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.listeners().remove(self.number);
    }
}
