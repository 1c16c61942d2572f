//! Python: the package, with ruff, pyright, import-linter and pytest.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::build::{python, system};
use crate::process::run;
use crate::test::lint::one;
use crate::test::reads::{self, Reads};
use crate::test::results::of_junit;
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

const PACKAGE: &str = "bindings-python";
/// Python code that is not part of the package but follows its formatting rules.
const OTHER_FOLDERS: [&str; 9] = [
    "tests/api",
    "tests/packages",
    "tests/fixtures/python",
    "tests/peers/python",
    "tests/scars",
    "tests/snippets",
    "examples/python",
    "docs/snippets",
    "benches",
];
/// Of ruff.
pub(super) const SOURCES: &[Reads] = &[reads::PACKAGE, Reads::Form("", ".py")];

/// Tests mostly wait for the processes that they start. Usually, other suites run at the same time.
const TESTS_AT_ONCE: usize = 2;
const TESTS_AT_ONCE_ALONE: usize = 4;

pub(super) fn interpreter(workspace: &Workspace) -> PathBuf {
    workspace.venv_program(python::VENV, "python")
}

pub(super) fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let mut command = python_first(workspace, interpreter(workspace))?;
    command.arg(source).current_dir(source.parent().unwrap_or(&workspace.root));
    Ok(command)
}

pub(super) fn snippets(workspace: &Workspace) -> Result<Command> {
    let mut command = workspace.command(interpreter(workspace));
    command.arg(workspace.path("tests/snippets/run.py")).arg(workspace.path("docs/snippets"));
    Ok(command)
}

/// A command whose PATH has our interpreter as `python`.
fn python_first(workspace: &Workspace, program: PathBuf) -> Result<Command> {
    workspace.command_with(interpreter(workspace).parent().unwrap_or(&workspace.root), program)
}

pub(super) fn format(workspace: &Workspace, _: &Selection) -> Result<Count> {
    ruff(workspace, &["format", "--check", "--quiet", "--diff"])
}

/// Ruff, and import-linter, which finds import cycles (the contract is in pyproject.toml).
pub(super) fn lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut imports = workspace.command(workspace.venv_program(python::VENV, "lint-imports"));
    // Only the sources are read, so the package need not be installed.
    imports.env("PYTHONPATH", workspace.path(PACKAGE).join("python"));
    imports.current_dir(workspace.path(PACKAGE)).args(["--config", "pyproject.toml", "--no-cache"]);
    Ok(ruff(workspace, &["check", "--quiet"])?.and(one(imports)?))
}

/// Runs in the package with its settings, which also apply elsewhere; paths in them are relative to
/// the working directory.
fn ruff(workspace: &Workspace, arguments: &[&str]) -> Result<Count> {
    let program = workspace.venv_program(python::VENV, "ruff");
    let mut package = workspace.command(&program);
    package.args(arguments).current_dir(workspace.path(PACKAGE));
    let mut others = workspace.command(&program);
    others.args(arguments).args(["--config", "bindings-python/pyproject.toml"]).args(OTHER_FOLDERS);
    Ok(one(package)?.and(one(others)?))
}

/// Pyright on the sources, and on the public names of the installed package, which must be fully
/// typed.
pub(super) fn types(workspace: &Workspace, _: &Selection) -> Result<Count> {
    python::build_sources(workspace)?;
    let program = workspace.venv_program(python::VENV, "pyright");
    let mut sources = workspace.command(&program);
    sources.current_dir(workspace.path(PACKAGE)).arg("--pythonpath").arg(interpreter(workspace));
    // This mode of pyright ignores `--pythonpath` and looks for the interpreter in PATH.
    let mut public = python_first(workspace, program)?;
    public.args(["--verifytypes", "trunkline", "--ignoreexternal"]);
    Ok(one(sources)?.and(one(public)?))
}

pub(super) fn tests(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let at_once = if selection.is_of_packages() { TESTS_AT_ONCE_ALONE } else { TESTS_AT_ONCE };
    run_tests(workspace, &interpreter(workspace), suites::TIMEOUT, at_once)
}

/// Runs the tests with an interpreter.
pub(crate) fn pytest(workspace: &Workspace, python: &Path, deadline: Duration) -> Result<Count> {
    run_tests(workspace, python, deadline, TESTS_AT_ONCE)
}

fn run_tests(workspace: &Workspace, python: &Path, deadline: Duration, at_once: usize) -> Result<Count> {
    system::redis_server()?;
    let report = suites::junit(workspace, "python")?;
    let mut pytest = workspace.command(python);
    pytest.current_dir(workspace.path(PACKAGE)).args(["-m", "pytest", "--color=no", "--junitxml"]).arg(&report);
    pytest.args(["--numprocesses", &at_once.to_string(), "--dist", "worksteal"]);
    Ok(of_junit(&run(pytest, deadline)?, &report))
}
