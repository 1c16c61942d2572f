//! Kotlin and Java: the package on the JVM, with ktlint, google-java-format and JUnit. Maven builds
//! them together, with their tests and fixtures.

use anyhow::Result;

use crate::build::jvm::{classes, maven};
use crate::process::{must, run};
use crate::test::lint::one;
use crate::test::results::of_maven;
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

/// An application with the package, and its profiles for the frameworks that manage its libraries.
const DEPENDENT: &str = "tests/jvm-boms";
const BOMS: [&str; 5] =
    ["spring-boot-3.5,spring", "spring-boot-4.0,spring", "spring-boot-4.1,spring", "quarkus", "micronaut"];

const INSTALL: &str = "org.apache.maven.plugins:maven-install-plugin:3.1.4:install-file";

/// Runs the formatter of a language as a linter.
pub(super) fn lint(workspace: &Workspace, goal: &str) -> Result<Count> {
    one(maven(workspace, &[goal]))
}

/// Runs the tests that the build has compiled. The other language's may run at the same time, and
/// Maven deletes its temporary folder when it is done.
pub(super) fn tests(workspace: &Workspace, language: &str, files: &str) -> Result<Count> {
    let (files, folder) = (format!("-Dsurefire.includes={files}"), format!("-DtempDir=surefire-{language}"));
    let tests = maven(workspace, &["surefire:test", &files, &folder]);
    Ok(of_maven(&run(tests, suites::TIMEOUT)?))
}

/// Tests the package with the versions that frameworks manage, from Maven's local repository, as an
/// application finds it.
pub(super) fn boms(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let file = format!("-Dfile={}", classes(workspace).display());
    must(maven(workspace, &[INSTALL, &file, "-DpomFile=pom.xml"]), suites::TIMEOUT)?;
    let mut count = Count::default();
    for profiles in BOMS {
        let mut tests = maven(workspace, &["test", "--activate-profiles", profiles]);
        tests.current_dir(workspace.path(DEPENDENT));
        count = count.and(of_maven(&run(tests, suites::TIMEOUT)?));
    }
    Ok(count)
}
