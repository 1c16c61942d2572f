//! Opening a conversation: connect, negotiate, set up; and reconnecting.

mod first_opening;
mod reconnect;

use crate::{
    client::{
        Client, ClientCall, ClientError, ClientEvents, ClientOptions, Connector, ErrorKind, LinkFailure, LinkMessage,
        RequestHead, RequestOptions, ServerDescription,
        client_options::check_roots,
        inbox::ClientInbox,
        inner::ClientInner,
        negotiation_cache::NegotiationCache,
        state::{client_call::Awaited, reply_to::CallReceiver},
    },
    client_auth::ClientAuth,
    engine::{
        MethodCall, Negotiated, Negotiation, NegotiationError, NegotiationStep, OpeningRequest, Probe, ProbeOutcome,
        RequestExtras, RequestTimeout, RevisionChoice, SentRequest, later,
    },
    protocol::{Era, RawJson, Revision, method, option_names::OptionNames},
    race::until,
    runtime::{BoxedTask, Runtime},
    telemetry::OpenOperation,
    wire_log::{Direction, Transport},
};
use std::{
    future::Future,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// The eras of recently seen servers (DISC-22). Probing a legacy server that stays silent is slow,
/// so it is done only once.
static ERAS: NegotiationCache<Era> = NegotiationCache::new();

impl Client {
    /// Opens a conversation with the server that `connector` reaches.
    ///
    /// # Errors
    /// If the server cannot be reached, does not respond in time, or has no revision in common with
    /// us.
    pub async fn open(
        runtime: Arc<dyn Runtime>,
        connector: Arc<dyn Connector>,
        options: ClientOptions,
        events: Arc<dyn ClientEvents>,
    ) -> Result<Self, ClientError> {
        Self::open_as(None, runtime, connector, options, events).await
    }

    /// Like [`Self::open`], with the name of the server in the log.
    #[expect(deprecated, reason = "older revisions have it")]
    pub(in crate::client) async fn open_as(
        name: Option<&str>,
        runtime: Arc<dyn Runtime>,
        connector: Arc<dyn Connector>,
        mut options: ClientOptions,
        events: Arc<dyn ClientEvents>,
    ) -> Result<Self, ClientError> {
        let opening = options.opening.take();
        options.check().map_err(|problem| ClientError::Invalid(OptionNames::Snake.text(&problem)))?;
        check_roots(options.roots.as_deref().unwrap_or_default())?;
        let auth = connector.auth();
        let inner = ClientInner::new(runtime, connector, declaring_auth(options, auth), events);
        inner.label.configure(name.map(str::to_owned));
        if inner.options.lazy {
            inner.first_opening.lock().span = opening;
            return Ok(Self { inner });
        }
        let opened = inner.open_now(opening).await.and_then(|()| {
            // A connection that ends before it is returned counts as never opened.
            let failure = inner.failure.lock().clone();
            failure.map_or(Ok(()), |failure| Err(ClientError::Link(failure)))
        });
        if opened.is_err() {
            inner.closed.store(true, Ordering::Release);
            inner.close_unopened().await;
        }
        opened.map(|()| Self { inner })
    }
}

/// Adds the connector's credentials for its server to the options. XAU-03: the capabilities include
/// the extension that they implement.
fn declaring_auth(mut options: ClientOptions, own: Option<Arc<dyn ClientAuth>>) -> ClientOptions {
    options.auth = own.or(options.auth);
    if let Some(extension) = options.auth.as_ref().and_then(|auth| auth.extension()) {
        let extensions = options.capabilities.extensions.get_or_insert_default();
        extensions.entry(extension).or_insert_with(|| serde_json::json!({}));
    }
    options
}

/// The outcome of a probe for the negotiation; an error that ends it is returned.
fn probe_outcome(outcome: Result<RawJson, ClientError>) -> Result<ProbeOutcome, ClientError> {
    Ok(match outcome {
        Ok(result) => ProbeOutcome::Result(result),
        Err(ClientError::Protocol(error)) => ProbeOutcome::Error(error),
        Err(ClientError::InvalidResponse(text)) => ProbeOutcome::InvalidResponse(text),
        Err(ClientError::Timeout(_)) => ProbeOutcome::TimedOut,
        Err(ClientError::Link(LinkFailure::Status { status, text, .. })) => ProbeOutcome::Status(status, text),
        Err(ClientError::Link(failure @ LinkFailure::Exited(_))) => ProbeOutcome::Exited(failure.to_string()),
        Err(ClientError::Link(failure)) => ProbeOutcome::Unreachable(failure.to_string()),
        Err(error) => return Err(error),
    })
}

impl ClientInner {
    /// Connects, negotiates the revision, and subscribes to list changes if the program wants them.
    pub(super) async fn open_now(self: &Arc<Self>, span: Option<Arc<dyn OpenOperation>>) -> Result<(), ClientError> {
        let began = self.runtime.now();
        // Earlier pauses don't extend the deadline.
        let began = began.checked_sub(self.pauses.total(began)).unwrap_or(began);
        *self.began.lock() = began;
        self.begin_opening(span);
        let connector = Arc::clone(&self.connector);
        let opened = self.until_connect_deadline(began, self.find_revision(&*connector)).await;
        let opened = opened.unwrap_or(Err(ClientError::Negotiation(NegotiationError::TimedOut)));
        self.end_opening(&opened);
        match opened {
            Err(ClientError::Negotiation(NegotiationError::TimedOut)) => Err(ClientError::Timeout(self.silence())),
            Err(error) => Err(error),
            Ok(()) => {
                // No change after opening the connection is missed.
                if self.options.listen {
                    self.listen_to_lists(Arc::clone(&self.events)).await;
                }
                Ok(())
            }
        }
    }

    /// Closes what an opening that failed has left. That continues without its caller.
    pub(super) fn close_unopened(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        let (lost, link) = (self.lost_link.lock().take(), self.link.lock().take());
        let closing = link.map(|link| link.close(self.options.close_timeout));
        let (client, began) = (Arc::clone(self), *self.began.lock());
        async move {
            let closed = async {
                if let Some(lost) = lost {
                    lost.kept().await;
                }
                if let Some(closing) = closing {
                    closing.await;
                }
            };
            if client.transport == Transport::Channel {
                // The program may dispose of its transport once this completes.
                closed.await;
            } else {
                // Wait for the remaining connect timeout only.
                until(&*client.runtime, client.connect_deadline(began), closed).await;
            }
        }
    }

    /// The error message for a silent peer: its name, the timeout, and a likely reason.
    pub(in crate::client) fn silence(&self) -> String {
        let (who, words) = match self.link() {
            Some(link) => (link.peer(), link.diagnostics()),
            None => ("The server".to_owned(), String::new()),
        };
        let (within, invalid_frame) = (self.options.connect_timeout, self.invalid_frame_note());
        format!("{who} did not answer within the connect timeout of {within:?}{invalid_frame}{words}")
    }

    /// The connect deadline of an opening, which is extended while the user is asked.
    pub(super) fn connect_deadline(&self, began: Instant) -> Instant {
        let paused = self.pauses.total(self.runtime.now());
        later(began, self.options.connect_timeout.saturating_add(paused))
    }

    pub(super) async fn until_connect_deadline<T>(&self, began: Instant, future: impl Future<Output = T>) -> Option<T> {
        let mut future = std::pin::pin!(future);
        loop {
            let deadline = self.connect_deadline(began);
            if let Some(value) = until(&*self.runtime, deadline, future.as_mut()).await {
                return Some(value);
            }
            if self.connect_deadline(began) <= self.runtime.now() {
                return None;
            }
        }
    }

    /// Negotiates the revision. A known legacy server is not probed again.
    async fn find_revision(self: &Arc<Self>, connector: &dyn Connector) -> Result<(), ClientError> {
        let choice = self.options.revision.within(connector.only_era()).map_err(ClientError::Negotiation)?;
        let server = connector.identity().filter(|_| choice == RevisionChoice::Auto);
        let Some(server) = server else { return self.negotiate(connector, choice).await };
        if ERAS.get(server, self.runtime.now()) == Some(Era::Legacy) {
            match self.negotiate(connector, RevisionChoice::Legacy).await {
                // Without credentials, a probe would only ask the user to log in once more.
                Err(error) if error.kind() != ErrorKind::AuthorizationRequired => ERAS.remove(server),
                outcome => return outcome,
            }
        }
        self.negotiate(connector, choice).await?;
        let revision = self.conversation.lock().revision();
        if let Some(revision) = revision {
            ERAS.insert(server, revision.era(), self.runtime.now());
        }
        Ok(())
    }

    async fn negotiate(self: &Arc<Self>, connector: &dyn Connector, choice: RevisionChoice) -> Result<(), ClientError> {
        self.connect(connector).await?;
        let (mut negotiation, mut step) = Negotiation::start(choice, connector.is_pipe());
        let began = *self.began.lock();
        // The failure of the last probe, for details that its message lacks.
        let mut failure = None;
        loop {
            match step {
                NegotiationStep::Send(probe) => {
                    if matches!(probe, Probe::Initialize { fresh: true, .. }) {
                        self.connect(connector).await?;
                    }
                    let outcome = self.probe(probe, self.connect_deadline(began), connector.is_pipe()).await;
                    failure = if let Err(ClientError::Link(failure)) = &outcome { Some(failure.clone()) } else { None };
                    step = negotiation.next(probe_outcome(outcome)?);
                }
                NegotiationStep::Done(negotiated) => return self.settle(negotiated).await,
                NegotiationStep::Fail(error) => return Err(self.not_negotiated(error, failure)),
            }
        }
    }

    fn not_negotiated(&self, error: NegotiationError, failure: Option<LinkFailure>) -> ClientError {
        let (text, failure) = match (error, failure) {
            (NegotiationError::Transport(text), Some(failure)) => (text, failure),
            (error, _) => return ClientError::Negotiation(error),
        };
        match (failure, self.invalid_frames.latest()) {
            (LinkFailure::Exited(exit), Some(frame)) => {
                let text = format!("the server sent something that is not a message: {frame:?}; {text}");
                // A program that has done its work is not a server.
                match exit.exit_code {
                    Some(0) => ClientError::Negotiation(NegotiationError::InvalidResponse(text)),
                    _ => ClientError::NotOpened { text, failure: LinkFailure::Exited(exit) },
                }
            }
            (failure, _) => ClientError::NotOpened { text, failure },
        }
    }

    pub(in crate::client) async fn connect(self: &Arc<Self>, connector: &dyn Connector) -> Result<(), ClientError> {
        let old = self.link.lock().take();
        if let Some(old) = old {
            old.close(Duration::ZERO).await;
        }
        let generation = self.generation.fetch_add(1, Ordering::AcqRel) + 1;
        *self.failure.lock() = None;
        let inbox = Arc::new(ClientInbox { client: Arc::downgrade(self), generation });
        let link = connector.connect(inbox).await.map_err(ClientError::Link)?;
        *self.link.lock() = Some(Arc::clone(&link));
        if self.closed.load(Ordering::Acquire) {
            // The client was closed in the meantime, when there was no link yet.
            link.close(Duration::ZERO).await;
            return Err(ClientError::Closed);
        }
        Ok(())
    }

    /// Sends a probe and waits for its outcome.
    pub(in crate::client) async fn probe(
        self: &Arc<Self>,
        probe: Probe,
        deadline: Instant,
        pipe: bool,
    ) -> Result<RawJson, ClientError> {
        let call = Arc::new(ClientCall::new(CallReceiver::future(None)));
        let now = self.runtime.now();
        let left = deadline.saturating_duration_since(now);
        let trace = self.opening.lock().as_ref().map(|opening| Arc::clone(&opening.trace));
        let (revision, timeout) = match probe {
            Probe::Discover(revision) if pipe => (revision, left.min(self.options.probe_timeout)),
            Probe::Discover(revision) | Probe::Initialize { revision, .. } => (revision, left),
        };
        let timeout = RequestTimeout { timeout, max: timeout };
        let opening = OpeningRequest { revision, timeout, trace, item: Awaited::by(&call) };
        let (sent, method, revision) = {
            let mut conversation = self.conversation.lock();
            match probe {
                Probe::Discover(_) => (conversation.discover(now, opening), method::DISCOVER, Some(revision)),
                Probe::Initialize { .. } => (conversation.initialize(now, opening), method::INITIALIZE, None),
            }
        };
        self.send_ahead(self.link_message(sent, method, revision))?;
        let outcome = call.receiver.outcome().await;
        if let Some(opening) = &*self.opening.lock() {
            opening.answered(self.runtime.now(), method, &outcome);
        }
        outcome
    }

    fn link_message(&self, sent: SentRequest, method: &str, revision: Option<Revision>) -> LinkMessage {
        self.log(Direction::Sent, revision, method, &sent.message);
        let head = RequestHead {
            id: sent.id,
            method: method.into(),
            name: None,
            revision,
            parameters: Vec::new(),
            trace: sent.trace,
            unattended: false,
        };
        LinkMessage { bytes: sent.message, request: Some(head), alone: sent.alone, caller: None }
    }

    /// Sends a request before the connection is ready for others.
    fn send_ahead(self: &Arc<Self>, message: LinkMessage) -> Result<(), ClientError> {
        let id = message.request.as_ref().map(|request| request.id.clone());
        self.link().ok_or(ClientError::Closed)?.send(message);
        // A link that ended since the last request does nothing any more.
        let failure = self.failure.lock().clone();
        if let Some((id, failure)) = id.zip(failure) {
            self.request_failed(&id, ClientError::Link(failure));
        }
        self.arm_timer_again();
        Ok(())
    }

    async fn settle(self: &Arc<Self>, Negotiated { revision, result }: Negotiated) -> Result<(), ClientError> {
        let is_described = result.is_some();
        let pinned = || ServerDescription::pinned(revision);
        let server =
            result.as_ref().map_or_else(pinned, |result| ServerDescription::read(self.label.get(), revision, result));
        self.label.describe(&server);
        self.conversation.lock().settle(revision);
        let _ = self.server.set(server);
        self.begin_session(revision).await?;
        self.reconnecting.lock().made(self.runtime.now());
        self.ready.store(true, Ordering::Release);
        self.was_opened.store(true, Ordering::Release);
        self.begin_pings();
        // From here on, failures are handled as they occur; an earlier one is reported here.
        let failure = self.failure.lock().take();
        if let Some(failure) = failure {
            return Err(ClientError::Link(failure));
        }
        if !is_described {
            self.ask_description(revision);
        }
        Ok(())
    }

    /// Requests the server's description (`server/discover`), because a pinned revision needs no
    /// probe. Nothing waits for it, and the connection works without it.
    fn ask_description(self: &Arc<Self>, revision: Revision) {
        let (client, asking) = (Client { inner: Arc::clone(self) }, Arc::downgrade(self));
        let reply = Arc::new(move |outcome: Result<RawJson, ClientError>| match (asking.upgrade(), outcome) {
            (Some(inner), Ok(result)) => {
                let server = ServerDescription::read(inner.label.get(), revision, &result);
                inner.label.describe(&server);
                let _ = inner.described.set(server);
            }
            (Some(_), Err(error)) => {
                tracing::debug!(target: "trunkline::client::connection", %error, "the server returned no description");
            }
            (None, _) => {}
        });
        let (mut call, mut extras) = (ClientCall::new(CallReceiver::Reply(reply)), RequestExtras::default());
        // `server/discover` is the request of the opening, if there was none before.
        if let Some(opening) = self.opening.lock().take() {
            extras.trace = Some(Arc::clone(&opening.trace));
            call.operation = Some(opening.of_call(self.network_facts()));
        }
        if let Err(error) = client.begin(call, self.parts(method::DISCOVER, None, &RequestOptions::default()), extras) {
            tracing::debug!(target: "trunkline::client::connection", %error, "could not request the description of the server");
        }
    }

    /// Pings a server with a session, until the connection is lost or closed.
    pub(in crate::client) fn begin_pings(self: &Arc<Self>) {
        let is_legacy = self.conversation.lock().revision().is_some_and(|revision| revision.era() == Era::Legacy);
        let Some(interval) = self.options.ping_interval.filter(|interval| is_legacy && !interval.is_zero()) else {
            return;
        };
        let (client, runtime) = (Arc::downgrade(self), Arc::clone(&self.runtime));
        let generation = self.generation.load(Ordering::Acquire);
        self.runtime.spawn(Box::pin(async move {
            loop {
                runtime.sleep_until(later(runtime.now(), interval)).await;
                let Some(inner) = client.upgrade() else { return };
                if inner.closed.load(Ordering::Acquire) || inner.generation.load(Ordering::Acquire) != generation {
                    return;
                }
                let client = Client { inner };
                if let Err(error) = client.ping().await {
                    let server = client.server_label();
                    tracing::debug!(target: "trunkline::client::connection", server, %error, "a ping failed");
                }
            }
        }));
    }

    /// The request that sets the log level of a new session: the level that was set last, or that
    /// of the options, if the server supports logging. The task completes with its response. In
    /// the modern era, each request has the level.
    #[expect(deprecated, reason = "older revisions have it")]
    pub(in crate::client) fn log_level_request(&self) -> Option<(LinkMessage, BoxedTask)> {
        let mut conversation = self.conversation.lock();
        let (level, revision) = (conversation.log_level.or(self.options.log_level)?, conversation.revision()?);
        if revision.era() == Era::Modern {
            conversation.log_level = Some(level);
            return None;
        }
        self.server.get()?.declared()?.logging?;
        let params = RawJson::object(&serde_json::json!({"level": level}));
        // All calls wait for it.
        let timeout = RequestTimeout { timeout: self.options.probe_timeout, max: self.options.probe_timeout };
        let request = MethodCall { method: method::LOGGING_SET_LEVEL, params: Some(&params), timeout };
        let call = Arc::new(ClientCall::new(CallReceiver::future(None)));
        let sent = conversation.request(self.runtime.now(), request, RequestExtras::default(), Awaited::by(&call));
        drop(conversation);
        let message = self.link_message(sent.ok()?, method::LOGGING_SET_LEVEL, Some(revision));
        let server = self.label.get().map(str::to_owned);
        let answered = async move {
            if let Err(error) = call.receiver.outcome().await {
                tracing::warn!(target: "trunkline::client::connection", server, %error, "could not set the log level of the server");
            }
        };
        Some((message, Box::pin(answered)))
    }
}
