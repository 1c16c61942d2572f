//! The programs of the matrix: our fixtures and the official SDKs (tests/peers/README.md).

use std::path::PathBuf;
use std::sync::LazyLock;

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

/// A program in tests/peers: a row of `peers.json` there.
#[derive(PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Peer {
    name: String,
    /// Our language that it is the official SDK of.
    pub(crate) language: String,
    program: Program,
    /// True if it supports the newest revision.
    #[serde(default)]
    is_modern: bool,
    #[serde(default)]
    pub(crate) without_sse: WithoutSse,
    /// True if it has a second HTTP server, with the sessions of the older revisions.
    #[serde(default)]
    has_sessions: bool,
}

/// Why a side of a peer does not support HTTP+SSE; `None` if it does.
#[derive(Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithoutSse {
    pub(crate) client: Option<String>,
    pub(crate) server: Option<String>,
}

#[derive(PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Program {
    Python { venv: String, file: String },
    Node { file: String },
    Rust { name: String },
    Go,
    Jvm,
}

pub(crate) static PEERS: LazyLock<Vec<Peer>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../tests/peers/peers.json")).expect("tests/peers/peers.json has peers")
});

/// The commands of the official SDKs' servers over stdio.
pub(crate) fn official_servers(workspace: &Workspace) -> Vec<(&'static str, Vec<PathBuf>)> {
    let command = |peer: &'static Peer| [peer.words(workspace), vec!["server".into(), "stdio".into()]].concat();
    let available = PEERS.iter().filter(|peer| peer.is_available());
    available.map(|peer| (&*peer.name, command(peer))).collect()
}

/// A way to run a server.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) transport: Transport,
    /// The arguments of the program.
    pub(crate) arguments: &'static [&'static str],
    /// Appended to the name of the program; empty for the default form.
    pub(crate) suffix: &'static str,
    pub(crate) revisions: &'static [&'static str],
    /// True if it requires an access token.
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

/// Pages are small, so that every list has several. One program serves both HTTP transports.
pub(crate) const OUR_SERVERS: [Form; 4] = {
    let http = Form::new(Transport::Http, &["--http", "0", "--page-size", "5"], &REVISIONS);
    [
        Form::new(Transport::Stdio, &["--stdio", "--page-size", "5"], &REVISIONS),
        http,
        Form { transport: Transport::Sse, revisions: OVER_SSE, ..http },
        Form { is_protected: true, ..http },
    ]
};

impl Form {
    const fn new(transport: Transport, arguments: &'static [&'static str], revisions: &'static [&'static str]) -> Self {
        Self { transport, arguments, suffix: "", revisions, is_protected: false }
    }
}

impl Party {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours(language) => language.name,
            Self::Peer(peer) => &peer.name,
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
    /// Returns whether the toolchain of its language is available.
    pub(crate) fn is_available(&self) -> bool {
        Language::available().iter().any(|language| language.name == self.language)
    }

    /// The revisions that it supports.
    pub(crate) fn speaks(&self) -> &'static [&'static str] {
        if self.is_modern { &REVISIONS } else { LEGACY }
    }

    pub(crate) fn servers(&self) -> Vec<Form> {
        let http = Form::new(Transport::Http, &["server", "http", "0"], self.speaks());
        let stdio = Form::new(Transport::Stdio, &["server", "stdio"], self.speaks());
        let mut forms = vec![stdio, http, Form { is_protected: true, ..http }];
        if self.has_sessions {
            let arguments = &["server", "sessions", "0"];
            forms.push(Form { arguments, suffix: " sessions", revisions: LEGACY, ..http });
        }
        if self.without_sse.server.is_none() {
            forms.push(Form::new(Transport::Sse, &["server", "sse", "0"], OVER_SSE));
        }
        forms
    }

    fn words(&self, workspace: &Workspace) -> Vec<PathBuf> {
        match &self.program {
            Program::Python { venv, file } => {
                vec![workspace.venv_program(venv, "python"), workspace.path("tests/peers/python").join(file)]
            }
            Program::Node { file } => vec!["node".into(), workspace.path("tests/peers/node").join(file)],
            Program::Rust { name } => vec![workspace.built(name)],
            Program::Go => vec![peers::of_go(workspace)],
            Program::Jvm => jvm_peers::program(workspace, &self.language),
        }
    }
}
