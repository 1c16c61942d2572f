//! Watches files, and tells which have changed.

use crate::failure::Failure;
use ignore::{
    DirEntry, WalkBuilder,
    overrides::{Override, OverrideBuilder},
};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use tokio::sync::mpsc::{Receiver, channel};

/// An editor or a build writes several files at a time, so changes are looked for once nothing has
/// happened for this time.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Changes that do not end are reported nevertheless.
const MAX_DEBOUNCE: Duration = Duration::from_secs(2);
/// Maximum files and folders, which bounds the time of a look at them and the memory for them.
const MAX_ENTRIES: usize = 100_000;
/// Left out always: a server writes some of them when it starts.
const GENERATED: [&str; 2] = ["__pycache__", "node_modules"];

/// The watched files.
pub(super) struct Files {
    root: PathBuf,
    globs: Globs,
    seen: Seen,
    watcher: RecommendedWatcher,
    events: Receiver<()>,
    /// True if something has happened since the last look.
    is_due: bool,
}

/// The patterns of files.
struct Globs {
    /// All files if it is empty.
    watched: Override,
    ignored: Override,
}

/// The files with their state, and the folders.
#[derive(Default)]
struct Seen {
    files: BTreeMap<PathBuf, (Option<SystemTime>, u64)>,
    /// With the time of their creation: another folder of the same name is not watched yet.
    folders: BTreeMap<PathBuf, Option<SystemTime>>,
}

impl Files {
    /// Starts to watch the files of a folder that match one of `watched` (all, if there are none),
    /// but none of `ignored`, and that `.gitignore` does not name.
    pub(super) fn watch(root: &Path, watched: &[String], ignored: &[String]) -> Result<Self, Failure> {
        let globs = Globs::new(root, watched, ignored)?;
        let (sender, events) = channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading a file changes nothing, and this program reads them all.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                // Full: there is a look to come already.
                let _ = sender.try_send(());
            }
        });
        let watcher = watcher.map_err(|error| unwatchable(root, &error))?;
        let mut files = Self { root: root.to_owned(), globs, seen: Seen::default(), watcher, events, is_due: false };
        files.look()?;
        Ok(files)
    }

    /// Waits until files have changed. Their paths are relative to the folder. No change is lost if
    /// the caller stops waiting.
    pub(super) async fn changed(&mut self) -> Result<Vec<PathBuf>, Failure> {
        loop {
            if !self.is_due && self.events.recv().await.is_none() {
                return Err(Failure::unreachable("the system no longer tells of changed files"));
            }
            self.is_due = true;
            let quiet = async { while let Ok(Some(())) = tokio::time::timeout(DEBOUNCE, self.events.recv()).await {} };
            let _ = tokio::time::timeout(MAX_DEBOUNCE, quiet).await;
            self.is_due = false;
            let changed = self.look()?;
            if !changed.is_empty() {
                return Ok(changed);
            }
        }
    }

    /// Looks at all files, and watches new folders. Returns what has changed.
    fn look(&mut self) -> Result<Vec<PathBuf>, Failure> {
        let mut changed = BTreeSet::new();
        loop {
            let now = seen(&self.root, &self.globs)?;
            changed.extend(differences(&self.seen.files, &now.files));
            let mut new = differences(&self.seen.folders, &now.folders);
            new.retain(|folder| now.folders.contains_key(folder));
            self.seen = now;
            if new.is_empty() {
                break;
            }
            self.watch_folders(&new)?;
            // Files of a new folder may have come before it was watched.
        }
        let relative = |path: PathBuf| path.strip_prefix(&self.root).map(Path::to_owned).unwrap_or(path);
        Ok(changed.into_iter().map(relative).collect())
    }

    fn watch_folders(&mut self, new: &[PathBuf]) -> Result<(), Failure> {
        // Each folder by itself on Linux, where ignored ones would use up a limit of the system.
        let each = cfg!(target_os = "linux");
        let wanted = new.iter().filter(|folder| each || **folder == self.root);
        let mode = if each { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
        for folder in wanted {
            match self.watcher.watch(folder, mode) {
                // Removed in the meantime.
                Err(_) if !folder.exists() => {}
                watched => watched.map_err(|error| unwatchable(folder, &error))?,
            }
        }
        Ok(())
    }
}

fn unwatchable(folder: &Path, error: &notify::Error) -> Failure {
    Failure::usage(format!("{} cannot be watched: {error}", folder.display()))
        .hint("leave out large folders with --ignore, or raise the system's limit of watches")
}

impl Globs {
    fn new(root: &Path, watched: &[String], ignored: &[String]) -> Result<Self, Failure> {
        let matcher = |globs: Vec<String>| {
            let mut matcher = OverrideBuilder::new(root);
            for glob in &globs {
                matcher
                    .add(glob)
                    .map_err(|error| Failure::usage(format!("{glob:?} is no pattern of files: {error}")))?;
            }
            matcher.build().map_err(|error| Failure::usage(format!("the patterns of files: {error}")))
        };
        let ignored = ignored.iter().map(|glob| format!("!{glob}")).collect();
        Ok(Self { watched: matcher(watched.to_vec())?, ignored: matcher(ignored)? })
    }

    fn watches(&self, path: &Path) -> bool {
        self.watched.is_empty() || self.watched.matched(path, false).is_whitelist()
    }
}

/// Looks at all files and folders.
fn seen(root: &Path, globs: &Globs) -> Result<Seen, Failure> {
    let mut seen = Seen::default();
    let is_generated = |entry: &DirEntry| GENERATED.iter().any(|name| entry.file_name() == *name);
    let walk = WalkBuilder::new(root)
        .require_git(false)
        .overrides(globs.ignored.clone())
        .filter_entry(move |entry| !is_generated(entry))
        .build();
    // Left out: files that cannot be read, or have vanished.
    for entry in walk.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            seen.folders.insert(entry.into_path(), metadata.created().ok());
        } else if globs.watches(entry.path()) {
            seen.files.insert(entry.into_path(), (metadata.modified().ok(), metadata.len()));
        }
        if seen.files.len() + seen.folders.len() > MAX_ENTRIES {
            return Err(Failure::usage(format!("{} has more than {MAX_ENTRIES} files", root.display()))
                .hint("leave out folders with --ignore or in .gitignore, or start in another folder"));
        }
    }
    Ok(seen)
}

fn differences<S: PartialEq>(before: &BTreeMap<PathBuf, S>, now: &BTreeMap<PathBuf, S>) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let new = now.iter().filter(|(path, state)| before.get(*path) != Some(*state)).map(|(path, _)| path);
    gone.chain(new).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn ignored_and_generated_files_are_left_out() {
        let root = std::env::temp_dir().join(format!("trunkline-dev-{}", std::process::id()));
        for folder in ["src", "dist", "node_modules/a", "src/__pycache__", ".git"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let all = [
            "src/a.py",
            "src/a.txt",
            "src/gen.py",
            "dist/b.py",
            "node_modules/a/c.py",
            "src/__pycache__/d.py",
            ".git/e.py",
        ];
        all.iter().for_each(|path| fs::write(root.join(path), "").unwrap());
        fs::write(root.join(".gitignore"), "dist/\ngen.py\n").unwrap();
        for (watched, ignored, expected) in [
            (vec![], vec![], vec!["src/a.py", "src/a.txt"]),
            (vec!["*.py"], vec![], vec!["src/a.py"]),
            (vec![], vec!["*.txt"], vec!["src/a.py"]),
            (vec!["src/**"], vec!["*.py"], vec!["src/a.txt"]),
        ] {
            let own = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>();
            let globs = Globs::new(&root, &own(&watched), &own(&ignored)).unwrap();
            let found = seen(&root, &globs).unwrap();
            let found: Vec<_> = found.files.keys().map(|path| path.strip_prefix(&root).unwrap()).collect();
            assert_eq!(found, expected.iter().map(Path::new).collect::<Vec<_>>(), "{watched:?} {ignored:?}");
        }
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn new_changed_and_removed_files_differ() {
        let files = |all: &[(&str, u8)]| all.iter().map(|(path, state)| (PathBuf::from(path), *state)).collect();
        let found = differences(&files(&[("a", 1), ("b", 1), ("c", 1)]), &files(&[("a", 1), ("b", 2), ("d", 1)]));
        assert_eq!(found, ["c", "b", "d"].map(PathBuf::from));
    }
}
