//! The shared state of a client, and how its messages reach the link.

use super::{
    ClientError, ClientEvents, ClientId, ClientOptions, Connector, Link, LinkFailure, LinkMessage, LocalCaller,
    RequestOptions, ServerDescription,
    state::{
        client_call::Awaited,
        client_task_table::ClientTaskTable,
        host::{HandledEvents, Host},
        invalid_frames::InvalidFrames,
        known_tools::KnownTools,
        open_subscriptions::Subscriptions,
        pauses::Pauses,
        reconnecting::{FirstOpening, Reconnecting},
        response_cache::ResponseCache,
        server_label::ServerLabel,
        task_wish::TaskForm,
        timer::Timer,
    },
    telemetry::ObservedOpening,
};
use crate::{
    cause::Cause,
    engine::{ClientConversation, ClientIdentity, RequestTimeout, later},
    on_drop::OnDrop,
    protocol::{
        Era, RawJson, RequestId, Revision,
        envelope::{self, FrameBounds},
    },
    runtime::{Promise, Runtime},
    sync::Mutex,
    telemetry::Telemetry,
    wire_log::{Direction, MessageInfo, Side, Transport, WireLog},
};
use bytes::Bytes;
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tracing::Span;

/// How long the response to a cancelled request for a task may take: it names the task to cancel
/// (CAN-04).
const TASK_ID_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct ClientInner {
    pub(super) id: ClientId,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) transport: Transport,
    pub(super) options: ClientOptions,
    /// The capabilities that were declared when the conversation was opened.
    pub(super) capabilities: RawJson,
    pub(super) events: Arc<dyn ClientEvents>,
    pub(super) conversation: Mutex<ClientConversation<Awaited>>,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) link: Mutex<Option<Arc<dyn Link>>>,
    /// Completes when the last link that was lost is closed.
    pub(super) lost_link: Mutex<Option<Arc<Promise<()>>>>,
    /// Frames that were not messages, such as stray prints.
    pub(super) invalid_frames: InvalidFrames,
    /// True while the link is open, so that messages may be sent.
    pub(super) ready: AtomicBool,
    pub(super) reconnecting: Mutex<Reconnecting>,
    /// Messages of an abandoned link have an older number.
    pub(super) generation: AtomicU64,
    pub(super) timer: Timer,
    /// When opening the conversation started, without the pauses before.
    pub(super) began: Mutex<Instant>,
    pub(super) first_opening: Mutex<FirstOpening>,
    /// True once the connection was open for the first time.
    pub(super) was_opened: AtomicBool,
    pub(super) pauses: Pauses,
    pub(super) server: OnceLock<ServerDescription>,
    /// The server's description, if it was requested after the connection was open.
    pub(super) described: OnceLock<ServerDescription>,
    /// Names the server in the log.
    pub(super) label: ServerLabel,
    /// Why the current link ended, if it did.
    pub(super) failure: Mutex<Option<LinkFailure>>,
    pub(super) closed: AtomicBool,
    pub(super) known_tools: KnownTools,
    pub(super) cache: ResponseCache,
    pub(super) host: Arc<Host>,
    pub(super) subscriptions: Subscriptions,
    pub(super) tasks: ClientTaskTable,
    pub(super) task_form: OnceLock<Option<TaskForm>>,
    pub(super) telemetry: Option<Arc<dyn Telemetry>>,
    /// The opening in progress, if it is observed.
    pub(super) opening: Mutex<Option<ObservedOpening>>,
}

impl ClientInner {
    pub(super) fn new(
        runtime: Arc<dyn Runtime>,
        connector: Arc<dyn Connector>,
        options: ClientOptions,
        events: Arc<dyn ClientEvents>,
    ) -> Arc<Self> {
        let transport = connector.transport();
        let began = runtime.now();
        let host = Arc::new(Host::new(&options, &*runtime));
        let label = ServerLabel::new(&*connector, &*events);
        let events = Arc::new(HandledEvents { host: Arc::clone(&host), events });
        let identity = ClientIdentity { info: RawJson::object(&options.info), capabilities: host.capabilities() };
        let capabilities = identity.capabilities.clone();
        let cache = ResponseCache::new(options.max_cache_bytes);
        let telemetry = options.telemetry_receiver.clone().filter(|_| options.telemetry != Some(false));
        Arc::new(Self {
            id: ClientId::next(),
            runtime,
            transport,
            options,
            capabilities,
            events,
            conversation: Mutex::new(ClientConversation::new(identity)),
            connector,
            link: Mutex::new(None),
            lost_link: Mutex::new(None),
            invalid_frames: InvalidFrames::default(),
            ready: AtomicBool::new(false),
            reconnecting: Mutex::default(),
            generation: AtomicU64::new(0),
            timer: Timer::default(),
            began: Mutex::new(began),
            first_opening: Mutex::default(),
            was_opened: AtomicBool::new(false),
            pauses: Pauses::default(),
            server: OnceLock::new(),
            described: OnceLock::new(),
            label,
            failure: Mutex::new(None),
            closed: AtomicBool::new(false),
            known_tools: KnownTools::default(),
            cache,
            host,
            subscriptions: Subscriptions::default(),
            tasks: ClientTaskTable::default(),
            task_form: OnceLock::new(),
            telemetry,
            opening: Mutex::default(),
        })
    }

    pub(super) fn check_open(&self) -> Result<(), ClientError> {
        if !self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(self.failure.lock().clone().map_or(ClientError::Closed, ClientError::Link))
    }

    /// The description of the server, once a connection has been opened.
    pub(super) fn description(&self) -> Option<&ServerDescription> {
        self.described.get().or_else(|| self.server.get())
    }

    /// Enforces our own receive limits on outgoing messages: a peer could not report which request
    /// it rejected.
    pub(super) fn check_size(&self, method: &str, message: &Bytes) -> Result<(), ClientError> {
        let ClientOptions { max_message_bytes, max_nesting: nesting, max_values: values, .. } = self.options;
        let text = if message.len() > max_message_bytes {
            format!(
                "The message {method} would be {} bytes long; the limit is {max_message_bytes} bytes",
                message.len()
            )
        } else if let Some(excess) = envelope::excess(message, FrameBounds { nesting, values, ..FrameBounds::NONE }) {
            format!("The message {method} {excess}")
        } else {
            return Ok(());
        };
        Err(ClientError::Invalid(text))
    }

    pub(super) fn request_timeout(&self, options: &RequestOptions) -> RequestTimeout {
        let timeout = options.timeout.unwrap_or(self.options.timeout);
        RequestTimeout { timeout, max: options.max_timeout.unwrap_or(self.options.max_timeout).max(timeout) }
    }

    /// Returns whether parts of messages are mirrored in headers.
    pub(super) fn mirrors(&self, revision: Option<Revision>) -> bool {
        self.transport == Transport::Http && revision.is_some_and(|revision| revision.era() == Era::Modern)
    }

    /// The caller, if the server is in this process.
    pub(super) fn local_caller(&self, cause: Option<&Arc<dyn Cause>>) -> Option<LocalCaller> {
        let span = if self.transport == Transport::Memory { Span::current() } else { return None };
        (cause.is_some() || !span.is_none()).then(|| LocalCaller { span, cause: cause.cloned() })
    }

    pub(super) fn send(&self, message: Bytes) {
        self.log(Direction::Sent, self.conversation.lock().revision(), "", &message);
        if let Some(link) = self.link() {
            link.send(LinkMessage::without_answer(message));
        }
    }

    pub(super) fn link(&self) -> Option<Arc<dyn Link>> {
        self.link.lock().clone()
    }

    /// The link, if messages may be sent.
    pub(super) fn ready_link(&self) -> Option<Arc<dyn Link>> {
        if self.ready.load(Ordering::Acquire) { self.link() } else { None }
    }

    /// Closes a lost link in the background, and then drops `then`. Closing the client waits for
    /// that.
    pub(super) fn close_lost(&self, link: Option<Arc<dyn Link>>, then: impl Send + 'static) {
        let Some(link) = link else { return };
        let (closing, closed) = (link.close(self.options.close_timeout), Arc::<Promise<()>>::default());
        *self.lost_link.lock() = Some(Arc::clone(&closed));
        let then = (then, OnDrop::new(move || closed.keep(())));
        self.runtime.spawn(Box::pin(async move {
            closing.await;
            drop(then);
        }));
    }

    pub(super) fn request_failed(&self, id: &RequestId, error: ClientError) {
        let failed = self.conversation.lock().fail(id);
        if let Some(failed) = failed {
            failed.failed(error);
        }
    }

    pub(super) fn end_request(&self, id: &RequestId, reason: &str, error: ClientError) {
        let ended = self.conversation.lock().cancel(id, reason);
        let Some((awaited, cancellation)) = ended else { return };
        // During a reconnect, requests wait here.
        if let Some(link) = self.ready_link() {
            match cancellation {
                None => self.abandon_later(&link, id.clone()),
                Some(cancellation) if !link.abandon(id) => {
                    self.log(Direction::Sent, self.conversation.lock().revision(), "", &cancellation);
                    link.send(LinkMessage::without_answer(cancellation));
                }
                Some(_) => {}
            }
        }
        awaited.failed(error);
    }

    fn abandon_later(&self, link: &Arc<dyn Link>, id: RequestId) {
        let (link, runtime) = (Arc::downgrade(link), Arc::clone(&self.runtime));
        self.runtime.spawn(Box::pin(async move {
            runtime.sleep_until(later(runtime.now(), TASK_ID_TIMEOUT)).await;
            if let Some(link) = link.upgrade() {
                link.abandon(&id);
            }
        }));
    }

    /// Ends all requests; the caller has to close the link. `error` is the reason, unless this side
    /// closed the connection.
    pub(super) fn end(&self, error: Option<ClientError>) {
        if self.end_requests(error.as_ref()) {
            self.events.closed(error.as_ref());
        }
    }

    /// Like [`Self::end`], but does not report the end yet. Returns `false` if it had ended before.
    fn end_requests(&self, error: Option<&ClientError>) -> bool {
        if self.closed.swap(true, Ordering::AcqRel) {
            return false;
        }
        if error.is_none() {
            // The failure of an earlier connection no longer matters.
            *self.failure.lock() = None;
        }
        self.session_ended(error);
        self.timer.end();
        self.host.stop_all();
        self.fail_all(error.unwrap_or(&ClientError::Closed));
        self.subscriptions.end(error);
        self.tasks.end(error);
        true
    }

    /// Ends all requests because the link was lost. That is reported once the link is closed.
    pub(super) fn end_with_link(&self, error: ClientError) {
        let link = self.link.lock().take();
        if self.end_requests(Some(&error)) {
            let events = Arc::clone(&self.events);
            self.close_lost(link, OnDrop::new(move || events.closed(Some(&error))));
        }
    }

    /// Fails all requests in flight.
    pub(super) fn fail_all(&self, error: &ClientError) {
        let all = self.conversation.lock().drain();
        for awaited in all {
            awaited.failed(error.clone());
        }
    }

    /// Sets the timer to the next deadline of the conversation.
    pub(super) fn arm_timer_again(self: &Arc<Self>) {
        let next = self.conversation.lock().outgoing.next_deadline();
        self.arm_timer(next);
    }

    pub(super) fn arm_timer(self: &Arc<Self>, next: Option<Instant>) {
        if next.is_some_and(|next| self.timer.aim(next)) {
            let (due, ended) = (Arc::downgrade(self), Arc::downgrade(self));
            let due = move || due.upgrade().iter().for_each(Self::time_passed);
            let ended = move || ended.upgrade().iter().for_each(|client| client.runtime_ended());
            self.runtime.spawn(self.timer.task(&self.runtime, due, ended));
        }
    }

    /// Ends the client, because on a runtime that has ended, nothing would respond or time out.
    fn runtime_ended(&self) {
        *self.failure.lock() = Some(LinkFailure::RuntimeEnded);
        self.end(Some(ClientError::Link(LinkFailure::RuntimeEnded)));
        let link = self.link.lock().take();
        drop(link);
    }

    /// The last frame that was not a message, as a suffix for error messages.
    pub(super) fn invalid_frame_note(&self) -> String {
        let note = |frame: String| format!("; it sent something that is not a message: {frame:?}");
        self.invalid_frames.latest().map(note).unwrap_or_default()
    }

    pub(super) fn time_passed(self: &Arc<Self>) {
        loop {
            let now = self.runtime.now();
            let expired = self.conversation.lock().expired(now).map(|(id, method, time)| {
                (id, format!("The server did not answer {method} within {time:?}; the request was cancelled"))
            });
            let Some((id, text)) = expired else { break };
            self.end_request(&id, "timed out", ClientError::Timeout(text + &self.invalid_frame_note()));
        }
        self.arm_timer_again();
    }

    /// The wire log. Messages between a client and its group never leave the process; the
    /// connections to the servers log theirs.
    pub(super) fn wire_log(&self) -> Option<&dyn WireLog> {
        self.runtime.wire_log().filter(|_| self.connector.has_sessions())
    }

    /// Describes a message for the wire log.
    pub(super) fn message_info<'i>(
        &self,
        direction: Direction,
        revision: Option<Revision>,
        client_capabilities: Option<&'i RawJson>,
        method: Option<&'i str>,
    ) -> MessageInfo<'i> {
        MessageInfo {
            side: Side::Client,
            direction,
            connection: Some(self.id.0),
            transport: self.transport,
            revision,
            client_capabilities,
            method,
            refused: false,
        }
    }

    pub(super) fn log(&self, direction: Direction, revision: Option<Revision>, method: &str, text: &[u8]) {
        if let Some(log) = self.wire_log() {
            log.text(&self.message_info(direction, revision, Some(&self.capabilities), Some(method)), text);
        }
    }
}
