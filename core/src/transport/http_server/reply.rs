//! Responses: from what came of a POST to status, headers and body.

use super::{
    body::{Events, HttpBody, Source},
    exchange::Reader,
    service::Shared,
};
use crate::{
    http::{
        content::{Accepts, EVENT_STREAM, JSON},
        headers,
        rejection::{Rejection, status_of},
    },
    protocol::Era,
    server::Outgoing,
};
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use std::{future::poll_fn, sync::Arc};

const POST_ONLY: HeaderValue = HeaderValue::from_static("POST, OPTIONS");
const ALL_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");

/// A refusal.
pub(super) fn rejected(rejection: Rejection) -> Response<HttpBody> {
    let mut response = message(rejection.status, rejection.body);
    if rejection.status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// 405: `sessions` says whether any other client may use GET and DELETE here.
pub(super) fn method_not_allowed(text: &str, sessions: bool) -> Response<HttpBody> {
    let mut response = rejected(Rejection::of_http(StatusCode::METHOD_NOT_ALLOWED, text));
    response.headers_mut().insert(header::ALLOW, if sessions { ALL_METHODS } else { POST_ONLY });
    response
}

/// A response without a body.
pub(super) fn empty(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::empty());
    *response.status_mut() = status;
    response
}

fn message(status: StatusCode, message: Bytes) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::full(message));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// A stream that starts now.
pub(super) fn stream(events: Events) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::events(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENT_STREAM);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(headers::ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// The response to a POST that holds requests. How it is sent is decided by what comes first: the answer alone goes out as
/// JSON; anything before it, or a silence of one keep-alive period, opens an event stream.
pub(super) async fn answer(shared: &Arc<Shared>, reader: Reader, accepts: Accepts) -> Response<HttpBody> {
    let keep_alive = shared.server.options().keep_alive;
    let next = poll_fn(|context| reader.poll_next(context));
    let first = match accepts.events {
        true => tokio::time::timeout(keep_alive, next).await,
        false => Ok(next.await),
    };
    match first {
        Ok(Some(Outgoing::Response { message: text, failure })) => {
            let era = if reader.is_modern() { Era::Modern } else { Era::Legacy };
            let status = failure.map_or(StatusCode::OK, |it| status_of(era, it.code, it.refused, it.busy));
            if status == StatusCode::OK && !accepts.json {
                return opened(shared, reader, Some(Outgoing::Response { message: text, failure }));
            }
            rejected(Rejection { status, body: text })
        }
        // The call was cancelled and nothing answers it (CAN-05): a stream that ends says so without a message.
        Ok(None) if accepts.events => {
            let source = Source::Exchange(reader);
            stream(Events::new(source, keep_alive, shared.open_stream(None)))
        }
        Ok(None) => empty(StatusCode::NO_CONTENT),
        Ok(first) => opened(shared, reader, first),
        Err(_silence) => opened(shared, reader, None),
    }
}

fn opened(shared: &Arc<Shared>, reader: Reader, first: Option<Outgoing>) -> Response<HttpBody> {
    let open = shared.open_stream(reader.is_modern().then(|| reader.connection()));
    let events = Events::new(Source::Exchange(reader), shared.server.options().keep_alive, open);
    stream(events.starting_with(first))
}
