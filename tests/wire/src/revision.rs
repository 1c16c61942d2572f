//! The revisions that the checker knows, and the two directions of messages.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A revision of the protocol with a schema, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub enum Revision {
    /// 2024-11-05
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    /// 2025-03-26
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// 2025-06-18
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// 2025-11-25
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// 2026-07-28
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The newest revision that `initialize` can open.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;
    /// The revision of the client's era probe (`server/discover`).
    pub const PROBE: Self = Self::V2026_07_28;

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with that name, if there is a schema for it.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// Returns whether conversations of this revision start with `initialize`.
    pub fn is_legacy(self) -> bool {
        self <= Self::NEWEST_LEGACY
    }

    pub(crate) fn schema_text(self) -> &'static str {
        match self {
            Self::V2024_11_05 => include_str!("../schemas/2024-11-05.json"),
            Self::V2025_03_26 => include_str!("../schemas/2025-03-26.json"),
            Self::V2025_06_18 => include_str!("../schemas/2025-06-18.json"),
            Self::V2025_11_25 => include_str!("../schemas/2025-11-25.json"),
            Self::V2026_07_28 => include_str!("../schemas/2026-07-28.json"),
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The client sends, the server receives.
    ClientToServer,
    /// The server sends, the client receives.
    ServerToClient,
}

impl Direction {
    /// The opposite direction: that of the request that a response in this direction answers.
    pub fn opposite(self) -> Self {
        match self {
            Self::ClientToServer => Self::ServerToClient,
            Self::ServerToClient => Self::ClientToServer,
        }
    }

    /// The sender, as the schemas' union types name it (`ClientRequest`, `ServerNotification`).
    pub(crate) fn sender(self) -> &'static str {
        match self {
            Self::ClientToServer => "Client",
            Self::ServerToClient => "Server",
        }
    }
}
