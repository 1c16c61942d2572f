//! One conversation with a client: a pipe, an HTTP session, or a single HTTP exchange.

use super::{
    batch::BatchReply,
    change_listeners::ChangeListener,
    client_request_state::{ClientRequestState, PendingRequest},
    conversation_observers::{LogContext, ObservedMessage, ObservedStream, ObserverState},
    declared_capabilities::DeclaredFor,
    name_budget::client_of,
    open_requests::{OpenRequests, Queued, Reply, ServedRequest, StartedCall},
    outbound::OutgoingMessage,
    server_state::ServerState,
    session_state::SessionState,
    shared_state::SessionChange,
    subscriptions::{ListenFilter, OpenSubscription},
};
use crate::{
    engine::{
        CallKey, Claim, IncomingCall, Mirror, OpenCalls, Received, RefusedRequest, RequestInfo, ServerConversation,
    },
    protocol::{
        RawJson, RequestId, Revision, RevisionFeature, RpcError,
        envelope::{Frame, Malformed, Message},
        meta::RequestMeta,
        method,
    },
    runtime::{BoxedTask, Runtime},
    server::{
        handlers::ClientRequestError,
        registry::{ListSet, RemoteDescription},
    },
    sync::Mutex,
    telemetry::excerpt,
    wire_log::Transport,
};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{
        Arc, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

/// How a conversation starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConversationStart {
    /// With `initialize`, or with modern requests, which need no handshake.
    Session,
    /// The same over a pipe, which a relay may use for several clients.
    Pipe,
    /// With any request. The transport knows the revision, and there is no session.
    Stateless(Revision),
}

/// The owner of a conversation's tasks, which end with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The server. Anyone who knows their ids can retrieve them in another conversation.
    Server,
    /// The listener with this number ([`Server::end_tasks_of`]), for the same reason.
    Listener(u64),
    /// The conversation, because no client could retrieve them later.
    Conversation,
}

/// The resources that a client may subscribe to.
pub(in crate::server) enum AllowedResources {
    Known(BTreeSet<String>),
    /// Hooks of the server decide about some of them, as part of the request.
    Undecided(Arc<dyn ServedRequest>, BoxedTask<BTreeSet<String>>),
}

/// Serves the requests of conversations.
pub(in crate::server) trait Dispatch: Send + Sync + 'static {
    /// Turns a call into an active request.
    fn activate(&self, connection: &Arc<Connection>, started: StartedCall) -> Arc<dyn ServedRequest>;

    /// The resources among `uris` that the client of a subscription may subscribe to.
    fn allowed_resources(
        &self,
        connection: &Arc<Connection>,
        started: StartedCall,
        uris: BTreeSet<String>,
    ) -> AllowedResources;

    /// The tasks among `ids` whose status this client may see (TKX-21); `None` if the server has no
    /// tasks.
    ///
    /// # Errors
    /// If the client did not declare tasks.
    fn visible_tasks(&self, info: &RequestInfo, ids: BTreeSet<String>) -> Result<Option<BTreeSet<String>>, RpcError>;

    /// A conversation takes no more requests: ends those of its tasks that wait for input, which
    /// only a request could bring.
    fn refuse_task_input_of(&self, number: u64);

    /// Completes when the tasks that end with a conversation are over and stored.
    fn drain_tasks_of(&self, number: u64) -> BoxedTask<()>;

    /// A conversation has ended; its tasks end with it if `ends_tasks` is set.
    fn connection_closed(&self, number: u64, ends_tasks: bool);
}

/// The environment of a conversation.
pub(crate) struct ConversationSetup {
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) transport: Transport,
    /// Receives what belongs to no request.
    pub(crate) unrelated: Reply,
    pub(crate) origin: Origin,
}

/// A conversation. Transports pass frames to it; it sends responses back to the origin of the
/// frame.
pub(crate) struct Connection {
    server: Arc<ServerState>,
    pub(super) dispatch: Arc<dyn Dispatch>,
    pub(in crate::server) number: u64,
    pub(in crate::server) setup: ConversationSetup,
    /// True for a single legacy exchange without a session.
    pub(in crate::server) stateless: bool,
    conversation: Mutex<ServerConversation<Queued, PendingRequest>>,
    requests: OpenRequests,
    pub(in crate::server) client_requests: ClientRequestState,
    pub(in crate::server) session: SessionState,
    pub(super) observer_state: ObserverState,
    /// Set when no message of the client can arrive any more.
    input_ended: AtomicBool,
    closed: AtomicBool,
}

impl Connection {
    pub(in crate::server) fn new(
        server: Arc<ServerState>,
        dispatch: Arc<dyn Dispatch>,
        setup: ConversationSetup,
        start: ConversationStart,
    ) -> Arc<Self> {
        let limits = &server.options().limits;
        let conversation = match start {
            ConversationStart::Session => ServerConversation::new(limits),
            ConversationStart::Pipe => ServerConversation::pipe(limits),
            ConversationStart::Stateless(revision) => ServerConversation::stateless(limits, revision),
        };
        Arc::new(Self {
            number: server.next_number(),
            conversation: Mutex::new(conversation),
            session: SessionState::default(),
            observer_state: ObserverState::new(&*setup.runtime),
            server,
            dispatch,
            setup,
            stateless: matches!(start, ConversationStart::Stateless(_)),
            requests: OpenRequests::default(),
            client_requests: ClientRequestState::default(),
            input_ended: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        })
    }

    pub(in crate::server) fn server(&self) -> &Arc<ServerState> {
        &self.server
    }

    pub(in crate::server) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.setup.runtime
    }

    /// Returns whether a handshake has opened a session.
    pub(in crate::server) fn has_session(&self) -> bool {
        !self.stateless && self.revision().is_some()
    }

    /// The number of the listener or conversation that tasks created here end with.
    pub(in crate::server) fn tasks_end_with(&self) -> Option<u64> {
        match self.setup.origin {
            Origin::Server => None,
            Origin::Listener(number) => Some(number),
            Origin::Conversation => Some(self.number),
        }
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.session.initialized.load(Ordering::Acquire)
    }

    /// The lists declared by `initialize`.
    pub(in crate::server) fn declared(&self) -> ListSet {
        self.session.declared.get().copied().unwrap_or_default()
    }

    pub(in crate::server) fn conversation(&self) -> MutexGuard<'_, ServerConversation<Queued, PendingRequest>> {
        self.conversation.lock()
    }

    /// Returns whether the conversation has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Returns whether the client can answer requests.
    pub(in crate::server) fn takes_answers(&self) -> bool {
        !self.input_ended.load(Ordering::Acquire) && !self.is_closed()
    }

    /// The revision negotiated by the handshake.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.conversation.lock().revision()
    }

    /// Returns whether no call is running or queued, and all responses have been sent.
    pub(crate) fn is_idle(&self) -> bool {
        // The order matters: a call is counted before the conversation removes it.
        self.conversation.lock().incoming.is_empty() && self.requests.answering.load(Ordering::Acquire) == 0
    }

    /// Processes a frame; responses go to `reply`. Returns how many responses (or
    /// [`OutgoingMessage::Abandoned`]) `reply` will get; a batch counts as one.
    ///
    /// # Errors
    /// If the frame as a whole is refused. The caller has to send the error.
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
            return refuse("Batches are only supported in revision 2025-03-26");
        }
        let forbidden = elements.iter().flatten().any(|message| match message {
            Message::Request(request) => {
                Claim::of(request, || RequestMeta::of(request.params.as_ref()).1, None) != Claim::Legacy
            }
            _ => false,
        });
        if forbidden {
            return refuse("A batch cannot contain initialize or a request of the modern era");
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
        let observed = self.observers().map(|observers| observers.arrived(&message));
        let received = self.admit(message, mirror, reply);
        if let (Some(observed), Some(observers)) = (&observed, self.observers()) {
            observers.received(observed, &received);
        }
        match received {
            Received::Call(call, queued) => self.start(call, queued),
            Received::Initialize(id, revision) => self.serve_handshake(observed, reply, (id, revision)),
            Received::Pong(id) => {
                let revision = self.revision().unwrap_or(Revision::LATEST_LEGACY);
                self.answer_itself(observed, reply, revision, (id, Ok(RawJson::empty_object())));
            }
            Received::Refuse(RefusedRequest { id, error }) => {
                let outgoing = OutgoingMessage::error(id.as_ref(), &error, true);
                if let (Some(observed), Some(observers)) = (observed, self.observers()) {
                    observers.answered(&observed, self.revision(), reply, &Err(error));
                }
                self.send(&**reply, outgoing, LogContext::default(), "");
            }
            Received::Initialized => {
                self.session.initialized.store(true, Ordering::Release);
                self.note_change(|| SessionChange::Initialized);
                // Send the notifications that were held back.
                if !self.session.pending.lock().is_empty() {
                    self.send_soon();
                }
            }
            Received::Cancelled { key, reason, waiting, next } => {
                let reason = reason.as_deref().unwrap_or("");
                // CAN-09
                tracing::debug!(target: "trunkline::server::session", ?reason, "the client cancelled a request");
                self.cancel(key, reason);
                if let Some((reply, _)) = waiting {
                    reply.send(OutgoingMessage::Abandoned);
                }
                self.start_next(next);
            }
            Received::Answered(request, outcome) => (request.on_response)(outcome.map_err(ClientRequestError::from)),
            Received::TaskChanged(id) => self.client_requests.task_changed(&id),
            Received::Waits(id) => {
                tracing::debug!(target: "trunkline::server::session", request_id = %excerpt(&id.to_string()), "a call is queued");
            }
            Received::Nothing(why) => {
                tracing::debug!(target: "trunkline::server::session", reason = %why, "ignored a message");
            }
        }
    }

    /// Passes a message to the engine, unless its sender reads too slowly.
    fn admit(&self, message: Message, mirror: Option<&Mirror>, reply: &Reply) -> Received<Queued, PendingRequest> {
        match message {
            // Unread responses count as queued calls; pings and cancellations are always admitted.
            Message::Request(request) if reply.is_congested() && &*request.method != method::PING => {
                let error = RpcError::busy("too many responses are waiting to be read");
                Received::Refuse(RefusedRequest { id: Some(request.id), error })
            }
            Message::Request(request) => {
                let served = self.server.served(&request.method);
                let queued = (Arc::clone(reply), self.server.load.waiting_call());
                self.conversation.lock().request(request, mirror, served, queued)
            }
            Message::Notification(notification) => {
                self.conversation.lock().notification(self.setup.runtime.now(), &notification)
            }
            Message::Response(response) => self.conversation.lock().response(response),
        }
    }

    /// Returns whether the client may see the details of failures: it is on this machine, or the
    /// server's option `debug` is set.
    pub(in crate::server) fn may_see_details(&self) -> bool {
        matches!(self.setup.transport, Transport::Stdio | Transport::Memory) || self.server.options().debug
    }

    /// Answers `initialize`. A server that is shown as a remote one asks that one first; if it
    /// fails, there is no session, and the client may try again.
    fn serve_handshake(
        self: &Arc<Self>,
        observed: Option<ObservedMessage>,
        reply: &Reply,
        (id, revision): (RequestId, Revision),
    ) {
        let Some(describing) = self.server.snapshot().describe_remote(self.may_see_details()) else {
            let result = self.initialize(revision, None);
            return self.answer_itself(observed, reply, revision, (id, result));
        };
        self.requests.answering.fetch_add(1, Ordering::AcqRel);
        let (connection, reply) = (Arc::clone(self), Arc::clone(reply));
        self.setup.runtime.spawn(Box::pin(async move {
            let described = describing.await.inspect_err(|_| connection.conversation.lock().refuse_handshake());
            let result = described.and_then(|remote| connection.initialize(revision, Some(&remote)));
            connection.answer_itself(observed, &reply, revision, (id, result));
            connection.requests.answering.fetch_sub(1, Ordering::AcqRel);
            connection.wake_if_idle();
        }));
    }

    /// Opens the session and returns the result of `initialize`.
    fn initialize(
        self: &Arc<Self>,
        revision: Revision,
        remote: Option<&RemoteDescription>,
    ) -> Result<RawJson, RpcError> {
        let snapshot = self.server.snapshot();
        let _ = self.session.declared.set(snapshot.offered());
        self.listen();
        self.count_session();
        let client = DeclaredFor { revision, comes_back: !self.stateless };
        let result = self.server.initialize_result(&snapshot, client, remote);
        RawJson::from_value(&result).map_err(|_| RpcError::internal())
    }

    /// Responds to a request that is not a call.
    fn answer_itself(
        &self,
        observed: Option<ObservedMessage>,
        reply: &Reply,
        revision: Revision,
        (id, result): (RequestId, Result<RawJson, RpcError>),
    ) {
        let method = observed.as_ref().map_or("", ObservedMessage::method);
        if let (Some(observed), Some(observers)) = (&observed, self.observers()) {
            observers.answered(observed, Some(revision), reply, &result);
        }
        self.send(&**reply, OutgoingMessage::response(&id, result), revision.into(), method);
    }

    fn start(self: &Arc<Self>, mut call: IncomingCall, (reply, waits): Queued) {
        call.info.auth = reply.auth().cloned();
        let observer = self.observe(&call, &reply);
        let (key, method) = (call.key, call.method.name);
        let started = StartedCall { call, reply, observer };
        if method == method::SUBSCRIPTIONS_LISTEN {
            return self.subscribe(started);
        }
        let request = self.dispatch.activate(self, started);
        let runs = self.run(key, &request);
        drop(waits);
        if runs {
            request.serve();
        }
    }

    /// Registers a call as running. Returns `false` if it has been cancelled.
    fn run(&self, key: CallKey, request: &Arc<dyn ServedRequest>) -> bool {
        self.requests.running.lock().insert(key, (Arc::clone(request), self.server.load.running_call()));
        // A queued call may have been cancelled just before it became visible here.
        if !self.is_closed() && self.conversation.lock().incoming.is_open(key) {
            return true;
        }
        if self.requests.running.lock().remove(&key).is_some() {
            request.cancel("");
        }
        false
    }

    /// Adds the session to the load, if there is one.
    pub(super) fn count_session(&self) {
        if !self.stateless && !self.is_closed() {
            *self.session.counted.lock() = Some(self.server.load.session());
        }
    }

    /// Opens a stream of change notifications, once it is known which resources its client sees.
    fn subscribe(self: &Arc<Self>, started: StartedCall) {
        self.listen();
        let StartedCall { call: IncomingCall { params, info, .. }, reply, .. } = &started;
        let (offered, client) = (self.server.snapshot().offered(), client_of(info, reply));
        let filter = ListenFilter::read(params.as_ref(), offered, &self.server.names, client.as_ref());
        let filter = match filter.and_then(|filter| filter.with_tasks(|ids| self.dispatch.visible_tasks(info, ids))) {
            Ok(filter) => filter,
            Err(error) => return self.refuse_subscription(started, error),
        };
        if filter.resources().is_empty() {
            return self.open_subscription(started, filter);
        }
        match self.dispatch.allowed_resources(self, started.clone(), filter.resources().clone()) {
            AllowedResources::Known(allowed) => self.open_subscription(started, filter.with_resources(&allowed)),
            AllowedResources::Undecided(request, decision) => {
                let key = started.call.key;
                if !self.run(key, &request) {
                    return;
                }
                let connection = Arc::clone(self);
                self.setup.runtime.spawn(Box::pin(async move {
                    let allowed = decision.await;
                    // Otherwise it was cancelled, which has ended it.
                    if connection.requests.running.lock().remove(&key).is_some() {
                        connection.open_subscription(started, filter.with_resources(&allowed));
                    }
                }));
            }
        }
    }

    fn open_subscription(self: &Arc<Self>, started: StartedCall, filter: ListenFilter) {
        let StartedCall { call: IncomingCall { key, id, info, .. }, reply, observer } = started;
        // The request may have been cancelled just before.
        if self.is_closed() || !self.conversation.lock().incoming.is_open(key) {
            observer.cancelled();
            return reply.send(OutgoingMessage::Abandoned);
        }
        let client = client_of(&info, &reply);
        let client_capabilities = info.client_capabilities;
        let stream: Reply = Arc::new(ObservedStream { connection: Arc::downgrade(self), client_capabilities, reply });
        let resources = {
            // Acknowledge and register it under one lock, so that no change is missed or sent first
            // (SUB-02).
            let mut subscriptions = self.requests.subscriptions.lock();
            let subscription = OpenSubscription::open(id, filter, stream);
            let resources = subscription.resources().clone();
            subscriptions.get_or_insert_default().insert(key, (subscription, observer));
            resources
        };
        // The request may have been cancelled in the meantime.
        if self.is_closed() || !self.conversation.lock().incoming.is_open(key) {
            self.cancel(key, "");
        } else if self.requests.ends_subscriptions.load(Ordering::Acquire) {
            self.end_subscriptions();
        } else {
            self.watch_resources(&resources, client.as_ref());
        }
    }

    fn refuse_subscription(&self, started: StartedCall, error: RpcError) {
        let StartedCall { call: IncomingCall { key, method, info, .. }, reply, observer } = started;
        let (id, _) = self.conversation.lock().incoming.finish(key);
        let result = Err(error);
        observer.answered(method.name, &result);
        if let Some(id) = id {
            self.send(&*reply, OutgoingMessage::response(&id, result), (&info).into(), method.name);
        }
    }

    /// Watches the resources of a stream that belong to remote servers. The stream is already
    /// acknowledged.
    fn watch_resources(&self, uris: &BTreeSet<String>, client: Option<&Arc<str>>) {
        for watching in self.server.snapshot().watch_all(uris, client) {
            self.setup.runtime.spawn(Box::pin(async move {
                if let Err(error) = watching.await {
                    tracing::warn!(target: "trunkline::server::session", %error, "could not watch all resources of a stream for changes");
                }
            }));
        }
    }

    /// Ends a call, and then starts the next one. Returns `false`, without responding, if its
    /// result is no longer needed.
    pub(in crate::server) fn end_call(self: &Arc<Self>, key: CallKey, respond: impl FnOnce(&RequestId)) -> bool {
        let Some((_request, counted)) = self.requests.running.lock().remove(&key) else { return false };
        drop(counted);
        self.requests.answering.fetch_add(1, Ordering::AcqRel);
        let (id, next) = self.conversation.lock().incoming.finish(key);
        let answered = id.as_ref().map(respond).is_some();
        self.requests.answering.fetch_sub(1, Ordering::AcqRel);
        self.start_next(next);
        self.wake_if_idle();
        answered
    }

    fn start_next(self: &Arc<Self>, next: Option<(IncomingCall, Queued)>) {
        if let Some((call, queued)) = next {
            // In a task, because a handler that completes immediately would otherwise start the
            // next one on the same stack, and so on.
            let connection = Arc::clone(self);
            self.setup.runtime.spawn(Box::pin(async move { connection.start(call, queued) }));
        }
    }

    fn cancel(self: &Arc<Self>, key: CallKey, reason: &str) {
        let subscription = self.requests.subscriptions.lock().as_mut().and_then(|open| open.remove(&key));
        if let Some((subscription, observer)) = subscription {
            observer.cancelled();
            subscription.reply.send(OutgoingMessage::Abandoned);
        }
        let running = self.requests.running.lock().remove(&key);
        if let Some((request, _counted)) = running {
            request.cancel(reason);
        }
        self.wake_if_idle();
    }

    pub(in crate::server) fn listen(self: &Arc<Self>) {
        if !self.session.listening.swap(true, Ordering::AcqRel) {
            let listener: Weak<dyn ChangeListener> = Arc::<Self>::downgrade(self);
            self.server.listeners.insert(self.number, listener);
        }
    }

    /// Calls `act` with each stream of change notifications.
    pub(super) fn for_subscriptions(&self, mut act: impl FnMut(&mut OpenSubscription)) {
        let mut subscriptions = self.requests.subscriptions.lock();
        subscriptions.iter_mut().flat_map(|open| open.values_mut()).for_each(|(subscription, _)| act(subscription));
    }

    /// Called when the client can send no more, or will not be heard, while its calls may still
    /// complete: those that wait for the client fail.
    pub(crate) fn end_input(self: &Arc<Self>) {
        self.input_ended.store(true, Ordering::Release);
        if self.setup.origin == Origin::Conversation {
            self.dispatch.refuse_task_input_of(self.number);
        }
        let waiting: HashSet<CallKey> = self.conversation.lock().requests().map(|request| request.call).collect();
        for call in waiting {
            let request = self.requests.running.lock().get(&call).map(|(request, _)| Arc::clone(request));
            if let Some(request) = request {
                self.end_call(call, |id| request.fail(id, &RpcError::interrupted()));
            }
        }
        self.fail_client_requests();
    }

    fn fail_client_requests(&self) {
        let pending = self.conversation.lock().drain_requests();
        pending.into_iter().for_each(|request| (request.on_response)(Err(ClientRequestError::Closed)));
    }

    /// Ends the conversation: sends the final results of subscriptions, cancels calls, and drops
    /// later messages. Idempotent.
    pub(crate) fn close(self: &Arc<Self>) {
        self.end(None, true);
    }

    /// Ends the conversation in this process like [`Self::close`]; its session and tasks continue.
    pub(crate) fn leave(self: &Arc<Self>) {
        self.end(None, false);
    }

    /// Ends the conversation like [`Self::close`], but running and queued calls get an error
    /// response. Used when the server stops while its client is still reading.
    pub(crate) fn interrupt(self: &Arc<Self>) {
        self.end(Some(&RpcError::interrupted()), true);
    }

    fn end(self: &Arc<Self>, failure: Option<&RpcError>, ends_session: bool) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.server.listeners.remove(self.number);
        drop(self.session.counted.lock().take());
        if let Some(observers) = self.observers() {
            observers.session_ended();
        }
        if ends_session {
            self.dispatch.connection_closed(self.number, self.setup.origin == Origin::Conversation);
        }
        self.end_subscriptions();
        self.requests.answering.fetch_add(1, Ordering::AcqRel);
        let OpenCalls { running, waiting } = self.conversation.lock().incoming.drain();
        let mut ids: HashMap<_, _> = running.into_iter().collect();
        let calls: Vec<_> = self.requests.running.lock().drain().collect();
        for (key, (request, _counted)) in calls {
            match failure.zip(ids.remove(&key)) {
                Some((error, id)) => request.fail(&id, error),
                None => request.cancel("the connection is closed"),
            }
        }
        if let Some(error) = failure {
            for (call, (reply, _counted)) in waiting {
                let response = OutgoingMessage::response(&call.id, Err(error.clone()));
                self.send(&*reply, response, (&call.info).into(), call.method.name);
            }
        }
        self.requests.answering.fetch_sub(1, Ordering::AcqRel);
        self.fail_client_requests();
        self.wake_if_idle();
    }

    /// Ends the streams of change notifications (SUB-06), including those that a hook still decides
    /// about, for a graceful shutdown before [`Self::close`].
    pub(crate) fn end_subscriptions(self: &Arc<Self>) {
        self.requests.ends_subscriptions.store(true, Ordering::Release);
        let subscriptions = self.requests.subscriptions.lock().take();
        for (key, (subscription, observer)) in subscriptions.into_iter().flat_map(|open| *open) {
            let result = subscription.ended(&self.server.results);
            let (id, _) = self.conversation.lock().incoming.finish(key);
            observer.closed();
            if let Some(id) = id {
                let (response, method) = (OutgoingMessage::response(&id, Ok(result)), method::SUBSCRIPTIONS_LISTEN);
                self.send(&*subscription.reply, response, Revision::LATEST.into(), method);
                // CAN-11: without a stream to close, the end is announced explicitly.
                if self.setup.transport != Transport::Http {
                    subscription.cancelled();
                }
            }
        }
    }

    /// Completes when no call is running or queued, and no task that ends with this conversation is
    /// running.
    pub(crate) async fn drain(&self) {
        self.requests.until(|| self.is_idle()).await;
        if self.setup.origin == Origin::Conversation {
            self.dispatch.drain_tasks_of(self.number).await;
        }
    }

    fn wake_if_idle(&self) {
        self.requests.wake_if(|| self.is_idle());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.listeners.remove(self.number);
    }
}
