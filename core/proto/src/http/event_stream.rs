//! Parses server-sent events incrementally (HTML standard, section 9.2).

use bytes::{Buf, Bytes, BytesMut};
use std::time::Duration;

/// Minimum reconnection delay, however short a delay the server requests.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(100);
/// Maximum reconnection delay, however long a delay the server requests.
pub const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// An incremental parser.
#[derive(Debug, Default)]
pub struct EventStream {
    buffer: BytesMut,
    /// The buffer has no line end before this index.
    searched: usize,
    /// The data of the current event, a line break behind each line.
    data: BytesMut,
    kind: Kind,
    started: bool,
    /// The last line ended with CR, so a following LF belongs to it.
    after_cr: bool,
    max_bytes: usize,
    /// The id of the current event.
    next_id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    has_brought: bool,
}

/// The type of an event, from its `event` field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Message,
    Endpoint,
    Other,
}

/// An event with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// A message.
    Message(Bytes),
    /// The URI to post messages to (HTTP+SSE, SSE-02).
    Endpoint(Bytes),
}

/// A line or an event exceeds the maximum message size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than the limit of {0} bytes")]
pub struct TooLarge(usize);

impl EventStream {
    /// A parser for messages of at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// Resets the parser for a new connection: incomplete data is dropped; the last id and the
    /// delay are kept.
    pub fn reconnected(&mut self) {
        let fresh = Self::new(self.max_bytes);
        *self = Self { last_id: self.last_id.take(), retry: self.retry, ..fresh };
    }

    /// Adds received bytes.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// Returns the message of the next complete event. Skips events without data (which prime
    /// resumption) and events of types other than `message`, and ignores an event cut off by the
    /// end of the stream.
    pub fn next_message(&mut self) -> Result<Option<Bytes>, TooLarge> {
        while let Some(event) = self.next_event()? {
            if let StreamEvent::Message(message) = event {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// As [`EventStream::next_message`], but includes events of the type `endpoint`.
    pub fn next_event(&mut self) -> Result<Option<StreamEvent>, TooLarge> {
        while let Some(line) = self.line()? {
            if line.is_empty() {
                let mut data = std::mem::take(&mut self.data).freeze();
                data.truncate(data.len().saturating_sub(1));
                self.last_id = self.next_id.take().or(self.last_id.take());
                match std::mem::take(&mut self.kind) {
                    Kind::Message if !data.is_empty() => {
                        self.has_brought = true;
                        return Ok(Some(StreamEvent::Message(data)));
                    }
                    Kind::Endpoint if !data.is_empty() => return Ok(Some(StreamEvent::Endpoint(data))),
                    _ => {}
                }
            } else {
                self.field(&line)?;
            }
        }
        Ok(None)
    }

    /// The id of the last complete event that had one. An event that was cut off is thus requested
    /// again.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns whether this connection has received a message.
    pub fn has_brought(&self) -> bool {
        self.has_brought
    }

    /// The reconnection delay that the server requests, within limits.
    pub fn retry(&self) -> Option<Duration> {
        self.retry.map(|retry| retry.clamp(MIN_RETRY_DELAY, MAX_RETRY_DELAY))
    }

    /// The next complete line without its line end: CR, LF or both.
    fn line(&mut self) -> Result<Option<Bytes>, TooLarge> {
        if self.after_cr && !self.buffer.is_empty() {
            self.after_cr = false;
            if self.buffer[0] == b'\n' {
                self.buffer.advance(1);
            }
        }
        let Some(offset) = self.buffer[self.searched..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.searched = self.buffer.len();
            return self.check_line(self.searched).map(|()| None);
        };
        self.check_line(self.searched + offset)?;
        let mut line = self.buffer.split_to(self.searched + offset).freeze();
        self.searched = 0;
        self.after_cr = self.buffer[0] == b'\r';
        self.buffer.advance(1);
        if !self.started {
            self.started = true;
            if line.starts_with(b"\xef\xbb\xbf") {
                line.advance(3);
            }
        }
        Ok(Some(line))
    }

    /// Applies the same limit to a line that arrived at once, so that chunking makes no difference.
    fn check_line(&self, length: usize) -> Result<(), TooLarge> {
        // Allow for "data: " and a byte order mark, which are not part of the message.
        if length > self.max_bytes.saturating_add(16) { Err(TooLarge(self.max_bytes)) } else { Ok(()) }
    }

    fn field(&mut self, line: &Bytes) -> Result<(), TooLarge> {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (&line[..], &[][..]),
        };
        match name {
            b"data" => {
                if self.data.len() + value.len() > self.max_bytes {
                    return Err(TooLarge(self.max_bytes));
                }
                self.data.reserve(value.len() + 1);
                self.data.extend_from_slice(value);
                self.data.extend_from_slice(b"\n");
            }
            b"event" => {
                self.kind = match value {
                    b"" | b"message" => Kind::Message,
                    b"endpoint" => Kind::Endpoint,
                    _ => Kind::Other,
                };
            }
            b"id" if !value.contains(&0) => self.next_id = std::str::from_utf8(value).ok().map(str::to_owned),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let milliseconds = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = milliseconds.map(Duration::from_millis).or(self.retry);
            }
            // Comments have an empty name (H26-17); unknown fields are ignored.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
