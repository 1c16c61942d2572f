//! Newline-delimited messages (STD-01): the cutter of a byte stream into lines.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

const INITIAL_CAPACITY: usize = 64 * 1024;
/// The memory of longer lines is not kept for later ones.
const MAX_KEPT_CAPACITY: usize = 4 << 20;

/// Cuts a stream into lines. A line over the limit is skipped and reported once.
pub(in crate::transport) struct LineCutter {
    buffer: BytesMut,
    /// Bytes of the buffer that are known to contain no newline.
    searched: usize,
    limit: usize,
    skipping: bool,
}

/// A line of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::transport) enum Line {
    /// A line without its newline, never blank.
    Text(Bytes),
    /// The beginning of a line that was longer than the limit.
    TooLong(Bytes),
}

impl LineCutter {
    pub(in crate::transport) fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::with_capacity(INITIAL_CAPACITY), searched: 0, limit, skipping: false }
    }

    /// The buffer to read into. Its spare capacity is never empty.
    pub(in crate::transport) fn space(&mut self) -> &mut BytesMut {
        self.buffer.reserve(16 * 1024);
        &mut self.buffer
    }

    /// Appends bytes that were read.
    pub(in crate::transport) fn extend(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete line.
    pub(in crate::transport) fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(found) = memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                return self.too_long_so_far();
            };
            let line = self.buffer.split_to(self.searched + found + 1);
            self.searched = 0;
            if line.len() > MAX_KEPT_CAPACITY && self.buffer.is_empty() {
                // Otherwise the line's memory lives as long as the stream.
                self.buffer = BytesMut::with_capacity(INITIAL_CAPACITY);
            }
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if line.len() > self.limit {
                return Some(self.too_long(&line));
            }
            let text = line.freeze();
            let trimmed = text.trim_ascii();
            if !trimmed.is_empty() {
                return Some(Line::Text(text.slice_ref(trimmed)));
            }
        }
    }

    fn too_long_so_far(&mut self) -> Option<Line> {
        if self.buffer.len() <= self.limit {
            return None;
        }
        let line = self.too_long(&self.buffer);
        self.buffer.clear();
        self.searched = 0;
        (!std::mem::replace(&mut self.skipping, true)).then_some(line)
    }

    /// Keeps enough of the line to see which request it answers.
    fn too_long(&self, line: &[u8]) -> Line {
        Line::TooLong(Bytes::copy_from_slice(&line[..self.limit.min(256).min(line.len())]))
    }

    /// A last line without a newline, when the stream has ended.
    pub(in crate::transport) fn rest(&mut self) -> Option<Bytes> {
        let rest = self.buffer.split().freeze();
        let trimmed = rest.trim_ascii();
        (!self.skipping && !trimmed.is_empty()).then(|| rest.slice_ref(trimmed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(limit: usize, chunks: &[&str]) -> Vec<Line> {
        let mut cutter = LineCutter::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            cutter.extend(chunk.as_bytes());
            lines.extend(std::iter::from_fn(|| cutter.next_line()));
        }
        lines.extend(cutter.rest().map(Line::Text));
        lines
    }

    fn text(text: &'static str) -> Line {
        Line::Text(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn std_01_lines_are_reassembled_however_they_arrive() {
        assert_eq!(lines(99, &["{\"a\"", ":1}\n{}", "\r\n\n  \n[]"]), [text("{\"a\":1}"), text("{}"), text("[]")]);
    }

    #[test]
    fn a_line_over_the_limit_is_reported_once_and_skipped() {
        let too_long = || Line::TooLong(Bytes::from_static(b"1234"));
        assert_eq!(lines(4, &["123", "456", "789", "\nabc\n"]), [too_long(), text("abc")]);
        assert_eq!(lines(4, &["12345678\nabc\n"]), [too_long(), text("abc")]);
        assert_eq!(lines(4, &["12345678"]), [too_long()]);
    }

    #[test]
    fn the_memory_of_a_long_line_is_freed_with_it() {
        let mut cutter = LineCutter::new(usize::MAX);
        cutter.extend(&vec![b' '; MAX_KEPT_CAPACITY]);
        cutter.extend(b"{}\n");
        assert_eq!(cutter.next_line(), Some(text("{}")));
        assert!(cutter.space().capacity() < MAX_KEPT_CAPACITY);
    }

    proptest! {
        /// The same lines result from any bytes, in one piece or in many.
        #[test]
        fn lines_do_not_depend_on_how_they_arrive(
            text in prop::collection::vec(prop::sample::select(vec![b'\n', b'\r', b' ', b'a', b'{', 0, 0xff]), 0..200),
            cuts in prop::collection::vec(1_usize..40, 0..20),
            limit in 1_usize..30,
        ) {
            let mut expected = Vec::new();
            let mut parts: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
            let last = parts.pop().unwrap_or_default();
            for part in parts {
                let trimmed = part.trim_ascii();
                if part.len() + 1 > limit {
                    expected.push(Line::TooLong(Bytes::copy_from_slice(&part[..limit])));
                } else if !trimmed.is_empty() {
                    expected.push(Line::Text(Bytes::copy_from_slice(trimmed)));
                }
            }
            if last.len() > limit {
                expected.push(Line::TooLong(Bytes::copy_from_slice(&last[..limit])));
            } else if !last.trim_ascii().is_empty() {
                expected.push(Line::Text(Bytes::copy_from_slice(last.trim_ascii())));
            }

            let (mut cutter, mut lines, mut rest) = (LineCutter::new(limit), Vec::new(), &text[..]);
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                cutter.extend(piece);
                lines.extend(std::iter::from_fn(|| cutter.next_line()));
                rest = after;
            }
            lines.extend(cutter.rest().map(Line::Text));
            prop_assert_eq!(lines, expected);
        }
    }
}
