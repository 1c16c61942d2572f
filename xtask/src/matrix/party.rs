//! The programs of the matrix: our fixtures and the official SDKs (tests/peers/README.md).

use std::path::PathBuf;

use serde::Deserialize;

use crate::build::{jvm_peers, peers};
use crate::language::Language;
use crate::workspace::Workspace;

pub(crate) const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const LEGACY: &[&str] = REVISIONS.split_at(REVISIONS.len() - 1).0;
/// The revision that defines HTTP+SSE, and the newest one supported there. Differences between
/// revisions are tested over the other transports.
const OVER_SSE: &[&str] = &[REVISIONS[0], REVISIONS[REVISIONS.len() - 2]];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Party {
    Ours(Language),
    Peer(&'static Peer),
}

/// The authorization of protected servers, with one of the access tokens that they accept.
pub(super) const AUTHORIZATION: &str = "tests/matrix/authorization.json";

/// A program in tests/peers.
#[derive(PartialEq, Eq)]
pub(crate) struct Peer {
    name: &'static str,
    /// Our language that it is the official SDK of.
    pub(crate) language: &'static str,
    program: Program,
    /// The revisions that its client supports.
    pub(crate) speaks: &'static [&'static str],
    /// Why its client or its server does not support HTTP+SSE.
    pub(crate) without_sse: WithoutSse,
    pub(crate) servers: &'static [Form],
}

/// Why a side of a peer does not support HTTP+SSE; `None` if it does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct WithoutSse {
    pub(crate) client: Option<&'static str>,
    pub(crate) server: Option<&'static str>,
}

/// A way to run a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) transport: Transport,
    /// The arguments of the program.
    pub(crate) arguments: &'static [&'static str],
    /// Appended to the name of the program; empty for the default form.
    pub(crate) suffix: &'static str,
    pub(crate) revisions: &'static [&'static str],
    /// Whether it requires an access token.
    pub(crate) is_protected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, the transport of 2024-11-05.
    Sse,
}

impl Transport {
    pub(crate) const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

#[derive(PartialEq, Eq)]
enum Program {
    Python { venv: &'static str, file: &'static str },
    Node { file: &'static str },
    Rust { name: &'static str },
    Go,
    Jvm,
}

const OUR_HTTP: &[&str] = &["--http", "0", "--page-size", "5"];

/// Pages are small, so that every list has several. One program serves both HTTP transports.
pub(crate) static OUR_SERVERS: [Form; 4] = [
    Form {
        transport: Transport::Stdio,
        arguments: &["--stdio", "--page-size", "5"],
        suffix: "",
        revisions: &REVISIONS,
        is_protected: false,
    },
    our_http(Transport::Http, &REVISIONS),
    our_http(Transport::Sse, OVER_SSE),
    Form { is_protected: true, ..our_http(Transport::Http, &REVISIONS) },
];

const fn our_http(transport: Transport, revisions: &'static [&'static str]) -> Form {
    Form { transport, arguments: OUR_HTTP, suffix: "", revisions, is_protected: false }
}

const fn form(transport: Transport, revisions: &'static [&'static str]) -> Form {
    let arguments: &[&str] = match transport {
        Transport::Stdio => &["server", "stdio"],
        Transport::Http => &["server", "http", "0"],
        Transport::Sse => &["server", "sse", "0"],
    };
    Form { transport, arguments, suffix: "", revisions, is_protected: false }
}

/// Streamable HTTP with required access tokens.
const fn protected(revisions: &'static [&'static str]) -> Form {
    Form { is_protected: true, ..form(Transport::Http, revisions) }
}

const fn both(revisions: &'static [&'static str]) -> [Form; 3] {
    [form(Transport::Stdio, revisions), form(Transport::Http, revisions), protected(revisions)]
}

const fn all(revisions: &'static [&'static str]) -> [Form; 4] {
    let [stdio, http, protected] = both(revisions);
    [stdio, http, protected, form(Transport::Sse, OVER_SSE)]
}

const WITH_SSE: WithoutSse = WithoutSse { client: None, server: None };
const RMCP_WITHOUT_SSE: Option<&str> = Some("rmcp has no HTTP+SSE");

const fn on_the_jvm(name: &'static str, language: &'static str) -> Peer {
    const SERVERS: [Form; 4] = all(LEGACY);
    Peer { name, language, program: Program::Jvm, speaks: LEGACY, without_sse: WITH_SSE, servers: &SERVERS }
}

pub(crate) static PEERS: [Peer; 8] = [
    Peer {
        name: "mcp 1.30.0",
        language: "python",
        program: Program::Python { venv: "mcp-1", file: "mcp_v1.py" },
        speaks: LEGACY,
        without_sse: WITH_SSE,
        servers: &all(LEGACY),
    },
    Peer {
        name: "mcp 2.3.0",
        language: "python",
        program: Program::Python { venv: "mcp-2", file: "mcp_v2.py" },
        speaks: &REVISIONS,
        without_sse: WITH_SSE,
        servers: &all(&REVISIONS),
    },
    Peer {
        name: "typescript 1.32.2",
        language: "node",
        program: Program::Node { file: "sdk_v1.mjs" },
        speaks: LEGACY,
        without_sse: WITH_SSE,
        servers: &all(LEGACY),
    },
    Peer {
        name: "typescript 2.4.0",
        language: "node",
        program: Program::Node { file: "sdk_v2.mjs" },
        speaks: &REVISIONS,
        without_sse: WithoutSse { client: None, server: Some("the TypeScript SDK 2.x has no server of HTTP+SSE") },
        servers: &[
            form(Transport::Stdio, &REVISIONS),
            form(Transport::Http, &REVISIONS),
            protected(&REVISIONS),
            Form {
                transport: Transport::Http,
                arguments: &["server", "sessions", "0"],
                suffix: " sessions",
                revisions: LEGACY,
                is_protected: false,
            },
        ],
    },
    Peer {
        name: "rmcp 3.11.0",
        language: "rust",
        program: Program::Rust { name: "peer-rmcp" },
        speaks: &REVISIONS,
        without_sse: WithoutSse { client: RMCP_WITHOUT_SSE, server: RMCP_WITHOUT_SSE },
        servers: &both(&REVISIONS),
    },
    Peer {
        name: "go-sdk 1.8.0",
        language: "go",
        program: Program::Go,
        speaks: &REVISIONS,
        without_sse: WITH_SSE,
        servers: &all(&REVISIONS),
    },
    on_the_jvm("java-sdk 2.1.0", "java"),
    on_the_jvm("kotlin-sdk 0.16.0", "kotlin"),
];

impl Party {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours(language) => language.name,
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
        if form.is_protected {
            words.extend(["--auth".into(), workspace.path(AUTHORIZATION)]);
        }
        words
    }
}

impl Peer {
    /// Whether the toolchain of its language is there.
    pub(crate) fn is_available(&self) -> bool {
        Language::available().iter().any(|language| language.name == self.language)
    }

    fn words(&self, workspace: &Workspace) -> Vec<PathBuf> {
        match self.program {
            Program::Python { venv, file } => {
                vec![workspace.venv_program(venv, "python"), workspace.path("tests/peers/python").join(file)]
            }
            Program::Node { file } => vec!["node".into(), workspace.path("tests/peers/node").join(file)],
            Program::Rust { name } => vec![workspace.built(name)],
            Program::Go => vec![peers::of_go(workspace)],
            Program::Jvm => jvm_peers::program(workspace, self.language),
        }
    }
}
