//! Posts a message and handles the response.

use super::{
    authorized::{EndpointRequest, offered},
    get_stream::{BACKOFF, StreamPauses, may_pass},
    heads,
    http_failure::{self, AnswerHead, HttpTarget},
    http_link::LinkContext,
    http_sse::PostTurn,
    redirects::check_followed,
};
use crate::{
    client::{LinkFailure, LinkMessage, RequestHead},
    http::{
        content::{self, EVENT_STREAM, JSON},
        event_stream::EventStream,
        headers,
    },
    protocol::{
        RevisionFeature, RpcError,
        envelope::{self, Frame, FrameBounds, without_mark},
        method,
    },
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use reqwest::Response;
use serde::Deserialize;
use std::{
    borrow::Cow,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::time::{Instant, timeout, timeout_at};

/// How long a stream may stay open after its response.
const LINGER: Duration = Duration::from_secs(1);
/// How often a broken stream is resumed before its request fails, with doubled pauses.
const MAX_RESUME_ATTEMPTS: usize = 4;
/// Timeout for a message without a response.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(30);

/// How a connection of a stream ended.
enum PostEnd {
    Answered,
    /// Before the response; with the reason, if the connection broke.
    Early(Option<LinkFailure>),
}

/// The messages of a part of a stream.
pub(super) struct TakenEvents {
    /// The request has been answered.
    answered: bool,
    last: Option<Bytes>,
}

/// Why a POST failed.
pub(super) struct PostRefused {
    pub(super) failure: LinkFailure,
    /// The session, if the server no longer knows it and it may be reopened.
    lost: Option<HeaderValue>,
}

impl From<LinkFailure> for PostRefused {
    fn from(failure: LinkFailure) -> Self {
        Self { failure, lost: None }
    }
}

impl LinkContext {
    /// Sends a message and passes the response to the inbox.
    pub(super) async fn post(self: Arc<Self>, message: LinkMessage, turn: impl Future<Output = PostTurn>) {
        let turn = turn.await;
        let Some(request) = &message.request else { return self.tell(&message).await };
        let outcome = self.deliver(&message).await;
        drop(turn);
        self.forget(&request.id);
        // If the response has arrived, the request is over and this is ignored.
        let failure = match outcome {
            // The response arrives on the stream.
            Ok(()) if self.http_sse.get().is_some() => return,
            Ok(()) => LinkFailure::Broken(self.without_response(request)),
            Err(failure) => failure,
        };
        self.inbox.failed(&request.id, failure);
    }

    /// Sends a message without a response, which therefore has no deadline in the conversation.
    async fn tell(self: &Arc<Self>, message: &LinkMessage) {
        let told = async {
            let _turn = self.telling.acquire().await;
            self.deliver(message).await
        };
        let problem = match timeout(NOTIFY_TIMEOUT, told).await {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => format!("the server did not accept it within {} s", NOTIFY_TIMEOUT.as_secs()),
        };
        tracing::warn!(target: "trunkline::client::http", server = %self.route.target, error = %problem, "could not deliver a notification or response");
    }

    /// Sends a message, and resends it if its session was reopened.
    async fn deliver(self: &Arc<Self>, message: &LinkMessage) -> Result<(), LinkFailure> {
        // A session that is being reopened takes no calls before its handshake is complete.
        drop(self.renewing.lock().await);
        let mut outcome = self.exchange(message).await;
        if let Err(PostRefused { lost: Some(session), .. }) = &outcome
            && self.renew(session).await
        {
            outcome = self.exchange(message).await;
        }
        outcome.map_err(|refused| refused.failure)
    }

    pub(super) async fn exchange(self: &Arc<Self>, message: &LinkMessage) -> Result<(), PostRefused> {
        let initialize = message.request.as_ref().filter(|request| &*request.method == method::INITIALIZE);
        if let Some(request) = initialize {
            self.expect_http_sse(&request.id).await?;
        }
        if let Some(http_sse) = self.http_sse.get() {
            return Ok(self.post_http_sse(http_sse, message).await?);
        }
        let (headers, session) = self.headers_of(message)?;
        let response = self.send(EndpointRequest::post(headers, message)).await?;
        let status = response.status();
        check_followed(&self.route.target, &response)?;
        if !status.is_success() {
            let refusal = self.refusal(response).await;
            if let Some(session) = session.filter(|_| refusal.is_of_session()) {
                return Err(self.session_lost(session, &refusal));
            }
            if let Some(request) = initialize
                && refusal.lets_try_http_sse(&message.bytes)
                && let Some(http_sse) = self.fall_back_to_http_sse(&request.id).await?
            {
                return Ok(self.post_http_sse(http_sse, message).await?);
            }
            return Ok(self.refused(refusal, message.request.as_ref())?);
        }
        if initialize.is_some() {
            self.remember_session(response.headers().get(headers::SESSION_ID));
        } else if session.is_some() {
            self.session_works.store(true, Ordering::Relaxed);
        }
        if content::is_type(response.headers(), &EVENT_STREAM) {
            return Ok(self.events(response, message.request.as_ref(), session).await?);
        }
        if !content::is_type(response.headers(), &JSON) {
            let refusal = self.refusal(response).await;
            return match message.request {
                Some(_) => Err(refusal.into_failure(&self.route.target).into()),
                None => Ok(()),
            };
        }
        let body = http_failure::read(&self.route.target, response, self.route.max_message_bytes).await?;
        if !body.is_empty() {
            self.inbox.message(body.clone());
        }
        match message.request.as_ref().filter(|request| self.inbox.is_pending(&request.id)) {
            Some(_) if body.is_empty() => {
                Err(http_failure::of_answer(&self.route.target, AnswerHead::bare(status), &body).into())
            }
            Some(request) => {
                let failure = self.not_a_message(status, &body);
                Err(failure.unwrap_or_else(|| http_failure::no_response(status, self.without_response(request))).into())
            }
            None => Ok(()),
        }
    }

    /// The failure of a response that is not a message, if it is none.
    fn not_a_message(&self, status: StatusCode, frame: &Bytes) -> Option<LinkFailure> {
        match Frame::parse(frame, FrameBounds::NONE).messages().first() {
            Some(Err(malformed)) => {
                let (target, problem) = (&self.route.target, &malformed.error.message);
                let text = format!("The HTTP response from {target} is no message: {problem}");
                Some(http_failure::no_response(status, text))
            }
            _ => None,
        }
    }

    fn without_response(&self, request: &RequestHead) -> String {
        format!("The HTTP response from {} ended without a response to {}", self.route.target, request.method)
    }

    /// Handles a refused session. Servers modeled on the TypeScript SDK's examples respond with 400
    /// for an unknown session, but also for other reasons, so only a session that has worked is
    /// reopened.
    fn session_lost(&self, session: HeaderValue, refusal: &PostRefusal) -> PostRefused {
        let failure = http_failure::session_lost(&refusal.answer, &refusal.words());
        let may_reopen = refusal.answer.status == StatusCode::NOT_FOUND || self.session_works.load(Ordering::Relaxed);
        PostRefused { failure, lost: may_reopen.then_some(session) }
    }

    /// Reads the stream of a request up to its response. If it ends early and the server numbers
    /// its events, it is resumed: a server may close a stream on purpose, to be polled later
    /// (HTTP-28, HTTP-29, HTTP-38).
    async fn events(
        &self,
        mut response: Response,
        request: Option<&RequestHead>,
        session: Option<HeaderValue>,
    ) -> Result<(), LinkFailure> {
        let mut stream = EventStream::new(self.route.max_message_bytes);
        let mut pauses = StreamPauses::default();
        let (status, mut last) = (response.status(), None);
        loop {
            let broke = match self.read_events(&mut stream, response, request, &mut last).await? {
                PostEnd::Answered => return Ok(()),
                PostEnd::Early(broke) => broke,
            };
            let pause = pauses.after(&stream).unwrap_or(BACKOFF.first);
            response = match self.resume(&mut stream, request, session.as_ref(), pause).await {
                Some(resumed) => resumed,
                None => {
                    let failure = broke.or_else(|| self.not_a_message(status, last.as_ref()?));
                    return failure.map_or(Ok(()), Err);
                }
            };
        }
    }

    /// Reads one connection of a stream to its end, and keeps the last event. If the server fails
    /// to end it after the response, it is abandoned soon.
    async fn read_events(
        &self,
        stream: &mut EventStream,
        mut response: Response,
        request: Option<&RequestHead>,
        last: &mut Option<Bytes>,
    ) -> Result<PostEnd, LinkFailure> {
        let mut answered = false;
        while !answered {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    let taken = self.take_events(stream, &chunk, request)?;
                    answered = taken.answered;
                    *last = taken.last.or(last.take());
                }
                Ok(None) => return Ok(PostEnd::Early(None)),
                Err(error) => return Ok(PostEnd::Early(Some(http_failure::of_reqwest(&self.route.target, error)))),
            }
        }
        let until = Instant::now() + LINGER;
        while let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await
            && Instant::now() < until
        {
            self.take_events(stream, &chunk, request)?;
        }
        Ok(PostEnd::Answered)
    }

    /// Resumes a legacy stream. Returns `None` if that is impossible, or unnecessary because the
    /// response has arrived otherwise.
    async fn resume(
        &self,
        stream: &mut EventStream,
        request: Option<&RequestHead>,
        session: Option<&HeaderValue>,
        mut pause: Duration,
    ) -> Option<Response> {
        let (request, session) = (request?, session?);
        let id = HeaderValue::from_str(stream.last_id().filter(|id| !id.is_empty())?).ok()?;
        let mut headers = heads::of_stream(&self.route.headers, request.revision, Some(session));
        headers.insert(headers::LAST_EVENT_ID, id);
        for _ in 0..MAX_RESUME_ATTEMPTS {
            tokio::time::sleep(pause).await;
            if !self.inbox.is_pending(&request.id) {
                return None;
            }
            match self.send(EndpointRequest { headers: headers.clone(), ..EndpointRequest::default() }).await {
                Ok(resumed)
                    if resumed.status() == StatusCode::OK && content::is_type(resumed.headers(), &EVENT_STREAM) =>
                {
                    stream.reconnected();
                    return Some(resumed);
                }
                Ok(refused) if !may_pass(refused.status(), true) => return None,
                // The server may be restarting.
                Ok(_) | Err(_) => pause = BACKOFF.first.max(pause * 2),
            }
        }
        None
    }

    /// Passes all completed messages of a stream to the inbox.
    pub(super) fn take_events(
        &self,
        stream: &mut EventStream,
        chunk: &[u8],
        request: Option<&RequestHead>,
    ) -> Result<TakenEvents, LinkFailure> {
        let too_large = |error| LinkFailure::Broken(format!("{}: {error}", self.route.target));
        stream.push(chunk);
        let mut last = None;
        while let Some(message) = stream.next_message().map_err(too_large)? {
            last = Some(message.clone());
            self.inbox.message(message);
        }
        let answered = request.is_some_and(|request| !self.inbox.is_pending(&request.id));
        Ok(TakenEvents { answered, last })
    }

    /// Reads a response without a message: an HTTP error, or an unexpected content type.
    pub(super) async fn refusal(&self, response: Response) -> PostRefusal {
        let answer = AnswerHead::of(&response);
        let body = http_failure::read_unwanted(response, self.route.max_message_bytes).await;
        let error = serde_json::from_slice::<ErrorBody>(without_mark(&body)).ok().map(|body| body.error);
        PostRefusal { answer, body, error }
    }

    /// Handles an HTTP error. A JSON-RPC error in it is the response to the request, with or
    /// without its id, because there is no other request.
    pub(super) fn refused(&self, refusal: PostRefusal, request: Option<&RequestHead>) -> Result<(), LinkFailure> {
        let PostRefusal { answer, body, error } = refusal;
        let status = answer.status;
        let failed = |said: &[u8]| Err(http_failure::of_answer(&self.route.target, answer, said));
        match (request, error) {
            (Some(request), Some(error)) if says_what_the_server_is(status, request) => {
                self.inbox.message(envelope::encode_error(Some(&request.id), &error));
                Ok(())
            }
            (_, Some(error)) => failed(error.message.as_bytes()),
            (_, None) => failed(&body),
        }
    }
}

/// A response without a message, and the JSON-RPC error in it, if any.
pub(super) struct PostRefusal {
    answer: AnswerHead,
    body: Bytes,
    error: Option<RpcError>,
}

impl PostRefusal {
    pub(super) fn into_failure(self, target: &HttpTarget) -> LinkFailure {
        http_failure::of_answer(target, self.answer, &self.body)
    }

    /// The server's error message.
    fn words(&self) -> Cow<'_, [u8]> {
        match &self.error {
            Some(error) => Cow::Owned(error.message.clone().into()),
            None => Cow::Borrowed(&self.body),
        }
    }

    /// Returns whether a message was refused because of its session: with 404 (HTTP-48), or with
    /// 400 and a message that says so.
    fn is_of_session(&self) -> bool {
        let error_may = self.error.as_ref().is_none_or(|error| (-32_099..=-32_000).contains(&error.code));
        self.answer.status == StatusCode::NOT_FOUND
            || self.answer.status == StatusCode::BAD_REQUEST
                && error_may
                && http_failure::is_about_session(&self.words())
    }

    /// Returns whether a refused `initialize` allows the fallback to HTTP+SSE (SSE-07 to SSE-09).
    /// Refused authorization says nothing about the transport.
    fn lets_try_http_sse(&self, initialize: &[u8]) -> bool {
        let status_lets = match self.answer.status.as_u16() {
            400 | 404 | 405 => true,
            401 | 403 => false,
            status => {
                (400..500).contains(&status)
                    && offered(initialize)
                        .is_some_and(|revision| revision.supports(RevisionFeature::HttpSseAfterAny4xx))
            }
        };
        status_lets && !self.error.as_ref().is_some_and(RpcError::is_modern)
    }
}

/// Refused authorization says nothing about the protocol, nor does a failing server during the
/// probe (docs/versions.md, 2.3, step 4).
fn says_what_the_server_is(status: StatusCode, request: &RequestHead) -> bool {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => false,
        status if status.is_server_error() => &*request.method != method::DISCOVER,
        _ => true,
    }
}

#[derive(Deserialize)]
struct ErrorBody {
    error: RpcError,
}
