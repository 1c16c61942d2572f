//! The tags of a release. Go finds a module by a tag of its repository that begins with its folder,
//! and the libraries must not be part of the main branch: the tags name a commit of their own.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{FOLDER, VERSION};
use crate::process::{must, run};

const GIT_TIMEOUT: Duration = Duration::from_secs(120);

/// Commits the modules that `write` wrote, and tags the commit for each of them. Neither the branch
/// nor the files of the repository change.
pub(crate) fn tag(repository: &Path, modules: &Path) -> Result<Vec<String>> {
    let index = modules.with_extension("index");
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(modules).env("GIT_DIR", repository.join(".git")).env("GIT_WORK_TREE", modules);
        git.env("GIT_INDEX_FILE", &index).args(words);
        git
    };
    let answer = |words: &[&str]| anyhow::Ok(must(git(words), GIT_TIMEOUT)?.stdout.trim().to_owned());
    // An index that a stopped run left behind has other files.
    let _ = std::fs::remove_file(&index);
    // By force, because the repository ignores libraries.
    answer(&["add", "--force", "--all", "."])?;
    let tree = answer(&["write-tree"])?;
    std::fs::remove_file(&index)?;
    let commit = commit(git, &tree)?;
    let mut tags: Vec<String> = std::fs::read_dir(modules.join(FOLDER).join("library"))
        .context("the modules of the libraries")?
        .map(|entry| Ok(format!("{FOLDER}/library/{}/v{VERSION}", entry?.file_name().to_string_lossy())))
        .collect::<Result<_>>()?;
    tags.sort();
    tags.push(format!("{FOLDER}/v{VERSION}"));
    for tag in &tags {
        answer(&["tag", tag, &commit])?;
    }
    Ok(tags)
}

/// The same files at the same commit result in the same commit, so that a run that failed halfway
/// can be repeated. It has no parent: as a change of one, it would delete the workflows, which the
/// token of a workflow may not.
fn commit(git: impl Fn(&[&str]) -> Command, tree: &str) -> Result<String> {
    let head = run(git(&["log", "-1", "--format=%H %cI"]), GIT_TIMEOUT)?;
    let (source, date) = head.stdout.trim().split_once(' ').unwrap_or(("no commit", "2026-01-01T00:00:00Z"));
    let message = format!("go: modules of {VERSION}\n\nBuilt from {source}.");
    let mut commit = git(&["commit-tree", tree, "-m", &message]);
    for role in ["AUTHOR", "COMMITTER"] {
        commit.env(format!("GIT_{role}_NAME"), "Trunkline").env(format!("GIT_{role}_EMAIL"), "release@trunkline.dev");
        commit.env(format!("GIT_{role}_DATE"), date);
    }
    Ok(must(commit, GIT_TIMEOUT)?.stdout.trim().to_owned())
}
