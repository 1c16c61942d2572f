//! The limit on messages that wait for a peer.

/// Bytes that may be queued for a peer that does not read. Beyond that, progress and other
/// notifications are dropped and new calls are refused as busy. Answers are still queued, because
/// admission bounds their number.
pub(super) const MAX_QUEUED: usize = 16 << 20;
