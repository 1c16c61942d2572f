//! HTTP+SSE (2024-11-05), for servers with nothing newer: one stream for everything that the server
//! sends, whose first event is the URI to post messages to.

use super::{
    authorized::EndpointRequest,
    heads,
    http_failure::{self, AnswerHead},
    http_link::LinkContext,
    redirects::check_followed,
};
use crate::{
    client::{LinkFailure, LinkMessage, negotiation_cache::NegotiationCache},
    http::{
        content::{self, EVENT_STREAM},
        event_stream::{EventStream, StreamEvent},
    },
    printable::printable,
    protocol::{RequestId, method},
};
use http::StatusCode;
use reqwest::{Response, Url};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

/// How long the event with the URI may take to arrive.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a notification waits for earlier requests, because a server may respond to a POST only
/// when its call is over.
const ORDERING_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for, and how much to read of, the body of an accepted POST, so that its
/// connection can be reused.
const ACCEPTED_BODY_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_ACCEPTED_BODY_BYTES: usize = 16 << 10;

/// Servers that were recently reached through the fallback.
static SSE_SERVERS: NegotiationCache<()> = NegotiationCache::new();

/// A conversation over HTTP+SSE.
pub(super) struct HttpSse {
    endpoint: Url,
    /// Held by requests while they are posted.
    posting: Arc<RwLock<()>>,
}

/// An open stream, and the URI to post messages to.
struct FoundHttpSse {
    response: Response,
    stream: EventStream,
    uri: String,
}

impl LinkContext {
    /// Opens the stream if HTTP+SSE is expected; `id` is the request that opens the conversation.
    pub(super) async fn expect_http_sse(self: &Arc<Self>, id: &RequestId) -> Result<(), LinkFailure> {
        let known = self.route.server;
        if known.is_some_and(|server| SSE_SERVERS.get(server, Instant::now()).is_none()) {
            return Ok(());
        }
        match (self.find_http_sse(id).await, known) {
            (Ok(found), _) => self.begin_http_sse(found).map(drop),
            (Err(failure), Some(server)) => {
                tracing::debug!(target: "trunkline::client::http", error = %failure, "the server no longer serves HTTP+SSE");
                SSE_SERVERS.remove(server);
                Ok(())
            }
            (Err(failure), None) => Err(failure),
        }
    }

    /// Falls back to HTTP+SSE after Streamable HTTP was refused (SSE-06). Returns `None` if it is
    /// not available either.
    pub(super) async fn fall_back_to_http_sse(
        self: &Arc<Self>,
        id: &RequestId,
    ) -> Result<Option<&HttpSse>, LinkFailure> {
        match self.find_http_sse(id).await {
            Ok(found) => {
                let http_sse = self.begin_http_sse(found)?;
                if let Some(server) = self.route.server {
                    SSE_SERVERS.insert(server, (), Instant::now());
                }
                tracing::info!(target: "trunkline::client::http", server = %self.route.target, "the server serves HTTP+SSE only");
                Ok(Some(http_sse))
            }
            Err(failure) => {
                tracing::debug!(target: "trunkline::client::http", server = %self.route.target, error = %failure, "the server does not serve HTTP+SSE");
                Ok(None)
            }
        }
    }

    /// Posts a message. The response arrives on the stream (SSE-03, SSE-04).
    pub(super) async fn post_http_sse(&self, http_sse: &HttpSse, message: &LinkMessage) -> Result<(), LinkFailure> {
        let (headers, _) = self.headers_of(message)?;
        let target = Some(&http_sse.endpoint);
        let response = self.send(EndpointRequest { target, ..EndpointRequest::post(headers, message) }).await?;
        check_followed(&self.route.target, &response)?;
        let status = response.status();
        if status.is_success() {
            let body = http_failure::read(&self.route.target, response, MAX_ACCEPTED_BODY_BYTES);
            // The body contains nothing of interest.
            let _ = tokio::time::timeout(ACCEPTED_BODY_TIMEOUT, body).await;
            return Ok(());
        }
        let opens = message.request.as_ref().is_some_and(|request| &*request.method == method::INITIALIZE);
        if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) && !opens {
            // A stream that is still open is useless without its session.
            let answer = AnswerHead::of(&response);
            let body = http_failure::read_unwanted(response, self.route.max_message_bytes).await;
            let lost = http_failure::session_lost(&answer, &body);
            self.inbox.closed(lost.clone());
            return Err(lost);
        }
        let refusal = self.refusal(response).await;
        self.refused(refusal, message.request.as_ref())
    }

    /// Opens the stream. An error means that the server does not have it.
    async fn find_http_sse(&self, id: &RequestId) -> Result<FoundHttpSse, LinkFailure> {
        let headers = heads::of_stream(&self.route.headers, None, None);
        let opening = EndpointRequest { headers, id: Some(id), ..EndpointRequest::default() };
        let mut response = self.send(opening).await?;
        check_followed(&self.route.target, &response)?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await.into_failure(&self.route.target));
        }
        let (target, status) = (&self.route.target, response.status());
        let no_endpoint =
            |why: &str| http_failure::no_response(status, format!("There is no HTTP+SSE at {target}: {why}"));
        if !content::is_type(response.headers(), &EVENT_STREAM) {
            return Err(no_endpoint("GET returned no event stream"));
        }
        let mut stream = EventStream::new(self.route.max_message_bytes);
        let named = tokio::time::timeout(ENDPOINT_TIMEOUT, self.read_endpoint(&mut response, &mut stream)).await;
        let uri = named.map_err(|_| no_endpoint("its stream does not begin with the event endpoint"))??;
        Ok(FoundHttpSse { response, stream, uri })
    }

    /// Begins the conversation. An error means that the server names an unusable endpoint.
    fn begin_http_sse(self: &Arc<Self>, found: FoundHttpSse) -> Result<&HttpSse, LinkFailure> {
        let FoundHttpSse { response, stream, uri } = found;
        let endpoint = self.endpoint_at(&response, &uri)?;
        let http_sse = self.http_sse.get_or_init(|| HttpSse { endpoint, posting: Arc::default() });
        self.spawn(Arc::clone(self).read_http_sse(response, stream));
        Ok(http_sse)
    }

    /// Reads a stream up to the event with the URI.
    async fn read_endpoint(&self, response: &mut Response, stream: &mut EventStream) -> Result<String, LinkFailure> {
        let broken = |why: &str| LinkFailure::Broken(format!("{}: {why}", self.route.target));
        loop {
            while let Some(event) = stream.next_event().map_err(|error| broken(&error.to_string()))? {
                // No request has been sent yet, so earlier messages are ignored.
                if let StreamEvent::Endpoint(uri) = event {
                    return Ok(String::from_utf8_lossy(&uri).trim().to_owned());
                }
            }
            match response.chunk().await {
                Ok(Some(chunk)) => stream.push(&chunk),
                Ok(None) => return Err(broken("the stream ended before its event endpoint")),
                Err(error) => return Err(http_failure::of_reqwest(&self.route.target, error)),
            }
        }
    }

    /// SSE-11: the URI is relative to that of the stream, and must have the same origin.
    fn endpoint_at(&self, response: &Response, uri: &str) -> Result<Url, LinkFailure> {
        let unusable = |why: &str| {
            let (uri, target) = (printable(&http_failure::redacted(uri)), &self.route.target);
            let text = format!("The stream of {target} names the endpoint {uri}, which was rejected: {why}");
            http_failure::no_response(response.status(), text)
        };
        let stream = response.url();
        let endpoint = stream.join(uri).map_err(|error| unusable(&format!("it is not a URL ({error})")))?;
        if endpoint.origin() != stream.origin() {
            return Err(unusable("messages and their headers are not sent to another origin"));
        }
        Ok(endpoint)
    }

    /// Reads the stream until it ends, which ends the session.
    async fn read_http_sse(self: Arc<Self>, mut response: Response, mut stream: EventStream) {
        // Messages may have arrived together with the first event.
        let mut taken = self.take_events(&mut stream, &[], None);
        let failure = loop {
            if let Err(failure) = taken {
                break failure;
            }
            taken = match response.chunk().await {
                Ok(Some(chunk)) => self.take_events(&mut stream, &chunk, None),
                Ok(None) => Err(LinkFailure::Broken(format!("The server ended the stream at {}", self.route.target))),
                Err(error) => Err(http_failure::of_reqwest(&self.route.target, error)),
            };
        };
        self.inbox.closed(failure);
    }
}

/// Held by a request until it has been posted.
pub(super) type PostTurn = Option<OwnedRwLockReadGuard<()>>;

/// Waits for the turn of a message, so that a notification, such as a cancellation, does not
/// overtake earlier requests.
pub(super) fn turn(http_sse: Option<&HttpSse>, message: &LinkMessage) -> impl Future<Output = PostTurn> + use<> {
    let posting = http_sse.map(|http_sse| Arc::clone(&http_sse.posting));
    let is_request = message.request.is_some();
    // Usually a request gets its turn immediately; otherwise, a notification waits ahead of it.
    let now = posting.clone().filter(|_| is_request).and_then(|posting| posting.try_read_owned().ok());
    async move {
        let posting = posting?;
        if now.is_some() || is_request {
            return Some(match now {
                Some(guard) => guard,
                None => posting.read_owned().await,
            });
        }
        // Better late than never.
        let _ = tokio::time::timeout(ORDERING_TIMEOUT, posting.write()).await;
        None
    }
}
