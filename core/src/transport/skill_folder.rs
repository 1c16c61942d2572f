//! A skill from a folder of the file system.

use crate::server::{SkillDefinition, SkillFile};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// More is never offered; whoever points at the wrong folder hears of it early.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

impl SkillDefinition {
    /// A skill of all files in a folder and below, as they are now. Hidden files and symbolic links
    /// are left out.
    ///
    /// # Errors
    /// If the folder or a file cannot be read, or there is more than a skill may have; the error
    /// names the path.
    pub fn from_folder(folder: impl AsRef<Path>) -> io::Result<Self> {
        let mut files = Vec::new();
        let mut bytes = 0;
        collect(folder.as_ref(), "", &mut files, &mut bytes)?;
        Ok(Self::new(files))
    }
}

fn collect(folder: &Path, inside: &str, files: &mut Vec<SkillFile>, bytes: &mut u64) -> io::Result<()> {
    let named = |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| named(folder, error))? {
        paths.push(entry.map_err(|error| named(folder, error))?.path());
    }
    paths.sort();
    for path in paths {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Err(named(&path, io::Error::other("the name is not UTF-8")));
        };
        if name.starts_with('.') {
            continue;
        }
        let metadata = fs::symlink_metadata(&path).map_err(|error| named(&path, error))?;
        let place = if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") };
        if metadata.is_dir() {
            collect(&path, &place, files, bytes)?;
        } else if metadata.is_file() {
            *bytes += metadata.len();
            if files.len() >= MAX_FILES || *bytes > MAX_BYTES {
                let text = format!("a skill has at most {MAX_FILES} files and {MAX_BYTES} bytes");
                return Err(named(&path, io::Error::other(text)));
            }
            files.push(SkillFile::new(place, fs::read(&path).map_err(|error| named(&path, error))?));
        }
    }
    Ok(())
}
