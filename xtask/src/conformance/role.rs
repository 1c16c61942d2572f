//! The role of our fixture: the runners judge servers and clients.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Server,
    Client,
}

impl Role {
    /// The word of the commands, of the runners' options and of the reports.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }

    /// The first words of its list of scenarios.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Server => "Server scenarios",
            Self::Client => "Client scenarios",
        }
    }
}
