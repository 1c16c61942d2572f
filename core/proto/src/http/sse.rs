//! Writing server-sent events.

use super::replay::EventId;
use bytes::{BufMut, BytesMut};
use std::{fmt::Write, time::Duration};

/// A comment that keeps proxies and clients from giving up on a quiet stream (H26-16).
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Bytes that [`put_event`] adds, roughly.
const FRAME: usize = "event: message\nid: 00-0000\ndata: \n\n".len();

/// Appends one event that holds a message.
pub fn put_event(stream: &mut BytesMut, id: Option<EventId>, message: &[u8]) {
    stream.reserve(FRAME + message.len());
    stream.put_slice(b"event: message\n");
    if let Some(id) = id {
        put_field(stream, "id", id);
    }
    // JSON may be laid out over several lines; each becomes a line of data, and the reader joins
    // them again.
    for line in message.split(|byte| matches!(byte, b'\n' | b'\r')) {
        stream.put_slice(b"data: ");
        stream.put_slice(line);
        stream.put_u8(b'\n');
    }
    stream.put_u8(b'\n');
}

/// Appends the event that lets a client come back even if nothing else arrives (HTTP-26).
pub fn put_priming(stream: &mut BytesMut, id: EventId) {
    put_field(stream, "id", id);
    stream.put_slice(b"data: \n\n");
}

/// Says how long a client should wait before it connects again (HTTP-27).
pub fn put_retry(stream: &mut BytesMut, pause: Duration) {
    put_field(stream, "retry", pause.as_millis());
    stream.put_u8(b'\n');
}

/// The first event of HTTP+SSE: where messages are posted (SSE-02).
pub fn put_endpoint(stream: &mut BytesMut, uri: &str) {
    stream.put_slice(b"event: endpoint\n");
    put_field(stream, "data", uri);
    stream.put_u8(b'\n');
}

fn put_field(stream: &mut BytesMut, name: &str, value: impl std::fmt::Display) {
    // A buffer in memory takes everything.
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
