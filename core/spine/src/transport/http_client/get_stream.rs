//! The GET stream of a legacy session, for messages that belong to no request (HTTP-30, HTTP-31).

use super::{authorized::EndpointRequest, http_failure, http_link::LinkContext};
use crate::{
    backoff::Backoff,
    http::{
        content::{self, EVENT_STREAM},
        event_stream::{EventStream, MAX_RETRY_DELAY},
        headers,
    },
};
use http::{HeaderMap, HeaderValue, StatusCode};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The wait before a stream is reopened.
pub(super) const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: MAX_RETRY_DELAY };

/// How a stream ended.
enum StreamEnd {
    /// The server has no such stream.
    Refused,
    /// The server no longer knows the session.
    SessionLost,
    /// The stream is over and may be reopened.
    Over(EventStream),
    /// One of its events was too large. Later events can still be read.
    TooLarge,
    Unreachable,
}

impl LinkContext {
    /// Keeps the stream open while the link exists. Does nothing if the server has no such stream.
    pub(super) async fn stream(self: Arc<Self>, mut headers: HeaderMap) {
        let (mut delays, mut pauses, mut was_open) = (0, StreamPauses::default(), false);
        loop {
            let opened = Instant::now();
            let end = self.read_stream(headers.clone(), was_open).await;
            // Proxies may cut streams that have been idle for less than a minute.
            if opened.elapsed() > MAX_RETRY_DELAY {
                delays = 0;
            }
            let mut wait = BACKOFF.after(delays);
            was_open |= matches!(end, StreamEnd::Over(_) | StreamEnd::TooLarge);
            match end {
                // Events after that one are lost, but later ones can still be received.
                StreamEnd::Refused if headers.remove(headers::LAST_EVENT_ID).is_some() => {}
                StreamEnd::Refused => return,
                // A server without such a stream may respond the same way.
                StreamEnd::SessionLost if !was_open => return,
                StreamEnd::SessionLost => match headers.get(headers::SESSION_ID) {
                    // Perhaps the server is still starting.
                    Some(lost) if !self.renew(lost).await => {}
                    // The new session has its own stream.
                    _ => return,
                },
                StreamEnd::TooLarge => drop(headers.remove(headers::LAST_EVENT_ID)),
                StreamEnd::Unreachable => {}
                StreamEnd::Over(stream) => {
                    // HTTP-28, HTTP-38
                    wait = pauses.after(&stream).unwrap_or(wait);
                    if let Some(id) = stream.last_id().and_then(|id| HeaderValue::from_str(id).ok()) {
                        headers.insert(headers::LAST_EVENT_ID, id);
                    }
                }
            }
            tokio::time::sleep(wait).await;
            delays = delays.saturating_add(1);
        }
    }

    async fn read_stream(&self, headers: HeaderMap, was_open: bool) -> StreamEnd {
        let gap = was_open && !headers.contains_key(headers::LAST_EVENT_ID);
        let mut response = match self.send(EndpointRequest { headers, ..EndpointRequest::default() }).await {
            Ok(response) => response,
            Err(error) => {
                tracing::debug!(target: "trunkline::client::http", %error, "the server offers no event stream");
                return StreamEnd::Unreachable;
            }
        };
        if may_pass(response.status(), was_open) {
            return StreamEnd::Unreachable;
        }
        if response.status() == StatusCode::NOT_FOUND {
            return StreamEnd::SessionLost;
        }
        if response.status() == StatusCode::BAD_REQUEST && gap {
            // As for messages. An unknown event id has already been omitted.
            let body = http_failure::read_unwanted(response, self.route.max_message_bytes).await;
            return if http_failure::is_about_session(&body) { StreamEnd::SessionLost } else { StreamEnd::Refused };
        }
        if response.status() != StatusCode::OK || !content::is_type(response.headers(), &EVENT_STREAM) {
            return StreamEnd::Refused;
        }
        if gap {
            self.inbox.missed();
        }
        let mut stream = EventStream::new(self.route.max_message_bytes);
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    if let Err(failure) = self.take_events(&mut stream, &chunk, None) {
                        tracing::warn!(target: "trunkline::client::http", server = %self.route.target, error = %failure, "the stream was lost; reopening it");
                        return StreamEnd::TooLarge;
                    }
                }
                Ok(None) | Err(_) => return StreamEnd::Over(stream),
            }
        }
    }
}

/// Returns whether another attempt may succeed: the server is busy, or it has such streams, but not
/// yet noticed the end of the previous one, or not yet got new credentials.
pub(super) fn may_pass(status: StatusCode, was_open: bool) -> bool {
    match status.as_u16() {
        408 | 425 | 429 => true,
        401 | 403 | 409 => was_open,
        _ => status.is_server_error(),
    }
}

/// If a server asks for less than this and sends nothing, the delay grows each time.
const MIN_FIXED_DELAY: Duration = Duration::from_secs(1);

/// The delays of one stream.
#[derive(Default)]
pub(super) struct StreamPauses {
    /// Number of consecutive connections without a message.
    barren: u32,
}

impl StreamPauses {
    /// The delay after a connection has ended, if the server asked for one (HTTP-28, HTTP-38).
    pub(super) fn after(&mut self, stream: &EventStream) -> Option<Duration> {
        self.barren = if stream.has_brought() { 0 } else { self.barren.saturating_add(1) };
        let retry = stream.retry()?;
        if retry >= MIN_FIXED_DELAY {
            return Some(retry);
        }
        // The first two are normal: one to prime the stream, and one that found nothing yet.
        Some(Backoff { first: retry, longest: MAX_RETRY_DELAY }.after(self.barren.saturating_sub(2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_28_a_server_that_wants_no_pause_and_sends_nothing_gets_longer_ones() {
        let ended = |text: &str| {
            let mut stream = EventStream::new(1_000);
            stream.push(text.as_bytes());
            while stream.next_message().unwrap().is_some() {}
            stream
        };
        let ms = |pauses: &mut StreamPauses, text| pauses.after(&ended(text)).map(|pause| pause.as_millis());
        let mut pauses = StreamPauses::default();
        let first: Vec<_> = (0..6).map(|_| ms(&mut pauses, "retry: 0\n\n").unwrap()).collect();
        assert_eq!(first, [100, 100, 200, 400, 800, 1_600]);
        assert_eq!((0..50).filter_map(|_| ms(&mut pauses, "retry: 0\n\n")).max(), Some(30_000));
        assert_eq!(ms(&mut pauses, "retry: 0\ndata: {}\n\n"), Some(100), "a message");
        assert!((0..9).all(|_| ms(&mut pauses, "retry: 1000\n\n") == Some(1_000)), "what the server asks for");
        assert_eq!(ms(&mut pauses, ": nothing\n\n"), None);
    }
}
