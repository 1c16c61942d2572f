//! Swift: the package for Linux and Apple's platforms, with `swift format` and Swift Testing.
//! Debian 12 has no Swift, so the entry is not in `ALL`.

use std::path::PathBuf;

use anyhow::Result;

use crate::build::swift::{FIXTURES, PACKAGE, PROGRAM_FILES, swift};
use crate::build::system;
use crate::process::run;
use crate::stamp::files_under;
use crate::test::lint::one;
use crate::test::results::of_swift;
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

pub(super) fn lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut lint = workspace.command(system::swift()?);
    lint.args(["format", "lint", "--strict", "--configuration"]);
    lint.arg(workspace.path(PACKAGE).join(".swift-format"));
    for folder in [PACKAGE, FIXTURES].into_iter().chain(PROGRAM_FILES) {
        let is_ours = |file: &PathBuf| {
            let path = file.to_string_lossy();
            path.ends_with(".swift") && !path.contains("/generated/") && !path.contains("/.build/")
        };
        lint.args(files_under(&workspace.path(folder))?.into_iter().filter(is_ours));
    }
    one(lint)
}

pub(super) fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    Ok(of_swift(&run(swift(workspace, "test", PACKAGE, "package"), suites::DEADLINE)?))
}
