//! The files of vectors (tests/vectors/README.md).

use serde::Deserialize;
use serde_json::Value;
use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

/// A conversation with a server, as data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Vector {
    /// The name of the file.
    #[serde(skip)]
    pub name: String,
    /// A description.
    pub about: String,
    /// The ids of the requirements that it tests.
    pub requirements: Vec<String>,
    /// The revision of the session in which it is played, if it names no others.
    #[serde(default)]
    pub open: Option<String>,
    #[serde(default)]
    pub(crate) revisions: Vec<String>,
    #[serde(default)]
    over: Vec<Transport>,
    #[serde(default)]
    pub(crate) capabilities: Option<Value>,
    /// The number of items on a page of the server's lists.
    pub(crate) page_size: Option<usize>,
    /// Methods of notifications that may arrive at any time.
    #[serde(default)]
    pub(crate) ignore: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

/// The connection over which a vector is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
    /// Streamable HTTP of a server without sessions.
    Stateless,
    /// Streamable HTTP of a server that never responds with a stream.
    Json,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Step {
    /// The first revision that has this step.
    pub(crate) since: Option<String>,
    /// The first revision that no longer has it.
    pub(crate) before: Option<String>,
    #[serde(flatten)]
    pub(crate) act: Act,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Act {
    Send(Value),
    SendText(String),
    Expect(Vec<Value>),
    ExpectInOrder(Vec<Value>),
    Poll { send: Value, until: Value },
}

/// Reads a vector, or all vectors in a folder, sorted by name.
///
/// # Errors
/// If a file cannot be read or is not a vector; the message names it.
pub fn load(path: &Path) -> io::Result<Vec<Vector>> {
    files_at(path)?.iter().map(|file| read(file)).collect()
}

/// The file itself, or the JSON files of a folder.
pub(crate) fn files_at(path: &Path) -> io::Result<Vec<PathBuf>> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: io::Result<Vec<_>> = fs::read_dir(path).map_err(named)?.map(|entry| Ok(entry?.path())).collect();
    let mut files = entries.map_err(named)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}

/// The error of a file.
pub(crate) fn unread(file: &Path, problem: &dyn fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {problem}", file.display()))
}

fn read(file: &Path) -> io::Result<Vector> {
    let text = fs::read_to_string(file).map_err(|error| unread(file, &error))?;
    let mut vector: Vector = serde_json::from_str(&text).map_err(|error| unread(file, &error))?;
    if vector.about.is_empty() || vector.requirements.is_empty() {
        return Err(unread(file, &"`about` or `requirements` is empty"));
    }
    vector.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(vector)
}

impl Vector {
    /// The transport of each run, and its revision if the vector names several.
    pub fn plays(&self) -> Vec<(Option<&str>, Transport)> {
        if self.revisions.is_empty() {
            let over = if self.over.is_empty() { &[Transport::Stdio] } else { &self.over[..] };
            return over.iter().map(|over| (None, *over)).collect();
        }
        let usual = &[Transport::Stdio, Transport::Http, Transport::Sse][..];
        let over = if self.over.is_empty() { usual } else { &self.over };
        let plays = self.revisions.iter().flat_map(|revision| over.iter().map(move |over| (&**revision, *over)));
        // HTTP+SSE is the transport of the oldest revision.
        let plays = plays.filter(|(revision, over)| *over != Transport::Sse || *revision == "2024-11-05");
        plays.map(|(revision, over)| (Some(revision), over)).collect()
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Stateless => "stateless",
            Self::Json => "json",
        })
    }
}
