//! C: the library, its programs, and those in other languages that call it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::rust;
use crate::build::c::{self, Workshop};
use crate::build::{BUILD_TIMEOUT, system};
use crate::process::{must, run};
use crate::stamp::{stem_of, write_if_changed};
use crate::test::results::of_cargo;
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

/// Options of valgrind.
const CHECKS: [&str; 2] = ["--leak-check=full", "--error-exitcode=9"];
/// In the folder of the C package.
const SUPPRESSIONS: &str = "packaging/valgrind.supp";

/// The command that runs a program, which is compiled together with the programs that it may start.
pub(super) fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let folder = source.parent().context("a file has a folder")?;
    match source.extension().and_then(|ending| ending.to_str()) {
        Some("lua") => {
            let mut luajit = foreign(workspace, folder, system::luajit()?)?;
            luajit.arg(source);
            return Ok(luajit);
        }
        Some("go") => return start_go(workspace, folder),
        _ => {}
    }
    let place = folder.strip_prefix(&workspace.root)?.to_string_lossy().replace(['/', '\\'], "-");
    let workshop = Workshop::of_tests(workspace, &place);
    workshop.compile_all(workspace, folder)?;
    let mut command = workspace.command(workshop.program(&stem_of(source)));
    command.current_dir(&workshop.programs);
    Ok(command)
}

fn start_go(workspace: &Workspace, folder: &Path) -> Result<Command> {
    let built = Workshop::of_tests(workspace, "foreign").program("hello-in-go");
    let mut go = foreign(workspace, folder, system::go()?)?;
    go.env("GOTOOLCHAIN", "local").env("GOPROXY", "off").args(["build", "-o"]).arg(&built).arg(".");
    must(go, BUILD_TIMEOUT)?;
    foreign(workspace, folder, built)
}

/// A program in another language finds the library through pkg-config, as if it were installed.
fn foreign(workspace: &Workspace, folder: &Path, program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
    let workshop = Workshop::of_tests(workspace, "foreign");
    workshop.place_library(workspace)?;
    let package = format!(
        "includedir={}\nlibdir={}\nName: trunkline\nDescription: the library of this tree\nVersion: {}\n\
         Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -ltrunkline\n",
        workspace.path("bindings-c/include").display(),
        workshop.library.display(),
        env!("CARGO_PKG_VERSION")
    );
    write_if_changed(&workshop.programs.join("trunkline.pc"), package.as_bytes())?;
    let mut command = workspace.command(program);
    command.current_dir(folder).env("PKG_CONFIG_PATH", &workshop.programs).env("LD_LIBRARY_PATH", &workshop.programs);
    Ok(command)
}

/// Runs the suite under valgrind, and a program linked with the shared and the static library, with
/// the suppressions that are installed for users. No memory may leak, and nothing else may be
/// reported.
pub(super) fn under_valgrind(workspace: &Workspace, _: &Selection) -> Result<Count> {
    // The usual run of these tests has the records of their messages.
    let workspace = &workspace.unrecorded();
    let source = workspace.path("examples/c/hello_client.c");
    let shared = start(workspace, &source)?;
    // The server that the program starts is in the same directory.
    let folder = shared.get_current_dir().context("a program in C runs in its folder")?;
    let fixed = folder.join("hello_client_static");
    c::link_statically(workspace, &source, &fixed)?;
    let valgrind = system::valgrind()?;
    let suppressions = workspace.path("bindings-c").join(SUPPRESSIONS);
    let mut count = Count::default();
    for program in [shared.get_program(), fixed.as_os_str()] {
        let mut checked = workspace.command(valgrind);
        checked.args(CHECKS).arg(format!("--suppressions={}", suppressions.display()));
        checked.arg(program).current_dir(folder);
        let output = run(checked, suites::TIMEOUT)?;
        count.add((!output.success()).then(|| format!("{}\n[{}]", output.text, output.ending())));
    }
    // The tests run in the directory of their package.
    let runner = format!("{valgrind} {} --suppressions={SUPPRESSIONS}", CHECKS.join(" "));
    Ok(count.and(of_cargo(&run(scenarios(workspace, &runner), suites::TIMEOUT)?)))
}

/// The command for the scenarios of the suite, each started by `runner`.
pub(crate) fn scenarios(workspace: &Workspace, runner: &str) -> Command {
    let mut suite = rust::test_command(workspace);
    suite.args(["--test", "c", "c99::"]).env("TRUNKLINE_C_RUNNER", runner);
    suite
}
