//! Every fixture client calls every fixture server over every transport, in every revision. The clients check the answers
//! (`client --matrix`, one JSON line per revision); this reads what they say.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http_servers::{self, Urls};
use crate::language::Language;
use crate::process::{Process, tail};
use crate::workers;
use crate::workspace::Workspace;

pub(crate) const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
/// For one client with one server: five connections.
const DEADLINE: Duration = Duration::from_secs(30);
/// A client mostly waits for a server, so a few more pairs than processors.
const PAIRS_AT_ONCE: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

impl Transport {
    pub(crate) const BOTH: [Self; 2] = [Self::Stdio, Self::Http];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// One client with one server over one transport.
pub(crate) struct Pair {
    pub(crate) client: Language,
    pub(crate) server: Language,
    pub(crate) transport: Transport,
}

/// One call in one revision: its time in milliseconds, or why it failed.
pub(crate) struct Cell {
    pub(crate) revision: &'static str,
    pub(crate) outcome: Result<f64, String>,
}

pub(crate) fn pairs(languages: &[Language]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for &client in languages {
        for &server in languages {
            pairs.extend(Transport::BOTH.map(|transport| Pair { client, server, transport }));
        }
    }
    pairs
}

/// Runs all pairs, a few at a time; `done` sees each one's cells, with its index, as soon as they are there.
/// An error names the servers that did not stop when asked.
pub(crate) fn run(workspace: &Workspace, pairs: &[Pair], done: impl FnMut(usize, Vec<Cell>)) -> Result<(), String> {
    let commands = Language::ALL
        .into_iter()
        .filter(|language| pairs.iter().any(|pair| pair.server == *language && pair.transport == Transport::Http))
        .map(|language| {
            let mut command = workspace.command(language.server(workspace));
            command.args(["--http", "0"]);
            (language.name().to_owned(), command)
        });
    let (servers, urls) = http_servers::start(commands.collect());
    workers::run(PAIRS_AT_ONCE, pairs, |pair| call(workspace, pair, &urls), done);
    servers.stop()
}

fn call(workspace: &Workspace, pair: &Pair, urls: &Urls) -> Vec<Cell> {
    let mut command = workspace.command(pair.client.client(workspace));
    command.arg("--matrix");
    match pair.transport {
        Transport::Stdio => {
            command.arg("--stdio").arg(pair.server.server(workspace)).arg("--stdio");
        }
        Transport::Http => match urls.of(pair.server.name()) {
            Ok(url) => {
                command.arg(url);
            }
            Err(error) => return all_failed(&error),
        },
    }
    match Process::start(command) {
        Ok(client) => read_cells(client),
        Err(error) => all_failed(&format!("{error:#}")),
    }
}

fn read_cells(mut client: Process) -> Vec<Cell> {
    let until = Instant::now() + DEADLINE;
    let mut answers = Vec::new();
    while let Some(line) = client.stdout_line(until) {
        match serde_json::from_str::<Value>(&line) {
            Ok(answer) => answers.push(answer),
            Err(_) => answers.push(json!({"stray": line})),
        }
    }
    let ended = client.wait(until);
    let last_words = client.last_words();
    let silence = || {
        let stray: Vec<&str> = answers.iter().filter_map(|answer| answer["stray"].as_str()).collect();
        let ending = ended.map_or_else(
            || format!("no end after {} s, killed", DEADLINE.as_secs()),
            |status| format!("the client ended with {status}"),
        );
        [ending, stray.join("\n"), tail(&last_words, 15)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    REVISIONS
        .into_iter()
        .map(|revision| {
            let outcome = match answers.iter().find(|answer| answer["revision"] == revision) {
                None => Err(silence()),
                Some(answer) if answer["ok"] == true => {
                    answer["ms"].as_f64().ok_or_else(|| format!("an answer without its time: {answer}"))
                }
                Some(answer) => Err(answer["error"].as_str().map_or_else(|| answer.to_string(), str::to_owned)),
            };
            Cell { revision, outcome }
        })
        .collect()
}

fn all_failed(error: &str) -> Vec<Cell> {
    REVISIONS.into_iter().map(|revision| Cell { revision, outcome: Err(error.to_owned()) }).collect()
}

/// For the report.
pub(crate) fn to_json(pair: &Pair, cell: &Cell) -> Value {
    let mut value = json!({
        "client": pair.client.name(), "server": pair.server.name(), "transport": pair.transport.name(),
        "revision": cell.revision, "ok": cell.outcome.is_ok(),
    });
    match &cell.outcome {
        Ok(ms) => value["ms"] = json!(ms),
        Err(error) => value["error"] = json!(error),
    }
    value
}
