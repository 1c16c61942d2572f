//! Records finished work, so that a step is skipped if none of its inputs have changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::Workspace;

/// The stamp of one step: a hash of all of its inputs.
pub(crate) struct Stamp {
    file: PathBuf,
    hash: DefaultHasher,
}

impl Stamp {
    pub(crate) fn new(workspace: &Workspace, step: &str) -> Self {
        Self { file: workspace.target.join("stamps").join(step), hash: DefaultHasher::new() }
    }

    pub(crate) fn on(mut self, word: &str) -> Self {
        word.hash(&mut self.hash);
        self
    }

    /// Adds the content of files, and of all files in directories, as inputs; what is missing
    /// counts as empty.
    pub(crate) fn on_files(mut self, paths: impl IntoIterator<Item: AsRef<Path>>) -> Result<Self> {
        for path in paths {
            for file in files_under(path.as_ref())? {
                file.hash(&mut self.hash);
                std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?.hash(&mut self.hash);
            }
        }
        Ok(self)
    }

    /// Does the work unless it was already done for the same inputs and `result` still exists.
    pub(crate) fn unless_done(self, result: &Path, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let hash = format!("{:016x}", self.hash.finish());
        if result.exists() && std::fs::read_to_string(&self.file).is_ok_and(|done| done == hash) {
            return Ok(());
        }
        let _ = std::fs::remove_file(&self.file);
        work()?;
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&self.file, hash).with_context(|| format!("cannot write {}", self.file.display()))
    }
}

/// All files under a path in a fixed order, except hidden files, `node_modules` and caches.
pub(crate) fn files_under(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(if path.exists() { vec![path.to_path_buf()] } else { vec![] });
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
        .with_context(|| format!("cannot read {}", path.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with('.') && !matches!(&*name, "node_modules" | "__pycache__" | "target") {
            files.extend(files_under(&entry)?);
        }
    }
    Ok(files)
}

/// The files under a path with an extension.
pub(crate) fn files_with(path: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut files = files_under(path)?;
    files.retain(|file| file.extension().is_some_and(|found| found == ending));
    Ok(files)
}

/// The name of a file without its extension.
pub(crate) fn stem_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Copies a file unless the copy already has the same content. A library is replaced rather than
/// overwritten, because it may be loaded.
pub(crate) fn copy_if_changed(from: &Path, to: &Path) -> Result<()> {
    let content = std::fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    write_if_changed(to, &content)
}

/// Copies sources without build artifacts, such as extensions for tests, and caches.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for file in files_under(from)? {
        let ending = file.extension().and_then(|ending| ending.to_str());
        if !matches!(ending, Some("so" | "pyd" | "node" | "map")) {
            copy_if_changed(&file, &to.join(file.strip_prefix(from)?))?;
        }
    }
    Ok(())
}

pub(crate) fn write_if_changed(to: &Path, content: &[u8]) -> Result<()> {
    if std::fs::read(to).is_ok_and(|present| present == content) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Two commands may do this concurrently.
    let fresh = to.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&fresh, content)
        .and_then(|()| std::fs::rename(&fresh, to))
        .with_context(|| format!("cannot write {}", to.display()))
}
