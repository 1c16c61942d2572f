//! Writes server-sent events.

use super::replay::EventId;
use bytes::{BufMut, BytesMut};
use std::{fmt::Write, time::Duration};

/// A comment that keeps proxies and clients from closing an idle stream (H26-16).
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Approximate number of bytes that [`put_event`] adds.
const EVENT_OVERHEAD: usize = "event: message\nid: 00-0000\ndata: \n\n".len();

/// Appends an event with a message.
pub fn put_event(stream: &mut BytesMut, id: Option<EventId>, message: &[u8]) {
    stream.reserve(EVENT_OVERHEAD + message.len());
    stream.put_slice(b"event: message\n");
    if let Some(id) = id {
        put_field(stream, "id", id);
    }
    // JSON may span several lines; each becomes a `data` line, and the reader joins them again.
    for line in message.split(|byte| matches!(byte, b'\n' | b'\r')) {
        stream.put_slice(b"data: ");
        stream.put_slice(line);
        stream.put_u8(b'\n');
    }
    stream.put_u8(b'\n');
}

/// Appends an event that lets a client resume even if nothing else arrives (HTTP-26).
pub fn put_priming(stream: &mut BytesMut, id: EventId) {
    put_field(stream, "id", id);
    stream.put_slice(b"data: \n\n");
}

/// Appends the time that a client should wait before it reconnects (HTTP-27).
pub fn put_retry(stream: &mut BytesMut, pause: Duration) {
    put_field(stream, "retry", pause.as_millis());
    stream.put_u8(b'\n');
}

/// Appends the first event of HTTP+SSE: the URI where messages are posted (SSE-02).
pub fn put_endpoint(stream: &mut BytesMut, uri: &str) {
    stream.put_slice(b"event: endpoint\n");
    put_field(stream, "data", uri);
    stream.put_u8(b'\n');
}

fn put_field(stream: &mut BytesMut, name: &str, value: impl std::fmt::Display) {
    // Writing to memory never fails.
    let _ = writeln!(stream, "{name}: {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_10_one_message_is_one_event() {
        let mut stream = BytesMut::new();
        put_event(&mut stream, None, b"{}");
        put_event(&mut stream, EventId::parse("2-7"), b"{\n \"a\": 1\r\n}");
        assert_eq!(
            &stream[..],
            b"event: message\ndata: {}\n\nevent: message\nid: 2-7\ndata: {\ndata:  \"a\": 1\ndata: \ndata: }\n\n"
        );
    }

    #[test]
    fn http_26_http_27_sse_02_events_without_a_message() {
        let mut stream = BytesMut::new();
        put_priming(&mut stream, EventId::parse("3-0").unwrap());
        put_retry(&mut stream, Duration::from_millis(1500));
        put_endpoint(&mut stream, "/messages?sessionId=x");
        let text = "id: 3-0\ndata: \n\nretry: 1500\n\nevent: endpoint\ndata: /messages?sessionId=x\n\n";
        assert_eq!(&stream[..], text.as_bytes());
    }
}
