//! The programs that meet: our fixtures, and the official SDKs (tests/peers/README.md).

use std::path::PathBuf;

use crate::language::Language;
use crate::workspace::Workspace;

pub(crate) const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const LEGACY: &[&str] = REVISIONS.split_at(REVISIONS.len() - 1).0;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Party {
    Ours(Language),
    Peer(&'static Peer),
}

/// A program of tests/peers.
#[derive(PartialEq, Eq)]
pub(crate) struct Peer {
    name: &'static str,
    program: Program,
    /// The revisions that its client speaks.
    pub(crate) speaks: &'static [&'static str],
    pub(crate) servers: &'static [Form],
}

/// A way in which a program serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) transport: Transport,
    /// The arguments of the program.
    pub(crate) arguments: &'static [&'static str],
    /// Follows the name of the program; empty for its usual form.
    pub(crate) suffix: &'static str,
    pub(crate) revisions: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

impl Transport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

#[derive(PartialEq, Eq)]
enum Program {
    Python { venv: &'static str, file: &'static str },
    Node { file: &'static str },
    Rust { name: &'static str },
}

/// Pages are short, so that every list has several.
pub(crate) static OUR_SERVERS: [Form; 2] = [
    Form {
        transport: Transport::Stdio,
        arguments: &["--stdio", "--page-size", "5"],
        suffix: "",
        revisions: &REVISIONS,
    },
    Form {
        transport: Transport::Http,
        arguments: &["--http", "0", "--page-size", "5"],
        suffix: "",
        revisions: &REVISIONS,
    },
];

const fn form(transport: Transport, revisions: &'static [&'static str]) -> Form {
    let arguments: &[&str] = match transport {
        Transport::Stdio => &["server", "stdio"],
        Transport::Http => &["server", "http", "0"],
    };
    Form { transport, arguments, suffix: "", revisions }
}

const fn both(revisions: &'static [&'static str]) -> [Form; 2] {
    [form(Transport::Stdio, revisions), form(Transport::Http, revisions)]
}

pub(crate) static PEERS: [Peer; 5] = [
    Peer {
        name: "mcp 1.30.0",
        program: Program::Python { venv: "mcp-1", file: "mcp_v1.py" },
        speaks: LEGACY,
        servers: &both(LEGACY),
    },
    Peer {
        name: "mcp 2.3.0",
        program: Program::Python { venv: "mcp-2", file: "mcp_v2.py" },
        speaks: &REVISIONS,
        servers: &both(&REVISIONS),
    },
    Peer {
        name: "typescript 1.32.2",
        program: Program::Node { file: "sdk_v1.mjs" },
        speaks: LEGACY,
        servers: &both(LEGACY),
    },
    Peer {
        name: "typescript 2.4.0",
        program: Program::Node { file: "sdk_v2.mjs" },
        speaks: &REVISIONS,
        servers: &[
            form(Transport::Stdio, &REVISIONS),
            form(Transport::Http, &REVISIONS),
            Form {
                transport: Transport::Http,
                arguments: &["server", "sessions", "0"],
                suffix: " sessions",
                revisions: LEGACY,
            },
        ],
    },
    Peer {
        name: "rmcp 3.8.0",
        program: Program::Rust { name: "peer-rmcp" },
        speaks: &REVISIONS,
        servers: &both(&REVISIONS),
    },
];

impl Party {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours(language) => language.name(),
            Self::Peer(peer) => peer.name,
        }
    }

    /// The program and its first arguments, before `--play`.
    pub(crate) fn client(self, workspace: &Workspace) -> Vec<PathBuf> {
        match self {
            Self::Ours(language) => vec![language.client(workspace)],
            Self::Peer(peer) => [peer.words(workspace), vec!["client".into()]].concat(),
        }
    }

    pub(crate) fn server(self, workspace: &Workspace, form: &Form) -> Vec<PathBuf> {
        let mut words = match self {
            Self::Ours(language) => vec![language.server(workspace)],
            Self::Peer(peer) => peer.words(workspace),
        };
        words.extend(form.arguments.iter().map(PathBuf::from));
        words
    }
}

impl Peer {
    fn words(&self, workspace: &Workspace) -> Vec<PathBuf> {
        match self.program {
            Program::Python { venv, file } => {
                vec![workspace.venv_program(venv, "python"), workspace.path("tests/peers/python").join(file)]
            }
            Program::Node { file } => vec!["node".into(), workspace.path("tests/peers/node").join(file)],
            Program::Rust { name } => vec![workspace.built(name)],
        }
    }
}
