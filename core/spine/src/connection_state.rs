//! The state of a connection to a server, for health probes.

/// The state of a client's connection. The state of a server with several connections is the
/// greatest of theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionState {
    /// Closed; no request opens it again.
    Closed,
    /// Not opened yet: the first request does so.
    Idle,
    /// Lost, or the latest attempt to open or use it failed: the next request tries again.
    Down,
    /// Being opened for the first time.
    Connecting,
    /// Open.
    Connected,
}

impl ConnectionState {
    /// The name in health probes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Idle => "idle",
            Self::Down => "down",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
        }
    }
}
