//! A host: where its files are, and how it writes an entry.

use crate::edit::Format;

/// A host. Its row in the table says where its documentation is.
#[derive(Debug)]
pub(crate) struct Host {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The name for people.
    pub(crate) title: &'static str,
    pub(crate) format: Format,
    /// The path to the object that has the servers.
    pub(crate) key: &'static [&'static str],
    pub(crate) shape: Shape,
    pub(crate) reference: Reference,
    /// The files of the user. The host reads the first one that exists.
    pub(super) user: &'static [Place],
    /// The files of a project, from its folder.
    pub(super) project: &'static [&'static str],
}

/// A file of the user, on some systems.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) systems: &'static [System],
    pub(super) folder: Folder,
    pub(super) path: &'static str,
}

/// An operating system, as far as it moves files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Unix,
    Mac,
    Windows,
}

pub(super) const ALL: &[System] = &[System::Unix, System::Mac, System::Windows];

/// A folder that environment variables may move.
#[derive(Debug, Clone, Copy)]
pub(super) enum Folder {
    /// The folder of the user.
    Home,
    /// The folder for settings of applications with windows.
    Settings,
    /// `~/.config`, on every system.
    Config,
    /// The folder in this variable; no such file if it is not set.
    Variable(&'static str),
}

/// How a host writes an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `command`, `args` and `env`; or the URL, in this member, and `headers`.
    Usual {
        /// Entries have a `type`.
        types: bool,
        /// `None`: the host takes no URLs.
        url: Option<&'static str>,
        /// Entries may have a `cwd`.
        cwd: bool,
    },
    /// As the usual one; `url` is HTTP+SSE, and `httpUrl` Streamable HTTP.
    Gemini,
    Codex,
    Opencode,
    Goose,
}

/// How a host writes the value of an environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    /// `${NAME}`
    Dollar,
    /// `${env:NAME}`
    DollarEnv,
    /// `{env:NAME}`
    Braces,
    /// By members that have names of variables.
    Members,
    /// The host replaces nothing.
    None,
}
