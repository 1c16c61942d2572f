//! Kotlin and Java: the package on the JVM, with ktlint, google-java-format and JUnit. Maven builds
//! them together, with their tests and fixtures.

use anyhow::Result;

use crate::build::jvm::maven;
use crate::process::run;
use crate::test::lint::one;
use crate::test::results::of_maven;
use crate::test::{Count, suites};
use crate::workspace::Workspace;

/// Runs the formatter of a language as a linter.
pub(super) fn lint(workspace: &Workspace, goal: &str) -> Result<Count> {
    one(maven(workspace, &[goal]))
}

/// Runs the tests that the build has compiled. The other language's may run at the same time, and
/// Maven deletes its temporary folder when it is done.
pub(super) fn tests(workspace: &Workspace, language: &str, files: &str) -> Result<Count> {
    let (files, folder) = (format!("-Dsurefire.includes={files}"), format!("-DtempDir=surefire-{language}"));
    let tests = maven(workspace, &["surefire:test", &files, &folder]);
    Ok(of_maven(&run(tests, suites::DEADLINE)?))
}
