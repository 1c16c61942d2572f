//! The GET stream of a legacy session: messages of the server that answer no request (HTTP-30,
//! HTTP-31).

use super::{authorized::EndpointRequest, http_failure, http_link::LinkContext, stream_pauses::StreamPauses};
use crate::http::{
    content::{self, EVENT_STREAM},
    event_stream::{EventStream, LONGEST_PAUSE},
    headers,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Pause before a stream that ended is opened again; doubled each time.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// A stream that lived so long was a good one.
const GOOD: Duration = Duration::from_secs(60);

/// End of a stream.
enum StreamEnd {
    /// The server has none.
    Refused,
    /// The server does not know the session any more.
    SessionLost,
    /// It may be opened again.
    Over(EventStream),
    /// An event of it was too large. Later events can be had, that one cannot.
    TooLarge,
    Unreachable,
}

impl LinkContext {
    /// Keeps the stream open as long as the link lives. Servers need not have one: then nothing
    /// happens.
    pub(super) async fn stream(self: Arc<Self>, mut headers: HeaderMap) {
        headers.insert(header::ACCEPT, EVENT_STREAM);
        let (mut pause, mut pauses, mut was_open) = (FIRST_PAUSE, StreamPauses::default(), false);
        loop {
            let opened = Instant::now();
            let end = self.read_stream(headers.clone(), was_open).await;
            if opened.elapsed() > GOOD {
                pause = FIRST_PAUSE;
            }
            let mut wait = pause;
            was_open |= matches!(end, StreamEnd::Over(_) | StreamEnd::TooLarge);
            match end {
                // The events after that one are lost; those from now on need not be.
                StreamEnd::Refused if headers.remove(headers::LAST_EVENT_ID).is_some() => {}
                StreamEnd::Refused => return,
                // From a server that never had a stream this says no more than that.
                StreamEnd::SessionLost if !was_open => return,
                StreamEnd::SessionLost => {
                    // The new session has a stream of its own.
                    if let Some(lost) = headers.get(headers::SESSION_ID) {
                        self.renew(lost).await;
                    }
                    return;
                }
                StreamEnd::TooLarge => drop(headers.remove(headers::LAST_EVENT_ID)),
                StreamEnd::Unreachable => {}
                StreamEnd::Over(stream) => {
                    // HTTP-28, HTTP-38
                    wait = pauses.after(&stream).unwrap_or(pause);
                    if let Some(id) = stream.last_id().and_then(|id| HeaderValue::from_str(id).ok()) {
                        headers.insert(headers::LAST_EVENT_ID, id);
                    }
                }
            }
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn read_stream(&self, headers: HeaderMap, was_open: bool) -> StreamEnd {
        let gap = was_open && !headers.contains_key(headers::LAST_EVENT_ID);
        let mut response = match self.send(EndpointRequest::get(headers)).await {
            Ok(response) => response,
            Err(error) => {
                tracing::debug!(target: "trunkline::client::http", %error, "the server gives no stream");
                return StreamEnd::Unreachable;
            }
        };
        if response.status().is_server_error() {
            return StreamEnd::Unreachable;
        }
        if response.status() == StatusCode::NOT_FOUND {
            return StreamEnd::SessionLost;
        }
        if response.status() == StatusCode::BAD_REQUEST && gap {
            // As for messages; an id of an event that is not known any more was left out before.
            let body = http_failure::read_unwanted(response, self.limits.max_message_bytes).await;
            return if http_failure::is_about_session(&body) { StreamEnd::SessionLost } else { StreamEnd::Refused };
        }
        if response.status() != StatusCode::OK || !content::is_type(response.headers(), &EVENT_STREAM) {
            return StreamEnd::Refused;
        }
        if gap {
            self.inbox.missed();
        }
        let mut stream = EventStream::new(self.limits.max_message_bytes);
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    if let Err(failure) = self.take_events(&mut stream, &chunk, None) {
                        tracing::warn!(target: "trunkline::client::http", error = %failure, "the stream was lost; reopening it");
                        return StreamEnd::TooLarge;
                    }
                }
                Ok(None) | Err(_) => return StreamEnd::Over(stream),
            }
        }
    }
}
