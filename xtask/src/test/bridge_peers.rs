//! `trunkline bridge` with clients and bridges that others wrote (tests/bridges).

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail};
use serde::Deserialize;
use serde_json::json;

use super::{Count, Selection};
use crate::build::{node, python};
use crate::http_servers;
use crate::process::{Process, run, tail};
use crate::workers;
use crate::workspace::Workspace;

const PACKAGE: &str = "tests/bridges";
/// For one program, which may load a hundred modules on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
const ROWS_AT_ONCE: usize = 2;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A row of `peers.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    /// The command of a server over HTTP that the bridge reads, instead of the fixture.
    #[serde(default)]
    behind: Vec<String>,
    /// The path of its endpoint.
    #[serde(default)]
    path: String,
    /// The words that tell the program its server, by the transport that the bridge serves.
    servers: BTreeMap<String, Vec<String>>,
    trials: Vec<Trial>,
}

/// A command, what it must print, and its exit status.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    words: Vec<String>,
    says: Vec<String>,
    #[serde(default)]
    status: i32,
}

/// A row over one transport, with the directory of its programs.
struct Job<'a> {
    row: &'a Row,
    transport: &'a str,
    home: PathBuf,
}

/// Plays every row over each of its transports.
pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    node::install(workspace, PACKAGE)?;
    python::make_venv(workspace, "fastmcp", Some(&workspace.path("tests/peers/python/requirements-fastmcp.txt")))?;
    let rows: Vec<Row> = workspace.json(Path::new(PACKAGE).join("peers.json"))?;
    let homes = workspace.target.join("bridges");
    if homes.exists() {
        std::fs::remove_dir_all(&homes).with_context(|| format!("cannot empty {}", homes.display()))?;
    }
    let each = rows.iter().flat_map(|row| row.servers.keys().map(move |transport| (row, transport)));
    // Short names, because some programs have sockets there.
    let jobs: Vec<Job<'_>> = each
        .enumerate()
        .map(|(at, (row, transport))| Job { row, transport, home: homes.join(at.to_string()) })
        .collect();

    let (servers, urls) = http_servers::start([fixture(workspace), bridge(workspace)]);
    let url = |name: &str| urls.of(name).map(str::to_owned).map_err(Error::msg);
    let (fixture, bridge) = (url("fixture")?, url("bridge")?);
    let mut count = Count::default();
    workers::run(
        ROWS_AT_ONCE,
        &jobs,
        |job| job.play(workspace, (&fixture, &bridge)).unwrap_or_else(|error| vec![Some(format!("{error:#}"))]),
        |at, played| {
            let Job { row, transport, .. } = &jobs[at];
            for (number, fault) in played.into_iter().enumerate() {
                count.add(fault.map(|fault| format!("not ok {} over {transport}, {}: {fault}", row.name, number + 1)));
            }
        },
    );
    count.add(servers.stop(|_| true).err());
    Ok(count)
}

fn fixture(workspace: &Workspace) -> (String, Command) {
    let mut command = workspace.command(workspace.built("fixture-server"));
    command.args(["--http", "0"]);
    ("fixture".to_owned(), command)
}

/// The bridge that serves the fixture over HTTP.
fn bridge(workspace: &Workspace) -> (String, Command) {
    let mut command = workspace.command(workspace.built("trunkline"));
    command.args(["bridge", "--listen", "127.0.0.1:0", "--inherit-env", "--"]);
    command.arg(workspace.built("fixture-server")).arg("--stdio");
    ("bridge".to_owned(), command)
}

impl Job<'_> {
    /// The fault of each trial, if it has one. The URLs are those of the fixture and the bridge.
    fn play(&self, workspace: &Workspace, (fixture, bridge): (&str, &str)) -> Result<Vec<Option<String>>> {
        std::fs::create_dir_all(&self.home)?;
        let mut values = Values::of_programs(workspace);
        let behind = (!self.row.behind.is_empty()).then(|| self.start(workspace, &mut values)).transpose()?;
        let read = behind.as_ref().map_or(fixture, |(_, url)| url);
        let command = [&values.all("trunkline"), &["bridge", "--auth", "none", read].map(str::to_owned)[..]].concat();
        let config = self.home.join("mcp.json");
        let bridged = json!({"command": command[0], "args": command[1..]});
        std::fs::write(&config, json!({"mcpServers": {"bridged": bridged}}).to_string())?;
        values.set("config", [config.display().to_string()]);
        values.set("bridge", command);
        values.set("url", [bridge.to_owned()]);
        values.set("sse", [bridge.replace("/mcp", "/sse")]);
        let server = values.fill(&self.row.servers[self.transport])?;
        values.set("server", server);
        self.row.trials.iter().map(|trial| self.fault(workspace, trial, &values)).collect()
    }

    /// Starts the server that the bridge reads.
    fn start(&self, workspace: &Workspace, values: &mut Values) -> Result<(Process, String)> {
        let port = http_servers::free_port();
        values.set("port", [port.to_string()]);
        let mut process = Process::start(self.command(workspace, &values.fill(&self.row.behind)?)?)?;
        let until = Instant::now() + TIMEOUT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > until || process.wait(Instant::now()).is_some() {
                bail!("{} does not listen: {}", process.name().to_owned(), process.last_words());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok((process, format!("http://127.0.0.1:{port}{}", self.row.path)))
    }

    fn fault(&self, workspace: &Workspace, trial: &Trial, values: &Values) -> Result<Option<String>> {
        let words = values.fill(&trial.words)?;
        let output = run(self.command(workspace, &words)?, TIMEOUT)?;
        let missing: Vec<&str> =
            trial.says.iter().map(String::as_str).filter(|said| !output.text.contains(said)).collect();
        let is_right = missing.is_empty() && output.status.and_then(|status| status.code()) == Some(trial.status);
        let fault = || {
            let (ending, said) = (output.ending(), tail(&output.text, 30));
            format!("{}\nended with {ending}, without {missing:?}:\n{said}", words.join(" "))
        };
        Ok((!is_right).then(fault))
    }

    /// A command that finds the installed programs, and has a home of its own.
    fn command(&self, workspace: &Workspace, words: &[String]) -> Result<Command> {
        let folder = workspace.path(PACKAGE).join("node_modules/.bin");
        let (program, rest) = words.split_first().context("a command without words")?;
        let mut command = workspace.command_with(&folder, program)?;
        command.args(rest).env("HOME", &self.home).env("TRUNKLINE_AUTH", "none").env("NO_COLOR", "1");
        Ok(command)
    }
}

/// The words that placeholders stand for: `{name}` within a word, or `{name...}` for all of them.
struct Values(BTreeMap<&'static str, Vec<String>>);

impl Values {
    fn of_programs(workspace: &Workspace) -> Self {
        let word = |path: PathBuf| vec![path.display().to_string()];
        Self(BTreeMap::from([
            ("client", word(workspace.built("fixture-client"))),
            ("fastmcp", word(workspace.venv_program("fastmcp", "fastmcp"))),
            ("fixture", word(workspace.built("fixture-server"))),
            ("trunkline", word(workspace.built("trunkline"))),
        ]))
    }

    fn set(&mut self, name: &'static str, words: impl Into<Vec<String>>) {
        self.0.insert(name, words.into());
    }

    fn all(&self, name: &str) -> Vec<String> {
        self.0.get(name).cloned().unwrap_or_default()
    }

    fn fill(&self, words: &[String]) -> Result<Vec<String>> {
        let mut filled = Vec::new();
        for word in words {
            let spread = word.strip_prefix('{').and_then(|word| word.strip_suffix("...}"));
            match spread.map(|name| self.0.get(name).with_context(|| format!("{word} is unknown"))).transpose()? {
                Some(all) => filled.extend_from_slice(all),
                None => filled.push(
                    self.0
                        .iter()
                        .fold(word.clone(), |word, (name, all)| word.replace(&format!("{{{name}}}"), &all.join(" "))),
                ),
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_words_or_within_words() {
        let mut values = Values(BTreeMap::new());
        values.set("bridge", ["a".to_owned(), "b".to_owned()]);
        let filled = |word: &str| values.fill(&[word.to_owned()]).ok();
        assert_eq!(filled("{bridge...}"), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(filled("run {bridge} c"), Some(vec!["run a b c".to_owned()]));
        assert_eq!(filled("{other...}"), None);
    }
}
