//! Positions in the stream of a session's messages that are unrelated to a request.

use crate::http::replay::EventId;

/// Marks this stream among stream numbers: those of calls start with the number of their process,
/// which has 31 bits.
const UNRELATED_BIT: u64 = 1 << 63;
/// Positions are less than this.
const POSITION_LIMIT: u64 = 1 << 53;

/// The position of an event. The stream is read from two logs, so it has a position in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    /// The position in the shared log; all notifications up to it have been handled.
    pub(super) notification: u64,
    /// The position in the session's log; 0 is the start.
    pub(super) own: u64,
}

impl StreamPosition {
    /// The position of an event id, or `None` if it belongs to another stream.
    pub(crate) fn of(id: EventId) -> Option<Self> {
        let position = Self { notification: id.event, own: id.stream ^ UNRELATED_BIT };
        (position.notification < POSITION_LIMIT && position.own < POSITION_LIMIT).then_some(position)
    }

    /// Returns whether an id belongs to this stream.
    pub(crate) fn is_named_by(id: EventId) -> bool {
        id.stream & UNRELATED_BIT != 0
    }

    /// The id of the event at this position.
    pub(crate) fn id(self) -> EventId {
        EventId { stream: UNRELATED_BIT | self.own, event: self.notification }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_from_its_id() {
        for position in [
            StreamPosition { notification: 1, own: 0 },
            StreamPosition { notification: POSITION_LIMIT - 1, own: POSITION_LIMIT - 1 },
        ] {
            let id = EventId::parse(&position.id().to_string()).unwrap();
            assert_eq!(StreamPosition::of(id), Some(position));
            assert!(StreamPosition::is_named_by(id));
        }
        for other in
            ["0-1", "1-1", "9223372036854775807-1", "9232379236109516800-1", "9223372036854775808-9007199254740992"]
        {
            assert_eq!(StreamPosition::of(EventId::parse(other).unwrap()), None, "{other}");
        }
    }
}
