//! Stores the events of a session's streams, so that streams can be resumed (HTTP-36..40).

use crate::fast_map::FastMap;
use bytes::Bytes;
use std::{collections::VecDeque, fmt};

/// The id of an event: unique in its session, and includes the number of its stream (HTTP-36,
/// HTTP-37).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId {
    /// The number of the stream.
    pub stream: u64,
    /// The number of the event in its stream, from 1; 0 is the start of the stream.
    pub event: u64,
}

impl EventId {
    /// Parses an id; `None` if it is not one of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let (stream, event) = text.split_once('-')?;
        Some(Self { stream: number(stream)?, event: number(event)? })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.event)
    }
}

/// The latest events of a session's streams. If there are too many, the oldest are evicted,
/// regardless of their stream; the newest is always kept, whatever its size.
#[derive(Debug)]
pub struct Replay {
    kept: VecDeque<(EventId, Bytes)>,
    bytes: usize,
    max_events: usize,
    max_bytes: usize,
    streams: FastMap<u64, Cursor>,
    next_stream: u64,
}

#[derive(Debug, Default)]
struct Cursor {
    /// The number of the latest event.
    last: u64,
    /// Events up to this one have been evicted.
    lost: u64,
    kept: usize,
    finished: bool,
}

impl Replay {
    /// Keeps at most this many events and bytes.
    pub fn new(max_events: usize, max_bytes: usize) -> Self {
        let (kept, streams) = (VecDeque::new(), FastMap::default());
        Self { kept, bytes: 0, max_events, max_bytes, streams, next_stream: 0 }
    }

    /// Opens a stream under a number that is unique in the session.
    pub fn open_as(&mut self, number: u64) {
        self.streams.insert(number, Cursor::default());
    }

    /// Opens a stream; the first one is number 0.
    pub fn open(&mut self) -> u64 {
        let number = self.next_stream;
        self.next_stream += 1;
        self.streams.insert(number, Cursor::default());
        number
    }

    /// The current position of a stream, after its last event.
    pub fn position(&self, stream: u64) -> EventId {
        EventId { stream, event: self.streams.get(&stream).map_or(0, |cursor| cursor.last) }
    }

    /// Stores the next event of a stream. Also returns the finished streams of which no event is
    /// left.
    pub fn keep(&mut self, stream: u64, message: &Bytes) -> (EventId, Vec<u64>) {
        let cursor = self.streams.entry(stream).or_default();
        cursor.last += 1;
        cursor.kept += 1;
        let id = EventId { stream, event: cursor.last };
        self.bytes += message.len();
        self.kept.push_back((id, message.clone()));
        let mut forgotten = Vec::new();
        while self.kept.len() > 1 && (self.kept.len() > self.max_events || self.bytes > self.max_bytes) {
            forgotten.extend(self.lose_oldest());
        }
        (id, forgotten)
    }

    /// The total size of the stored events.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Evicts all events. Returns the finished streams that had some.
    pub fn lose_all(&mut self) -> Vec<u64> {
        let mut forgotten = Vec::new();
        while !self.kept.is_empty() {
            forgotten.extend(self.lose_oldest());
        }
        forgotten
    }

    /// Returns the stream of the event if it is finished and no other event of it is left.
    fn lose_oldest(&mut self) -> Option<u64> {
        let (id, message) = self.kept.pop_front()?;
        self.bytes -= message.len();
        let cursor = self.streams.get_mut(&id.stream)?;
        cursor.lost = id.event;
        cursor.kept -= 1;
        self.forget_if_done(id.stream).then_some(id.stream)
    }

    /// The number of stored events of a stream.
    pub fn kept(&self, stream: u64) -> usize {
        self.streams.get(&stream).map_or(0, |cursor| cursor.kept)
    }

    /// Marks a stream as finished; its stored events are kept. Returns their number.
    pub fn finish(&mut self, stream: u64) -> usize {
        if let Some(cursor) = self.streams.get_mut(&stream) {
            cursor.finished = true;
        }
        self.forget_if_done(stream);
        self.kept(stream)
    }

    fn forget_if_done(&mut self, stream: u64) -> bool {
        let is_done = self.streams.get(&stream).is_some_and(|cursor| cursor.finished && cursor.kept == 0);
        if is_done {
            self.streams.remove(&stream);
        }
        is_done
    }

    /// The events of the stream after the given one; `None` if the id is unknown or some events
    /// were evicted.
    pub fn after(&self, id: EventId) -> Option<VecDeque<(EventId, Bytes)>> {
        let cursor = self.streams.get(&id.stream)?;
        if id.event < cursor.lost || id.event > cursor.last {
            return None;
        }
        let missed = self.kept.iter().filter(|(kept, _)| kept.stream == id.stream && kept.event > id.event);
        Some(missed.cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(replay: &Replay, id: &str) -> Option<Vec<String>> {
        let events = replay.after(EventId::parse(id)?)?;
        Some(events.into_iter().map(|(id, message)| format!("{id}={}", String::from_utf8_lossy(&message))).collect())
    }

    fn keep(replay: &mut Replay, stream: u64, text: &'static str) -> String {
        replay.keep(stream, &Bytes::from_static(text.as_bytes())).0.to_string()
    }

    #[test]
    fn http_36_http_37_ids_are_unique_and_name_their_stream() {
        let mut replay = Replay::new(100, 100);
        let (a, b) = (replay.open(), replay.open());
        assert_eq!(replay.position(b).to_string(), "1-0");
        assert_eq!(
            [keep(&mut replay, a, "x"), keep(&mut replay, b, "y"), keep(&mut replay, a, "z")],
            ["0-1", "1-1", "0-2"]
        );
        assert_eq!(EventId::parse("1-17"), Some(EventId { stream: 1, event: 17 }));
        for wrong in ["", "-", "1", "1-", "-1", "+1-2", "1-+2", "1-2-3", "a-b", "1-99999999999999999999"] {
            assert_eq!(EventId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn http_39_http_40_only_missed_events_of_that_stream_are_replayed() {
        let mut replay = Replay::new(100, 100);
        let (a, b) = (replay.open(), replay.open());
        for (stream, text) in [(a, "1"), (b, "2"), (a, "3")] {
            keep(&mut replay, stream, text);
        }
        assert_eq!(texts(&replay, "0-0").unwrap(), ["0-1=1", "0-2=3"]);
        assert_eq!(texts(&replay, "0-1").unwrap(), ["0-2=3"]);
        assert_eq!(texts(&replay, "0-2").unwrap(), [""; 0]);
        assert_eq!(texts(&replay, "1-0").unwrap(), ["1-1=2"]);
        for unknown in ["0-3", "2-0", "2-1"] {
            assert_eq!(texts(&replay, unknown), None, "{unknown}");
        }
    }

    #[test]
    fn old_events_are_evicted_and_their_readers_are_notified() {
        let mut replay = Replay::new(3, 100);
        let (a, b) = (replay.open(), replay.open());
        for stream in [a, b, b, a] {
            keep(&mut replay, stream, "x");
        }
        assert_eq!(texts(&replay, "0-0"), None);
        assert_eq!(texts(&replay, "0-1").unwrap(), ["0-2=x"]);
        assert_eq!(texts(&replay, "1-0").unwrap().len(), 2);
        // By size as well, but the newest is kept.
        let mut replay = Replay::new(100, 10);
        let stream = replay.open();
        keep(&mut replay, stream, "12345678");
        keep(&mut replay, stream, "a long event of its own");
        assert_eq!(texts(&replay, "0-1").unwrap(), ["0-2=a long event of its own"]);
        assert_eq!(texts(&replay, "0-0"), None);
    }

    #[test]
    fn all_events_may_be_evicted_and_new_ones_are_stored_again() {
        let mut replay = Replay::new(100, 100);
        let (ended, open) = (replay.open(), replay.open());
        for stream in [ended, open] {
            keep(&mut replay, stream, "12345");
        }
        replay.finish(ended);
        assert_eq!(replay.bytes(), 10);
        replay.lose_all();
        assert_eq!((replay.bytes(), replay.streams.len()), (0, 1));
        assert_eq!((texts(&replay, "0-0"), texts(&replay, "1-0")), (None, None));
        keep(&mut replay, open, "x");
        assert_eq!(texts(&replay, "1-1").unwrap(), ["1-2=x"]);
    }

    #[test]
    fn finished_streams_are_forgotten_with_their_last_event() {
        let mut replay = Replay::new(2, 100);
        let (quiet, told, other) = (replay.open(), replay.open(), replay.open());
        assert_eq!(replay.finish(quiet), 0);
        keep(&mut replay, told, "x");
        assert_eq!(replay.finish(told), 1);
        assert_eq!(replay.streams.len(), 2);
        assert_eq!(texts(&replay, "1-0").unwrap(), ["1-1=x"]);
        keep(&mut replay, other, "y");
        assert_eq!(replay.keep(other, &Bytes::from_static(b"z")).1, [told]);
        assert_eq!((replay.streams.len(), replay.kept.len(), replay.bytes), (1, 2, 2));
        assert_eq!(texts(&replay, "1-0"), None);
    }
}
