//! An endpoint without a socket: a web framework passes requests and takes responses.

use super::{
    super::{blocked::CUT_TIMEOUT, closing::Deadline},
    HttpBody, HttpOptions, HttpService,
    fed_body::{BodyFeed, FedBody, FeedRoom},
    reply,
};
use crate::{http::rejection::Rejection, runtime::Runtime, server::Server};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::Body;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

/// Maximum concurrent requests; more are refused with 503. As many as a listener has connections.
const MAX_EXCHANGES: usize = 16_384;
/// Time for responses to end after they are cut off.
const RESPONSE_END_TIMEOUT: Duration = Duration::from_secs(1);

/// A server inside a web framework.
pub struct MountedListener {
    service: HttpService,
    max_body: usize,
    room: Arc<FeedRoom>,
    /// Number of open requests.
    open: watch::Sender<usize>,
    cut: watch::Sender<bool>,
}

/// An open request, until it is dropped.
pub struct Exchange {
    listener: Arc<MountedListener>,
    too_many: bool,
}

impl MountedListener {
    /// `path` is the only path that is served; `None` if the framework has already routed the
    /// request.
    pub fn new(server: Server, options: &HttpOptions, path: Option<&str>, runtime: Arc<dyn Runtime>) -> Self {
        let max_body = server.options().limits.max_message_bytes;
        let room = FeedRoom::new((options.max_body_bytes / 4).max(max_body.saturating_mul(2)));
        let service = match path {
            Some(path) => {
                HttpService::below_a_router(server, &HttpOptions { path: path.to_owned(), ..options.clone() }, runtime)
            }
            None => HttpService::new(server, options, runtime),
        };
        Self { service, max_body, room, open: watch::channel(0).0, cut: watch::channel(false).0 }
    }

    /// Returns whether there is anything for a request at its path.
    pub fn serves<B>(&self, request: &Request<B>) -> bool {
        self.service.serves(request)
    }

    /// Registers a new request.
    pub fn enter(self: &Arc<Self>) -> Exchange {
        let mut too_many = false;
        self.open.send_modify(|open| {
            too_many = *open >= MAX_EXCHANGES;
            *open += 1;
        });
        Exchange { listener: Arc::clone(self), too_many }
    }

    /// Creates both ends of a request body.
    pub fn new_body(&self) -> (BodyFeed, FedBody) {
        BodyFeed::new(self.max_body, &self.room)
    }

    /// Stops accepting messages. Calls in flight may run until the deadline; then they fail.
    /// Responses that the client does not read are cut off.
    pub async fn close(&self, mut deadline: Deadline) {
        self.service.begin_closing();
        let drained = async {
            self.service.drain().await;
            self.idle().await;
        };
        if !deadline.allows(drained).await {
            self.service.interrupt();
            let _ = tokio::time::timeout(CUT_TIMEOUT, self.idle()).await;
            self.cut.send_replace(true);
            // Everything ends by itself after being cut off; the timeout is for hanging
            // destructors.
            let _ = tokio::time::timeout(RESPONSE_END_TIMEOUT, self.idle()).await;
        }
        self.service.end_all().await;
    }

    async fn idle(&self) {
        // The sender lives as long as this listener.
        let _ = self.open.subscribe().wait_for(|open| *open == 0).await;
    }
}

impl Exchange {
    /// Responds to a request. Adds the length if it is known, as hyper does for responses to a
    /// socket.
    pub async fn respond(&self, request: Request<FedBody>) -> Response<HttpBody> {
        if self.too_many {
            return with_length(reply::rejected(Rejection::busy(None, "too many requests are being answered")));
        }
        let body = Arc::clone(&request.body().0);
        let response = self.listener.service.respond(request, None).await;
        // A truncated body was parsed as if it were complete.
        if body.is_crowded_out() && response.status() == StatusCode::BAD_REQUEST {
            return with_length(reply::rejected(Rejection::busy(None, "too much data is in flight")));
        }
        with_length(response)
    }

    /// Refuses an invalid HTTP request.
    pub fn refuse(text: String) -> Response<HttpBody> {
        with_length(reply::rejected(Rejection::of_http(StatusCode::BAD_REQUEST, text)))
    }

    /// Completes when the listener is closed and its deadline is over.
    pub async fn cut(&self) {
        // The sender lives as long as this exchange.
        let _ = self.listener.cut.subscribe().wait_for(|cut| *cut).await;
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.listener.open.send_modify(|open| *open -= 1);
    }
}

fn with_length(mut response: Response<HttpBody>) -> Response<HttpBody> {
    // A response without content has no length either (RFC 9110, section 8.6).
    if let Some(length) = response.body().size_hint().exact()
        && response.status() != StatusCode::NO_CONTENT
    {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::TokioRuntime;

    #[tokio::test]
    async fn requests_in_a_web_framework_are_bounded() {
        let server = Server::builder("test", "1").build();
        let options = HttpOptions::default();
        let listener = Arc::new(MountedListener::new(server, &options, None, TokioRuntime::current()));
        let status = async |exchange: Exchange| exchange.respond(Request::new(listener.new_body().1)).await.status();
        let open: Vec<_> = (0..MAX_EXCHANGES).map(|_| listener.enter()).collect();
        assert_eq!(status(listener.enter()).await, StatusCode::SERVICE_UNAVAILABLE);
        drop(open);
        assert_ne!(status(listener.enter()).await, StatusCode::SERVICE_UNAVAILABLE);
    }
}
