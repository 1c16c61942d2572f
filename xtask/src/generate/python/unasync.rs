//! Generates blocking code from `async` code, token by token: each file in a directory `_async` has
//! a counterpart in the directory `_sync` next to it.

use anyhow::Result;

use crate::generate::File;
use crate::stamp::files_under;
use crate::workspace::Workspace;

const SOURCE: &str = "_async";
const TARGET: &str = "_sync";

/// Renamed identifiers. Others that start with `Async` or `async` start with `Sync` or `sync`
/// instead.
const NAMES: [(&str, &str); 9] = [
    (SOURCE, TARGET),
    ("Client", "SyncClient"),
    ("ClientGroup", "SyncClientGroup"),
    ("Context", "SyncContext"),
    ("StopAsyncIteration", "StopIteration"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("__aiter__", "__iter__"),
    ("__anext__", "__next__"),
];

/// The counterparts of a package's files in `_async` directories, both those in the tree and
/// generated ones.
pub(super) fn twins(workspace: &Workspace, package: &str, generated: &[File]) -> Result<Vec<File>> {
    let mut sources: Vec<File> = generated.to_vec();
    for path in files_under(&workspace.path(package))? {
        let name = path.strip_prefix(&workspace.root)?.to_string_lossy().replace('\\', "/");
        if name.ends_with(".py") && name.contains(SOURCE) && !name.contains("/_generated/") {
            sources.push((name, std::fs::read_to_string(&path)?));
        }
    }
    let in_source = |name: &str| name.split('/').any(|folder| folder == SOURCE);
    sources.retain(|(name, _)| in_source(name));
    Ok(sources.into_iter().map(|(name, text)| (name.replace(SOURCE, TARGET), to_sync(&text))).collect())
}

fn to_sync(source: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut sync = String::with_capacity(source.len());
    let mut rest = source;
    while !rest.is_empty() {
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(length);
        if matches!(word, "async" | "await") && behind.starts_with(' ') {
            rest = &behind[1..];
            continue;
        }
        sync.push_str(&renamed(word));
        let length = behind.find(is_part).unwrap_or(behind.len());
        sync.push_str(&behind[..length]);
        rest = &behind[length..];
    }
    sync
}

fn renamed(word: &str) -> String {
    if let Some((_, sync)) = NAMES.iter().find(|(name, _)| *name == word) {
        return (*sync).to_owned();
    }
    match word.strip_prefix("Async") {
        Some(rest) => format!("Sync{rest}"),
        None => word.strip_prefix("async_").map_or_else(|| word.to_owned(), |rest| format!("sync_{rest}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_docstrings_become_blocking() {
        let source = "class AsyncStream:\n    async def __anext__(self) -> T:\n        return await self._next()\n";
        let sync = "class SyncStream:\n    def __next__(self) -> T:\n        return self._next()\n";
        assert_eq!(to_sync(source), sync);
        assert_eq!(
            to_sync("\"\"\"`async with Client()` is asynchronous.\"\"\""),
            "\"\"\"`with SyncClient()` is asynchronous.\"\"\""
        );
        assert_eq!(to_sync("from ..async_client import Client"), "from ..sync_client import SyncClient");
    }
}
