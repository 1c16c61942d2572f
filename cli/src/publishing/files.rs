//! The files of a bundle: without those that only its development needs.

use ignore::{WalkBuilder, gitignore::GitignoreBuilder};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Files that the packer of https://github.com/modelcontextprotocol/mcpb leaves out as well, in the
/// syntax of `.gitignore`.
const LEFT_OUT: [&str; 29] = [
    ".DS_Store",
    "Thumbs.db",
    ".git",
    ".gitignore",
    IGNORE_FILE,
    "*.log",
    ".env*",
    ".npm",
    ".npmrc",
    ".yarnrc",
    ".yarn",
    ".eslintrc",
    ".eslintignore",
    ".editorconfig",
    ".prettierrc",
    ".prettierignore",
    ".nycrc",
    ".babelrc",
    ".pnp.*",
    "node_modules/.cache",
    "node_modules/.bin",
    "*.map",
    "package-lock.json",
    "yarn.lock",
    "*.mcpb",
    "*.d.ts",
    "*.tsbuildinfo",
    "tsconfig.json",
    "*.trunkline-*",
];
/// More patterns, of the folder.
const IGNORE_FILE: &str = ".mcpbignore";

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    /// From the folder, with slashes.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

/// Reads the files of a folder, in the order of their paths.
///
/// # Errors
/// The path, and why it cannot be packed.
pub(crate) fn files_of(folder: &Path) -> Result<Vec<Packed>, (PathBuf, String)> {
    let failed = |path: &Path, problem: &dyn ToString| (path.to_owned(), problem.to_string());
    let mut left_out = GitignoreBuilder::new(folder);
    for pattern in LEFT_OUT {
        left_out.add_line(None, pattern).map_err(|error| failed(folder, &error))?;
    }
    let left_out = left_out.build().map_err(|error| failed(folder, &error))?;
    let walk = WalkBuilder::new(folder)
        .standard_filters(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || !left_out.matched(entry.path(), is_folder).is_ignore()
        })
        .build();
    let mut files = Vec::new();
    for entry in walk {
        let entry = entry.map_err(|error| failed(folder, &error))?;
        let path = entry.path();
        let kind = entry.file_type().ok_or_else(|| failed(path, &"it is no file"))?;
        if kind.is_dir() {
            continue;
        }
        if !kind.is_file() {
            return Err(failed(path, &"it is a link or no regular file, which a bundle cannot have"));
        }
        let inside = path.strip_prefix(folder).map_err(|error| failed(path, &error))?;
        let parts: Option<Vec<_>> = inside.iter().map(|part| part.to_str()).collect();
        let parts = parts.ok_or_else(|| failed(path, &"its name is no UTF-8"))?;
        let bytes = fs::read(path).map_err(|error| failed(path, &error))?;
        files.push(Packed { path: parts.join("/"), bytes });
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}
