//! The official SDKs call our fixture servers, and our fixture clients call theirs, over stdio and HTTP (tests/peers/README.md).

mod verdict;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::http_servers::{self, HttpServers, Urls};
use crate::language::Language;
use crate::matrix::{REVISIONS, Transport};
use crate::process::{run, tail};
use crate::report;
use crate::workers;
use crate::workspace::Workspace;

/// For up to five connections, each with a process that imports an SDK, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(100);
const PAIRS_AT_ONCE: usize = 3;

/// A program of tests/peers.
struct Peer {
    name: &'static str,
    program: Program,
    /// The forms of its client: the SDK's defaults, and the other eras that it can speak.
    clients: &'static [ClientForm],
    /// The forms of its server: `stdio`, or how it serves HTTP.
    servers: &'static [ServerForm],
}

#[derive(Clone, Copy)]
struct ClientForm {
    arguments: &'static [&'static str],
    /// The revision that it speaks with a server that knows all of them.
    revision: &'static str,
}

struct ServerForm {
    name: &'static str,
    /// `true` if it speaks 2026-07-28 too. All speak the four revisions before.
    modern: bool,
}

const LEGACY: &[&str] = REVISIONS.split_at(REVISIONS.len() - 1).0;
const NEWEST_LEGACY: &str = LEGACY[LEGACY.len() - 1];
const MODERN: &str = REVISIONS[REVISIONS.len() - 1];

impl ServerForm {
    fn revisions(&self) -> &'static [&'static str] {
        if self.modern { &REVISIONS } else { LEGACY }
    }
}

const fn speaks(revision: &'static str, arguments: &'static [&'static str]) -> ClientForm {
    ClientForm { arguments, revision }
}

const fn legacy(name: &'static str) -> ServerForm {
    ServerForm { name, modern: false }
}

const fn modern(name: &'static str) -> ServerForm {
    ServerForm { name, modern: true }
}

enum Program {
    Python { venv: &'static str, file: &'static str },
    Node { file: &'static str },
    Rust { name: &'static str },
}

const PEERS: [Peer; 5] = [
    Peer {
        name: "mcp 1.30.0",
        program: Program::Python { venv: "mcp-1", file: "mcp_v1.py" },
        clients: &[speaks(NEWEST_LEGACY, &[])],
        servers: &[legacy("stdio"), legacy("http")],
    },
    Peer {
        name: "mcp 2.3.0",
        program: Program::Python { venv: "mcp-2", file: "mcp_v2.py" },
        clients: &[speaks(MODERN, &[]), speaks(NEWEST_LEGACY, &["--legacy"])],
        servers: &[modern("stdio"), modern("http")],
    },
    Peer {
        name: "typescript 1.32.2",
        program: Program::Node { file: "sdk_v1.mjs" },
        clients: &[speaks(NEWEST_LEGACY, &[])],
        servers: &[legacy("stdio"), legacy("http")],
    },
    Peer {
        name: "typescript 2.4.0",
        program: Program::Node { file: "sdk_v2.mjs" },
        clients: &[speaks(NEWEST_LEGACY, &[]), speaks(MODERN, &["--auto"])],
        servers: &[modern("stdio"), modern("http"), legacy("sessions")],
    },
    Peer {
        name: "rmcp 3.8.0",
        program: Program::Rust { name: "peer-rmcp" },
        clients: &[speaks(NEWEST_LEGACY, &[]), speaks(MODERN, &["--auto"])],
        servers: &[modern("stdio"), modern("http")],
    },
];

impl Peer {
    fn words(&self, workspace: &Workspace) -> Vec<PathBuf> {
        match self.program {
            Program::Python { venv, file } => {
                vec![workspace.venv_program(venv, "python"), workspace.path("tests/peers/python").join(file)]
            }
            Program::Node { file } => {
                vec!["node".into(), workspace.path("tests/peers/node").join(file)]
            }
            Program::Rust { name } => vec![workspace.built(name)],
        }
    }
}

/// One client with one server, of which one is ours.
struct Meeting {
    peer: &'static Peer,
    ours: Language,
    caller: Caller,
    server_form: &'static str,
}

#[derive(Clone, Copy)]
enum Caller {
    /// The peer's client.
    Peer(ClientForm),
    /// Ours, which finds out what the server speaks: its newest revision.
    Negotiating(&'static str),
    /// Ours, once in each of these revisions.
    Pinned(&'static [&'static str]),
}

pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failures: Vec<String>,
}

/// Runs all meetings of the given languages with all peers.
pub(crate) fn play_all(workspace: &Workspace, languages: &[Language], progress: impl Fn(&str)) -> Result<Tally> {
    let meetings = meetings(languages);
    let (servers, urls) = start_http_servers(workspace, &meetings);
    let mut outcomes: Vec<Option<Result<String, String>>> = meetings.iter().map(|_| None).collect();
    workers::run(
        PAIRS_AT_ONCE,
        &meetings,
        |meeting| meeting.hold(workspace, &urls),
        |index, outcome| {
            outcomes[index] = Some(outcome);
            progress(&meetings[index].name());
        },
    );
    drop(servers);

    let mut tally = Tally { passed: 0, failures: Vec::new() };
    let mut report = Vec::new();
    for (meeting, outcome) in meetings.iter().zip(outcomes.into_iter().flatten()) {
        report.push(meeting.to_json(&outcome));
        match outcome {
            Ok(_) => tally.passed += 1,
            Err(error) => tally.failures.push(format!("{}: {error}", meeting.name())),
        }
    }
    report::write(
        workspace,
        "peers",
        json!({"meetings": report, "passed": tally.passed, "failed": tally.failures.len()}),
    )?;
    Ok(tally)
}

fn meetings(languages: &[Language]) -> Vec<Meeting> {
    let mut meetings = Vec::new();
    for &ours in languages {
        for peer in &PEERS {
            let mut add = |caller, server_form| meetings.push(Meeting { peer, ours, caller, server_form });
            for &form in peer.clients {
                add(Caller::Peer(form), "stdio");
                add(Caller::Peer(form), "http");
            }
            for form in peer.servers {
                let newest = if form.modern { MODERN } else { NEWEST_LEGACY };
                add(Caller::Negotiating(newest), form.name);
                add(Caller::Pinned(form.revisions()), form.name);
            }
        }
    }
    meetings
}

fn start_http_servers(workspace: &Workspace, meetings: &[Meeting]) -> (HttpServers, Urls) {
    let mut commands: Vec<(String, Command)> = Vec::new();
    for meeting in meetings.iter().filter(|meeting| meeting.transport() == Transport::Http) {
        let key = meeting.server_key();
        if commands.iter().all(|(started, _)| *started != key) {
            commands.push((key, meeting.command(workspace, &meeting.server_words(workspace))));
        }
    }
    http_servers::start(commands)
}

impl Meeting {
    fn transport(&self) -> Transport {
        if self.server_form == "stdio" { Transport::Stdio } else { Transport::Http }
    }

    fn client_name(&self) -> String {
        let ours = self.ours.name();
        match self.caller {
            Caller::Peer(form) => {
                std::iter::once(self.peer.name).chain(form.arguments.iter().copied()).collect::<Vec<_>>().join(" ")
            }
            Caller::Negotiating(_) => format!("our {ours}"),
            Caller::Pinned(_) => format!("our {ours} in each revision"),
        }
    }

    fn server_name(&self) -> String {
        match self.caller {
            Caller::Peer(_) => format!("our {} ({})", self.ours.name(), self.server_form),
            _ => format!("{} ({})", self.peer.name, self.server_form),
        }
    }

    /// Each peer has a server of ours for itself, so that the records of what they say lie in the peer's folder.
    fn server_key(&self) -> String {
        match self.caller {
            Caller::Peer(_) => format!("{} for {}", self.server_name(), self.peer.name),
            _ => self.server_name(),
        }
    }

    fn name(&self) -> String {
        format!("{} calls {}", self.client_name(), self.server_name())
    }

    fn server_words(&self, workspace: &Workspace) -> Vec<PathBuf> {
        let (mut words, arguments): (_, &[&str]) = match (self.caller, self.transport()) {
            (Caller::Peer(_), Transport::Stdio) => (vec![self.ours.server(workspace)], &["--stdio"]),
            (Caller::Peer(_), Transport::Http) => (vec![self.ours.server(workspace)], &["--http", "0"]),
            (_, Transport::Stdio) => (self.peer.words(workspace), &["server", "stdio"]),
            (_, Transport::Http) => (self.peer.words(workspace), &["server", self.server_form, "0"]),
        };
        words.extend(arguments.iter().map(PathBuf::from));
        words
    }

    fn client_words(&self, workspace: &Workspace) -> Vec<PathBuf> {
        let (mut words, mut arguments) = match self.caller {
            Caller::Peer(form) => (self.peer.words(workspace), [&["client"], form.arguments].concat()),
            Caller::Negotiating(_) => (vec![self.ours.client(workspace)], vec!["--auto"]),
            Caller::Pinned(_) => (vec![self.ours.client(workspace)], vec!["--matrix"]),
        };
        match (self.caller, self.transport()) {
            (Caller::Peer(_), transport) => arguments.push(transport.name()),
            (_, Transport::Stdio) => arguments.push("--stdio"),
            (_, Transport::Http) => {}
        }
        words.extend(arguments.iter().map(PathBuf::from));
        words
    }

    /// The revisions that both spoke, or why they did not.
    fn hold(&self, workspace: &Workspace, urls: &Urls) -> Result<String, String> {
        let mut words = self.client_words(workspace);
        match self.transport() {
            Transport::Stdio => words.extend(self.server_words(workspace)),
            Transport::Http => words.push(urls.of(&self.server_key())?.into()),
        }
        let start = Instant::now();
        let output = run(self.command(workspace, &words), DEADLINE).map_err(|error| format!("{error:#}"))?;
        self.caller.verdict(output.success(), &output.stdout).map_err(|fault| {
            let seconds = start.elapsed().as_secs_f64();
            format!("{fault}; {} after {seconds:.1} s\n{}", output.ending(), tail(&output.text, 20))
        })
    }

    /// The records of our side go to the folder of the peer.
    fn command(&self, workspace: &Workspace, words: &[PathBuf]) -> Command {
        let mut command = workspace.command(&words[0]);
        command.args(&words[1..]);
        if let Some(records) = &workspace.records {
            command.env("TRUNKLINE_WIRE_LOG", records.join(self.peer.name));
        }
        command
    }

    fn to_json(&self, outcome: &Result<String, String>) -> Value {
        let mut value = json!({"client": self.client_name(), "server": self.server_name(), "transport": self.transport().name(), "ok": outcome.is_ok()});
        match outcome {
            Ok(revisions) => value["revision"] = json!(revisions),
            Err(error) => value["error"] = json!(error),
        }
        value
    }
}
