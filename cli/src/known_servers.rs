//! The servers that the configuration files of hosts name: of this folder, and of the user.

use std::{
    env,
    path::{Path, PathBuf},
};
use trunkline::client::{ConfigError, ServerEntry, ServersConfig};

/// A configured server.
pub(crate) struct KnownServer {
    pub(crate) name: String,
    /// The host whose file it is.
    pub(crate) host: &'static str,
    pub(crate) file: PathBuf,
    pub(crate) entry: Result<ServerEntry, ConfigError>,
}

/// Files of the current folder.
const PROJECT: [(&str, &str); 4] = [
    ("project", ".mcp.json"),
    ("project-vscode", ".vscode/mcp.json"),
    ("project-cursor", ".cursor/mcp.json"),
    ("project-gemini", ".gemini/settings.json"),
];

/// Files of the user's folder, the same on every system.
const USER: [(&str, &str); 4] = [
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("gemini", ".gemini/settings.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
];

/// Files of the folder for settings of applications.
const APPLICATION: [(&str, &str); 2] =
    [("claude-desktop", "Claude/claude_desktop_config.json"), ("vscode", "Code/User/mcp.json")];

/// All configured servers, those of the current folder first. Files that are missing or not
/// readable count as empty: they belong to other programs.
pub(crate) fn all() -> Vec<KnownServer> {
    files().into_iter().flat_map(|(host, file)| servers_of(host, &file)).collect()
}

fn servers_of(host: &'static str, file: &Path) -> Vec<KnownServer> {
    let Ok(config) = ServersConfig::from_file(file) else { return Vec::new() };
    let known = config.into_iter().map(|(name, entry)| KnownServer { name, host, file: file.to_owned(), entry });
    known.collect()
}

/// The files that may exist.
pub(crate) fn files() -> Vec<(&'static str, PathBuf)> {
    let home = home();
    let under = |folder: Option<PathBuf>, files: &[(&'static str, &str)]| {
        let path = |(host, file): &(&'static str, &str)| Some((*host, folder.as_ref()?.join(file)));
        files.iter().filter_map(path).collect::<Vec<_>>()
    };
    let mut all = under(Some(PathBuf::new()), &PROJECT);
    all.extend(under(home.clone(), &USER));
    all.extend(under(settings(home), &APPLICATION));
    all
}

fn home() -> Option<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    env::var_os(name).filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// The folder for settings of applications.
fn settings(home: Option<PathBuf>) -> Option<PathBuf> {
    if cfg!(windows) {
        return env::var_os("APPDATA").map(PathBuf::from);
    }
    if cfg!(target_os = "macos") {
        return home.map(|home| home.join("Library/Application Support"));
    }
    let given = env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    given.or_else(|| home.map(|home| home.join(".config")))
}
