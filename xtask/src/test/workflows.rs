//! Workflows run no code of others that may change by itself: their actions and images are pinned
//! by digest. And every night they look for advisories of all that is locked in the tree.

use std::path::Path;

use anyhow::{Context, Result};

use crate::process::must;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const DEADLINE: std::time::Duration = std::time::Duration::from_secs(60);
const WORKFLOWS: &str = ".github/workflows";
/// The workflow that looks for advisories.
const NIGHTLY: &str = ".github/workflows/nightly.yml";
/// The form of a digest of git.
const DIGITS: usize = 40;
/// The form of a digest of an image.
const IMAGE_DIGITS: usize = 64;
/// Parts of the names of images.
const IMAGES: [&str; 3] = ["quay.io/", "ghcr.io/", "-alpine"];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut git = workspace.command("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let listed = must(git, DEADLINE)?.stdout;
    let read =
        |file: &str| std::fs::read_to_string(workspace.path(file)).with_context(|| format!("cannot read {file}"));
    let mut faults = Vec::new();
    let (mut actions, mut images_found) = (0, 0);
    for file in listed.lines().filter(|file| Path::new(file).parent() == Some(Path::new(WORKFLOWS))) {
        let text = read(file)?;
        actions += uses(&text).count();
        let loose = uses(&text).filter(|(_, action)| !is_pinned(action));
        faults.extend(loose.map(|(line, action)| {
            format!("{file}:{line}: {action} may change: pin it by its digest, with its version as a comment\n")
        }));
        images_found += images(&text).count();
        let loose = images(&text).filter(|(_, image)| !is_pinned_image(image));
        faults.extend(
            loose.map(|(line, image)| format!("{file}:{line}: {image} may change: write NAME:TAG@sha256:DIGEST\n")),
        );
    }
    if actions == 0 || images_found == 0 {
        faults.push(format!("{WORKFLOWS} uses no action, or no image, that xtask/src/test/workflows.rs could find\n"));
    }
    let nightly = read(NIGHTLY)?;
    let locks: Vec<_> = listed.lines().filter(|file| is_lock(file)).collect();
    faults.extend(
        locks
            .iter()
            .filter(|lock| !is_watched(&nightly, lock))
            .map(|lock| format!("{NIGHTLY}: nothing looks for advisories of what {lock} names\n")),
    );
    let failed = faults.len();
    Ok(Count {
        passed: (actions + images_found + locks.len()).saturating_sub(failed),
        failed,
        said: faults.concat(),
        note: String::new(),
    })
}

/// The actions of a workflow, each with the number of its line.
fn uses(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(index, line)| {
        let line = line.trim_start();
        let action = line.strip_prefix("- ").unwrap_or(line).trim_start().strip_prefix("uses:")?;
        Some((index + 1, action.trim()))
    })
}

/// `owner/name@DIGEST # version`, or a part of this repository.
fn is_pinned(action: &str) -> bool {
    let Some((name, version)) = action.split_once(" # ") else { return action.starts_with("./") };
    let digest = name.rsplit_once('@').map_or("", |(_, digest)| digest);
    digest.len() == DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) && !version.trim().is_empty()
}

/// The images of a workflow, each with the number of its line: words with the name of a registry,
/// or of Alpine.
fn images(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        let words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'', ',']));
        let named = words.filter(|word| IMAGES.iter().any(|part| word.contains(part)));
        named.map(move |image| (index + 1, image))
    })
}

/// `name:tag@sha256:DIGEST`
fn is_pinned_image(image: &str) -> bool {
    let Some((name, digest)) = image.split_once("@sha256:") else { return false };
    let tag = name.rsplit('/').next().unwrap_or(name);
    tag.contains(':') && digest.len() == IMAGE_DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A file that names versions of what others have made.
fn is_lock(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    matches!(name, "Cargo.lock" | "package-lock.json") || (name.starts_with("requirements") && name.ends_with(".txt"))
}

/// Commands name files of Python, and lists the folders of the others.
fn is_watched(nightly: &str, lock: &str) -> bool {
    let (folder, name) = lock.rsplit_once('/').unwrap_or((".", lock));
    let list = match name {
        "Cargo.lock" => "manifest: [",
        "package-lock.json" => "folder: [",
        _ => return nightly.split_whitespace().any(|word| word == lock),
    };
    let listed = nightly.lines().find_map(|line| line.trim().strip_prefix(list)?.strip_suffix(']'));
    listed.is_some_and(|listed| listed.split(',').any(|one| one.trim() == folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_pinned_by_digest() {
        let digest = "0123456789abcdef0123456789abcdef01234567";
        let text = format!("steps:\n  - uses: a/b@{digest} # v1\n    uses: ./.github/c\n  - uses: a/b@v1\n");
        let found: Vec<_> = uses(&text).map(|(line, action)| (line, is_pinned(action))).collect();
        assert_eq!(found, [(2, true), (3, true), (4, false)]);
        for loose in [format!("a/b@{digest}").as_str(), "a/b@main # v1", "a/b # v1", "docker://alpine:3"] {
            assert!(!is_pinned(loose), "{loose}");
        }
    }

    #[test]
    fn images_are_pinned_by_digest() {
        let digest = "0123456789abcdef".repeat(4);
        let text = format!(
            "  - {{ container: \"quay.io/a/b:1@sha256:{digest}\", runs: true }}\n  docker run node:20-alpine sh\n"
        );
        let found: Vec<_> = images(&text).map(|(line, image)| (line, is_pinned_image(image))).collect();
        assert_eq!(found, [(1, true), (2, false)]);
        for loose in [format!("quay.io/a/b@sha256:{digest}").as_str(), "ghcr.io/a/b:1@sha256:0", "rust:1-alpine"] {
            assert!(!is_pinned_image(loose), "{loose}");
        }
    }

    #[test]
    fn what_is_locked_is_watched() {
        let nightly =
            "  folder: [.ci, bindings-node]\n  manifest: [., fuzz]\n  run: audit --requirement a/requirements-1.txt\n";
        for lock in ["Cargo.lock", "fuzz/Cargo.lock", ".ci/package-lock.json", "a/requirements-1.txt"] {
            assert!(is_lock(lock) && is_watched(nightly, lock), "{lock}");
        }
        for lock in ["benches/Cargo.lock", "tests/package-lock.json", "a/requirements-2.txt", "requirements-1.txt"] {
            assert!(is_lock(lock) && !is_watched(nightly, lock), "{lock}");
        }
        assert!(!is_lock("docs/requirements.md"));
    }
}
