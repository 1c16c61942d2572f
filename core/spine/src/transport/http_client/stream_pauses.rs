//! Delays before a stream is reopened.

use crate::{
    backoff::Backoff,
    http::event_stream::{EventStream, MAX_RETRY_DELAY},
};
use std::time::Duration;

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
