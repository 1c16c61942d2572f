//! Server-sent events: a stream yields the same messages however it is split into chunks.

use bytes::Bytes;
use trunkline_proto::http::event_stream::EventStream;

const MAX_BYTES: usize = 1000;

/// The messages, with the state at their end; `None` if one is too large.
fn read<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Option<(Vec<Bytes>, Option<String>)> {
    let mut stream = EventStream::new(MAX_BYTES);
    let mut messages = Vec::new();
    for chunk in chunks {
        stream.push(chunk);
        while let Some(message) = stream.next_message().ok()? {
            assert!(message.len() <= MAX_BYTES);
            messages.push(message);
        }
    }
    Some((messages, stream.last_id().map(str::to_owned)))
}

pub fn seeds() -> Vec<Vec<u8>> {
    super::corpus("event_stream")
}

pub fn judge(data: &[u8]) {
    let Some((&size, text)) = data.split_first() else { return };
    let whole = read(std::iter::once(text));
    assert_eq!(whole, read(text.chunks(usize::from(size) + 1)));
}
