//! Rust: the core, and the crates of the bindings.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::build::rust::{PACKAGES, cargo};
use crate::build::system;
use crate::process::run;
use crate::stamp::{files_with, stem_of};
use crate::test::lint::{one, silent};
use crate::test::results::of_cargo;
use crate::test::{Count, Selection, rust_docs, suites};
use crate::workspace::Workspace;

/// For both languages: a test of bindings-c builds and runs the programs in C.
pub(super) const TESTS: &str = "rust and c tests";

/// Rust packages with their own dependencies.
const OUTSIDE_OF_WORKSPACE: [&str; 2] = ["benches/load", "benches/peers/rmcp"];
/// Tests in Rust mostly wait, so run more of them than there are processors.
const TESTS_AT_ONCE: &str = "4";

pub(super) fn format(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut members = workspace.cargo();
    members.args(["fmt", "--all", "--check"]);
    let mut count = one(members)?;
    for package in OUTSIDE_OF_WORKSPACE {
        let mut cargo = workspace.cargo();
        cargo.args(["fmt", "--check", "--manifest-path"]).arg(workspace.path(package).join("Cargo.toml"));
        count = count.and(one(cargo)?);
    }
    // The snippets are included as modules, which hides them from cargo.
    let mut rustfmt = workspace.command("rustfmt");
    rustfmt.args(["--check", "--edition", "2024"]);
    rustfmt.args(files_with(&workspace.path("docs/snippets"), "rs")?);
    Ok(count.and(one(rustfmt)?))
}

/// Shows the warnings of the builds, which compile with clippy (build/rust.rs). `--all-targets`
/// would add a benchmark harness of each library and program. As in the builds, xtask is separate,
/// so that the features of all other crates stay the same. Those of its crates that cargo compiled
/// for this program are reused.
pub(super) fn clippy(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut programs = cargo(workspace);
    programs.args(["build", "--quiet", "--lib", "--bins", "--tests", "--examples"]).args(PACKAGES);
    let mut xtask = cargo(workspace);
    xtask.args(["test", "--quiet", "--no-run", "--package", "xtask"]);
    Ok(silent(programs)?.and(silent(xtask)?))
}

/// Tests the workspace members, or those in C alone.
pub(super) fn tests(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    system::redis_server()?;
    let mut members = test_command(workspace);
    if !selection.languages.iter().any(|language| language.name == "rust") {
        members.args(["--test", "c"]);
    }
    Ok(of_cargo(&run(members, suites::TIMEOUT)?))
}

/// Separate, as in the builds (build/rust.rs).
pub(super) fn xtask_tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut own = cargo(workspace);
    own.args(["test", "--package", "xtask"]);
    Ok(of_cargo(&run(own, suites::TIMEOUT)?))
}

pub(super) fn test_command(workspace: &Workspace) -> Command {
    let mut members = cargo(workspace);
    members.args(["test", "--no-fail-fast"]).args(PACKAGES);
    // The programs in C are already built; built separately, with other features, they would be
    // built again.
    members.env("TRUNKLINE_PREBUILT", "1");
    members.env("RUST_TEST_THREADS", TESTS_AT_ONCE);
    members
}

/// An example of cargo.
pub(super) fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    Ok(workspace.command(workspace.built(&format!("examples/{}", stem_of(source)))))
}

/// All snippets are one program, which takes the name of a snippet.
pub(super) fn start_snippet(workspace: &Workspace, source: &Path) -> Result<Command> {
    let mut command = workspace.command(workspace.built("examples/snippets"));
    command.arg(stem_of(source));
    Ok(command)
}

/// The published crates.
pub(super) fn doc(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut cargo = workspace.cargo();
    cargo.args(rust_docs::arguments()).env("RUSTDOCFLAGS", "-D warnings");
    let count = one(cargo)?;
    Ok(if count.failed == 0 { count.and(rust_docs::check(workspace)?) } else { count })
}
