//! Hosts of others read the files that `trunkline install` wrote (tests/hosts).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::{Count, Selection};
use crate::build::node;
use crate::http_servers;
use crate::process::{must, run, tail};
use crate::workers;
use crate::workspace::Workspace;

const PACKAGE: &str = "tests/hosts";
/// For one program, which may load a hundred modules on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
const ROWS_AT_ONCE: usize = 2;
/// The value of the variable that the command of the entry reads.
const KEY: &str = "the-key-of-weather";

/// A row of `hosts.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    host: String,
    /// The file, in the home directory, and its content before the installation.
    file: String,
    before: String,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// True if the host starts the command.
    #[serde(default)]
    starts: bool,
    /// True if the host replaces no variables.
    #[serde(default)]
    literal: bool,
    trials: Vec<Trial>,
}

/// A command, and what it must print.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    words: Vec<String>,
    says: Vec<String>,
}

/// The entry for a URL, and its access token.
struct Notes {
    url: String,
    token: String,
}

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    node::install(workspace, PACKAGE)?;
    let rows: Vec<Row> = workspace.json(Path::new(PACKAGE).join("hosts.json"))?;
    let homes = workspace.target.join("hosts");
    if homes.exists() {
        std::fs::remove_dir_all(&homes).with_context(|| format!("cannot empty {}", homes.display()))?;
    }
    std::fs::create_dir_all(&homes)?;
    let (token, file) = token(workspace, &homes)?;
    let mut bridge = workspace.command(workspace.built("trunkline"));
    bridge.args(["bridge", "--listen", "127.0.0.1:0", "--inherit-env", "--tokens"]).arg(file).arg("--");
    bridge.arg(workspace.built("fixture-server")).arg("--stdio");
    let (servers, urls) = http_servers::start([("bridge".to_owned(), bridge)]);
    let notes = Notes { url: urls.of("bridge").map_err(Error::msg)?.to_owned(), token };
    let mut count = Count::default();
    workers::run(
        ROWS_AT_ONCE,
        &rows,
        |row| row.play(workspace, &homes, &notes).unwrap_or_else(|error| vec![Some(format!("{error:#}"))]),
        |at, played| {
            for fault in played {
                count.add(fault.map(|fault| format!("not ok {}: {fault}", rows[at].host)));
            }
        },
    );
    count.add(servers.stop(|_| true).err());
    Ok(count)
}

/// An access token for the bridge, and the file with its line.
fn token(workspace: &Workspace, homes: &Path) -> Result<(String, PathBuf)> {
    let mut command = workspace.command(workspace.built("trunkline"));
    command.args(["token", "new", "host", "--json"]);
    let made: Value = serde_json::from_str(&must(command, TIMEOUT)?.stdout)?;
    let [token, line] = ["token", "line"].map(|member| made[member].as_str().unwrap_or_default().to_owned());
    let file = homes.join("tokens.txt");
    std::fs::write(&file, line)?;
    Ok((token, file))
}

impl Row {
    /// The fault of each trial, and of the start of the command, if it has one.
    fn play(&self, workspace: &Workspace, homes: &Path, notes: &Notes) -> Result<Vec<Option<String>>> {
        let home = homes.join(&self.host);
        let file = home.join(&self.file);
        std::fs::create_dir_all(file.parent().context("the file is in a folder")?)?;
        std::fs::write(&file, &self.before)?;
        let (server, starts) = (home.join("weather-server"), home.join("starts.txt"));
        // Writes what the host passes, and then is the fixture.
        let script = format!(
            "#!/bin/sh\nprintf '%s|%s|%s\\n' \"$WEATHER_KEY\" \"$1\" \"$2\" >> '{}'\nexec '{}' --stdio\n",
            starts.display(),
            workspace.built("fixture-server").display()
        );
        std::fs::write(&server, script)?;
        set_executable(&server)?;
        let server = server.display().to_string();
        self.install(workspace, &home, notes, &["weather", "--env", "WEATHER_KEY", "--", &server, "--fast", "a b"])?;
        if !self.literal {
            self.install(workspace, &home, notes, &["notes", "--bearer-env", "NOTES_TOKEN", &notes.url])?;
        }
        let values = [
            ("{server}", server),
            ("{url}", notes.url.clone()),
            ("{file}", file.display().to_string()),
            ("{package}", workspace.path(PACKAGE).display().to_string()),
        ];
        let fill = |word: &String| values.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value));
        let mut faults = Vec::new();
        for Trial { words, says } in &self.trials {
            let [words, says] = [words, says].map(|all| all.iter().map(fill).collect::<Vec<_>>());
            faults.push(self.fault(workspace, &home, notes, (&words, &says))?);
        }
        if self.starts {
            let passed = std::fs::read_to_string(&starts).unwrap_or_default();
            let expected = format!("{KEY}|--fast|a b");
            let is_right = !passed.is_empty() && passed.lines().all(|line| line == expected);
            faults.push((!is_right).then(|| format!("it started the command with {passed:?}")));
        }
        Ok(faults)
    }

    fn install(&self, workspace: &Workspace, home: &Path, notes: &Notes, entry: &[&str]) -> Result<()> {
        let trunkline = workspace.built("trunkline").display().to_string();
        let mut words = vec![trunkline.as_str(), "install", "--host", &self.host, "--yes", "--name"];
        words.push(entry[0]);
        if self.literal {
            words.push("--literal");
        }
        words.extend(&entry[1..]);
        must(self.command(workspace, home, notes, &words)?, TIMEOUT).map(drop)
    }

    fn fault(
        &self,
        workspace: &Workspace,
        home: &Path,
        notes: &Notes,
        (words, says): (&[String], &[String]),
    ) -> Result<Option<String>> {
        let output = run(self.command(workspace, home, notes, words)?, TIMEOUT)?;
        let missing: Vec<&String> = says.iter().filter(|said| !output.text.contains(said.as_str())).collect();
        let is_right = missing.is_empty() && output.status.is_some_and(|status| status.success());
        let fault = || {
            let (ending, said) = (output.ending(), tail(&output.text, 30));
            format!("{}\nended with {ending}, without {missing:?}:\n{said}", words.join(" "))
        };
        Ok((!is_right).then(fault))
    }

    /// A command that finds the installed hosts, and has a home of its own.
    fn command(&self, workspace: &Workspace, home: &Path, notes: &Notes, words: &[impl AsRef<str>]) -> Result<Command> {
        let folder = workspace.path(PACKAGE).join("node_modules/.bin");
        let Some((program, rest)) = words.split_first() else { bail!("a command without words") };
        let mut command = workspace.command_with(&folder, program.as_ref())?;
        command.args(rest.iter().map(AsRef::as_ref)).current_dir(home).env("HOME", home).env("NO_COLOR", "1");
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"] {
            command.env_remove(name);
        }
        command.env("WEATHER_KEY", KEY).env("NOTES_TOKEN", &notes.token).envs(&self.environment);
        Ok(command)
    }
}

#[cfg(unix)]
fn set_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn set_executable(_: &Path) -> Result<()> {
    bail!("the command of the entry is a shell script")
}
