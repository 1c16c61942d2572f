//! Whether a server behind this one can be used.

/// The state of a client's connection. Of several connections to one server, the greatest is that
/// of the server.
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
    /// Its name in health probes.
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
