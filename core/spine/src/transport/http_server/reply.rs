//! HTTP responses: status, headers and body.

use super::{
    response_body::{Events, HttpBody},
    response_stream::{StreamItem, StreamReader},
};
use crate::{
    http::{
        content::{Accepts, EVENT_STREAM, JSON},
        headers,
        rejection::{Rejection, status_of},
    },
    protocol::Era,
    server::OutgoingMessage,
};
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use std::{future::poll_fn, time::Duration};

/// After this much silence, a resumable call's response becomes a stream, so that its client can
/// resume it.
const PRIMING_DELAY: Duration = Duration::from_secs(1);

/// The response for a rejection.
pub(super) fn rejected(rejection: Rejection) -> Response<HttpBody> {
    let mut response = message(rejection.status, rejection.body);
    for (name, value) in rejection.headers {
        response.headers_mut().append(name, value);
    }
    if rejection.status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// 405 at the endpoint. `sessions` tells whether other clients may use GET and DELETE here.
pub(super) fn method_not_allowed(text: &str, sessions: bool) -> Response<HttpBody> {
    not_allowed(text, if sessions { "GET, POST, DELETE, OPTIONS" } else { "POST, OPTIONS" })
}

/// 405 with the allowed methods.
pub(super) fn not_allowed(text: &str, allowed: &'static str) -> Response<HttpBody> {
    let mut response = rejected(Rejection::of_http(StatusCode::METHOD_NOT_ALLOWED, text));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A response without a body.
pub(super) fn empty(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::full(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// A JSON response without additional headers.
pub(super) fn message(status: StatusCode, message: Bytes) -> Response<HttpBody> {
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
    // `no-transform` keeps compressing middleware and proxies from buffering events.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(headers::ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// The response to a POST with requests. If the first message is the response, it is sent as JSON;
/// anything else, or silence for one keep-alive period, opens an event stream.
pub(super) async fn answer(keep_alive: Duration, mut reader: StreamReader, accepts: Accepts) -> Response<HttpBody> {
    let wait = if reader.polls() { keep_alive.min(PRIMING_DELAY) } else { keep_alive };
    let next = poll_fn(|context| reader.poll_next(context));
    let read = match accepts.events {
        true => tokio::time::timeout(wait, next).await,
        false => Ok(next.await),
    };
    let mut first = match read {
        Ok(Some(StreamItem::Message(id, OutgoingMessage::Response { message: body, failure }))) => {
            let era = if reader.cancels.is_some() { Era::Modern } else { Era::Legacy };
            let status = failure.map_or(StatusCode::OK, |it| status_of(era, it.code, it.refused, it.busy));
            if status != StatusCode::OK || accepts.json {
                return rejected(Rejection { status, body, headers: Vec::new() });
            }
            Some(StreamItem::Message(id, OutgoingMessage::Response { message: body, failure }))
        }
        // The call was cancelled and gets no response (CAN-05), so the stream ends without a
        // message.
        Ok(None) if accepts.events => return stream(Events::new(reader, keep_alive, None)),
        Ok(None) => return empty(StatusCode::NO_CONTENT),
        Ok(first) => first,
        Err(_silence) => None,
    };
    let (before, kept) = reader.open(first.as_mut());
    if let Some(kept) = kept {
        kept.await;
    }
    let position = before.filter(|_| reader.polls());
    stream(Events::new(reader, keep_alive, None).primed(position).starting_with(first))
}
