//! The link of a conversation over HTTP: its session, requests in flight, and stream.

use super::{
    super::closing::{Closing, Deadline},
    authorized::EndpointRequest,
    cookies::CookieJar,
    heads,
    http_failure::HttpTarget,
    http_sse::{HttpSse, turn},
};
use crate::sync::Mutex;
use crate::{
    client::{Inbox, Link, LinkFailure, LinkMessage},
    client_auth::ClientAuth,
    fast_map::FastMap,
    protocol::{
        Era, RequestId, Revision,
        envelope::{Frame, FrameBounds, Message},
        method,
    },
    runtime::BoxedTask,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use reqwest::{Client, Url};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::Semaphore,
    task::{AbortHandle, JoinSet},
};

/// How the links of a connector reach the server.
pub(super) struct HttpRoute {
    pub(super) client: Client,
    pub(super) url: Url,
    pub(super) target: HttpTarget,
    /// The headers of every POST.
    pub(super) headers: HeaderMap,
    pub(super) max_message_bytes: usize,
    pub(super) auth: Option<Arc<dyn ClientAuth>>,
    /// The identity by which it is remembered that the server has only HTTP+SSE, which is tried
    /// after Streamable HTTP. `None` if nothing else is tried.
    pub(super) server: Option<u64>,
}

/// How long messages wait for the server to accept `notifications/initialized`.
const INITIALIZED_TIMEOUT: Duration = Duration::from_secs(10);

/// How many messages without a response are sent concurrently, and how many are waiting, so that a
/// server that asks much and accepts no answer does not use up this process's connections.
const MAX_CONCURRENT_SENDS: usize = 64;
const MAX_WAITING: usize = 4_096;

/// The link. Dropping it ends its tasks.
pub(super) struct HttpLink {
    shared: Arc<LinkContext>,
    closing: Closing,
}

/// State shared by the tasks of a link.
pub(super) struct LinkContext {
    pub(super) route: Arc<HttpRoute>,
    pub(super) inbox: Arc<dyn Inbox>,
    pub(super) runtime: Handle,
    pub(super) cookies: CookieJar,
    /// The conversation over HTTP+SSE, if it turned out to be one.
    pub(super) http_sse: OnceLock<HttpSse>,
    /// Held while a lost session is reopened.
    pub(super) renewing: tokio::sync::Mutex<()>,
    /// Held by messages without a response.
    pub(super) telling: Semaphore,
    /// True if the server has accepted a message of the session.
    pub(super) session_works: AtomicBool,
    pub(super) state: Mutex<LinkState>,
}

#[derive(Default)]
pub(super) struct LinkState {
    pub(super) closed: bool,
    pub(super) revision: Option<Revision>,
    pub(super) session: Option<HeaderValue>,
    /// Failed attempts to reopen a lost session.
    pub(super) failed_renewals: u64,
    /// The two messages of the handshake, for repeating it.
    pub(super) initialize: Option<LinkMessage>,
    pub(super) initialized: Option<LinkMessage>,
    handshake: Handshake,
    pub(super) has_stream: bool,
    posts: FastMap<RequestId, RunningPost>,
    tasks: JoinSet<()>,
}

/// A server may refuse messages before `notifications/initialized`, and POSTs may overtake each
/// other. So later messages wait until it has been accepted.
#[derive(Default)]
enum Handshake {
    #[default]
    Open,
    Finishing(Vec<LinkMessage>),
    Done,
}

struct RunningPost {
    task: AbortHandle,
    modern: bool,
}

impl HttpLink {
    /// Must be called within a tokio runtime.
    pub(super) fn new(route: Arc<HttpRoute>, inbox: Arc<dyn Inbox>) -> Self {
        let shared = LinkContext {
            cookies: CookieJar::new(route.url.clone()),
            route,
            inbox,
            runtime: Handle::current(),
            http_sse: OnceLock::new(),
            renewing: tokio::sync::Mutex::default(),
            telling: Semaphore::new(MAX_CONCURRENT_SENDS),
            session_works: AtomicBool::new(false),
            state: Mutex::default(),
        };
        Self { shared: Arc::new(shared), closing: Closing::default() }
    }
}

impl Link for HttpLink {
    fn send(&self, message: LinkMessage) {
        let shared = &self.shared;
        let mut state = shared.state.lock();
        if state.closed {
            drop(state);
            if let Some(request) = &message.request {
                shared.inbox.failed(&request.id, LinkFailure::Closed);
            }
            return;
        }
        match &mut state.handshake {
            Handshake::Finishing(waiting) => waiting.push(message),
            Handshake::Open if message.request.is_none() && is_initialized(&message.bytes) => {
                state.handshake = Handshake::Finishing(Vec::new());
                state.initialized = Some(message.clone());
                let finishing = Arc::clone(shared);
                state.tasks.spawn_on(async move { finishing.finish_handshake(message).await }, &shared.runtime);
            }
            _ => shared.start(&mut state, message),
        }
    }

    fn session_id(&self) -> Option<String> {
        self.shared.state.lock().session.as_ref()?.to_str().ok().map(str::to_owned)
    }

    fn peer(&self) -> String {
        format!("The server at {}", self.shared.route.target)
    }

    fn abandon(&self, id: &RequestId) -> bool {
        let mut state = self.shared.state.lock();
        if let Handshake::Finishing(waiting) = &mut state.handshake {
            let before = waiting.len();
            waiting.retain(|message| message.request.as_ref().is_none_or(|request| request.id != *id));
            if waiting.len() < before {
                // The request was never sent, so there is nothing to cancel (CAN-01).
                return true;
            }
        }
        if self.shared.http_sse.get().is_some() {
            // The server must get the request before its cancellation.
            return false;
        }
        match state.posts.remove(id) {
            // Closing the connection notifies a modern server (HTTP-24).
            Some(post) => {
                post.task.abort();
                post.modern
            }
            None => state.revision.is_some_and(|revision| revision.era() == Era::Modern),
        }
    }

    fn negotiated(&self, revision: Revision) {
        let mut state = self.shared.state.lock();
        state.revision = Some(revision);
        self.shared.start_stream(&mut state);
    }

    fn close(&self, deadline: Duration) -> BoxedTask {
        let shared = Arc::clone(&self.shared);
        shared.state.lock().end();
        self.closing.begin(
            &self.shared.runtime,
            deadline,
            |deadline| async move { shared.end_session(deadline).await },
        );
        Box::pin(self.closing.ended())
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.shared.state.lock().end();
    }
}

impl LinkState {
    fn end(&mut self) {
        self.closed = true;
        self.posts.clear();
        self.handshake = Handshake::Done;
        self.tasks = JoinSet::new();
    }
}

impl LinkContext {
    /// HTTP-49: ends a session that is no longer needed. The server's response is ignored.
    async fn end_session(&self, mut deadline: Deadline) {
        let (session, revision) = {
            let mut state = self.state.lock();
            (state.session.take(), state.revision)
        };
        let Some(session) = session.filter(|_| !deadline.left().is_zero()) else { return };
        let headers = heads::of_session(&self.route.headers, revision, Some(&session));
        let ended = self.send(EndpointRequest { method: Method::DELETE, headers, ..EndpointRequest::default() });
        let sent = async {
            if let Err(error) = ended.await {
                tracing::debug!(target: "trunkline::client::http", %error, "could not end the session");
            }
        };
        deadline.allows(sent).await;
    }

    fn start(self: &Arc<Self>, state: &mut LinkState, message: LinkMessage) {
        while state.tasks.try_join_next().is_some() {}
        if message.request.is_none() && state.tasks.len() > state.posts.len() + MAX_WAITING {
            tracing::warn!(target: "trunkline::client::http", server = %self.route.target, waiting = MAX_WAITING, "dropped a notification or response: the server does not accept them");
            return;
        }
        if let Some(request) = &message.request
            && &*request.method == method::INITIALIZE
        {
            state.session = None;
            state.initialize = Some(message.clone());
        }
        let head = message.request.as_ref().map(|request| (request.id.clone(), request.revision));
        let (shared, turn) = (Arc::clone(self), turn(self.http_sse.get(), &message));
        let task = state.tasks.spawn_on(async move { shared.post(message, turn).await }, &self.runtime);
        if let Some((id, revision)) = head {
            let modern = revision.is_some_and(|revision| revision.era() == Era::Modern);
            state.posts.insert(id, RunningPost { task, modern });
        }
    }

    async fn finish_handshake(self: Arc<Self>, initialized: LinkMessage) {
        match tokio::time::timeout(INITIALIZED_TIMEOUT, self.exchange(&initialized)).await {
            Ok(Ok(())) => {}
            Ok(Err(refused)) => {
                tracing::warn!(target: "trunkline::client::http", server = %self.route.target, error = %refused.failure, "the server did not accept notifications/initialized");
            }
            Err(_) => {
                tracing::warn!(target: "trunkline::client::http", server = %self.route.target, "the server did not accept notifications/initialized in time")
            }
        }
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        let handshake = std::mem::replace(&mut state.handshake, Handshake::Done);
        // Open the stream first, so that a server doesn't mistake it for resuming an earlier call.
        self.start_stream(&mut state);
        if let Handshake::Finishing(waiting) = handshake {
            waiting.into_iter().for_each(|message| self.start(&mut state, message));
        }
    }

    /// Opens the stream of a session's unrelated messages after the handshake (HTTP-30).
    pub(super) fn start_stream(self: &Arc<Self>, state: &mut LinkState) {
        let legacy = state.revision.is_some_and(|revision| revision.era() == Era::Legacy);
        if !legacy || state.closed || state.has_stream || !matches!(state.handshake, Handshake::Done) {
            return;
        }
        if let Some(session) = &state.session {
            let headers = heads::of_stream(&self.route.headers, state.revision, Some(session));
            let shared = Arc::clone(self);
            state.has_stream = true;
            state.tasks.spawn_on(async move { shared.stream(headers).await }, &self.runtime);
        }
    }

    /// The headers of a message, and its session.
    pub(super) fn headers_of(&self, message: &LinkMessage) -> Result<(HeaderMap, Option<HeaderValue>), LinkFailure> {
        let request = message.request.as_ref();
        let (settled, session) = {
            let state = self.state.lock();
            (state.revision, state.session.clone())
        };
        // A request has its own revision; `initialize` has none yet.
        let revision = request.map_or(settled, |request| request.revision);
        let session = session.filter(|_| revision.is_some_and(|revision| revision.era() == Era::Legacy));
        let headers =
            heads::of_message(&self.route.headers, revision, session.as_ref(), request).map_err(LinkFailure::Broken)?;
        Ok((headers, session))
    }

    /// Stores the session id from the response to `initialize`.
    pub(super) fn remember_session(&self, id: Option<&HeaderValue>) {
        self.session_works.store(false, Ordering::Relaxed);
        self.state.lock().session = id.cloned();
    }

    pub(super) fn forget(&self, id: &RequestId) {
        self.state.lock().posts.remove(id);
    }

    /// Runs a task until the link ends.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state.lock();
        if !state.closed {
            state.tasks.spawn_on(task, &self.runtime);
        }
    }
}

fn is_initialized(message: &Bytes) -> bool {
    matches!(
        Frame::parse(message, FrameBounds::NONE),
        Frame::Single(Ok(Message::Notification(notification))) if &*notification.method == method::INITIALIZED
    )
}
