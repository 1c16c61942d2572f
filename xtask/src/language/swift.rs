//! Swift: the package for Linux and Apple's platforms, with `swift format` and Swift Testing.
//! Debian 12 has no Swift, so the entry is not in `ALL`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::build::swift::{FIXTURES, PACKAGE, PROGRAM_FILES, swift};
use crate::build::{BUILD_TIMEOUT, system};
use crate::process::{must, run};
use crate::stamp::{copy_if_changed, files_under};
use crate::test::lint::one;
use crate::test::results::of_swift;
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

/// A program that depends on the package as a release publishes it.
const DEPENDENT: &str = "tests/swift-package";
const REPOSITORY: &str = "https://github.com/trunkline-mcp/trunkline-swift";
const EXPECTED_OUTPUT: &str = "Hello, Ada!";
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut lint = workspace.command(system::swift()?);
    lint.args(["format", "lint", "--strict", "--configuration"]);
    lint.arg(workspace.path(PACKAGE).join(".swift-format"));
    for folder in [PACKAGE, FIXTURES, DEPENDENT].into_iter().chain(PROGRAM_FILES) {
        let is_ours = |file: &PathBuf| {
            let path = file.to_string_lossy();
            path.ends_with(".swift") && !path.contains("/generated/") && !path.contains("/.build/")
        };
        lint.args(files_under(&workspace.path(folder))?.into_iter().filter(is_ours));
    }
    one(lint)
}

pub(super) fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    Ok(of_swift(&run(swift(workspace, "test", PACKAGE, "package"), suites::TIMEOUT)?))
}

/// The repository of a release, without network access: a program gets the package from it by its
/// URL and version, and calls a tool.
pub(crate) fn package(workspace: &Workspace) -> Result<Count> {
    let place = workspace.target.join("swift/trial");
    if place.exists() {
        std::fs::remove_dir_all(&place)?;
    }
    let [repository, program] = ["repository", "program"].map(|name| place.join(name));
    let mut init = workspace.command("git");
    init.args(["init", "--quiet"]).arg(&repository);
    must(init, COMMAND_TIMEOUT)?;
    let mut release = workspace.command(workspace.path(PACKAGE).join("scripts/repository.sh"));
    release.arg(&repository).args([env!("CARGO_PKG_VERSION"), &"0".repeat(64)]);
    must(release, COMMAND_TIMEOUT)?;
    for file in ["Package.swift", "main.swift"] {
        copy_if_changed(&workspace.path(DEPENDENT).join(file), &program.join(file))?;
    }
    let mut build = swift(workspace, "build", &program.to_string_lossy(), "trial/build");
    // SwiftPM remembers for good which commit a version is; an earlier trial had the same version.
    for folder in ["cache", "security"] {
        build.arg(format!("--{folder}-path")).arg(place.join(folder));
    }
    build.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_VALUE_0", REPOSITORY);
    build.env("GIT_CONFIG_KEY_0", format!("url.file://{}.insteadOf", repository.display()));
    must(build, BUILD_TIMEOUT)?;
    let said = must(workspace.command(place.join("build/debug/program")), COMMAND_TIMEOUT)?.stdout;
    let mut count = Count::default();
    let fault = format!("a program with the package printed {said:?} instead of {EXPECTED_OUTPUT:?}");
    count.add(Some(fault).filter(|_| said.trim() != EXPECTED_OUTPUT));
    Ok(count)
}
