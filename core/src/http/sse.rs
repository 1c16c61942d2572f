//! Writing server-sent events.

use bytes::{BufMut, BytesMut};

/// A comment that keeps proxies and clients from giving up on a quiet stream (H26-16).
pub(crate) const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// How many bytes [`put_event`] adds at least.
const FRAME: usize = "event: message\ndata: \n\n".len();

/// Appends one event that holds a message.
pub(crate) fn put_event(stream: &mut BytesMut, message: &[u8]) {
    stream.reserve(FRAME + message.len());
    stream.put_slice(b"event: message\n");
    // JSON may be laid out over several lines; each becomes a line of data, and the reader joins them again.
    for line in message.split(|byte| matches!(byte, b'\n' | b'\r')) {
        stream.put_slice(b"data: ");
        stream.put_slice(line);
        stream.put_u8(b'\n');
    }
    stream.put_u8(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_10_one_message_is_one_event() {
        let mut stream = BytesMut::new();
        put_event(&mut stream, b"{}");
        put_event(&mut stream, b"{\n \"a\": 1\r\n}");
        assert_eq!(
            &stream[..],
            b"event: message\ndata: {}\n\nevent: message\ndata: {\ndata:  \"a\": 1\ndata: \ndata: }\n\n"
        );
    }
}
