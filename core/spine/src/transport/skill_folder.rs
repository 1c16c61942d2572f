//! Skills from folders.

use crate::{
    server::open_folder::{EntryKind, OpenFolder},
    server::{SkillDefinition, SkillFile},
};
use std::{
    io::{self, Read as _},
    path::Path,
};

/// Limits for a skill, so that a wrong folder is detected early.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

impl SkillDefinition {
    /// A skill made of all files in a folder and its subfolders, as they are now. Hidden files and
    /// symbolic links are skipped.
    ///
    /// # Errors
    /// If the folder or a file cannot be read, or a limit is exceeded; the error names the path.
    pub fn from_folder(folder: impl AsRef<Path>) -> io::Result<Self> {
        let mut files = Vec::new();
        let mut bytes = 0;
        let path = folder.as_ref();
        let open = OpenFolder::open(path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        collect(&open, path, "", &mut files, &mut bytes)?;
        Ok(Self::new(files))
    }
}

fn collect(
    folder: &OpenFolder,
    path: &Path,
    inside: &str,
    files: &mut Vec<SkillFile>,
    bytes: &mut u64,
) -> io::Result<()> {
    let named = |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let names: io::Result<Vec<_>> = folder.names().and_then(Iterator::collect);
    let mut names = names.map_err(|error| named(path, error))?;
    names.sort();
    for name in names {
        let path = path.join(&name);
        let Some(name) = name.to_str() else {
            return Err(named(&path, io::Error::other("the name is not UTF-8")));
        };
        if name.starts_with('.') {
            continue;
        }
        let relative = if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") };
        match folder.kind(name).map_err(|error| named(&path, error))? {
            EntryKind::Folder => {
                let inner = folder.folder(name).map_err(|error| named(&path, error))?;
                collect(&inner, &path, &relative, files, bytes)?;
            }
            EntryKind::File(_) => {
                let mut contents = Vec::new();
                let file = folder.file(name).map(|file| file.take(MAX_BYTES + 1 - *bytes));
                let read = file.and_then(|mut file| file.read_to_end(&mut contents));
                *bytes += read.map_err(|error| named(&path, error))? as u64;
                if files.len() >= MAX_FILES || *bytes > MAX_BYTES {
                    let text = format!("a skill has at most {MAX_FILES} files and {MAX_BYTES} bytes");
                    return Err(named(&path, io::Error::other(text)));
                }
                files.push(SkillFile::new(relative, contents));
            }
            EntryKind::Link | EntryKind::Other => {}
        }
    }
    Ok(())
}
