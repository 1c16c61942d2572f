//! Named connections that stay open: each is a bridge in the background, on a Unix socket of this
//! user.

use crate::failure::Failure;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// The beginning of the name of a session.
const MARK: char = '@';
const SOCKET: &str = "sock";
const LOG: &str = "log";

/// A session, which need not be open.
pub(crate) struct Session {
    /// With its mark.
    pub(crate) name: String,
    pub(crate) socket: PathBuf,
    /// The output of the bridge, which has it locked while it runs.
    pub(crate) log: PathBuf,
}

impl Session {
    /// The session that a word names, if it has the form of one.
    pub(crate) fn of_word(word: &str) -> Result<Option<Self>, Failure> {
        let Some(name) = word.strip_prefix(MARK) else { return Ok(None) };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if name.is_empty() || name.len() > 32 || !name.chars().all(is_plain) {
            return Err(Failure::usage(format!("{word:?} is no name of a session"))
                .hint("up to 32 letters, digits, - and _ after the @"));
        }
        let folder = folder()?;
        let file = |kind: &str| folder.join(format!("{name}.{kind}"));
        Ok(Some(Self { name: word.to_owned(), socket: file(SOCKET), log: file(LOG) }))
    }

    /// The URL of its endpoint.
    pub(crate) fn url(&self) -> String {
        format!("unix:{}", self.socket.display())
    }

    pub(crate) fn is_open(&self) -> bool {
        answers(&self.socket)
    }

    /// The failure if it is not open.
    pub(crate) fn not_open(&self) -> Failure {
        let open = open();
        let hint = match open.is_empty() {
            true => format!("trunkline connect SERVER {}", self.name),
            false => format!("open sessions: {}; or trunkline connect SERVER {}", open.join(", "), self.name),
        };
        Failure::usage(format!("the session {} is not open", self.name)).hint(hint)
    }
}

/// The names of the open sessions.
pub(crate) fn open() -> Vec<String> {
    let entries = folder().ok().and_then(|folder| fs::read_dir(folder).ok());
    let name = |entry: io::Result<fs::DirEntry>| {
        let path = entry.ok()?.path();
        let is_open = path.extension().is_some_and(|kind| kind == SOCKET) && answers(&path);
        let stem = path.file_stem().filter(|_| is_open)?;
        Some(format!("{MARK}{}", stem.to_str()?))
    };
    let mut names: Vec<String> = entries.into_iter().flatten().filter_map(name).collect();
    names.sort_unstable();
    names
}

/// Returns whether a bridge listens: one that was killed leaves its socket.
#[cfg(unix)]
fn answers(socket: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(socket).is_ok()
}

#[cfg(not(unix))]
fn answers(_: &Path) -> bool {
    false
}

/// Where the sockets are: a folder that only this user can read.
fn folder() -> Result<PathBuf, Failure> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = match variable("XDG_RUNTIME_DIR") {
        Some(folder) => folder.join("trunkline"),
        None => variable("HOME")
            .ok_or_else(|| Failure::usage("sessions need the variable HOME or XDG_RUNTIME_DIR"))?
            .join(".cache/trunkline/sessions"),
    };
    Ok(folder)
}

/// Makes the folder of a session.
pub(crate) fn make_folder(session: &Session) -> Result<(), Failure> {
    let folder = session.socket.parent().unwrap_or(Path::new("."));
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.recursive(true).create(folder);
    made.map_err(|error| Failure::usage(format!("{} cannot be made: {error}", folder.display())))
}
