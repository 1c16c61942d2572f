//! Access to the files of a folder, and to nothing outside of it.

use crate::{
    protocol::{RawJson, RpcError},
    server::open_folder::{EntryKind, OpenFolder},
    server::{
        handlers::Outcome,
        media_type::{file_contents, media_type},
    },
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};
use std::{
    cmp::Ordering,
    fs::File,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

/// Maximum depth of listed folders. Files in deeper ones can still be read.
const MAX_DEPTH: usize = 32;
/// Maximum entries listed per folder.
const MAX_ENTRIES: usize = 100_000;
/// The characters to percent-encode in a path segment (RFC 3986, section 3.3).
const PATH_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A folder whose files are resources.
pub(super) struct Folder {
    /// The canonical path, without symbolic links.
    root: PathBuf,
    hidden: bool,
    max_file_bytes: u64,
}

/// A listed file.
pub(super) struct FolderFile {
    /// The path within the folder, as a list of names.
    path: Vec<String>,
    size: u64,
}

/// Decodes the path of a URI. Returns `None` if it contains a name that no file can have.
pub(super) fn decoded(path: &str) -> Option<Vec<String>> {
    path.split('/').map(|segment| percent_decode_str(segment).decode_utf8().ok().map(Into::into)).collect()
}

impl Folder {
    pub(super) fn open(path: &Path, hidden: bool, max_file_bytes: u64) -> io::Result<Self> {
        let root = path.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { root, hidden, max_file_bytes })
    }

    /// Reads a file: its contents, or why there are none. Symbolic links are followed if their
    /// target is within the folder.
    pub(super) fn read(&self, uri: &str, path: &[String]) -> Outcome {
        let Some(name) = path.last().filter(|_| path.iter().all(|name| self.is_offered(name))) else {
            return Outcome::NotFound;
        };
        let requested = path.iter().fold(self.root.clone(), |folder, name| folder.join(name));
        let (mut bytes, most) = (Vec::new(), self.max_file_bytes);
        // The file may grow while it is read.
        let read = |file: File| file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        match self.open_inside(&requested).and_then(read) {
            Ok(_) if bytes.len() as u64 > most => {
                let error = RpcError::invalid_params(format!("{uri} is larger than the limit of {most} bytes"));
                Outcome::Protocol(error.with_data(json!({"uri": uri})))
            }
            Ok(_) => Outcome::Content(RawJson::object(&file_contents(uri, name, &bytes, None))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Outcome::NotFound,
            Err(error) => Outcome::Internal(format!("{uri} cannot be read: {error}")),
        }
    }

    /// Opens the regular file at a path, if it is within this folder and no part of its path is
    /// hidden. Never opens pipes or devices.
    fn open_inside(&self, path: &Path) -> io::Result<File> {
        let not_there = || io::Error::from(io::ErrorKind::NotFound);
        let found = path.canonicalize().map_err(|_| not_there())?;
        let within = found.strip_prefix(&self.root).map_err(|_| not_there())?;
        let offered = |part| match part {
            Component::Normal(name) => name.to_str().filter(|name| self.is_offered(name)),
            _ => None,
        };
        let names: Option<Vec<&str>> = within.components().map(offered).collect();
        let names = names.ok_or_else(not_there)?;
        let (file, folders) = names.split_last().ok_or_else(not_there)?;
        // The canonical path contains no symbolic links, so don't follow one created since.
        let mut folder = OpenFolder::open(&self.root)?;
        for name in folders {
            folder = folder.folder(name)?;
        }
        folder.file(file)
    }

    /// Returns whether a file or folder with that name can be exposed. It must be a single path
    /// component.
    fn is_offered(&self, name: &str) -> bool {
        let is_name = !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0']);
        // On Windows, `C:x` is a path, and `x:y` is an alternate data stream of a file.
        let is_name = is_name && !(cfg!(windows) && name.contains(':'));
        is_name && (self.hidden || !name.starts_with('.'))
    }

    /// Returns the first `most` files after a path, in depth-first order, sorted by name.
    pub(super) fn files_after(&self, after: &[String], most: usize) -> Vec<FolderFile> {
        let mut walk = Walk { folder: self, names: Vec::new(), most, found: Vec::new() };
        if let Ok(root) = OpenFolder::open(&self.root) {
            walk.enter(&root, after);
        }
        walk.found
    }
}

/// Collects the files of a folder and the folders inside.
struct Walk<'a> {
    folder: &'a Folder,
    /// The folder that is read, from the root.
    names: Vec<String>,
    most: usize,
    found: Vec<FolderFile>,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &OpenFolder, after: &[String]) {
        // Folders that cannot be read count as empty.
        let Ok(entries) = folder.names() else { return };
        let entries = entries.filter_map(|name| name.ok()?.into_string().ok());
        let mut entries: Vec<String> = entries.filter(|name| self.folder.is_offered(name)).take(MAX_ENTRIES).collect();
        entries.sort_unstable();
        for name in entries {
            if self.found.len() >= self.most {
                return;
            }
            let order = after.first().map_or(Ordering::Greater, |first| name.cmp(first));
            let size = match folder.kind(&name) {
                Ok(EntryKind::Folder) => {
                    if order != Ordering::Less
                        && self.names.len() < MAX_DEPTH
                        && let Ok(inner) = folder.folder(&name)
                    {
                        let after = if order == Ordering::Equal { &after[1..] } else { &[] };
                        self.names.push(name);
                        self.enter(&inner, after);
                        self.names.pop();
                    }
                    continue;
                }
                Ok(EntryKind::File(size)) if order == Ordering::Greater => size,
                // Links to folders are not followed, because they may form a cycle.
                Ok(EntryKind::Link) if order == Ordering::Greater => {
                    let path = self
                        .names
                        .iter()
                        .chain([&name])
                        .fold(self.folder.root.clone(), |folder, name| folder.join(name));
                    let Ok(linked) = self.folder.open_inside(&path).and_then(|file| file.metadata()) else { continue };
                    linked.len()
                }
                _ => continue,
            };
            let path = self.names.iter().cloned().chain([name]).collect();
            self.found.push(FolderFile { path, size });
        }
    }
}

impl FolderFile {
    /// The path as part of the URI.
    pub(super) fn encoded_path(&self) -> String {
        let names: Vec<_> = self.path.iter().map(|name| utf8_percent_encode(name, PATH_SEGMENT).to_string()).collect();
        names.join("/")
    }

    /// The Resource object.
    pub(super) fn descriptor(&self, base: &str) -> Value {
        let name = self.path.join("/");
        let uri = format!("{base}{}", self.encoded_path());
        // Only reading the file shows whether it is text.
        json!({"uri": uri, "name": name, "mimeType": media_type(&name, false), "size": self.size})
    }
}
