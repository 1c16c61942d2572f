//! Go, over the C library: the package with gofmt, `go vet` and `go test`, and its fixtures.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::build::c::{Workshop, name_of_library};
use crate::build::{BUILD_TIMEOUT, system};
use crate::process::{must, run};
use crate::stamp::{files_with, stem_of};
use crate::test::lint::{one, silent};
use crate::test::results::of_one;
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

const PACKAGE: &str = "bindings-go";
const FIXTURES: &str = "tests/fixtures/go";
/// The folders with a program in each file.
const PROGRAM_FILES: [&str; 3] = ["docs/snippets", "examples/go", "benches/go"];
const PEERS: [&str; 2] = ["tests/peers/go", "benches/peers/go"];
/// The folders of the programs there, and their names.
pub(super) const PROGRAMS: [(&str, &str); 4] = [
    ("server", "fixture-server"),
    ("client", "fixture-client"),
    ("scars-server", "scars-server"),
    ("scars-client", "scars-client"),
];
/// After this, Go's tests end with the stacks of all goroutines.
const TIMEOUT_FLAG: &str = "-timeout=120s";

/// Programs find the library next to them.
pub(super) fn workshop(workspace: &Workspace) -> Workshop {
    Workshop::of_tests(workspace, "go")
}

pub(super) fn build(workspace: &Workspace) -> Result<()> {
    workshop(workspace).place_library(workspace)?;
    build_sources(workspace)
}

/// The fixtures, which load the library when they run.
pub(super) fn build_sources(workspace: &Workspace) -> Result<()> {
    let workshop = workshop(workspace);
    for (folder, name) in PROGRAMS {
        compile(workspace, FIXTURES, &Path::new("./cmd").join(folder), &workshop.program(name))?;
    }
    Ok(())
}

/// Builds a program from a package, or from a file.
pub(crate) fn compile(workspace: &Workspace, folder: &str, package: &Path, program: &Path) -> Result<()> {
    let mut build = go(workspace, folder, &["build", "-o"])?;
    build.arg(program).arg(package);
    must(build, BUILD_TIMEOUT).map(drop)
}

/// The command that runs a program, which is one file. It may start others with `go run`.
pub(super) fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let folder = source.parent().context("a program lies in a folder")?;
    start_in(workspace, folder, source, &stem_of(source))
}

/// The same for a program that is in no module.
pub(super) fn start_pasted(workspace: &Workspace, source: &Path) -> Result<Command> {
    start_in(workspace, &workspace.path(PROGRAM_FILES[0]), source, &format!("pasted-{}", stem_of(source)))
}

/// Compiles a program with the module in a folder.
fn start_in(workspace: &Workspace, folder: &Path, source: &Path, name: &str) -> Result<Command> {
    let workshop = workshop(workspace);
    workshop.place_library(workspace)?;
    let program = workshop.program(name);
    compile(workspace, &folder.to_string_lossy(), source, &program)?;
    let mut command = workspace.command_with(system::go()?.parent().unwrap_or(folder), program)?;
    command.current_dir(folder).env("CGO_ENABLED", "0").env("TRUNKLINE_LIBRARY", library(workspace));
    Ok(command)
}

fn library(workspace: &Workspace) -> PathBuf {
    workshop(workspace).programs.join(name_of_library())
}

pub(super) fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    build(workspace)?;
    let mut count = Count::default();
    for folder in [PACKAGE, FIXTURES, "tests/go-modules"].iter().chain(&PROGRAM_FILES).chain(&PEERS) {
        let mut format = workspace.command(system::gofmt()?);
        format.current_dir(workspace.path(folder)).args(["-l", "."]);
        count = count.and(silent(format)?);
    }
    for folder in [PACKAGE, FIXTURES].iter().chain(&PEERS) {
        count = count.and(one(go(workspace, folder, &["vet", "./..."])?)?);
    }
    for folder in PROGRAM_FILES {
        for file in files_with(&workspace.path(folder), "go")? {
            let mut vet = go(workspace, folder, &["vet"])?;
            vet.arg(file);
            count = count.and(one(vet)?);
        }
    }
    let mut test = go(workspace, PACKAGE, &["test", "-count=1", TIMEOUT_FLAG, "./..."])?;
    test.env("TRUNKLINE_LIBRARY", library(workspace));
    Ok(count.and(of_one(&run(test, suites::TIMEOUT)?)))
}

/// Without cgo, as programs are built that need no C compiler.
fn go(workspace: &Workspace, folder: &str, arguments: &[&str]) -> Result<Command> {
    let mut go = workspace.command(system::go()?);
    go.current_dir(workspace.path(folder)).env("CGO_ENABLED", "0").args(arguments);
    Ok(go)
}
