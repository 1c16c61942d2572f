//! The servers that the files of hosts name: of the current folder, and of the user.

use crate::{
    edit,
    hosts::{self, Machine, Shape},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};
use trunkline::client::{ConfigError, ServerEntry, ServersConfig};

/// More than any file of a host has; Claude Code keeps its history in the same file.
const MAX_BYTES: u64 = 64 << 20;
/// Members that say how a server is reached.
const REACHED: [&str; 6] = ["command", "cmd", "url", "serverUrl", "httpUrl", "uri"];

/// A configured server.
pub(crate) struct KnownServer {
    pub(crate) name: String,
    /// The host whose file it is, and `project` or `project-…` for a file of the current folder.
    pub(crate) host: String,
    pub(crate) file: PathBuf,
    pub(crate) entry: Result<ServerEntry, ConfigError>,
    /// The entry as it is written.
    pub(crate) raw: Value,
    pub(crate) is_enabled: bool,
}

impl KnownServer {
    /// The entry with its placeholders as `${NAME}`, so that no value of the environment is in it.
    pub(crate) fn with_placeholders(&self) -> Result<ServerEntry, ConfigError> {
        let config = enabled(json!({ "mcpServers": { &*self.name: self.raw } }));
        ServersConfig::read_one(&config, &self.file.display().to_string(), &placeholder)
    }
}

/// Reads a configuration, with its placeholders as `${NAME}`.
pub(crate) fn with_placeholders(config: &Value, source: &str) -> Result<ServersConfig, ConfigError> {
    ServersConfig::read(&enabled(config.clone()), source, &placeholder)
}

fn placeholder(name: &str) -> Option<String> {
    match name {
        "userHome" => variable(name),
        _ => Some(format!("${{{name}}}")),
    }
}

/// The same servers, none of which is switched off.
fn enabled(mut config: Value) -> Value {
    let servers = config.as_object_mut().into_iter().flat_map(|config| config.values_mut());
    for entry in servers.filter_map(Value::as_object_mut).flat_map(|servers| servers.values_mut()) {
        if let Some(entry) = entry.as_object_mut() {
            entry.retain(|name, _| name != "disabled" && name != "enabled");
        }
    }
    config
}

/// A file that no server could be read from.
pub(crate) struct Unreadable {
    pub(crate) file: hosts::File,
    pub(crate) problem: String,
}

/// All configured servers that are switched on, those of the current folder first. Files that are
/// missing or not readable count as empty: they belong to other programs.
pub(crate) fn all() -> Vec<KnownServer> {
    everything().0.into_iter().filter(|known| known.is_enabled).collect()
}

/// All configured servers, and the files that could not be read.
pub(crate) fn everything() -> (Vec<KnownServer>, Vec<Unreadable>) {
    let (mut known, mut unreadable) = (Vec::new(), Vec::new());
    for file in Machine::this().all_files() {
        match servers_of(&file) {
            Ok(servers) => known.extend(servers),
            Err(problem) => unreadable.push(Unreadable { file, problem }),
        }
    }
    (known, unreadable)
}

/// The files that may exist, with the names of their hosts.
pub(crate) fn files() -> Vec<(String, PathBuf)> {
    Machine::this().all_files().into_iter().map(|file| (file.label(), file.path)).collect()
}

/// The servers of a file; none if it does not exist.
fn servers_of(file: &hosts::File) -> Result<Vec<KnownServer>, String> {
    let Some(text) = text_of(&file.path).map_err(|error| format!("cannot be read: {error}"))? else {
        return Ok(Vec::new());
    };
    let value = edit::read(file.host.format, &text).map_err(|problem| problem.to_string())?;
    let place = edit::Place { format: file.host.format, key: file.host.key };
    let servers = place.servers(&value).into_iter().flatten();
    Ok(servers.filter(|(_, raw)| is_server(file, raw)).map(|(name, raw)| known(file, name, raw)).collect())
}

/// Returns whether an entry is a server, and no extension that the host itself brings.
fn is_server(file: &hosts::File, raw: &Value) -> bool {
    let has_others = file.host.shape == Shape::Goose || file.host.name == "zed";
    !has_others || REACHED.iter().any(|member| raw.get(member).is_some())
}

fn known(file: &hosts::File, name: &str, raw: &Value) -> KnownServer {
    let source = file.path.display().to_string();
    let config = enabled(json!({ "mcpServers": { name: raw } }));
    KnownServer {
        name: name.to_owned(),
        host: file.label(),
        file: file.path.clone(),
        entry: ServersConfig::read_one(&config, &source, &variable),
        raw: raw.clone(),
        is_enabled: raw["disabled"] != true && raw["enabled"] != false,
    }
}

fn variable(name: &str) -> Option<String> {
    match name {
        "userHome" => Machine::this().home().map(|home| home.to_string_lossy().into_owned()),
        _ => std::env::var(name).ok(),
    }
}

/// The text of a file; `None` if it does not exist.
pub(crate) fn text_of(path: &Path) -> io::Result<Option<String>> {
    let about = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        about => about?,
    };
    if !about.is_file() || about.len() > MAX_BYTES {
        return Err(io::Error::other(format!("it is no regular file of at most {} MiB", MAX_BYTES >> 20)));
    }
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}
