//! Node.js: the package, with eslint, dependency-cruiser, the TypeScript compiler and
//! `node --test`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::build::{node, system};
use crate::process::run;
use crate::stamp::files_under;
use crate::test::lint::one;
use crate::test::results::of_junit;
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

pub(super) const TESTS: [&str; 5] = [".test.mjs", ".test.cjs", ".test.js", ".test.ts", ".test.mts"];

/// Tests mostly wait for the processes that they start. Usually, other suites run at the same time.
const FILES_AT_ONCE: usize = 2;
const FILES_AT_ONCE_ALONE: usize = 4;

/// Runs the compiled JavaScript of a TypeScript program.
pub(super) fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let (mut folder, mut source) = (source.parent().unwrap_or(&workspace.root).to_owned(), source.to_owned());
    if source.extension().is_some_and(|ending| ending == "ts") {
        folder = node::compiled(workspace, &folder)?;
        source = folder.join(source.with_extension("js").file_name().unwrap_or_default());
    }
    let mut command = workspace.command("node");
    command.arg(source).current_dir(folder);
    Ok(command)
}

pub(super) fn snippets(workspace: &Workspace) -> Result<Command> {
    let mut command = workspace.command("node");
    let compiled = node::compiled(workspace, &workspace.path("docs/snippets"))?;
    command.arg(workspace.path("tests/snippets/run.mjs")).arg(compiled);
    Ok(command)
}

pub(super) fn lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    node::build_sources(workspace)?;
    let mut npm = workspace.npm(node::PACKAGE);
    npm.args(["run", "--silent", "lint"]);
    one(npm)
}

pub(super) fn tests(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let at_once = if selection.is_of_packages() { FILES_AT_ONCE_ALONE } else { FILES_AT_ONCE };
    run_tests(workspace, Path::new("node"), suites::TIMEOUT, at_once)
}

/// Runs the tests with an interpreter. Files are listed individually, because Node versions treat
/// directory arguments differently.
pub(crate) fn node_test(workspace: &Workspace, node: &Path, deadline: Duration) -> Result<Count> {
    run_tests(workspace, node, deadline, FILES_AT_ONCE)
}

fn run_tests(workspace: &Workspace, node: &Path, deadline: Duration, at_once: usize) -> Result<Count> {
    system::redis_server()?;
    let report = suites::junit(workspace, "node")?;
    let folder = workspace.path(node::PACKAGE);
    let is_test = |file: &PathBuf| TESTS.iter().any(|ending| file.to_string_lossy().ends_with(ending));
    let mut node = workspace.command(node);
    node.current_dir(&folder).args(["--test", "--test-reporter=spec", "--test-reporter-destination=stdout"]);
    node.arg(format!("--test-concurrency={at_once}"))
        .arg("--test-reporter=junit")
        .arg(format!("--test-reporter-destination={}", report.display()));
    node.args(files_under(&folder.join("test"))?.into_iter().filter(is_test));
    Ok(of_junit(&run(node, deadline)?, &report))
}
