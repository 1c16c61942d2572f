//! Rust: the core, and the crates of the bindings.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::build::rust::{PACKAGES, cargo};
use crate::build::{BUILD_TIMEOUT, system};
use crate::process::{must, run};
use crate::stamp::{copy_if_changed, files_with, stem_of, write_if_changed};
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
    if !selection.length().is_long() {
        // The generated inputs of properties: a fault that a new input finds is not that of the
        // change under test. The long form tries others each time.
        members.env("PROPTEST_RNG_SEED", "1");
    }
    if !selection.languages.iter().any(|language| language.name == "rust") {
        members.args(["--test", "c"]);
    }
    Ok(of_cargo(&run(members, suites::TIMEOUT)?))
}

/// The tests of the program that need a keychain, which only Linux can install.
pub(super) fn keychain(workspace: &Workspace, _: &Selection) -> Result<Count> {
    if !cfg!(target_os = "linux") {
        return Ok(Count { note: "tested on Linux only".to_owned(), ..Count::default() });
    }
    system::keyring()?;
    let mut tests = test_command(workspace);
    tests.args(["--test", "it", "keychain::", "--", "--ignored"]);
    Ok(of_cargo(&run(tests, suites::TIMEOUT)?))
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

/// A program that is in no package: those in its directory become one, with the profile of the
/// workspace and its crates.
pub(super) fn start_pasted(workspace: &Workspace, source: &Path) -> Result<Command> {
    let folder = source.parent().context("a program lies in a folder")?;
    let programs = files_with(folder, "rs")?.iter().map(|file| stem_of(file)).collect::<Vec<_>>();
    let binary = |name: &String| format!("[[bin]]\nname = \"{name}\"\npath = \"{name}.rs\"\n");
    let core = workspace.path("core");
    let manifest = format!(
        "[package]\nname = \"pasted\"\nedition = \"2024\"\n[workspace]\n[profile.dev]\ndebug = false\n\
         [profile.dev.package]\nserde_json = {{ opt-level = 2 }}\n{}\
         [dependencies]\nserde_json = \"1\"\ntokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n\
         trunkline = {{ path = {core:?}, features = [\"full\"] }}\n",
        programs.iter().map(binary).collect::<String>(),
    );
    write_if_changed(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    copy_if_changed(&workspace.path("Cargo.lock"), &folder.join("Cargo.lock"))?;
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--quiet", "--offline", "--bin"]).arg(stem_of(source));
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", &workspace.target);
    must(cargo, BUILD_TIMEOUT)?;
    Ok(workspace.command(workspace.built(&stem_of(source))))
}

/// The published crates.
pub(super) fn doc(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut cargo = workspace.cargo();
    cargo.args(rust_docs::arguments()).env("RUSTDOCFLAGS", "-D warnings");
    let count = one(cargo)?;
    Ok(if count.failed == 0 { count.and(rust_docs::check(workspace)?) } else { count })
}
