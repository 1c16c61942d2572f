//! The exit codes, which are part of the interface.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// The checked thing has faults.
    Faulty = 1,
    /// A flag, an argument, a schema or a configuration is wrong, and nothing was sent; or the
    /// result could not be written.
    Usage = 2,
    /// The server needs a login, or refused one.
    Login = 3,
    /// The server could not be started or reached, or ended early.
    Unreachable = 4,
    /// The tool reported an error, or the server has no such tool, resource or prompt.
    Refused = 5,
    /// The server broke the protocol, or shares no revision with us.
    Protocol = 6,
    /// A person is needed, and there is no terminal.
    Person = 7,
    /// The time was up.
    Timeout = 8,
    /// Interrupted from the keyboard.
    Interrupted = 130,
}

impl Exit {
    pub(crate) const ALL: [Self; 10] = [
        Self::Done,
        Self::Faulty,
        Self::Usage,
        Self::Login,
        Self::Unreachable,
        Self::Refused,
        Self::Protocol,
        Self::Person,
        Self::Timeout,
        Self::Interrupted,
    ];

    /// The exit with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| exit.name() == name)
    }

    /// Advice, if nothing more precise is known.
    pub(crate) fn advice(self) -> Option<&'static str> {
        match self {
            Self::Done | Self::Faulty | Self::Interrupted => None,
            Self::Usage => Some("correct this and try again: `trunkline help COMMAND` lists the flags"),
            Self::Login => Some("log in with `trunkline login SERVER`, or pass a token with --bearer-env NAME"),
            Self::Unreachable => Some("try again; --wire DIR records what is sent and received"),
            Self::Refused => Some("the server says why: correct the request, or ask the operator of the server"),
            Self::Protocol => Some("check that this is the right server, and report this to its authors"),
            Self::Person => Some("run it in a terminal"),
            Self::Timeout => Some("give it more time: --timeout 5m for a call, --connect-timeout 2m to connect"),
        }
    }

    /// The name in the JSON of an error.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Faulty => "faulty",
            Self::Usage => "usage",
            Self::Login => "login",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Protocol => "protocol",
            Self::Person => "person",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
